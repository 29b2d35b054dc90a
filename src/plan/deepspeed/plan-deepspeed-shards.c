/* SPDX-License-Identifier: MIT */
/* DeepSpeed stage 3: gradients to their shards.
 *
 *   C: B ─► gradient     R waits C, copies it into the bucket; full: interleave, divide, reduce-scatter, add to shards
 *                        (before 0.6 nothing is interleaved: plan-deepspeed-single.c)
 *   end of backward      R: the rest; the host waits for R; MiCS, last micro-batch: shards are reduced over the copies
 *
 * Compute never waits for R; the host lets at most two reductions be unfinished. The bucket is held for good. Source:
 * runtime/zero/stage3.py, runtime/comm/coalesced_collectives.py, runtime/zero/mics.py. */
#include "mem-tenant.h"
#include "model-host.h"
#include "plan-deepspeed-engine.h"

#define UNFINISHED 2    /* reductions, before the host waits for the oldest */
#define HALF       2    /* int4: elements per byte */
#define SCALE      4    /* bytes of the fp32 scale of a quantised group */
#define GROUP      2048 /* elements of a quantised group of gradients: quantized_reduce's default */

struct PlanDeepspeedShards {
  PlanDeepspeedEngine *engine;
  guint32 slot, copies;   /* communicators: of owners; of the MiCS copies of one shard, PROGRAM_NONE: none */
  guint32 inside, across; /* of qgZ: of a node, and of GPUs alike in each node; PROGRAM_NONE: not quantised */
  guint32 inside_ranks;
  GArray *events; /* guint32: rows that reductions ended with */
};

static guint64 shard_of(const PlanDeepspeedShards *shards, guint64 elements) {
  return (elements + shards->engine->owners - 1) / shards->engine->owners;
}

static void pass(PlanDeepspeedShards *shards, const char *name, guint64 elements, guint32 bytes_each) {
  plan_stream_pass(&shards->engine->streams.reduce, name, plan_deepspeed_op(shards->engine, elements, bytes_each));
}

static guint64 quantised_bytes(guint64 elements) {
  return elements / HALF + (elements + GROUP - 1) / GROUP * SCALE;
}

/* ZeRO++ qgZ: int4, all-to-all inside nodes, added up, int4 again, all-to-all between nodes. */
static void reduce_quantised(PlanDeepspeedShards *shards, guint64 elements) {
  PlanDeepspeedEngine *engine = shards->engine;
  pass(shards, "quantise gradients", elements, engine->bytes.made + 1);
  CollCall inside = {COLL_ALL_TO_ALL, quantised_bytes(elements)};
  plan_stream_collective(&engine->streams.reduce, engine->streams.comm, "exchange gradients, int4", shards->inside,
                         inside, PROGRAM_HINT_BUCKET);
  pass(shards, "add and quantise gradients", elements, 1);
  guint64 part = elements / shards->inside_ranks;
  CollCall across = {COLL_ALL_TO_ALL, quantised_bytes(part)};
  plan_stream_collective(&engine->streams.reduce, engine->streams.comm, "exchange gradients, int4", shards->across,
                         across, PROGRAM_HINT_BUCKET);
  pass(shards, "dequantise and add gradients", part, 1);
}

static void reduce_plain(PlanDeepspeedShards *shards, guint64 elements) {
  PlanDeepspeedEngine *engine = shards->engine;
  gboolean whole = !engine->options->reduce_scatter;
  pass(shards, "divide bucket", elements, 2 * engine->bytes.sent);
  CollCall call = {whole ? COLL_ALL_REDUCE : COLL_REDUCE_SCATTER, elements * engine->bytes.sent};
  plan_stream_collective(&engine->streams.reduce, engine->streams.comm,
                         whole ? "reduce gradients" : "reduce-scatter gradients", shards->slot, call,
                         PROGRAM_HINT_BUCKET);
}

static void throttle(PlanDeepspeedShards *shards) {
  if (shards->events->len <= UNFINISHED)
    return;
  guint32 oldest = g_array_index(shards->events, guint32, shards->events->len - UNFINISHED - 1);
  plan_walk_host(shards->engine->walk, "wait for an earlier reduction");
  program_builder_need(shards->engine->builder, oldest);
}

/* One gradient that needs no padding goes as it lies. */
static gboolean goes_alone(const PlanDeepspeedShards *shards) {
  const PlanDeepspeedEngine *engine = shards->engine;
  const PlanOpenBucket *open = &engine->bucket.open;
  return open->members->len == 1 && open->elements % engine->owners == 0 && engine->bytes.sent == engine->bytes.made;
}

/* From 0.6 on. The bucket that is reduced, the own part in place, is given once the shards were kept. */
static guint32 interleave(PlanDeepspeedShards *shards, guint64 elements) {
  PlanDeepspeedEngine *engine = shards->engine;
  if (goes_alone(shards))
    return PROGRAM_NONE;
  guint32 joined = program_builder_tensor(engine->builder, "interleaved bucket", MEM_COMMUNICATION,
                                          elements * engine->bytes.sent, 0);
  pass(shards, "interleave bucket", elements, engine->bytes.made + engine->bytes.sent);
  plan_walk_take(engine->walk, joined);
  return joined;
}

