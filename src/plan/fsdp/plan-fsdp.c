/* SPDX-License-Identifier: MIT */
/* What both generations of FSDP do around their hooks. */
#include "plan-fsdp.h"

#include "base-error.h"
#include "mem-tenant.h"
#include "model-host.h"
#include "plan-groups.h"
#include "plan-lives.h"
#include "plan-step.h"

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

void plan_fsdp_hook_cost(PlanFsdp *fsdp) {
  SimTime cost = model_host_cost(fsdp->recipe->host, MODEL_HOST_FSDP_UNIT);
  if (cost == 0)
    return;
  plan_walk_host(fsdp->walk, "hooks");
  program_builder_cost(fsdp->builder, cost);
}

void plan_fsdp_context(PlanFsdp *fsdp, ProgramPhase phase, guint32 unit) {
  program_builder_context(fsdp->builder, phase, fsdp->wrap->units[unit].layer, (gint32)fsdp->walk->micro);
}

static guint32 whole_gradient(PlanFsdp *fsdp, PlanUnit *part, guint p) {
  if (part->gradients[p] == PROGRAM_NONE) {
    const ModelParameter *parameter = &part->unit->parameters[p];
    g_autofree char *name = plan_unit_tensor_name(part, parameter->name, "grad");
    part->gradients[p] = program_builder_tensor(fsdp->builder, name, MEM_COMMUNICATION,
                                                parameter->elements * fsdp->keys->parameter_bytes, 0);
  }
  return part->gradients[p];
}

/* Autograd hands over a parameter's gradient; where there is one already (of a tied matrix the head's, and that of a
 * decoder's embedding; or that of an earlier micro-batch that was not reduced) they are added: two in, one out. */
static void gradient_ready(gpointer policy, const PlanGradient *gradient) {
  PlanFsdp *fsdp = policy;
  const PlanParameter *parameter = &fsdp->walk->parameters->list[gradient->parameter];
  guint32 tensor = whole_gradient(fsdp, &fsdp->walk->units[parameter->unit], parameter->index);
  guint64 added = 3 * parameter->elements * fsdp->keys->parameter_bytes;
  if (fsdp->second.in_weights) {
    plan_fsdp2_weight_gradient(fsdp, gradient->parameter, tensor);
    return;
  }
  plan_autocast_gradient(fsdp->autocast, gradient);
  plan_walk_take(fsdp->walk, tensor);
  gboolean other_half = fsdp->now.half_tied == gradient->parameter;
  if (other_half)
    plan_fsdp_move(fsdp, fsdp->streams.compute, PROGRAM_NONE, "add tied gradient", added);
  if (other_half || gradient->first_part)
    fsdp->now.half_tied = gradient->first_part ? gradient->parameter : PLAN_NO_PARAMETER;
  if (gradient->first_part)
    return;
  if (!fsdp->now.adds_in_place)
    return;
  plan_fsdp_move(fsdp, fsdp->streams.compute, PROGRAM_NONE, "accumulate gradient", added);
  plan_walk_give(fsdp->walk, tensor, PROGRAM_NONE);
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
  return stays ? state->tensor.gradient_shard : state->tensor.reduced;
}

/* Where the reduction leaves the shard where it lay: it is now the optimizer's. */
static void become_shard(PlanFsdp *fsdp, PlanFsdpUnit *state, guint32 held) {
  plan_walk_give(fsdp->walk, held, PROGRAM_NONE);
  plan_walk_host(fsdp->walk, "keep gradients");
  plan_walk_take(fsdp->walk, state->tensor.gradient_shard);
}

void plan_fsdp_finish_gradient(PlanFsdp *fsdp, guint32 unit, guint32 row, guint32 held) {
  PlanFsdpUnit *state = &fsdp->units[unit];
  const PlanFsdpKeys *keys = fsdp->keys;
  guint64 elements = state->size.reduced_shard;
  gboolean casts = keys->reduce_bytes != keys->shard_bytes, stays = !casts && !state->has_shard;
  guint32 stream = state->data->replicas > 1 ? fsdp->streams.all_reduces : fsdp->streams.reduces;
  if (stays && held != state->tensor.gradient_shard)
    become_shard(fsdp, state, held);
  if (state->data->replicas > 1)
    row = plan_fsdp_collective(fsdp, stream, row, "all-reduce gradients", state->data->replica, COLL_ALL_REDUCE,
                               elements * keys->reduce_bytes);
  if (fsdp->reduction.postdivides)
    row = plan_fsdp_move(fsdp, stream, row, "divide gradient shard", 2 * elements * keys->reduce_bytes);
  if (casts) {
    row = plan_fsdp_move(fsdp, stream, row, "cast gradient shard", elements * (keys->reduce_bytes + keys->shard_bytes));
    plan_walk_take(fsdp->walk, state->tensor.gradient_shard);
  }
  if (state->has_shard)
    row = plan_fsdp_move(fsdp, stream, row, "accumulate gradient shard", 3 * elements * keys->shard_bytes);
  if (!stays && !state->holds_reduced)
    plan_walk_give(fsdp->walk, held,
                   held == state->tensor.reduced && stream == fsdp->streams.reduces ? PROGRAM_NONE : stream);
  state->has_shard = TRUE;
  fsdp->now.last_reduce = row;
  if (fsdp->keys->offloads)
    plan_fsdp_offload_gradient(fsdp, unit, stream);
}

