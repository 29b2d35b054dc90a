/* SPDX-License-Identifier: MIT */
/* Parameters in order, closing a bucket once it is full. */
#include "plan-buckets.h"

PlanBuckets *plan_buckets_new(const PlanParameters *parameters, const guint *order, const double *caps,
                              guint32 element_bytes) {
  PlanBuckets *buckets = g_new0(PlanBuckets, 1);
  GArray *list = g_array_new(FALSE, FALSE, sizeof(PlanBucket));
  buckets->of = g_new(guint, parameters->n);
  PlanBucket open = {0};
  for (guint i = 0; i < parameters->n; i++) {
    buckets->of[order[i]] = list->len;
    open.elements += parameters->list[order[i]].elements;
    open.n++;
    gboolean full = caps != NULL && (double)(open.elements * element_bytes) >= caps[list->len > 0];
    if (!full && i + 1 < parameters->n)
      continue;
    g_array_append_val(list, open);
    open = (PlanBucket){0};
  }
  buckets->n = list->len;
  buckets->list = (PlanBucket *)(gpointer)g_array_free(list, FALSE);
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
