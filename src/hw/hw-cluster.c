/* SPDX-License-Identifier: MIT */
/* From a topology and [cluster] to a cluster: overrides, catalogue entries, consistency, then the links. */
#include "hw-cluster.h"

#include <math.h>

#include "conf-settings.h"
#include "hw-faults.h"
#include "hw-links.h"
#include "hw-overlay.h"
#include "hw-schema.h"
#include "hw-spread.h"
#include "hw-topology.h"
#include "hw-what-if.h"
#include "hw-wiring.h"

/* Links stand in memory one by one before folding. */
#define MOST_GPUS (1u << 20)

static const HwLink *find_link(const ConfSettings *settings, const HwCatalog *catalog, const char *key,
                               const char *name, GError **error) {
  BasePlace place;
  conf_settings_place(settings, key, &place);
  return hw_catalog_link(catalog, name, &place, error);
}

static void take_measured_times(HwCluster *cluster, const HwTopology *topology) {
  cluster->measured = *cluster->platform;
  if (topology->launch_floor >= 0)
    cluster->measured.launch_floor = sim_time_from_seconds(topology->launch_floor);
  if (topology->hop_latency >= 0)
    cluster->measured.hop_latency = sim_time_from_seconds(topology->hop_latency);
  cluster->platform = &cluster->measured;
}

static gboolean take_power_cap(HwCluster *cluster, const ConfSettings *settings, const HwClusterKeys *keys,
                               GError **error) {
  const HwGpu *gpu = cluster->gpu;
  if (keys->power_cap == 0)
    return TRUE;
  if (gpu->power_limit == 0)
    return conf_settings_fail(settings, "cluster.power_cap", error, "no power limit of %s is known", gpu->name);
  double least = gpu->power->fixed * gpu->power_limit;
  if (keys->power_cap <= least || keys->power_cap > gpu->power_limit)
    return conf_settings_fail(settings, "cluster.power_cap", error,
                              "%s takes %g to %g W: it draws the first whatever its clock, the other is its limit",
                              gpu->name, ceil(least) + 1, gpu->power_limit);
  cluster->capped = *gpu;
  cluster->capped.power_limit = keys->power_cap;
  cluster->capped.power_measured = gpu->power_measured > 0 ? gpu->power_measured : gpu->power_limit;
  cluster->gpu = &cluster->capped;
  return TRUE;
}

static gboolean find_parts(HwCluster *cluster, const ConfSettings *settings, const HwCatalog *catalog,
                           const HwTopology *topology, const HwClusterKeys *keys, GError **error) {
  BasePlace place;
  conf_settings_place(settings, keys->gpu != NULL ? "cluster.gpu" : "node.gpu", &place);
  cluster->gpu = hw_catalog_gpu(catalog, keys->gpu != NULL ? keys->gpu : topology->gpu, &place, error);
  if (cluster->gpu == NULL || !take_power_cap(cluster, settings, keys, error))
    return FALSE;
  cluster->intra = find_link(settings, catalog, "node.intra", topology->intra, error);
  if (cluster->intra == NULL)
    return FALSE;
  int scope = cluster->intra->scope;
  if (scope != HW_LINK_NVSWITCH && scope != HW_LINK_NVLINK && scope != HW_LINK_PCIE)
    return conf_settings_fail(settings, "node.intra", error,
                              "\"%s\" is of scope %s; expected one of nvswitch, nvlink, pcie", cluster->intra->name,
                              hw_link_scope_names[scope]);
  if (topology->nic != NULL) {
    cluster->nic = find_link(settings, catalog, "node.nic", topology->nic, error);
    if (cluster->nic == NULL)
      return FALSE;
    if (cluster->nic->scope != HW_LINK_NETWORK)
      return conf_settings_fail(settings, "node.nic", error, "\"%s\" is of scope %s; expected network",
                                cluster->nic->name, hw_link_scope_names[cluster->nic->scope]);
  }
  if (topology->host_link != NULL) {
    cluster->host_link = find_link(settings, catalog, "host.link", topology->host_link, error);
    if (cluster->host_link == NULL)
      return FALSE;
    if (cluster->host_link->scope != HW_LINK_HOST)
      return conf_settings_fail(settings, "host.link", error, "\"%s\" is of scope %s; expected host",
                                cluster->host_link->name, hw_link_scope_names[cluster->host_link->scope]);
  }
  conf_settings_place(settings, "environment.platform", &place);
  cluster->platform = hw_catalog_platform(catalog, topology->platform, &place, error);
  if (cluster->platform == NULL)
    return FALSE;
  take_measured_times(cluster, topology);
  conf_settings_place(settings, "node.cpu", &place);
  cluster->host = hw_catalog_host(catalog, hw_cpu_names[topology->cpu], &place, error);
  return cluster->host != NULL;
}

