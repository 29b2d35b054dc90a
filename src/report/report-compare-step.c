/* SPDX-License-Identifier: MIT */
/* A run of the database as a step with its leaves. */
#include "report-compare-step.h"

#include <string.h>

#include "base-names.h"
#include "base-span.h"

const char *const report_kind_names[] = {"compute", "exposed", "idle", NULL};

static void take_metrics(ReportStep *step) {
  step->metrics = g_new0(char *, store_n_metrics);
  for (gsize m = 0; m < store_n_metrics; m++)
    step->metrics[m] = store_value_text(store_metric_get(&store_metrics[m], step->report));
}

static void add_part(ReportStep *step, ReportKind kind, const char *what, const char *cause, SimTime time) {
  for (guint i = 0; i < step->parts->len; i++) {
    ReportPart *part = &g_array_index(step->parts, ReportPart, i);
    if (part->kind == kind && g_strcmp0(part->what, what) == 0 && g_strcmp0(part->cause, cause) == 0) {
      part->time += time;
      return;
    }
  }
  ReportPart part = {kind, what, cause, time};
  g_array_append_val(step->parts, part);
}

/* Each task what it adds to those that started before it, as the run measures their union. */
static void take_computes(ReportStep *step) {
  g_autoptr(GPtrArray) tasks = run_class_by_start(run_report_slowest(step->report));
  BaseCover cover = base_cover((BaseSpan){0, step->step});
  for (guint i = 0; i < tasks->len; i++) {
    const RunTask *task = g_ptr_array_index(tasks, i);
    SimTime added = strcmp(task->kind, "compute") == 0
                        ? base_span_length(base_cover_add(&cover, (BaseSpan){task->start, task->end}))
                        : 0;
    if (added > 0)
      add_part(step, REPORT_COMPUTE, task->phase, NULL, added * task->repeats);
  }
}

static void take_exposures(ReportStep *step) {
  const RunClass *of = run_report_slowest(step->report);
  for (guint32 i = 0; i < of->n_exposures; i++) {
    const RunExposure *piece = &of->exposures[i];
    const RunTask *task = run_class_task(of, piece->row);
    add_part(step, run_cause_is_idle(piece->cause) ? REPORT_IDLE : REPORT_EXPOSED, task != NULL ? task->name : NULL,
             run_cause_names[piece->cause], (piece->end - piece->start) * piece->repeats);
  }
}

/* A kind that the timeline does not tell apart is one leaf. */
static void fill_rest(ReportStep *step) {
  for (int kind = 0; kind < REPORT_KINDS; kind++) {
    SimTime told = 0;
    for (guint i = 0; i < step->parts->len; i++)
      if (g_array_index(step->parts, ReportPart, i).kind == (ReportKind)kind)
        told += g_array_index(step->parts, ReportPart, i).time;
    if (told != step->kinds[kind])
      add_part(step, (ReportKind)kind, NULL, NULL, step->kinds[kind] - told);
  }
}

ReportStep *report_step_load(StoreDb *db, gint64 run_id, guint number_of, GError **error) {
  RunReport *report = store_db_load(db, run_id, TRUE, error);
  if (report == NULL)
    return NULL;
  const RunClass *slowest = run_report_slowest(report);
  ReportStep *step = g_new0(ReportStep, 1);
  *step = (ReportStep){.run_id = run_id,
                       .report = report,
                       .step = slowest->step,
                       .kinds = {slowest->compute, slowest->exposed, slowest->idle},
                       .tenants = run_report_tightest(report)->peak_held};
  if (number_of < 26)
    g_snprintf(step->label, sizeof step->label, "%c", 'A' + (int)number_of);
  else
    g_snprintf(step->label, sizeof step->label, "#%u", number_of + 1);
  step->parts = g_array_new(FALSE, FALSE, sizeof(ReportPart));
  take_metrics(step);
  take_computes(step);
  take_exposures(step);
  fill_rest(step);
  return step;
}

void report_step_free(ReportStep *step) {
  if (step == NULL)
    return;
  for (gsize m = 0; m < store_n_metrics; m++)
    g_free(step->metrics[m]);
  g_free(step->metrics);
  g_array_unref(step->parts);
  run_report_free(step->report);
  g_free(step);
}

const char *report_step_metric(const ReportStep *step, const char *name) {
  const StoreMetric *metric = store_metric_find(name);
  return metric != NULL ? step->metrics[metric - store_metrics] : NULL;
}

static void row_free(gpointer data) {
  ReportRow *row = data;
  g_free(row->times);
  g_free(row);
}

static ReportRow *find_row(GPtrArray *rows, const ReportPart *part, ReportView view, guint n) {
  const char *what = view != REPORT_BY_CAUSE ? part->what : NULL, *cause = view != REPORT_BY_WHAT ? part->cause : NULL;
  for (guint i = 0; i < rows->len; i++) {
    ReportRow *row = g_ptr_array_index(rows, i);
    if (row->kind == part->kind && g_strcmp0(row->what, what) == 0 && g_strcmp0(row->cause, cause) == 0)
      return row;
  }
  ReportRow *row = g_new(ReportRow, 1);
  *row = (ReportRow){what, cause, part->kind, g_new0(SimTime, n)};
  g_ptr_array_add(rows, row);
  return row;
}

static gint by_cause(gconstpointer a, gconstpointer b) {
  const ReportRow *left = *(ReportRow *const *)a, *right = *(ReportRow *const *)b;
  int first = left->cause != NULL ? base_names_find(run_cause_names, left->cause) : RUN_CAUSES;
  int second = right->cause != NULL ? base_names_find(run_cause_names, right->cause) : RUN_CAUSES;
  return (first > second) - (first < second);
}

GPtrArray *report_rows(ReportStep *const *steps, guint n, ReportKind kind, ReportView view) {
  GPtrArray *rows = g_ptr_array_new_with_free_func(row_free);
  for (guint s = 0; s < n; s++)
    for (guint i = 0; i < steps[s]->parts->len; i++) {
      const ReportPart *part = &g_array_index(steps[s]->parts, ReportPart, i);
      if (kind == REPORT_KINDS || part->kind == kind)
        find_row(rows, part, view, n)->times[s] += part->time;
    }
  if (view == REPORT_BY_CAUSE)
    g_ptr_array_sort(rows, by_cause);
  return rows;
}
