/* SPDX-License-Identifier: MIT */
/* Tasks of all stages to passes. */
#include "report-lanes.h"

#include <string.h>

gboolean report_lanes_has(const ReportScene *scene) {
  return scene->report->n_classes > 1 && scene->report->classes[0].role != NULL;
}

static gboolean is_weight(const RunTask *task) {
  return g_str_has_suffix(task->name, ".wgrad");
}

/* "backward" of kernels from `first` to `end`, all of one micro-batch; or, where gradients of weights come after all of
 * inputs, the first of them. */
static guint32 find_weights(const GPtrArray *tasks, guint32 first, guint32 end) {
  guint32 weights = end;
  for (guint32 i = first; i < end; i++) {
    const RunTask *task = tasks->pdata[i];
    if (is_weight(task))
      weights = MIN(weights, i);
    else if (g_str_has_suffix(task->name, ".dgrad") && weights < end)
      return end;
  }
  return weights;
}

static const char *kind_of(const RunTask *task) {
  return strcmp(task->phase, "recompute") == 0 ? "backward" : task->phase;
}

static void add_box(ReportBoxes *boxes, const ReportScene *scene, ReportBox box) {
  box.start = MAX(box.start, scene->from);
  box.end = MIN(box.end, scene->to);
  if (box.start < box.end)
    g_array_append_val(boxes->boxes, box);
}

/* Kernels from `first` to `end`: each, or all as one. */
static void add_pass(ReportBoxes *boxes, const ReportScene *scene, const GPtrArray *tasks, guint32 first, guint32 end,
                     const char *kind, gboolean whole) {
  guint row = boxes->rows->len;
  if (whole && first < end) {
    const RunTask *from = tasks->pdata[first], *last = tasks->pdata[end - 1];
    add_box(boxes, scene, (ReportBox){from->start, last->end, row, -1, kind, NULL, from->micro});
  }
  for (guint32 i = first; i < end && !whole; i++) {
    const RunTask *task = tasks->pdata[i];
    add_box(boxes, scene, (ReportBox){task->start, task->end, row, -1, kind, NULL, -1});
  }
}

/* Copies into and out of buffers run on streams of their own beside a pass, and do not cut it in two. */
static gboolean is_beside(const RunTask *task) {
  return strcmp(task->phase, "gather") == 0 || strcmp(task->phase, "reduce") == 0;
}

static void add_passes(ReportBoxes *boxes, const ReportScene *scene, const RunClass *of, gboolean whole) {
  g_autoptr(GPtrArray) all = run_class_by_start(of), tasks = g_ptr_array_new();
  for (guint i = 0; i < all->len; i++)
    if (strcmp(((const RunTask *)all->pdata[i])->kind, "compute") == 0 && !(whole && is_beside(all->pdata[i])))
      g_ptr_array_add(tasks, all->pdata[i]);
  for (guint32 first = 0, end; first < tasks->len; first = end) {
    const RunTask *task = tasks->pdata[first];
    for (end = first + 1; end < tasks->len; end++) {
      const RunTask *next = tasks->pdata[end];
      if (next->micro != task->micro || strcmp(kind_of(next), kind_of(task)) != 0)
        break;
    }
    gboolean backward = strcmp(kind_of(task), "backward") == 0;
    guint32 weights = backward ? find_weights(tasks, first, end) : end;
    add_pass(boxes, scene, tasks, first, weights, kind_of(task), whole);
    add_pass(boxes, scene, tasks, weights, end, "weights", whole);
  }
}

static void add_waits(ReportBoxes *boxes, const ReportScene *scene, const RunClass *of) {
  for (guint32 i = 0; i < of->n_exposures; i++) {
    const RunExposure *piece = &of->exposures[i];
    add_box(boxes, scene,
            (ReportBox){piece->start, piece->end, boxes->rows->len, -1, run_cause_names[piece->cause], NULL, -1});
  }
}

/* Of what stages send each other the sends alone: receives are waits. */
static void add_collectives(ReportBoxes *boxes, const ReportScene *scene, const RunClass *of) {
  for (guint32 i = 0; i < of->n_collectives; i++) {
    const RunCollective *call = &of->collectives[i];
    const RunTask *task = run_class_task(of, call->row);
    gboolean receives = task != NULL && g_str_has_prefix(task->stream, "receive");
    if (!receives)
      add_box(boxes, scene, (ReportBox){call->start, call->end, boxes->rows->len, -1, call->operation, NULL, -1});
  }
}

static gint by_row(gconstpointer a, gconstpointer b) {
  const ReportBox *left = a, *right = b;
  if (left->row != right->row)
    return left->row < right->row ? -1 : 1;
  return (left->start > right->start) - (left->start < right->start);
}

/* "stage 2", of "stage 2: layers 16-23". */
static char *name_of(const RunClass *of) {
  const char *end = of->role != NULL ? strchr(of->role, ':') : NULL;
  return end != NULL ? g_strndup(of->role, (gsize)(end - of->role)) : g_strdup(of->role != NULL ? of->role : "rank");
}

/* `whole`: passes alone, each a box. */
static ReportBoxes *lanes_of(const ReportScene *scene, gboolean whole) {
  const RunReport *report = scene->report;
  ReportBoxes *boxes = g_new0(ReportBoxes, 1);
  boxes->boxes = g_array_new(FALSE, FALSE, sizeof(ReportBox));
  boxes->rows = g_ptr_array_new();
  for (guint32 i = report->n_classes; i-- > 0;) {
    const RunClass *of = &report->classes[i];
    g_autofree char *name = name_of(of);
    if (!whole)
      add_collectives(boxes, scene, of);
    g_ptr_array_add(boxes->rows, (gpointer) "");
    add_passes(boxes, scene, of, whole);
    if (!whole)
      add_waits(boxes, scene, of);
    g_ptr_array_add(boxes->rows, g_string_chunk_insert_const(report->names, name));
  }
  g_array_sort(boxes->boxes, by_row);
  return boxes;
}

ReportBoxes *report_lanes_new(const ReportScene *scene) {
  return lanes_of(scene, FALSE);
}

ReportBoxes *report_lanes_passes(const ReportScene *scene) {
  return lanes_of(scene, TRUE);
}
