/* SPDX-License-Identifier: MIT */
/* Links side by side, class after class, so that an index is arithmetic:
 *
 *   gpu.out[rank] | gpu.in[rank] | nic.out[node × nics + nic] | nic.in[…] | leaf.up[leaf] | leaf.down[leaf]
 *
 * Leaves are numbered group by group (a group is nodes_per_leaf nodes): one a group in a fat tree, one for each NIC
 * number in a rail-optimised fabric. A fabric whose nodes are all in one group has none: nothing crosses the spine. */
#include "hw-links.h"

const char *const hw_link_class_names[] = {"gpu.out", "gpu.in", "nic.out", "nic.in", "leaf.up", "leaf.down", NULL};

static guint32 groups(const HwCluster *cluster) {
  return (cluster->nodes + cluster->nodes_per_leaf - 1) / cluster->nodes_per_leaf;
}

static guint32 leaves_per_group(const HwCluster *cluster) {
  return cluster->fabric == HW_FABRIC_RAIL_OPTIMISED ? cluster->nics_per_node : 1;
}

static guint32 leaves(const HwCluster *cluster) {
  if (cluster->fabric == HW_FABRIC_SINGLE_SWITCH || groups(cluster) < 2)
    return 0;
  return groups(cluster) * leaves_per_group(cluster);
}

/* Capacity of leaf.up and leaf.down: what its members can send, less the oversubscription. */
static double leaf_capacity(const HwCluster *cluster, guint32 leaf) {
  guint32 first = leaf / leaves_per_group(cluster) * cluster->nodes_per_leaf;
  guint32 members = MIN(cluster->nodes_per_leaf, cluster->nodes - first);
  if (cluster->fabric == HW_FABRIC_FAT_TREE)
    members *= cluster->nics_per_node;
  return members * cluster->nic_bandwidth / cluster->oversubscription;
}

static guint32 class_start(const HwCluster *cluster, HwLinkClass link_class) {
  guint32 gpus = hw_cluster_gpus(cluster), nics = cluster->nodes * cluster->nics_per_node;
  const guint32 sizes[HW_LINK_CLASSES] = {gpus, gpus, nics, nics, leaves(cluster), leaves(cluster)};
  guint32 start = 0;
  for (guint i = 0; i < (guint)link_class; i++)
    start += sizes[i];
  return start;
}

void hw_links_build(HwCluster *cluster) {
  cluster->n_links = class_start(cluster, HW_LINK_CLASSES);
  cluster->links = g_new(HwClusterLink, cluster->n_links);
  for (guint link_class = 0; link_class < HW_LINK_CLASSES; link_class++) {
    guint32 start = class_start(cluster, link_class), end = class_start(cluster, link_class + 1);
    for (guint32 i = start; i < end; i++) {
      double capacity = link_class <= HW_CLASS_GPU_IN   ? cluster->intra_bandwidth
                        : link_class <= HW_CLASS_NIC_IN ? cluster->nic_bandwidth
                                                        : leaf_capacity(cluster, i - start);
      cluster->links[i] = (HwClusterLink){.link_class = link_class, .capacity = capacity, .count = 1, .share = 1};
    }
  }
}

guint32 hw_cluster_gpu_out(const HwCluster *cluster, guint32 rank) {
  sim_require(rank < hw_cluster_gpus(cluster), 0, NULL, "rank %u of %u", rank, hw_cluster_gpus(cluster));
  return class_start(cluster, HW_CLASS_GPU_OUT) + rank;
}

guint32 hw_cluster_gpu_in(const HwCluster *cluster, guint32 rank) {
  sim_require(rank < hw_cluster_gpus(cluster), 0, NULL, "rank %u of %u", rank, hw_cluster_gpus(cluster));
  return class_start(cluster, HW_CLASS_GPU_IN) + rank;
}

static guint32 nic_index(const HwCluster *cluster, guint32 node, guint32 nic) {
  sim_require(node < cluster->nodes && nic < cluster->nics_per_node, 0, NULL, "NIC %u of %u in node %u of %u", nic,
              cluster->nics_per_node, node, cluster->nodes);
  return node * cluster->nics_per_node + nic;
}

guint32 hw_cluster_nic_out(const HwCluster *cluster, guint32 node, guint32 nic) {
  return class_start(cluster, HW_CLASS_NIC_OUT) + nic_index(cluster, node, nic);
}

guint32 hw_cluster_nic_in(const HwCluster *cluster, guint32 node, guint32 nic) {
  return class_start(cluster, HW_CLASS_NIC_IN) + nic_index(cluster, node, nic);
}

static guint32 leaf_of(const HwCluster *cluster, guint32 node, guint32 nic) {
  guint32 group = node / cluster->nodes_per_leaf;
  return cluster->fabric == HW_FABRIC_RAIL_OPTIMISED ? group * cluster->nics_per_node + nic : group;
}

gboolean hw_cluster_leaf_links(const HwCluster *cluster, guint32 from, guint32 to, guint32 nic, guint32 *ret_up,
                               guint32 *ret_down) {
  nic_index(cluster, from, nic);
  nic_index(cluster, to, nic);
  if (leaves(cluster) == 0 || leaf_of(cluster, from, nic) == leaf_of(cluster, to, nic))
    return FALSE;
  *ret_up = class_start(cluster, HW_CLASS_LEAF_UP) + leaf_of(cluster, from, nic);
  *ret_down = class_start(cluster, HW_CLASS_LEAF_DOWN) + leaf_of(cluster, to, nic);
  return TRUE;
}

char *hw_cluster_link_name(const HwCluster *cluster, guint32 link) {
  HwLinkClass link_class = cluster->links[link].link_class;
  guint32 index = link - class_start(cluster, link_class);
  if (link_class >= HW_CLASS_LEAF_UP)
    return g_strdup_printf("leaf.%u", index);
  gboolean nic = link_class >= HW_CLASS_NIC_OUT;
  guint32 per_node = nic ? cluster->nics_per_node : cluster->gpus_per_node;
  return g_strdup_printf("%s.%u.%u", nic ? "nic" : "gpu", index / per_node, index % per_node);
}
