/* SPDX-License-Identifier: MIT */
/* Parameters in order, closing a bucket once it is full; gradients as they come. */
#include "plan-buckets.h"

PlanBuckets *plan_buckets_none(guint n_parameters) {
  PlanBuckets *buckets = g_new0(PlanBuckets, 1);
  buckets->of = g_new(guint, n_parameters);
  return buckets;
}

void plan_buckets_lay(PlanBuckets *buckets, guint parameter, guint64 elements) {
  buckets->of[parameter] = buckets->n;
  buckets->open.elements += elements;
  buckets->open.n++;
}

void plan_buckets_close(PlanBuckets *buckets, guint64 multiple) {
  if (buckets->open.n == 0)
    return;
  buckets->open.elements = (buckets->open.elements + multiple - 1) / multiple * multiple;
  buckets->list = g_renew(PlanBucket, buckets->list, buckets->n + 1);
  buckets->list[buckets->n++] = buckets->open;
  buckets->open = (PlanBucket){0};
}

PlanBuckets *plan_buckets_new(const PlanParameters *parameters, const guint *order, const double *caps,
                              guint32 element_bytes) {
  PlanBuckets *buckets = plan_buckets_none(parameters->n);
  for (guint i = 0; i < parameters->n; i++) {
    plan_buckets_lay(buckets, order[i], parameters->list[order[i]].elements);
    if (caps != NULL && (double)(buckets->open.elements * element_bytes) >= caps[buckets->n > 0])
      plan_buckets_close(buckets, 1);
  }
  plan_buckets_close(buckets, 1);
  return buckets;
}

void plan_buckets_free(PlanBuckets *buckets) {
  if (buckets == NULL)
    return;
  g_free(buckets->list);
  g_free(buckets->of);
  g_free(buckets);
}

void plan_buckets_reverse(PlanBuckets *buckets, guint n_parameters) {
  for (guint i = 0; i < buckets->n / 2; i++) {
    PlanBucket held = buckets->list[i];
    buckets->list[i] = buckets->list[buckets->n - 1 - i];
    buckets->list[buckets->n - 1 - i] = held;
  }
  for (guint p = 0; p < n_parameters; p++)
    buckets->of[p] = buckets->n - 1 - buckets->of[p];
}

void plan_buckets_begin(PlanBuckets *buckets) {
  for (guint i = 0; i < buckets->n; i++)
    buckets->list[i].left = buckets->list[i].n;
}

gboolean plan_buckets_arrived(PlanBuckets *buckets, guint parameter) {
  return --buckets->list[buckets->of[parameter]].left == 0;
}

void plan_open_bucket_init(PlanOpenBucket *bucket) {
  *bucket = (PlanOpenBucket){.members = g_array_new(FALSE, FALSE, sizeof(guint32))};
}

void plan_open_bucket_clear(PlanOpenBucket *bucket) {
  g_clear_pointer(&bucket->members, g_array_unref);
}

gboolean plan_open_bucket_fits(const PlanOpenBucket *bucket, guint64 elements, guint64 most) {
  return bucket->elements + elements <= most;
}

void plan_open_bucket_add(PlanOpenBucket *bucket, guint32 member, guint64 elements) {
  g_array_append_val(bucket->members, member);
  bucket->elements += elements;
}

guint32 plan_open_bucket_member(const PlanOpenBucket *bucket, guint i) {
  return g_array_index(bucket->members, guint32, i);
}

void plan_open_bucket_empty(PlanOpenBucket *bucket) {
  g_array_set_size(bucket->members, 0);
  bucket->elements = 0;
}
