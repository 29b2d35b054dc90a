/* SPDX-License-Identifier: MIT */
/* Another database into this one: its runs with all that hangs from them, its sweeps' points, baselines of budgets that
 * have none here, and what was validated where nothing was. A run whose key is here already is not taken again, so
 * merging twice changes nothing. Files of older schemas are read, so merging one into a new file brings it up to date.
 *
 *   if (!store_db_merge(db, "shard-2.db", &runs, &points, error)) return FALSE;     // all of it or nothing
 */
#pragma once

#include "store-db.h"

/* *ret_runs, *ret_points: how many came. Errors: the other is no database of ours, or of a version that is
 * newer, or too old. */
/* Whether it can be merged: as store_db_open_existing, of older schemas too. */
StoreDb *store_db_open_older(const char *path, GError **error);

gboolean store_db_merge(StoreDb *db, const char *path, guint64 *ret_runs, guint64 *ret_points, GError **error);
