/* SPDX-License-Identifier: MIT */
/* What the topology file and [cluster] say, as the schema tables fill it; for this floor alone. */
#pragma once

#include <glib.h>

#include "hw-what-if.h"

typedef struct {
  char *gpu, *intra, *nic, *platform, *host_link; /* names in the catalogue; nic, host_link may be NULL */
  char *pcie;                                     /* "gen5x16"; NULL: by architecture */
  char *pci, *nvlink, *nic_lines;                 /* the lines of [pci], [nvlink], [nics]; NULL: none */
  guint64 gpus_per_switch;
  guint64 gpus, nics, nics_grouped, sockets, nodes_per_leaf;
  int cpu;      /* index into hw_cpu_names */
  int fabric;   /* HwFabric */
  guint64 dram; /* bytes; 0: not stated */
  double oversubscription, dram_bandwidth, gpu_hour, node_hour;
  double launch_floor, hop_latency, intra_achievable, nic_achievable; /* -1: the catalogue's */
  double matmul_rate, memory_rate, host_rate;                         /* factors of the catalogue's */
  char *overlay;                                                      /* its path; NULL: none */
} HwTopology;

typedef struct {
  char *topology, *gpu; /* gpu NULL: the topology's */
  guint64 nodes, gpus_per_node, nics_per_node;
  double nic_bandwidth, network_share, gpu_spread, power_cap;
  char *slow_gpus, *slow_links, *overlay;
  HwWhatIf what_if;
} HwClusterKeys;

extern const char *const hw_cpu_names[];
gboolean hw_cpu_is_amd(int cpu);
