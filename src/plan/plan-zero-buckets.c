/* DeepSpeed stages 0 to 2: gradients into buckets, and through the network.
 *
 *   stage 2, or 1 with overlap_comm   at each gradient: copy into the bucket; a gradient that does not fit reduces it first
 *   stage 1                           the same in a loop after the last backward
 *   stage 0                           after the last backward, from .grad, in buffers of 5e8 elements
 *
 *   overlap      C: B … copy ── full ─► R waits C, C waits what R held before ── R: divide, flatten, all-reduce, keep own
 *   no overlap   all of it on C
 *
 * Source: DeepSpeed's runtime/zero/stage_1_and_2.py, engine.py (buffered_allreduce_fallback), bf16_optimizer.py. */
#include "mem-tenant.h"
#include "model-host.h"
#include "plan-zero.h"

#define FP32 4

static void context(PlanZero *zero) {
  program_builder_context(zero->builder, PROGRAM_REDUCE, -1, (gint32)zero->walk->micro);
}

/* ---- One bucket through the network ---- */

static guint32 temporary(PlanZero *zero, const char *name, guint64 bytes) {
  return program_builder_tensor(zero->builder, name, MEM_COMMUNICATION, bytes, 0);
}

static void pass_taking(PlanZero *zero, const char *name, guint64 elements, guint32 bytes_each, guint32 tensor) {
  plan_lane_pass(&zero->reduce, name, plan_zero_op(zero, elements, bytes_each));
  if (tensor != PROGRAM_NONE)
    plan_walk_take(zero->walk, tensor);
}

static void all_reduce(PlanZero *zero, guint64 elements, guint32 bytes) {
  gboolean casts = zero->wire != bytes;
  guint32 sent = casts ? temporary(zero, "bucket as sent", elements * zero->wire) : PROGRAM_NONE;
  if (casts)
    pass_taking(zero, "cast bucket", elements, bytes + zero->wire, sent);
  pass_taking(zero, "divide bucket", elements, 2 * zero->wire, PROGRAM_NONE);
  CollCall call = {COLL_ALL_REDUCE, elements * zero->wire};
  plan_lane_collective(&zero->reduce, zero->comm, "reduce gradients", zero->world, call, PROGRAM_HINT_BUCKET);
  if (!casts)
    return;
  pass_taking(zero, "cast bucket back", elements, bytes + zero->wire, PROGRAM_NONE);
  plan_walk_give(zero->walk, sent, PROGRAM_NONE);
}

/* Owner of an element of the flat buffer of all parameters. */
static guint64 owner_of(const PlanZero *zero, guint64 element) {
  return element / zero->shard;
}

/* Runs of elements of the bucket that go to one owner each; `visit` may be NULL. */
typedef void (*VisitSlice)(PlanZero *zero, guint64 elements);
static guint visit_slices(PlanZero *zero, VisitSlice visit) {
  guint runs = 0;
  guint64 owner = 0, length = 0;
  for (guint i = 0; i < zero->bucket->len; i++) {
    const PlanParameter *parameter = &zero->parameters->list[g_array_index(zero->bucket, guint, i)];
    for (guint64 at = parameter->offset, end = at + parameter->elements; at < end;) {
      guint64 of = owner_of(zero, at), next = MIN(end, (of + 1) * zero->shard);
      if (length > 0 && of != owner) {
        if (visit != NULL)
          visit(zero, length);
        runs++;
        length = 0;
      }
      owner = of;
      length += next - at;
      at = next;
    }
  }
  if (length > 0 && visit != NULL)
    visit(zero, length);
  return runs + (length > 0);
}

/* DeepSpeed's allreduce_and_copy with overlap_comm: the host waits for the whole device before it reduces. */
static void synchronize(PlanZero *zero) {
  if (!zero->options->overlap_comm)
    return;
  plan_walk_host(zero->walk, "synchronize the device");
  plan_lane_block(&zero->reduce);
  plan_lane_block(&zero->compute);
}

