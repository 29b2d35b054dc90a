/* SPDX-License-Identifier: MIT */
/* Tables baseline and baseline_setting. */
#include "store-baseline.h"

#include <stddef.h>
#include <string.h>

#include "store-reader.h"
#include "store-writer.h"

static const RunField fields[] = {
    {"metric", "metric", RUN_TEXT, FALSE, offsetof(StoreBaseline, metric), sizeof(char *), NULL},
    {"value", "value", RUN_TEXT, TRUE, offsetof(StoreBaseline, value), sizeof(char *), NULL},
    {"model_version", "model_version", RUN_TEXT, FALSE, offsetof(StoreBaseline, model_version), sizeof(char *), NULL},
    {"reason", "reason", RUN_TEXT, FALSE, offsetof(StoreBaseline, reason), sizeof(char *), NULL},
};
const RunRecord store_record_baseline = {fields, G_N_ELEMENTS(fields), sizeof(StoreBaseline)};

#define ACCEPTING "accepting a baseline"

static void baseline_clear(gpointer row) {
  run_record_clear(&store_record_baseline, row);
}

static void setting_clear(gpointer row) {
  run_record_clear(&run_record_setting, row);
}

GArray *store_db_baselines(StoreDb *db, const char *budget, GError **error) {
  const StoreReader reader = {db, "baseline", &store_record_baseline, "budget = ?1 ORDER BY metric", .text = budget};
  return store_reader_rows(&reader, NULL, baseline_clear, error);
}

GArray *store_db_baseline_recipe(StoreDb *db, const char *budget, GError **error) {
  const StoreReader reader = {db, "baseline_setting", &run_record_setting, "budget = ?1 ORDER BY name", .text = budget};
  return store_reader_rows(&reader, NULL, setting_clear, error);
}

char *store_metric_value(const StoreMetric *metric, const RunReport *report) {
  RunValue value = store_metric_get(metric, report);
  char text[G_ASCII_DTOSTR_BUF_SIZE];
  if (value.kind == RUN_NULL || value.kind == RUN_STRING)
    return g_strdup(value.string);
  return value.kind == RUN_INTEGER ? g_strdup_printf("%" G_GINT64_FORMAT, value.integer)
                                   : g_strdup(g_ascii_dtostr(text, sizeof text, value.real));
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
    const StoreBaseline row = {(char *)metrics[i]->name, value, (char *)RUN_MODEL_VERSION, (char *)reason};
    store_writer_begin(&writer, STORE_BASELINE);
    store_writer_text(&writer, budget);
    store_writer_record(&writer, &store_record_baseline, &row);
    store_writer_end(&writer);
  }
  for (guint32 i = 0; i < report->identity.n_settings; i++) {
    const RunSetting *setting = &report->identity.settings[i];
    if (strcmp(setting->origin, "default") == 0)
      continue;
    store_writer_begin(&writer, STORE_BASELINE_SETTING);
    store_writer_text(&writer, budget);
    store_writer_record(&writer, &run_record_setting, setting);
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

gboolean store_db_visit_baselines(StoreDb *db, StoreRow row, gpointer user, GError **error) {
  return store_db_query(db, "SELECT budget, metric, value, model_version, reason FROM baseline ORDER BY budget, metric",
                        0, row, user, error);
}
