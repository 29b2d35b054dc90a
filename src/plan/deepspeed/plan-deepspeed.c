/* framework = deepspeed: setting up, micro-batches, and what stages share. */
#include "plan-deepspeed-engine.h"

#include "mem-tenant.h"
#include "model-host.h"

#define FP32 4

guint32 plan_deepspeed_op(PlanDeepspeedEngine *engine, guint64 elements, guint32 bytes_each) {
  return program_builder_memory_op(engine->builder, elements * bytes_each);
}

static void gradient_ready(PlanWalk *walk, guint32 unit, guint index, guint32 row, gpointer user) {
  (void)row;
  PlanDeepspeedEngine *engine = user;
  guint parameter = plan_parameters_find(engine->parameters, unit, index);
  if (parameter == PLAN_NO_PARAMETER)
    return;
  gboolean first_part = walk->units[unit].unit->parameters[index].shared;
  if (engine->fetch != NULL)
    plan_deepspeed_shards_gradient(engine->shards, parameter, first_part);
  else
    plan_deepspeed_buckets_gradient(engine, parameter, first_part);
}

static void before_op(PlanWalk *walk, guint32 unit, const ModelOp *op, PlanPass pass, gpointer user) {
  (void)walk;
  PlanDeepspeedEngine *engine = user;
  plan_deepspeed_fetch_before(engine->fetch, unit, op, pass);
}

static void after_op(PlanWalk *walk, guint32 unit, const ModelOp *op, PlanPass pass, gpointer user) {
  (void)walk;
  PlanDeepspeedEngine *engine = user;
  plan_deepspeed_fetch_after(engine->fetch, unit, op, pass);
}

static void micro_batch(PlanDeepspeedEngine *engine) {
  PlanWalk *walk = engine->walk;
  program_builder_context(engine->builder, PROGRAM_FORWARD, -1, (gint32)walk->micro);
  plan_walk_host(walk, "micro-batch");
  program_builder_cost(engine->builder, model_host_cost(walk->host, MODEL_HOST_MICRO_BATCH));
  if (engine->fetch != NULL)
    plan_deepspeed_fetch_micro_batch(engine->fetch);
  for (guint32 u = 0; u < walk->n_units; u++)
    plan_walk_forward(walk, u);
  if (engine->fetch != NULL)
    plan_deepspeed_fetch_forward_ended(engine->fetch);
  for (guint32 u = walk->n_units; u-- > 0;)
    plan_walk_backward(walk, u);
  if (engine->fetch != NULL)
    plan_deepspeed_shards_backward_ended(engine->shards);
  else
    plan_deepspeed_buckets_backward_ended(engine);
}

static void load(PlanDeepspeedEngine *engine) {
  program_builder_context(engine->builder, PROGRAM_SETUP, -1, -1);
  program_builder_host(engine->builder, "load the model");
  const guint32 held[] = {engine->weights, engine->master, engine->full, engine->small, engine->second};
  for (guint i = 0; i < G_N_ELEMENTS(held); i++)
    if (held[i] != PROGRAM_NONE)
      program_builder_take(engine->builder, held[i]);
  if (engine->fetch != NULL || plan_deepspeed_offload_on(engine))
    program_builder_take(engine->builder, engine->partition);
  if (engine->fetch == NULL)
    return;
  if (engine->options->contiguous_gradients)
    program_builder_take(engine->builder, engine->buffers[0]);
}

static void step(PlanDeepspeedEngine *engine, ProgramSectionKind section) {
  PlanWalk *walk = engine->walk;
  engine->section = section;
  plan_walk_section(walk, section);
  plan_stream_section(&engine->compute);
  plan_stream_section(&engine->reduce);
  if (engine->fetch != NULL) {
    plan_deepspeed_fetch_section(engine->fetch);
    plan_deepspeed_shards_section(engine->shards);
  }
  if (section == PROGRAM_FIRST)
    load(engine);
  for (walk->micro = 0; walk->micro < engine->recipe->gradient_accumulation; walk->micro++)
    micro_batch(engine);
  plan_deepspeed_step(engine);
}

