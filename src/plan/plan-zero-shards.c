/* DeepSpeed stage 3: gradients to their shards.
 *
 *   C: B ─► gradient     R waits C, copies it into the bucket; full: interleave, divide, reduce-scatter, add to the shard
 *   end of backward      R: the rest; the host waits for R; MiCS, last micro-batch: shards are reduced over the copies
 *
 * Compute never waits for R; the host lets at most two reductions be unfinished. The bucket is held for good. Source:
 * runtime/zero/stage3.py, runtime/comm/coalesced_collectives.py, runtime/zero/mics.py. */
#include "mem-tenant.h"
#include "model-host.h"
#include "plan-zero.h"

#define UNFINISHED 2    /* reductions, before the host waits for the oldest */
#define HALF       2    /* int4: elements per byte */
#define SCALE      4    /* bytes of the fp32 scale of a quantised group */
#define GROUP      2048 /* elements of a quantised group of gradients: quantized_reduce's default */

struct PlanShards {
  PlanZero *zero;
  guint32 slot, copies;   /* communicators: of owners; of the MiCS copies of one shard, PROGRAM_NONE: none */
  guint32 inside, across; /* of qgZ: of a node, and of GPUs alike in each node; PROGRAM_NONE: not quantised */
  guint32 inside_ranks;
  GArray *bucket; /* guint: parameters */
  guint64 elements, most;
  GArray *events; /* guint32: rows that reductions ended with */
};

static guint64 shard_of(const PlanShards *shards, guint64 elements) {
  return (elements + shards->zero->owners - 1) / shards->zero->owners;
}

static gboolean is_large(const PlanShards *shards, guint parameter) {
  return !shards->zero->options->contiguous_gradients ||
         shards->zero->parameters->list[parameter].elements > shards->most;
}

static void pass(PlanShards *shards, const char *name, guint64 elements, guint32 bytes_each) {
  plan_lane_pass(&shards->zero->reduce, name, plan_zero_op(shards->zero, elements, bytes_each));
}

static guint64 quantised_bytes(guint64 elements) {
  return elements / HALF + (elements + GROUP - 1) / GROUP * SCALE;
}

/* ZeRO++ qgZ: int4, all-to-all inside nodes, added up, int4 again, all-to-all between nodes. */
static void reduce_quantised(PlanShards *shards, guint64 elements) {
  PlanZero *zero = shards->zero;
  pass(shards, "quantise gradients", elements, zero->bytes + 1);
  CollCall inside = {COLL_ALL_TO_ALL, quantised_bytes(elements)};
  plan_lane_collective(&zero->reduce, zero->comm, "exchange gradients, int4", shards->inside, inside,
                       PROGRAM_HINT_BUCKET);
  pass(shards, "add and quantise gradients", elements, 1);
  guint64 part = elements / shards->inside_ranks;
  CollCall across = {COLL_ALL_TO_ALL, quantised_bytes(part)};
  plan_lane_collective(&zero->reduce, zero->comm, "exchange gradients, int4", shards->across, across,
                       PROGRAM_HINT_BUCKET);
  pass(shards, "dequantise and add gradients", part, 1);
}

static void reduce_plain(PlanShards *shards, guint64 elements) {
  PlanZero *zero = shards->zero;
  gboolean whole = !zero->options->reduce_scatter;
  pass(shards, "divide bucket", elements, 2 * zero->wire);
  CollCall call = {whole ? COLL_ALL_REDUCE : COLL_REDUCE_SCATTER, elements * zero->wire};
  plan_lane_collective(&zero->reduce, zero->comm, whole ? "reduce gradients" : "reduce-scatter gradients", shards->slot,
                       call, PROGRAM_HINT_BUCKET);
}

static void throttle(PlanShards *shards) {
  if (shards->events->len <= UNFINISHED)
    return;
  guint32 oldest = g_array_index(shards->events, guint32, shards->events->len - UNFINISHED - 1);
  plan_walk_host(shards->zero->walk, "wait for an earlier reduction");
  program_builder_need(shards->zero->builder, oldest);
}

