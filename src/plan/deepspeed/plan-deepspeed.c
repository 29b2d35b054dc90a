/* SPDX-License-Identifier: MIT */
/* framework = deepspeed: setting up, micro-batches, and what stages share. */
#include "plan-deepspeed-engine.h"

#include "mem-tenant.h"
#include "plan-groups.h"
#include "plan-step.h"

#define FP32 4

guint32 plan_deepspeed_op(PlanDeepspeedEngine *engine, guint64 elements, guint32 bytes_each) {
  return program_builder_memory_op(engine->builder, elements * bytes_each);
}

static void gradient_ready(gpointer policy, const PlanGradient *gradient) {
  PlanDeepspeedEngine *engine = policy;
  if (engine->fetch != NULL)
    plan_deepspeed_shards_gradient(engine->shards, gradient->parameter, gradient->first_part);
  else
    plan_deepspeed_buckets_gradient(engine, gradient->parameter, gradient->first_part);
}

static void before_op(gpointer policy, guint32 unit, const ModelOp *op, PlanPass pass) {
  PlanDeepspeedEngine *engine = policy;
  if (engine->fetch != NULL)
    plan_deepspeed_fetch_before(engine->fetch, unit, op, pass);
}

static void after_op(gpointer policy, guint32 unit, const ModelOp *op, PlanPass pass) {
  PlanDeepspeedEngine *engine = policy;
  if (engine->fetch != NULL)
    plan_deepspeed_fetch_after(engine->fetch, unit, op, pass);
}

static void begin_micro_batch(gpointer policy) {
  PlanDeepspeedEngine *engine = policy;
  plan_step_micro_batch(engine->walk, PROGRAM_FORWARD);
  plan_deepspeed_pipe_forward_begins(engine);
  if (engine->fetch != NULL)
    plan_deepspeed_fetch_micro_batch(engine->fetch);
}

static void end_forward(gpointer policy) {
  PlanDeepspeedEngine *engine = policy;
  if (engine->fetch != NULL)
    plan_deepspeed_fetch_forward_ended(engine->fetch);
}

static void end_backward(gpointer policy) {
  PlanDeepspeedEngine *engine = policy;
  if (engine->fetch != NULL)
    plan_deepspeed_shards_backward_ended(engine->shards);
  else
    plan_deepspeed_buckets_backward_ended(engine);
}

static void load(gpointer policy) {
  PlanDeepspeedEngine *engine = policy;
  const guint32 held[] = {engine->weights.own,   engine->optimizer.master, engine->grads.full,
                          engine->weights.small, engine->weights.second,   engine->pipe.buffers};
  for (guint i = 0; i < G_N_ELEMENTS(held); i++)
    if (held[i] != PROGRAM_NONE)
      program_builder_take(engine->builder, held[i]);
  gboolean lasts = engine->fetch != NULL || plan_deepspeed_offload_on(engine);
  if (lasts && engine->grads.own != PROGRAM_NONE)
    program_builder_take(engine->builder, engine->grads.own);
  if (engine->fetch != NULL && engine->options->contiguous_gradients)
    program_builder_take(engine->builder, engine->bucket.buffers[0]);
}

static void begin_section(gpointer policy) {
  PlanDeepspeedEngine *engine = policy;
  plan_stream_section(&engine->streams.compute);
  plan_stream_section(&engine->streams.reduce);
  if (engine->fetch == NULL)
    return;
  plan_deepspeed_fetch_section(engine->fetch);
  plan_deepspeed_shards_section(engine->shards);
}

static void end_step(gpointer policy) {
  PlanDeepspeedEngine *engine = policy;
  for (guint i = 0; i < engine->walk->needs->len; i++)
    program_builder_need(engine->builder, g_array_index(engine->walk->needs, guint32, i));
}

static guint32 state(PlanDeepspeedEngine *engine, const char *name, MemTenant tenant, guint64 bytes, gboolean sharded) {
  return plan_states_tensor(engine->walk, name, (guint8)tenant, bytes, sharded ? 1 : engine->recipe->ranks);
}

/* Stages 1 and 2 pad the flat buffer to twice the ranks' number of elements, NCCL's alignment of 16-bit slices; stage 3
 * pads each parameter to the ranks' number. */
static guint64 shard_elements(const PlanDeepspeedEngine *engine, const PlanParameters *parameters) {
  guint64 shard = 0, owners = engine->owners;
  for (guint p = 0; p < parameters->n; p++)
    shard += (parameters->list[p].elements + owners - 1) / owners;
  return shard;
}

static void measure(PlanDeepspeedEngine *engine, PlanDeepspeedData *data, guint64 elements) {
  guint64 owners = data->owners = engine->recipe->zero_stage > 0 ? MAX(data->ranks, 1) : 1;
  data->elements = elements;
  data->shard = owners == 1 ? elements : (elements + 2 * owners - 1) / (2 * owners) * 2;
}

