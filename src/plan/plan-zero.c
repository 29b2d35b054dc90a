/* framework = deepspeed: setting up, micro-batches, and what stages share. */
#include "plan-zero.h"

#include "mem-tenant.h"
#include "model-host.h"

#define FP32 4

guint32 plan_zero_op(PlanZero *zero, guint64 elements, guint32 bytes_each) {
  return program_builder_memory_op(zero->builder, elements * bytes_each);
}

static void gradient_ready(PlanWalk *walk, guint32 unit, guint index, guint32 row, gpointer user) {
  (void)row;
  PlanZero *zero = user;
  guint parameter = plan_parameters_find(zero->parameters, unit, index);
  if (parameter == PLAN_NO_PARAMETER)
    return;
  gboolean first_part = walk->units[unit].unit->parameters[index].shared;
  if (zero->fetch != NULL)
    plan_shards_gradient(zero->shards, parameter, first_part);
  else
    plan_buckets_gradient(zero, parameter, first_part);
}

static void before_op(PlanWalk *walk, guint32 unit, const ModelOp *op, PlanPass pass, gpointer user) {
  (void)walk;
  PlanZero *zero = user;
  plan_fetch_before(zero->fetch, unit, op, pass);
}

static void after_op(PlanWalk *walk, guint32 unit, const ModelOp *op, PlanPass pass, gpointer user) {
  (void)walk;
  PlanZero *zero = user;
  plan_fetch_after(zero->fetch, unit, op, pass);
}

static void micro_batch(PlanZero *zero) {
  PlanWalk *walk = zero->walk;
  program_builder_context(zero->builder, PROGRAM_FORWARD, -1, (gint32)walk->micro);
  plan_walk_host(walk, "micro-batch");
  program_builder_cost(zero->builder, model_host_cost(walk->host, MODEL_HOST_MICRO_BATCH));
  if (zero->fetch != NULL)
    plan_fetch_micro_batch(zero->fetch);
  for (guint32 u = 0; u < walk->n_units; u++)
    plan_walk_forward(walk, u);
  if (zero->fetch != NULL)
    plan_fetch_forward_ended(zero->fetch);
  for (guint32 u = walk->n_units; u-- > 0;)
    plan_walk_backward(walk, u);
  if (zero->fetch != NULL)
    plan_shards_backward_ended(zero->shards);
  else
    plan_buckets_backward_ended(zero);
}

static void load(PlanZero *zero) {
  program_builder_context(zero->builder, PROGRAM_SETUP, -1, -1);
  program_builder_host(zero->builder, "load the model");
  const guint32 held[] = {zero->weights, zero->master, zero->full, zero->small, zero->second};
  for (guint i = 0; i < G_N_ELEMENTS(held); i++)
    if (held[i] != PROGRAM_NONE)
      program_builder_take(zero->builder, held[i]);
  if (zero->fetch != NULL || plan_offload_on(zero))
    program_builder_take(zero->builder, zero->partition);
  if (zero->fetch == NULL)
    return;
  if (zero->options->contiguous_gradients)
    program_builder_take(zero->builder, zero->buffers[0]);
}

static void step(PlanZero *zero, ProgramSectionKind section) {
  PlanWalk *walk = zero->walk;
  zero->section = section;
  plan_walk_section(walk, section);
  plan_lane_section(&zero->compute);
  plan_lane_section(&zero->reduce);
  if (zero->fetch != NULL) {
    plan_fetch_section(zero->fetch);
    plan_shards_section(zero->shards);
  }
  if (section == PROGRAM_FIRST)
    load(zero);
  for (walk->micro = 0; walk->micro < zero->recipe->gradient_accumulation; walk->micro++)
    micro_batch(zero);
  plan_step(zero);
}

static guint32 state(PlanZero *zero, const char *name, MemTenant tenant, guint64 bytes, gboolean sharded) {
  return program_builder_tensor(zero->builder, name, tenant, bytes, sharded ? bytes : bytes / zero->recipe->ranks);
}

