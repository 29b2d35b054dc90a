/* SPDX-License-Identifier: MIT */
/* Accepted baselines: what a budget's metrics were, and the recipe that gave them.
 *
 *   g_autoptr(GArray) values = store_db_baselines(db, "llama-13b-zero3", error);      // StoreBaseline
 *   g_autoptr(GArray) recipe = store_db_baseline_recipe(db, "llama-13b-zero3", error); // RunSetting, none where NULL
 */
#pragma once

#include "store-db.h"
#include "store-metric.h"

typedef struct {
  char *metric, *value; /* as the column has it */
  char *model_version, *reason;
} StoreBaseline;
extern const RunRecord store_record_baseline;

GArray *store_db_baselines(StoreDb *db, const char *budget, GError **error);
GArray *store_db_baseline_recipe(StoreDb *db, const char *budget, GError **error);
/* Calls `row` with budget, metric, value (as the column has it), model_version and reason of every baseline. */
gboolean store_db_visit_baselines(StoreDb *db, StoreRow row, gpointer user, GError **error);
/* In place of what the budget had: the values that `report` has of `metrics`, and its given settings. */
gboolean store_db_accept(StoreDb *db, const char *budget, const RunReport *report, const StoreMetric *const *metrics,
                         guint n, const char *reason, GError **error);
/* A report's value as the column would have it; NULL where it is not known. Caller frees. */
char *store_metric_value(const StoreMetric *metric, const RunReport *report);
