/* Rings of a communicator over nodes and NICs, as a route with integer coefficients.
 *
 *            ┌───────────── node ─────────────┐
 *   NIC r ══►│ entry ─► … every member … ─► exit │══► NIC r of the next node         ring r, one per NIC in use
 *            └────────────────────────────────┘
 */
#include "coll-group.h"

#include <string.h>

#include "base-error.h"

const char *const coll_operation_names[] = {"all-reduce", "all-gather", "reduce-scatter", NULL};

/* Members of one node, as local GPU numbers, and the NICs their rings leave by. */
typedef struct {
  const HwCluster *cluster;
  const guint32 *ranks;
  guint32 per_node, nodes;
  GArray *nics;  /* guint32: local NIC of ring r */
  GArray *exits; /* guint32: member (index within the node) at which ring r leaves */
} Layout;

/* NICs nearest to a GPU: an even share each, or several GPUs to one. */
static void gpu_nics(const HwCluster *cluster, guint32 gpu, guint32 *ret_first, guint32 *ret_end) {
  guint32 gpus = cluster->gpus_per_node, nics = cluster->nics_per_node;
  *ret_first = gpu * nics / gpus;
  *ret_end = MAX(*ret_first + 1, (gpu + 1) * nics / gpus);
}

static void find_rings(Layout *layout) {
  const HwCluster *cluster = layout->cluster;
  for (guint32 member = 0; member < layout->per_node; member++) {
    guint32 first, end;
    gpu_nics(cluster, layout->ranks[member] % cluster->gpus_per_node, &first, &end);
    for (guint32 nic = first; nic < end; nic++) {
      gboolean used = FALSE;
      for (guint r = 0; r < layout->nics->len; r++)
        used |= g_array_index(layout->nics, guint32, r) == nic;
      if (!used) {
        g_array_append_val(layout->nics, nic);
        g_array_append_val(layout->exits, member);
      }
    }
  }
}

static void add_link(GArray *links, GArray *coefficients, guint32 link, guint32 coefficient) {
  if (coefficient == 0)
    return;
  g_array_append_val(links, link);
  g_array_append_val(coefficients, coefficient);
}

/* Leaf links may be crossed by several rings and node boundaries: one entry each. */
static void add_or_raise(GArray *links, GArray *coefficients, GHashTable *places, guint32 link) {
  gpointer place = g_hash_table_lookup(places, GUINT_TO_POINTER(link));
  if (place != NULL) {
    g_array_index(coefficients, guint32, GPOINTER_TO_UINT(place) - 1)++;
    return;
  }
  add_link(links, coefficients, link, 1);
  g_hash_table_insert(places, GUINT_TO_POINTER(link), GUINT_TO_POINTER(links->len));
}

static void route_node(const Layout *layout, guint32 node_index, guint32 rings, GArray *links, GArray *coefficients) {
  for (guint32 member = 0; member < layout->per_node; member++) {
    guint32 rank = layout->ranks[node_index * layout->per_node + member];
    guint32 out = rings, in = rings;
    for (guint r = 0; layout->nodes > 1 && r < rings; r++) {
      guint32 exit = g_array_index(layout->exits, guint32, r);
      out -= exit == member;
      in -= (exit + 1) % layout->per_node == member;
    }
    if (layout->per_node > 1) {
      add_link(links, coefficients, hw_cluster_gpu_out(layout->cluster, rank), out);
      add_link(links, coefficients, hw_cluster_gpu_in(layout->cluster, rank), in);
    }
  }
}

