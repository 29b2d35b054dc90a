/* A run's rows in the database as a step with its leaves. */
#include "report-compare-step.h"

#include <string.h>

#include "base-error.h"
#include "base-names.h"

const char *const report_kind_names[] = {"compute", "exposed", "idle", NULL};

static gint64 number(const char *text) {
  return text != NULL ? g_ascii_strtoll(text, NULL, 10) : 0;
}

/* Columns of table run. */
static void take_metrics(int n, const char *const *names, const char *const *v, gpointer user) {
  ReportStep *step = user;
  step->metrics = g_new0(char *, store_n_metrics);
  for (int i = 0; i < n; i++)
    for (gsize m = 0; m < store_n_metrics; m++)
      if (strcmp(store_metrics[m].column, names[i]) == 0)
        step->metrics[m] = g_strdup(v[i]);
}

static void take_setting(G_GNUC_UNUSED int n, G_GNUC_UNUSED const char *const *names, const char *const *v,
                         gpointer user) {
  ReportStep *step = user;
  g_ptr_array_add(step->settings, g_strdup(v[0]));
  g_ptr_array_add(step->settings, g_strdup(v[1]));
}

static void take_tenant(G_GNUC_UNUSED int n, G_GNUC_UNUSED const char *const *names, const char *const *v,
                        gpointer user) {
  ReportStep *step = user;
  int tenant = base_names_find(run_tenant_names, v[0]);
  if (tenant >= 0)
    step->tenants[tenant] = (guint64)number(v[1]);
}

static void add_part(ReportStep *step, ReportKind kind, const char *what, const char *cause, SimTime time) {
  for (guint i = 0; i < step->parts->len; i++) {
    ReportPart *part = &g_array_index(step->parts, ReportPart, i);
    if (part->kind == kind && g_strcmp0(part->what, what) == 0 && g_strcmp0(part->cause, cause) == 0) {
      part->time += time;
      return;
    }
  }
  ReportPart part = {kind, what != NULL ? g_string_chunk_insert_const(step->names, what) : NULL,
                     cause != NULL ? g_string_chunk_insert_const(step->names, cause) : NULL, time};
  g_array_append_val(step->parts, part);
}

/* Compute tasks by start, as the run measures their union: what a task adds to what those before it have covered. */
typedef struct {
  ReportStep *step;
  SimTime covered;
} Union;

/* Columns: phase, start_ps, end_ps. */
static void take_compute(G_GNUC_UNUSED int n, G_GNUC_UNUSED const char *const *names, const char *const *v,
                         gpointer user) {
  Union *all = user;
  SimTime start = MAX(number(v[1]), all->covered), end = MIN(number(v[2]), all->step->step);
  if (end <= start)
    return;
  add_part(all->step, REPORT_COMPUTE, v[0], NULL, end - start);
  all->covered = end;
}

/* Columns: cause, name of the collective, time. */
static void take_exposure(G_GNUC_UNUSED int n, G_GNUC_UNUSED const char *const *names, const char *const *v,
                          gpointer user) {
  gboolean idle =
      strcmp(v[0], run_cause_names[RUN_CAUSE_BUBBLE]) == 0 || strcmp(v[0], run_cause_names[RUN_CAUSE_HOST_IDLE]) == 0;
  add_part(user, idle ? REPORT_IDLE : REPORT_EXPOSED, v[1], v[0], number(v[2]));
}

#define COMPUTES                                                                                                       \
  "SELECT phase, start_ps, end_ps FROM task JOIN run USING (run_id)"                                                   \
  " WHERE run_id = ?1 AND rank_class = slowest_class AND kind = 'compute' ORDER BY start_ps, task_id"
#define EXPOSURES                                                                                                      \
  "SELECT e.cause, t.name, e.end_ps - e.start_ps FROM exposure AS e JOIN run USING (run_id)"                           \
  " LEFT JOIN task AS t USING (run_id, rank_class, task_id)"                                                           \
  " WHERE run_id = ?1 AND e.rank_class = slowest_class ORDER BY e.start_ps"
#define TENANTS                                                                                                        \
  "SELECT tenant, bytes FROM memory_peak JOIN run USING (run_id) WHERE run_id = ?1 AND rank_class = tightest_class"

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

static gboolean load(ReportStep *step, StoreDb *db, GError **error) {
  if (!store_db_query(db, "SELECT * FROM run WHERE run_id = ?1", step->run_id, take_metrics, step, error))
    return FALSE;
  if (step->metrics == NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "no run %" G_GINT64_FORMAT, step->run_id);
    return FALSE;
  }
  step->step = number(report_step_metric(step, "step"));
  for (int kind = 0; kind < REPORT_KINDS; kind++)
    step->kinds[kind] = number(report_step_metric(step, report_kind_names[kind]));
  Union all = {step, 0};
  if (!store_db_query(db, "SELECT name, value FROM setting WHERE run_id = ?1 ORDER BY name", step->run_id, take_setting,
                      step, error) ||
      !store_db_query(db, COMPUTES, step->run_id, take_compute, &all, error) ||
      !store_db_query(db, EXPOSURES, step->run_id, take_exposure, step, error) ||
      !store_db_query(db, TENANTS, step->run_id, take_tenant, step, error))
    return FALSE;
  fill_rest(step);
  return TRUE;
}

ReportStep *report_step_load(StoreDb *db, gint64 run_id, guint number_of, GError **error) {
  g_autoptr(ReportStep) step = g_new0(ReportStep, 1);
  step->run_id = run_id;
  if (number_of < 26)
    g_snprintf(step->label, sizeof step->label, "%c", 'A' + (int)number_of);
  else
    g_snprintf(step->label, sizeof step->label, "#%u", number_of + 1);
  step->parts = g_array_new(FALSE, FALSE, sizeof(ReportPart));
  step->settings = g_ptr_array_new_with_free_func(g_free);
  step->names = g_string_chunk_new(256);
  return load(step, db, error) ? g_steal_pointer(&step) : NULL;
}

void report_step_free(ReportStep *step) {
  if (step == NULL)
    return;
  for (gsize m = 0; step->metrics != NULL && m < store_n_metrics; m++)
    g_free(step->metrics[m]);
  g_free(step->metrics);
  g_array_unref(step->parts);
  g_ptr_array_unref(step->settings);
  g_string_chunk_free(step->names);
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
