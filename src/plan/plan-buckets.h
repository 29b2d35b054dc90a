/* SPDX-License-Identifier: MIT */
/* Buckets of gradients whose members are known beforehand: how large each is, how many of its gradients are to come.
 *
 *   PlanBuckets *buckets = plan_buckets_new(parameters, ready, caps, element_bytes);
 *   plan_buckets_begin(buckets);                                      // each backward pass
 *   if (plan_buckets_arrived(buckets, parameter)) …                   // its bucket is complete
 *
 *   order   p9 p8 │ p7 p6 p5 │ p4 …       the first closes at caps[0] bytes, each other at caps[1]
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
  guint *of; /* by parameter */
} PlanBuckets;

/* Of parameters in an order (as by plan_parameters_ready), each closed once it has reached its cap, in bytes; `caps`
 * NULL: one bucket. */
PlanBuckets *plan_buckets_new(const PlanParameters *parameters, const guint *order, const double *caps,
                              guint32 element_bytes);
void plan_buckets_free(PlanBuckets *buckets);
/* As laid, but run through from the last to the first. */
void plan_buckets_reverse(PlanBuckets *buckets, guint n_parameters);
void plan_buckets_begin(PlanBuckets *buckets);
gboolean plan_buckets_arrived(PlanBuckets *buckets, guint parameter);
