/* SPDX-License-Identifier: MIT */
/* A machine as a topology: what it is called in the catalogue, then its lines. */
#include <stdlib.h>
#include <string.h>

#include "import-ids.h"
#include "import-machine.h"

typedef struct {
  ImportMachine *machine;
  const ImportParts *given;
  ImportIds *ids;
  HwCatalog *catalog;
  const HwGpu *gpu;
  const char *intra, *nic, *platform, *cpu;
} Naming;

static gboolean fail(const Naming *naming, const char *what, const char *advice, GError **error) {
  BasePlace place = {.file = naming->machine->file};
  base_error_set_at(error, &place, "%s; %s", what, advice);
  return FALSE;
}

static gboolean name_gpu(Naming *naming, GError **error) {
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
static gboolean assume_pairs(Naming *naming) {
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
static void find_switch(Naming *naming) {
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
static const char *how_joined(Naming *naming) {
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

static gboolean name_intra(Naming *naming, GError **error) {
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

static gboolean name_network(Naming *naming, GError **error) {
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
    naming->nic = import_ids_get(naming->ids, "usual-nics", naming->gpu->architecture);
    import_machine_assume(machine, "the NICs are %s, as such machines mostly have (--nic says otherwise)", naming->nic);
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

static gboolean name_parts(Naming *naming, GError **error) {
  if (!name_gpu(naming, error) || !name_intra(naming, error) || !name_network(naming, error))
    return FALSE;
  naming->cpu = naming->machine->cpu;
  if (naming->cpu == NULL) {
    naming->cpu = "intel-spr";
    import_machine_assume(naming->machine, "the processor is %s", naming->cpu);
  }
  import_machine_assume(naming->machine, "a network that never blocks beyond the NICs ([fabric])");
  return TRUE;
}

static void print_comments(const char *head, const GPtrArray *lines, GString *text) {
  if (lines->len > 0)
    g_string_append_printf(text, "#\n# %s\n", head);
  for (guint i = 0; i < lines->len; i++)
    g_string_append_printf(text, "#   %s\n", (const char *)g_ptr_array_index(lines, i));
}

static void print_at(const ImportPart *part, GString *text) {
  if (part->link != NULL)
    g_string_append_printf(text, "@%s", part->link);
}

static void print_below(const ImportMachine *machine, guint parent, GString *text) {
  static const HwPartKind kinds[] = {HW_PART_GPU, HW_PART_NIC};
  for (gsize k = 0; k < G_N_ELEMENTS(kinds); k++)
    for (guint index = 0; index < import_machine_count(machine, kinds[k]); index++) {
      const ImportPart *part = import_machine_part(machine, import_machine_find(machine, kinds[k], index));
      if (part->parent != parent)
        continue;
      g_string_append_printf(text, " %s.%u", hw_part_names[part->kind], index);
      print_at(part, text);
    }
}

static void print_tree(const ImportMachine *machine, GString *text) {
  g_string_append(text, "[pci]\n");
  for (guint index = 0; index < import_machine_count(machine, HW_PART_SWITCH); index++) {
    guint place = import_machine_find(machine, HW_PART_SWITCH, index);
    const ImportPart *part = import_machine_part(machine, place), *above = import_machine_part(machine, part->parent);
    g_string_append_printf(text, "switch.%u = %s.%u", index, hw_part_names[above->kind], above->index);
    print_at(part, text);
    g_string_append_c(text, ':');
    print_below(machine, place, text);
    g_string_append_c(text, '\n');
  }
  for (guint index = 0; index < import_machine_count(machine, HW_PART_SOCKET); index++) {
    g_autoptr(GString) below = g_string_new(NULL);
    print_below(machine, import_machine_find(machine, HW_PART_SOCKET, index), below);
    if (below->len > 0)
      g_string_append_printf(text, "socket.%u =%s\n", index, below->str);
  }
}

static void print_nvlinks(const ImportMachine *machine, GString *text) {
  gboolean headed = FALSE;
  for (guint index = 0; index < import_machine_count(machine, HW_PART_GPU); index++) {
    guint place = import_machine_find(machine, HW_PART_GPU, index);
    const ImportPart *gpu = import_machine_part(machine, place);
    g_autoptr(GString) line = g_string_new(NULL);
    for (guint i = 0; i < machine->pairs->len; i++) {
      const ImportPair *pair = &g_array_index(machine->pairs, ImportPair, i);
      guint other = pair->a == place ? pair->b : pair->b == place ? pair->a : place;
      if (import_machine_part(machine, other)->index > index)
        g_string_append_printf(line, " gpu.%u*%u", import_machine_part(machine, other)->index, pair->links);
    }
    if (gpu->switch_links > 0)
      g_string_append_printf(line, " switch*%u", gpu->switch_links);
    if (gpu->c2c > 0)
      g_string_append_printf(line, " c2c@%.17gGB/s", base_in_gb(gpu->c2c));
    if (line->len > 0)
      g_string_append_printf(text, "%sgpu.%u =%s\n", headed ? "" : "[nvlink]\n", index, line->str);
    headed = headed || line->len > 0;
  }
}

static void print_nics(const ImportMachine *machine, GString *text) {
  gboolean headed = FALSE;
  for (guint index = 0; index < import_machine_count(machine, HW_PART_NIC); index++) {
    const ImportPart *nic = import_machine_part(machine, import_machine_find(machine, HW_PART_NIC, index));
    if (nic->rate <= 0)
      continue;
    g_string_append_printf(text, "%snic.%u = rate:%.17gGb/s latency:%.17gus card:%u port:%u gdr:%s",
                           headed ? "" : "[nics]\n", index, 8 * base_in_gb(nic->rate),
                           (double)nic->latency / SIM_MICROSECOND, nic->card, nic->port, nic->gdr ? "yes" : "no");
    if (nic->name != NULL)
      g_string_append_printf(text, " ; %s", nic->name);
    g_string_append_c(text, '\n');
    headed = TRUE;
  }
}

static GString *print(const Naming *naming) {
  const ImportMachine *machine = naming->machine;
  GString *text = g_string_new(NULL);
  g_autofree char *file = g_path_get_basename(machine->file);
  guint nics = import_machine_count(machine, HW_PART_NIC);
  g_string_append_printf(text, "# %s, %s, as a topology: written by foretrain import.\n", file, machine->what);
  print_comments("Left out:", machine->said, text);
  print_comments("The file does not say this; assumed:", machine->assumed, text);
  g_string_append_printf(text, "[node]\ngpu = %s\ngpus = %u\nintra = %s\n", naming->gpu->name,
                         import_machine_count(machine, HW_PART_GPU), naming->intra);
  if (nics > 0)
    g_string_append_printf(text, "nic = %s\nnics = %u\n", naming->nic, nics);
  g_string_append_printf(text, "cpu = %s\nsockets = %u\n", naming->cpu, import_machine_count(machine, HW_PART_SOCKET));
  print_tree(machine, text);
  print_nvlinks(machine, text);
  print_nics(machine, text);
  g_string_append_printf(text, "[fabric]\nkind = single-switch\n[environment]\nplatform = %s\n", naming->platform);
  return text;
}

GString *import_machine_text(ImportMachine *machine, const ImportParts *parts, GError **error) {
  g_autoptr(ImportIds) ids = import_ids_load(error);
  g_autoptr(HwCatalog) catalog = ids != NULL ? hw_catalog_load(error) : NULL;
  Naming naming = {.machine = machine, .given = parts, .ids = ids, .catalog = catalog};
  import_machine_number(machine);
  return catalog != NULL && name_parts(&naming, error) ? print(&naming) : NULL;
}
