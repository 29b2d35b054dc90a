/* Where parameters lie in Megatron-LM's gradient and parameter buffers: in order of backward, cut into buckets.
 *
 *   PlanMegatronLayout *layout = plan_megatron_lay_out(recipe, shards, parameters, tied);
 *   guint b = layout->bucket_of[p];                       // of a parameter
 *
 * Under the distributed optimizer each parameter begins on 64 elements, a bucket ends on a multiple that all ranks' equal
 * shards divide, and a tied matrix is a bucket of its own. Private to this floor. Source:
 * megatron/core/distributed/param_and_grad_buffer.py. */
#pragma once

#include "plan-parameters.h"
#include "plan-recipe.h"

typedef struct {
  guint64 elements; /* with padding */
  guint parameters;
} PlanMegatronBucket;

typedef struct {
  GArray *buckets;  /* PlanMegatronBucket, in order of backward */
  guint *bucket_of; /* by parameter */
  guint64 elements; /* of all */
} PlanMegatronLayout;

/* `shards`: ranks that share one copy of the optimizer. */
PlanMegatronLayout *plan_megatron_lay_out(const PlanRecipe *recipe, guint32 shards, const PlanParameters *parameters,
                                          gboolean tied);
void plan_megatron_layout_free(PlanMegatronLayout *layout);
