/* SPDX-License-Identifier: MIT */
/* The trainable parameters of a model in one row, in order of definition, as frameworks flatten and bucket them.
 *
 *   const PlanParameters *parameters = walk->parameters;
 *   guint p = plan_parameters_find(parameters, unit, index);      // a tied head's matrix: the embedding's
 *
 * A tied matrix gets its gradient in two parts: the head's first, the embedding's completes it. Frozen parameters are
 * not in the row. Private to this floor. */
#pragma once

#include "plan-walk.h"

typedef struct {
  const char *name;
  guint32 unit;
  guint index; /* among the unit's */
  guint64 elements;
  guint64 offset; /* of its first element in the row, of those apart among themselves */
  gboolean apart; /* of experts that other ranks hold than hold the rest: PlanRecipe.experts_apart */
} PlanParameter;

#define PLAN_NO_PARAMETER G_MAXUINT

typedef struct PlanParameters {
  PlanParameter *list;
  guint n;
  guint64 elements; /* of all */
  guint64 apart;    /* of those that are */
  guint **of_unit;  /* by unit and index: place in the list, PLAN_NO_PARAMETER where it is frozen */
  guint32 n_units;
} PlanParameters;

PlanParameters *plan_parameters_new(const PlanWalk *walk);
/* Frozen ones too. */
PlanParameters *plan_parameters_all(const PlanWalk *walk);
void plan_parameters_free(PlanParameters *parameters);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PlanParameters, plan_parameters_free)

static inline guint plan_parameters_find(const PlanParameters *parameters, guint32 unit, guint index) {
  return parameters->of_unit[unit][index];
}
/* The parameter of a place in the row, with its shape. */
static inline const ModelParameter *plan_parameters_model(const PlanParameters *parameters, const PlanWalk *walk,
                                                          guint p) {
  return &walk->units[parameters->list[p].unit].unit->parameters[parameters->list[p].index];
}
/* Places in the row in the order in which backward completes their gradients; caller frees. */
guint *plan_parameters_ready(const PlanParameters *parameters, const PlanWalk *walk);
/* "layer3.q_proj.weight.SUFFIX" for each, as Program tensors of `element_bytes`; caller frees. */
guint32 *plan_parameters_tensors(const PlanParameters *parameters, const PlanWalk *walk, const char *suffix,
                                 guint8 tenant, guint32 element_bytes);
