/* SPDX-License-Identifier: MIT */
/* What a machine's parts are called in the catalogue: by what its file says, by what the person says, else as usual. */
#include "import-machine-names.h"

#include <stdlib.h>
#include <string.h>

static gboolean fail(const ImportNaming *naming, const char *what, const char *advice, GError **error) {
  BasePlace place = {.file = naming->machine->file};
  base_error_set_at(error, &place, "%s; %s", what, advice);
  return FALSE;
}

static gboolean name_gpu(ImportNaming *naming, GError **error) {
  ImportMachine *machine = naming->machine;
  const char *name = naming->given->gpu != NULL ? naming->given->gpu : machine->gpu;
  if (import_machine_count(machine, HW_PART_GPU) == 0)
    return fail(naming, "it holds no GPU", "expected a machine with GPUs", error);
  if (name == NULL)
    return fail(naming, "it does not say which GPUs these are", "add --gpu NAME (foretrain list gpus)", error);
  if (naming->given->gpu != NULL && machine->gpu != NULL && g_ascii_strcasecmp(name, machine->gpu) != 0)
    import_machine_say(machine, "the file's GPUs are %s; --gpu says %s", machine->gpu, name);
  else if (machine->gpu == NULL)
    import_machine_assume(machine, "the GPUs are %s, as --gpu says", name);
  naming->gpu = hw_catalog_gpu(naming->catalog, name, &(BasePlace){.file = machine->file}, error);
  return naming->gpu != NULL;
}

/* The eight V100 of a hybrid cube mesh, where a file holds PCI alone. */
static gboolean assume_pairs(ImportNaming *naming) {
  ImportMachine *machine = naming->machine;
  const char *pairs = import_ids_get(naming->ids, "usual-pairs", naming->gpu->name);
  if (pairs == NULL)
    return FALSE;
  g_auto(GStrv) words = g_strsplit(pairs, " ", -1);
  for (char **word = words; *word != NULL; word++) {
    g_auto(GStrv) numbers = g_strsplit_set(*word, "-*", 3);
    guint n[3] = {0};
    for (int i = 0; i < 3 && numbers[i] != NULL; i++)
      n[i] = (guint)strtoul(numbers[i], NULL, 10);
    ImportPair pair = {import_machine_find(machine, HW_PART_GPU, n[0]), import_machine_find(machine, HW_PART_GPU, n[1]),
                       n[2]};
    g_array_append_val(machine->pairs, pair);
  }
  import_machine_assume(machine, "NVLinks join the GPUs as on most boards of eight %s", naming->gpu->name);
  return TRUE;
}

/* Pairs whose links together are more than a GPU has go through an NVSwitch, each with all that it shows. */
static void find_switch(ImportNaming *naming) {
  ImportMachine *machine = naming->machine;
  const char *has = import_ids_get(naming->ids, "nvlinks", naming->gpu->architecture);
  guint most = has != NULL ? (guint)strtoul(has, NULL, 10) : G_MAXUINT;
  gboolean beyond = FALSE;
  for (guint gpu = 0; gpu < machine->parts->len; gpu++) {
    guint links = 0, largest = 0;
    for (guint i = 0; i < machine->pairs->len; i++) {
      const ImportPair *pair = &g_array_index(machine->pairs, ImportPair, i);
      if (pair->a == gpu || pair->b == gpu) {
        links += pair->links;
        largest = MAX(largest, pair->links);
      }
    }
    if (links > most) {
      import_machine_part(machine, gpu)->switch_links = largest;
      beyond = TRUE;
    }
  }
  if (beyond)
    g_array_set_size(machine->pairs, 0);
}

/* "nvswitch", "nvlink", "pcie" or "host". */
static const char *how_joined(ImportNaming *naming) {
  ImportMachine *machine = naming->machine;
  guint gpus = import_machine_count(machine, HW_PART_GPU), farthest = 0;
  gboolean boards = strstr(naming->gpu->name, "-sxm") != NULL || strstr(naming->gpu->name, "-per-gpu") != NULL;
  find_switch(naming);
  for (guint a = 0; a < machine->parts->len; a++) {
    if (import_machine_part(machine, a)->kind != HW_PART_GPU)
      continue;
    if (import_machine_part(machine, a)->switch_links > 0)
      return "nvswitch";
    for (guint b = a + 1; b < machine->parts->len; b++)
      if (import_machine_part(machine, b)->kind == HW_PART_GPU)
        farthest = MAX(farthest, import_machine_distance(machine, a, b));
  }
  if (machine->pairs->len > 0)
    return "nvlink";
  const char *from = import_ids_get(naming->ids, "usual-intra", "nvswitch_from");
  guint boards_from = from != NULL ? (guint)strtoul(from, NULL, 10) : 0;
  if (!machine->knows_links && boards && gpus >= boards_from) {
    if (assume_pairs(naming))
      return "nvlink";
    import_machine_assume(machine, "an NVSwitch joins the GPUs, as on boards of %u %s", gpus, naming->gpu->name);
    return "nvswitch";
  }
  if (!machine->knows_links)
    import_machine_assume(machine, "no NVLink joins the GPUs: the file holds PCI alone");
  return farthest <= 1 ? "pcie" : "host";
}

