/* SPDX-License-Identifier: MIT */
/* Faults of a cluster, as [cluster] states them; for this floor alone.
 *
 *   slow_gpus = 17: 0.8, 23: 0.9               rank: share of its speed that is left; "none"
 *   slow_links = nic.3.1: 0.5, gpu.0.7: 0.9    nic.NODE.INDEX or gpu.NODE.INDEX: share of its capacity, both ways
 */
#pragma once

#include "hw-cluster.h"
#include "hw-schema.h"

/* After the links were built. Errors at the key's place: a form that is neither, a GPU or link that the cluster lacks,
 * one named twice, a share that is not above 0 and at most 1. */
gboolean hw_faults_apply(HwCluster *cluster, const struct ConfSettings *settings, const HwClusterKeys *keys,
                         GError **error);
