/* SPDX-License-Identifier: MIT */
/* A machine as the lines that build it, for reading it back. */
#include "machine.h"

static void print_link(const HwPciLink *link, GString *text) {
  if (link->rate > 0) {
    g_autofree char *rate = base_quantity_canonical(link->rate, BASE_UNIT_BYTE_RATE);
    for (const char *letter = rate; *letter != '\0'; letter++)
      if (*letter != ' ')
        g_string_append_c(text, *letter);
  } else {
    g_string_append_printf(text, "gen%ux%u", link->generation, link->width);
  }
}

static void print_part(const HwMachine *machine, guint32 part, GString *text) {
  g_autofree char *name = hw_machine_part_name(machine, part);
  g_string_append_printf(text, " %s@", name);
  print_link(&machine->parts[part].link, text);
}

static gboolean holds_devices(const HwMachine *machine, guint32 parent) {
  for (guint32 i = hw_machine_gpu_part(machine, 0); i < machine->n_parts; i++)
    if (machine->parts[i].parent == parent)
      return TRUE;
  return FALSE;
}

static void print_tree(const HwMachine *machine, GString *text) {
  g_string_append(text, "[pci]\n");
  for (guint32 parent = 0; parent < machine->sockets + machine->switches; parent++) {
    gboolean is_switch = machine->parts[parent].kind == HW_PART_SWITCH;
    if (!is_switch && !holds_devices(machine, parent))
      continue;
    g_autofree char *name = hw_machine_part_name(machine, parent);
    g_string_append_printf(text, "%s =", name);
    if (is_switch) {
      g_autofree char *above = hw_machine_part_name(machine, machine->parts[parent].parent);
      g_string_append_printf(text, " %s@", above);
      print_link(&machine->parts[parent].link, text);
      g_string_append_c(text, ':');
    }
    for (guint32 i = hw_machine_gpu_part(machine, 0); i < machine->n_parts; i++)
      if (machine->parts[i].parent == parent)
        print_part(machine, i, text);
    g_string_append_c(text, '\n');
  }
}

static void print_nvlinks(const HwMachine *machine, GString *text) {
  gboolean any = FALSE;
  for (guint32 a = 0; a < machine->gpus; a++) {
    g_autoptr(GString) line = g_string_new(NULL);
    for (guint32 b = a + 1; b < machine->gpus; b++)
      if (hw_machine_nvlinks(machine, a, b) > 0)
        g_string_append_printf(line, " gpu.%u*%u", b, hw_machine_nvlinks(machine, a, b));
    if (machine->switch_nvlinks[a] > 0)
      g_string_append_printf(line, " switch*%u", machine->switch_nvlinks[a]);
    if (machine->c2c[a] > 0)
      g_string_append_printf(line, " c2c@%.17gB/s", machine->c2c[a]);
    if (line->len == 0)
      continue;
    g_string_append_printf(text, "%sgpu.%u =%s\n", any ? "" : "[nvlink]\n", a, line->str);
    any = TRUE;
  }
}

static void print_nics(const HwMachine *machine, GString *text) {
  for (guint32 i = 0; i < machine->nics; i++) {
    const HwMachineNic *nic = &machine->nic[i];
    g_string_append_printf(text, "%snic.%u = rate:%.17gB/s latency:%" G_GINT64_FORMAT "ps card:%u port:%u gdr:%s\n",
                           i == 0 ? "[nics]\n" : "", i, nic->rate, nic->latency, nic->card, nic->port,
                           nic->gdr ? "yes" : "no");
  }
}

void machine_print(const HwMachine *machine, GString *text) {
  print_tree(machine, text);
  print_nvlinks(machine, text);
  print_nics(machine, text);
}