/* Stages 1 and 2 pad the flat buffer to twice the ranks' number of elements, NCCL's alignment of 16-bit slices; stage 3
 * pads each parameter to the ranks' number. */
static guint64 shard_elements(const PlanZero *zero, const PlanParameters *parameters) {
  guint64 shard = 0, owners = zero->owners;
  if (zero->recipe->zero_stage < 3)
    return owners == 1 ? parameters->elements : (parameters->elements + 2 * owners - 1) / (2 * owners) * 2;
  for (guint p = 0; p < parameters->n; p++)
    shard += (parameters->list[p].elements + owners - 1) / owners;
  return shard;
}

static void add_states(PlanZero *zero) {
  gboolean sharded = zero->recipe->zero_stage > 0, shards_weights = zero->recipe->zero_stage == 3;
  guint32 element_bytes = zero->walk->element_bytes;
  zero->owners = shards_weights ? zero->recipe->shard_ranks : sharded ? zero->recipe->ranks : 1;
  zero->shard = shard_elements(zero, zero->parameters);
  guint64 padding = zero->shard * zero->owners - zero->parameters->elements;
  guint64 weights = shards_weights ? shard_elements(zero, zero->every) : plan_walk_all_elements(zero->walk) + padding;
  if (zero->recipe->offload_parameters)
    weights = 0;
  gboolean master = sharded || element_bytes < FP32;
  guint64 momenta = plan_optimizer_bytes(zero->recipe->optimizer, zero->shard, FP32, FALSE);
  zero->weights = state(zero, "parameters", MEM_PARAMETERS, weights * element_bytes, shards_weights);
  zero->master = master ? state(zero, "master parameters", MEM_OPTIMIZER, zero->shard * FP32, sharded) : PROGRAM_NONE;
  zero->momenta = state(zero, "momenta", MEM_OPTIMIZER, momenta, sharded);
  zero->full = zero->hybrid ? state(zero, "fp32 gradients", MEM_GRADIENTS, zero->parameters->elements * FP32, FALSE)
                            : PROGRAM_NONE;
  zero->partition = state(zero, "own gradients", MEM_GRADIENTS, zero->shard * zero->kept, TRUE);
  zero->partition_new = state(zero, "new own gradients", MEM_GRADIENTS, zero->shard * zero->bytes, FALSE);
  zero->small = zero->second = PROGRAM_NONE;
  if (plan_offload_on(zero))
    plan_offload_init(zero);
}

static void clear(PlanZero *zero) {
  plan_lane_clear(&zero->compute);
  plan_lane_clear(&zero->reduce);
  g_free(zero->gradients);
  g_free(zero->fresh);
  g_free(zero->add_ops);
  g_free(zero->copy_ops);
  if (zero->bucket != NULL)
    g_array_unref(zero->bucket);
  plan_update_free(zero->update);
  plan_update_free(zero->last_update);
  plan_update_free(zero->norm);
  plan_fetch_free(zero->fetch);
  plan_shards_free(zero->shards);
  plan_parameters_free(zero->parameters);
  plan_parameters_free(zero->every);
  plan_walk_free(zero->walk);
}

static gboolean reduces_beside(const PlanZero *zero) {
  return zero->options->overlap_comm && zero->recipe->zero_stage > 0 && !zero->hybrid;
}

static void add_streams(PlanZero *zero, const PlanCase *what) {
  guint32 compute = program_builder_stream(zero->builder, "compute"), reduce = compute;
  if (reduces_beside(zero))
    reduce = program_builder_stream(zero->builder, "reduce");
  zero->comm = program_builder_stream(zero->builder, "comm");
  program_builder_pool(zero->builder, zero->comm, compute);
  program_builder_role(zero->builder, "rank", zero->recipe->ranks);
  zero->world = plan_everyone(zero->builder, zero->recipe->ranks);
  zero->walk = plan_walk_new(zero->builder, what->shape, what->model, zero->recipe, compute);
  zero->walk->hooks.gradient = gradient_ready;
  zero->walk->user = zero;
  plan_lane_init(&zero->compute, zero->walk, compute);
  plan_lane_init(&zero->reduce, zero->walk, reduce);
}

