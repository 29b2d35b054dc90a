/* SPDX-License-Identifier: MIT */
/* Units as rows, in the order of the host, and the tensors that rows take and give. */
#include "plan-walk.h"

#include <string.h>

#include "base-error.h"
#include "model-host.h"
#include "plan-lives.h"
#include "plan-parameters.h"
#include "plan-sides.h"

void plan_walk_section(PlanWalk *walk, ProgramSectionKind section) {
  program_builder_section(walk->builder, section);
  walk->section = section;
  walk->micro = walk->place = walk->chunk = 0;
  walk->last = walk->waited = PROGRAM_NONE;
  g_array_set_size(walk->needs, 0);
  g_array_set_size(walk->reductions, 0);
}

#define LASTS 2 /* beside TRUE, in PlanWalk.live: to the end */

static guint8 *liveness(PlanWalk *walk, guint32 tensor) {
  guint old = walk->live->len;
  if (tensor >= old) {
    g_byte_array_set_size(walk->live, MAX(2 * old, tensor + 1));
    memset(walk->live->data + old, 0, walk->live->len - old);
  }
  return &walk->live->data[tensor];
}

void plan_walk_take(PlanWalk *walk, guint32 tensor) {
  guint8 *live = liveness(walk, tensor);
  if (*live)
    return;
  *live = TRUE;
  program_builder_take(walk->builder, tensor);
}

void plan_walk_take_once(PlanWalk *walk, guint32 tensor) {
  if (walk->section != PROGRAM_FIRST)
    return;
  guint8 *live = liveness(walk, tensor);
  sim_require(!*live, 0, NULL, "tensor %u is taken once, but was", tensor);
  *live = LASTS;
  program_builder_take_once(walk->builder, tensor);
}

/* Of what is taken and given in every step. */
static guint8 *passing(const PlanWalk *walk) {
  guint8 *held = g_new0(guint8, walk->live->len + 1);
  for (guint t = 0; t < walk->live->len; t++)
    held[t] = walk->live->data[t] == TRUE;
  return held;
}

void plan_walk_mark(PlanWalk *walk) {
  g_free(walk->held);
  walk->held = passing(walk);
  walk->n_held = walk->live->len;
  walk->ahead = program_builder_rows(walk->builder);
  walk->marked = walk->pending.n == 0 && walk->cost == 0;
}

gboolean plan_walk_ends_as_marked(const PlanWalk *walk) {
  g_autofree guint8 *held = passing(walk);
  gboolean same = walk->marked && walk->pending.n == 0 && walk->cost == 0;
  for (guint t = 0; same && t < walk->live->len; t++)
    same = held[t] == (t < walk->n_held && walk->held[t]);
  return same;
}

void plan_walk_give(PlanWalk *walk, guint32 tensor, guint32 stream) {
  guint8 *live = liveness(walk, tensor);
  sim_require(*live, 0, NULL, "tensor %u is given but not held", tensor);
  *live = FALSE;
  *(ProgramGive *)base_vector_next(&walk->pending, sizeof(ProgramGive)) = (ProgramGive){tensor, stream};
}

void plan_walk_settle(PlanWalk *walk) {
  const ProgramGive *pending = walk->pending.data;
  for (guint32 i = 0; i < walk->pending.n; i++)
    program_builder_give(walk->builder, pending[i].tensor, pending[i].stream);
  walk->pending.n = 0;
  if (walk->cost != 0)
    program_builder_cost(walk->builder, walk->cost);
  walk->cost = 0;
}

void plan_walk_cost(PlanWalk *walk, SimTime cost) {
  walk->cost = sim_time_add(walk->cost, cost);
}

void plan_walk_wait(PlanWalk *walk) {
  if (walk->waited == walk->last && walk->pending.n == 0)
    return;
  program_builder_host(walk->builder, "wait for compute");
  plan_walk_settle(walk);
  program_builder_need(walk->builder, walk->last);
  walk->waited = walk->last;
}

void plan_walk_need(PlanWalk *walk, guint32 row) {
  if (row != PROGRAM_NONE)
    g_array_append_val(walk->needs, row);
}

void plan_walk_need_reductions(PlanWalk *walk) {
  for (guint i = 0; i < walk->reductions->len; i++)
    plan_walk_need(walk, g_array_index(walk->reductions, guint32, i));
  g_array_set_size(walk->reductions, 0);
}

