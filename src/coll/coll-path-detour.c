/* SPDX-License-Identifier: MIT */
/* Paths that traffic takes instead: over the sockets, over a GPU near the NIC; then which NIC is whose. */
#include "coll-path.h"

/* from ─► over ─► to, at the lesser rate and the worse type. */
static void go_over(CollSystem *system, guint32 over, guint32 from, guint32 to, CollPathType type) {
  const CollPath first = *coll_system_path(system, from, over), second = *coll_system_path(system, over, to);
  guint32 start = system->hops->len;
  g_array_set_size(system->hops, start + first.count + second.count);
  guint32 *hops = (guint32 *)system->hops->data;
  for (guint32 i = 0; i < first.count; i++)
    hops[start + i] = hops[first.first + i];
  for (guint32 i = 0; i < second.count; i++)
    hops[start + first.count + i] = hops[second.first + i];
  *coll_system_path(system, from, to) =
      (CollPath){start, first.count + second.count, MIN(first.rate, second.rate), type};
}

/* PCI with C2C is a kind of its own. */
static CollPathType both_types(CollPathType a, CollPathType b) {
  return MAX(a, b) == COLL_PATH_PHB && MIN(a, b) == COLL_PATH_C2C ? COLL_PATH_P2C : MAX(a, b);
}

static void go_over_socket(CollSystem *system, guint32 socket, guint32 from, guint32 to) {
  CollPathType type =
      both_types(coll_system_path(system, from, socket)->type, coll_system_path(system, socket, to)->type);
  go_over(system, socket, from, to, type);
}

static guint32 local_socket(const CollSystem *system, guint32 gpu) {
  guint32 best = COLL_NO_PART;
  for (guint32 socket = system->starts[COLL_PART_SOCKET]; socket < system->starts[COLL_PART_NET]; socket++)
    if (best == COLL_NO_PART ||
        coll_system_path(system, gpu, socket)->count < coll_system_path(system, gpu, best)->count)
      best = socket;
  return best;
}

static void divert_gpus(CollSystem *system, gboolean p2p) {
  CollPathType furthest = system->cpu_amd && system->n_gpus <= 2 ? COLL_PATH_SYS : COLL_PATH_PXB;
  if (!p2p)
    furthest = COLL_PATH_LOC;
  for (guint32 to = 0; to < system->n_gpus; to++)
    for (guint32 from = 0; from < system->n_gpus; from++)
      if (coll_system_path(system, from, to)->type > furthest)
        go_over_socket(system, local_socket(system, to), from, to);
}

/* A NIC that a GPU reaches over its socket and C2C is nearer than PHB says. */
static void shorten_c2c(CollSystem *system, guint32 *nearest) {
  for (guint32 gpu = 0; gpu < system->n_gpus; gpu++) {
    guint32 socket = local_socket(system, gpu), n = coll_system_nearest(system, gpu, COLL_PART_NET, nearest);
    for (guint32 i = 0; i < n; i++) {
      guint32 net = coll_system_net(system, nearest[i]);
      if (both_types(coll_system_path(system, gpu, socket)->type, coll_system_path(system, net, socket)->type) !=
          COLL_PATH_P2C)
        continue;
      CollPath *out = coll_system_path(system, gpu, net), *in = coll_system_path(system, net, gpu);
      out->type = MIN(out->type, COLL_PATH_P2C);
      in->type = MIN(in->type, COLL_PATH_P2C);
    }
  }
}

static guint32 mirrored(guint32 value, guint32 power) {
  guint32 mirror = 0;
  for (guint32 bit = 1, other = power / 2; bit < power; bit *= 2, other /= 2)
    mirror |= (value & bit) != 0 ? other : 0;
  return mirror;
}

/* NICs of a GPU by channel, until they repeat: it shares its nearest ones with the GPUs that they are nearest to. */
static guint32 *nets_of(const CollSystem *system, guint32 gpu, guint32 *ret_n) {
  g_autofree guint32 *nets = g_new(guint32, system->n_nets), *gpus = g_new(guint32, system->n_gpus);
  guint32 n_nets = coll_system_nearest(system, gpu, COLL_PART_NET, nets);
  *ret_n = 0;
  if (n_nets == 0)
    return NULL;
  guint32 n_gpus = coll_system_nearest(system, coll_system_net(system, nets[0]), COLL_PART_GPU, gpus);
  guint32 each = (n_nets + MAX(n_gpus, 1) - 1) / MAX(n_gpus, 1);
  guint32 base = system->gpus[gpu] % MAX(n_gpus, 1);
  if ((n_nets & (n_nets - 1)) == 0)
    base = mirrored(base, n_nets);
  guint32 *mine = g_new(guint32, each);
  for (guint32 channel = 0; channel < each; channel++)
    mine[channel] = nets[(base + channel) % n_nets];
  *ret_n = MIN(each, n_nets);
  return mine;
}