/* Groups of `size` ranks in a row, or (`stride`) of the ranks alike in each of them. */
static guint32 add_groups(PlanZero *zero, const char *name, guint32 size, gboolean stride) {
  g_autofree guint32 *of_rank = g_new(guint32, zero->recipe->ranks);
  for (guint32 i = 0; i < zero->recipe->ranks; i++)
    of_rank[i] = stride ? i % size : i / size;
  return program_builder_communicators(zero->builder, name, of_rank, zero->recipe->ranks);
}

static PlanShardGroups shard_groups(PlanZero *zero) {
  const PlanRecipe *recipe = zero->recipe;
  PlanShardGroups groups = {zero->world, PROGRAM_NONE, PROGRAM_NONE, PROGRAM_NONE, 1};
  if (zero->owners < recipe->ranks) {
    groups.owners = add_groups(zero, "shard-group", zero->owners, FALSE);
    groups.copies = add_groups(zero, "shard-copies", zero->owners, TRUE);
  }
  if (zero->options->quantized_gradients && recipe->ranks > recipe->ranks_per_node) {
    groups.inside_ranks = recipe->ranks_per_node;
    groups.inside = add_groups(zero, "node", recipe->ranks_per_node, FALSE);
    groups.across = add_groups(zero, "across-nodes", recipe->ranks_per_node, TRUE);
  }
  return groups;
}

static void add_stage_3(PlanZero *zero) {
  guint32 element_bytes = zero->walk->element_bytes;
  guint32 gather = program_builder_stream(zero->builder, "gather"), second = PROGRAM_NONE;
  program_builder_pool(zero->builder, zero->comm, gather);
  PlanShardGroups groups = shard_groups(zero);
  guint64 part = zero->options->hpz_partition_size;
  if (part > 1) {
    second = add_groups(zero, "second-copy", (guint32)part, FALSE);
    guint64 bytes = (zero->every->elements + part - 1) / part * element_bytes;
    zero->second = program_builder_tensor(zero->builder, "second copy", MEM_PARAMETERS, bytes, 0);
  }
  zero->fetch = plan_fetch_new(zero, gather, groups.owners, second);
  zero->shards = plan_shards_new(zero, &groups);
  zero->small = program_builder_tensor(zero->builder, "persistent parameters", MEM_PARAMETERS,
                                       plan_fetch_persisting(zero->fetch) * element_bytes, 0);
  zero->walk->hooks.before = before_op;
  zero->walk->hooks.after = after_op;
}

Program *plan_deepspeed(const PlanCase *what) {
  const PlanRecipe *recipe = what->recipe;
  PlanZero zero = {.recipe = recipe, .options = &recipe->deepspeed, .builder = program_builder_new()};
  zero.bytes = model_precision_bytes(what->model->precision);
  zero.wire = plan_dtype_bytes(recipe->communication_dtype, zero.bytes);
  zero.kept = plan_dtype_bytes(recipe->accumulation_dtype, zero.bytes);
  zero.hybrid = recipe->zero_stage == 1 &&
                (what->model->precision == MODEL_BF16 || what->model->precision == MODEL_FP8) && zero.kept == FP32 &&
                !recipe->offload_optimizer;
  add_streams(&zero, what);
  zero.parameters = plan_parameters_new(zero.walk);
  zero.every = plan_parameters_all(zero.walk);
  add_states(&zero);
  plan_buckets_init(&zero);
  plan_step_init(&zero);
  if (recipe->zero_stage == 3)
    add_stage_3(&zero);
  step(&zero, PROGRAM_FIRST);
  step(&zero, PROGRAM_STEADY);
  plan_walk_facts(zero.walk, what->model);
  clear(&zero);
  return program_builder_end(zero.builder);
}
