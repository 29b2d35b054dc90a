/* SPDX-License-Identifier: MIT */
/* Tasks and exposures of a rank class to rows of boxes. */
#include "report-boxes.h"

#include <string.h>

/* Index of `text` in the names, appended where it is new. */
static guint place_of(GPtrArray *names, const char *text) {
  guint index;
  if (g_ptr_array_find_with_equal_func(names, text, g_str_equal, &index))
    return index;
  g_ptr_array_add(names, (gpointer)text);
  return names->len - 1;
}

/* Its row is there even where it lies outside the window. */
static void add_box(ReportBoxes *boxes, const ReportScene *scene, const char *row, ReportBox box) {
  box.start = MAX(box.start, scene->from);
  box.end = MIN(box.end, scene->to);
  box.row = place_of(boxes->rows, row);
  if (box.start < box.end)
    g_array_append_val(boxes->boxes, box);
}

static void add_gaps(ReportBoxes *boxes, const ReportScene *scene, gboolean idle) {
  for (guint32 i = 0; i < scene->of->n_exposures; i++) {
    const RunExposure *piece = &scene->of->exposures[i];
    if (run_cause_is_idle(piece->cause) == idle)
      add_box(boxes, scene, idle ? "idle" : "exposed",
              (ReportBox){piece->start, piece->end, 0, -1, run_cause_names[piece->cause], NULL, -1});
  }
}

static gboolean is_drawn(const RunTask *task) {
  return strcmp(task->kind, "host") != 0;
}

/* Streams of collectives before those of compute, each by name from the last; a stream's tasks by start. */
static gint by_stream(gconstpointer a, gconstpointer b, gpointer user) {
  GHashTable *computing = user;
  const RunTask *left = *(const RunTask *const *)a, *right = *(const RunTask *const *)b;
  gboolean computes = g_hash_table_contains(computing, left->stream);
  if (computes != g_hash_table_contains(computing, right->stream))
    return computes ? 1 : -1;
  int order = strcmp(right->stream, left->stream);
  if (order != 0)
    return order;
  if (left->start != right->start)
    return left->start < right->start ? -1 : 1;
  return (left->row > right->row) - (left->row < right->row);
}

static void add_tasks(ReportBoxes *boxes, const ReportScene *scene) {
  g_autoptr(GHashTable) computing = g_hash_table_new(g_str_hash, g_str_equal);
  g_autoptr(GPtrArray) tasks = g_ptr_array_new();
  for (guint32 i = 0; i < scene->of->n_tasks; i++) {
    const RunTask *task = &scene->of->tasks[i];
    if (strcmp(task->kind, "compute") == 0)
      g_hash_table_add(computing, (gpointer)task->stream);
    if (is_drawn(task))
      g_ptr_array_add(tasks, (gpointer)task);
  }
  g_ptr_array_sort_with_data(tasks, by_stream, computing);
  for (guint i = 0; i < tasks->len; i++) {
    const RunTask *task = tasks->pdata[i];
    const RunCollective *call = run_class_collective(scene->of, task->row);
    add_box(boxes, scene, task->stream,
            (ReportBox){task->start, task->end, 0, task->layer, call != NULL ? call->operation : task->phase,
                        task->name, -1});
  }
}

#define HOST_MATTERS 1000 /* from this part of the step on that waits for it */

/* Whether compute or communication waited for the host for long enough to be seen. */
static gboolean host_matters(const ReportScene *scene) {
  SimTime waited = 0;
  for (guint32 i = 0; i < scene->of->n_exposures; i++) {
    const RunExposure *piece = &scene->of->exposures[i];
    if (piece->cause == RUN_CAUSE_HOST || piece->cause == RUN_CAUSE_HOST_IDLE)
      waited += piece->end - piece->start;
  }
  return waited > 0 && waited >= (scene->to - scene->from) / HOST_MATTERS;
}

/* What the host spent on each row; between them it waits, or does what no row is of. */
static void add_host(ReportBoxes *boxes, const ReportScene *scene) {
  for (guint32 i = 0; i < scene->of->n_tasks; i++) {
    const RunTask *task = &scene->of->tasks[i];
    if (task->host > 0)
      add_box(boxes, scene, "host",
              (ReportBox){task->issued - task->host, task->issued, 0, task->layer, "issuing", task->name, -1});
  }
}

/* From below: idle, exposed, streams of collectives, streams of compute, the host. */
ReportBoxes *report_boxes_new(const ReportScene *scene) {
  ReportBoxes *boxes = g_new0(ReportBoxes, 1);
  boxes->boxes = g_array_new(FALSE, FALSE, sizeof(ReportBox));
  boxes->rows = g_ptr_array_new();
  add_gaps(boxes, scene, TRUE);
  add_gaps(boxes, scene, FALSE);
  boxes->n_gap_rows = boxes->rows->len;
  add_tasks(boxes, scene);
  if (host_matters(scene))
    add_host(boxes, scene);
  return boxes;
}

void report_boxes_free(ReportBoxes *boxes) {
  if (boxes == NULL)
    return;
  g_array_unref(boxes->boxes);
  g_ptr_array_unref(boxes->rows);
  g_free(boxes);
}

static gboolean joins(const ReportBox *last, const ReportBox *box, SimTime gap, SimTime narrow) {
  return last->row == box->row && strcmp(last->kind, box->kind) == 0 && last->layer == box->layer &&
         box->start - last->end <= gap && box->end - box->start < narrow &&
         (last->end - last->start < narrow || last->name == NULL);
}

void report_boxes_merge(ReportBoxes *boxes, SimTime gap, SimTime narrow) {
  guint kept = 0;
  for (guint i = 1; i < boxes->boxes->len; i++) {
    ReportBox *last = &g_array_index(boxes->boxes, ReportBox, kept);
    const ReportBox *box = &g_array_index(boxes->boxes, ReportBox, i);
    if (!joins(last, box, gap, narrow)) {
      g_array_index(boxes->boxes, ReportBox, ++kept) = *box;
      continue;
    }
    last->end = MAX(last->end, box->end);
    last->name = NULL;
  }
  g_array_set_size(boxes->boxes, boxes->boxes->len > 0 ? kept + 1 : 0);
}
