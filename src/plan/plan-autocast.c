/* SPDX-License-Identifier: MIT */
/* Copies of weights by unit, gradients by parameter: one tensor and one cast each. */
#include "plan-autocast.h"

#include "mem-tenant.h"
#include "plan-parameters.h"

struct PlanAutocast {
  PlanWalk *walk;
  gboolean caches;
  guint32 *weights, *frozen; /* by unit: tensors of its 16-bit copies; PROGRAM_NONE: it has none */
  guint32 *weight_ops;       /* by unit: their cast */
  guint32 *parts, *part_ops; /* by parameter: its gradient as backward makes it, and its cast */
};

static guint32 copies(PlanWalk *walk, guint64 elements, guint32 compute_bytes) {
  return elements == 0
             ? PROGRAM_NONE
             : program_builder_tensor(walk->builder, "16-bit weights", MEM_TEMPORARY, elements * compute_bytes, 0);
}

static void add_weights(PlanAutocast *autocast, guint32 bytes, guint32 compute_bytes) {
  PlanWalk *walk = autocast->walk;
  autocast->weights = g_new(guint32, walk->n_units);
  autocast->frozen = g_new(guint32, walk->n_units);
  autocast->weight_ops = g_new(guint32, walk->n_units);
  for (guint32 u = 0; u < walk->n_units; u++) {
    const ModelUnit *unit = walk->units[u].unit;
    guint64 elements = model_unit_cast_elements(unit), frozen = model_unit_cast_frozen(unit);
    autocast->weights[u] = copies(walk, elements - frozen, compute_bytes);
    autocast->frozen[u] = copies(walk, frozen, compute_bytes);
    if (elements > 0)
      autocast->weight_ops[u] = program_builder_memory_op(walk->builder, elements * (bytes + compute_bytes));
  }
}

PlanAutocast *plan_autocast_new(PlanWalk *walk, guint32 bytes, guint32 compute_bytes, gboolean caches) {
  PlanAutocast *autocast = g_new0(PlanAutocast, 1);
  const PlanParameters *parameters = walk->parameters;
  autocast->walk = walk;
  autocast->caches = caches;
  autocast->parts = plan_parameters_tensors(parameters, walk, "new_grad", MEM_TEMPORARY, compute_bytes);
  autocast->part_ops = g_new(guint32, parameters->n);
  for (guint p = 0; p < parameters->n; p++)
    autocast->part_ops[p] =
        program_builder_memory_op(walk->builder, parameters->list[p].elements * (compute_bytes + bytes));
  add_weights(autocast, bytes, compute_bytes);
  return autocast;
}

void plan_autocast_free(PlanAutocast *autocast) {
  if (autocast == NULL)
    return;
  g_free(autocast->weights);
  g_free(autocast->frozen);
  g_free(autocast->weight_ops);
  g_free(autocast->parts);
  g_free(autocast->part_ops);
  g_free(autocast);
}

static gboolean has_copies(const PlanAutocast *autocast, guint32 unit) {
  return autocast != NULL && (autocast->weights[unit] != PROGRAM_NONE || autocast->frozen[unit] != PROGRAM_NONE);
}

static gboolean drops_copies(const PlanAutocast *autocast, guint32 unit) {
  const PlanWalk *walk = autocast->walk;
  gint32 layer = walk->units[unit].layer;
  return !plan_walk_has_backward(walk, unit) ||
         (layer >= 0 && plan_checkpointing_whole(&walk->recipe->checkpointing, (guint32)layer));
}

static void take(PlanAutocast *autocast, guint32 copies) {
  if (copies != PROGRAM_NONE)
    plan_walk_take(autocast->walk, copies);
}

static void give(PlanAutocast *autocast, guint32 copies) {
  if (copies != PROGRAM_NONE)
    plan_walk_give(autocast->walk, copies, PROGRAM_NONE);
}

static void cast_weights(PlanAutocast *autocast, guint32 unit, ProgramPhase phase) {
  PlanWalk *walk = autocast->walk;
  program_builder_context(walk->builder, phase, walk->units[unit].layer, (gint32)walk->micro);
  plan_walk_pass(walk, walk->stream, "cast weights", autocast->weight_ops[unit]);
  take(autocast, autocast->weights[unit]);
  take(autocast, autocast->frozen[unit]);
}

void plan_autocast_before_unit(PlanAutocast *autocast, guint32 unit, PlanPass pass) {
  if (!has_copies(autocast, unit))
    return;
  if (pass == PLAN_FORWARD)
    cast_weights(autocast, unit, PROGRAM_FORWARD);
  if (pass == PLAN_BACKWARD && plan_walk_has_backward(autocast->walk, unit) && drops_copies(autocast, unit))
    cast_weights(autocast, unit, PROGRAM_RECOMPUTE);
}

void plan_autocast_after_unit(PlanAutocast *autocast, guint32 unit, PlanPass pass) {
  if (!has_copies(autocast, unit))
    return;
  gboolean read = pass == PLAN_FORWARD ? drops_copies(autocast, unit)
                                       : pass == PLAN_BACKWARD && plan_walk_has_backward(autocast->walk, unit);
  if (read)
    give(autocast, autocast->frozen[unit]);
  if (read && !(pass == PLAN_FORWARD && autocast->caches))
    give(autocast, autocast->weights[unit]);
}

void plan_autocast_forward_ended(PlanAutocast *autocast) {
  for (guint32 u = 0; autocast != NULL && autocast->caches && u < autocast->walk->n_units; u++)
    if (has_copies(autocast, u) && drops_copies(autocast, u))
      give(autocast, autocast->weights[u]);
}

void plan_autocast_gradient(PlanAutocast *autocast, const PlanGradient *gradient) {
  if (autocast == NULL)
    return;
  PlanWalk *walk = autocast->walk;
  guint p = gradient->parameter;
  if (walk->units[gradient->unit].unit->parameters[gradient->index].uncast)
    return;
  plan_walk_take(walk, autocast->parts[p]);
  plan_walk_pass(walk, walk->stream, "gradient to fp32", autocast->part_ops[p]);
  plan_walk_give(walk, autocast->parts[p], PROGRAM_NONE);
}