/* Pending needs, in the order in which they came; each once. */
static void add_needs(PlanWalk *walk) {
  const guint32 *rows = (const guint32 *)(gpointer)walk->needs->data;
  for (guint i = 0; i < walk->needs->len; i++) {
    gboolean seen = FALSE;
    for (guint k = 0; k < i; k++)
      seen |= rows[k] == rows[i];
    if (!seen)
      program_builder_need(walk->builder, rows[i]);
  }
}

static void settle_needs(PlanWalk *walk) {
  if (walk->needs->len == 0)
    return;
  add_needs(walk);
  g_array_set_size(walk->needs, 0);
}

void plan_walk_follow(PlanWalk *walk) {
  program_builder_need(walk->builder, walk->last);
  add_needs(walk);
}

/* c10d's ProcessGroupWrapper: a monitored barrier, through one rank, and two all-gathers of what is called, in a ring;
 * sends and receives have none. */
static SimTime check_cost(const PlanWalk *walk, guint32 slot, const CollCall *call) {
  if (walk->recipe->distributed_debug == PLAN_DEBUG_OFF || call->operation == COLL_SEND_RECV)
    return 0;
  gboolean far = FALSE;
  guint32 ranks = program_builder_group(walk->builder, slot, walk->recipe->ranks_per_node, &far);
  SimTime each = model_host_cost(walk->host, far ? MODEL_HOST_CHECKED_RANK_FAR : MODEL_HOST_CHECKED_RANK);
  return model_host_cost(walk->host, MODEL_HOST_CHECK) + (SimTime)ranks * each;
}

guint32 plan_walk_collective(PlanWalk *walk, guint32 stream, const char *name, guint32 slot, CollCall call,
                             ProgramHint hint) {
  guint32 row = program_builder_collective(walk->builder, stream, name, slot, call, hint);
  program_builder_cost(walk->builder, model_host_cost(walk->host, MODEL_HOST_COLLECTIVE));
  program_builder_cost(walk->builder, check_cost(walk, slot, &call));
  plan_walk_settle(walk);
  if (stream == walk->stream) {
    settle_needs(walk);
    walk->last = row;
  }
  return row;
}

guint32 plan_walk_pass(PlanWalk *walk, guint32 stream, const char *name, guint32 op) {
  return plan_walk_pass_costing(walk, stream, name, op, model_host_cost(walk->host, MODEL_HOST_PASS));
}

guint32 plan_walk_pass_costing(PlanWalk *walk, guint32 stream, const char *name, guint32 op, SimTime host) {
  guint32 row = program_builder_compute(walk->builder, stream, name, op);
  program_builder_cost(walk->builder, host);
  plan_walk_settle(walk);
  if (stream == walk->stream) {
    settle_needs(walk);
    walk->last = row;
  }
  return row;
}

guint32 plan_walk_copy(PlanWalk *walk, guint32 stream, const char *name, guint64 bytes, ProgramPath path) {
  guint32 row = program_builder_copy(walk->builder, stream, name, bytes, path);
  program_builder_cost(walk->builder, model_host_cost(walk->host, MODEL_HOST_PASS));
  plan_walk_settle(walk);
  if (stream == walk->stream) {
    settle_needs(walk);
    walk->last = row;
  }
  return row;
}

guint32 plan_walk_cpu(PlanWalk *walk, guint32 stream, const char *name, guint64 bytes) {
  guint32 row = program_builder_cpu(walk->builder, stream, name, bytes);
  plan_walk_settle(walk);
  return row;
}

guint32 plan_walk_host(PlanWalk *walk, const char *name) {
  guint32 row = program_builder_host(walk->builder, name);
  plan_walk_settle(walk);
  return row;
}

/* Token ids are nobody's output: they come with their first reader. */
static ModelSet births(const ModelUnit *unit, const ModelOp *op) {
  ModelSet set = op->writes;
  for (guint t = 0; unit->kind == MODEL_UNIT_EMBEDDING && t < unit->n_tensors; t++)
    if (unit->tensors[t].role == MODEL_TENSOR_INPUT)
      set |= op->reads & model_set_of(t);
  return set;
}

static void gradient_ready(PlanWalk *walk, guint32 unit, int index, guint32 row) {
  if (index < 0 || walk->hooks->gradient == NULL)
    return;
  guint parameter = plan_parameters_find(walk->parameters, unit, (guint)index);
  PlanGradient gradient = {unit, (guint)index, parameter, walk->units[unit].unit->parameters[index].shared, row};
  if (parameter != PLAN_NO_PARAMETER)
    walk->hooks->gradient(walk->policy, &gradient);
}

