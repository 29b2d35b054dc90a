/* SPDX-License-Identifier: MIT */
/* Where parameters lie in Megatron-LM's gradient and parameter buffers: in order of backward, cut into buckets. Each
 * model chunk of a pipeline rank has a buffer of its own, and another one for experts that other ranks hold.
 *
 *   MegatronLayout *layout = plan_megatron_lay_out(recipe, shards, walk, tied);
 *   for (guint b = layout->firsts[chunk]; b < layout->firsts[chunk + 1]; b++) … layout->buckets->list[b]
 *
 *   firsts[0]                    firsts[1]                      kinds: D dense, E experts
 *   | D last … | D first | E last … E first | D last …
 *
 * Under the distributed optimizer each parameter begins on 64 elements, a bucket ends on a multiple that all ranks'
 * equal shards divide, and a tied matrix that another stage holds too is a bucket of its own. Only the first chunk of
 * the first stage is cut into buckets by size: the others' communication is not what the step waits for. Private to
 * this folder. Sources: megatron/core/distributed/param_and_grad_buffer.py and distributed_data_parallel.py,
 * megatron/training/training.py (disable_bucketing), core 0.12. */
#pragma once

#include "plan-buckets.h"
#include "plan-recipe.h"

/* Parameters by the ranks over which their gradients are averaged: data and context ranks, or the experts' own. */
typedef enum { MEGATRON_DENSE, MEGATRON_EXPERTS, MEGATRON_KINDS } MegatronKind;

typedef struct {
  PlanBuckets *buckets; /* in order of backward within a buffer, elements with padding */
  guint *firsts;        /* by chunk, and one more */
  MegatronKind *kinds;  /* by bucket */
} MegatronLayout;

/* `shards`: by kind, ranks that share one copy of the optimizer. `tied`: the parameter that another stage holds too,
 * else PLAN_NO_PARAMETER. */
MegatronLayout *plan_megatron_lay_out(const PlanRecipe *recipe, const guint32 shards[MEGATRON_KINDS],
                                      const PlanWalk *walk, guint tied);
/* The bucket that lies before this one in its buffer, of which forward comes later; PLAN_NO_BUCKET: none. */
#define PLAN_NO_BUCKET G_MAXUINT
guint plan_megatron_bucket_before(const MegatronLayout *layout, guint32 chunk, guint bucket);
void plan_megatron_layout_free(MegatronLayout *layout);