static void add_kinds(PlanDeepspeedEngine *engine) {
  Layout layout = plan_groups_layout(engine->recipe);
  PlanDeepspeedData *all = &engine->data[0], *experts = &engine->data[1];
  engine->kinds = engine->recipe->experts_apart ? 2 : 1;
  all->slot = engine->world;
  all->ranks = engine->recipe->ranks;
  measure(engine, all, engine->parameters->elements - engine->parameters->apart);
  engine->owners = all->owners;
  if (engine->kinds > 1) {
    experts->ranks = layout_group_size(&layout, LAYOUT_EXPERT_DATA);
    if (experts->ranks > 1)
      experts->slot = plan_groups_of(engine->builder, "expert data-parallel", engine->recipe, LAYOUT_EXPERT_DATA);
    measure(engine, experts, engine->parameters->apart);
  }
  if (engine->recipe->zero_stage == 3) {
    all->owners = engine->owners = engine->recipe->shard_ranks;
    all->shard = shard_elements(engine, engine->parameters);
  }
  engine->shard = all->shard + experts->shard;
}

/* Elements of what each rank holds whole: all of them with padding, and those that exist once. */
static void count_whole(const PlanDeepspeedEngine *engine, guint64 *ret_all, guint64 *ret_unique) {
  guint64 frozen = plan_walk_all_elements(engine->walk) - engine->parameters->elements;
  *ret_all = frozen;
  *ret_unique = frozen / engine->recipe->ranks;
  for (guint kind = 0; kind < engine->kinds; kind++) {
    const PlanDeepspeedData *data = &engine->data[kind];
    *ret_all += data->shard * data->owners;
    *ret_unique += data->shard * data->owners / data->ranks;
  }
}

static void add_states(PlanDeepspeedEngine *engine) {
  gboolean sharded = engine->recipe->zero_stage > 0, shards_weights = engine->recipe->zero_stage == 3;
  guint32 element_bytes = engine->walk->element_bytes;
  guint64 weights, unique;
  add_kinds(engine);
  count_whole(engine, &weights, &unique);
  if (shards_weights)
    weights = unique = shard_elements(engine, engine->every);
  if (engine->recipe->offload_parameters)
    weights = unique = 0;
  gboolean master = sharded || element_bytes < FP32;
  guint n_momenta = plan_optimizer_momenta(engine->recipe->optimizer);
  guint64 paged = plan_paged_bytes(engine->recipe, engine->shard);
  guint64 momentum = (plan_optimizer_bytes(engine->recipe->optimizer, engine->shard, FP32, FALSE) - paged) / n_momenta;
  engine->weights.own = program_builder_tensor(engine->builder, "parameters", MEM_PARAMETERS, weights * element_bytes,
                                               unique * element_bytes);
  engine->optimizer.master =
      master ? state(engine, "master parameters", MEM_OPTIMIZER, engine->shard * FP32, sharded) : PROGRAM_NONE;
  engine->optimizer.momenta[0] = state(engine, "momentum", MEM_OPTIMIZER, momentum, sharded);
  engine->optimizer.momenta[1] =
      n_momenta > 1 ? state(engine, "variance", MEM_OPTIMIZER, momentum, sharded) : PROGRAM_NONE;
  plan_paged_init(&engine->optimizer.paged, engine->walk, paged, sharded ? 1 : engine->recipe->ranks);
  engine->grads.full = engine->hybrid
                           ? state(engine, "fp32 gradients", MEM_GRADIENTS, engine->parameters->elements * FP32, FALSE)
                           : PROGRAM_NONE;
  engine->grads.own = state(engine, "own gradients", MEM_GRADIENTS, engine->shard * engine->bytes.kept, TRUE);
  engine->grads.own_new = state(engine, "new own gradients", MEM_GRADIENTS, engine->shard * engine->bytes.made, FALSE);
  engine->weights.small = engine->weights.second = PROGRAM_NONE;
  if (plan_deepspeed_offload_on(engine))
    plan_deepspeed_offload_init(engine);
}

static void clear(gpointer policy) {
  PlanDeepspeedEngine *engine = policy;
  plan_stream_clear(&engine->streams.compute);
  plan_stream_clear(&engine->streams.reduce);
  g_free(engine->grads.whole);
  g_free(engine->grads.fresh);
  g_free(engine->grads.add_ops);
  g_free(engine->grads.copy_ops);
  g_free(engine->pipe.inputs);
  plan_open_bucket_clear(&engine->bucket.open);
  g_clear_pointer(&engine->optimizer.sizes, g_ptr_array_unref);
  g_clear_pointer(&engine->optimizer.groups, g_array_unref);
  plan_update_free(engine->optimizer.norm);
  plan_deepspeed_fetch_free(engine->fetch);
  plan_deepspeed_shards_free(engine->shards);
  plan_parameters_free(engine->every);
}

