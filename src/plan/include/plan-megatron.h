/* [megatron]: Megatron-LM's data parallelism and distributed optimizer, by the names of its arguments. */
#pragma once

#include "conf-schema.h"

typedef struct {
  gboolean overlap_grad_reduce, overlap_param_gather;
  guint64 bucket_size; /* elements; 0: Megatron's default for so many ranks */
  gboolean gradient_accumulation_fusion;
  gboolean checks_gradients;               /* the host reads each bucket's norm before it is reduced */
  gboolean pad_buckets;                    /* for high bus bandwidth: bucket ends on multiples of 2^16 */
  guint32 parameter_bytes, gradient_bytes; /* per element of the two buffers; filled by plan_megatron_resolve */
} PlanMegatron;

extern const ConfSchema plan_megatron_schema;
