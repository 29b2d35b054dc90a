/* SPDX-License-Identifier: MIT */
/* [what_if]: the same cluster with one figure some per cent larger or smaller, as sensitivities and "what would that
 * buy" ask for; for this floor alone.
 *
 *   HwClusterKeys keys = {.what_if = HW_WHAT_IF_NONE};
 *   … fill …
 *   hw_what_if_apply(&keys.what_if, cluster);       // rates of the GPU and of links, before links are built
 *
 * Factors of what the catalogue or the topology says; 1 changes nothing. What NCCL finds and chooses on the machine
 * stays that of the machine as it is: only what transfers and kernels get is another. */
#pragma once

#include "hw-cluster.h"

typedef struct {
  double matmul_rate;           /* sustained and peak, all dtypes */
  double memory_bandwidth;      /* of the GPU */
  double memory_size;           /* of the GPU, usable */
  double node_bandwidth;        /* of each GPU's way to the others of its node */
  double network_bandwidth;     /* of each NIC */
  double network_latency;       /* of a hop between nodes */
  double leaf_oversubscription; /* of leaves */
} HwWhatIf;
#define HW_WHAT_IF_NONE                                                                                                \
  { 1, 1, 1, 1, 1, 1, 1 }

/* Before the links are built; what the cluster borrows from the catalogue stays as it is there. */
void hw_what_if_apply(const HwWhatIf *factors, HwCluster *cluster);
/* Its host does what it does at `rate` times its speed; what the device's allocator takes is the driver's: it stays. */
void hw_what_if_host(double rate, HwCluster *cluster);
