/* Memory over time as levels by tenant: what the memory picture is drawn from.
 *
 *   g_autoptr(GArray) levels = report_levels_load(db, run_id, &scene, error);     // of ReportLevel, by time
 *   report_levels_thin(levels, &scene, 1000);
 *
 * The first level stands at the start of the scene's window; each holds until the next. */
#pragma once

#include "report-scene.h"
#include "run-report.h"

typedef struct {
  SimTime at;
  guint64 held[RUN_TENANTS]; /* as run_tenant_names */
} ReportLevel;

guint64 report_level_total(const ReportLevel *level);

/* Errors: as store_db_query. */
GArray *report_levels_load(StoreDb *db, gint64 run_id, const ReportScene *scene, GError **error);

/* Where there are more than 2 × bins: keeps of each of so many equal spans of time the highest and the last. */
void report_levels_thin(GArray *levels, const ReportScene *scene, guint bins);
