/* framework = megatron: Megatron-LM's DistributedDataParallel and distributed optimizer.
 *
 *   micro-batches but the last   C: forward, backward; matmuls of weight gradients add into one buffer (fp32)
 *   the last                     C: B … a bucket has all its gradients: C: norm; the host waits for it (check_for_nan_in_grad)
 *                                C: scale   n: reduce-scatter (stage 0: all-reduce)
 *                                in the first step, and without overlap_grad_reduce, after backward
 *   step                         C ← all of n; norm, all-reduced and read by the host; Adam on my shard
 *                                n: all-gather of the parameter buffer, which nothing hides; or, overlapped, in the next
 *                                forward: an operation waits for its bucket, and the bucket after it is dispatched
 *
 *   buffer  | last layer's parameters … | … | first layer's, embedding |     buckets in order of backward
 *
 * Source:
 * megatron/core/distributed/param_and_grad_buffer.py and distributed_data_parallel.py, core/optimizer/distrib_optimizer.py. */
#include "base-error.h"
#include "mem-tenant.h"
#include "model-host.h"
#include "plan-groups.h"
#include "plan-megatron-layout.h"
#include "plan-optimizer.h"
#include "plan-policy.h"
#include "plan-step.h"

#define FP32 4

/* What is done to one bucket. */
typedef struct {
  guint32 norm, scale; /* ops */
  guint32 gather;      /* row; PROGRAM_NONE: not dispatched */
} BucketWork;

typedef struct {
  const PlanRecipe *recipe;
  const PlanMegatron *options;
  ProgramBuilder *builder;
  PlanWalk *walk;
  const PlanParameters *parameters;
  PlanUpdate *update;
  guint32 comm, comm_across, shard_slot, replica_slot;
  guint32 shards, replicas;
  guint32 zero, cast;                              /* ops */
  guint32 weights, buffer, states, fp32_gradients; /* tensors */
  guint32 *new_gradients, *add_ops;                /* by parameter: where its gradient is not added by a matmul */
  PlanBuckets *buckets;                            /* in order of backward */
  BucketWork *work;                                /* by bucket */
  guint64 elements;                                /* of all buckets */
} Megatron;

static gboolean shards(const Megatron *megatron) {
  return megatron->recipe->zero_stage == 1 && megatron->shards > 1;
}

static gboolean gathers_in_forward(const Megatron *megatron) {
  return megatron->options->overlap_param_gather && shards(megatron) && megatron->walk->section == PROGRAM_STEADY &&
         megatron->walk->micro == 0;
}

static void add_buckets(Megatron *megatron, gboolean tied) {
  guint32 bytes = megatron->options->gradient_bytes;
  megatron->buckets = plan_megatron_lay_out(megatron->recipe, megatron->shards, megatron->parameters, tied);
  megatron->work = g_new0(BucketWork, megatron->buckets->n);
  for (guint b = 0; b < megatron->buckets->n; b++) {
    guint64 elements = megatron->buckets->list[b].elements;
    megatron->elements += elements;
    megatron->work[b].norm = program_builder_memory_op(megatron->builder, elements * bytes);
    megatron->work[b].scale = program_builder_memory_op(megatron->builder, 2 * elements * bytes);
  }
}

/* ---- Gradients ---- */

/* The norm over the bucket, one pass that reads it, whose result the host waits for. */
static void check_bucket(Megatron *megatron, guint b) {
  if (!megatron->options->checks_gradients)
    return;
  guint32 norm = plan_walk_pass(megatron->walk, megatron->walk->stream, "norm of bucket", megatron->work[b].norm);
  plan_walk_host(megatron->walk, "look for NaN");
  program_builder_need(megatron->builder, norm);
}

