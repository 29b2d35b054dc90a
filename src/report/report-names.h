/* SPDX-License-Identifier: MIT */
/* What to call each of many runs, so that runs that differ are called differently and no more is said than that takes.
 *
 *   g_autoptr(GPtrArray) names = report_names(db, run_ids, NULL, error);
 *   // "ZeRO-3, nodes 4, micro-batch 2", "ZeRO-3, nodes 4, micro-batch 2, reduce_bucket_size 1e8"
 *
 * First what a reader tells runs apart by (report-points.h), where it differs among them; then, where that calls
 * several runs alike, other settings in which these differ. Cost: a query or two each. Private to this floor. */
#pragma once

#include "store-db.h"

/* char *, in the order of the runs (gint64 ids). `without`: metrics that are left out, and the settings behind them;
 * NULL-terminated, NULL: none. NULL: an error of the database. */
GPtrArray *report_names(StoreDb *db, const GArray *run_ids, const char *const *without, GError **error);