/* Not inside a block: its hooks stand around parts of the walk, the others' around operations. */
static gboolean is_whole(const PlanFsdp *fsdp, guint32 unit) {
  return fsdp->wrap->units[unit].inside == NULL;
}

/* Whether checkpoint lies around the unit's hooks: its forward runs again as a forward, before its backward's hooks. */
static gboolean recomputes_outside(const PlanFsdp *fsdp, guint32 unit) {
  const PlanWrapUnit *wrapped = &fsdp->wrap->units[unit];
  return fsdp->keys->checkpoints_outside && is_whole(fsdp, unit) && wrapped->layer >= 0 &&
         fsdp->walk->units[wrapped->first].lives->again != 0;
}

static void begin_backward(PlanFsdp *fsdp, guint32 unit) {
  if (recomputes_outside(fsdp, unit))
    fsdp->schedule->pre_recompute(fsdp, unit);
  else
    fsdp->schedule->pre_backward(fsdp, unit);
}

static void before_unit(gpointer policy, guint32 u, PlanPass pass) {
  PlanFsdp *fsdp = policy;
  const PlanWrap *wrap = fsdp->wrap;
  gboolean backward = pass == PLAN_BACKWARD || pass == PLAN_BACKWARD_INPUTS;
  fsdp->now.in_forward = pass == PLAN_FORWARD;
  fsdp->second.in_weights = pass == PLAN_BACKWARD_WEIGHTS;
  const PlanWrapIndex *begin = pass == PLAN_FORWARD ? &wrap->firsts : &wrap->lasts;
  for (guint32 i = begin->from[u + 1]; i-- > begin->from[u];) {
    guint32 w = begin->list[i];
    if (pass == PLAN_FORWARD && is_whole(fsdp, w))
      fsdp->schedule->pre_forward(fsdp, w);
    if (backward && is_whole(fsdp, w) && fsdp->units[w].has_backward)
      begin_backward(fsdp, w);
  }
  plan_autocast_before_unit(fsdp->autocast, u, pass);
}

static void after_unit(gpointer policy, guint32 u, PlanPass pass) {
  PlanFsdp *fsdp = policy;
  const PlanWrap *wrap = fsdp->wrap;
  gboolean backward = pass == PLAN_BACKWARD || pass == PLAN_BACKWARD_INPUTS;
  plan_autocast_after_unit(fsdp->autocast, u, pass);
  const PlanWrapIndex *end = pass == PLAN_FORWARD ? &wrap->lasts : &wrap->firsts;
  for (guint32 i = end->from[u]; i < end->from[u + 1]; i++) {
    guint32 w = end->list[i];
    if (pass == PLAN_FORWARD && is_whole(fsdp, w))
      fsdp->schedule->post_forward(fsdp, w);
    if (backward && is_whole(fsdp, w) && fsdp->units[w].has_backward)
      fsdp->schedule->post_backward(fsdp, w, pass == PLAN_BACKWARD);
  }
}

static void before_op(gpointer policy, guint32 index, const ModelOp *op, PlanPass pass) {
  PlanFsdp *fsdp = policy;
  if (fsdp->wrap->has_inside)
    plan_fsdp_inside_before(fsdp, index, op, pass);
}

static void after_op(gpointer policy, guint32 index, const ModelOp *op, PlanPass pass) {
  PlanFsdp *fsdp = policy;
  const ModelUnit *part = fsdp->walk->units[index].unit;
  plan_fsdp_inside_after(fsdp, index, op, pass);
  guint32 unit =
      pass == PLAN_RECOMPUTE && fsdp->keys->checkpoints_outside ? plan_wrap_around(fsdp->wrap, index) : PROGRAM_NONE;
  if (unit == PROGRAM_NONE || op + 1 != part->forward + part->n_forward || !recomputes_outside(fsdp, unit))
    return;
  fsdp->schedule->post_recompute(fsdp, unit);
  fsdp->schedule->pre_backward(fsdp, unit);
}

