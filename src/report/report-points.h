/* SPDX-License-Identifier: MIT */
/* What pictures of many runs share: metrics in the units of their axes, and what tells runs apart. Private to this
 * floor.
 *
 *   g_autofree char *axis = report_axis(metric);                   // "step, ms"
 *   double at = report_axis_value(metric, column_value);
 *   g_autoptr(GPtrArray) differing = report_differing(db, run_ids, error);     // StoreMetric: of the asked ones
 *   g_autofree char *name = report_run_name(db, run_id, differing, error);     // "ZeRO-3, 4 nodes, micro-batch 2" */
#pragma once

#include "store-db.h"
#include "store-points.h"

char *report_axis(const StoreMetric *metric);
double report_axis_value(const StoreMetric *metric, double value);
/* Which of workload, topology, framework … differ among runs (gint64 ids). NULL: an error of the database. */
GPtrArray *report_differing(StoreDb *db, const GArray *run_ids, GError **error);
/* The run by these; "" where there are none. NULL: an error of the database. */
char *report_run_name(StoreDb *db, gint64 run_id, const GPtrArray *metrics, GError **error);
