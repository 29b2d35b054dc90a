/* SPDX-License-Identifier: MIT */
/* The row of parameters. */
#include "plan-parameters.h"

#include "base-error.h"

/* The embedding's matrix that a tied head shares: it is on the same rank, in its first unit. */
static guint shared_with(const PlanWalk *walk, guint *const *of_unit, const ModelParameter *shared) {
  const ModelUnit *embedding = walk->units[0].unit;
  guint p = 0;
  while (p < embedding->n_parameters && embedding->parameters[p].elements != shared->elements)
    p++;
  sim_require(p < embedding->n_parameters, 0, NULL, "the head shares \"%s\" with no parameter of the embedding",
              shared->name);
  return of_unit[0][p];
}

static PlanParameters *list_parameters(const PlanWalk *walk, gboolean frozen_too) {
  PlanParameters *parameters = g_new0(PlanParameters, 1);
  GArray *list = g_array_new(FALSE, FALSE, sizeof(PlanParameter));
  parameters->n_units = walk->n_units;
  parameters->of_unit = g_new(guint *, walk->n_units);
  for (guint32 u = 0; u < walk->n_units; u++) {
    const ModelUnit *unit = walk->units[u].unit;
    parameters->of_unit[u] = g_new(guint, unit->n_parameters);
    for (guint p = 0; p < unit->n_parameters; p++) {
      const ModelParameter *shape = &unit->parameters[p];
      parameters->of_unit[u][p] = PLAN_NO_PARAMETER;
      if (shape->shared)
        parameters->of_unit[u][p] = shared_with(walk, parameters->of_unit, shape);
      if (shape->shared || (shape->frozen && !frozen_too))
        continue;
      gboolean apart = shape->expert && walk->recipe->experts_apart;
      guint64 offset = apart ? parameters->apart : parameters->elements - parameters->apart;
      PlanParameter parameter = {shape->name, u, p, shape->elements, offset, apart};
      parameters->of_unit[u][p] = list->len;
      parameters->elements += shape->elements;
      parameters->apart += apart ? shape->elements : 0;
      g_array_append_val(list, parameter);
    }
  }
  parameters->n = list->len;
  parameters->list = (PlanParameter *)(gpointer)g_array_free(list, FALSE);
  return parameters;
}

PlanParameters *plan_parameters_new(const PlanWalk *walk) {
  return list_parameters(walk, FALSE);
}

PlanParameters *plan_parameters_all(const PlanWalk *walk) {
  return list_parameters(walk, TRUE);
}

void plan_parameters_free(PlanParameters *parameters) {
  if (parameters == NULL)
    return;
  for (guint32 u = 0; u < parameters->n_units; u++)
    g_free(parameters->of_unit[u]);
  g_free(parameters->of_unit);
  g_free(parameters->list);
  g_free(parameters);
}

guint *plan_parameters_ready(const PlanParameters *parameters, const PlanWalk *walk) {
  guint *ready = g_new(guint, parameters->n), n = 0;
  for (guint32 u = walk->n_units; u-- > 0;) {
    const ModelUnit *unit = walk->units[u].unit;
    for (guint i = 0; i < unit->n_backward; i++) {
      const int of[] = {unit->backward[i].gradient_of, unit->backward[i].also_gradient_of};
      for (guint k = 0; k < G_N_ELEMENTS(of); k++)
        if (of[k] >= 0 && !unit->parameters[of[k]].shared && !unit->parameters[of[k]].frozen)
          ready[n++] = plan_parameters_find(parameters, u, (guint)of[k]);
    }
  }
  sim_require(n == parameters->n, 0, NULL, "%u of %u parameters get a gradient", n, parameters->n);
  return ready;
}

guint32 *plan_parameters_tensors(const PlanParameters *parameters, const PlanWalk *walk, const char *suffix,
                                 guint8 tenant, guint32 element_bytes) {
  guint32 *tensors = g_new(guint32, parameters->n);
  for (guint i = 0; i < parameters->n; i++) {
    const PlanParameter *parameter = &parameters->list[i];
    g_autofree char *name = plan_unit_tensor_name(&walk->units[parameter->unit], parameter->name, suffix);
    tensors[i] = program_builder_tensor(walk->builder, name, tenant, parameter->elements * element_bytes, 0);
  }
  return tensors;
}
