/* SPDX-License-Identifier: MIT */
/* framework = nanotron: PyTorch's DDP whose hook accumulates in fp32, and an optimizer that may be sharded.
 *
 *   micro-batches but the last   C: forward, backward, then each 16-bit gradient is added to its fp32 one
 *   the last                     C: B … a bucket of 25 MiB is full: C: its gradients into the bucket, and added to fp32
 *                                n: all-reduce of the fp32 gradients; in the first step one bucket holds all
 *                                stage 1: C: every rank's slices put beside each other, n: copied once more,
 *                                reduce-scatter
 *                                C: out of the buckets again
 *   tensor ranks, stages          sums of what they hold alike (parallel/tied_parameters.py) and of the norm
 *   step                         C ← all of n; norm, clipping of all fp32 gradients, Adam on my shard, cast to 16 bits
 *   stage 1                      my slices into one buffer, all-gather, copied back to the parameters: nothing hides
 *                                it. Every rank's slice of every parameter is a copy of its own, issued from Python one
 *                                by one: parameters × ranks launches, for which the GPU waits where ranks are many
 *
 * Under sequence parallelism column layers gather into one buffer, which is kept, and so is another into which row
 * layers' backward gathers where communication is asynchronous (parallel/utils.py, MemoryBuffer).
 *
 * The gather's flat buffers (all parameters once more, and my slice of them) are alive at the end of each step. Source:
 * nanotron's optim/gradient_accumulator.py, optim/clip_grads.py (each rank all that it holds, sharded or not),
 * optim/zero.py and distributed.py (lists of one buffer a rank, which c10d copies into one of its own); DDP copies
 * gradients into its buckets and back, since they are no views of them (torch/csrc/distributed/c10d/reducer.cpp). */
#include "base-error.h"
#include "mem-tenant.h"
#include "model-host.h"
#include "plan-buckets.h"
#include "plan-groups.h"
#include "plan-model-parallel.h"
#include "plan-optimizer.h"
#include "plan-parameters.h"
#include "plan-policy.h"
#include "plan-step.h"

#define FP32         4
#define BUCKET_BYTES (25 << 20) /* DDP's, of 16-bit gradients */
#define FIRST_BYTES  (1 << 20)
#define COPY_ROWS    16 /* that the copies back are told in, so that the first run while the last are issued */

typedef struct {
  guint32 fill, add, part, copy; /* ops on one bucket */
} BucketOps;

typedef struct {
  const PlanCase *what;
  const PlanRecipe *recipe;
  ProgramBuilder *builder;
  PlanWalk *walk;
  const PlanParameters *parameters;
  PlanUpdate *update;
  guint32 comm, group, bytes;               /* per element of parameters and gradients */
  guint64 shard;                            /* elements of my slices */
  guint32 weights, gradients, sums, states; /* tensors */
  guint32 gathered, slices;                 /* tensors of the gather */
  guint32 buffers[2];                       /* for tokens of all tensor ranks, of columns and of rows; PROGRAM_NONE */
  guint32 zero, flatten, spread, unflatten; /* ops */
  guint32 empty, cast, gathered_copy;       /* ops: out of DDP's buckets, masters to 16 bits, out of c10d's buffer */
  guint32 copies, copy_rows;                /* launches of one row of the copies back; rows */
  guint32 *add_ops;                         /* by parameter */
  guint *order;                             /* parameters as their gradients become ready */
  PlanBuckets *buckets[PROGRAM_SECTIONS];
  BucketOps *ops[PROGRAM_SECTIONS]; /* by bucket */
} Nanotron;

/* A stage of casts and losses has no parameters: of the optimizer's step the norm of all stages is left. */
static gboolean trains(const Nanotron *nanotron) {
  return nanotron->parameters->n > 0;
}

/* Whether parameters are gathered after the step. */
static gboolean gathers(const Nanotron *nanotron) {
  return nanotron->recipe->zero_stage == 1 && !plan_walk_alone(nanotron->walk) && trains(nanotron);
}

/* ---- Buckets ---- */

static void add_bucket_ops(const Nanotron *nanotron, const PlanBucket *bucket, BucketOps *ops) {
  ProgramBuilder *builder = nanotron->builder;
  guint64 fp32 = bucket->elements * FP32;
  ops->fill = program_builder_memory_ops(builder, 2 * bucket->elements * nanotron->bytes, bucket->n);
  ops->add = program_builder_memory_ops(builder, bucket->elements * nanotron->bytes + 2 * fp32, bucket->n);
  if (nanotron->recipe->zero_stage == 0 || plan_walk_alone(nanotron->walk))
    return;
  ops->part = program_builder_memory_ops(builder, 2 * fp32, nanotron->recipe->ranks);
  ops->copy = program_builder_memory_ops(builder, 2 * fp32, nanotron->recipe->ranks);
}

