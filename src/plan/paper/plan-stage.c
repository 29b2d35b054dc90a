/* SPDX-License-Identifier: MIT */
/* The table, and the states that follow from it. */
#include "plan-stage.h"

const PlanStage plan_stages[PLAN_STAGES] = {
    {.reduce = COLL_ALL_REDUCE},
    {.shards_optimizer = TRUE, .reduce = COLL_REDUCE_SCATTER, .gather_after_step = TRUE},
    {.shards_optimizer = TRUE,
     .shards_gradients = TRUE,
     .reduce = COLL_REDUCE_SCATTER,
     .reduce_every_micro_batch = TRUE,
     .gather_after_step = TRUE},
    {.shards_optimizer = TRUE,
     .shards_gradients = TRUE,
     .shards_parameters = TRUE,
     .reduce = COLL_REDUCE_SCATTER,
     .reduce_every_micro_batch = TRUE,
     .gather_for_use = TRUE},
};

#define FP32_BYTES 4

static guint64 total(const guint64 *elements, guint n_units) {
  guint64 sum = 0;
  for (guint i = 0; i < n_units; i++)
    sum += elements[i];
  return sum;
}

static guint64 share(guint64 elements, guint32 ranks) {
  return (elements + ranks - 1) / ranks;
}

guint64 plan_shard(const PlanStage *stage, const guint64 *elements, guint n_units, guint32 ranks) {
  if (!stage->shards_optimizer)
    return total(elements, n_units);
  if (!stage->shards_parameters)
    return share(total(elements, n_units), ranks);
  guint64 sum = 0;
  for (guint i = 0; i < n_units; i++)
    sum += share(elements[i], ranks);
  return sum;
}

void plan_states(const PlanStage *stage, const guint64 *elements, guint n_units, guint32 element_bytes, guint32 ranks,
                 PlanStates *ret) {
  guint64 whole = total(elements, n_units);
  guint64 shard = plan_shard(stage, elements, n_units, ranks);
  guint32 fp32_copies =
      element_bytes == FP32_BYTES ? 2 : 3; /* momentum, variance, and a master where weights are 16 bits */
  ret->parameters = (stage->shards_parameters ? shard : whole) * element_bytes;
  ret->gradients = (stage->shards_gradients ? shard : whole) * element_bytes;
  ret->optimizer = shard * fp32_copies * FP32_BYTES;
}