static gboolean check_network(const HwCluster *cluster, const ConfSettings *settings, GError **error) {
  static const char *const of_nics[] = {"cluster.nic_bandwidth", "cluster.network_share"};
  const char *nics_key = conf_settings_given(settings, "cluster.nics_per_node") ? "cluster.nics_per_node"
                         : conf_settings_given(settings, "node.nics")           ? "node.nics"
                                                                                : "cluster.nodes";
  if (cluster->nodes > 1 && cluster->nics_per_node == 0)
    return conf_settings_fail(settings, nics_key, error, "%u nodes need a network, and a node of \"%s\" has no NICs",
                              cluster->nodes, cluster->topology);
  if (cluster->nics_per_node > 0 && cluster->nic == NULL)
    return conf_settings_fail(settings, nics_key, error, "%u NICs per node, but \"%s\" does not say which (node.nic)",
                              cluster->nics_per_node, cluster->topology);
  if (cluster->nics_per_node % cluster->nics_grouped != 0)
    return conf_settings_fail(settings, nics_key, error, "%u NICs are not whole groups of node.nics_grouped = %u",
                              cluster->nics_per_node, cluster->nics_grouped);
  for (gsize i = 0; i < G_N_ELEMENTS(of_nics); i++)
    if (conf_settings_given(settings, of_nics[i]) && cluster->nics_per_node == 0)
      return conf_settings_fail(settings, of_nics[i], error, "a node of \"%s\" has no NICs", cluster->topology);
  if ((guint64)cluster->nodes * cluster->gpus_per_node > MOST_GPUS)
    return conf_settings_fail(settings, "cluster.nodes", error, "%u nodes of %u GPUs are more than %u GPUs",
                              cluster->nodes, cluster->gpus_per_node, MOST_GPUS);
  return TRUE;
}

static void take_numbers(HwCluster *cluster, const ConfSettings *settings, const HwTopology *topology,
                         const HwClusterKeys *keys) {
  gboolean other_nics = conf_settings_given(settings, "cluster.nics_per_node");
  cluster->nodes = (guint32)keys->nodes;
  cluster->gpus_per_node = (guint32)(keys->gpus_per_node > 0 ? keys->gpus_per_node : topology->gpus);
  cluster->machine_gpus = MAX((guint32)topology->gpus, cluster->gpus_per_node);
  cluster->nics_per_node = (guint32)(other_nics ? keys->nics_per_node : topology->nics);
  cluster->nics_grouped = (guint32)topology->nics_grouped;
  cluster->nodes_per_leaf = (guint32)topology->nodes_per_leaf;
  cluster->fabric = topology->fabric;
  cluster->oversubscription = topology->oversubscription;
  cluster->cpu_amd = hw_cpu_is_amd(topology->cpu);
  cluster->sockets = topology->sockets;
  cluster->dram_bandwidth = topology->dram_bandwidth;
  cluster->dram = topology->dram;
}

/* A measured rate, else the catalogue's; FALSE where it is above what the part can do. */
static gboolean take_bandwidth(const ConfSettings *settings, const char *key, const HwLink *link, double measured,
                               double *ret, GError **error) {
  *ret = measured >= 0 ? measured : link->achievable;
  if (*ret <= link->raw)
    return TRUE;
  g_autofree char *raw = base_quantity_readable(link->raw, BASE_UNIT_BYTE_RATE);
  return conf_settings_fail(settings, key, error, "is above the raw rate of %s, %s", link->name, raw);
}

static gboolean take_bandwidths(HwCluster *cluster, const ConfSettings *settings, const HwTopology *topology,
                                const HwClusterKeys *keys, GError **error) {
  if (!take_bandwidth(settings, "node.intra_achievable", cluster->intra, topology->intra_achievable,
                      &cluster->intra_bandwidth, error))
    return FALSE;
  if (cluster->nic == NULL)
    return TRUE;
  if (!take_bandwidth(settings, "node.nic_achievable", cluster->nic, topology->nic_achievable, &cluster->nic_bandwidth,
                      error))
    return FALSE;
  if (keys->nic_bandwidth > 0)
    cluster->nic_bandwidth = keys->nic_bandwidth * (cluster->nic_bandwidth / cluster->nic->raw);
  cluster->nic_bandwidth *= cluster->nics_grouped;
  cluster->nics_per_node /= cluster->nics_grouped;
  return TRUE;
}

static gboolean load_overlay(ConfSettings *settings, GError **error) {
  g_autofree char *path = NULL;
  return hw_overlay_path(settings, &path, error) && (path == NULL || hw_overlay_load(settings, path, error));
}

