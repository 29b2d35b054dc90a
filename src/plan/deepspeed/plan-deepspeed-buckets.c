/* SPDX-License-Identifier: MIT */
/* DeepSpeed stages 0 to 2: gradients into buckets, and through the network.
 *
 *   stage 2, or 1 with overlap_comm   at each gradient: copy into the bucket; one that does not fit reduces it first
 *   stage 1                           the same in a loop after the last backward
 *   stage 0                           after the last backward, from .grad, in buffers of 5e8 elements
 *
 *   overlap      C: B … copy ── full ─► R waits C, C waits what R held before ── R: divide, flatten, all-reduce, keep
 *                                       its own part
 *   no overlap   all of it on C
 *
 * Source: DeepSpeed's runtime/zero/stage_1_and_2.py, engine.py (buffered_allreduce_fallback), bf16_optimizer.py. */
#include "base-error.h"
#include "mem-tenant.h"
#include "model-host.h"
#include "plan-deepspeed-engine.h"

#define FP32 4

static void context(PlanDeepspeedEngine *engine) {
  program_builder_context(engine->builder, PROGRAM_REDUCE, -1, (gint32)engine->walk->micro);
}

/* ---- One bucket through the network ---- */

/* Of the members that are reduced. */
static const PlanDeepspeedData *data_of(const PlanDeepspeedEngine *engine) {
  return &engine->data[engine->bucket.kind];
}

static gboolean is_reduced(const PlanDeepspeedEngine *engine, guint parameter) {
  return plan_deepspeed_kind(engine, parameter) == engine->bucket.kind;
}

static guint32 temporary(PlanDeepspeedEngine *engine, const char *name, guint64 bytes) {
  return program_builder_tensor(engine->builder, name, MEM_COMMUNICATION, bytes, 0);
}

static void pass_taking(PlanDeepspeedEngine *engine, const char *name, guint64 elements, guint32 bytes_each,
                        guint32 tensor) {
  plan_stream_pass(&engine->streams.reduce, name, plan_deepspeed_op(engine, elements, bytes_each));
  if (tensor != PROGRAM_NONE)
    plan_walk_take(engine->walk, tensor);
}

static void all_reduce(PlanDeepspeedEngine *engine, guint64 elements, guint32 bytes) {
  gboolean casts = engine->bytes.sent != bytes;
  guint32 sent = casts ? temporary(engine, "bucket as sent", elements * engine->bytes.sent) : PROGRAM_NONE;
  if (casts)
    pass_taking(engine, "cast bucket", elements, bytes + engine->bytes.sent, sent);
  pass_taking(engine, "divide bucket", elements, 2 * engine->bytes.sent, PROGRAM_NONE);
  CollCall call = {COLL_ALL_REDUCE, elements * engine->bytes.sent};
  plan_stream_collective(&engine->streams.reduce, engine->streams.comm, "reduce gradients", data_of(engine)->slot, call,
                         PROGRAM_HINT_BUCKET);
  if (!casts)
    return;
  pass_taking(engine, "cast bucket back", elements, bytes + engine->bytes.sent, PROGRAM_NONE);
  plan_walk_give(engine->walk, sent, PROGRAM_NONE);
}

/* Owner of an element of the flat buffer of all parameters. */
static guint64 owner_of(const PlanDeepspeedEngine *engine, guint64 element) {
  return element / data_of(engine)->shard;
}

/* Runs of elements of the bucket that go to one owner each; `visit` may be NULL. */
typedef void (*VisitSlice)(PlanDeepspeedEngine *engine, guint64 elements);
static guint visit_slices(PlanDeepspeedEngine *engine, VisitSlice visit) {
  guint runs = 0;
  guint64 owner = 0, length = 0;
  for (guint i = 0; i < engine->bucket.open.members->len; i++) {
    guint index = plan_open_bucket_member(&engine->bucket.open, i);
    const PlanParameter *parameter = &engine->parameters->list[index];
    if (!is_reduced(engine, index))
      continue;
    for (guint64 at = parameter->offset, end = at + parameter->elements; at < end;) {
      guint64 of = owner_of(engine, at), next = MIN(end, (of + 1) * data_of(engine)->shard);
      if (length > 0 && of != owner) {
        if (visit != NULL)
          visit(engine, length);
        runs++;
        length = 0;
      }
      owner = of;
      length += next - at;
      at = next;
    }
  }
  if (length > 0 && visit != NULL)
    visit(engine, length);
  return runs + (length > 0);
}