static void take_set(PlanWalk *walk, guint32 index, ModelSet set) {
  for (ModelSet left = set; left != 0; left = model_set_rest(left))
    plan_walk_take(walk, *plan_walk_tensor(walk, index, model_set_first(left)));
}

void plan_walk_give_set(PlanWalk *walk, guint32 index, ModelSet set) {
  for (ModelSet left = set; left != 0; left = model_set_rest(left))
    plan_walk_give(walk, *plan_walk_tensor(walk, index, model_set_first(left)), PROGRAM_NONE);
}

/* One kernel of an operation. */
static guint32 add_kernel(PlanWalk *walk, const ModelOp *op, guint32 program_op) {
  if (walk->in_step)
    plan_walk_wait(walk);
  guint32 row = program_builder_compute(walk->builder, walk->stream, op->name, program_op);
  program_builder_cost(walk->builder, model_op_host(op, walk->host));
  plan_walk_settle(walk);
  settle_needs(walk);
  walk->last = row;
  return row;
}

static guint32 add_pieces(PlanWalk *walk, guint32 index, guint i, const ModelOp *op, guint32 program_op,
                          ModelSet born) {
  guint32 row = PROGRAM_NONE, pieces = MAX(op->pieces, 1);
  for (guint32 piece = 0; piece < pieces; piece++) {
    plan_exchanges_await(&walk->exchanges, i, piece, pieces);
    row = add_kernel(walk, op, program_op);
    if (piece == 0)
      take_set(walk, index, born);
    if (piece == 0 && op->in_function)
      program_builder_cost(walk->builder, model_host_cost(walk->host, MODEL_HOST_LAYER_FUNCTION));
    plan_exchanges_piece(&walk->exchanges, i, piece, row);
  }
  return row;
}

static void emit(PlanWalk *walk, guint32 index, const PlanRun *run, guint i) {
  PlanUnit *unit = &walk->units[index];
  const ModelOp *op = &run->ops[i];
  if (op->joins && plan_sides_is_first(walk, index, op))
    return;
  if (walk->hooks->before_op != NULL)
    walk->hooks->before_op(walk->policy, index, op, run->pass);
  static const ProgramPhase phases[] = {PROGRAM_FORWARD, PROGRAM_RECOMPUTE, PROGRAM_BACKWARD, PROGRAM_BACKWARD,
                                        PROGRAM_BACKWARD};
  program_builder_context(walk->builder, phases[run->pass], unit->layer, (gint32)walk->micro);
  if (op->counted)
    plan_walk_wait(walk);
  gboolean exchange = op->exchange.kind != MODEL_EXCHANGE_NONE;
  guint32 row;
  if (exchange) {
    plan_exchanges_await(&walk->exchanges, i, 0, 1);
    row = plan_exchanges_add(&walk->exchanges, op, index, run->deaths[i]);
    take_set(walk, index, births(unit->unit, op));
  } else {
    row = add_pieces(walk, index, i, op, run->program_ops[i], births(unit->unit, op));
  }
  if (!exchange || !op->exchange.asynchronous)
    plan_walk_give_set(walk, index, run->deaths[i]);
  if (run->pass >= PLAN_BACKWARD) {
    gradient_ready(walk, index, op->gradient_of, row);
    gradient_ready(walk, index, op->also_gradient_of, row);
  }
  if (walk->hooks->after_op != NULL)
    walk->hooks->after_op(walk->policy, index, op, run->pass);
}

static const guint32 *program_ops(guint32 *const of[MODEL_TRAININGS][MODEL_UNIT_VARIANTS], const PlanUnit *unit) {
  return of[unit->training][unit->unit->kind];
}

/* The layer's input becomes this rank's part of it. */
static void keep_part(PlanWalk *walk, guint32 index) {
  const PlanUnit *unit = &walk->units[index];
  const ModelOp *op = &unit->unit->keeping[0];
  program_builder_context(walk->builder, PROGRAM_FORWARD, unit->layer, (gint32)walk->micro);
  add_kernel(walk, op, program_ops(walk->keeping_ops, unit)[0]);
  take_set(walk, index, op->writes);
  plan_walk_give_set(walk, index, op->reads);
}

