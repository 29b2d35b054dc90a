/* Tables baseline and baseline_setting. */
#include "store-baseline.h"

#include <string.h>

#include "store-writer.h"

#define ACCEPTING "accepting a baseline"

typedef struct {
  const char *budget;
  GArray *rows;
} Reading;

static void baseline_clear(gpointer data) {
  StoreBaseline *baseline = data;
  g_free(baseline->metric);
  g_free(baseline->value);
  g_free(baseline->model_version);
  g_free(baseline->reason);
}

static void setting_clear(gpointer data) {
  RunSetting *setting = data;
  g_free(setting->name);
  g_free(setting->value);
  g_free(setting->origin);
}

static void take_baseline(int n, const char *const *names, const char *const *values, gpointer user) {
  (void)n, (void)names;
  Reading *reading = user;
  if (strcmp(values[0], reading->budget) != 0)
    return;
  StoreBaseline baseline = {g_strdup(values[1]), g_strdup(values[2]), g_strdup(values[3]), g_strdup(values[4])};
  g_array_append_val(reading->rows, baseline);
}

static void take_setting(int n, const char *const *names, const char *const *values, gpointer user) {
  (void)n, (void)names;
  Reading *reading = user;
  if (strcmp(values[0], reading->budget) != 0)
    return;
  RunSetting setting = {g_strdup(values[1]), g_strdup(values[2]), g_strdup(values[3]), FALSE};
  g_array_append_val(reading->rows, setting);
}

static GArray *read_rows(StoreDb *db, const char *budget, const char *sql, StoreRow row, guint size,
                         GDestroyNotify clear, GError **error) {
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, size);
  g_array_set_clear_func(rows, clear);
  Reading reading = {budget, rows};
  return store_db_query(db, sql, 0, row, &reading, error) ? g_steal_pointer(&rows) : NULL;
}

GArray *store_db_baselines(StoreDb *db, const char *budget, GError **error) {
  return read_rows(db, budget,
                   "SELECT budget, metric, value, model_version, reason FROM baseline ORDER BY budget, metric",
                   take_baseline, sizeof(StoreBaseline), baseline_clear, error);
}

GArray *store_db_baseline_recipe(StoreDb *db, const char *budget, GError **error) {
  return read_rows(db, budget, "SELECT budget, name, value, origin FROM baseline_setting ORDER BY budget, name",
                   take_setting, sizeof(RunSetting), setting_clear, error);
}

char *store_metric_value(const StoreMetric *metric, const RunReport *report) {
  if (metric->text != NULL)
    return g_strdup(metric->text(report));
  if (metric->integer != NULL && metric->optional && metric->integer(report) == 0)
    return NULL;
  if (metric->integer != NULL)
    return g_strdup_printf("%" G_GINT64_FORMAT, metric->integer(report));
  double value = metric->number(report);
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  return metric->optional && value == 0 ? NULL : g_strdup(g_ascii_dtostr(text, sizeof text, value));
}

static gboolean forget(StoreDb *db, const char *budget, GError **error) {
  static const char *const sqls[] = {"DELETE FROM baseline WHERE budget = ?1",
                                     "DELETE FROM baseline_setting WHERE budget = ?1"};
  for (gsize i = 0; i < G_N_ELEMENTS(sqls); i++) {
    sqlite3_stmt *statement = store_db_prepare(db, sqls[i], ACCEPTING, error);
    if (statement == NULL)
      return FALSE;
    sqlite3_bind_text(statement, 1, budget, -1, SQLITE_STATIC);
    gboolean good = sqlite3_step(statement) == SQLITE_DONE || store_db_fail(db, ACCEPTING, error);
    sqlite3_finalize(statement);
    if (!good)
      return FALSE;
  }
  return TRUE;
}

static gboolean accept_all(StoreDb *db, const char *budget, const RunReport *report, const StoreMetric *const *metrics,
                           guint n, const char *reason, GError **error) {
  StoreWriter writer = {.db = db, .error = error};
  for (guint i = 0; i < n; i++) {
    g_autofree char *value = store_metric_value(metrics[i], report);
    store_writer_begin(&writer, STORE_BASELINE);
    const char *const texts[] = {budget, metrics[i]->name, value, RUN_MODEL_VERSION, reason};
    for (gsize t = 0; t < G_N_ELEMENTS(texts); t++)
      store_writer_text(&writer, texts[t]);
    store_writer_end(&writer);
  }
  for (guint32 i = 0; i < report->identity.n_settings; i++) {
    const RunSetting *setting = &report->identity.settings[i];
    if (strcmp(setting->origin, "default") == 0)
      continue;
    store_writer_begin(&writer, STORE_BASELINE_SETTING);
    const char *const texts[] = {budget, setting->name, setting->value, setting->origin};
    for (gsize t = 0; t < G_N_ELEMENTS(texts); t++)
      store_writer_text(&writer, texts[t]);
    store_writer_end(&writer);
  }
  return !writer.failed;
}

gboolean store_db_accept(StoreDb *db, const char *budget, const RunReport *report, const StoreMetric *const *metrics,
                         guint n, const char *reason, GError **error) {
  if (!store_db_begin(db, error))
    return FALSE;
  gboolean good = forget(db, budget, error) && accept_all(db, budget, report, metrics, n, reason, error);
  return store_db_end(db, good, error) && good;
}
