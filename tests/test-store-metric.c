/* SPDX-License-Identifier: MIT */
/* The table of metrics is the table run. */
#include <string.h>

#include "harness.h"
#include "report-sample.h"
#include "store-db.h"
#include "store-metric.h"

static void are_found_by_name_and_column(void) {
  const StoreMetric *step = store_metric_find("step");
  CU_ASSERT_PTR_NOT_NULL_FATAL(step);
  CU_ASSERT_STRING_EQUAL(step->column, "step_ps");
  CU_ASSERT_EQUAL(step->unit, STORE_TIME);
  CU_ASSERT_EQUAL(step->better, STORE_LESS);
  CU_ASSERT_PTR_EQUAL(store_metric_find("step_ps"), step);
  CU_ASSERT_EQUAL(store_metric_find("model_flops_utilisation")->better, STORE_MORE);
  CU_ASSERT_PTR_NULL(store_metric_find("speed"));
  CU_ASSERT_PTR_NULL(store_metric_find(""));
}

/* The rule of names: times end in _ps, sizes in _bytes, and the name is the column without that ending. */
static void names_follow_columns(void) {
  g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
  for (gsize i = 0; i < store_n_metrics; i++) {
    const StoreMetric *metric = &store_metrics[i];
    g_autofree char *name = g_strdup(metric->column);
    if (g_str_has_suffix(name, "_ps"))
      name[strlen(name) - strlen("_ps")] = '\0';
    else if (g_str_has_suffix(name, "_bytes"))
      name[strlen(name) - strlen("_bytes")] = '\0';
    CU_ASSERT_STRING_EQUAL(metric->name, name);
    CU_ASSERT_EQUAL(metric->unit == STORE_TIME, g_str_has_suffix(metric->column, "_ps"));
    CU_ASSERT_EQUAL((metric->field != NULL) + (metric->make != NULL), 1);
    CU_ASSERT_EQUAL(store_metric_get(metric, report).kind == RUN_STRING, metric->unit == STORE_TEXT);
    if (metric->field != NULL)
      CU_ASSERT_STRING_EQUAL(metric->field->key, metric->column);
    CU_ASSERT_TRUE(metric->help != NULL && *metric->help != '\0');
    CU_ASSERT_PTR_EQUAL(store_metric_find(metric->name), metric);
  }
}

static void append_name(G_GNUC_UNUSED int n, G_GNUC_UNUSED const char *const *names, const char *const *values,
                        gpointer user) {
  g_string_append_printf(user, "%s\n", values[0]);
}

static char *columns_of(StoreDb *db, const char *table) {
  GString *text = g_string_new(NULL);
  g_autofree char *sql = g_strdup_printf("SELECT name FROM pragma_table_info('%s')", table);
  CU_ASSERT_TRUE(store_db_query(db, sql, 0, append_name, text, NULL));
  return g_string_free(text, FALSE);
}

static void are_the_columns_of_the_database(void) {
  g_autoptr(StoreDb) db = store_db_open(":memory:", NULL);
  g_autoptr(GString) run = g_string_new("run_id\n");
  g_autoptr(GString) rank_class = g_string_new("run_id\nrank_class\nranks\nfirst_rank\nrole\n");
  for (gsize i = 0; i < store_n_metrics; i++) {
    g_string_append_printf(run, "%s\n", store_metrics[i].column);
    if (store_metrics[i].per_class)
      g_string_append_printf(rank_class, "%s\n", store_metrics[i].column);
  }
  g_autofree char *run_columns = columns_of(db, "run"), *class_columns = columns_of(db, "rank_class");
  CU_ASSERT_STRING_EQUAL(run_columns, run->str);
  CU_ASSERT_STRING_EQUAL(class_columns, rank_class->str);
}

/* Times are of the slowest class, memory of the tightest; a class sees both of itself. */
static void read_the_class_that_stands_for_the_step(void) {
  g_autoptr(RunReport) report = report_sample(0, SAMPLE_CAPACITY);
  report->classes[0].device_used += 5;
  report->classes[1].verdict = RUN_FITS;
  const StoreMetric *step = store_metric_find("step"), *used = store_metric_find("device_used");
  const StoreMetric *verdict = store_metric_find("verdict"), *share = store_metric_find("exposed_share");
  CU_ASSERT_EQUAL(store_metric_get(step, report).integer, report->classes[1].step);
  CU_ASSERT_EQUAL(store_metric_get(used, report).integer, (gint64)report->classes[0].device_used);
  CU_ASSERT_STRING_EQUAL(store_metric_get(verdict, report).string, "oom");
  for (guint32 i = 0; i < 2; i++) {
    const RunClass *rank_class = &report->classes[i];
    RunReport view = store_metric_class_view(report, i);
    CU_ASSERT_EQUAL(store_metric_get(step, &view).integer, rank_class->step);
    CU_ASSERT_EQUAL(store_metric_get(used, &view).integer, (gint64)rank_class->device_used);
    CU_ASSERT_STRING_EQUAL(store_metric_get(verdict, &view).string, i == 0 ? "oom" : "fits");
    CU_ASSERT_EQUAL(store_metric_get(share, &view).real, (double)rank_class->exposed / (double)rank_class->step);
  }
}

int main(void) {
  return harness_run(
      "store-metric",
      (HarnessCase[]){{"are found by name and column", are_found_by_name_and_column},
                      {"names follow columns", names_follow_columns},
                      {"are the columns of the database", are_the_columns_of_the_database},
                      {"read the class that stands for the step", read_the_class_that_stands_for_the_step},
                      {NULL, NULL}});
}
