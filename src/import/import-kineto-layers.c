/* SPDX-License-Identifier: MIT */
/* Scopes, numbered operations and notes, looked up by thread and time. */
#include "import-kineto-layers.h"

#include <string.h>

#define BACK 64 /* what began last is looked at for one that holds a time: so deep modules and operations are nested */

/* "autograd::engine::evaluate_function: AddmmBackward0" */
static gboolean is_matmul(const char *name) {
  static const char *const names[] = {"aten::mm",     "aten::addmm",      "aten::bmm",       "aten::baddbmm",
                                      "aten::linear", "aten::matmul",     "MmBackward0",     "AddmmBackward0",
                                      "BmmBackward0", "BaddbmmBackward0", "LinearBackward0", NULL};
  const char *colon = strrchr(name, ' ');
  return g_strv_contains(names, colon != NULL ? colon + 1 : name);
}

void import_kineto_keep_op(ImportKinetoTrace *trace, const ImportKinetoEvent *event, BaseSpan at) {
  ImportKinetoOp op = {.at = at,
                       .thread = import_kineto_number(event->tid),
                       .sequence = import_kineto_number(event->sequence),
                       .backward = import_kineto_number(event->forward) > 0,
                       .matmul = is_matmul(event->name->str),
                       .layer = IMPORT_KINETO_NONE};
  if (op.sequence >= 0)
    g_array_append_val(trace->ops, op);
}

/* What scopes, operations and notes begin with. */
typedef struct {
  BaseSpan at;
  gint64 thread;
} OnThread;

/* Of elements in order: how many begin by then. */
static guint begun_by(const GArray *array, SimTime at) {
  guint size = g_array_get_element_size((GArray *)array), low = 0, high = array->len;
  while (low < high) {
    guint mid = low + (high - low) / 2;
    if (((const BaseSpan *)(gpointer)(array->data + (gsize)mid * size))->start <= at)
      low = mid + 1;
    else
      high = mid;
  }
  return low;
}

static gboolean holds(BaseSpan span, SimTime at) {
  return at >= span.start && at < span.end;
}

gconstpointer import_kineto_around(const GArray *array, gint64 thread, SimTime at, guint *back) {
  guint size = g_array_get_element_size((GArray *)array);
  for (guint begun = begun_by(array, at); *back < MIN(BACK, begun);) {
    const OnThread *one = (const OnThread *)(gpointer)(array->data + (gsize)(begun - ++*back) * size);
    if (one->thread == thread && holds(one->at, at))
      return one;
  }
  return NULL;
}

const ImportKinetoScope *import_kineto_scope(const ImportKinetoTrace *trace, gint64 thread, SimTime at) {
  return import_kineto_around(trace->scopes, thread, at, &(guint){0});
}

const ImportKinetoOp *import_kineto_op(const ImportKinetoTrace *trace, gint64 thread, SimTime at) {
  return import_kineto_around(trace->ops, thread, at, &(guint){0});
}

void import_kineto_place_ops(ImportKinetoTrace *trace) {
  g_autoptr(GHashTable) layers = g_hash_table_new(g_int64_hash, g_int64_equal);
  g_array_sort(trace->ops, base_span_compare);
  for (guint i = 0; i < trace->ops->len; i++) {
    ImportKinetoOp *op = &g_array_index(trace->ops, ImportKinetoOp, i);
    gpointer found;
    if (op->backward) {
      if (g_hash_table_lookup_extended(layers, &op->sequence, NULL, &found))
        op->layer = GPOINTER_TO_INT(found);
      continue;
    }
    const ImportKinetoScope *scope = import_kineto_scope(trace, op->thread, op->at.start);
    op->layer = scope != NULL ? scope->layer : IMPORT_KINETO_NONE;
    g_hash_table_replace(layers, &op->sequence, GINT_TO_POINTER(op->layer));
  }
}
