/* SPDX-License-Identifier: MIT */
/* Graphs into speeds for the tuner, and into rings and NICs for the routes. */
#include "coll-search-result.h"

#include "base-error.h"
#include "coll-layout.h"

/* NCCL gives LL128 only where stores of 128 bytes arrive whole: by NVLink, and to NICs that no CPU stands before. */
static gboolean has_ll128(const CollGraph *graph, guint64 capability, gboolean over_nodes) {
  CollPathType furthest = capability >= 90 ? COLL_PATH_PXN : COLL_PATH_PXB;
  return capability >= 70 && graph->type_intra <= COLL_PATH_NVB && (!over_nodes || graph->type_inter <= furthest);
}

static CollSearchResult found_of(const CollGraphs *graphs, CollGraphKind kind, gboolean over_nodes) {
  const CollGraph *graph = &graphs->graph[kind];
  return (CollSearchResult){.channels = graph->channels,
                            .intra = graph->intra,
                            .inter = graph->inter,
                            .nvlink = graph->type_intra <= COLL_PATH_NVL,
                            .ll128 = has_ll128(graph, graphs->capability, over_nodes),
                            .plain_tree = graph->pattern == COLL_TREE_PLAIN,
                            .same = graph->same_channels};
}

/* Each ring's last GPU, and the NIC that it leaves by: where rails matter, odd nodes swap, so that it comes in by it
 * too.
 */
static void place_rings(CollLayout *layout, const CollGraph *ring) {
  layout->n_rings = ring->channels;
  layout->exits = g_new(guint32, ring->channels);
  layout->rails = g_new(guint32, ring->channels);
  for (guint32 c = 0; c < ring->channels; c++) {
    layout->exits[c] = ring->order[c * ring->gpus + ring->gpus - 1];
    layout->rails[c] = ring->nics[2 * c + 1];
  }
}

/* With P2P disabled a ring's GPUs speak through host memory, at what the search found there. */
static double host_cap(const CollGroup *group) {
  return group->knobs.p2p_disable ? group->found[COLL_SEARCHED_RING].intra : G_MAXDOUBLE;
}

static guint32 gpu_of(const CollLayout *layout, guint32 i) {
  return layout->ranks[i % layout->per_node] % layout->cluster->gpus_per_node;
}

static guint32 wires_of(const HwMachine *machine, guint32 gpu) {
  guint32 wires = 0;
  for (guint32 other = 0; other < machine->gpus; other++)
    wires += hw_machine_nvlinks(machine, gpu, other);
  return wires;
}

/* Where NVLinks join pairs, members use those among themselves alone: the least share of a GPU's wires that lead to its
 * next `peers` members in the node. 1 through an NVSwitch, and where two have no wire and take another way. */
static double wired_share(const CollLayout *layout, guint32 peers) {
  const HwMachine *machine = layout->cluster->machine;
  double least = 1;
  for (guint32 i = 0; i < layout->per_node && layout->per_node > 1; i++) {
    guint32 gpu = gpu_of(layout, i), all = wires_of(machine, gpu), wires = 0;
    for (guint32 k = 1; k <= peers; k++)
      wires += hw_machine_nvlinks(machine, gpu, gpu_of(layout, i + k));
    if (wires > 0 && machine->switch_nvlinks[gpu] == 0)
      least = MIN(least, wires / (double)all);
  }
  return least;
}

/* Symmetric kernels: one NVSwitch domain of Hopper or later, a version that has them. */
static gboolean check_registration(const CollGroup *group, GError **error) {
  const HwCluster *cluster = group->layout->cluster;
  if (!group->knobs.registration || group->size == 1)
    return TRUE;
  if (group->nodes == 1 && cluster->intra->scope == HW_LINK_NVSWITCH && cluster->gpu->compute_capability >= 90 &&
      group->tuning->symmetric_available)
    return TRUE;
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
              "nccl.registration: registered buffers are modelled inside one NVSwitch domain of Hopper or later, from "
              "NCCL 2.27 on; this communicator has %u nodes of %s",
              group->nodes, cluster->gpu->name);
  return FALSE;
}