static void reduce_slice(PlanZero *zero, guint64 elements) {
  synchronize(zero);
  CollCall call = {COLL_REDUCE, elements * zero->wire};
  plan_lane_collective(&zero->reduce, zero->comm, "reduce slice", zero->world, call, PROGRAM_HINT_BUCKET);
}

/* One reduce per slice, to its owner. */
static void reduce_to_owners(PlanZero *zero, guint64 elements) {
  gboolean casts = zero->wire != zero->bytes;
  guint32 sent = casts ? temporary(zero, "bucket as sent", elements * zero->wire) : PROGRAM_NONE;
  if (casts)
    pass_taking(zero, "cast bucket", elements, zero->bytes + zero->wire, sent);
  pass_taking(zero, "divide bucket", elements, 2 * zero->wire, PROGRAM_NONE);
  visit_slices(zero, reduce_slice);
  if (casts)
    plan_walk_give(zero->walk, sent, PROGRAM_NONE);
}

/* All-reduce of the whole bucket; slices of several owners are flattened into a new tensor first, and the own ones
 * copied back. */
static void reduce_to_all(PlanZero *zero, guint64 elements) {
  gboolean flattens =
      !zero->options->contiguous_gradients || (zero->options->reduce_scatter && visit_slices(zero, NULL) > 1);
  guint32 flat = flattens ? temporary(zero, "flat bucket", elements * zero->bytes) : PROGRAM_NONE;
  if (!zero->options->contiguous_gradients)
    synchronize(zero);
  if (flattens)
    pass_taking(zero, "flatten bucket", elements, 2 * zero->bytes, flat);
  all_reduce(zero, elements, zero->bytes);
  if (!flattens)
    return;
  guint64 own = zero->options->contiguous_gradients ? (elements + zero->owners - 1) / zero->owners : elements;
  pass_taking(zero, "copy own slices back", own, 2 * zero->bytes, PROGRAM_NONE);
  plan_walk_give(zero->walk, flat, PROGRAM_NONE);
}

static void take_once(PlanZero *zero, gboolean *held, guint32 tensor) {
  if (!*held)
    plan_walk_take(zero->walk, tensor);
  *held = TRUE;
}

/* Owned slices leave the bucket for the rank's own buffer. */
static void keep_own(PlanZero *zero, guint64 elements) {
  guint64 own = (elements + zero->owners - 1) / zero->owners;
  if (plan_offload_on(zero)) {
    plan_offload_own(zero, own);
    return;
  }
  plan_lane_pass(&zero->reduce, "keep own slices", plan_zero_op(zero, own, 2 * zero->bytes));
  if (zero->walk->micro == 0 || zero->recipe->zero_stage == 1)
    take_once(zero, &zero->partition_held, zero->partition);
  else
    take_once(zero, &zero->new_held, zero->partition_new);
}

static gboolean is_large(const PlanZero *zero, guint parameter) {
  return zero->parameters->list[parameter].elements > zero->options->reduce_bucket_size;
}

static void flush(PlanZero *zero) {
  if (zero->bucket_elements == 0)
    return;
  context(zero);
  guint64 elements = zero->bucket_elements;
  if (zero->reduce.stream != zero->compute.stream) {
    PlanLane *compute = &zero->compute;
    guint32 held = zero->reduce.last;
    g_autoptr(GArray) waits = g_array_copy(zero->reduce.waits);
    plan_lane_follow(&zero->reduce, compute);
    if (zero->recipe->version >= PLAN_ZERO_COMPUTE_WAIT) {
      plan_lane_need(compute, held);
      for (guint i = 0; i < waits->len; i++)
        plan_lane_need(compute, g_array_index(waits, guint32, i));
    }
  }
  gboolean to_owners = zero->options->contiguous_gradients && zero->options->reduce_scatter &&
                       !zero->options->use_multi_rank_bucket_allreduce;
  if (to_owners)
    reduce_to_owners(zero, elements);
  else
    reduce_to_all(zero, elements);
  keep_own(zero, elements);
  for (guint i = 0; i < zero->bucket->len; i++) {
    guint parameter = g_array_index(zero->bucket, guint, i);
    if (is_large(zero, parameter) || !zero->options->contiguous_gradients)
      plan_walk_give(zero->walk, zero->gradients[parameter], zero->reduce.stream);
  }
  g_array_set_size(zero->bucket, 0);
  zero->bucket_elements = 0;
  zero->index = zero->options->overlap_comm ? 1 - zero->index : 0;
}

