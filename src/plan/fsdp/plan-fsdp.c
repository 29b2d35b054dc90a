/* What both generations of FSDP do around their hooks. */
#include "plan-fsdp.h"

#include "base-error.h"
#include "mem-tenant.h"
#include "model-host.h"
#include "plan-lives.h"

typedef struct {
  guint64 bytes;
  guint32 op;
} Move;

static guint32 op_of(PlanFsdp *fsdp, guint64 bytes) {
  for (guint i = 0; i < fsdp->ops->len; i++)
    if (g_array_index(fsdp->ops, Move, i).bytes == bytes)
      return g_array_index(fsdp->ops, Move, i).op;
  Move move = {bytes, program_builder_memory_op(fsdp->builder, bytes)};
  g_array_append_val(fsdp->ops, move);
  return move.op;
}

guint32 plan_fsdp_move(PlanFsdp *fsdp, guint32 stream, guint32 need, const char *name, guint64 bytes) {
  guint32 row = plan_walk_pass(fsdp->walk, stream, name, op_of(fsdp, bytes));
  program_builder_need(fsdp->builder, need);
  return row;
}

guint32 plan_fsdp_collective(PlanFsdp *fsdp, guint32 stream, guint32 need, const char *name, guint32 slot,
                             CollOperation operation, guint64 bytes) {
  guint32 row = plan_walk_collective(fsdp->walk, stream, name, slot, (CollCall){operation, bytes}, PROGRAM_HINT_NONE);
  program_builder_need(fsdp->builder, need);
  return row;
}

void plan_fsdp_hooks(PlanFsdp *fsdp) {
  SimTime cost = model_host_cost(fsdp->recipe->host, MODEL_HOST_FSDP_UNIT);
  if (cost == 0)
    return;
  plan_walk_host(fsdp->walk, "hooks");
  program_builder_cost(fsdp->builder, cost);
}

void plan_fsdp_context(PlanFsdp *fsdp, ProgramPhase phase, guint32 unit) {
  program_builder_context(fsdp->builder, phase, fsdp->wrap->units[unit].layer, (gint32)fsdp->walk->micro);
}

/* Index of the tied matrix in the embedding's parameters. */
static guint tied_parameter(const PlanUnit *embedding, guint64 elements) {
  guint p = 0;
  while (p < embedding->unit->n_parameters && embedding->unit->parameters[p].elements != elements)
    p++;
  sim_require(p < embedding->unit->n_parameters, 0, NULL,
              "the head shares its matrix with no parameter of the embedding");
  return p;
}

static guint32 whole_gradient(PlanFsdp *fsdp, PlanUnit *part, guint p) {
  if (part->gradients[p] == PROGRAM_NONE) {
    const ModelParameter *parameter = &part->unit->parameters[p];
    g_autofree char *name = part->layer >= 0 ? g_strdup_printf("layer%d.%s.grad", part->layer, parameter->name)
                                             : g_strdup_printf("%s.grad", parameter->name);
    part->gradients[p] = program_builder_tensor(fsdp->builder, name, MEM_COMMUNICATION,
                                                parameter->elements * fsdp->keys->parameter_bytes, 0);
  }
  return part->gradients[p];
}

/* Autograd hands over a parameter's gradient; where there is one already (the head's of a tied matrix, or that of an
 * earlier micro-batch that was not reduced) they are added: two in, one out. */
static void gradient_ready(PlanWalk *walk, guint32 index, guint parameter, guint32 row, gpointer user) {
  PlanFsdp *fsdp = user;
  PlanUnit *part = &walk->units[index];
  const ModelParameter *shape = &part->unit->parameters[parameter];
  guint64 added = 3 * shape->elements * fsdp->keys->parameter_bytes;
  (void)row;
  if (shape->shared) {
    part = &walk->units[0];
    parameter = tied_parameter(part, shape->elements);
  }
  guint32 tensor = whole_gradient(fsdp, part, parameter);
  plan_walk_take(walk, tensor);
  if (shape->shared) {
    fsdp->tied_once = TRUE;
    fsdp->tied_elements = shape->elements;
    return;
  }
  if (fsdp->tied_once && index == 0 && tied_parameter(part, fsdp->tied_elements) == parameter) {
    fsdp->tied_once = FALSE;
    plan_fsdp_move(fsdp, fsdp->compute, PROGRAM_NONE, "add tied gradient", added);
  }
  if (!fsdp->adds_in_place)
    return;
  plan_fsdp_move(fsdp, fsdp->compute, PROGRAM_NONE, "accumulate gradient", added);
  plan_walk_give(walk, tensor, PROGRAM_NONE);
}