/* DeepSpeed's allreduce_and_copy with overlap_comm: the host waits for the whole device before it reduces. */
static void synchronize(PlanDeepspeedEngine *engine) {
  if (!engine->options->overlap_comm)
    return;
  plan_walk_host(engine->walk, "synchronize the device");
  plan_stream_block(&engine->streams.reduce);
  plan_stream_block(&engine->streams.compute);
}

static void reduce_slice(PlanDeepspeedEngine *engine, guint64 elements) {
  synchronize(engine);
  CollCall call = {COLL_REDUCE, elements * engine->bytes.sent};
  plan_stream_collective(&engine->streams.reduce, engine->streams.comm, "reduce slice", data_of(engine)->slot, call,
                         PROGRAM_HINT_BUCKET);
}

/* One reduce per slice, to its owner. */
static void reduce_to_owners(PlanDeepspeedEngine *engine, guint64 elements) {
  gboolean casts = engine->bytes.sent != engine->bytes.made;
  guint32 sent = casts ? temporary(engine, "bucket as sent", elements * engine->bytes.sent) : PROGRAM_NONE;
  if (casts)
    pass_taking(engine, "cast bucket", elements, engine->bytes.made + engine->bytes.sent, sent);
  pass_taking(engine, "divide bucket", elements, 2 * engine->bytes.sent, PROGRAM_NONE);
  visit_slices(engine, reduce_slice);
  if (casts)
    plan_walk_give(engine->walk, sent, PROGRAM_NONE);
}

/* All-reduce of the whole bucket; slices of several owners are flattened into a new tensor first, and the own ones
 * copied back. */
static void reduce_to_all(PlanDeepspeedEngine *engine, guint64 elements) {
  gboolean flattens =
      !engine->options->contiguous_gradients || (engine->options->reduce_scatter && visit_slices(engine, NULL) > 1);
  guint32 flat = flattens ? temporary(engine, "flat bucket", elements * engine->bytes.made) : PROGRAM_NONE;
  if (!engine->options->contiguous_gradients)
    synchronize(engine);
  if (flattens)
    pass_taking(engine, "flatten bucket", elements, 2 * engine->bytes.made, flat);
  all_reduce(engine, elements, engine->bytes.made);
  if (!flattens)
    return;
  guint64 own = engine->options->contiguous_gradients
                    ? (elements + data_of(engine)->owners - 1) / data_of(engine)->owners
                    : elements;
  pass_taking(engine, "copy own slices back", own, 2 * engine->bytes.made, PROGRAM_NONE);
  plan_walk_give(engine->walk, flat, PROGRAM_NONE);
}

static void take_once(PlanDeepspeedEngine *engine, gboolean *held, guint32 tensor) {
  if (!*held)
    plan_walk_take(engine->walk, tensor);
  *held = TRUE;
}

/* Owned slices leave the bucket for the rank's own buffer. */
static void keep_own(PlanDeepspeedEngine *engine, guint64 elements) {
  guint64 own = (elements + data_of(engine)->owners - 1) / data_of(engine)->owners;
  if (plan_deepspeed_offload_on(engine)) {
    plan_deepspeed_offload_own(engine, own, engine->offload.largest);
    return;
  }
  plan_stream_pass(&engine->streams.reduce, "keep own slices", plan_deepspeed_op(engine, own, 2 * engine->bytes.made));
  if (engine->walk->micro == 0 || engine->recipe->zero_stage == 1)
    take_once(engine, &engine->grads.own_held, engine->grads.own);
  else
    take_once(engine, &engine->grads.own_new_held, engine->grads.own_new);
}