/* Kernels that are issued one by one. */
static guint32 many_passes(Nanotron *nanotron, guint32 stream, const char *name, guint32 op, guint32 launches) {
  PlanWalk *walk = nanotron->walk;
  return plan_walk_pass_costing(walk, stream, name, op,
                                (SimTime)launches * model_host_cost(walk->host, MODEL_HOST_COPY));
}

static void lay_out(Nanotron *nanotron, ProgramSectionKind section) {
  const double caps[] = {FIRST_BYTES, BUCKET_BYTES};
  PlanBuckets *buckets =
      plan_buckets_new(nanotron->parameters, nanotron->order, section == PROGRAM_STEADY ? caps : NULL, nanotron->bytes);
  nanotron->buckets[section] = buckets;
  nanotron->ops[section] = g_new0(BucketOps, buckets->n);
  for (guint b = 0; b < buckets->n; b++)
    add_bucket_ops(nanotron, &buckets->list[b], &nanotron->ops[section][b]);
}

static void reduce_bucket(Nanotron *nanotron, guint b) {
  PlanWalk *walk = nanotron->walk;
  const PlanBucket *bucket = &nanotron->buckets[walk->section]->list[b];
  const BucketOps *ops = &nanotron->ops[walk->section][b];
  gboolean sharded = nanotron->recipe->zero_stage == 1;
  guint32 ranks = nanotron->recipe->ranks;
  program_builder_context(nanotron->builder, PROGRAM_REDUCE, -1, (gint32)walk->micro);
  many_passes(nanotron, walk->stream, "gradients to bucket", ops->fill, bucket->n);
  guint32 ready = many_passes(nanotron, walk->stream, "add to fp32 gradients", ops->add, bucket->n);
  if (plan_walk_alone(nanotron->walk))
    return;
  if (sharded) {
    ready = many_passes(nanotron, walk->stream, "slices of each rank", ops->part, ranks);
    guint32 copy = many_passes(nanotron, nanotron->comm, "copy to one buffer", ops->copy, ranks);
    program_builder_need(nanotron->builder, ready);
    if (nanotron->walk->reductions->len > 0)
      program_builder_need(nanotron->builder,
                           g_array_index(nanotron->walk->reductions, guint32, nanotron->walk->reductions->len - 1));
    ready = copy;
  }
  CollCall call = {sharded ? COLL_REDUCE_SCATTER : COLL_ALL_REDUCE, bucket->elements * FP32};
  guint32 row =
      plan_walk_collective(walk, nanotron->comm, sharded ? "reduce-scatter gradients" : "all-reduce gradients",
                           nanotron->group, call, PROGRAM_HINT_BUCKET);
  program_builder_need(nanotron->builder, ready);
  g_array_append_val(nanotron->walk->reductions, row);
}

static void gradient_ready(gpointer policy, const PlanGradient *gradient) {
  Nanotron *nanotron = policy;
  guint p = gradient->parameter;
  if (gradient->first_part || !plan_walk_last_micro(nanotron->walk))
    return;
  program_builder_cost(nanotron->builder, model_host_cost(nanotron->walk->host, MODEL_HOST_GRADIENT_HOOK));
  PlanBuckets *buckets = nanotron->buckets[nanotron->walk->section];
  if (plan_buckets_arrived(buckets, p))
    reduce_bucket(nanotron, buckets->of[p]);
}

/* ---- The step ---- */

/* They last from the first time that anything is gathered there. */
static void take_buffers(Nanotron *nanotron) {
  for (guint i = 0; i < G_N_ELEMENTS(nanotron->buffers); i++)
    if (nanotron->buffers[i] != PROGRAM_NONE)
      plan_walk_take(nanotron->walk, nanotron->buffers[i]);
}

static void begin_micro_batch(gpointer policy) {
  Nanotron *nanotron = policy;
  plan_buckets_begin(nanotron->buckets[nanotron->walk->section]);
  plan_step_micro_batch(nanotron->walk, PROGRAM_FORWARD);
  if (nanotron->walk->section == PROGRAM_FIRST)
    take_buffers(nanotron);
}

static void end_backward(gpointer policy) {
  Nanotron *nanotron = policy;
  PlanWalk *walk = nanotron->walk;
  gboolean last = plan_walk_last_micro(walk);
  program_builder_context(nanotron->builder, last ? PROGRAM_REDUCE : PROGRAM_BACKWARD, -1, (gint32)walk->micro);
  for (guint p = 0; p < nanotron->parameters->n && !last; p++)
    plan_walk_pass(walk, walk->stream, "add to fp32 gradient", nanotron->add_ops[p]);
  if (last && trains(nanotron))
    many_passes(nanotron, walk->stream, "gradients from buckets", nanotron->empty, nanotron->parameters->n);
  plan_walk_need_reductions(walk);
}