void plan_fsdp_give_gradients(PlanFsdp *fsdp, guint32 unit) {
  const PlanWrapUnit *members = &fsdp->wrap->units[unit];
  for (guint32 u = members->first; u <= members->last; u++) {
    PlanUnit *part = &fsdp->walk->units[u];
    for (guint p = 0; p < part->unit->n_parameters; p++)
      if (fsdp->wrap->of[u][p] == unit && !part->unit->parameters[p].shared && !part->unit->parameters[p].frozen)
        plan_walk_give(fsdp->walk, part->gradients[p], PROGRAM_NONE);
  }
}

guint32 plan_fsdp_reduced(const PlanFsdp *fsdp, guint32 unit) {
  const PlanFsdpUnit *state = &fsdp->units[unit];
  gboolean stays = fsdp->keys->reduce_bytes == fsdp->keys->shard_bytes && !state->has_shard;
  return stays ? state->gradient_shard : state->reduced;
}

/* Where the reduction leaves the shard where it lay: it is now the optimizer's. */
static void become_shard(PlanFsdp *fsdp, PlanFsdpUnit *state, guint32 held) {
  plan_walk_give(fsdp->walk, held, PROGRAM_NONE);
  plan_walk_host(fsdp->walk, "keep gradients");
  plan_walk_take(fsdp->walk, state->gradient_shard);
}

void plan_fsdp_finish_gradient(PlanFsdp *fsdp, guint32 unit, guint32 row, guint32 held) {
  PlanFsdpUnit *state = &fsdp->units[unit];
  const PlanFsdpKeys *keys = fsdp->keys;
  guint64 elements = state->reduced_shard;
  gboolean casts = keys->reduce_bytes != keys->shard_bytes, stays = !casts && !state->has_shard;
  guint32 stream = fsdp->replicas > 1 ? fsdp->all_reduces : fsdp->reduces;
  if (stays && held != state->gradient_shard)
    become_shard(fsdp, state, held);
  if (fsdp->replicas > 1)
    row = plan_fsdp_collective(fsdp, stream, row, "all-reduce gradients", fsdp->replica_slot, COLL_ALL_REDUCE,
                               elements * keys->reduce_bytes);
  if (fsdp->postdivides)
    row = plan_fsdp_move(fsdp, stream, row, "divide gradient shard", 2 * elements * keys->reduce_bytes);
  if (casts) {
    row = plan_fsdp_move(fsdp, stream, row, "cast gradient shard", elements * (keys->reduce_bytes + keys->shard_bytes));
    plan_walk_take(fsdp->walk, state->gradient_shard);
  }
  if (state->has_shard)
    row = plan_fsdp_move(fsdp, stream, row, "accumulate gradient shard", 3 * elements * keys->shard_bytes);
  if (!stays && !state->holds_reduced)
    plan_walk_give(fsdp->walk, held, held == state->reduced && stream == fsdp->reduces ? PROGRAM_NONE : stream);
  state->has_shard = TRUE;
  fsdp->last_reduce = row;
  if (fsdp->keys->offloads)
    plan_fsdp_offload_gradient(fsdp, unit, stream);
}

/* Not inside a block: its hooks stand around parts of the walk, the others' around operations. */
static gboolean is_whole(const PlanFsdp *fsdp, guint32 unit) {
  return fsdp->wrap->units[unit].inside == NULL;
}

static void forward(PlanFsdp *fsdp) {
  const PlanWrap *wrap = fsdp->wrap;
  fsdp->in_forward = TRUE;
  for (guint32 u = 0; u < fsdp->walk->n_units; u++) {
    for (guint32 w = wrap->n; w-- > 0;)
      if (is_whole(fsdp, w) && wrap->units[w].first == u)
        fsdp->schedule->pre_forward(fsdp, w);
    plan_walk_forward(fsdp->walk, u);
    for (guint32 w = 0; w < wrap->n; w++)
      if (is_whole(fsdp, w) && wrap->units[w].last == u)
        fsdp->schedule->post_forward(fsdp, w);
  }
  if (fsdp->schedule->end_forward != NULL)
    fsdp->schedule->end_forward(fsdp);
  fsdp->in_forward = FALSE;
}

