/* SPDX-License-Identifier: MIT */
/* A communicator's shapes over nodes and NICs, as routes with integer coefficients.
 *
 *            ┌───────────── node ─────────────┐
 *   NIC r ══►│ entry ─► … every member … ─► exit │══► NIC r of the next node         ring r, one per NIC in use
 *            └────────────────────────────────┘
 */
#include "coll-group.h"

#include <string.h>

#include "coll-layout.h"
#include "coll-library.h"
#include "coll-route.h"
#include "coll-search-result.h"
#include "coll-tree.h"
#include "coll-tuner.h"

const char *const coll_operation_names[] = {"all-reduce", "all-gather", "reduce-scatter", "broadcast",
                                            "reduce",     "send-recv",  "all-to-all",     NULL};

/* Which algorithms the communicator can run at all, and what shares a call's bytes in each. */
static void find_units(CollGroup *group) {
  guint32 heads = group->found[COLL_SEARCHED_NVLS].channels, *units = group->units;
  units[COLL_RING] = group->rings;
  units[COLL_TREE] = 2 * group->rings;
  units[COLL_P2P] = units[COLL_P2P_ALL] = 1;
  units[COLL_NVLS] = group->nodes == 1 ? heads : 0;
  units[COLL_NVLS_TREE] = group->nodes > 1 ? 2 * heads : 0;
  units[COLL_PAT] = group->per_node == 1 && group->nodes > 1 && group->tuning->pat_available;
  units[COLL_SYMMETRIC] = group->knobs.registration;
  if (group->found[COLL_SEARCHED_COLLNET].channels > 0)
    units[COLL_COLLNET_DIRECT] = units[COLL_COLLNET_CHAIN] = group->rings;
}

static CollRoute route_of(const CollGroup *group, CollAlgorithm algorithm) {
  const CollLayout *layout = group->layout;
  switch (algorithm) {
  case COLL_RING:
    return coll_route_ring(layout, group->rings);
  case COLL_TREE:
    return coll_route_tree(layout, group->rings);
  case COLL_NVLS:
  case COLL_NVLS_TREE:
    return coll_route_heads(layout, group->per_node, group->nodes > 1 ? 2 : 1);
  case COLL_COLLNET_DIRECT:
  case COLL_COLLNET_CHAIN:
    return coll_route_collnet(layout, group->rings, algorithm == COLL_COLLNET_CHAIN);
  case COLL_PAT:
    return coll_route_rounds(layout);
  case COLL_SYMMETRIC:
    return coll_route_symmetric(layout);
  case COLL_P2P:
    return coll_route_next(layout);
  default:
    return coll_route_pairs(layout);
  }
}

/* NVLS moves (heads + 1) / heads of the data past each GPU, at its share of what a ring gets there. */
static double head_rate(const CollGroup *group) {
  const CollNvlsTuning *nvls = &group->tuning->nvls;
  guint32 loads = (group->per_node + 1) * (group->nodes > 1 ? 2 : 1);
  return group->layout->cluster->intra_bandwidth * nvls->achieved / loads;
}

/* Connections per channel: a ring's one and a tree's three children and parent, of which a chain in the node has
 * two. */
static guint64 buffers_of(const CollGroup *group, CollAlgorithm algorithm) {
  const CollTuning *tuning = group->tuning;
  guint64 pair = tuning->receive_bytes + tuning->send_bytes, heads = group->found[COLL_SEARCHED_NVLS].channels;
  switch (algorithm) {
  case COLL_NVLS:
  case COLL_NVLS_TREE: /* slots of a chunk for each head, both ways */
    return group->nvls_channels * heads * tuning->slots * tuning->nvls.chunk * 2 +
           (group->nodes > 1 ? group->nvls_channels * pair : 0);
  case COLL_TREE:
    return group->channels * 2 * pair;
  case COLL_P2P:
    return group->p2p_channels * pair;
  case COLL_P2P_ALL: /* with each peer of the node; over the network buffers lie with the host or are registered */
    return group->p2p_channels * MAX(group->per_node - 1, 1) * pair;
  default:
    return group->channels * pair;
  }
}

static void hold(CollGroup *group, CollAlgorithm algorithm) {
  if (group->held >> algorithm & 1 || group->units[algorithm] == 0 || group->size < 2)
    return;
  group->held |= 1u << algorithm;
  group->buffer_bytes += buffers_of(group, algorithm);
}

