/* SPDX-License-Identifier: MIT */
/* framework = megatron: Megatron-LM's DistributedDataParallel and distributed optimizer.
 *
 *   micro-batches but the last   C: forward, backward; matmuls of weight gradients add into one buffer (fp32)
 *   the last                     C: B … a bucket has all its gradients: C: norm; the host waits for it
 *                                (check_for_nan_in_grad)   C: scale   n: reduce-scatter (stage 0: all-reduce)
 *                                in the first step, and without overlap_grad_reduce, after backward
 *   step                         C ← all of n; norm, all-reduced and read by the host; Adam on my shard
 *                                n: all-gather of the parameter buffer, which nothing hides; or, overlapped, in the
 *                                next forward: an operation waits for its bucket, and the one after it is dispatched
 *
 *   buffer  | last layer's parameters … | … | first layer's, embedding |     buckets in order of backward
 *
 * Over a pipeline each rank does this with its own chunks, see plan-megatron-reduce.c and plan-megatron-gather.c.
 * Experts that other ranks hold have buffers, data ranks and an optimizer of their own.
 * Source: megatron/core/distributed/param_and_grad_buffer.py and distributed_data_parallel.py,
 * core/optimizer/distrib_optimizer.py. */
#include <string.h>

#include "mem-tenant.h"
#include "model-share.h"
#include "plan-groups.h"
#include "plan-megatron-state.h"
#include "plan-policy.h"

#define FP32 4

static void begin_micro_batch(gpointer policy) {
  Megatron *megatron = policy;
  plan_step_micro_batch(megatron->walk, PROGRAM_FORWARD);
}

static void load(gpointer policy) {
  Megatron *megatron = policy;
  plan_walk_take(megatron->walk, megatron->weights);
  megatron_fp8_load(megatron);
  plan_walk_take(megatron->walk, megatron->buffer);
}

static void begin_step(gpointer policy) {
  Megatron *megatron = policy;
  megatron->forwards = megatron->backwards = 0;
  for (guint32 c = 0; c < megatron_chunks(megatron); c++)
    megatron->reduced[c] = FALSE;
  plan_buckets_begin(megatron->layout->buckets);
  plan_walk_pass(megatron->walk, megatron->walk->stream, "zero gradients", megatron->zero);
  megatron_begin_gathers(megatron);
}

/* What the next forward gathered was waited for there. */
static void end_step(gpointer policy) {
  Megatron *megatron = policy;
  for (guint b = 0; b < megatron->layout->buckets->n && megatron_gathers_after(megatron); b++)
    program_builder_need(megatron->builder, megatron->work[b].gather);
}

/* ---- Setting up ---- */

#define MODEL_RANKS  (LAYOUT_BIT(LAYOUT_TENSOR) | LAYOUT_BIT(LAYOUT_PIPELINE))
#define EXPERT_RANKS (LAYOUT_BIT(LAYOUT_EXPERT_TENSOR) | LAYOUT_BIT(LAYOUT_EXPERT) | LAYOUT_BIT(LAYOUT_PIPELINE))

static guint32 all_ranks(Megatron *megatron) {
  return plan_groups_of(megatron->builder, "all ranks", megatron->recipe,
                        MODEL_RANKS | LAYOUT_DATA | LAYOUT_BIT(LAYOUT_CONTEXT));
}

/* With the distributed optimizer norms are summed over all ranks, else over those of one copy of the model. */
static void add_statistics(Megatron *megatron) {
  Layout layout = plan_groups_layout(megatron->recipe);
  MegatronData *dense = &megatron->data[MEGATRON_DENSE], *experts = &megatron->data[MEGATRON_EXPERTS];
  gboolean model = layout_group_size(&layout, MODEL_RANKS) > 1, sharded = megatron->recipe->zero_stage == 1;
  megatron->model_slot = model ? plan_groups_model(megatron->builder, megatron->recipe) : PROGRAM_NONE;
  if (!model)
    dense->stats_slot = megatron_shards(megatron, MEGATRON_DENSE) ? dense->shard_slot : PROGRAM_NONE;
  else
    dense->stats_slot = sharded ? all_ranks(megatron) : megatron->model_slot;
  if (megatron->kinds > 1)
    experts->stats_slot =
        sharded ? all_ranks(megatron)
                : plan_groups_of(megatron->builder, "expert model-parallel", megatron->recipe, EXPERT_RANKS);
}

