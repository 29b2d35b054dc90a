/* SPDX-License-Identifier: MIT */
/* Units that differ in sizes alone. */
#include <string.h>

#include "model-unit.h"

/* Names are static: mostly the same ones. */
static gboolean same_name(const char *a, const char *b) {
  return a == b || strcmp(a, b) == 0;
}

static gboolean parameters_alike(const ModelParameter *a, const ModelParameter *b) {
  return same_name(a->name, b->name) && a->elements == b->elements && a->rows == b->rows && a->shared == b->shared &&
         a->frozen == b->frozen && a->fp8 == b->fp8 && a->place == b->place && a->whole == b->whole &&
         a->expert == b->expert && a->copies == b->copies && a->packed == b->packed && a->constants == b->constants &&
         a->uncast == b->uncast;
}

static gboolean tensors_alike(const ModelTensor *a, const ModelTensor *b) {
  return same_name(a->name, b->name) && a->role == b->role && a->side == b->side && a->scratch == b->scratch;
}

static gboolean exchanges_alike(const ModelExchange *a, const ModelExchange *b) {
  return a->kind == b->kind && a->axis == b->axis && (a->far_bytes > 0) == (b->far_bytes > 0) && a->steps == b->steps &&
         a->asynchronous == b->asynchronous && a->chunks == b->chunks && a->awaited_by == b->awaited_by &&
         a->follows == b->follows;
}

static gboolean ops_alike(const ModelOp *a, const ModelOp *b, guint n) {
  for (guint i = 0; i < n; i++, a++, b++)
    if (!same_name(a->name, b->name) || a->pieces != b->pieces || a->in_function != b->in_function ||
        a->counted != b->counted || !exchanges_alike(&a->exchange, &b->exchange) || a->reads != b->reads ||
        a->writes != b->writes || a->saves != b->saves || a->uses != b->uses || a->gradient_of != b->gradient_of ||
        a->also_gradient_of != b->also_gradient_of || a->joins != b->joins)
      return FALSE;
  return TRUE;
}

gboolean model_unit_alike(const ModelUnit *a, const ModelUnit *b) {
  if (a->kind != b->kind || a->n_parameters != b->n_parameters || a->n_tensors != b->n_tensors ||
      a->n_forward != b->n_forward || a->n_backward != b->n_backward || a->n_keeping != b->n_keeping)
    return FALSE;
  for (guint p = 0; p < a->n_parameters; p++)
    if (!parameters_alike(&a->parameters[p], &b->parameters[p]))
      return FALSE;
  for (guint t = 0; t < a->n_tensors; t++)
    if (!tensors_alike(&a->tensors[t], &b->tensors[t]))
      return FALSE;
  return ops_alike(a->forward, b->forward, a->n_forward) && ops_alike(a->backward, b->backward, a->n_backward) &&
         ops_alike(a->keeping, b->keeping, a->n_keeping);
}
