/* SPDX-License-Identifier: MIT */
/* Files of older schemas: what a table of theirs gives for each column of ours.
 *
 *   g_autoptr(GString) columns = g_string_new(NULL), *values = g_string_new(NULL);
 *   if (!store_older_columns(db, "task", columns, values, error)) return FALSE;
 *   // ",rank_class,task_id,…,issued_ps" and ",t.rank_class,t.task_id,…,t.start_ps", to be read from other.task AS t
 *
 * Since version 5 columns and tables were added, none was changed or taken away. Private to this floor. */
#pragma once

#include "store-db-private.h"

#define STORE_OLDEST_VERSION 5

/* Of the database that is attached as "other": all columns of our table but run_id that theirs has, and those that they
 * lack and need a value. Both empty: theirs has no such table. Errors: SIM_ERROR_INPUT for a column that no version
 * lacked. */
gboolean store_older_columns(StoreDb *db, const char *table, GString *columns, GString *values, GError **error);