static void gather_parameters(Nanotron *nanotron) {
  PlanWalk *walk = nanotron->walk;
  if (!gathers(nanotron))
    return;
  program_builder_context(nanotron->builder, PROGRAM_GATHER, -1, -1);
  plan_walk_pass(walk, walk->stream, "flatten slices", nanotron->flatten);
  plan_walk_take(walk, nanotron->slices);
  guint32 before = many_passes(nanotron, walk->stream, "flatten parameters", nanotron->spread, nanotron->recipe->ranks);
  CollCall call = {COLL_ALL_GATHER, nanotron->shard * nanotron->recipe->ranks * nanotron->bytes};
  guint32 row =
      plan_walk_collective(walk, nanotron->comm, "all-gather parameters", nanotron->group, call, PROGRAM_HINT_BOUNDARY);
  program_builder_need(nanotron->builder, before);
  plan_walk_take(walk, nanotron->gathered);
  plan_walk_need(walk, many_passes(nanotron, nanotron->comm, "copy from one buffer", nanotron->gathered_copy,
                                   nanotron->recipe->ranks));
  program_builder_need(nanotron->builder, row);
  for (guint32 i = 0; i < nanotron->copy_rows; i++)
    many_passes(nanotron, walk->stream, "copy to parameters", nanotron->unflatten, nanotron->copies);
}

/* What the step before left: when a step ends both flat buffers of its gather are still allocated. Jobs log 10 + 14/N
 * bytes per parameter between steps, of which 2 + 2/N are these. */
static void drop_gathered(gpointer policy) {
  Nanotron *nanotron = policy;
  if (nanotron->walk->section == PROGRAM_FIRST || !gathers(nanotron))
    return;
  plan_walk_give(nanotron->walk, nanotron->slices, PROGRAM_NONE);
  plan_walk_give(nanotron->walk, nanotron->gathered, PROGRAM_NONE);
}

static void optimizer_step(gpointer policy) {
  Nanotron *nanotron = policy;
  PlanWalk *walk = nanotron->walk;
  plan_sum_over_tensor(walk, FP32);
  plan_sum_tied(walk, nanotron->what, FP32);
  if (plan_update_norm(walk, nanotron->update) != PROGRAM_NONE)
    plan_sum_norm(walk);
  if (!trains(nanotron))
    return;
  plan_update_run(walk, nanotron->update, NULL);
  if (nanotron->bytes < FP32)
    many_passes(nanotron, walk->stream, "parameters to 16 bits", nanotron->cast, nanotron->parameters->n);
  if (nanotron->walk->section == PROGRAM_FIRST)
    plan_walk_take(walk, nanotron->states);
  gather_parameters(nanotron);
  program_builder_context(nanotron->builder, PROGRAM_OPTIMIZER, -1, -1);
  plan_walk_pass(walk, walk->stream, "zero gradients", nanotron->zero);
}

static void load(gpointer policy) {
  Nanotron *nanotron = policy;
  plan_walk_take(nanotron->walk, nanotron->weights);
  plan_walk_take(nanotron->walk, nanotron->gradients);
  plan_walk_take(nanotron->walk, nanotron->sums);
}

/* ---- Setting up ---- */

static void add_gather(Nanotron *nanotron, guint64 flat) {
  guint64 ranks = nanotron->recipe->ranks, copies = ranks * nanotron->parameters->n;
  nanotron->copy_rows = (guint32)MIN(ranks, COPY_ROWS);
  nanotron->copies = (guint32)((copies + nanotron->copy_rows - 1) / nanotron->copy_rows);
  nanotron->flatten = program_builder_memory_op(nanotron->builder, 2 * flat);
  nanotron->spread = program_builder_memory_ops(nanotron->builder, 2 * flat * ranks, (guint32)ranks);
  nanotron->gathered_copy = program_builder_memory_ops(nanotron->builder, 2 * flat * ranks, (guint32)ranks);
  nanotron->unflatten =
      program_builder_memory_ops(nanotron->builder, 2 * flat * ranks / nanotron->copy_rows, nanotron->copies);
}