static gboolean reduces_beside(const PlanDeepspeedEngine *engine) {
  return engine->options->overlap_comm && engine->recipe->zero_stage > 0 && !engine->hybrid;
}

static void add_streams(PlanDeepspeedEngine *engine) {
  guint32 compute = engine->walk->stream, reduce = compute;
  if (reduces_beside(engine))
    reduce = program_builder_stream(engine->builder, "reduce");
  engine->streams.comm = program_builder_stream(engine->builder, "comm");
  program_builder_pool(engine->builder, engine->streams.comm, compute);
  engine->world = plan_groups_everyone(engine->builder, engine->recipe);
  plan_stream_init(&engine->streams.compute, engine->walk, compute);
  plan_stream_init(&engine->streams.reduce, engine->walk, reduce);
}

static PlanDeepspeedGroups shard_groups(PlanDeepspeedEngine *engine) {
  const PlanRecipe *recipe = engine->recipe;
  PlanDeepspeedGroups groups = {engine->world, PROGRAM_NONE, PROGRAM_NONE, PROGRAM_NONE, 1};
  if (engine->owners < recipe->ranks) {
    groups.owners = plan_groups_beside(engine->builder, "shard-group", engine->recipe, engine->owners);
    groups.copies = plan_groups_alike(engine->builder, "shard-copies", engine->recipe, engine->owners);
  }
  if (engine->options->quantized_gradients && recipe->ranks > recipe->ranks_per_node) {
    groups.inside_ranks = recipe->ranks_per_node;
    groups.inside = plan_groups_beside(engine->builder, "node", engine->recipe, recipe->ranks_per_node);
    groups.across = plan_groups_alike(engine->builder, "across-nodes", engine->recipe, recipe->ranks_per_node);
  }
  return groups;
}

static void add_stage_3(PlanDeepspeedEngine *engine) {
  guint32 element_bytes = engine->walk->element_bytes;
  guint32 gather = program_builder_stream(engine->builder, "gather"), second = PROGRAM_NONE;
  program_builder_pool(engine->builder, engine->streams.comm, gather);
  PlanDeepspeedGroups groups = shard_groups(engine);
  guint64 part = engine->options->hpz_partition_size;
  if (part > 1) {
    second = plan_groups_beside(engine->builder, "second-copy", engine->recipe, (guint32)part);
    guint64 bytes = (engine->every->elements + part - 1) / part * element_bytes;
    engine->weights.second = program_builder_tensor(engine->builder, "second copy", MEM_PARAMETERS, bytes, 0);
  }
  engine->fetch = plan_deepspeed_fetch_new(engine, gather, groups.owners, second);
  engine->shards = plan_deepspeed_shards_new(engine, &groups);
  engine->weights.small = program_builder_tensor(engine->builder, "persistent parameters", MEM_PARAMETERS,
                                                 plan_deepspeed_fetch_persisting(engine->fetch) * element_bytes, 0);
}

static void set_up(gpointer policy, PlanWalk *walk, const PlanCase *what) {
  PlanDeepspeedEngine *engine = policy;
  const PlanRecipe *recipe = what->recipe;
  *engine = (PlanDeepspeedEngine){.recipe = recipe,
                                  .options = &recipe->deepspeed,
                                  .builder = walk->builder,
                                  .walk = walk,
                                  .parameters = walk->parameters};
  engine->bytes.made = model_precision_bytes(what->model->precision);
  engine->bytes.sent = plan_dtype_bytes(recipe->communication_dtype, engine->bytes.made);
  engine->bytes.kept = plan_dtype_bytes(recipe->accumulation_dtype, engine->bytes.made);
  engine->hybrid = recipe->zero_stage == 1 &&
                   (what->model->precision == MODEL_BF16 || what->model->precision == MODEL_FP8) &&
                   engine->bytes.kept == FP32 && !recipe->offload_optimizer;
  add_streams(engine);
  plan_deepspeed_pipe_init(engine, what);
  engine->every = plan_parameters_all(walk);
  add_states(engine);
  plan_deepspeed_buckets_init(engine);
  plan_deepspeed_step_init(engine);
  if (recipe->zero_stage == 3)
    add_stage_3(engine);
}

const PlanHooks plan_deepspeed_hooks = {
    .size = sizeof(PlanDeepspeedEngine),
    .set_up = set_up,
    .clear = clear,
    .section = begin_section,
    .load = load,
    .micro_batch = begin_micro_batch,
    .before_op = before_op,
    .gradient = gradient_ready,
    .after_op = after_op,
    .forward_ended = end_forward,
    .backward_ended = end_backward,
    .optimizer = plan_deepspeed_step,
    .step_ended = end_step,
    .received = plan_deepspeed_pipe_received,
    .sending = plan_deepspeed_pipe_sending,
    .sent = plan_deepspeed_pipe_sent,
};
