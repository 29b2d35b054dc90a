/* Units as rows, in the order of the host, and the tensors that rows take and give. */
#include "plan-walk.h"

#include <string.h>

#include "base-error.h"
#include "mem-tenant.h"
#include "model-host.h"
#include "plan-lives.h"
#include "plan-parameters.h"

static MemTenant tenant_of(const ModelTensor *tensor, gboolean saved) {
  gboolean boundary = tensor->role == MODEL_TENSOR_INPUT || tensor->role == MODEL_TENSOR_OUTPUT;
  return !tensor->scratch && (saved || boundary) ? MEM_ACTIVATIONS : MEM_TEMPORARY;
}

static void name_unit(PlanUnit *unit) {
  if (unit->layer >= 0)
    g_snprintf(unit->name, sizeof unit->name, "layer%d", unit->layer);
  else
    g_strlcpy(unit->name, model_unit_names[unit->unit->kind], sizeof unit->name);
}

static void add_tensors(PlanWalk *walk, guint32 index) {
  PlanUnit *unit = &walk->units[index];
  const ModelUnit *shape = unit->unit;
  ModelSet saved = plan_lives_saved(shape);
  char name[sizeof unit->name + 100];
  name_unit(unit);
  char *end = g_stpcpy(g_stpcpy(name, unit->name), ".");
  unit->tensors = g_new(guint32, shape->n_tensors);
  for (guint t = 0; t < shape->n_tensors; t++) {
    const ModelTensor *tensor = &shape->tensors[t];
    guint32 *made = plan_walk_tensor(walk, index, t);
    *made = PROGRAM_NONE;
    if (tensor->role == MODEL_TENSOR_GRAD_OUTPUT || (tensor->role == MODEL_TENSOR_INPUT && index > 0))
      continue; /* a neighbour's: linked below */
    g_strlcpy(end, tensor->name, sizeof name - sizeof unit->name);
    *made = program_builder_tensor(walk->builder, name, tenant_of(tensor, model_set_has(saved, t)), tensor->bytes,
                                   tensor->bytes);
  }
  unit->gradients = g_new(guint32, shape->n_parameters);
  for (guint p = 0; p < shape->n_parameters; p++)
    unit->gradients[p] = PROGRAM_NONE;
}

static guint32 *role_tensor(PlanWalk *walk, guint32 unit, ModelTensorRole role) {
  const ModelUnit *shape = walk->units[unit].unit;
  for (guint t = 0; t < shape->n_tensors; t++)
    if (shape->tensors[t].role == role)
      return plan_walk_tensor(walk, unit, t);
  return NULL;
}

static void link_neighbours(PlanWalk *walk) {
  for (guint32 u = 0; u + 1 < walk->n_units; u++) {
    guint32 *output = role_tensor(walk, u, MODEL_TENSOR_OUTPUT);
    guint32 *input = role_tensor(walk, u + 1, MODEL_TENSOR_INPUT);
    guint32 *gradient = role_tensor(walk, u + 1, MODEL_TENSOR_GRAD_INPUT);
    guint32 *wanted = role_tensor(walk, u, MODEL_TENSOR_GRAD_OUTPUT);
    sim_require(output && input && gradient && wanted, 0, NULL, "unit %u has no boundary to the next", u);
    *input = *output;
    *wanted = *gradient;
  }
}

static guint32 *add_ops(PlanWalk *walk, const ModelOp *ops, guint n) {
  guint32 *indices = g_new(guint32, n);
  for (guint i = 0; i < n; i++)
    indices[i] = program_builder_op(walk->builder, ops[i].kernel);
  return indices;
}

static ModelRecompute way_of(const PlanWalk *walk, const PlanUnit *unit) {
  return unit->layer >= 0 && unit->training != MODEL_FROZEN_BELOW
             ? plan_checkpointing_of(&walk->recipe->checkpointing, (guint32)unit->layer)
             : MODEL_RECOMPUTE_NONE;
}