/* Whether checkpoint lies around the unit's hooks: its forward runs again as a forward, before its backward's hooks. */
static gboolean recomputes_outside(const PlanFsdp *fsdp, guint32 unit) {
  const PlanWrapUnit *wrapped = &fsdp->wrap->units[unit];
  return fsdp->keys->checkpoints_outside && is_whole(fsdp, unit) && wrapped->layer >= 0 &&
         fsdp->walk->units[wrapped->first].lives->again != 0;
}

static void after_op(PlanWalk *walk, guint32 index, const ModelOp *op, PlanPass pass, gpointer user) {
  PlanFsdp *fsdp = user;
  const ModelUnit *part = walk->units[index].unit;
  plan_fsdp_inside_after(fsdp, index, op, pass);
  guint32 unit =
      pass == PLAN_RECOMPUTE && fsdp->keys->checkpoints_outside ? plan_wrap_around(fsdp->wrap, index) : PROGRAM_NONE;
  if (unit == PROGRAM_NONE || op + 1 != part->forward + part->n_forward || !recomputes_outside(fsdp, unit))
    return;
  fsdp->schedule->post_recompute(fsdp, unit);
  fsdp->schedule->pre_backward(fsdp, unit);
}

static void before_op(PlanWalk *walk, guint32 index, const ModelOp *op, PlanPass pass, gpointer user) {
  (void)walk;
  plan_fsdp_inside_before(user, index, op, pass);
}

static void begin_backward(PlanFsdp *fsdp, guint32 unit) {
  if (recomputes_outside(fsdp, unit))
    fsdp->schedule->pre_recompute(fsdp, unit);
  else
    fsdp->schedule->pre_backward(fsdp, unit);
}

static void backward(PlanFsdp *fsdp) {
  const PlanWrap *wrap = fsdp->wrap;
  fsdp->last_reduce = PROGRAM_NONE;
  for (guint32 u = fsdp->walk->n_units; u-- > 0;) {
    for (guint32 w = wrap->n; w-- > 0;)
      if (is_whole(fsdp, w) && wrap->units[w].last == u && fsdp->units[w].has_backward)
        begin_backward(fsdp, w);
    plan_walk_backward(fsdp->walk, u);
    for (guint32 w = 0; w < wrap->n; w++)
      if (is_whole(fsdp, w) && wrap->units[w].first == u && fsdp->units[w].has_backward)
        fsdp->schedule->post_backward(fsdp, w);
  }
  fsdp->schedule->end_backward(fsdp);
}

/* The norm of each rank's shards, then of them all. */
static void gradient_norm(PlanFsdp *fsdp) {
  guint32 row = plan_update_norm(fsdp->walk, fsdp->update);
  if (row != PROGRAM_NONE && fsdp->shards > 1)
    plan_fsdp_collective(fsdp, fsdp->compute, row, "all-reduce norm", fsdp->shard_slot, COLL_ALL_REDUCE, sizeof(float));
}

static void update(PlanFsdp *fsdp) {
  PlanWalk *walk = fsdp->walk;
  gradient_norm(fsdp);
  plan_update_run(walk, fsdp->update, NULL);
  for (guint32 w = 0; w < fsdp->wrap->n && fsdp->section == PROGRAM_FIRST; w++)
    plan_walk_take(walk, fsdp->units[w].states);
  for (guint32 w = 0; w < fsdp->wrap->n && fsdp->is_foreach; w++)
    plan_walk_take(walk, fsdp->units[w].temporaries);
  for (guint32 w = 0; w < fsdp->wrap->n && fsdp->is_foreach; w++)
    plan_walk_give(walk, fsdp->units[w].temporaries, PROGRAM_NONE);
}

/* Largest values of the shards that will be gathered in fp8, over all that share: a number for each weight. */
static void find_scales(PlanFsdp *fsdp) {
  if (fsdp->scales == PROGRAM_NONE)
    return;
  guint32 row = plan_walk_pass(fsdp->walk, fsdp->compute, "largest of weights", fsdp->scales);
  if (fsdp->shards > 1)
    plan_fsdp_collective(fsdp, fsdp->compute, row, "all-reduce scales", fsdp->shard_slot, COLL_ALL_REDUCE,
                         fsdp->scaled * sizeof(float));
}

static void optimizer_step(PlanFsdp *fsdp) {
  PlanWalk *walk = fsdp->walk;
  program_builder_context(fsdp->builder, PROGRAM_OPTIMIZER, -1, -1);
  if (fsdp->keys->offloads)
    plan_fsdp_offloaded_step(fsdp);
  else
    update(fsdp);
  find_scales(fsdp);
  for (guint32 w = 0; w < fsdp->wrap->n; w++) {
    if (fsdp->units[w].has_shard)
      plan_walk_give(walk, fsdp->units[w].gradient_shard, PROGRAM_NONE);
    fsdp->units[w].has_shard = FALSE;
  }
  plan_walk_host(walk, "end of step");
  program_builder_need(fsdp->builder, walk->last);
}

