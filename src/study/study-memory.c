/* SPDX-License-Identifier: MIT */
/* [memory]: which allocator settings are played, and which are refused by name. */
#include "study-memory.h"

#define LATER(key_, initial_, help_)                                                                                   \
  { .group = "memory", .key = key_, .kind = BASE_LATER, .initial = initial_, .help = help_ }

static const BaseField keys[] = {
    BASE_ROW("memory", "expandable_segments", BASE_FLAG, MemPolicy, expandable_segments, .initial = "no",
             .help = "each stream's memory is one segment that grows in pages: next to no fragmentation"),
    BASE_ROW("memory", "max_split_size", BASE_BYTES, MemPolicy, max_split_size, .min = 20 * 1048576.0 + 1,
             .max = 0x1p48,
             .help = "larger blocks are not split, nor used for smaller requests; above 20 MiB, as PyTorch wants it"),
    LATER("garbage_collection_threshold", NULL,
          "giving old blocks back early (which acts only under set_per_process_memory_fraction)"),
    LATER("roundup_power2_divisions", NULL, "rounding requests to parts of powers of two"),
    LATER("max_non_split_rounding", NULL, "another bound on what is wasted above max_split_size"),
    LATER("backend", NULL, "another allocator than PyTorch's own"),
};
const ConfSchema study_memory_schema = {keys, G_N_ELEMENTS(keys)};

gboolean study_memory_load(const ConfSettings *settings, MemPolicy *ret, GError **error) {
  MemPolicy read = {0};
  if (!conf_settings_fill(settings, &study_memory_schema, &read, error))
    return FALSE;
  *ret = read;
  return TRUE;
}

gboolean study_memory_check_offload(const ConfSettings *settings, const HwCluster *cluster, const PlanRecipe *recipe,
                                    GError **error) {
  if (!recipe->offload_optimizer && !recipe->offload_parameters)
    return TRUE;
  if (cluster->host_link == NULL || cluster->host_link->pageable == 0)
    return conf_settings_fail(settings, "host.link", error,
                              "offload needs to know each GPU's way to host memory, as in pcie5-x16-host");
  return cluster->dram_bandwidth > 0 || conf_settings_fail(settings, "host.dram_bandwidth", error,
                                                           "offload needs to know the host memory's bandwidth");
}