/* A kind of unit as it is trained, built when it is first met. */
static void add_kind(PlanWalk *walk, const ModelShape *shape, const ModelRecipe *recipe, PlanUnit *of,
                     ModelUnitKind kind) {
  ModelUnit **unit = &walk->kinds[of->training][kind];
  if (*unit == NULL) {
    *unit = model_unit_new(shape, recipe, walk->recipe->micro_batch, kind);
    model_unit_train(*unit, of->training);
    walk->forward_ops[of->training][kind] = add_ops(walk, (*unit)->forward, (*unit)->n_forward);
    walk->backward_ops[of->training][kind] = add_ops(walk, (*unit)->backward, (*unit)->n_backward);
  }
  ModelRecompute how = way_of(walk, of);
  PlanLives **lives = &walk->lives[of->training][kind][how];
  if (*lives == NULL)
    *lives = plan_lives_new(*unit, how);
  of->unit = *unit;
  of->lives = *lives;
}

static const PlanHooks no_hooks = {0};

PlanWalk *plan_walk_new(ProgramBuilder *builder, const ModelShape *shape, const ModelRecipe *model_recipe,
                        const PlanRecipe *recipe, guint32 stream) {
  sim_require(model_recipe->lora.rank == recipe->trainable.lora.rank, 0, NULL,
              "adapters of rank %u in the model, of rank %u in what is trained", model_recipe->lora.rank,
              recipe->trainable.lora.rank);
  PlanWalk *walk = g_new0(PlanWalk, 1);
  walk->builder = builder;
  walk->stream = stream;
  walk->recipe = recipe;
  walk->host = recipe->host;
  walk->hooks = &no_hooks;
  walk->element_bytes = model_precision_bytes(model_recipe->precision);
  walk->last = walk->waited = PROGRAM_NONE;
  walk->needs = g_array_new(FALSE, FALSE, sizeof(guint32));
  walk->live = g_byte_array_new();
  walk->reductions = g_array_new(FALSE, FALSE, sizeof(guint32));
  walk->n_units = (guint32)shape->layers + 2;
  walk->units = g_new0(PlanUnit, walk->n_units);
  for (guint32 u = 0; u < walk->n_units; u++) {
    ModelUnitKind kind = u == 0 ? MODEL_UNIT_EMBEDDING : u + 1 < walk->n_units ? MODEL_UNIT_LAYER : MODEL_UNIT_HEAD;
    walk->units[u].layer = kind == MODEL_UNIT_LAYER ? (gint32)u - 1 : -1;
    walk->units[u].training = plan_trainable_of(&recipe->trainable, u, walk->n_units);
    add_kind(walk, shape, model_recipe, &walk->units[u], kind);
    add_tensors(walk, u);
  }
  link_neighbours(walk);
  walk->parameters = plan_parameters_new(walk);
  return walk;
}

void plan_walk_free(PlanWalk *walk) {
  if (walk == NULL)
    return;
  for (guint32 u = 0; u < walk->n_units; u++) {
    g_free(walk->units[u].tensors);
    g_free(walk->units[u].gradients);
  }
  g_free(walk->units);
  for (int training = 0; training < MODEL_TRAININGS; training++)
    for (int kind = 0; kind < MODEL_UNIT_KINDS; kind++) {
      model_unit_free(walk->kinds[training][kind]);
      for (int how = 0; how < MODEL_RECOMPUTES; how++)
        plan_lives_free(walk->lives[training][kind][how]);
      g_free(walk->forward_ops[training][kind]);
      g_free(walk->backward_ops[training][kind]);
    }
  plan_parameters_free(walk->parameters);
  g_array_unref(walk->needs);
  g_array_unref(walk->reductions);
  g_free(walk->pending.data);
  g_byte_array_unref(walk->live);
  g_free(walk);
}

void plan_walk_section(PlanWalk *walk, ProgramSectionKind section) {
  program_builder_section(walk->builder, section);
  walk->section = section;
  walk->micro = 0;
  walk->last = walk->waited = PROGRAM_NONE;
  g_array_set_size(walk->needs, 0);
  g_array_set_size(walk->reductions, 0);
}

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

/* Needs on rows that no longer stand, in the order in which they came; each once. */
static void settle_needs(PlanWalk *walk) {
  if (walk->needs->len == 0)
    return;
  const guint32 *rows = (const guint32 *)(gpointer)walk->needs->data;
  for (guint i = 0; i < walk->needs->len; i++) {
    gboolean seen = FALSE;
    for (guint k = 0; k < i; k++)
      seen |= rows[k] == rows[i];
    if (!seen)
      program_builder_need(walk->builder, rows[i]);
  }
  g_array_set_size(walk->needs, 0);
}

