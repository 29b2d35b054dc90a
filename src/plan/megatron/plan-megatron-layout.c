/* SPDX-License-Identifier: MIT */
/* Parameters from the last to the first, closing a bucket once it is full. */
#include "plan-megatron-layout.h"

#define PARAMETER_START 64    /* elements: 128 bytes of 16 bits */
#define BUCKET_END      128   /* elements: 256 bytes of 16 bits */
#define BUCKET_END_WIDE 65536 /* pad_buckets_for_high_nccl_busbw */
#define BUCKET_LEAST    40000000
#define BUCKET_PER_RANK 1000000

typedef struct {
  const PlanParameters *parameters;
  PlanBuckets *buckets;
  GArray *kinds; /* MegatronKind */
  guint64 end;   /* what elements of a bucket are a multiple of */
  gboolean padded;
  guint tied;
} Laying;

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

/* Data ranks alone count, not context ranks. */
static guint64 closes_at(const PlanRecipe *recipe, const PlanHolding *holding, guint32 chunk) {
  guint64 ranks = recipe->ranks / MAX(recipe->axes.layout.degree[LAYOUT_CONTEXT], 1);
  if (!recipe->megatron.overlap_grad_reduce || chunk > 0 || holding->rank > 0)
    return G_MAXUINT64;
  return recipe->megatron.bucket_size > 0 ? recipe->megatron.bucket_size
                                          : MAX((guint64)BUCKET_LEAST, (guint64)BUCKET_PER_RANK * ranks);
}

static void close_bucket(Laying *laying, MegatronKind kind) {
  plan_buckets_close(laying->buckets, laying->end);
  while (laying->kinds->len < laying->buckets->n)
    g_array_append_val(laying->kinds, kind);
}

/* Those of parameters `first` to `end` − 1 that are of the kind. */
static void lay_buffer(Laying *laying, MegatronKind kind, guint first, guint end, guint64 most) {
  PlanBuckets *buckets = laying->buckets;
  for (guint p = end; p-- > first;) {
    if (laying->parameters->list[p].apart != (kind == MEGATRON_EXPERTS))
      continue;
    gboolean alone = laying->padded && p == laying->tied;
    if (alone || buckets->open.elements >= most)
      close_bucket(laying, kind);
    guint64 before = buckets->open.elements, start = laying->padded ? rounded_up(before, PARAMETER_START) : before;
    plan_buckets_lay(buckets, p, start - before + laying->parameters->list[p].elements);
    if (alone)
      close_bucket(laying, kind);
  }
  close_bucket(laying, kind);
}

static void lay_chunk(Laying *laying, const PlanRecipe *recipe, const guint32 shards[MEGATRON_KINDS], guint first,
                      guint end, guint64 most) {
  for (int kind = 0; kind < MEGATRON_KINDS; kind++) {
    laying->end = laying->padded ? bucket_end(recipe, shards[kind]) : 1;
    lay_buffer(laying, (MegatronKind)kind, first, end, most);
  }
}

MegatronLayout *plan_megatron_lay_out(const PlanRecipe *recipe, const guint32 shards[MEGATRON_KINDS],
                                      const PlanWalk *walk, guint tied) {
  const PlanHolding *holding = walk->holding;
  MegatronLayout *layout = g_new(MegatronLayout, 1);
  Laying laying = {.parameters = walk->parameters,
                   .buckets = plan_buckets_none(walk->parameters->n),
                   .kinds = g_array_new(FALSE, FALSE, sizeof(MegatronKind)),
                   .padded = recipe->zero_stage == 1,
                   .tied = tied};
  guint next = 0, n = walk->parameters->n;
  layout->firsts = g_new(guint, holding->n_chunks + 1);
  for (guint32 c = 0; c < holding->n_chunks; c++) {
    guint first = next;
    while (next < n && walk->parameters->list[next].unit <= holding->chunks[c].last)
      next++;
    layout->firsts[c] = laying.buckets->n;
    lay_chunk(&laying, recipe, shards, first, next, closes_at(recipe, holding, c));
  }
  layout->firsts[holding->n_chunks] = laying.buckets->n;
  layout->buckets = laying.buckets;
  layout->kinds = (MegatronKind *)(gpointer)g_array_free(laying.kinds, FALSE);
  return layout;
}

guint plan_megatron_bucket_before(const MegatronLayout *layout, guint32 chunk, guint bucket) {
  gboolean before = bucket > layout->firsts[chunk] && layout->kinds[bucket - 1] == layout->kinds[bucket];
  return before ? bucket - 1 : PLAN_NO_BUCKET;
}

void plan_megatron_layout_free(MegatronLayout *layout) {
  if (layout == NULL)
    return;
  plan_buckets_free(layout->buckets);
  g_free(layout->firsts);
  g_free(layout->kinds);
  g_free(layout);
}