gboolean plan_deepspeed_bucket_fits(const PlanDeepspeedEngine *engine, guint64 elements) {
  return plan_open_bucket_fits(&engine->bucket.open, elements, engine->options->reduce_bucket_size);
}

gboolean plan_deepspeed_bucket_borrows(const PlanDeepspeedEngine *engine, guint parameter) {
  return !engine->options->contiguous_gradients ||
         engine->parameters->list[parameter].elements > engine->options->reduce_bucket_size;
}

void plan_deepspeed_bucket_empty(PlanDeepspeedEngine *engine) {
  for (guint i = 0; i < engine->bucket.open.members->len; i++) {
    guint parameter = plan_open_bucket_member(&engine->bucket.open, i);
    if (plan_deepspeed_bucket_borrows(engine, parameter))
      plan_walk_give(engine->walk, engine->grads.whole[parameter], engine->streams.reduce.id);
  }
  plan_open_bucket_empty(&engine->bucket.open);
}

/* Members of one kind, through the network of those that hold the same. */
static void reduce_kind(PlanDeepspeedEngine *engine) {
  guint64 elements = 0;
  gboolean to_owners = engine->options->contiguous_gradients && engine->options->reduce_scatter &&
                       !engine->options->use_multi_rank_bucket_allreduce;
  for (guint i = 0; i < engine->bucket.open.members->len; i++) {
    guint parameter = plan_open_bucket_member(&engine->bucket.open, i);
    elements += is_reduced(engine, parameter) ? engine->parameters->list[parameter].elements : 0;
  }
  if (elements == 0)
    return;
  if (data_of(engine)->ranks > 1 && to_owners)
    reduce_to_owners(engine, elements);
  else if (data_of(engine)->ranks > 1)
    reduce_to_all(engine, elements);
  keep_own(engine, elements);
}

static void flush(PlanDeepspeedEngine *engine) {
  if (engine->bucket.open.elements == 0)
    return;
  context(engine);
  if (engine->streams.reduce.id != engine->streams.compute.id) {
    PlanStream *compute = &engine->streams.compute;
    guint32 held = engine->streams.reduce.last; /* a bucket ends with a row of its own: the rank's slices are kept */
    sim_require(engine->streams.reduce.waits->len == 0, 0, NULL, "a bucket's reduction has not ended");
    plan_stream_follow(&engine->streams.reduce, compute);
    if (engine->recipe->version >= PLAN_DEEPSPEED_COMPUTE_WAIT)
      plan_stream_need(compute, held);
  }
  for (engine->bucket.kind = 0; engine->bucket.kind < engine->kinds; engine->bucket.kind++)
    reduce_kind(engine);
  engine->bucket.kind = 0;
  plan_deepspeed_bucket_empty(engine);
  engine->bucket.index = engine->options->overlap_comm ? 1 - engine->bucket.index : 0;
}

static void take_buffers(PlanDeepspeedEngine *engine) {
  if (engine->bucket.buffers_held || !engine->options->contiguous_gradients)
    return;
  plan_walk_take(engine->walk, engine->bucket.buffers[0]);
  if (engine->options->overlap_comm)
    plan_walk_take(engine->walk, engine->bucket.buffers[1]);
  engine->bucket.buffers_held = TRUE;
}

/* From 0.17.2 to 0.18.5 compute waits for the bucket that was just sent before it fills the other buffer. */
static void wait_for_bucket(PlanDeepspeedEngine *engine) {
  gboolean waits =
      engine->recipe->version >= PLAN_DEEPSPEED_NO_OVERLAP && engine->recipe->version < PLAN_DEEPSPEED_OVERLAPS;
  if (waits && engine->options->contiguous_gradients)
    plan_stream_follow(&engine->streams.compute, &engine->streams.reduce);
}