/* Within the instance, then over instances. Compute scales first, so that sums are means. */
static void reduce_bucket(Megatron *megatron, guint b) {
  PlanWalk *walk = megatron->walk;
  guint64 bytes = megatron->buckets->list[b].elements * megatron->options->gradient_bytes;
  ProgramHint hint = megatron->options->overlap_grad_reduce ? PROGRAM_HINT_BUCKET : PROGRAM_HINT_BOUNDARY;
  program_builder_context(megatron->builder, PROGRAM_REDUCE, -1, (gint32)walk->micro);
  check_bucket(megatron, b);
  if (plan_walk_alone(walk))
    return;
  guint32 ready = plan_walk_pass(walk, walk->stream, "scale gradients", megatron->work[b].scale), row = ready;
  if (shards(megatron)) {
    row = plan_walk_collective(walk, megatron->comm, "reduce-scatter gradients", megatron->shard_slot,
                               (CollCall){COLL_REDUCE_SCATTER, bytes}, hint);
    program_builder_need(megatron->builder, ready);
    bytes /= megatron->shards;
  }
  if (megatron->replicas > 1) {
    guint32 before = row;
    row = plan_walk_collective(walk, megatron->comm_across, "all-reduce gradients", megatron->replica_slot,
                               (CollCall){COLL_ALL_REDUCE, bytes}, hint);
    program_builder_need(megatron->builder, before);
  }
  g_array_append_val(walk->reductions, row);
}

/* The first step counts gradients, and reduces when backward is over. */
static gboolean reduces_early(const Megatron *megatron) {
  return plan_walk_last_micro(megatron->walk) && megatron->options->overlap_grad_reduce &&
         megatron->walk->section == PROGRAM_STEADY;
}

static gboolean is_fused(const Megatron *megatron, guint32 unit, const ModelParameter *parameter) {
  return megatron->options->gradient_accumulation_fusion && unit > 0 && parameter->elements > parameter->rows;
}

static void gradient_ready(gpointer policy, const PlanGradient *gradient) {
  Megatron *megatron = policy;
  PlanWalk *walk = megatron->walk;
  guint p = gradient->parameter;
  if (!is_fused(megatron, gradient->unit, &walk->units[gradient->unit].unit->parameters[gradient->index])) {
    plan_walk_take(walk, megatron->new_gradients[p]);
    plan_walk_pass(walk, walk->stream, "add to gradient buffer", megatron->add_ops[p]);
    program_builder_cost(megatron->builder, model_host_cost(walk->host, MODEL_HOST_GRADIENT_HOOK));
    plan_walk_give(walk, megatron->new_gradients[p], PROGRAM_NONE);
  }
  gboolean complete = !gradient->first_part && plan_buckets_arrived(megatron->buckets, p);
  if (complete && reduces_early(megatron))
    reduce_bucket(megatron, megatron->buckets->of[p]);
}

static void finish_reductions(gpointer policy) {
  Megatron *megatron = policy;
  if (!plan_walk_last_micro(megatron->walk))
    return;
  for (guint b = 0; b < megatron->buckets->n && !reduces_early(megatron); b++)
    reduce_bucket(megatron, b);
  plan_walk_need_reductions(megatron->walk);
}

/* ---- Parameters ---- */

static guint32 gather_bucket(Megatron *megatron, guint b, guint32 need, ProgramHint hint) {
  guint64 bytes = megatron->buckets->list[b].elements * megatron->options->parameter_bytes;
  program_builder_context(megatron->builder, PROGRAM_GATHER, -1, -1);
  guint32 row = plan_walk_collective(megatron->walk, megatron->comm, "all-gather parameters", megatron->shard_slot,
                                     (CollCall){COLL_ALL_GATHER, bytes}, hint);
  program_builder_need(megatron->builder, need);
  return megatron->work[b].gather = row;
}

/* A module's hook waits for its bucket and dispatches the one after it in forward, which lies before it in the buffer. */
static void before_op(gpointer policy, guint32 unit, const ModelOp *op, PlanPass pass) {
  Megatron *megatron = policy;
  PlanWalk *walk = megatron->walk;
  if (pass != PLAN_FORWARD || !gathers_in_forward(megatron))
    return;
  for (guint i = 0; i < walk->units[unit].unit->n_parameters; i++) {
    guint p = plan_parameters_find(megatron->parameters, unit, i);
    if ((op->uses >> i & 1) == 0 || p == PLAN_NO_PARAMETER)
      continue;
    guint b = megatron->buckets->of[p];
    guint32 row = megatron->work[b].gather;
    if (row == PROGRAM_NONE)
      row = gather_bucket(megatron, b, PROGRAM_NONE, PROGRAM_HINT_NONE);
    plan_walk_need(walk, row);
    if (b > 0 && megatron->work[b - 1].gather == PROGRAM_NONE)
      gather_bucket(megatron, b - 1, PROGRAM_NONE, PROGRAM_HINT_NONE);
  }
}

