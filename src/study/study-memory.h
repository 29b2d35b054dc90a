/* SPDX-License-Identifier: MIT */
/* The [memory] keys of a workload: settings of PyTorch's caching allocator, as PYTORCH_CUDA_ALLOC_CONF names them; and
 * what offloading to host memory asks of a cluster.
 *
 *   MemPolicy policy;
 *   if (!study_memory_load(settings, &policy, error)) return FALSE;    // SIM_ERROR_INPUT at the key
 */
#pragma once

#include "conf-settings.h"
#include "hw-cluster.h"
#include "mem-allocator.h"
#include "plan-recipe.h"

extern const ConfSchema study_memory_schema;
gboolean study_memory_load(const ConfSettings *settings, MemPolicy *ret, GError **error);
/* FALSE, with SIM_ERROR_INPUT, where the recipe offloads and the topology says too little of the host. */
gboolean study_memory_check_offload(const ConfSettings *settings, const HwCluster *cluster, const PlanRecipe *recipe,
                                    GError **error);