static void take_buffers(PlanZero *zero) {
  if (zero->buffers_held || !zero->options->contiguous_gradients)
    return;
  plan_walk_take(zero->walk, zero->buffers[0]);
  if (zero->options->overlap_comm)
    plan_walk_take(zero->walk, zero->buffers[1]);
  zero->buffers_held = TRUE;
}

/* From 0.17.2 to 0.18.5 compute waits for the bucket that was just sent before it fills the other buffer. */
static void wait_for_bucket(PlanZero *zero) {
  gboolean waits = zero->recipe->version >= PLAN_ZERO_NO_OVERLAP && zero->recipe->version < PLAN_ZERO_OVERLAPS;
  if (waits && zero->options->contiguous_gradients)
    plan_lane_follow(&zero->compute, &zero->reduce);
}

/* A gradient into the bucket; one that does not fit reduces what is there first. */
static void into_bucket(PlanZero *zero, guint parameter) {
  guint64 elements = zero->parameters->list[parameter].elements;
  if (zero->bucket_elements + elements > zero->options->reduce_bucket_size) {
    flush(zero);
    wait_for_bucket(zero);
  }
  context(zero);
  if (zero->options->contiguous_gradients && !is_large(zero, parameter)) {
    plan_lane_pass(&zero->compute, "copy into bucket", zero->copy_ops[parameter]);
    take_buffers(zero);
    plan_walk_give(zero->walk, zero->gradients[parameter], PROGRAM_NONE);
  }
  g_array_append_val(zero->bucket, parameter);
  zero->bucket_elements += elements;
}

/* ---- Gradients as backward makes them ---- */

static gboolean at_hooks(const PlanZero *zero) {
  guint64 stage = zero->recipe->zero_stage;
  return stage == 2 || (stage == 1 && !zero->hybrid && zero->options->overlap_comm && plan_zero_last_micro(zero));
}

/* Stage 2 reduces every micro-batch, so nothing is left in .grad to add to. BF16_Optimizer keeps its 16-bit gradients,
 * as zeros, from one backward to the next. */
static gboolean adds(const PlanZero *zero, gboolean first_part) {
  if (first_part || zero->recipe->zero_stage == 2)
    return FALSE;
  return zero->walk->micro > 0 || (zero->hybrid && zero->section == PROGRAM_STEADY);
}

/* BF16_Optimizer's immediate_grad_update: into the fp32 gradients at once. */
static void add_at_once(PlanZero *zero, guint parameter) {
  guint64 elements = zero->parameters->list[parameter].elements;
  plan_lane_pass(&zero->compute, "add to fp32 gradient", plan_zero_op(zero, elements, zero->bytes + 2 * FP32));
  plan_walk_give(zero->walk, zero->gradients[parameter], PROGRAM_NONE);
}

void plan_buckets_gradient(PlanZero *zero, guint parameter, gboolean first_part) {
  PlanWalk *walk = zero->walk;
  gboolean at_once = zero->hybrid && zero->options->immediate_grad_update;
  if (adds(zero, first_part) && !at_once) {
    plan_walk_take(walk, zero->fresh[parameter]);
    plan_lane_pass(&zero->compute, "accumulate gradient", zero->add_ops[parameter]);
    plan_walk_give(walk, zero->fresh[parameter], PROGRAM_NONE);
  }
  plan_walk_take(walk, zero->gradients[parameter]);
  if (first_part || plan_zero_alone(zero))
    return;
  if (at_once)
    add_at_once(zero, parameter);
  if (!at_hooks(zero))
    return;
  into_bucket(zero, parameter);
  program_builder_cost(zero->builder, model_host_cost(walk->host, MODEL_HOST_GRADIENT_HOOK));
}

/* ---- Ends of backward passes ---- */