static guint32 add_stream(Megatron *megatron, const char *name) {
  guint32 stream = program_builder_stream(megatron->builder, name);
  program_builder_pool(megatron->builder, stream, megatron->walk->stream);
  return stream;
}

static void add_dense_groups(Megatron *megatron) {
  MegatronData *data = &megatron->data[MEGATRON_DENSE];
  const PlanRecipe *recipe = megatron->recipe;
  data->shards = recipe->zero_stage == 1 ? recipe->shard_ranks : 1;
  data->replicas = recipe->ranks / data->shards;
  if (data->shards > 1)
    data->shard_slot = plan_groups_beside(megatron->builder, "optimizer instance", recipe, data->shards);
  if (data->replicas > 1)
    data->replica_slot = plan_groups_alike(megatron->builder, "data-parallel", recipe, data->shards);
  data->comm = data->comm_across = add_stream(megatron, "comm");
  if (data->shards > 1 && data->replicas > 1)
    data->comm_across = add_stream(megatron, "comm across instances");
}

/* Those that hold the same experts, of one instance and of all. */
static void add_expert_groups(Megatron *megatron) {
  MegatronData *data = &megatron->data[MEGATRON_EXPERTS];
  const PlanRecipe *recipe = megatron->recipe;
  Layout layout = plan_groups_layout(recipe);
  data->shards = recipe->zero_stage == 1 ? layout.degree[LAYOUT_EXPERT_SHARD] : 1;
  data->replicas = layout_group_size(&layout, LAYOUT_EXPERT_DATA) / data->shards;
  LayoutSet alike = recipe->zero_stage == 1 ? LAYOUT_BIT(LAYOUT_EXPERT_REPLICA) : LAYOUT_EXPERT_DATA;
  if (data->shards > 1)
    data->shard_slot =
        plan_groups_of(megatron->builder, "expert optimizer instance", recipe, LAYOUT_BIT(LAYOUT_EXPERT_SHARD));
  if (data->replicas > 1)
    data->replica_slot = plan_groups_of(megatron->builder, "expert data-parallel", recipe, alike);
  data->comm = data->comm_across = add_stream(megatron, "comm of experts");
  if (data->shards > 1 && data->replicas > 1)
    data->comm_across = add_stream(megatron, "comm of experts across instances");
}

static void add_communicators(Megatron *megatron) {
  megatron->kinds = megatron->recipe->experts_apart ? 2 : 1;
  megatron->data[MEGATRON_EXPERTS].shards = megatron->data[MEGATRON_EXPERTS].replicas = 1;
  add_dense_groups(megatron);
  if (megatron->kinds > 1)
    add_expert_groups(megatron);
  add_statistics(megatron);
}

/* The matrix of embedding and head, or of embedding and the layer that foretells a further token, of so many elements
 * (0: not tied), where the two stand on different stages: each has a copy. */
static guint find_tied(const Megatron *megatron, guint64 elements) {
  const PlanWalk *walk = megatron->walk;
  if (elements == 0 || megatron_stages(megatron) == 1)
    return PLAN_NO_PARAMETER;
  for (guint p = 0; p < megatron->parameters->n; p++) {
    const PlanParameter *parameter = &megatron->parameters->list[p];
    const ModelUnit *unit = walk->units[parameter->unit].unit;
    gboolean table = strcmp(parameter->name, "embed_tokens.weight") == 0;
    if (table || (unit->kind == MODEL_UNIT_HEAD && parameter->elements == elements))
      return p;
  }
  return PLAN_NO_PARAMETER;
}

static guint64 tied_elements(const PlanCase *what) {
  const ModelShape *shape = what->shape;
  guint64 rows = model_share_vocabulary(&what->model->share, shape->vocab_size);
  return shape->tied_embeddings || shape->mtp_layers > 0 ? rows * shape->hidden_size : 0;
}