static void hold_from_start(CollGroup *group) {
  static const CollAlgorithm connected[] = {COLL_RING, COLL_TREE, COLL_NVLS, COLL_NVLS_TREE};
  for (gsize i = 0; group->tuning->connects_at_start && i < G_N_ELEMENTS(connected); i++)
    hold(group, connected[i]);
}

static void connect(CollGroup *group, CollAlgorithm algorithm) {
  if (group->connected >> algorithm & 1 || group->units[algorithm] == 0 || group->size < 2)
    return;
  CollRoute route = route_of(group, algorithm);
  double rate = coll_route_rate(&route, group->layout->cluster);
  if (algorithm == COLL_NVLS || algorithm == COLL_NVLS_TREE) {
    group->switch_rate = head_rate(group);
    rate = MIN(rate, group->switch_rate);
  }
  if (group->nodes == 1)
    rate *= algorithm == COLL_P2P ? group->wired_next : group->wired;
  group->routes[algorithm] = route;
  group->rates[algorithm] = rate;
  group->connected |= 1u << algorithm;
  hold(group, algorithm);
}

void coll_group_connect(CollGroup *group, CollAlgorithm algorithm) {
  connect(group, algorithm);
  group->quiet &= ~(1u << algorithm);
}

void coll_group_prepare(CollGroup *group, const CollCall *call) {
  CollAlgorithm algorithm = coll_choice(group, call).algorithm;
  guint32 before = group->connected;
  hold_from_start(group);
  connect(group, algorithm);
  if (coll_call_shares(call))
    group->quiet &= ~(1u << algorithm);
  else
    group->quiet |= group->connected & ~before;
}

/* The floor under every call: what a launch takes, or a graph's kernel after the last. */
static SimTime floor_of(const HwPlatform *platform, const CollKnobs *knobs) {
  if (knobs->cuda_graph)
    return platform->graph_floor;
  SimTime launches = (SimTime)knobs->gpus_per_process * platform->launch_per_gpu;
  return knobs->gpus_per_process > 1 ? MAX(platform->launch_floor, launches) : platform->launch_floor;
}

CollGroup *coll_group_new(CollLibrary *library, const guint32 *ranks, guint32 n, GError **error) {
  const HwCluster *cluster = library->cluster;
  CollLayout *layout = coll_layout_new(cluster, ranks, n, error);
  if (layout == NULL)
    return NULL;
  g_autoptr(CollGroup) group = g_new0(CollGroup, 1);
  group->layout = layout;
  group->size = n;
  group->nodes = layout->nodes;
  group->per_node = layout->per_node;
  group->tuning = g_rc_box_acquire(library->tuning);
  group->platform = cluster->platform->name;
  group->knobs = library->knobs;
  group->cpu = cluster->cpu_amd ? COLL_CPU_AMD : COLL_CPU_INTEL;
  group->nic_latency = cluster->platform->nic_latency;
  group->hop_latency = cluster->platform->hop_latency;
  group->network_latency = cluster->network_latency;
  group->peer = cluster->platform->peer > 0 ? cluster->platform->peer : library->tuning->p2p_net_peer;
  group->short_bytes = cluster->platform->short_bytes;
  group->short_peer = cluster->platform->short_peer;
  group->flushes = cluster->gpu->compute_capability < 90;
  group->launch_floor = floor_of(cluster->platform, &library->knobs);
  group->tree_depth = coll_tree_depth(layout->nodes);
  if (!coll_search_result(group, library, error))
    return NULL;
  if (n > 1)
    find_units(group);
  return g_steal_pointer(&group);
}

gboolean coll_group_has(const CollGroup *group, CollOperation operation) {
  CollChoice choice;
  CollCall call = {.operation = operation, .bytes = 1};
  return coll_choice_among(group, &call, G_MAXUINT32, &choice);
}

CollGroup *coll_group_rerouted(const CollGroup *group, const CollRoute routes[COLL_ALGORITHMS]) {
  CollGroup *rerouted = g_memdup2(group, sizeof *group);
  memcpy(rerouted->routes, routes, sizeof rerouted->routes);
  rerouted->tuning = g_rc_box_acquire(group->tuning);
  rerouted->layout = group->layout != NULL ? g_rc_box_acquire(group->layout) : NULL;
  return rerouted;
}

void coll_group_free(CollGroup *group) {
  if (group == NULL)
    return;
  for (int algorithm = 0; algorithm < COLL_ALGORITHMS; algorithm++)
    coll_route_clear(&group->routes[algorithm]);
  coll_layout_unref(group->layout);
  g_rc_box_release(group->tuning);
  g_free(group);
}
