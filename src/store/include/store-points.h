/* SPDX-License-Identifier: MIT */
/* Many runs at once: columns of all, the newest sweep, what became of its points.
 *
 *   StoreSweepFound sweep;
 *   if (!store_db_newest_sweep(db, &sweep, error)) return FALSE;
 *   g_autoptr(GArray) points = store_db_points(db, sweep.sweep_id, names, error);        // StorePointFound */
#pragma once

#include "store-metric.h"
#include "store-sweep.h"

#define STORE_ALL_RUNS (-1)

/* Calls `row` with run_id and then the metrics, as text, for one run or for all in order of run_id. */
gboolean store_db_columns(StoreDb *db, const StoreMetric *const *metrics, guint n, gint64 run_id, StoreRow row,
                          gpointer user, GError **error);

typedef struct {
  gint64 sweep_id;
  char *workload; /* the caller frees it */
} StoreSweepFound;

/* Calls `row` with run_id, name and value for each setting that tells runs apart because somebody wanted it so: given
 * on the command line, or an axis of any sweep. In order of name, then of run_id. What a run has by default may be
 * missing. */
gboolean store_db_chosen(StoreDb *db, const gint64 *run_ids, guint n, StoreRow row, gpointer user, GError **error);
/* Calls `row` with a reason and a count for why points of a sweep could not run, the most frequent first. */
gboolean store_db_reasons(StoreDb *db, gint64 sweep_id, StoreRow row, gpointer user, GError **error);

/* FALSE without an error where there is no sweep. */
gboolean store_db_newest_sweep(StoreDb *db, StoreSweepFound *ret, GError **error);

/* One value of an axis of a sweep. */
typedef struct {
  const char *axis, *value; /* "group.key" */
} StoreAxisValue;

/* All of them, axis by axis in order. */
GArray *store_db_axes(StoreDb *db, gint64 sweep_id, GStringChunk *names, GError **error);

/* A point and the newest run of its key. */
typedef struct {
  guint64 number;
  gboolean ran; /* FALSE: the rest is zero */
  RunVerdict verdict;
  const char *framework;
  guint32 zero_stage, gpus;
  guint64 parameters, capacity, device_used, short_by;
} StorePointFound;

/* Those that were reached, by number. */
GArray *store_db_points(StoreDb *db, gint64 sweep_id, GStringChunk *names, GError **error);
