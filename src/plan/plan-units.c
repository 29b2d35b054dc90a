/* SPDX-License-Identifier: MIT */
/* A walk's units: their operations, and their tensors by name, tenant and place. */
#include <string.h>

#include "base-error.h"
#include "mem-tenant.h"
#include "plan-halves.h"
#include "plan-lives.h"
#include "plan-parameters.h"
#include "plan-sides.h"
#include "plan-walk.h"

static MemTenant tenant_of(const ModelTensor *tensor, gboolean saved) {
  gboolean boundary =
      tensor->role == MODEL_TENSOR_INPUT || tensor->role == MODEL_TENSOR_OUTPUT || tensor->role == MODEL_TENSOR_SIDE;
  return !tensor->scratch && (saved || boundary) ? MEM_ACTIVATIONS : MEM_TEMPORARY;
}

static void name_unit(PlanUnit *unit) {
  if (unit->layer >= 0)
    g_snprintf(unit->name, sizeof unit->name, "layer%d", unit->layer);
  else
    g_strlcpy(unit->name, model_unit_names[unit->unit->kind], sizeof unit->name);
}

/* Whether the unit's neighbour on the side of its input, or of its output, is on the rank too. */
static gboolean has_neighbour(const PlanWalk *walk, guint32 index, ModelTensorRole role) {
  const PlanHolding *holding = walk->holding;
  gboolean before = role == MODEL_TENSOR_INPUT || role == MODEL_TENSOR_GRAD_INPUT;
  for (guint32 c = 0; c < holding->n_chunks; c++) {
    const PlanChunk *chunk = &holding->chunks[c];
    if (before && index == chunk->first)
      return c > 0 && holding->chunks[c - 1].stage + 1 == chunk->stage;
    if (!before && index == chunk->last)
      return c + 1 < holding->n_chunks && chunk->stage + 1 == holding->chunks[c + 1].stage;
  }
  return TRUE;
}

static guint32 add_tensor(PlanWalk *walk, const PlanUnit *unit, guint t, const char *name) {
  const ModelUnit *shape = unit->unit;
  const ModelTensor *tensor = &shape->tensors[t];
  gboolean kept = shape->n_keeping > 0 && model_set_has(shape->keeping[0].writes, t);
  MemTenant tenant = tenant_of(tensor, kept || model_set_has(unit->lives->saved, t));
  gboolean received = tensor->role == MODEL_TENSOR_INPUT || tensor->role == MODEL_TENSOR_GRAD_OUTPUT;
  guint64 bytes =
      received && unit->unit->kind != MODEL_UNIT_EMBEDDING && walk->recipe->pipeline.buffers ? 0 : tensor->bytes;
  return program_builder_tensor(walk->builder, name, (guint8)tenant, bytes, bytes);
}

/* A neighbour's, and those of a maker of sides, are linked below. */
gboolean plan_walk_owns(const PlanWalk *walk, guint32 index, guint tensor) {
  const ModelUnit *unit = walk->units[index].unit;
  ModelTensorRole role = unit->tensors[tensor].role;
  gboolean others = role == MODEL_TENSOR_GRAD_OUTPUT || role == MODEL_TENSOR_INPUT;
  return (!others || !has_neighbour(walk, index, role)) && !plan_sides_is_read(unit, tensor);
}

/* Cut off where there is no room for all of it. */
static void put_name(char *to, const char *name, gsize room) {
  gsize n = MIN(strlen(name), room - 1);
  memcpy(to, name, n);
  to[n] = '\0';
}

static void add_tensors(PlanWalk *walk, guint32 index) {
  PlanUnit *unit = &walk->units[index];
  const ModelUnit *shape = unit->unit;
  char name[sizeof unit->name + 100];
  name_unit(unit);
  char *end = g_stpcpy(g_stpcpy(name, unit->name), ".");
  unit->tensors = g_new(guint32, (gsize)walk->holding->n_places * shape->n_tensors);
  for (walk->place = 0; walk->place < walk->holding->n_places; walk->place++)
    for (guint t = 0; t < shape->n_tensors; t++) {
      gsize room = sizeof name - sizeof unit->name;
      if (walk->place == 0)
        put_name(end, shape->tensors[t].name, room);
      else
        g_snprintf(end, room, "%s.%u", shape->tensors[t].name, walk->place);
      *plan_walk_tensor(walk, index, t) =
          plan_walk_owns(walk, index, t) ? add_tensor(walk, unit, t, name) : PROGRAM_NONE;
    }
  walk->place = 0;
  unit->gradients = g_new(guint32, shape->n_parameters);
  for (guint p = 0; p < shape->n_parameters; p++)
    unit->gradients[p] = PROGRAM_NONE;
}

static guint32 *role_tensor(const PlanWalk *walk, guint32 unit, ModelTensorRole role) {
  const ModelUnit *shape = walk->units[unit].unit;
  for (guint t = 0; t < shape->n_tensors; t++)
    if (shape->tensors[t].role == role)
      return plan_walk_tensor(walk, unit, t);
  return NULL;
}

guint32 *plan_walk_boundary(const PlanWalk *walk, guint32 unit, ModelTensorRole role) {
  guint32 *tensor = role_tensor(walk, unit, role);
  sim_require(tensor != NULL, 0, NULL, "unit %u has no boundary on that side", unit);
  return tensor;
}