static void add_buckets(Megatron *megatron, guint64 tied) {
  guint32 bytes = megatron->options->gradient_bytes;
  guint shared = find_tied(megatron, tied);
  const guint32 shards[] = {megatron->data[MEGATRON_DENSE].shards, megatron->data[MEGATRON_EXPERTS].shards};
  megatron->layout = plan_megatron_lay_out(megatron->recipe, shards, megatron->walk, shared);
  megatron->tied = shared != PLAN_NO_PARAMETER ? megatron->parameters->list[shared].elements : 0;
  megatron->reduced = g_new0(gboolean, megatron_chunks(megatron));
  const PlanBuckets *buckets = megatron->layout->buckets;
  megatron->work = g_new0(MegatronWork, buckets->n);
  for (guint b = 0; b < buckets->n; b++) {
    guint64 elements = buckets->list[b].elements;
    megatron_data(megatron, b)->elements += elements;
    megatron_data(megatron, b)->tensors += buckets->list[b].n;
    megatron->work[b].norm = program_builder_memory_op(megatron->builder, elements * bytes);
    megatron->work[b].scale = program_builder_memory_op(megatron->builder, 2 * elements * bytes);
  }
}

static void add_gradients(Megatron *megatron) {
  const PlanMegatron *options = megatron->options;
  guint n = megatron->parameters->n;
  megatron->new_gradients =
      plan_parameters_tensors(megatron->parameters, megatron->walk, "grad", MEM_TEMPORARY, options->parameter_bytes);
  megatron->add_ops = g_new(guint32, n);
  for (guint p = 0; p < n; p++) {
    const PlanParameter *parameter = &megatron->parameters->list[p];
    const ModelParameter *shape = &megatron->walk->units[parameter->unit].unit->parameters[parameter->index];
    megatron->add_ops[p] = program_builder_memory_op(
        megatron->builder, parameter->elements * (options->parameter_bytes + 2 * options->gradient_bytes));
    megatron->summed += shape->place == MODEL_PLACE_SUMMED && !parameter->apart ? parameter->elements : 0;
  }
  if (megatron->summed > 0)
    megatron->sum_copy = program_builder_memory_op(megatron->builder, 2 * megatron->summed * options->gradient_bytes);
}

static guint64 rows_of(const Megatron *megatron, guint parameter) {
  return plan_parameters_model(megatron->parameters, megatron->walk, parameter)->rows;
}

static guint32 add_dummy(Megatron *megatron, const ModelParameter *of) {
  g_autofree char *name = g_strconcat(of->name, ".stand-in", NULL);
  return program_builder_tensor(megatron->builder, name, MEM_TEMPORARY,
                                of->elements * megatron->options->parameter_bytes, 0);
}

/* One for each shape of the layers' weights. */
static void add_dummies(Megatron *megatron) {
  const PlanParameters *parameters = megatron->parameters;
  megatron->dummies = g_new(guint32, parameters->n);
  for (guint p = 0; p < parameters->n; p++) {
    const ModelUnit *unit = megatron->walk->units[parameters->list[p].unit].unit;
    const ModelParameter *shape = &unit->parameters[parameters->list[p].index];
    guint same = 0;
    megatron->dummies[p] = PROGRAM_NONE;
    if (!model_unit_is_layer(unit->kind) || shape->elements == shape->rows ||
        megatron->options->layers_by != PLAN_MEGATRON_ENGINE)
      continue;
    while (same < p && (megatron->dummies[same] == PROGRAM_NONE || parameters->list[same].elements != shape->elements ||
                        rows_of(megatron, same) != shape->rows))
      same++;
    megatron->dummies[p] = same < p ? megatron->dummies[same] : add_dummy(megatron, shape);
  }
}

static void add_update(Megatron *megatron, MegatronData *data) {
  if (data->tensors > 0)
    data->update = plan_update_usual(megatron->walk, MODEL_OPTIMIZER_FUSED,
                                     (ModelOptimizer){.elements = data->elements / data->shards,
                                                      .tensors = data->tensors,
                                                      .element_bytes = megatron->options->parameter_bytes,
                                                      .gradient_bytes = FP32});
}

