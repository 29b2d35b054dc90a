/* Parameters from the last to the first, closing a bucket once it is full. */
#include "plan-megatron-layout.h"

#define PARAMETER_START 64    /* elements: 128 bytes of 16 bits */
#define BUCKET_END      128   /* elements: 256 bytes of 16 bits */
#define BUCKET_END_WIDE 65536 /* pad_buckets_for_high_nccl_busbw */
#define BUCKET_LEAST    40000000
#define BUCKET_PER_RANK 1000000

static guint64 rounded_up(guint64 value, guint64 to) {
  return (value + to - 1) / to * to;
}

static guint64 greatest_divisor(guint64 a, guint64 b) {
  while (b > 0) {
    guint64 rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

static guint64 bucket_end(const PlanRecipe *recipe, guint32 shards) {
  guint64 end = recipe->megatron.pad_buckets ? BUCKET_END_WIDE : BUCKET_END;
  return shards / greatest_divisor(shards, end) * end;
}

static guint64 closes_at(const PlanRecipe *recipe) {
  if (!recipe->megatron.overlap_grad_reduce)
    return G_MAXUINT64;
  return recipe->megatron.bucket_size > 0 ? recipe->megatron.bucket_size
                                          : MAX((guint64)BUCKET_LEAST, (guint64)BUCKET_PER_RANK * recipe->ranks);
}

/* `end`: what its elements are a multiple of. */
static void close_bucket(GArray *list, guint64 elements, guint parameters, guint64 end) {
  PlanBucket bucket = {.elements = rounded_up(elements, end), .n = parameters};
  if (parameters > 0)
    g_array_append_val(list, bucket);
}

PlanBuckets *plan_megatron_lay_out(const PlanRecipe *recipe, guint32 shards, const PlanParameters *parameters,
                                   gboolean tied) {
  PlanBuckets *buckets = g_new0(PlanBuckets, 1);
  GArray *list = g_array_new(FALSE, FALSE, sizeof(PlanBucket));
  gboolean padded = recipe->zero_stage == 1,
           cuts_tied = padded && tied && parameters->n > 0 && parameters->list[0].unit == 0;
  guint64 elements = 0, most = closes_at(recipe), end = padded ? bucket_end(recipe, shards) : 1;
  guint n = 0;
  buckets->of = g_new(guint, parameters->n);
  for (guint p = parameters->n; p-- > 0;) {
    if ((cuts_tied && p == 0) || elements >= most) {
      close_bucket(list, elements, n, end);
      elements = n = 0;
    }
    buckets->of[p] = list->len;
    elements = (padded ? rounded_up(elements, PARAMETER_START) : elements) + parameters->list[p].elements;
    n++;
  }
  close_bucket(list, elements, n, end);
  buckets->n = list->len;
  buckets->list = (PlanBucket *)(gpointer)g_array_free(list, FALSE);
  return buckets;
}