/* A gradient into the bucket; one that does not fit reduces what is there first. */
static void into_bucket(PlanDeepspeedEngine *engine, guint parameter) {
  guint64 elements = engine->parameters->list[parameter].elements;
  if (!plan_deepspeed_bucket_fits(engine, elements)) {
    flush(engine);
    wait_for_bucket(engine);
  }
  context(engine);
  if (!plan_deepspeed_bucket_borrows(engine, parameter)) {
    plan_stream_pass(&engine->streams.compute, "copy into bucket", engine->grads.copy_ops[parameter]);
    take_buffers(engine);
    plan_walk_give(engine->walk, engine->grads.whole[parameter], PROGRAM_NONE);
  }
  plan_open_bucket_add(&engine->bucket.open, parameter, elements);
}

/* ---- Gradients as backward makes them ---- */

static gboolean at_hooks(const PlanDeepspeedEngine *engine) {
  guint64 stage = engine->recipe->zero_stage;
  return stage == 2 || (stage == 1 && !engine->hybrid && !engine->pipe.on && engine->options->overlap_comm &&
                        plan_walk_last_micro(engine->walk));
}

/* Stage 2 reduces every micro-batch, so nothing is left in .grad to add to. BF16_Optimizer keeps its 16-bit gradients,
 * as zeros, from one backward to the next. */
static gboolean adds(const PlanDeepspeedEngine *engine, gboolean first_part) {
  if (first_part || engine->recipe->zero_stage == 2)
    return FALSE;
  return engine->walk->micro > 0 || (engine->hybrid && engine->walk->section == PROGRAM_STEADY);
}

/* BF16_Optimizer's immediate_grad_update: into the fp32 gradients at once. */
static void add_at_once(PlanDeepspeedEngine *engine, guint parameter) {
  guint64 elements = engine->parameters->list[parameter].elements;
  plan_stream_pass(&engine->streams.compute, "add to fp32 gradient",
                   plan_deepspeed_op(engine, elements, engine->bytes.made + 2 * FP32));
  plan_walk_give(engine->walk, engine->grads.whole[parameter], PROGRAM_NONE);
}

void plan_deepspeed_buckets_gradient(PlanDeepspeedEngine *engine, guint parameter, gboolean first_part) {
  PlanWalk *walk = engine->walk;
  gboolean at_once = engine->hybrid && engine->options->immediate_grad_update;
  if (adds(engine, first_part) && !at_once) {
    plan_walk_take(walk, engine->grads.fresh[parameter]);
    plan_stream_pass(&engine->streams.compute, "accumulate gradient", engine->grads.add_ops[parameter]);
    plan_walk_give(walk, engine->grads.fresh[parameter], PROGRAM_NONE);
  }
  plan_walk_take(walk, engine->grads.whole[parameter]);
  if (first_part || plan_walk_alone(engine->walk))
    return;
  if (at_once)
    add_at_once(engine, parameter);
  if (!at_hooks(engine))
    return;
  into_bucket(engine, parameter);
  program_builder_cost(engine->builder, model_host_cost(walk->host, MODEL_HOST_GRADIENT_HOOK));
}

/* ---- Ends of backward passes ---- */

static void all_reduce_buffer(PlanDeepspeedEngine *engine, guint64 elements, guint32 bytes) {
  guint32 flat = temporary(engine, "flat buffer", elements * bytes);
  pass_taking(engine, "flatten buffer", elements, 2 * bytes, flat);
  all_reduce(engine, elements, bytes);
  pass_taking(engine, "copy out of buffer", elements, 2 * bytes, PROGRAM_NONE);
  plan_walk_give(engine->walk, flat, PROGRAM_NONE);
}

/* Buffers over parameters of a kind in order, each closed once it holds more than 5e8 elements. */
static void all_reduce_buffered(PlanDeepspeedEngine *engine, guint32 bytes) {
  guint64 elements = 0;
  for (guint i = 0; i < engine->parameters->n && data_of(engine)->ranks > 1; i++) {
    elements += is_reduced(engine, i) ? engine->parameters->list[i].elements : 0;
    if (elements <= PLAN_DEEPSPEED_BUFFER)
      continue;
    all_reduce_buffer(engine, elements, bytes);
    elements = 0;
  }
  if (elements > 0)
    all_reduce_buffer(engine, elements, bytes);
}

