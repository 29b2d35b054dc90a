/* SPDX-License-Identifier: MIT */
/* The best of the database's runs, a row each.
 *
 *   g_autoptr(GArray) best = store_db_best(db, objectives, n, subject, 10, error);
 *   report_best(db, best, objectives, n, text, error);          // or report_best_json
 *
 * A row tells the objectives, what was asked, step and memory, and every setting that somebody chose (on a command
 * line, as an axis of a sweep) and in which the rows differ; what is equal in all rows stands once above them. */
#pragma once

#include "store-best.h"

/* `best`: of StoreBest, not empty. Errors: of the database. */
gboolean report_best(StoreDb *db, const GArray *best, const StoreObjective *objectives, guint n, GString *text,
                     GError **error);
/* A list of objects: columns of table run; "settings" {"group.key": value or null}, those in which rows differ;
 * "command", which plays the row again. */
gboolean report_best_json(StoreDb *db, const GArray *best, const StoreObjective *objectives, guint n, GString *text,
                          GError **error);