guint32 plan_walk_collective(PlanWalk *walk, guint32 stream, const char *name, guint32 slot, CollCall call,
                             ProgramHint hint) {
  guint32 row = program_builder_collective(walk->builder, stream, name, slot, call, hint);
  program_builder_cost(walk->builder, model_host_cost(walk->host, MODEL_HOST_COLLECTIVE));
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
static ModelSet births(const ModelUnit *unit, guint32 index, const ModelOp *op) {
  ModelSet set = op->writes;
  for (guint t = 0; index == 0 && t < unit->n_tensors; t++)
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

static void emit(PlanWalk *walk, guint32 index, const ModelOp *op, guint32 program_op, ModelSet deaths, PlanPass pass) {
  PlanUnit *unit = &walk->units[index];
  if (walk->hooks->before_op != NULL)
    walk->hooks->before_op(walk->policy, index, op, pass);
  static const ProgramPhase phases[] = {PROGRAM_FORWARD, PROGRAM_RECOMPUTE, PROGRAM_BACKWARD};
  program_builder_context(walk->builder, phases[pass], unit->layer, (gint32)walk->micro);
  if (walk->in_step)
    plan_walk_wait(walk);
  guint32 row = program_builder_compute(walk->builder, walk->stream, op->name, program_op);
  program_builder_cost(walk->builder, model_op_host(op, walk->host));
  plan_walk_settle(walk);
  settle_needs(walk);
  walk->last = row;
  for (ModelSet left = births(unit->unit, index, op); left != 0; left = model_set_rest(left))
    plan_walk_take(walk, *plan_walk_tensor(walk, index, model_set_first(left)));
  for (ModelSet left = deaths; left != 0; left = model_set_rest(left))
    plan_walk_give(walk, *plan_walk_tensor(walk, index, model_set_first(left)), PROGRAM_NONE);
  if (pass == PLAN_BACKWARD) {
    gradient_ready(walk, index, op->gradient_of, row);
    gradient_ready(walk, index, op->also_gradient_of, row);
  }
  if (walk->hooks->after_op != NULL)
    walk->hooks->after_op(walk->policy, index, op, pass);
}

void plan_walk_forward(PlanWalk *walk, guint32 index) {
  const PlanUnit *unit = &walk->units[index];
  for (guint i = 0; i < unit->unit->n_forward; i++)
    emit(walk, index, &unit->unit->forward[i], walk->forward_ops[unit->training][unit->unit->kind][i],
         unit->lives->forward[i], PLAN_FORWARD);
}

static void recompute(PlanWalk *walk, guint32 index) {
  const PlanUnit *unit = &walk->units[index];
  for (guint i = 0; i < unit->unit->n_forward; i++)
    if (model_set_has(unit->lives->again, i))
      emit(walk, index, &unit->unit->forward[i], walk->forward_ops[unit->training][unit->unit->kind][i],
           unit->lives->redone[i], PLAN_RECOMPUTE);
}

void plan_walk_backward(PlanWalk *walk, guint32 index) {
  const PlanUnit *unit = &walk->units[index];
  for (guint i = 0; i < unit->unit->n_backward; i++) {
    if (i == unit->lives->again_at && unit->lives->again != 0)
      recompute(walk, index);
    emit(walk, index, &unit->unit->backward[i], walk->backward_ops[unit->training][unit->unit->kind][i],
         unit->lives->backward[i], PLAN_BACKWARD);
  }
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

void plan_walk_facts(const PlanWalk *walk, const ModelRecipe *model_recipe) {
  const PlanRecipe *recipe = walk->recipe;
  double model, hardware;
  plan_walk_flops(walk, &model, &hardware);
  double batches = (double)recipe->global_batch / (double)recipe->micro_batch;
  program_builder_facts(walk->builder, recipe->global_batch * model_recipe->sequence_length, batches * model,
                        batches * hardware, model_precision_dtype(model_recipe->precision));
}