static void end_forward(gpointer policy) {
  PlanFsdp *fsdp = policy;
  if (fsdp->schedule->end_forward != NULL)
    fsdp->schedule->end_forward(fsdp);
  plan_autocast_forward_ended(fsdp->autocast);
  fsdp->now.last_reduce = PROGRAM_NONE;
}

static void end_inputs(gpointer policy) {
  PlanFsdp *fsdp = policy;
  fsdp->schedule->end_inputs(fsdp);
}

static void end_backward(gpointer policy) {
  PlanFsdp *fsdp = policy;
  fsdp->schedule->end_backward(fsdp);
}

static guint32 sum_norm(PlanFsdp *fsdp, guint32 row, gboolean several, guint32 slot) {
  return several ? plan_fsdp_collective(fsdp, fsdp->streams.compute, row, "all-reduce norm", slot, COLL_ALL_REDUCE,
                                        sizeof(float))
                 : row;
}

/* The norm of each rank's shards, then of them all: along one axis after the other. That of experts apart by itself
 * (torchtitan's distributed/utils.py, _clip_grad_norm_with_ep). */
static void gradient_norm(PlanFsdp *fsdp) {
  guint32 row = plan_update_norm(fsdp->walk, fsdp->optimizer.update);
  if (row == PROGRAM_NONE)
    return;
  if (fsdp->recipe->experts_apart) {
    row = sum_norm(fsdp, row, fsdp->experts.shards > 1, fsdp->experts.shard);
    row = sum_norm(fsdp, row, fsdp->slots.expert != PROGRAM_NONE, fsdp->slots.expert);
  }
  row = sum_norm(fsdp, row, fsdp->data.shards > 1, fsdp->data.shard);
  sum_norm(fsdp, row, fsdp->ranks.tensors > 1, fsdp->slots.tensor);
  if (fsdp->ranks.piped)
    plan_walk_collective(fsdp->walk, fsdp->streams.compute, "all-reduce norm", fsdp->slots.pipeline,
                         (CollCall){COLL_ALL_REDUCE, sizeof(float)}, PROGRAM_HINT_PIPELINE);
}

static void update(PlanFsdp *fsdp) {
  PlanWalk *walk = fsdp->walk;
  gradient_norm(fsdp);
  plan_paged_move(&fsdp->optimizer.paged, walk);
  plan_update_run(walk, fsdp->optimizer.update, NULL);
  plan_paged_take(&fsdp->optimizer.paged, walk);
  for (guint32 w = 0; w < fsdp->wrap->n; w++)
    plan_blocks_take_once(walk, &fsdp->units[w].tensor.states);
  for (guint32 w = 0; w < fsdp->wrap->n && fsdp->optimizer.is_foreach; w++)
    plan_blocks_take(walk, &fsdp->units[w].tensor.temporaries);
  for (guint32 w = 0; w < fsdp->wrap->n && fsdp->optimizer.is_foreach; w++)
    plan_blocks_give(walk, &fsdp->units[w].tensor.temporaries, PROGRAM_NONE);
}

/* Largest values of the shards that will be gathered in fp8, over all that share: a number for each weight. */
static void find_scales(PlanFsdp *fsdp) {
  if (fsdp->fp8.find == PROGRAM_NONE)
    return;
  guint32 row = plan_walk_pass(fsdp->walk, fsdp->streams.compute, "largest of weights", fsdp->fp8.find);
  if (fsdp->data.shards > 1)
    plan_fsdp_collective(fsdp, fsdp->streams.compute, row, "all-reduce scales", fsdp->data.shard, COLL_ALL_REDUCE,
                         fsdp->fp8.tensors * sizeof(float));
}

static void optimizer_step(gpointer policy) {
  PlanFsdp *fsdp = policy;
  PlanWalk *walk = fsdp->walk;
  if (fsdp->keys->offloads)
    plan_fsdp_offloaded_step(fsdp);
  else
    update(fsdp);
  find_scales(fsdp);
  for (guint32 w = 0; w < fsdp->wrap->n; w++) {
    if (fsdp->units[w].has_shard)
      plan_walk_give(walk, fsdp->units[w].tensor.gradient_shard, PROGRAM_NONE);
    fsdp->units[w].has_shard = FALSE;
  }
}

/* FSDP1 learns in the first step what to gather ahead in forward. */
static gboolean repeats(gconstpointer policy) {
  const PlanFsdp *fsdp = policy;
  return fsdp->keys->forward_prefetch == 0;
}

static void begin_section(gpointer policy) {
  PlanFsdp *fsdp = policy;
  for (guint32 w = 0; w < fsdp->wrap->n; w++)
    fsdp->units[w].gather = PROGRAM_NONE;
  fsdp->now.event = fsdp->second.scattered = PROGRAM_NONE;
  fsdp->schedule->begin_section(fsdp);
}