static void flush(PlanShards *shards) {
  PlanZero *zero = shards->zero;
  guint64 elements = shards->elements;
  if (elements == 0)
    return;
  throttle(shards);
  program_builder_context(zero->builder, PROGRAM_REDUCE, -1, (gint32)zero->walk->micro);
  plan_lane_follow(&zero->reduce, &zero->compute);
  guint32 joined = PROGRAM_NONE;
  if (!plan_zero_alone(zero)) {
    joined = program_builder_tensor(zero->builder, "interleaved bucket", MEM_COMMUNICATION,
                                    (elements + shard_of(shards, elements)) * zero->wire, 0);
    pass(shards, "interleave bucket", elements, zero->bytes + zero->wire);
    plan_walk_take(zero->walk, joined);
    if (shards->inside != PROGRAM_NONE)
      reduce_quantised(shards, elements);
    else
      reduce_plain(shards, elements);
  }
  if (plan_offload_on(zero)) {
    plan_offload_own(zero, shard_of(shards, elements));
  } else {
    guint32 added = zero->wire + zero->kept + (zero->walk->micro > 0 ? zero->kept : 0);
    pass(shards, zero->walk->micro > 0 ? "add to own shards" : "copy to own shards", shard_of(shards, elements), added);
  }
  guint32 ended = zero->reduce.stream == zero->compute.stream ? zero->walk->last : zero->reduce.last;
  g_array_append_val(shards->events, ended);
  if (joined != PROGRAM_NONE)
    plan_walk_give(zero->walk, joined, PROGRAM_NONE);
  for (guint i = 0; i < shards->bucket->len; i++) {
    guint parameter = g_array_index(shards->bucket, guint, i);
    if (is_large(shards, parameter))
      plan_walk_give(zero->walk, zero->gradients[parameter], zero->reduce.stream);
  }
  g_array_set_size(shards->bucket, 0);
  shards->elements = 0;
}

void plan_shards_gradient(PlanShards *shards, guint parameter, gboolean first_part) {
  PlanZero *zero = shards->zero;
  plan_walk_take(zero->walk, zero->gradients[parameter]);
  if (first_part)
    return;
  guint64 elements = zero->parameters->list[parameter].elements;
  if (shards->elements + elements > shards->most)
    flush(shards);
  program_builder_context(zero->builder, PROGRAM_REDUCE, -1, (gint32)zero->walk->micro);
  if (!is_large(shards, parameter)) {
    plan_lane_follow(&zero->reduce, &zero->compute);
    plan_lane_pass(&zero->reduce, "copy into bucket", zero->copy_ops[parameter]);
    plan_walk_give(zero->walk, zero->gradients[parameter], zero->reduce.stream);
  }
  g_array_append_val(shards->bucket, parameter);
  shards->elements += elements;
  plan_walk_cost(zero->walk, model_host_cost(zero->walk->host, MODEL_HOST_GRADIENT_HOOK));
}

/* MiCS: copies of a shard add up what each has. */
static void reduce_copies(PlanShards *shards) {
  PlanZero *zero = shards->zero;
  if (shards->copies == PROGRAM_NONE || !plan_zero_last_micro(zero))
    return;
  CollCall call = {COLL_ALL_REDUCE, zero->shard * zero->kept};
  plan_lane_collective(&zero->reduce, zero->comm, "reduce shards over copies", shards->copies, call,
                       PROGRAM_HINT_BUCKET);
}

void plan_shards_backward_ended(PlanShards *shards) {
  PlanZero *zero = shards->zero;
  flush(shards);
  reduce_copies(shards);
  plan_walk_host(zero->walk, "wait for reductions");
  plan_lane_block(&zero->reduce);
  plan_lane_follow(&zero->compute, &zero->reduce);
}

void plan_shards_section(PlanShards *shards) {
  g_array_set_size(shards->events, 0);
}

PlanShards *plan_shards_new(PlanZero *zero, const PlanShardGroups *groups) {
  PlanShards *shards = g_new0(PlanShards, 1);
  shards->zero = zero;
  shards->slot = groups->owners;
  shards->copies = groups->copies;
  shards->inside = groups->inside;
  shards->across = groups->across;
  shards->inside_ranks = groups->inside_ranks;
  shards->most = zero->options->reduce_bucket_size;
  shards->bucket = g_array_new(FALSE, FALSE, sizeof(guint));
  shards->events = g_array_new(FALSE, FALSE, sizeof(guint32));
  return shards;
}

void plan_shards_free(PlanShards *shards) {
  if (shards == NULL)
    return;
  g_array_unref(shards->bucket);
  g_array_unref(shards->events);
  g_free(shards);
}
