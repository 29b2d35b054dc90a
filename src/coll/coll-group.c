/* Rings of a communicator over nodes and NICs, as a route with integer coefficients.
 *
 *            ┌───────────── node ─────────────┐
 *   NIC r ══►│ entry ─► … every member … ─► exit │══► NIC r of the next node         ring r, one per NIC in use
 *            └────────────────────────────────┘
 */
#include "coll-group.h"

#include "coll-layout.h"

const char *const coll_operation_names[] = {"all-reduce", "all-gather", "reduce-scatter", NULL};

static void add_link(GArray *links, GArray *coefficients, guint32 link, guint32 coefficient) {
  if (coefficient == 0)
    return;
  g_array_append_val(links, link);
  g_array_append_val(coefficients, coefficient);
}

/* Leaf links may be crossed by several rings and node boundaries: one entry each. */
static void add_or_raise(GArray *links, GArray *coefficients, guint from, guint32 link) {
  for (guint i = from; i < links->len; i++)
    if (g_array_index(links, guint32, i) == link) {
      g_array_index(coefficients, guint32, i)++;
      return;
    }
  add_link(links, coefficients, link, 1);
}

static void route_node(const CollLayout *layout, guint32 node_index, guint32 rings, GArray *links,
                       GArray *coefficients) {
  for (guint32 member = 0; member < layout->per_node; member++) {
    guint32 rank = layout->ranks[node_index * layout->per_node + member];
    guint32 out = rings, in = rings;
    for (guint r = 0; layout->nodes > 1 && r < rings; r++) {
      guint32 exit = layout->exits[r];
      out -= exit == member;
      in -= (exit + 1) % layout->per_node == member;
    }
    if (layout->per_node > 1) {
      add_link(links, coefficients, hw_cluster_gpu_out(layout->cluster, rank), out);
      add_link(links, coefficients, hw_cluster_gpu_in(layout->cluster, rank), in);
    }
  }
}

static void route_network(const CollLayout *layout, GArray *links, GArray *coefficients) {
  const HwCluster *cluster = layout->cluster;
  for (guint32 i = 0; i < layout->nodes; i++) {
    guint32 node = hw_cluster_node_of(cluster, layout->ranks[i * layout->per_node]);
    for (guint r = 0; r < layout->n_nics; r++) {
      guint32 nic = layout->nics[r];
      add_link(links, coefficients, hw_cluster_nic_out(cluster, node, nic), 1);
      add_link(links, coefficients, hw_cluster_nic_in(cluster, node, nic), 1);
    }
  }
  guint leaves = links->len;
  for (guint32 i = 0; i < layout->nodes; i++) {
    guint32 from = hw_cluster_node_of(cluster, layout->ranks[i * layout->per_node]);
    guint32 to = hw_cluster_node_of(cluster, layout->ranks[(i + 1) % layout->nodes * layout->per_node]);
    for (guint r = 0; r < layout->n_nics; r++) {
      guint32 up, down;
      if (!hw_cluster_leaf_links(cluster, from, to, layout->nics[r], &up, &down))
        continue;
      add_or_raise(links, coefficients, leaves, up);
      add_or_raise(links, coefficients, leaves, down);
    }
  }
}

static void measure_route(CollGroup *group, const HwCluster *cluster) {
  group->ring_rate = G_MAXDOUBLE;
  for (guint32 i = 0; i < group->route.n; i++) {
    double rate = cluster->links[group->route.links[i]].capacity / group->route.coefficients[i];
    group->ring_rate = MIN(group->ring_rate, rate);
  }
}

CollGroup *coll_group_new(const HwCluster *cluster, const CollTuning *tuning, const guint32 *ranks, guint32 n,
                          GError **error) {
  g_autoptr(CollLayout) layout = coll_layout_new(cluster, ranks, n, error);
  if (layout == NULL)
    return NULL;
  g_autoptr(GArray) links = g_array_new(FALSE, FALSE, sizeof(guint32));
  g_autoptr(GArray) coefficients = g_array_new(FALSE, FALSE, sizeof(guint32));
  CollGroup *group = g_new0(CollGroup, 1);
  group->size = n;
  group->nodes = layout->nodes;
  group->tuning = *tuning;
  group->intra = cluster->intra->scope == HW_LINK_PCIE ? COLL_HOP_PCI : COLL_HOP_NVLINK;
  group->cpu = cluster->cpu_amd ? COLL_CPU_AMD : COLL_CPU_INTEL;
  group->nic_latency = cluster->platform->nic_latency;
  group->launch_floor = cluster->platform->launch_floor;
  group->rings = group->intra == COLL_HOP_PCI ? tuning->pcie_rings : tuning->nvswitch_rings;
  if (layout->nodes > 1)
    group->rings = layout->n_nics;
  group->channels = MIN(group->rings * tuning->doubled, tuning->most_channels);
  for (guint32 i = 0; n > 1 && i < layout->nodes; i++)
    route_node(layout, i, group->rings, links, coefficients);
  if (layout->nodes > 1)
    route_network(layout, links, coefficients);
  group->route.n = links->len;
  group->route.links = g_memdup2(links->data, links->len * sizeof(guint32));
  group->route.coefficients = g_memdup2(coefficients->data, links->len * sizeof(guint32));
  group->buffer_bytes = n > 1 ? group->channels * (tuning->receive_bytes + tuning->send_bytes) : 0;
  measure_route(group, cluster);
  group->layout = g_steal_pointer(&layout);
  return group;
}

static CollRoute route_copy(const CollRoute *route) {
  gsize size = route->n * sizeof(guint32);
  return (CollRoute){g_memdup2(route->links, size), g_memdup2(route->coefficients, size), route->n};
}

CollGroup *coll_group_copy(const CollGroup *group) {
  CollGroup *copy = g_memdup2(group, sizeof *group);
  copy->route = route_copy(&group->route);
  copy->layout = g_rc_box_acquire(group->layout);
  return copy;
}

void coll_group_free(CollGroup *group) {
  if (group == NULL)
    return;
  g_free(group->route.links);
  g_free(group->route.coefficients);
  coll_layout_unref(group->layout);
  g_free(group);
}
