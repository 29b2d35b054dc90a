/* SPDX-License-Identifier: MIT */
/* Parts and links of a machine as NCCL counts them. */
#include <math.h>
#include <string.h>

#include "coll-path.h"

static gint64 pcie_rate(const CollSearchRules *rules, const HwPciLink *link) {
  enum { FULL_WIDTH = 16 };
  if (link->rate > 0)
    return (gint64)llround(link->rate);
  guint generation = CLAMP(link->generation, 1, COLL_PCIE_GENERATIONS);
  return rules->pcie[generation - 1] * link->width / FULL_WIDTH;
}

gint64 coll_system_nvlink_rate(const CollSearchRules *rules, guint64 capability) {
  return rules->nvlink[capability >= 100  ? COLL_NVLINK_BLACKWELL
                       : capability >= 90 ? COLL_NVLINK_HOPPER
                       : capability == 86 ? COLL_NVLINK_AMPERE_86
                       : capability >= 80 ? COLL_NVLINK_AMPERE
                                          : COLL_NVLINK_VOLTA];
}

static gint64 sockets_rate(const CollSearchRules *rules, const HwMachine *machine) {
  static const struct {
    const char *cpu;
    CollSockets kind;
  } rows[] = {
      {"intel-broadwell", COLL_SOCKETS_BROADWELL},
      {"intel-skylake", COLL_SOCKETS_SKYLAKE},
      {"intel-cascade-lake", COLL_SOCKETS_SKYLAKE},
      {"intel-icelake", COLL_SOCKETS_SKYLAKE},
      {"intel-spr", COLL_SOCKETS_SPR},
      {"intel-emr", COLL_SOCKETS_EMR},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    if (strcmp(rows[i].cpu, machine->cpu) == 0)
      return rules->sockets[rows[i].kind];
  return machine->cpu_vendor == HW_CPU_AMD     ? rules->sockets[COLL_SOCKETS_AMD]
         : machine->cpu_vendor == HW_CPU_ARM   ? rules->sockets[COLL_SOCKETS_ARM]
         : machine->cpu_vendor == HW_CPU_POWER ? rules->sockets[COLL_SOCKETS_POWER]
                                               : rules->local;
}

/* Links of a part stand in falling order of rate, equal ones as they came. */
static void add_link(CollSystem *system, guint32 from, guint32 to, CollPathType type, gint64 rate, guint32 back) {
  guint32 added = system->links->len;
  CollLink link = {from, to, back, type, rate, rate};
  g_array_append_val(system->links, link);
  GArray *links = system->parts[from].links;
  guint position = links->len;
  while (position > 0 && coll_system_link(system, g_array_index(links, guint32, position - 1))->rate < rate)
    position--;
  g_array_insert_val(links, position, added);
}

static void join(CollSystem *system, guint32 a, guint32 b, CollPathType type, gint64 rate) {
  guint32 first = system->links->len;
  add_link(system, a, b, type, rate, first + 1);
  add_link(system, b, a, type, rate, first);
}

static guint32 system_part_of(const CollSystem *system, guint32 machine_part) {
  const HwPart *part = &system->machine->parts[machine_part];
  return coll_system_part(system, part->kind == HW_PART_SOCKET ? COLL_PART_SOCKET : COLL_PART_SWITCH, part->index);
}

/* The link to the part above stands last. */
static void join_above(CollSystem *system, const CollSearchRules *rules, guint32 part, guint32 machine_part) {
  const HwPart *from = &system->machine->parts[machine_part];
  join(system, part, system_part_of(system, from->parent), COLL_PATH_PIX, pcie_rate(rules, &from->link));
}

static void put_up_link_last(CollPart *part, guint32 link) {
  for (guint i = 0; i < part->links->len; i++)
    if (g_array_index(part->links, guint32, i) == link) {
      g_array_remove_index(part->links, i);
      break;
    }
  g_array_append_val(part->links, link);
}

static void join_nvlinks(CollSystem *system, const CollSearchRules *rules) {
  const HwMachine *machine = system->machine;
  gint64 rate = coll_system_nvlink_rate(rules, machine->compute_capability);
  for (guint32 a = 0; a < system->n_gpus; a++) {
    guint32 gpu = system->gpus[a], into = machine->switch_nvlinks[gpu];
    if (into > 0)
      join(system, a, system->starts[COLL_PART_NVSWITCH], COLL_PATH_NVL, rate * into);
    for (guint32 b = a + 1; b < system->n_gpus; b++) {
      guint32 links = hw_machine_nvlinks(machine, gpu, system->gpus[b]);
      if (links > 0)
        join(system, a, b, COLL_PATH_NVL, rate * links);
    }
    if (machine->c2c[gpu] > 0) {
      guint32 socket = hw_machine_socket_of(machine, hw_machine_gpu_part(machine, gpu));
      join(system, a, coll_system_part(system, COLL_PART_SOCKET, socket), COLL_PATH_C2C,
           (gint64)llround(machine->c2c[gpu]));
    }
  }
}

static void join_nets(CollSystem *system, const CollSearchRules *rules) {
  const HwMachine *machine = system->machine;
  for (guint32 net = 0; net < system->n_nets; net++) {
    guint32 nic = coll_system_part(system, COLL_PART_NIC, net);
    system->net_free[net] = (gint64)llround(machine->nic[net].rate);
    join_above(system, rules, nic, hw_machine_nic_part(machine, net));
    put_up_link_last(&system->parts[nic], system->links->len - 2);
    join(system, nic, coll_system_net(system, net), COLL_PATH_NET, system->net_free[net]);
  }
}

static void join_all(CollSystem *system, const CollSearchRules *rules) {
  const HwMachine *machine = system->machine;
  for (guint32 gpu = 0; gpu < system->n_gpus; gpu++) {
    guint32 up = system->links->len;
    join_above(system, rules, gpu, hw_machine_gpu_part(machine, system->gpus[gpu]));
    put_up_link_last(&system->parts[gpu], up);
    system->pci_rate[gpu] = coll_system_link(system, up)->rate;
  }
  join_nets(system, rules);
  join_nvlinks(system, rules);
  for (guint32 i = 0; i < machine->switches; i++) {
    guint32 up = system->links->len, part = coll_system_part(system, COLL_PART_SWITCH, i);
    join_above(system, rules, part, hw_machine_switch_part(machine, i));
    put_up_link_last(&system->parts[part], up);
  }
  for (guint32 a = 0; a < machine->sockets; a++)
    for (guint32 b = a + 1; b < machine->sockets; b++)
      join(system, coll_system_part(system, COLL_PART_SOCKET, a), coll_system_part(system, COLL_PART_SOCKET, b),
           COLL_PATH_SYS, sockets_rate(rules, machine));
}

static void lay_parts(CollSystem *system) {
  const HwMachine *machine = system->machine;
  gboolean has_nvswitch = FALSE;
  for (guint32 gpu = 0; gpu < system->n_gpus; gpu++)
    has_nvswitch |= machine->switch_nvlinks[system->gpus[gpu]] > 0;
  const guint32 counts[COLL_PART_KINDS] = {
      [COLL_PART_GPU] = system->n_gpus, [COLL_PART_NVSWITCH] = has_nvswitch, [COLL_PART_SOCKET] = machine->sockets,
      [COLL_PART_NET] = system->n_nets, [COLL_PART_NIC] = system->n_nets,    [COLL_PART_SWITCH] = machine->switches,
  };
  for (guint kind = 0; kind < COLL_PART_KINDS; kind++)
    system->starts[kind + 1] = system->starts[kind] + counts[kind];
  system->parts = g_new0(CollPart, coll_system_n_parts(system));
  for (guint kind = 0; kind < COLL_PART_KINDS; kind++)
    for (guint32 i = 0; i < counts[kind]; i++)
      system->parts[system->starts[kind] + i] =
          (CollPart){(CollPartKind)kind, i, g_array_new(FALSE, FALSE, sizeof(guint32))};
}

/* What the ladder starts from: the best path's rate, and the links of the best GPU. */
static void find_rates(CollSystem *system, gint64 local) {
  if (system->n_nets == 0 && system->n_gpus == 1) {
    system->most_rate = system->total_rate = local;
    return;
  }
  CollPartKind kind = system->n_nets > 0 ? COLL_PART_NET : COLL_PART_GPU;
  for (guint32 gpu = 0; gpu < system->n_gpus; gpu++) {
    for (guint32 to = system->starts[kind]; to < system->starts[kind + 1]; to++)
      if (to != gpu)
        system->most_rate = MAX(system->most_rate, coll_system_path(system, gpu, to)->rate);
    gint64 nvlink = 0;
    for (guint i = 0; i < system->parts[gpu].links->len; i++) {
      const CollLink *link = coll_system_link(system, g_array_index(system->parts[gpu].links, guint32, i));
      nvlink += link->type == COLL_PATH_NVL ? link->rate : 0;
    }
    system->total_rate = MAX(system->total_rate, MAX(nvlink, system->pci_rate[gpu]));
  }
}

CollSystem *coll_system_new(const HwMachine *machine, const CollSearchRules *rules, const CollView *view) {
  CollSystem *system = g_new0(CollSystem, 1);
  system->machine = machine;
  system->gpus = g_memdup2(view->gpus, view->n_gpus * sizeof *view->gpus);
  system->n_gpus = view->n_gpus;
  system->n_nets = view->over_nodes ? machine->nics : 0;
  system->cpu_amd = machine->cpu_vendor == HW_CPU_AMD;
  system->cpu_intel = machine->cpu_vendor == HW_CPU_INTEL;
  system->compute_capability = machine->compute_capability;
  system->intel_peer_cost = rules->intel_peer_cost;
  system->volta_reverse_share = rules->volta_reverse_share;
  system->links = g_array_new(FALSE, FALSE, sizeof(CollLink));
  system->hops = g_array_new(FALSE, FALSE, sizeof(guint32));
  system->net_free = g_new0(gint64, system->n_nets);
  system->pci_rate = g_new0(gint64, system->n_gpus);
  lay_parts(system);
  join_all(system, rules);
  coll_paths_find(system);
  coll_paths_divert(system, view->p2p);
  find_rates(system, rules->local);
  return system;
}

void coll_system_free(CollSystem *system) {
  if (system == NULL)
    return;
  for (guint32 i = 0; i < coll_system_n_parts(system); i++)
    g_array_unref(system->parts[i].links);
  for (guint32 i = 0; system->near_nets != NULL && i < system->n_gpus; i++)
    g_free(system->near_nets[i]);
  g_free(system->near_nets);
  g_free(system->n_near_nets);
  g_free(system->near_gpu);
  g_free(system->net_free);
  g_free(system->pci_rate);
  g_free(system->parts);
  g_free(system->paths);
  g_free(system->gpus);
  g_array_unref(system->links);
  g_array_unref(system->hops);
  g_free(system);
}