static void link_neighbours(PlanWalk *walk) {
  for (guint32 u = 0; u + 1 < walk->n_units; u++) {
    if (!has_neighbour(walk, u, MODEL_TENSOR_OUTPUT))
      continue;
    guint32 *output = role_tensor(walk, u, MODEL_TENSOR_OUTPUT);
    guint32 *input = role_tensor(walk, u + 1, MODEL_TENSOR_INPUT);
    guint32 *gradient = role_tensor(walk, u + 1, MODEL_TENSOR_GRAD_INPUT);
    guint32 *wanted = role_tensor(walk, u, MODEL_TENSOR_GRAD_OUTPUT);
    sim_require(output && input && gradient && wanted, 0, NULL, "unit %u has no boundary to the next", u);
    *input = *output;
    *wanted = *gradient;
  }
}

static void link_all(PlanWalk *walk) {
  link_neighbours(walk);
  plan_sides_link(walk);
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

/* The head's matrix is the embedding's only where that is on the same rank. */
static void untie(ModelUnit *unit) {
  for (guint p = 0; p < unit->n_parameters; p++)
    unit->parameters[p].shared = FALSE;
}

ModelUnit *plan_walk_kind(const PlanWalk *walk, const PlanCase *what, ModelTraining training, ModelUnitKind kind) {
  ModelUnit *unit = model_unit_new(what->shape, what->model, what->recipe->micro_batch, kind);
  if (walk->unties)
    untie(unit);
  model_unit_train(unit, training);
  return unit;
}

/* A kind of unit as it is trained, built when it is first met. */
static void add_kind(PlanWalk *walk, const PlanCase *what, PlanUnit *of, ModelUnitKind kind) {
  ModelUnit **unit = &walk->kinds[of->training][kind];
  if (*unit == NULL) {
    *unit = plan_walk_kind(walk, what, of->training, kind);
    walk->forward_ops[of->training][kind] = add_ops(walk, (*unit)->forward, (*unit)->n_forward);
    walk->backward_ops[of->training][kind] = add_ops(walk, (*unit)->backward, (*unit)->n_backward);
    walk->keeping_ops[of->training][kind] = add_ops(walk, (*unit)->keeping, (*unit)->n_keeping);
    if (plan_schedule_splits(walk->recipe->axes.schedule))
      walk->halves[kind] = plan_halves_new(walk->builder, what, walk->recipe->micro_batch, *unit);
  }
  ModelRecompute how = way_of(walk, of);
  PlanLives **lives = &walk->lives[of->training][kind][how];
  if (*lives == NULL)
    *lives = plan_lives_new(*unit, how);
  of->kind = kind;
  of->unit = *unit;
  of->lives = *lives;
  of->keeps_part = (*unit)->n_keeping > 0 && model_recompute_is_whole(how);
}

static void add_unit(PlanWalk *walk, const PlanCase *what, guint32 index, guint32 position) {
  guint32 all = walk->holding->model_units;
  PlanUnit *unit = &walk->units[index];
  ModelUnitKind kind = model_unit_kind_among(what->shape, position, all);
  unit->layer = model_unit_is_layer(kind) ? (gint32)model_unit_layer_of(what->shape, position) : -1;
  unit->training = plan_trainable_of(&walk->recipe->trainable, position, all);
  add_kind(walk, what, unit, kind);
  add_tensors(walk, index);
}

static const PlanHooks no_hooks = {0};

PlanWalk *plan_walk_new(ProgramBuilder *builder, const PlanCase *what, const PlanHolding *holding, guint32 stream) {
  const PlanRecipe *recipe = what->recipe;
  sim_require(what->model->lora.rank == recipe->trainable.lora.rank, 0, NULL,
              "adapters of rank %u in the model, of rank %u in what is trained", what->model->lora.rank,
              recipe->trainable.lora.rank);
  PlanWalk *walk = g_new0(PlanWalk, 1);
  walk->builder = builder;
  walk->stream = stream;
  walk->recipe = recipe;
  walk->host = recipe->host;
  walk->compiled = what->model->compiled;
  walk->hooks = &no_hooks;
  walk->element_bytes = model_precision_bytes(what->model->precision);
  walk->last = walk->waited = PROGRAM_NONE;
  walk->needs = g_array_new(FALSE, FALSE, sizeof(guint32));
  walk->live = g_byte_array_new();
  walk->reductions = g_array_new(FALSE, FALSE, sizeof(guint32));
  walk->holding = holding;
  walk->unties = holding->chunks[0].unit > 0;
  walk->n_units = holding->n_units;
  walk->units = g_new0(PlanUnit, walk->n_units);
  plan_exchanges_init(&walk->exchanges, walk);
  for (guint32 c = 0; c < holding->n_chunks; c++)
    for (guint32 u = holding->chunks[c].first; u < holding->chunks[c].first + holding->chunks[c].n; u++)
      add_unit(walk, what, u, holding->chunks[c].unit + u - holding->chunks[c].first);
  for (walk->place = 0; walk->place < holding->n_places; walk->place++)
    link_all(walk);
  walk->place = 0;
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
    for (int kind = 0; kind < MODEL_UNIT_VARIANTS; kind++) {
      model_unit_free(walk->kinds[training][kind]);
      for (int how = 0; how < MODEL_RECOMPUTES; how++)
        plan_lives_free(walk->lives[training][kind][how]);
      g_free(walk->forward_ops[training][kind]);
      g_free(walk->backward_ops[training][kind]);
      g_free(walk->keeping_ops[training][kind]);
    }
  for (int kind = 0; kind < MODEL_UNIT_VARIANTS; kind++)
    plan_halves_free(walk->halves[kind]);
  plan_exchanges_clear(&walk->exchanges);
  plan_parameters_free(walk->parameters);
  g_array_unref(walk->needs);
  g_array_unref(walk->reductions);
  g_free(walk->pending.data);
  g_byte_array_unref(walk->live);
  g_free(walk->held);
  g_free(walk);
}