static void add_to_full(PlanDeepspeedEngine *engine) {
  if (!engine->hybrid || engine->options->immediate_grad_update)
    return;
  plan_stream_pass(&engine->streams.compute, "add to fp32 gradients",
                   plan_deepspeed_op(engine, engine->parameters->elements, engine->bytes.made + 2 * FP32));
}

/* Stage 2: this micro-batch's slices join those of the ones before. */
static void accumulate(PlanDeepspeedEngine *engine) {
  if (engine->recipe->zero_stage != 2 || engine->walk->micro == 0 || plan_deepspeed_offload_on(engine))
    return;
  plan_stream_pass(&engine->streams.compute, "accumulate own slices",
                   plan_deepspeed_op(engine, engine->shard, engine->bytes.made + 2 * engine->bytes.kept));
  if (engine->grads.own_new_held)
    plan_walk_give(engine->walk, engine->grads.own_new, PROGRAM_NONE);
  engine->grads.own_new_held = FALSE;
}

static void end_buckets(PlanDeepspeedEngine *engine) {
  flush(engine);
  if (engine->streams.reduce.id != engine->streams.compute.id) {
    plan_stream_follow(&engine->streams.compute, &engine->streams.reduce);
    plan_walk_host(engine->walk, "synchronise the device");
    plan_stream_block(&engine->streams.compute);
  }
  if (engine->bucket.buffers_held) {
    plan_walk_give(engine->walk, engine->bucket.buffers[0], PROGRAM_NONE);
    if (engine->options->overlap_comm)
      plan_walk_give(engine->walk, engine->bucket.buffers[1], PROGRAM_NONE);
  }
  engine->bucket.buffers_held = FALSE;
}

void plan_deepspeed_buckets_backward_ended(PlanDeepspeedEngine *engine) {
  context(engine);
  add_to_full(engine);
  if (!engine->pipe.on)
    plan_deepspeed_buckets_reduce(engine);
}

void plan_deepspeed_buckets_reduce(PlanDeepspeedEngine *engine) {
  if (plan_walk_alone(engine->walk))
    return;
  gboolean last = plan_walk_last_micro(engine->walk);
  if (engine->recipe->zero_stage == 0 || engine->hybrid) {
    for (engine->bucket.kind = 0; last && engine->bucket.kind < engine->kinds; engine->bucket.kind++)
      all_reduce_buffered(engine, engine->hybrid ? FP32 : engine->bytes.made);
    engine->bucket.kind = 0;
    return;
  }
  if (engine->recipe->zero_stage == 1 && !last)
    return;
  for (guint i = 0; engine->recipe->zero_stage == 1 && !at_hooks(engine) && i < engine->parameters->n; i++)
    into_bucket(engine, i);
  end_buckets(engine);
  accumulate(engine);
}

/* ---- Setting up ---- */

void plan_deepspeed_buckets_init(PlanDeepspeedEngine *engine) {
  guint n = engine->parameters->n;
  plan_open_bucket_init(&engine->bucket.open);
  engine->grads.whole =
      plan_parameters_tensors(engine->parameters, engine->walk, "grad", MEM_GRADIENTS, engine->bytes.made);
  engine->grads.fresh =
      plan_parameters_tensors(engine->parameters, engine->walk, "new_grad", MEM_TEMPORARY, engine->bytes.made);
  engine->grads.add_ops = g_new(guint32, n);
  engine->grads.copy_ops = g_new(guint32, n);
  for (guint p = 0; p < n; p++) {
    engine->grads.add_ops[p] = plan_deepspeed_op(engine, engine->parameters->list[p].elements, 3 * engine->bytes.made);
    engine->grads.copy_ops[p] = plan_deepspeed_op(engine, engine->parameters->list[p].elements, 2 * engine->bytes.made);
  }
  for (int i = 0; i < 2; i++)
    engine->bucket.buffers[i] =
        program_builder_tensor(engine->builder, "gradient bucket", MEM_COMMUNICATION,
                               base_product(engine->options->reduce_bucket_size, engine->bytes.made), 0);
}