static void gather_all(Megatron *megatron) {
  if (!shards(megatron) || (megatron->options->overlap_param_gather && megatron->walk->section == PROGRAM_STEADY))
    return;
  guint32 stepped = megatron->walk->last;
  for (guint b = megatron->buckets->n; b-- > 0;)
    plan_walk_need(megatron->walk, gather_bucket(megatron, b, stepped, PROGRAM_HINT_BOUNDARY));
}

/* ---- The step ---- */

static void begin_micro_batch(gpointer policy) {
  Megatron *megatron = policy;
  plan_buckets_begin(megatron->buckets);
  for (guint b = 0; b < megatron->buckets->n; b++)
    megatron->work[b].gather = PROGRAM_NONE;
  plan_step_micro_batch(megatron->walk, PROGRAM_FORWARD);
}

/* The host reads the norm to know what to scale by. The all-reduce is a synchronous call on the optimizer's own group:
 * PyTorch from 2.8 on runs such a call on the caller's stream (pull request 150398), before that on one that the caller's
 * waits for at once, which takes as long. Without the distributed optimizer every rank has all gradients, and nothing is summed. */
static void read_norm(Megatron *megatron) {
  guint32 row = plan_update_norm(megatron->walk, megatron->update);
  if (row == PROGRAM_NONE)
    return;
  if (shards(megatron)) {
    guint32 before = row;
    row = plan_walk_collective(megatron->walk, megatron->walk->stream, "all-reduce norm", megatron->shard_slot,
                               (CollCall){COLL_ALL_REDUCE, sizeof(float)}, PROGRAM_HINT_BOUNDARY);
    program_builder_need(megatron->builder, before);
  }
  plan_walk_host(megatron->walk, "read norm");
  program_builder_need(megatron->builder, row);
}

static void optimizer_step(gpointer policy) {
  Megatron *megatron = policy;
  PlanWalk *walk = megatron->walk;
  gboolean casts = megatron->options->gradient_bytes < FP32;
  if (casts) {
    plan_walk_pass(walk, walk->stream, "gradients to fp32", megatron->cast);
    plan_walk_take(walk, megatron->fp32_gradients);
  }
  read_norm(megatron);
  plan_update_run(walk, megatron->update, NULL);
  if (megatron->walk->section == PROGRAM_FIRST)
    plan_walk_take(walk, megatron->states);
  if (casts)
    plan_walk_give(walk, megatron->fp32_gradients, PROGRAM_NONE);
  gather_all(megatron);
}

static void end_step(gpointer policy) {
  Megatron *megatron = policy;
  for (guint b = 0; b < megatron->buckets->n; b++)
    program_builder_need(megatron->builder, megatron->work[b].gather);
}

static void load(gpointer policy) {
  Megatron *megatron = policy;
  plan_walk_take(megatron->walk, megatron->weights);
  plan_walk_take(megatron->walk, megatron->buffer);
}

static void zero_gradients(gpointer policy) {
  Megatron *megatron = policy;
  plan_walk_pass(megatron->walk, megatron->walk->stream, "zero gradients", megatron->zero);
}

/* ---- Setting up ---- */

static void add_communicators(Megatron *megatron) {
  ProgramBuilder *builder = megatron->builder;
  guint32 ranks = megatron->recipe->ranks;
  megatron->shards = megatron->recipe->zero_stage == 1 ? megatron->recipe->shard_ranks : 1;
  megatron->replicas = ranks / megatron->shards;
  if (megatron->shards > 1)
    megatron->shard_slot = plan_groups_beside(builder, "optimizer instance", megatron->recipe, megatron->shards);
  if (megatron->replicas > 1)
    megatron->replica_slot = plan_groups_alike(builder, "data-parallel", megatron->recipe, megatron->shards);
  megatron->comm_across = megatron->comm;
  if (megatron->shards == 1 || megatron->replicas == 1)
    return;
  megatron->comm_across = program_builder_stream(builder, "comm across instances");
  program_builder_pool(builder, megatron->comm_across, megatron->walk->stream);
}