/* The first of the NIC's nearest GPUs that prefers it, by channel. */
static guint32 gpu_of(const CollSystem *system, guint32 net) {
  g_autofree guint32 *gpus = g_new(guint32, system->n_gpus);
  guint32 n = coll_system_nearest(system, coll_system_net(system, net), COLL_PART_GPU, gpus);
  guint32 best = COLL_NO_PART, earliest = COLL_NO_PART;
  for (guint32 i = 0; i < n; i++) {
    guint32 n_nets;
    g_autofree guint32 *nets = nets_of(system, gpus[i], &n_nets);
    for (guint32 channel = 0; channel < MIN(n_nets, earliest); channel++)
      if (nets[channel] == net) {
        earliest = channel;
        best = gpus[i];
      }
  }
  return best;
}

static gboolean has_nvlink(const CollSystem *system, guint32 gpu) {
  for (guint32 peer = 0; peer < system->n_gpus; peer++)
    if (peer != gpu && coll_system_path(system, gpu, peer)->type == COLL_PATH_NVL)
      return TRUE;
  return system->n_gpus == 1;
}

/* Whether the NIC reads (else writes) that GPU's memory itself. */
static gboolean direct(const CollSystem *system, guint32 gpu, guint32 net, gboolean read) {
  enum { AMPERE = 80 };
  if (!system->machine->nic[net].gdr)
    return FALSE;
  if (read && system->compute_capability < AMPERE && !has_nvlink(system, gpu))
    return FALSE;
  CollPathType type = coll_system_path(system, gpu, coll_system_net(system, net))->type;
  return type <= COLL_PATH_P2C || type == COLL_PATH_PXN;
}

/* GPU ─NVLink─► the NIC's own GPU ─► NIC; only on the way out. */
static void try_relay(CollSystem *system, guint32 gpu, guint32 net, guint32 relay) {
  guint32 to = coll_system_net(system, net);
  if (relay == COLL_NO_PART || relay == gpu)
    return;
  const CollPath *theirs = coll_system_path(system, relay, to), *mine = coll_system_path(system, gpu, to);
  if (theirs->type <= COLL_PATH_P2C && direct(system, relay, net, TRUE) &&
      coll_system_path(system, relay, gpu)->type <= COLL_PATH_NVL &&
      (theirs->rate > mine->rate || mine->type > COLL_PATH_PXN))
    go_over(system, relay, gpu, to, COLL_PATH_PXN);
}

static void divert_nets(CollSystem *system) {
  for (guint32 net = 0; net < system->n_nets; net++) {
    guint32 there = coll_system_net(system, net), relay = gpu_of(system, net);
    for (guint32 gpu = 0; gpu < system->n_gpus; gpu++) {
      try_relay(system, gpu, net, relay);
      if (coll_system_path(system, gpu, there)->type < COLL_PATH_PHB && !direct(system, gpu, net, FALSE)) {
        go_over_socket(system, local_socket(system, gpu), there, gpu);
        go_over_socket(system, local_socket(system, gpu), gpu, there);
      }
    }
  }
}

void coll_paths_divert(CollSystem *system, gboolean p2p) {
  divert_gpus(system, p2p);
  if (system->n_nets == 0)
    return;
  g_autofree guint32 *nearest = g_new(guint32, MAX(system->n_nets, system->n_gpus));
  shorten_c2c(system, nearest);
  divert_nets(system);
  system->near_nets = g_new0(guint32 *, system->n_gpus);
  system->n_near_nets = g_new0(guint32, system->n_gpus);
  system->near_gpu = g_new(guint32, system->n_nets);
  for (guint32 gpu = 0; gpu < system->n_gpus; gpu++)
    system->near_nets[gpu] = nets_of(system, gpu, &system->n_near_nets[gpu]);
  for (guint32 net = 0; net < system->n_nets; net++)
    system->near_gpu[net] = gpu_of(system, net);
}
