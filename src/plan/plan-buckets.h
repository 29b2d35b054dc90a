/* SPDX-License-Identifier: MIT */
/* Buckets of gradients, the one bookkeeping of all frameworks. Those whose members are known beforehand say how large
 * each is and how many of its gradients are to come; an open one takes gradients as they come.
 *
 *   PlanBuckets *buckets = plan_buckets_new(parameters, ready, caps, element_bytes);
 *   plan_buckets_begin(buckets);                                      // each backward pass
 *   if (plan_buckets_arrived(buckets, parameter)) …                   // its bucket is complete
 *
 *   order   p9 p8 │ p7 p6 p5 │ p4 …       the first closes at caps[0] bytes, each other at caps[1]
 *
 *   if (!plan_open_bucket_fits(&bucket, elements, most)) …            // reduce what is there, then
 *   plan_open_bucket_empty(&bucket);
 *   plan_open_bucket_add(&bucket, parameter, elements);
 *
 * Private to this floor. */
#pragma once

#include "plan-parameters.h"

typedef struct {
  guint64 elements;
  guint n, left; /* parameters, and how many of them have no gradient yet */
} PlanBucket;

typedef struct {
  PlanBucket *list;
  guint n;
  guint *of;       /* by parameter */
  PlanBucket open; /* while they are laid */
} PlanBuckets;

/* Of parameters in an order (as by plan_parameters_ready), each closed once it has reached its cap, in bytes; `caps`
 * NULL: one bucket. */
PlanBuckets *plan_buckets_new(const PlanParameters *parameters, const guint *order, const double *caps,
                              guint32 element_bytes);
void plan_buckets_free(PlanBuckets *buckets);
/* By hand: none yet; a parameter into the open one; that closed, if it has any, and padded to a multiple. */
PlanBuckets *plan_buckets_none(guint n_parameters);
void plan_buckets_lay(PlanBuckets *buckets, guint parameter, guint64 elements);
void plan_buckets_close(PlanBuckets *buckets, guint64 multiple);
/* As laid, but run through from the last to the first. */
void plan_buckets_reverse(PlanBuckets *buckets, guint n_parameters);
void plan_buckets_begin(PlanBuckets *buckets);
gboolean plan_buckets_arrived(PlanBuckets *buckets, guint parameter);

typedef struct {
  GArray *members; /* guint32: parameters, or their tensors, in order */
  guint64 elements;
} PlanOpenBucket;

void plan_open_bucket_init(PlanOpenBucket *bucket);
/* One that was never made too. */
void plan_open_bucket_clear(PlanOpenBucket *bucket);
gboolean plan_open_bucket_fits(const PlanOpenBucket *bucket, guint64 elements, guint64 most);
void plan_open_bucket_add(PlanOpenBucket *bucket, guint32 member, guint64 elements);
guint32 plan_open_bucket_member(const PlanOpenBucket *bucket, guint i);
void plan_open_bucket_empty(PlanOpenBucket *bucket);
