/* Where parameters lie in Megatron-LM's gradient and parameter buffers: in order of backward, cut into buckets.
 *
 *   PlanBuckets *buckets = plan_megatron_lay_out(recipe, shards, parameters, tied);
 *
 * Under the distributed optimizer each parameter begins on 64 elements, a bucket ends on a multiple that all ranks' equal
 * shards divide, and a tied matrix is a bucket of its own. Private to this floor. Source:
 * megatron/core/distributed/param_and_grad_buffer.py. */
#pragma once

#include "plan-buckets.h"
#include "plan-recipe.h"

/* In order of backward, elements with padding. `shards`: ranks that share one copy of the optimizer. */
PlanBuckets *plan_megatron_lay_out(const PlanRecipe *recipe, guint32 shards, const PlanParameters *parameters,
                                   gboolean tied);
