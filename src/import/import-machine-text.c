/* SPDX-License-Identifier: MIT */
/* A machine as the lines of a topology. */
#include "base-display.h"
#include "import-machine-names.h"

static void print_comments(const char *head, const GPtrArray *lines, GString *text) {
  if (lines->len > 0)
    g_string_append_printf(text, "#\n# %s\n", head);
  for (guint i = 0; i < lines->len; i++)
    base_display_append(text, "#   %s", (const char *)g_ptr_array_index(lines, i));
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

/* Of a machine without a tree: the one link that its GPUs have, if they say. */
static void print_links(const ImportMachine *machine, GString *text) {
  const ImportPart *gpu = import_machine_part(machine, import_machine_find(machine, HW_PART_GPU, 0));
  if (gpu->link != NULL)
    g_string_append_printf(text, "pcie = %s\n", gpu->link);
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
    base_display_append(text, "%s%s", nic->name != NULL ? " ; " : "", nic->name != NULL ? nic->name : "");
    headed = TRUE;
  }
}

static GString *print(const ImportNaming *naming) {
  const ImportMachine *machine = naming->machine;
  GString *text = g_string_new(NULL);
  g_autofree char *file = g_path_get_basename(machine->file);
  guint nics = import_machine_count(machine, HW_PART_NIC);
  base_display_append(text, "# %s, %s, as a topology: written by foretrain import.", file, machine->what);
  print_comments("Left out:", machine->said, text);
  print_comments("The file does not say this; assumed:", machine->assumed, text);
  g_string_append_printf(text, "[node]\ngpu = %s\ngpus = %u\nintra = %s\n", naming->gpu->name,
                         import_machine_count(machine, HW_PART_GPU), naming->intra);
  if (nics > 0)
    g_string_append_printf(text, "nic = %s\nnics = %u\n", naming->nic, nics);
  g_string_append_printf(text, "cpu = %s\nsockets = %u\n", naming->cpu, import_machine_count(machine, HW_PART_SOCKET));
  if (machine->flat)
    print_links(machine, text);
  else
    print_tree(machine, text);
  print_nvlinks(machine, text);
  print_nics(machine, text);
  g_string_append_printf(text, "[fabric]\nkind = single-switch\n[environment]\nplatform = %s\n", naming->platform);
  if (naming->host != NULL)
    g_string_append_printf(text, "[host]\nlink = %s\n", naming->host);
  if (naming->host != NULL && base_in_gib(machine->dram) >= 1)
    g_string_append_printf(text, "dram = %.0f GiB\n", base_in_gib(machine->dram));
  return text;
}

GString *import_machine_text(ImportMachine *machine, const ImportParts *parts, GError **error) {
  g_autoptr(ImportIds) ids = import_ids_load(error);
  g_autoptr(HwCatalog) catalog = ids != NULL ? hw_catalog_load(error) : NULL;
  ImportNaming naming = {.machine = machine, .given = parts, .ids = ids, .catalog = catalog};
  import_machine_number(machine);
  return catalog != NULL && import_machine_name_parts(&naming, error) ? print(&naming) : NULL;
}