/* Buffers over parameters in order, each closed once it holds more than 5e8 elements. */
static void all_reduce_buffered(PlanZero *zero, guint32 bytes) {
  guint64 elements = 0;
  for (guint i = 0; i < zero->parameters->n; i++) {
    elements += zero->parameters->list[i].elements;
    if (elements <= PLAN_ZERO_BUFFER && i + 1 < zero->parameters->n)
      continue;
    guint32 flat = temporary(zero, "flat buffer", elements * bytes);
    pass_taking(zero, "flatten buffer", elements, 2 * bytes, flat);
    all_reduce(zero, elements, bytes);
    pass_taking(zero, "copy out of buffer", elements, 2 * bytes, PROGRAM_NONE);
    plan_walk_give(zero->walk, flat, PROGRAM_NONE);
    elements = 0;
  }
}

static void add_to_full(PlanZero *zero) {
  if (!zero->hybrid || zero->options->immediate_grad_update)
    return;
  plan_lane_pass(&zero->compute, "add to fp32 gradients",
                 plan_zero_op(zero, zero->parameters->elements, zero->bytes + 2 * FP32));
}

/* Stage 2: this micro-batch's slices join those of the ones before. */
static void accumulate(PlanZero *zero) {
  if (zero->recipe->zero_stage != 2 || zero->walk->micro == 0 || plan_offload_on(zero))
    return;
  plan_lane_pass(&zero->compute, "accumulate own slices",
                 plan_zero_op(zero, zero->shard, zero->bytes + 2 * zero->kept));
  if (zero->new_held)
    plan_walk_give(zero->walk, zero->partition_new, PROGRAM_NONE);
  zero->new_held = FALSE;
}

static void end_buckets(PlanZero *zero) {
  flush(zero);
  if (zero->reduce.stream != zero->compute.stream) {
    plan_lane_follow(&zero->compute, &zero->reduce);
    plan_walk_host(zero->walk, "synchronise the device");
    plan_lane_block(&zero->compute);
  }
  if (zero->buffers_held) {
    plan_walk_give(zero->walk, zero->buffers[0], PROGRAM_NONE);
    if (zero->options->overlap_comm)
      plan_walk_give(zero->walk, zero->buffers[1], PROGRAM_NONE);
  }
  zero->buffers_held = FALSE;
}

void plan_buckets_backward_ended(PlanZero *zero) {
  context(zero);
  add_to_full(zero);
  if (plan_zero_alone(zero))
    return;
  gboolean last = plan_zero_last_micro(zero);
  if (zero->recipe->zero_stage == 0 || zero->hybrid) {
    if (last)
      all_reduce_buffered(zero, zero->hybrid ? FP32 : zero->bytes);
    return;
  }
  if (zero->recipe->zero_stage == 1 && !last)
    return;
  for (guint i = 0; zero->recipe->zero_stage == 1 && !at_hooks(zero) && i < zero->parameters->n; i++)
    into_bucket(zero, i);
  end_buckets(zero);
  accumulate(zero);
}

/* ---- Setting up ---- */

void plan_buckets_init(PlanZero *zero) {
  guint n = zero->parameters->n;
  zero->bucket = g_array_new(FALSE, FALSE, sizeof(guint));
  zero->gradients = plan_parameters_tensors(zero->parameters, zero->walk, "grad", MEM_GRADIENTS, zero->bytes);
  zero->fresh = plan_parameters_tensors(zero->parameters, zero->walk, "new_grad", MEM_TEMPORARY, zero->bytes);
  zero->add_ops = g_new(guint32, n);
  zero->copy_ops = g_new(guint32, n);
  for (guint p = 0; p < n; p++) {
    zero->add_ops[p] = plan_zero_op(zero, zero->parameters->list[p].elements, 3 * zero->bytes);
    zero->copy_ops[p] = plan_zero_op(zero, zero->parameters->list[p].elements, 2 * zero->bytes);
  }
  for (int i = 0; i < 2; i++)
    zero->buffers[i] = program_builder_tensor(zero->builder, "gradient bucket", MEM_COMMUNICATION,
                                              zero->options->reduce_bucket_size * zero->bytes, 0);
}