static gboolean name_intra(ImportNaming *naming, GError **error) {
  const char *how = how_joined(naming);
  const HwGpu *gpu = naming->gpu;
  naming->intra = naming->given->intra;
  if (naming->intra == NULL)
    naming->intra = import_ids_pair(naming->ids, "intra", gpu->name, how);
  if (naming->intra == NULL)
    naming->intra = import_ids_pair(naming->ids, "intra", gpu->architecture, how);
  if (naming->intra != NULL)
    return hw_catalog_link(naming->catalog, naming->intra, &(BasePlace){.file = naming->machine->file}, error) != NULL;
  g_autofree char *what = g_strdup_printf("no usual link is known between GPUs %s joined by %s", gpu->name, how);
  return fail(naming, what, "add --intra NAME (foretrain list links)", error);
}

/* The NICs that only the person knows of: evenly beside the GPUs. */
static void add_given_nics(const ImportNaming *naming) {
  ImportMachine *machine = naming->machine;
  const ImportParts *given = naming->given;
  guint gpus = import_machine_count(machine, HW_PART_GPU), nics = given->nics > 0 ? given->nics : gpus;
  if ((given->nic == NULL && given->nics == 0) || import_machine_count(machine, HW_PART_NIC) > 0)
    return;
  for (guint i = 0; i < nics; i++) {
    guint gpu = import_machine_find(machine, HW_PART_GPU, (guint)((guint64)i * gpus / nics));
    guint parent = import_machine_part(machine, gpu)->parent;
    import_machine_part(machine, import_machine_add(machine, HW_PART_NIC, parent))->order = i;
  }
  import_machine_number(machine);
  if (given->nics == 0)
    import_machine_assume(machine, "%u NICs, one beside each GPU: the file shows none (--nics says how many)", nics);
  else
    import_machine_assume(machine, "%u NICs evenly beside the GPUs, as --nics says: the file shows none", nics);
}

static gboolean all_ethernet(const ImportMachine *machine) {
  for (guint i = 0; i < machine->parts->len; i++) {
    const ImportPart *part = import_machine_part(machine, i);
    if (part->kind == HW_PART_NIC && !part->gone && !part->ethernet)
      return FALSE;
  }
  return TRUE;
}

static gboolean name_network(ImportNaming *naming, GError **error) {
  ImportMachine *machine = naming->machine;
  naming->nic = naming->given->nic;
  for (guint i = 0; i < import_machine_count(machine, HW_PART_NIC) && naming->given->nic == NULL; i++) {
    const ImportPart *part = import_machine_part(machine, import_machine_find(machine, HW_PART_NIC, i));
    if (part->nic == NULL)
      continue;
    if (naming->nic == NULL)
      naming->nic = part->nic;
    else if (strcmp(naming->nic, part->nic) != 0)
      import_machine_say(machine, "%s is a %s: all NICs are taken as %s", part->name, part->nic, naming->nic);
  }
  if (import_machine_count(machine, HW_PART_NIC) > 0 && naming->nic == NULL) {
    const char *table = all_ethernet(machine) ? "usual-ethernet" : "usual-nics";
    naming->nic = import_ids_get(naming->ids, table, naming->gpu->architecture);
    import_machine_assume(machine, "the NICs are %s, as such machines mostly have%s (--nic says otherwise)",
                          naming->nic, all_ethernet(machine) ? " on Ethernet" : "");
  }
  naming->platform = naming->given->platform;
  if (naming->platform == NULL && naming->nic != NULL)
    naming->platform = import_ids_platform(naming->ids, naming->nic);
  if (naming->platform == NULL) {
    naming->platform = "sockets";
    import_machine_assume(machine, "platform %s, for its launch floor: there is no NIC to tell by", naming->platform);
  }
  BasePlace place = {.file = machine->file};
  return (naming->nic == NULL || hw_catalog_link(naming->catalog, naming->nic, &place, error) != NULL) &&
         hw_catalog_platform(naming->catalog, naming->platform, &place, error) != NULL;
}

gboolean import_machine_name_parts(ImportNaming *naming, GError **error) {
  if (!name_gpu(naming, error))
    return FALSE;
  add_given_nics(naming);
  if (!name_intra(naming, error) || !name_network(naming, error))
    return FALSE;
  naming->host = import_ids_get(naming->ids, "usual-hosts", naming->gpu->architecture);
  naming->cpu = naming->machine->cpu;
  if (naming->cpu == NULL) {
    naming->cpu = "intel-spr";
    import_machine_assume(naming->machine, "the processor is %s", naming->cpu);
  }
  import_machine_assume(naming->machine, "a network that never blocks beyond the NICs ([fabric])");
  return TRUE;
}