static guint32 state(PlanDeepspeedEngine *engine, const char *name, MemTenant tenant, guint64 bytes, gboolean sharded) {
  return program_builder_tensor(engine->builder, name, tenant, bytes, sharded ? bytes : bytes / engine->recipe->ranks);
}

/* Stages 1 and 2 pad the flat buffer to twice the ranks' number of elements, NCCL's alignment of 16-bit slices; stage 3
 * pads each parameter to the ranks' number. */
static guint64 shard_elements(const PlanDeepspeedEngine *engine, const PlanParameters *parameters) {
  guint64 shard = 0, owners = engine->owners;
  if (engine->recipe->zero_stage < 3)
    return owners == 1 ? parameters->elements : (parameters->elements + 2 * owners - 1) / (2 * owners) * 2;
  for (guint p = 0; p < parameters->n; p++)
    shard += (parameters->list[p].elements + owners - 1) / owners;
  return shard;
}

static void add_states(PlanDeepspeedEngine *engine) {
  gboolean sharded = engine->recipe->zero_stage > 0, shards_weights = engine->recipe->zero_stage == 3;
  guint32 element_bytes = engine->walk->element_bytes;
  engine->owners = shards_weights ? engine->recipe->shard_ranks : sharded ? engine->recipe->ranks : 1;
  engine->shard = shard_elements(engine, engine->parameters);
  guint64 padding = engine->shard * engine->owners - engine->parameters->elements;
  guint64 weights =
      shards_weights ? shard_elements(engine, engine->every) : plan_walk_all_elements(engine->walk) + padding;
  if (engine->recipe->offload_parameters)
    weights = 0;
  gboolean master = sharded || element_bytes < FP32;
  guint64 momenta = plan_optimizer_bytes(engine->recipe->optimizer, engine->shard, FP32, FALSE);
  engine->weights = state(engine, "parameters", MEM_PARAMETERS, weights * element_bytes, shards_weights);
  engine->master =
      master ? state(engine, "master parameters", MEM_OPTIMIZER, engine->shard * FP32, sharded) : PROGRAM_NONE;
  engine->momenta = state(engine, "momenta", MEM_OPTIMIZER, momenta, sharded);
  engine->full = engine->hybrid
                     ? state(engine, "fp32 gradients", MEM_GRADIENTS, engine->parameters->elements * FP32, FALSE)
                     : PROGRAM_NONE;
  engine->partition = state(engine, "own gradients", MEM_GRADIENTS, engine->shard * engine->kept, TRUE);
  engine->partition_new = state(engine, "new own gradients", MEM_GRADIENTS, engine->shard * engine->bytes, FALSE);
  engine->small = engine->second = PROGRAM_NONE;
  if (plan_deepspeed_offload_on(engine))
    plan_deepspeed_offload_init(engine);
}

static void clear(PlanDeepspeedEngine *engine) {
  plan_stream_clear(&engine->compute);
  plan_stream_clear(&engine->reduce);
  g_free(engine->gradients);
  g_free(engine->fresh);
  g_free(engine->add_ops);
  g_free(engine->copy_ops);
  if (engine->bucket != NULL)
    g_array_unref(engine->bucket);
  plan_update_free(engine->update);
  plan_update_free(engine->last_update);
  plan_update_free(engine->norm);
  plan_deepspeed_fetch_free(engine->fetch);
  plan_deepspeed_shards_free(engine->shards);
  plan_parameters_free(engine->parameters);
  plan_parameters_free(engine->every);
  plan_walk_free(engine->walk);
}

static gboolean reduces_beside(const PlanDeepspeedEngine *engine) {
  return engine->options->overlap_comm && engine->recipe->zero_stage > 0 && !engine->hybrid;
}

static void add_streams(PlanDeepspeedEngine *engine, const PlanCase *what) {
  guint32 compute = program_builder_stream(engine->builder, "compute"), reduce = compute;
  if (reduces_beside(engine))
    reduce = program_builder_stream(engine->builder, "reduce");
  engine->comm = program_builder_stream(engine->builder, "comm");
  program_builder_pool(engine->builder, engine->comm, compute);
  program_builder_role(engine->builder, "rank", engine->recipe->ranks);
  engine->world = plan_everyone(engine->builder, engine->recipe->ranks);
  engine->walk = plan_walk_new(engine->builder, what->shape, what->model, engine->recipe, compute);
  engine->walk->hooks.gradient = gradient_ready;
  engine->walk->user = engine;
  plan_stream_init(&engine->compute, engine->walk, compute);
  plan_stream_init(&engine->reduce, engine->walk, reduce);
}

