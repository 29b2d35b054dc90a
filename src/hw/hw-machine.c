/* SPDX-License-Identifier: MIT */
/* A machine from a node: the tree as written or by default, then NVLinks and NICs; and back to lines. */
#include "hw-machine.h"

#include <math.h>
#include <string.h>

#include "conf-path.h"
#include "hw-schema.h"
#include "hw-section.h"
#include "hw-wiring.h"

typedef struct {
  char *pcie;
  guint64 gpus_per_switch;
  double nvlink_raw;
} Usual;

#define KEY(key, kind, member, ...) BASE_ROW(NULL, key, kind, Usual, member, __VA_ARGS__)

static const BaseField usual_fields[] = {
    KEY("pcie", BASE_TEXT, pcie, .required = TRUE),
    KEY("gpus_per_switch", BASE_COUNT, gpus_per_switch, .min = 1, .required = TRUE),
    KEY("nvlink_raw", BASE_BYTE_RATE, nvlink_raw, .min = 1),
    BASE_ROW_UNKEPT(NULL, "source", BASE_TEXT, .required = TRUE),
    BASE_ROW_UNKEPT(NULL, "trust", BASE_NAME, .required = TRUE, .names = hw_trust_names),
    BASE_ROW_UNKEPT(NULL, "note", BASE_TEXT),
};

static gboolean read_usual(const char *architecture, Usual *ret, GError **error) {
  g_autofree char *path = conf_path_find("machine.ini", NULL, "topologies/catalog", NULL, NULL, error);
  g_autoptr(ConfText) text = path != NULL ? conf_text_load(path, error) : NULL;
  if (text == NULL)
    return FALSE;
  if (conf_text_keys(text, architecture) == NULL) {
    base_error_set_at(error, &(BasePlace){.file = path}, "lacks the architecture [%s]", architecture);
    return FALSE;
  }
  return hw_section_read(text, architecture, usual_fields, G_N_ELEMENTS(usual_fields), ret, error);
}

gboolean hw_wiring_defaults(const HwNode *node, const BasePlace *place, HwWiringDefaults *ret, GError **error) {
  Usual usual = {0};
  HwPciLink link = {0};
  gboolean done = read_usual(node->gpu->architecture, &usual, error);
  if (done) {
    HwLine line = {"pcie", usual.pcie, {.key = "pcie"}};
    done = hw_line_link(&line, usual.pcie, &link, error);
    line = (HwLine){"pcie", node->pcie, *place};
    done = done && (node->pcie == NULL || hw_line_link(&line, node->pcie, &link, error));
  }
  if (done) {
    guint64 per_switch = node->intra->scope == HW_LINK_PCIE ? 0 : usual.gpus_per_switch;
    *ret = (HwWiringDefaults){link, (guint32)(node->gpus_per_switch >= 0 ? (guint64)node->gpus_per_switch : per_switch),
                              usual.nvlink_raw};
  }
  base_fields_clear(usual_fields, G_N_ELEMENTS(usual_fields), &usual);
  return done;
}

/* Without [nvlink]: all links into the switch, or alike to every peer. */
static gboolean default_nvlinks(HwMachine *machine, const HwNode *node, const HwWiringDefaults *defaults,
                                const BasePlace *place, GError **error) {
  if (node->intra->scope == HW_LINK_PCIE || machine->gpus < 2 || defaults->nvlink_raw == 0)
    return TRUE;
  guint32 links = (guint32)round(node->intra->raw / defaults->nvlink_raw), peers = machine->gpus - 1;
  if (node->intra->scope == HW_LINK_NVSWITCH) {
    for (guint32 gpu = 0; gpu < machine->gpus; gpu++)
      machine->switch_nvlinks[gpu] = links;
    return TRUE;
  }
  if (links % peers != 0 || links == 0) {
    base_error_set_at(error, place,
                      "%u NVLinks of a GPU do not go evenly to %u others: say in [nvlink] who is joined "
                      "to whom (\"gpu.0 = gpu.1*2 gpu.2\")",
                      links, peers);
    return FALSE;
  }
  for (guint32 a = 0; a < machine->gpus; a++)
    for (guint32 b = 0; b < machine->gpus; b++)
      machine->nvlinks[a * machine->gpus + b] = a == b ? 0 : links / peers;
  return TRUE;
}

static HwCpuVendor vendor_of(const char *cpu) {
  return g_str_has_prefix(cpu, "amd-")    ? HW_CPU_AMD
         : g_str_has_prefix(cpu, "arm")   ? HW_CPU_ARM
         : g_str_has_prefix(cpu, "power") ? HW_CPU_POWER
                                          : HW_CPU_INTEL;
}