static void reduce(PlanDeepspeedShards *shards, guint64 elements) {
  PlanDeepspeedEngine *engine = shards->engine;
  if (shards->inside != PROGRAM_NONE)
    reduce_quantised(shards, elements);
  else if (plan_deepspeed_single(engine) && engine->options->reduce_scatter)
    plan_deepspeed_single_reduce(engine, shards->slot);
  else
    reduce_plain(shards, elements);
}

static guint64 largest_member(const PlanDeepspeedEngine *engine) {
  guint64 largest = 0;
  for (guint i = 0; i < engine->bucket.open.members->len; i++) {
    guint parameter = plan_open_bucket_member(&engine->bucket.open, i);
    largest = MAX(largest, engine->parameters->list[parameter].elements);
  }
  return largest;
}

static void flush(PlanDeepspeedShards *shards) {
  PlanDeepspeedEngine *engine = shards->engine;
  guint64 elements = engine->bucket.open.elements;
  if (elements == 0)
    return;
  throttle(shards);
  program_builder_context(engine->builder, PROGRAM_REDUCE, -1, (gint32)engine->walk->micro);
  plan_stream_follow(&engine->streams.reduce, &engine->streams.compute);
  gboolean alone = plan_walk_alone(engine->walk);
  guint32 joined = alone || plan_deepspeed_single(engine) ? PROGRAM_NONE : interleave(shards, elements);
  if (!alone)
    reduce(shards, elements);
  if (plan_deepspeed_offload_on(engine)) {
    plan_deepspeed_offload_own(engine, shard_of(shards, elements), shard_of(shards, largest_member(engine)));
  } else {
    guint32 added = engine->bytes.sent + engine->bytes.kept + (engine->walk->micro > 0 ? engine->bytes.kept : 0);
    pass(shards, engine->walk->micro > 0 ? "add to own shards" : "copy to own shards", shard_of(shards, elements),
         added);
  }
  guint32 ended =
      engine->streams.reduce.id == engine->streams.compute.id ? engine->walk->last : engine->streams.reduce.last;
  g_array_append_val(shards->events, ended);
  if (joined != PROGRAM_NONE)
    plan_walk_give(engine->walk, joined, PROGRAM_NONE);
  plan_deepspeed_bucket_empty(engine);
}

void plan_deepspeed_shards_gradient(PlanDeepspeedShards *shards, guint parameter, gboolean first_part) {
  PlanDeepspeedEngine *engine = shards->engine;
  plan_walk_take(engine->walk, engine->grads.whole[parameter]);
  if (first_part)
    return;
  guint64 elements = engine->parameters->list[parameter].elements;
  if (!plan_deepspeed_bucket_fits(engine, elements))
    flush(shards);
  program_builder_context(engine->builder, PROGRAM_REDUCE, -1, (gint32)engine->walk->micro);
  if (!plan_deepspeed_bucket_borrows(engine, parameter)) {
    plan_stream_follow(&engine->streams.reduce, &engine->streams.compute);
    plan_stream_pass(&engine->streams.reduce, "copy into bucket", engine->grads.copy_ops[parameter]);
    plan_walk_give(engine->walk, engine->grads.whole[parameter], engine->streams.reduce.id);
  }
  plan_open_bucket_add(&engine->bucket.open, parameter, elements);
  plan_walk_cost(engine->walk, model_host_cost(engine->walk->host, MODEL_HOST_GRADIENT_HOOK));
}

/* MiCS: copies of a shard add up what each has. */
static void reduce_copies(PlanDeepspeedShards *shards) {
  PlanDeepspeedEngine *engine = shards->engine;
  if (shards->copies == PROGRAM_NONE || !plan_walk_last_micro(engine->walk))
    return;
  CollCall call = {COLL_ALL_REDUCE, engine->shard * engine->bytes.kept};
  plan_stream_collective(&engine->streams.reduce, engine->streams.comm, "reduce shards over copies", shards->copies,
                         call, PROGRAM_HINT_BUCKET);
}

void plan_deepspeed_shards_backward_ended(PlanDeepspeedShards *shards) {
  PlanDeepspeedEngine *engine = shards->engine;
  flush(shards);
  reduce_copies(shards);
  plan_walk_host(engine->walk, "wait for reductions");
  plan_stream_block(&engine->streams.reduce);
  plan_stream_follow(&engine->streams.compute, &engine->streams.reduce);
}

void plan_deepspeed_shards_section(PlanDeepspeedShards *shards) {
  g_array_set_size(shards->events, 0);
}

PlanDeepspeedShards *plan_deepspeed_shards_new(PlanDeepspeedEngine *engine, const PlanDeepspeedGroups *groups) {
  PlanDeepspeedShards *shards = g_new0(PlanDeepspeedShards, 1);
  shards->engine = engine;
  shards->slot = groups->owners;
  shards->copies = groups->copies;
  shards->inside = groups->inside;
  shards->across = groups->across;
  shards->inside_ranks = groups->inside_ranks;
  shards->events = g_array_new(FALSE, FALSE, sizeof(guint32));
  return shards;
}

void plan_deepspeed_shards_free(PlanDeepspeedShards *shards) {
  if (shards == NULL)
    return;
  g_array_unref(shards->events);
  g_free(shards);
}
