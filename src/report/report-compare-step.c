/* SPDX-License-Identifier: MIT */
/* A run of the database as a step with its leaves. */
#include "report-compare-step.h"

#include <string.h>

#include "base-names.h"
#include "base-span.h"
#include "report-purpose.h"

const char *const report_kind_names[] = {"compute", "exposed", "idle", NULL};

static void take_metrics(ReportStep *step) {
  step->metrics = g_new0(char *, store_n_metrics);
  for (gsize m = 0; m < store_n_metrics; m++)
    step->metrics[m] = store_value_text(store_metric_get(&store_metrics[m], step->report));
}

static void add_part(ReportStep *step, ReportPart fresh) {
  for (guint i = 0; i < step->parts->len; i++) {
    ReportPart *part = &g_array_index(step->parts, ReportPart, i);
    if (part->kind == fresh.kind && g_strcmp0(part->what, fresh.what) == 0 && part->purpose == fresh.purpose &&
        g_strcmp0(part->cause, fresh.cause) == 0) {
      part->time += fresh.time;
      return;
    }
  }
  g_array_append_val(step->parts, fresh);
}

static const char *purpose_of(const RunTask *task) {
  return task != NULL ? report_purpose_names[report_purpose(task)] : NULL;
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
      add_part(step, (ReportPart){REPORT_COMPUTE, task->phase, purpose_of(task), NULL, added * task->repeats});
  }
}

static void take_exposures(ReportStep *step) {
  const RunClass *of = run_report_slowest(step->report);
  for (guint32 i = 0; i < of->n_exposures; i++) {
    const RunExposure *piece = &of->exposures[i];
    const RunTask *task = run_class_task(of, piece->row);
    add_part(step, (ReportPart){run_cause_is_idle(piece->cause) ? REPORT_IDLE : REPORT_EXPOSED,
                                task != NULL ? task->name : NULL, purpose_of(task), run_cause_names[piece->cause],
                                (piece->end - piece->start) * piece->repeats});
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
      add_part(step, (ReportPart){(ReportKind)kind, NULL, NULL, NULL, step->kinds[kind] - told});
  }
}

ReportStep *report_step_new(RunReport *report, gint64 run_id, guint number_of) {
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

static gboolean has_timeline(const ReportStep *step) {
  return (step->report->missing & RUN_MISSING_TIMELINE) == 0;
}

/* Beside a step of which only compute, exposed and idle time are known, others are no more than that. */
static void forget_parts(ReportStep *step) {
  g_array_set_size(step->parts, 0);
  fill_rest(step);
}

GPtrArray *report_steps(RunReport *const *reports, const gint64 *run_ids, guint n) {
  GPtrArray *steps = g_ptr_array_new_with_free_func((GDestroyNotify)report_step_free);
  gboolean known = TRUE;
  for (guint i = 0; i < n; i++) {
    ReportStep *step = report_step_new(reports[i], run_ids[i], i);
    known = known && has_timeline(step);
    g_ptr_array_add(steps, step);
  }
  for (guint i = 0; !known && i < n; i++)
    forget_parts(steps->pdata[i]);
  return steps;
}

RunReport **report_compare_load(StoreDb *db, const gint64 *run_ids, guint n, GError **error) {
  g_autoptr(GPtrArray) reports = g_ptr_array_new_with_free_func((GDestroyNotify)run_report_free);
  for (guint i = 0; i < n; i++) {
    RunReport *report = store_db_load(db, run_ids[i], TRUE, error);
    if (report == NULL)
      return NULL;
    g_ptr_array_add(reports, report);
  }
  return (RunReport **)g_ptr_array_steal(reports, NULL);
}

static const RunSetting *find_setting(const ReportStep *step, const char *name) {
  const RunIdentity *identity = &step->report->identity;
  for (guint32 i = 0; i < identity->n_settings; i++)
    if (strcmp(identity->settings[i].name, name) == 0)
      return &identity->settings[i];
  return NULL;
}

const char *report_setting(const ReportStep *step, const char *name) {
  const RunSetting *setting = find_setting(step, name);
  return setting != NULL ? setting->value : NULL;
}

static gboolean is_default(const ReportStep *without, const RunSetting *setting) {
  return (without->report->missing & RUN_MISSING_DETAILS) != 0 && setting != NULL &&
         (setting->usual || strcmp(setting->origin, "default") == 0);
}

gboolean report_setting_differs(const ReportStep *from, const ReportStep *to, const char *name) {
  const RunSetting *was = find_setting(from, name), *is = find_setting(to, name);
  if (was != NULL && is != NULL)
    return strcmp(was->value, is->value) != 0;
  return was == NULL ? !is_default(from, is) && is != NULL : !is_default(to, was);
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
  const char *what = view == REPORT_BY_LEAF ? part->what : NULL;
  const char *purpose = view != REPORT_BY_CAUSE ? part->purpose : NULL;
  const char *cause = view != REPORT_BY_PURPOSE ? part->cause : NULL;
  for (guint i = 0; i < rows->len; i++) {
    ReportRow *row = g_ptr_array_index(rows, i);
    if (row->kind == part->kind && g_strcmp0(row->what, what) == 0 && row->purpose == purpose &&
        g_strcmp0(row->cause, cause) == 0)
      return row;
  }
  ReportRow *row = g_new(ReportRow, 1);
  *row = (ReportRow){what, purpose, cause, part->kind, g_new0(SimTime, n)};
  g_ptr_array_add(rows, row);
  return row;
}

static gint by_cause(gconstpointer a, gconstpointer b) {
  const ReportRow *left = *(ReportRow *const *)a, *right = *(ReportRow *const *)b;
  int first = left->cause != NULL ? base_names_find(run_cause_names, left->cause) : RUN_CAUSES;
  int second = right->cause != NULL ? base_names_find(run_cause_names, right->cause) : RUN_CAUSES;
  return (first > second) - (first < second);
}

static gint by_purpose(gconstpointer a, gconstpointer b) {
  const ReportRow *left = *(ReportRow *const *)a, *right = *(ReportRow *const *)b;
  int first = left->purpose != NULL ? base_names_find(report_purpose_names, left->purpose) : REPORT_PURPOSES;
  int second = right->purpose != NULL ? base_names_find(report_purpose_names, right->purpose) : REPORT_PURPOSES;
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
  if (view == REPORT_BY_PURPOSE)
    g_ptr_array_sort(rows, by_purpose);
  return rows;
}
