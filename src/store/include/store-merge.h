/* SPDX-License-Identifier: MIT */
/* Another database into this one: its runs with all that hangs from them, its sweeps' points. A run whose key is here
 * already is not taken again, so merging twice changes nothing.
 *
 *   if (!store_db_merge(db, "shard-2.db", &runs, &points, error)) return FALSE;     // all of it or nothing
 */
#pragma once

#include "store-db.h"

/* *ret_runs, *ret_points: how many came. Errors: the other is no database of ours, or of another version. */
gboolean store_db_merge(StoreDb *db, const char *path, guint64 *ret_runs, guint64 *ret_points, GError **error);
