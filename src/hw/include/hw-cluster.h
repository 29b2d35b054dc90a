/* SPDX-License-Identifier: MIT */
/* A cluster: nodes of GPUs on an intra-node fabric, NICs, leaf and spine switches, as links with capacities.
 *
 *   g_autoptr(HwCluster) cluster = hw_cluster_build(settings, catalog, error);
 *   guint32 out = hw_cluster_gpu_out(cluster, rank);       // link index of the GPU's way into NVSwitch or PCIe
 *
 * Ranks are numbered node by node. `settings` holds the topology's groups ([node], [pci], [nvlink], [nics], [fabric],
 * [environment], [host], [price], [quote], [power]) and the workload's [cluster] group (topology, nodes and
 * the overrides).
 *
 *        spine
 *       /     \            leaf.up / leaf.down: one pair per leaf, capacity = members × NIC / oversubscription
 *    leaf     leaf         (rail-optimised: one leaf per rail and group of nodes_per_leaf nodes; fat-tree: one per
 *    |  |     |  |         group; single-switch: none, every NIC reaches every other at full rate)
 *   nic nic  nic nic       nic.out / nic.in
 *    |  |     |  |
 *   gpu gpu  gpu gpu       gpu.out / gpu.in: into NVSwitch, NVLink or PCIe
 */
#pragma once

#include "hw-catalog.h"
#include "hw-machine.h"

struct ConfSettings; /* conf-settings.h */
struct ConfSchema;

typedef enum { HW_FABRIC_SINGLE_SWITCH, HW_FABRIC_FAT_TREE, HW_FABRIC_RAIL_OPTIMISED } HwFabric;

typedef enum {
  HW_CLASS_GPU_OUT,
  HW_CLASS_GPU_IN,
  HW_CLASS_NIC_OUT,
  HW_CLASS_NIC_IN,
  HW_CLASS_LEAF_UP,
  HW_CLASS_LEAF_DOWN,
  HW_LINK_CLASSES
} HwLinkClass;
extern const char *const hw_link_class_names[]; /* "gpu.out", "gpu.in", "nic.out", … */

typedef struct {
  HwLinkClass link_class;
  double capacity; /* bytes/s */
  guint32 count;   /* equal links this one stands for: 1 until folded */
  double share;    /* of its capacity that a fault leaves, already in `capacity`; 1: it has none */
} HwClusterLink;

/* Fields are read-only after building. GPU, links, platform and host are borrowed from the catalogue, which must
 * outlive it.
 */
typedef struct {
  char *topology; /* name of the file, without folder and extension */
  guint32 nodes, gpus_per_node, nics_per_node, nodes_per_leaf;
  guint32 nics_grouped; /* NICs of the node that NCCL, and nics_per_node, count as one */
  guint32 machine_gpus; /* GPUs that a node has, of which gpus_per_node are used: whose NICs are whose */
  int fabric;
  double oversubscription; /* >= 1 */
  const HwGpu *gpu;
  HwGpu capped;              /* what `gpu` points to under [cluster] power_cap: the catalogue's with that limit */
  const HwLink *intra, *nic; /* nic: NULL where the topology names none */
  const HwLink *host_link;   /* NULL where the topology names none */
  const HwPlatform *platform;
  const HwHost *host;     /* what its CPU pays per operation */
  HwGpu other_gpu;        /* what `gpu` points to under [what_if], and where the topology states its rates */
  HwHost other_host;      /* what `host` points to where the topology states its rate */
  HwPlatform measured;    /* what `platform` points to where the topology, or its overlay, states launch or latency */
  double intra_bandwidth; /* achievable, per GPU and direction: the catalogue's, or node.intra_achievable */
  double nic_bandwidth;   /* achievable, per NIC and direction: the catalogue's, or node.nic_achievable; under [cluster]
                             nic_bandwidth that × the achievable share */
  double network_latency; /* factor of every hop between nodes: 1, but for [what_if] */
  gboolean cpu_amd;       /* NCCL's network overhead differs */
  guint64 sockets;
  double dram_bandwidth; /* 0: not stated */
  guint64 dram;          /* host memory of a node, bytes; 0: not stated */
  double gpu_hour;       /* as hw_cluster_price says under the settings that it was built from */
  HwMachine *machine;    /* one node, whole: machine_gpus GPUs, nics_per_node NICs */
  HwClusterLink *links;
  guint32 n_links;
  double slowest; /* how much longer kernels take on the expected slowest of its GPUs than on a typical one */
  double *speeds; /* of each rank's GPU, 1 where nothing slows it; NULL: all run at 1 */
} HwCluster;

/* The schemas of the topology file's groups and of [cluster]. */
extern const struct ConfSchema hw_topology_schema, hw_cluster_schema;

/* Names that clouds sell machines by, in the order of topologies/catalog/instances.ini: cluster.topology takes each as
 * it takes the name of its topology. */
typedef void (*HwInstanceVisit)(const char *cloud, const char *name, const char *topology, gpointer user);
void hw_instances_visit(HwInstanceVisit visit, gpointer user);

/* The file of a topology: a path, the name of one beside `beside` (NULL: the current folder) or in the data folders, or
 * an instance. Errors: no such file, at `place` (may be NULL), with the nearest name. Caller frees. */
char *hw_topology_find(const char *name, const char *beside, const BasePlace *place, GError **error);

/* Loads the topology that cluster.topology names into the settings, over the defaults and under --set, and builds the
 * cluster. A topology's key in another file is refused, so settings serve one topology. Errors: SIM_ERROR_INPUT at the
 * place of the key at fault. Cost: O(links). */
HwCluster *hw_cluster_build(struct ConfSettings *settings, const HwCatalog *catalog, GError **error);
/* The settings that say what its GPUs cost and draw; nothing else of a cluster depends on them. NULL-terminated. */
extern const char *const hw_price_keys[];
/* USD for a GPU and hour on the cluster under these settings, its topology laid; 0: not stated. Errors: stated both
 * ways. */
gboolean hw_cluster_price(const HwCluster *cluster, const struct ConfSettings *settings, double *ret, GError **error);
void hw_cluster_free(HwCluster *cluster);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(HwCluster, hw_cluster_free)

static inline guint32 hw_cluster_gpus(const HwCluster *cluster) {
  return cluster->nodes * cluster->gpus_per_node;
}
static inline guint32 hw_cluster_node_of(const HwCluster *cluster, guint32 rank) {
  return rank / cluster->gpus_per_node;
}
static inline double hw_cluster_speed(const HwCluster *cluster, guint32 rank) {
  return cluster->speeds != NULL ? cluster->speeds[rank] : 1;
}
/* "nic.3.1", "gpu.0.7", "leaf.5": what [cluster] calls a link, both ways. Caller frees. */
char *hw_cluster_link_name(const HwCluster *cluster, guint32 link);
/* Link indices. `nic` counts within its node. */
guint32 hw_cluster_gpu_out(const HwCluster *cluster, guint32 rank);
guint32 hw_cluster_gpu_in(const HwCluster *cluster, guint32 rank);
guint32 hw_cluster_nic_out(const HwCluster *cluster, guint32 node, guint32 nic);
guint32 hw_cluster_nic_in(const HwCluster *cluster, guint32 node, guint32 nic);
/* Leaf links that a transfer from `nic` of node `from` to the same NIC of node `to` crosses: FALSE where it stays under
 * one leaf or the fabric has none; else *ret_up and *ret_down. */
gboolean hw_cluster_leaf_links(const HwCluster *cluster, guint32 from, guint32 to, guint32 nic, guint32 *ret_up,
                               guint32 *ret_down);
