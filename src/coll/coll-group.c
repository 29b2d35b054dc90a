/* Rings and trees of a communicator over nodes and NICs, as routes with integer coefficients.
 *
 *            ┌───────────── node ─────────────┐
 *   NIC r ══►│ entry ─► … every member … ─► exit │══► NIC r of the next node         ring r, one per NIC in use
 *            └────────────────────────────────┘
 */
#include "coll-group.h"

#include "coll-layout.h"
#include "coll-route.h"
#include "coll-tree.h"

const char *const coll_operation_names[] = {"all-reduce", "all-gather", "reduce-scatter", NULL};

CollGroup *coll_group_new(const HwCluster *cluster, const CollTuning *tuning, const guint32 *ranks, guint32 n,
                          GError **error) {
  CollLayout *layout = coll_layout_new(cluster, ranks, n, error);
  if (layout == NULL)
    return NULL;
  CollGroup *group = g_new0(CollGroup, 1);
  group->layout = layout;
  group->size = n;
  group->nodes = layout->nodes;
  group->per_node = layout->per_node;
  group->tuning = *tuning;
  group->intra = cluster->intra->scope == HW_LINK_PCIE ? COLL_HOP_PCI : COLL_HOP_NVLINK;
  group->cpu = cluster->cpu_amd ? COLL_CPU_AMD : COLL_CPU_INTEL;
  group->nic_latency = cluster->platform->nic_latency;
  group->launch_floor = cluster->platform->launch_floor;
  group->rings = group->intra == COLL_HOP_PCI ? tuning->pcie_rings : tuning->nvswitch_rings;
  if (layout->nodes > 1)
    group->rings = layout->n_nics;
  group->channels = MIN(group->rings * tuning->doubled, tuning->most_channels);
  group->route = coll_route_ring(layout, group->rings);
  group->tree_route = coll_route_tree(layout, group->rings);
  group->ring_rate = coll_route_rate(&group->route, cluster);
  group->tree_rate = coll_route_rate(&group->tree_route, cluster);
  group->node_rate = cluster->intra_bandwidth / group->rings;
  group->tree_depth = coll_tree_depth(layout->nodes);
  group->buffer_bytes = n > 1 ? group->channels * (tuning->receive_bytes + tuning->send_bytes) : 0;
  return group;
}

CollGroup *coll_group_rerouted(const CollGroup *group, const CollRoute routes[COLL_ALGORITHMS]) {
  CollGroup *rerouted = g_memdup2(group, sizeof *group);
  rerouted->route = routes[COLL_RING];
  rerouted->tree_route = routes[COLL_TREE];
  rerouted->layout = group->layout != NULL ? g_rc_box_acquire(group->layout) : NULL;
  return rerouted;
}

void coll_group_free(CollGroup *group) {
  if (group == NULL)
    return;
  coll_route_clear(&group->route);
  coll_route_clear(&group->tree_route);
  coll_layout_unref(group->layout);
  g_free(group);
}