static void add_gradients(Megatron *megatron) {
  const PlanMegatron *options = megatron->options;
  guint n = megatron->parameters->n;
  megatron->new_gradients =
      plan_parameters_tensors(megatron->parameters, megatron->walk, "grad", MEM_TEMPORARY, options->parameter_bytes);
  megatron->add_ops = g_new(guint32, n);
  for (guint p = 0; p < n; p++)
    megatron->add_ops[p] =
        program_builder_memory_op(megatron->builder, megatron->parameters->list[p].elements *
                                                         (options->parameter_bytes + 2 * options->gradient_bytes));
}

static void add_states(Megatron *megatron) {
  const PlanMegatron *options = megatron->options;
  ProgramBuilder *builder = megatron->builder;
  guint64 shard = megatron->elements / megatron->shards, copies = megatron->replicas;
  guint64 weights = (megatron->elements + plan_walk_all_elements(megatron->walk) - megatron->parameters->elements) *
                    options->parameter_bytes;
  guint64 buffer = megatron->elements * options->gradient_bytes;
  gboolean master = options->parameter_bytes < FP32;
  guint64 states = plan_optimizer_bytes(megatron->recipe->optimizer, shard, FP32, master);
  guint32 ranks = megatron->recipe->ranks;
  megatron->weights = program_builder_tensor(builder, "parameter buffer", MEM_PARAMETERS, weights, weights / ranks);
  megatron->buffer = program_builder_tensor(builder, "gradient buffer", MEM_GRADIENTS, buffer, buffer / ranks);
  megatron->states = program_builder_tensor(builder, "optimizer states", MEM_OPTIMIZER, states, states / copies);
  megatron->fp32_gradients = program_builder_tensor(builder, "fp32 gradients", MEM_TEMPORARY, shard * FP32, 0);
  megatron->zero = program_builder_memory_op(builder, buffer);
  megatron->cast = program_builder_memory_op(builder, shard * (options->gradient_bytes + FP32));
  gboolean clips = megatron->recipe->gradient_clipping > 0;
  megatron->update = plan_update_new(
      megatron->walk, &(ModelOptimizer){.style = plan_optimizer_style(megatron->recipe, MODEL_OPTIMIZER_FUSED),
                                        .elements = shard,
                                        .tensors = megatron->parameters->n,
                                        .element_bytes = options->parameter_bytes,
                                        .gradient_bytes = FP32,
                                        .norm = clips,
                                        .clip = clips});
}

static void clear(gpointer policy) {
  Megatron *megatron = policy;
  plan_buckets_free(megatron->buckets);
  g_free(megatron->work);
  g_free(megatron->new_gradients);
  g_free(megatron->add_ops);
  plan_update_free(megatron->update);
}

static void set_up(gpointer policy, PlanWalk *walk, const PlanCase *what) {
  Megatron *megatron = policy;
  *megatron = (Megatron){.recipe = what->recipe,
                         .options = &what->recipe->megatron,
                         .builder = walk->builder,
                         .walk = walk,
                         .parameters = walk->parameters};
  megatron->comm = program_builder_stream(walk->builder, "comm");
  program_builder_pool(walk->builder, megatron->comm, walk->stream);
  add_communicators(megatron);
  add_buckets(megatron, what->shape->tied_embeddings);
  add_gradients(megatron);
  add_states(megatron);
}

const PlanHooks plan_megatron_hooks = {
    .size = sizeof(Megatron),
    .set_up = set_up,
    .clear = clear,
    .load = load,
    .step_begins = zero_gradients,
    .micro_batch = begin_micro_batch,
    .before_op = before_op,
    .gradient = gradient_ready,
    .backward_ended = finish_reductions,
    .optimizer = optimizer_step,
    .step_ended = end_step,
};