/* Groups of `size` ranks in a row, or (`stride`) of the ranks alike in each of them. */
static guint32 add_groups(PlanDeepspeedEngine *engine, const char *name, guint32 size, gboolean stride) {
  g_autofree guint32 *of_rank = g_new(guint32, engine->recipe->ranks);
  for (guint32 i = 0; i < engine->recipe->ranks; i++)
    of_rank[i] = stride ? i % size : i / size;
  return program_builder_communicators(engine->builder, name, of_rank, engine->recipe->ranks);
}

static PlanDeepspeedGroups shard_groups(PlanDeepspeedEngine *engine) {
  const PlanRecipe *recipe = engine->recipe;
  PlanDeepspeedGroups groups = {engine->world, PROGRAM_NONE, PROGRAM_NONE, PROGRAM_NONE, 1};
  if (engine->owners < recipe->ranks) {
    groups.owners = add_groups(engine, "shard-group", engine->owners, FALSE);
    groups.copies = add_groups(engine, "shard-copies", engine->owners, TRUE);
  }
  if (engine->options->quantized_gradients && recipe->ranks > recipe->ranks_per_node) {
    groups.inside_ranks = recipe->ranks_per_node;
    groups.inside = add_groups(engine, "node", recipe->ranks_per_node, FALSE);
    groups.across = add_groups(engine, "across-nodes", recipe->ranks_per_node, TRUE);
  }
  return groups;
}

static void add_stage_3(PlanDeepspeedEngine *engine) {
  guint32 element_bytes = engine->walk->element_bytes;
  guint32 gather = program_builder_stream(engine->builder, "gather"), second = PROGRAM_NONE;
  program_builder_pool(engine->builder, engine->comm, gather);
  PlanDeepspeedGroups groups = shard_groups(engine);
  guint64 part = engine->options->hpz_partition_size;
  if (part > 1) {
    second = add_groups(engine, "second-copy", (guint32)part, FALSE);
    guint64 bytes = (engine->every->elements + part - 1) / part * element_bytes;
    engine->second = program_builder_tensor(engine->builder, "second copy", MEM_PARAMETERS, bytes, 0);
  }
  engine->fetch = plan_deepspeed_fetch_new(engine, gather, groups.owners, second);
  engine->shards = plan_deepspeed_shards_new(engine, &groups);
  engine->small = program_builder_tensor(engine->builder, "persistent parameters", MEM_PARAMETERS,
                                         plan_deepspeed_fetch_persisting(engine->fetch) * element_bytes, 0);
  engine->walk->hooks.before = before_op;
  engine->walk->hooks.after = after_op;
}

Program *plan_deepspeed(const PlanCase *what) {
  const PlanRecipe *recipe = what->recipe;
  PlanDeepspeedEngine engine = {.recipe = recipe, .options = &recipe->deepspeed, .builder = program_builder_new()};
  engine.bytes = model_precision_bytes(what->model->precision);
  engine.wire = plan_dtype_bytes(recipe->communication_dtype, engine.bytes);
  engine.kept = plan_dtype_bytes(recipe->accumulation_dtype, engine.bytes);
  engine.hybrid = recipe->zero_stage == 1 &&
                  (what->model->precision == MODEL_BF16 || what->model->precision == MODEL_FP8) &&
                  engine.kept == FP32 && !recipe->offload_optimizer;
  add_streams(&engine, what);
  engine.parameters = plan_parameters_new(engine.walk);
  engine.every = plan_parameters_all(engine.walk);
  add_states(&engine);
  plan_deepspeed_buckets_init(&engine);
  plan_deepspeed_step_init(&engine);
  if (recipe->zero_stage == 3)
    add_stage_3(&engine);
  step(&engine, PROGRAM_FIRST);
  step(&engine, PROGRAM_STEADY);
  plan_walk_facts(engine.walk, what->model);
  clear(&engine);
  return program_builder_end(engine.builder);
}