/* What a kind adds to a rank's memory: elements of all, of the optimizer's shard, and what exists once. */
typedef struct {
  guint64 all, shard, states;
  guint64 unique, unique_states; /* of elements, of bytes of states */
} Sums;

static Sums sum_kinds(const Megatron *megatron) {
  gboolean master = megatron->options->parameter_bytes < FP32;
  Sums sums = {0};
  for (int kind = 0; kind < megatron->kinds; kind++) {
    const MegatronData *data = &megatron->data[kind];
    guint64 shards = MAX(data->shards, 1), replicas = MAX(data->replicas, 1), shard = data->elements / shards;
    guint64 states = plan_optimizer_bytes(megatron->recipe->optimizer, shard, FP32, master);
    sums.all += data->elements;
    sums.shard += shard;
    sums.states += states;
    sums.unique += data->elements / (shards * replicas);
    sums.unique_states += states / replicas;
  }
  return sums;
}

static void add_states(Megatron *megatron, int precision) {
  const PlanMegatron *options = megatron->options;
  ProgramBuilder *builder = megatron->builder;
  Sums sums = sum_kinds(megatron);
  guint64 frozen = plan_walk_all_elements(megatron->walk) - megatron->parameters->elements;
  guint64 once = sums.unique + frozen / megatron->recipe->ranks;
  guint64 buffer = sums.all * options->gradient_bytes;
  megatron->weights = program_builder_tensor(builder, "parameter buffer", MEM_PARAMETERS,
                                             (sums.all + frozen) * options->parameter_bytes - megatron->less_weights,
                                             once * options->parameter_bytes -
                                                 megatron->less_weights / MAX(megatron->recipe->ranks, 1));
  megatron->buffer =
      program_builder_tensor(builder, "gradient buffer", MEM_GRADIENTS, buffer, sums.unique * options->gradient_bytes);
  megatron->states =
      program_builder_tensor(builder, "optimizer states", MEM_OPTIMIZER, sums.states, sums.unique_states);
  megatron->fp32_gradients = program_builder_tensor(builder, "fp32 gradients", MEM_TEMPORARY, sums.shard * FP32, 0);
  megatron->zero = program_builder_memory_op(builder, buffer);
  megatron->cast = program_builder_memory_op(builder, sums.shard * (options->gradient_bytes + FP32));
  megatron->unscale =
      precision == MODEL_FP16 ? program_builder_memory_op(builder, 2 * sums.shard * FP32) : PROGRAM_NONE;
  for (int kind = 0; kind < megatron->kinds; kind++)
    add_update(megatron, &megatron->data[kind]);
}

static void clear(gpointer policy) {
  Megatron *megatron = policy;
  plan_megatron_layout_free(megatron->layout);
  g_free(megatron->work);
  g_free(megatron->new_gradients);
  g_free(megatron->add_ops);
  g_free(megatron->reduced);
  g_free(megatron->dummies);
  megatron_fp8_free(megatron->fp8);
  for (int kind = 0; kind < MEGATRON_KINDS; kind++)
    plan_update_free(megatron->data[kind].update);
}

static void set_up(gpointer policy, PlanWalk *walk, const PlanCase *what) {
  Megatron *megatron = policy;
  *megatron = (Megatron){.recipe = what->recipe,
                         .options = &what->recipe->megatron,
                         .builder = walk->builder,
                         .walk = walk,
                         .parameters = walk->parameters};
  add_communicators(megatron);
  add_buckets(megatron, tied_elements(what));
  add_gradients(megatron);
  if (megatron->options->stands_in)
    add_dummies(megatron);
  megatron_fp8_new(megatron, what->model);
  add_states(megatron, what->model->precision);
}

const PlanHooks plan_megatron_hooks = {
    .size = sizeof(Megatron),
    .set_up = set_up,
    .clear = clear,
    .load = load,
    .step_begins = begin_step,
    .micro_batch = begin_micro_batch,
    .before_unit = megatron_before_unit,
    .before_op = megatron_before_op,
    .gradient = megatron_gradient,
    .backward_ended = megatron_backward_ended,
    .optimizer = megatron_optimizer,
    .step_ended = end_step,
};