/* What NCCL is asked for this communicator; `gpus` has room for those of a node. */
static CollGraphRequest request_of(const CollGroup *group, guint32 *gpus) {
  const CollLayout *layout = group->layout;
  for (guint32 i = 0; i < layout->per_node; i++)
    gpus[i] = layout->ranks[i] % layout->cluster->gpus_per_node;
  return (CollGraphRequest){.gpus = gpus,
                            .n_gpus = layout->per_node,
                            .nodes = layout->nodes,
                            .ranks = group->size,
                            .min_channels = (guint32)group->knobs.min_channels,
                            .max_channels = (guint32)group->knobs.max_channels,
                            .cross_nic = (guint32)group->knobs.cross_nic,
                            .nvls = group->knobs.nvls_enable,
                            .p2p = !group->knobs.p2p_disable};
}

/* NCCL src/graph/paths.cc: a connection for each so much of a NIC's rate, a power of two, halved while the ranks'
 * operations, several to a channel, do not fit into the channels. Before that rule a fixed number. */
static guint32 net_connections(const CollGroup *group, const CollSearchRules *rules) {
  guint32 each = 1, batches = (group->size + rules->p2p_operations - 1) / rules->p2p_operations;
  if (rules->p2p_net_rate == 0)
    return rules->p2p_net;
  while (each * rules->p2p_net_rate < group->layout->cluster->nic_bandwidth)
    each *= 2;
  while (each > 1 && (guint64)each * batches > group->tuning->p2p_net_channels)
    each /= 2;
  return each;
}

static void take_graphs(CollGroup *group, const CollGraphs *graphs, const CollCounts *counts) {
  gboolean over_nodes = group->nodes > 1;
  group->found[COLL_SEARCHED_RING] = found_of(graphs, COLL_GRAPH_RING, over_nodes);
  group->found[COLL_SEARCHED_TREE] = found_of(graphs, COLL_GRAPH_TREE, over_nodes);
  group->found[COLL_SEARCHED_NVLS] = found_of(graphs, COLL_GRAPH_NVLS, over_nodes);
  if (group->knobs.collnet_enable && over_nodes)
    group->found[COLL_SEARCHED_COLLNET] = group->found[COLL_SEARCHED_TREE];
  group->rings = group->found[COLL_SEARCHED_RING].channels;
  group->channels = counts->coll;
  group->nvls_channels = counts->nvls;
  group->p2p_channels = counts->p2p;
}

gboolean coll_search_result(CollGroup *group, CollLibrary *library, GError **error) {
  CollLayout *layout = group->layout;
  const HwCluster *cluster = layout->cluster;
  g_autofree guint32 *gpus = g_new(guint32, layout->per_node);
  CollGraphRequest request = request_of(group, gpus);
  const CollGraphs *graphs = coll_library_graphs(library, &request, error);
  if (graphs == NULL || !check_registration(group, error))
    return FALSE;
  CollCounts counts;
  coll_graphs_count(graphs, &library->rules, &request, &counts);
  take_graphs(group, graphs, &counts);
  gboolean nvlink = group->found[COLL_SEARCHED_RING].nvlink || cluster->intra->scope != HW_LINK_PCIE;
  group->intra = nvlink ? COLL_HOP_NVLINK : COLL_HOP_PCI;
  group->wired = wired_share(layout, layout->per_node - 1);
  group->wired_next = wired_share(layout, 1);
  group->node_rate = cluster->intra_bandwidth * group->wired / group->rings;
  group->p2p_cap = host_cap(group);
  group->net_connections = net_connections(group, &library->rules);
  if (layout->nodes == 1)
    return TRUE;
  place_rings(layout, &graphs->graph[COLL_GRAPH_RING]);
  group->nic_rate = cluster->nic_bandwidth * layout->n_nics;
  return TRUE;
}

void coll_library_describe(CollLibrary *library, const CollGroup *group, GString *text) {
  g_autofree guint32 *gpus = g_new(guint32, group->per_node);
  CollGraphRequest request = request_of(group, gpus);
  const CollGraphs *graphs = coll_library_graphs(library, &request, NULL);
  if (graphs != NULL)
    coll_graphs_describe(graphs, gpus, text);
}