static void step(PlanFsdp *fsdp, ProgramSectionKind section) {
  PlanWalk *walk = fsdp->walk;
  guint32 batches = (guint32)fsdp->recipe->gradient_accumulation;
  fsdp->section = section;
  plan_walk_section(walk, section);
  program_builder_context(fsdp->builder, PROGRAM_SETUP, -1, -1);
  if (section == PROGRAM_FIRST) {
    plan_walk_host(walk, "load the model");
    for (guint32 w = 0; w < fsdp->wrap->n && !fsdp->keys->offloads; w++)
      plan_walk_take(walk, fsdp->units[w].parameters);
  }
  for (guint32 w = 0; w < fsdp->wrap->n; w++)
    fsdp->units[w].gather = PROGRAM_NONE;
  fsdp->event = fsdp->scattered = PROGRAM_NONE;
  fsdp->schedule->begin_section(fsdp);
  for (walk->micro = 0; walk->micro < batches; walk->micro++) {
    fsdp->syncs = fsdp->keys->syncs_always || walk->micro + 1 == batches;
    program_builder_context(fsdp->builder, PROGRAM_SETUP, -1, (gint32)walk->micro);
    plan_walk_host(walk, "micro-batch");
    program_builder_cost(fsdp->builder, model_host_cost(fsdp->recipe->host, MODEL_HOST_MICRO_BATCH));
    forward(fsdp);
    backward(fsdp);
  }
  optimizer_step(fsdp);
}

static Program *build(const PlanCase *what, const PlanFsdpSchedule *schedule) {
  const PlanRecipe *recipe = what->recipe;
  PlanFsdp fsdp = {.recipe = recipe, .keys = &recipe->fsdp, .schedule = schedule};
  sim_require(recipe->fsdp.gathers_fp8 == what->model->fp8_weights, 0, NULL,
              "the model and its gathers disagree on whether weights come in fp8");
  fsdp.builder = program_builder_new();
  fsdp.shards = recipe->zero_stage == 0 ? 1 : recipe->shard_ranks;
  fsdp.replicas = recipe->ranks / fsdp.shards;
  fsdp.fp16 = recipe->fsdp.reduce_dtype == PLAN_DTYPE_FP16 ||
              (recipe->fsdp.reduce_dtype == PLAN_DTYPE_DEFAULT && what->model->precision == MODEL_FP16);
  fsdp.ops = g_array_new(FALSE, FALSE, sizeof(Move));
  fsdp.frees = g_array_new(FALSE, FALSE, sizeof(guint32));
  fsdp.compute = program_builder_stream(fsdp.builder, "compute");
  schedule->start(&fsdp);
  if (fsdp.keys->offloads)
    fsdp.cpu = program_builder_stream(fsdp.builder, "cpu");
  program_builder_role(fsdp.builder, "rank", recipe->ranks);
  plan_fsdp_add_communicators(&fsdp);
  fsdp.walk = plan_walk_new(fsdp.builder, what->shape, what->model, recipe, fsdp.compute);
  fsdp.walk->hooks = (PlanHooks){.gradient = gradient_ready, .after = after_op};
  fsdp.walk->user = &fsdp;
  fsdp.wrap = plan_wrap_new(fsdp.walk, (PlanWrapKind)recipe->fsdp.wrap, recipe->fsdp.wrap_elements);
  if (fsdp.wrap->has_inside)
    fsdp.walk->hooks.before = before_op;
  plan_fsdp_add_units(&fsdp);
  step(&fsdp, PROGRAM_FIRST);
  step(&fsdp, PROGRAM_STEADY);
  plan_walk_facts(fsdp.walk, what->model);
  plan_walk_free(fsdp.walk);
  plan_update_free(fsdp.update);
  plan_wrap_free(fsdp.wrap);
  g_free(fsdp.units);
  g_array_unref(fsdp.ops);
  g_array_unref(fsdp.frees);
  return program_builder_end(fsdp.builder);
}

Program *plan_fsdp1(const PlanCase *what) {
  return build(what, &plan_fsdp1_schedule);
}

Program *plan_fsdp2(const PlanCase *what) {
  return build(what, &plan_fsdp2_schedule);
}