static void add_states(Nanotron *nanotron) {
  guint64 trained = nanotron->parameters->elements, all = plan_walk_all_elements(nanotron->walk),
          ranks = nanotron->recipe->ranks;
  gboolean sharded = nanotron->recipe->zero_stage == 1;
  nanotron->shard = trained;
  for (guint p = 0; p < nanotron->parameters->n && sharded; p++)
    nanotron->shard = (p == 0 ? 0 : nanotron->shard) + (nanotron->parameters->list[p].elements + ranks - 1) / ranks;
  guint64 states = plan_optimizer_bytes(nanotron->recipe->optimizer, nanotron->shard, FP32, nanotron->bytes < FP32);
  guint64 flat = nanotron->shard * nanotron->bytes;
  PlanWalk *walk = nanotron->walk;
  nanotron->weights = plan_states_tensor(walk, "parameters", MEM_PARAMETERS, all * nanotron->bytes, ranks);
  nanotron->gradients = plan_states_tensor(walk, "gradients", MEM_GRADIENTS, trained * nanotron->bytes, ranks);
  nanotron->sums = plan_states_tensor(walk, "fp32 gradients", MEM_GRADIENTS, trained * FP32, ranks);
  nanotron->states = plan_states_tensor(walk, "optimizer states", MEM_OPTIMIZER, states, sharded ? 1 : ranks);
  nanotron->slices = program_builder_tensor(nanotron->builder, "flat slices", MEM_COMMUNICATION, flat, 0);
  nanotron->gathered = program_builder_tensor(nanotron->builder, "flat parameters", MEM_COMMUNICATION, flat * ranks, 0);
  nanotron->zero = program_builder_memory_op(nanotron->builder, trained * FP32);
  nanotron->empty =
      program_builder_memory_ops(nanotron->builder, 2 * trained * nanotron->bytes, nanotron->parameters->n);
  nanotron->cast = program_builder_memory_ops(nanotron->builder, nanotron->shard * (FP32 + nanotron->bytes),
                                              nanotron->parameters->n);
  add_gather(nanotron, flat);
  nanotron->update = plan_update_usual(walk, MODEL_OPTIMIZER_FUSED,
                                       (ModelOptimizer){.elements = nanotron->shard,
                                                        .normed_elements = trained,
                                                        .tensors = nanotron->parameters->n,
                                                        .element_bytes = FP32,
                                                        .gradient_bytes = FP32});
  nanotron->add_ops = g_new(guint32, nanotron->parameters->n);
  for (guint p = 0; p < nanotron->parameters->n; p++)
    nanotron->add_ops[p] = program_builder_memory_op(nanotron->builder, nanotron->parameters->list[p].elements *
                                                                            (nanotron->bytes + 2 * FP32));
}

static void add_buffers(Nanotron *nanotron, const PlanCase *what) {
  static const char *const names[] = {"gathered for columns", "gathered for rows"};
  const ModelShare *share = &what->model->share;
  const gboolean used[] = {share->gathers_again, share->overlap == MODEL_OVERLAP_OWN};
  guint64 tokens = what->recipe->micro_batch * what->model->sequence_length / model_share_context(share);
  for (guint i = 0; i < G_N_ELEMENTS(names); i++)
    nanotron->buffers[i] = used[i] && share->sequence_parallel && model_share_tensor(share) > 1
                               ? program_builder_tensor(nanotron->builder, names[i], MEM_COMMUNICATION,
                                                        tokens * what->shape->hidden_size * nanotron->bytes, 0)
                               : PROGRAM_NONE;
}

static void clear(gpointer policy) {
  Nanotron *nanotron = policy;
  for (int s = 0; s < PROGRAM_SECTIONS; s++) {
    plan_buckets_free(nanotron->buckets[s]);
    g_free(nanotron->ops[s]);
  }
  g_free(nanotron->add_ops);
  g_free(nanotron->order);
  plan_update_free(nanotron->update);
}

static void set_up(gpointer policy, PlanWalk *walk, const PlanCase *what) {
  Nanotron *nanotron = policy;
  *nanotron = (Nanotron){
      .what = what, .recipe = what->recipe, .builder = walk->builder, .walk = walk, .parameters = walk->parameters};
  nanotron->bytes = model_precision_bytes(what->model->precision);
  nanotron->comm = program_builder_stream(walk->builder, "comm");
  program_builder_pool(walk->builder, nanotron->comm, walk->stream);
  nanotron->group = plan_groups_everyone(walk->builder, what->recipe);
  add_states(nanotron);
  add_buffers(nanotron, what);
  nanotron->order = plan_parameters_ready(nanotron->parameters, walk);
  lay_out(nanotron, PROGRAM_FIRST);
  lay_out(nanotron, PROGRAM_STEADY);
}

const PlanHooks plan_nanotron_hooks = {
    .size = sizeof(Nanotron),
    .set_up = set_up,
    .clear = clear,
    .load = load,
    .step_begins = drop_gathered,
    .micro_batch = begin_micro_batch,
    .gradient = gradient_ready,
    .backward_ended = end_backward,
    .optimizer = optimizer_step,
};