static void route_network(const Layout *layout, GArray *links, GArray *coefficients) {
  const HwCluster *cluster = layout->cluster;
  for (guint32 i = 0; i < layout->nodes; i++) {
    guint32 node = hw_cluster_node_of(cluster, layout->ranks[i * layout->per_node]);
    for (guint r = 0; r < layout->nics->len; r++) {
      guint32 nic = g_array_index(layout->nics, guint32, r);
      add_link(links, coefficients, hw_cluster_nic_out(cluster, node, nic), 1);
      add_link(links, coefficients, hw_cluster_nic_in(cluster, node, nic), 1);
    }
  }
  g_autoptr(GHashTable) places = g_hash_table_new(NULL, NULL); /* leaf link → its entry, from 1 */
  for (guint32 i = 0; i < layout->nodes; i++) {
    guint32 from = hw_cluster_node_of(cluster, layout->ranks[i * layout->per_node]);
    guint32 to = hw_cluster_node_of(cluster, layout->ranks[(i + 1) % layout->nodes * layout->per_node]);
    for (guint r = 0; r < layout->nics->len; r++) {
      guint32 up, down;
      if (!hw_cluster_leaf_links(cluster, from, to, g_array_index(layout->nics, guint32, r), &up, &down))
        continue;
      add_or_raise(links, coefficients, places, up);
      add_or_raise(links, coefficients, places, down);
    }
  }
}

static gboolean read_layout(Layout *layout, guint32 n, GError **error) {
  const HwCluster *cluster = layout->cluster;
  for (guint32 i = 0; i < n; i++)
    if (hw_cluster_node_of(cluster, layout->ranks[i]) == hw_cluster_node_of(cluster, layout->ranks[0]))
      layout->per_node = i + 1;
  layout->nodes = n / layout->per_node;
  for (guint32 i = 0; i < n; i++) {
    guint32 first = i - i % layout->per_node;
    gboolean same = hw_cluster_node_of(cluster, layout->ranks[i]) == hw_cluster_node_of(cluster, layout->ranks[first]);
    gboolean fresh = i == 0 || i != first ||
                     hw_cluster_node_of(cluster, layout->ranks[i]) != hw_cluster_node_of(cluster, layout->ranks[i - 1]);
    if (!same || !fresh || n % layout->per_node != 0) {
      g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                  "a communicator of %u ranks does not have as many in each of its nodes (%u GPUs per node)", n,
                  cluster->gpus_per_node);
      return FALSE;
    }
  }
  return TRUE;
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
  Layout layout = {.cluster = cluster, .ranks = ranks, .per_node = 1};
  if (!read_layout(&layout, n, error))
    return NULL;
  layout.nics = g_array_new(FALSE, FALSE, sizeof(guint32));
  layout.exits = g_array_new(FALSE, FALSE, sizeof(guint32));
  GArray *links = g_array_new(FALSE, FALSE, sizeof(guint32));
  GArray *coefficients = g_array_new(FALSE, FALSE, sizeof(guint32));
  CollGroup *group = g_new0(CollGroup, 1);
  group->size = n;
  group->nodes = layout.nodes;
  group->tuning = *tuning;
  group->intra = cluster->intra->scope == HW_LINK_PCIE ? COLL_HOP_PCI : COLL_HOP_NVLINK;
  group->cpu = cluster->cpu_amd ? COLL_CPU_AMD : COLL_CPU_INTEL;
  group->nic_latency = cluster->platform->nic_latency;
  group->launch_floor = cluster->platform->launch_floor;
  group->rings = group->intra == COLL_HOP_PCI ? tuning->pcie_rings : tuning->nvswitch_rings;
  if (layout.nodes > 1) {
    find_rings(&layout);
    group->rings = layout.nics->len;
  }
  group->channels = MIN(group->rings * tuning->doubled, tuning->most_channels);
  for (guint32 i = 0; n > 1 && i < layout.nodes; i++)
    route_node(&layout, i, group->rings, links, coefficients);
  if (layout.nodes > 1)
    route_network(&layout, links, coefficients);
  group->route.n = links->len;
  group->route.links = (guint32 *)g_array_free(links, FALSE);
  group->route.coefficients = (guint32 *)g_array_free(coefficients, FALSE);
  group->buffer_bytes = n > 1 ? group->channels * (tuning->receive_bytes + tuning->send_bytes) : 0;
  measure_route(group, cluster);
  g_array_unref(layout.nics);
  g_array_unref(layout.exits);
  return group;
}

void coll_group_free(CollGroup *group) {
  if (group == NULL)
    return;
  g_free(group->route.links);
  g_free(group->route.coefficients);
  g_free(group);
}
