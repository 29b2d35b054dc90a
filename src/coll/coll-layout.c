/* SPDX-License-Identifier: MIT */
/* Reads a rank list node by node, and finds every NIC that a member is near to. */
#include "coll-layout.h"

#include "base-error.h"

/* NICs nearest to a GPU: an even share each, or several GPUs to one. */
static void gpu_nics(const HwCluster *cluster, guint32 gpu, guint32 *ret_first, guint32 *ret_end) {
  guint32 gpus = cluster->machine_gpus, nics = cluster->nics_per_node;
  *ret_first = gpu * nics / gpus;
  *ret_end = MAX(*ret_first + 1, (gpu + 1) * nics / gpus);
}

static gboolean is_used(const CollLayout *layout, guint32 nic) {
  for (guint32 r = 0; r < layout->n_nics; r++)
    if (layout->nics[r] == nic)
      return TRUE;
  return FALSE;
}

static void find_nics(CollLayout *layout) {
  const HwCluster *cluster = layout->cluster;
  layout->nics = g_new0(guint32, cluster->nics_per_node);
  for (guint32 member = 0; member < layout->per_node; member++) {
    guint32 first, end;
    gpu_nics(cluster, layout->ranks[member] % cluster->gpus_per_node, &first, &end);
    for (guint32 nic = first; nic < end; nic++) {
      if (is_used(layout, nic))
        continue;
      layout->nics[layout->n_nics++] = nic;
    }
  }
}

static gboolean read_nodes(CollLayout *layout, guint32 n, GError **error) {
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

static void clear(gpointer data) {
  CollLayout *layout = data;
  g_free(layout->ranks);
  g_free(layout->nics);
  g_free(layout->exits);
  g_free(layout->rails);
}

void coll_layout_unref(CollLayout *layout) {
  if (layout != NULL)
    g_rc_box_release_full(layout, clear);
}

CollLayout *coll_layout_new(const HwCluster *cluster, const guint32 *ranks, guint32 n, GError **error) {
  g_autoptr(CollLayout) layout = g_rc_box_new0(CollLayout);
  layout->cluster = cluster;
  layout->ranks = g_memdup2(ranks, n * sizeof *ranks);
  layout->per_node = 1;
  if (!read_nodes(layout, n, error))
    return NULL;
  if (layout->nodes > 1)
    find_nics(layout);
  return g_steal_pointer(&layout);
}

guint32 coll_layout_links(const CollLayout *layout, guint32 ring, guint32 from, guint32 to,
                          guint32 ret_links[COLL_MOST_LINKS]) {
  const HwCluster *cluster = layout->cluster;
  guint32 out = hw_cluster_node_of(cluster, layout->ranks[from]), in = hw_cluster_node_of(cluster, layout->ranks[to]);
  if (out == in) {
    ret_links[0] = hw_cluster_gpu_out(cluster, layout->ranks[from]);
    ret_links[1] = hw_cluster_gpu_in(cluster, layout->ranks[to]);
    return 2;
  }
  ret_links[0] = hw_cluster_nic_out(cluster, out, layout->rails[ring]);
  ret_links[1] = hw_cluster_nic_in(cluster, in, layout->rails[ring]);
  return hw_cluster_leaf_links(cluster, out, in, layout->rails[ring], &ret_links[2], &ret_links[3]) ? 4 : 2;
}
