/* SPDX-License-Identifier: MIT */
/* Sweeps and their points in the database.
 *
 *   gint64 sweep_id;
 *   if (!store_db_sweep(db, &sweep, &sweep_id, error)) return FALSE;        // found by its key, else made
 *   store_db_write_point(db, sweep_id, &point, error);                      // over what stood at its number
 */
#pragma once

#include "run-record.h"
#include "store-db.h"

typedef struct {
  const char *key; /* equal for equal grids over equal settings */
  const char *workload;
  const char *axes;      /* JSON */
  const char *condition; /* NULL: none */
  guint64 points;
} StoreSweep;

typedef struct {
  guint64 number;
  const char *settings; /* JSON */
  const char *status;   /* "ran", or why not */
  const char *run_key;  /* NULL: it did not run */
} StorePoint;
extern const RunRecord store_record_point;

gboolean store_db_sweep(StoreDb *db, const StoreSweep *sweep, gint64 *ret_sweep_id, GError **error);
gboolean store_db_write_point(StoreDb *db, gint64 sweep_id, const StorePoint *point, GError **error);