static void make_whole(PlanWalk *walk, guint32 index) {
  const PlanUnit *unit = &walk->units[index];
  const ModelOp *op = &unit->unit->keeping[1];
  program_builder_context(walk->builder, PROGRAM_RECOMPUTE, unit->layer, (gint32)walk->micro);
  plan_exchanges_add(&walk->exchanges, op, index, op->reads);
  take_set(walk, index, op->writes);
  if (!op->exchange.asynchronous)
    plan_walk_give_set(walk, index, op->reads);
}

void plan_walk_run(PlanWalk *walk, guint32 index, const PlanRun *run) {
  for (guint i = 0; i < run->n; i++)
    emit(walk, index, run, i);
  plan_exchanges_end(&walk->exchanges);
}

/* Of a region that runs again, in each of its runs: the whole was measured, and is spread alike. A compiled layer's
 * second run is part of its graph. */
static void half_checkpoint(PlanWalk *walk, const PlanUnit *unit) {
  if (unit->lives->again != 0 && !walk->compiled)
    plan_walk_cost(walk, model_host_cost(walk->host, MODEL_HOST_CHECKPOINT) / 2);
}

void plan_walk_forward(PlanWalk *walk, guint32 index) {
  const PlanUnit *unit = &walk->units[index];
  PlanRun run = {unit->unit->forward, unit->unit->n_forward, program_ops(walk->forward_ops, unit), unit->lives->forward,
                 PLAN_FORWARD};
  plan_walk_run(walk, index, &run);
  half_checkpoint(walk, unit);
  if (unit->keeps_part)
    keep_part(walk, index);
  plan_walk_give_set(walk, index, unit->read_last);
}

static void recompute(PlanWalk *walk, guint32 index) {
  const PlanUnit *unit = &walk->units[index];
  PlanRun run = {unit->unit->forward, unit->unit->n_forward, program_ops(walk->forward_ops, unit), unit->lives->redone,
                 PLAN_RECOMPUTE};
  guint outer = plan_exchanges_begin(&walk->exchanges);
  half_checkpoint(walk, unit);
  if (unit->keeps_part)
    make_whole(walk, index);
  for (guint i = 0; i < run.n; i++)
    if (model_set_has(unit->lives->again, i))
      emit(walk, index, &run, i);
  plan_exchanges_end(&walk->exchanges);
  plan_exchanges_return(&walk->exchanges, outer);
}

void plan_walk_backward(PlanWalk *walk, guint32 index) {
  const PlanUnit *unit = &walk->units[index];
  PlanRun run = {unit->unit->backward, unit->unit->n_backward, program_ops(walk->backward_ops, unit),
                 unit->lives->backward, PLAN_BACKWARD};
  plan_walk_give_set(walk, index, unit->kept);
  for (guint i = 0; i < run.n; i++) {
    if (i == unit->lives->again_at && unit->lives->again != 0)
      recompute(walk, index);
    emit(walk, index, &run, i);
  }
  plan_exchanges_end(&walk->exchanges);
}

void plan_walk_flops(const PlanWalk *walk, double *ret_model, double *ret_hardware) {
  double model = 0, hardware = 0;
  for (guint32 u = 0; u < walk->n_units; u++) {
    const ModelUnit *unit = walk->units[u].unit;
    ModelCost forward = model_unit_forward_cost(unit), backward = model_unit_backward_cost(unit);
    model += forward.nominal_flops + backward.nominal_flops;
    hardware += forward.flops + backward.flops;
    for (guint i = 0; i < unit->n_forward; i++)
      hardware += model_set_has(walk->units[u].lives->again, i) ? model_op_cost(&unit->forward[i]).flops : 0;
  }
  *ret_model = model;
  *ret_hardware = hardware;
}

guint64 *plan_walk_elements(const PlanWalk *walk) {
  guint64 *elements = g_new(guint64, walk->n_units);
  for (guint32 u = 0; u < walk->n_units; u++)
    elements[u] = model_unit_elements(walk->units[u].unit);
  return elements;
}

guint64 plan_walk_all_elements(const PlanWalk *walk) {
  guint64 elements = 0;
  for (guint32 u = 0; u < walk->n_units; u++)
    elements += model_unit_elements(walk->units[u].unit);
  return elements;
}

guint64 *plan_walk_trained(const PlanWalk *walk) {
  guint64 *elements = g_new0(guint64, walk->n_units);
  for (guint32 u = 0; u < walk->n_units; u++)
    for (guint p = 0; p < walk->units[u].unit->n_parameters; p++) {
      const ModelParameter *parameter = &walk->units[u].unit->parameters[p];
      elements[u] += parameter->shared || parameter->frozen ? 0 : parameter->elements;
    }
  return elements;
}
