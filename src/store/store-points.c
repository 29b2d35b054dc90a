/* SPDX-License-Identifier: MIT */
/* Queries over table run as a whole, and over point joined to it. */
#include "store-points.h"

#include <stddef.h>

#include "store-reader.h"

gboolean store_db_columns(StoreDb *db, const StoreMetric *const *metrics, guint n, gint64 run_id, StoreRow row,
                          gpointer user, GError **error) {
  g_autoptr(GString) sql = g_string_new("SELECT run_id");
  for (guint i = 0; i < n; i++)
    g_string_append_printf(sql, ",%s", metrics[i]->column);
  g_string_append_printf(sql, " FROM run%s ORDER BY run_id", run_id == STORE_ALL_RUNS ? "" : " WHERE run_id = ?1");
  return store_db_query(db, sql->str, run_id, row, user, error);
}

#define SWEEP(member, type)                                                                                            \
  { #member, #member, type, FALSE, offsetof(StoreSweepFound, member), sizeof(gint64), NULL }

gboolean store_db_newest_sweep(StoreDb *db, StoreSweepFound *ret, GError **error) {
  static const RunField fields[] = {SWEEP(sweep_id, RUN_LARGE), SWEEP(workload, RUN_TEXT)};
  static const RunRecord record = {fields, G_N_ELEMENTS(fields), sizeof(StoreSweepFound)};
  const StoreReader reader = {db, "sweep", &record, "sweep_id = (SELECT max(sweep_id) FROM sweep)"};
  g_autoptr(GArray) sweeps = store_reader_rows(&reader, NULL, NULL, error);
  if (sweeps == NULL || sweeps->len == 0)
    return FALSE;
  *ret = g_array_index(sweeps, StoreSweepFound, 0);
  return TRUE;
}

/* What is no JSON has no axes. */
#define AXES                                                                                                           \
  "sweep JOIN json_each(CASE WHEN json_valid(axes) THEN axes ELSE '{}' END) AS axis"                                   \
  " JOIN json_each(CASE axis.type WHEN 'array' THEN axis.value ELSE '[]' END) AS one"
#define AXIS(member, key)                                                                                              \
  { #member, key, RUN_NAME, FALSE, offsetof(StoreAxisValue, member), sizeof(char *), NULL }

GArray *store_db_axes(StoreDb *db, gint64 sweep_id, GStringChunk *names, GError **error) {
  static const RunField fields[] = {AXIS(axis, "axis.key"), AXIS(value, "one.value")};
  static const RunRecord record = {fields, G_N_ELEMENTS(fields), sizeof(StoreAxisValue)};
  const StoreReader reader = {
      db, AXES, &record, "sweep_id = ?1 ORDER BY axis.id, one.id", .id = sweep_id, .names = names};
  return store_reader_rows(&reader, NULL, NULL, error);
}

#define POINT(member, key, type, names)                                                                                \
  { #member, key, type, TRUE, offsetof(StorePointFound, member), sizeof(((StorePointFound *)NULL)->member), names }

GArray *store_db_points(StoreDb *db, gint64 sweep_id, GStringChunk *names, GError **error) {
  static const RunField fields[] = {
      POINT(number, "number", RUN_LARGE, NULL),
      POINT(ran, "run_id NOT NULL", RUN_FLAG, NULL),
      POINT(verdict, "verdict", RUN_CHOICE, run_verdict_names),
      POINT(framework, "framework", RUN_NAME, NULL),
      POINT(zero_stage, "zero_stage", RUN_COUNT, NULL),
      POINT(gpus, "gpus", RUN_COUNT, NULL),
      POINT(parameters, "parameters", RUN_LARGE, NULL),
      POINT(capacity, "capacity_bytes", RUN_BYTES, NULL),
      POINT(device_used, "device_used_bytes", RUN_BYTES, NULL),
      POINT(short_by, "short_by_bytes", RUN_BYTES, NULL),
  };
  static const RunRecord record = {fields, G_N_ELEMENTS(fields), sizeof(StorePointFound)};
  const StoreReader reader = {
      db,       "point LEFT JOIN run ON run_id = (SELECT max(run_id) FROM run WHERE run_key = point.run_key)",
      &record,  "sweep_id = ?1 ORDER BY number",
      sweep_id, NULL,
      names};
  return store_reader_rows(&reader, NULL, NULL, error);
}

gboolean store_db_chosen(StoreDb *db, const gint64 *run_ids, guint n, StoreRow row, gpointer user, GError **error) {
  g_autoptr(GString) sql = g_string_new("SELECT run_id, name, value FROM setting WHERE run_id IN (");
  for (guint i = 0; i < n; i++)
    g_string_append_printf(sql, "%s%" G_GINT64_FORMAT, i > 0 ? "," : "", run_ids[i]);
  g_string_append(sql, ") AND (origin = 'command line' OR name IN (SELECT axis.key FROM sweep JOIN json_each(CASE WHEN"
                       " json_valid(axes) THEN axes ELSE '{}' END) AS axis)) ORDER BY name, run_id");
  return store_db_query(db, sql->str, 0, row, user, error);
}

gboolean store_db_reasons(StoreDb *db, gint64 sweep_id, StoreRow row, gpointer user, GError **error) {
  return store_db_query(db,
                        "SELECT status, count(*) FROM point WHERE sweep_id = ?1 AND run_key IS NULL"
                        " GROUP BY status ORDER BY count(*) DESC, status",
                        sweep_id, row, user, error);
}
