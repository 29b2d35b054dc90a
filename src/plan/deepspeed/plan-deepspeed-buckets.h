/* SPDX-License-Identifier: MIT */
/* Gradients of DeepSpeed's engine: as backward makes them, the bucket they go into, and in stages 0 to 2 their way
 * through the network. Private to this folder; stage 3's way is plan-deepspeed-shards.h. */
#pragma once

#include "plan-buckets.h"

typedef struct PlanDeepspeedEngine PlanDeepspeedEngine;

typedef struct {
  guint32 *whole, *fresh; /* by parameter: .grad, and what is added to it */
  guint32 *add_ops, *copy_ops;
  guint32 own, own_new; /* own slices: accumulated, of one micro-batch */
  guint32 full;         /* fp32 gradients of BF16_Optimizer */
  gboolean own_held, own_new_held;
} PlanDeepspeedGradients;

/* The bucket that is filled, while a backward pass is built. */
typedef struct {
  PlanOpenBucket open; /* of parameters */
  guint32 buffers[2];  /* tensors */
  gboolean buffers_held;
  guint index; /* of the buffer that is filled */
  guint kind;  /* while it is reduced: which of its members, see PlanDeepspeedData */
} PlanDeepspeedBucket;

/* Whether the bucket has room for more elements; whether a gradient stays where it is, instead of being copied into it;
 * the bucket, reduced, empty again: gradients that stayed are given. */
gboolean plan_deepspeed_bucket_fits(const PlanDeepspeedEngine *engine, guint64 elements);
gboolean plan_deepspeed_bucket_borrows(const PlanDeepspeedEngine *engine, guint parameter);
void plan_deepspeed_bucket_empty(PlanDeepspeedEngine *engine);

void plan_deepspeed_buckets_init(PlanDeepspeedEngine *engine);
/* Stages 0 to 2. */
void plan_deepspeed_buckets_gradient(PlanDeepspeedEngine *engine, guint parameter, gboolean first_part);
void plan_deepspeed_buckets_backward_ended(PlanDeepspeedEngine *engine);
/* Of all micro-batches, at the end of a step of the pipeline engine. */
void plan_deepspeed_buckets_reduce(PlanDeepspeedEngine *engine);