static gboolean build_machine(HwCluster *cluster, const ConfSettings *settings, const ConfText *text,
                              const HwTopology *topology, const HwClusterKeys *keys, GError **error) {
  static const char *const names[] = {
      [HW_PLACE_PCI] = "pci.lines",
      [HW_PLACE_NVLINK] = "nvlink.lines",
      [HW_PLACE_NICS] = "nics.lines",
      [HW_PLACE_PCIE] = "node.pcie",
  };
  BasePlace places[HW_PLACES];
  for (guint i = 0; i < HW_PLACES; i++)
    conf_settings_place(settings, names[i], &places[i]);
  const HwNode node = {
      .gpus = cluster->machine_gpus,
      .nics = cluster->nics_per_node,
      .sockets = (guint32)cluster->sockets,
      .gpu = cluster->gpu,
      .intra = cluster->intra,
      .cpu = topology->cpu,
      .nic_rate = cluster->nics_grouped * (keys->nic_bandwidth > 0 ? keys->nic_bandwidth
                                           : cluster->nic != NULL  ? cluster->nic->raw
                                                                   : 0),
      .nic_latency = cluster->platform->nic_latency,
      .nic_gdr = cluster->platform->gdr,
      .pcie = topology->pcie,
      .gpus_per_switch = conf_settings_given(settings, "node.gpus_per_switch") ? (gint64)topology->gpus_per_switch : -1,
      .tree = topology->pci,
      .nvlinks = topology->nvlink,
      .nic_lines = topology->nic_lines,
  };
  cluster->machine = hw_machine_new(&node, text, places, error);
  return cluster->machine != NULL;
}

static gboolean build(HwCluster *cluster, ConfSettings *settings, const HwCatalog *catalog, HwTopology *topology,
                      HwClusterKeys *keys, GError **error) {
  if (!conf_settings_fill(settings, &hw_cluster_schema, keys, error))
    return FALSE;
  g_autoptr(ConfText) text = NULL;
  cluster->topology = hw_topology_load(settings, keys->topology, &text, error);
  if (cluster->topology == NULL || !load_overlay(settings, error) ||
      !conf_settings_fill(settings, &hw_topology_schema, topology, error))
    return FALSE;
  take_numbers(cluster, settings, topology, keys);
  if (!find_parts(cluster, settings, catalog, topology, keys, error) || !check_network(cluster, settings, error))
    return FALSE;
  if (!take_bandwidths(cluster, settings, topology, keys, error) ||
      !build_machine(cluster, settings, text, topology, keys, error))
    return FALSE;
  keys->what_if.matmul_rate *= topology->matmul_rate;
  keys->what_if.memory_bandwidth *= topology->memory_rate;
  hw_what_if_apply(&keys->what_if, cluster);
  hw_what_if_host(topology->host_rate, cluster);
  cluster->nic_bandwidth *= keys->network_share;
  hw_links_build(cluster);
  gboolean stated = conf_settings_given(settings, "cluster.gpu_spread");
  cluster->slowest =
      hw_spread_slowest(stated ? keys->gpu_spread : cluster->gpu->variation->spread, hw_cluster_gpus(cluster));
  return hw_cluster_price(cluster, settings, &cluster->gpu_hour, error) &&
         hw_faults_apply(cluster, settings, keys, error);
}

HwCluster *hw_cluster_build(ConfSettings *settings, const HwCatalog *catalog, GError **error) {
  HwTopology topology = {.launch_floor = -1,
                         .hop_latency = -1,
                         .intra_achievable = -1,
                         .nic_achievable = -1,
                         .matmul_rate = 1,
                         .memory_rate = 1,
                         .host_rate = 1};
  HwClusterKeys keys = {.what_if = HW_WHAT_IF_NONE};
  g_autoptr(HwCluster) cluster = g_new0(HwCluster, 1);
  gboolean built = build(cluster, settings, catalog, &topology, &keys, error);
  conf_struct_clear(&hw_topology_schema, &topology);
  conf_struct_clear(&hw_cluster_schema, &keys);
  return built ? g_steal_pointer(&cluster) : NULL;
}

const char *const hw_price_keys[] = {"price.gpu_hour",
                                     "price.node_hour",
                                     "quote.term",
                                     "quote.up_front",
                                     "quote.power",
                                     "quote.delivery",
                                     "quote.price_spread",
                                     "power.node_overhead",
                                     "power.pue",
                                     "power.kwh_price",
                                     "power.waiting_share",
                                     "power.streaming_share",
                                     NULL};

gboolean hw_cluster_price(const HwCluster *cluster, const ConfSettings *settings, double *ret, GError **error) {
  if (conf_settings_given(settings, "price.gpu_hour") && conf_settings_given(settings, "price.node_hour"))
    return conf_settings_fail(settings, "price.node_hour", error, "expected one of gpu_hour and node_hour, found both");
  double node_hour = conf_settings_number(settings, "price.node_hour");
  *ret = node_hour > 0 ? node_hour / cluster->gpus_per_node : conf_settings_number(settings, "price.gpu_hour");
  return TRUE;
}

void hw_cluster_free(HwCluster *cluster) {
  if (cluster == NULL)
    return;
  g_free(cluster->topology);
  hw_machine_free(cluster->machine);
  g_free(cluster->links);
  g_free(cluster->speeds);
  g_free(cluster);
}