static void load(gpointer policy) {
  PlanFsdp *fsdp = policy;
  for (guint32 w = 0; w < fsdp->wrap->n && !fsdp->keys->offloads; w++)
    plan_blocks_take(fsdp->walk, &fsdp->units[w].tensor.parameters);
  if (fsdp->receive_buffers != PROGRAM_NONE)
    plan_walk_take(fsdp->walk, fsdp->receive_buffers);
}

static void begin_micro_batch(gpointer policy) {
  PlanFsdp *fsdp = policy;
  fsdp->now.syncs = !fsdp->ranks.piped && (fsdp->keys->syncs_always || plan_walk_last_micro(fsdp->walk));
  plan_step_micro_batch(fsdp->walk, PROGRAM_SETUP);
}

static void clear(gpointer policy) {
  PlanFsdp *fsdp = policy;
  plan_update_free(fsdp->optimizer.update);
  plan_wrap_free(fsdp->wrap);
  plan_autocast_free(fsdp->autocast);
  g_free(fsdp->units);
  g_free(fsdp->second.added);
  g_array_unref(fsdp->ops);
  g_array_unref(fsdp->first.frees);
}

static void set_up(gpointer policy, PlanWalk *walk, const PlanCase *what) {
  PlanFsdp *fsdp = policy;
  const PlanRecipe *recipe = what->recipe;
  *fsdp = (PlanFsdp){.recipe = recipe,
                     .keys = &recipe->fsdp,
                     .schedule = recipe->framework == PLAN_FSDP1 ? &plan_fsdp1_schedule : &plan_fsdp2_schedule,
                     .builder = walk->builder,
                     .walk = walk,
                     .streams.compute = walk->stream,
                     .now.half_tied = PLAN_NO_PARAMETER};
  sim_require(recipe->fsdp.gathers_fp8 == what->model->fp8_weights, 0, NULL,
              "the model and its gathers disagree on whether weights come in fp8");
  Layout layout = plan_groups_layout(recipe);
  fsdp->data.shards = recipe->zero_stage == 0 ? 1 : recipe->shard_ranks;
  fsdp->data.replicas = recipe->ranks / fsdp->data.shards;
  fsdp->experts.shards = recipe->zero_stage == 0 ? 1 : layout.degree[LAYOUT_EXPERT_SHARD];
  fsdp->experts.replicas = layout_group_size(&layout, LAYOUT_EXPERT_DATA) / fsdp->experts.shards;
  fsdp->ranks.tensors = layout.degree[LAYOUT_TENSOR];
  fsdp->ranks.piped = layout.degree[LAYOUT_PIPELINE] > 1;
  fsdp->reduction.fp16 =
      recipe->fsdp.reduce_dtype == PLAN_DTYPE_FP16 || (recipe->fsdp.reduce_dtype == PLAN_DTYPE_DEFAULT &&
                                                       what->model->precision == MODEL_FP16 && !what->model->autocast);
  fsdp->ops = g_array_new(FALSE, FALSE, sizeof(Move));
  fsdp->first.frees = g_array_new(FALSE, FALSE, sizeof(guint32));
  fsdp->schedule->start(fsdp);
  if (fsdp->keys->offloads)
    fsdp->streams.cpu = program_builder_stream(fsdp->builder, "cpu");
  plan_fsdp_add_communicators(fsdp);
  fsdp->wrap = plan_wrap_new(walk, (PlanWrapKind)recipe->fsdp.wrap, recipe->fsdp.wrap_elements);
  plan_fsdp_add_units(fsdp);
  if (what->model->autocast) /* fully_shard's parameters are leaves, the flat one's are views */
    fsdp->autocast = plan_autocast_new(walk, fsdp->keys->parameter_bytes, model_precision_bytes(what->model->precision),
                                       fsdp->schedule == &plan_fsdp2_schedule);
  fsdp->receive_buffers = plan_fsdp2_receive_buffers(fsdp);
}

const PlanHooks plan_fsdp_hooks = {
    .size = sizeof(PlanFsdp),
    .set_up = set_up,
    .clear = clear,
    .repeats = repeats,
    .section = begin_section,
    .load = load,
    .micro_batch = begin_micro_batch,
    .before_unit = before_unit,
    .before_op = before_op,
    .gradient = gradient_ready,
    .after_op = after_op,
    .after_unit = after_unit,
    .forward_ended = end_forward,
    .inputs_ended = end_inputs,
    .backward_ended = end_backward,
    .optimizer = optimizer_step,
};
