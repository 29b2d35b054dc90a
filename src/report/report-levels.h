/* SPDX-License-Identifier: MIT */
/* Memory over time as levels by tenant: what the memory picture is drawn from.
 *
 *   g_autoptr(GArray) levels = report_levels(&scene);     // of ReportLevel, by time
 *   report_levels_thin(levels, &scene, 1000);
 *
 * Times are the GPU's (report-clock.h). The first level stands at the start of the scene's window; each holds until the
 * next; of those of one moment the highest is kept, and the last. */
#pragma once

#include "report-scene.h"
#include "run-report.h"

typedef RunMemorySample ReportLevel;

guint64 report_level_total(const ReportLevel *level);

GArray *report_levels(const ReportScene *scene);

/* Where there are more than 2 × bins: keeps of each of so many equal spans of time the highest and the last. */
void report_levels_thin(GArray *levels, const ReportScene *scene, guint bins);
