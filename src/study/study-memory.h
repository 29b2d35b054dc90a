/* The [memory] keys of a workload: settings of PyTorch's caching allocator, as PYTORCH_CUDA_ALLOC_CONF names them.
 *
 *   MemPolicy policy;
 *   if (!study_memory_load(settings, &policy, error)) return FALSE;    // SIM_ERROR_INPUT at the key
 */
#pragma once

#include "conf-settings.h"
#include "mem-allocator.h"

extern const ConfSchema study_memory_schema;
gboolean study_memory_load(const ConfSettings *settings, MemPolicy *ret, GError **error);