static void fill(HwMachine *machine, const HwNode *node) {
  machine->sockets = node->sockets;
  machine->gpus = node->gpus;
  machine->nics = node->nics;
  machine->nvlinks = g_new0(guint32, (gsize)node->gpus * node->gpus);
  machine->switch_nvlinks = g_new0(guint32, node->gpus);
  machine->c2c = g_new0(double, node->gpus);
  machine->nic = g_new0(HwMachineNic, node->nics);
  machine->compute_capability = node->gpu->compute_capability;
  machine->cpu = hw_cpu_names[node->cpu];
  machine->cpu_vendor = vendor_of(machine->cpu);
  for (guint32 nic = 0; nic < node->nics; nic++)
    machine->nic[nic] = (HwMachineNic){node->nic_rate, node->nic_latency, nic, 1, node->nic_gdr};
}

static gboolean read_groups(HwMachine *machine, const HwNode *node, const ConfText *text, const BasePlace *places,
                            GError **error) {
  g_auto(HwLines) tree = {0}, nvlinks = {0}, nics = {0};
  HwWiringDefaults defaults = {0};
  if (!hw_wiring_defaults(node, &places[HW_PLACE_PCIE], &defaults, error))
    return FALSE;
  if (node->tree == NULL)
    hw_wiring_default_tree(machine, &defaults);
  else if (!hw_lines_split(node->tree, "pci", text, &places[HW_PLACE_PCI], &tree, error) ||
           !hw_wiring_tree(machine, &tree, &defaults, &places[HW_PLACE_PCI], error))
    return FALSE;
  if (node->nvlinks == NULL
          ? !default_nvlinks(machine, node, &defaults, &places[HW_PLACE_NVLINK], error)
          : !hw_lines_split(node->nvlinks, "nvlink", text, &places[HW_PLACE_NVLINK], &nvlinks, error) ||
                !hw_wiring_nvlinks(machine, &nvlinks, error))
    return FALSE;
  return node->nic_lines == NULL ||
         (hw_lines_split(node->nic_lines, "nics", text, &places[HW_PLACE_NICS], &nics, error) &&
          hw_wiring_nics(machine, &nics, error));
}

HwMachine *hw_machine_new(const HwNode *node, const ConfText *text, const BasePlace places[HW_PLACES], GError **error) {
  g_autoptr(HwMachine) machine = g_new0(HwMachine, 1);
  fill(machine, node);
  return read_groups(machine, node, text, places, error) ? g_steal_pointer(&machine) : NULL;
}

void hw_machine_free(HwMachine *machine) {
  if (machine == NULL)
    return;
  g_free(machine->parts);
  g_free(machine->nvlinks);
  g_free(machine->switch_nvlinks);
  g_free(machine->c2c);
  g_free(machine->nic);
  g_free(machine);
}

char *hw_machine_part_name(const HwMachine *machine, guint32 part) {
  return g_strdup_printf("%s.%u", hw_part_names[machine->parts[part].kind], machine->parts[part].index);
}

guint32 hw_machine_socket_of(const HwMachine *machine, guint32 part) {
  while (machine->parts[part].parent != HW_NO_PARENT)
    part = machine->parts[part].parent;
  return part;
}

static gboolean parts_equal(const HwPart *a, const HwPart *b) {
  return a->kind == b->kind && a->index == b->index && a->parent == b->parent &&
         a->link.generation == b->link.generation && a->link.width == b->link.width && a->link.rate == b->link.rate;
}

static gboolean nics_equal(const HwMachineNic *a, const HwMachineNic *b) {
  return a->rate == b->rate && a->latency == b->latency && a->card == b->card && a->port == b->port && a->gdr == b->gdr;
}

gboolean hw_machine_equal(const HwMachine *a, const HwMachine *b) {
  gsize gpus = a->gpus;
  if (a->sockets != b->sockets || a->switches != b->switches || a->gpus != b->gpus || a->nics != b->nics ||
      a->n_parts != b->n_parts || a->compute_capability != b->compute_capability || a->cpu_vendor != b->cpu_vendor ||
      g_strcmp0(a->cpu, b->cpu) != 0 || memcmp(a->nvlinks, b->nvlinks, gpus * gpus * sizeof *a->nvlinks) != 0 ||
      memcmp(a->switch_nvlinks, b->switch_nvlinks, gpus * sizeof *a->switch_nvlinks) != 0 ||
      memcmp(a->c2c, b->c2c, gpus * sizeof *a->c2c) != 0)
    return FALSE;
  for (guint32 i = 0; i < a->n_parts; i++)
    if (!parts_equal(&a->parts[i], &b->parts[i]))
      return FALSE;
  for (guint32 i = 0; i < a->nics; i++)
    if (!nics_equal(&a->nic[i], &b->nic[i]))
      return FALSE;
  return TRUE;
}
