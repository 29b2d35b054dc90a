/* SPDX-License-Identifier: MIT */
/* Tables sweep and point. */
#include "store-sweep.h"

#include <stddef.h>

#include "store-writer.h"

static const RunField fields[] = {
    {"number", "number", RUN_LARGE, FALSE, offsetof(StorePoint, number), sizeof(guint64), NULL},
    {"settings", "settings", RUN_NAME, FALSE, offsetof(StorePoint, settings), sizeof(char *), NULL},
    {"status", "status", RUN_NAME, FALSE, offsetof(StorePoint, status), sizeof(char *), NULL},
    {"run_key", "run_key", RUN_NAME, TRUE, offsetof(StorePoint, run_key), sizeof(char *), NULL},
};
const RunRecord store_record_point = {fields, G_N_ELEMENTS(fields), sizeof(StorePoint)};

#define SWEEPING "writing a sweep"

static gboolean find(StoreDb *db, const char *key, gint64 *ret_sweep_id, GError **error) {
  sqlite3_stmt *statement = store_db_prepare(db, "SELECT sweep_id FROM sweep WHERE sweep_key = ?1", SWEEPING, error);
  if (statement == NULL)
    return FALSE;
  sqlite3_bind_text(statement, 1, key, -1, SQLITE_STATIC);
  gboolean found = sqlite3_step(statement) == SQLITE_ROW;
  if (found)
    *ret_sweep_id = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return found;
}

gboolean store_db_sweep(StoreDb *db, const StoreSweep *sweep, gint64 *ret_sweep_id, GError **error) {
  sqlite3_stmt *statement =
      store_db_prepare(db,
                       "INSERT INTO sweep (sweep_key, workload, axes, condition, points) VALUES (?1, ?2, ?3, ?4, ?5)"
                       " ON CONFLICT (sweep_key) DO NOTHING",
                       SWEEPING, error);
  if (statement == NULL)
    return FALSE;
  const char *const texts[] = {sweep->key, sweep->workload, sweep->axes, sweep->condition};
  for (int i = 0; i < (int)G_N_ELEMENTS(texts); i++)
    sqlite3_bind_text(statement, i + 1, texts[i], -1, SQLITE_STATIC);
  sqlite3_bind_int64(statement, 5, (gint64)sweep->points);
  gboolean good = sqlite3_step(statement) == SQLITE_DONE || store_db_fail(db, SWEEPING, error);
  sqlite3_finalize(statement);
  return good && find(db, sweep->key, ret_sweep_id, error);
}

gboolean store_db_write_point(StoreDb *db, gint64 sweep_id, const StorePoint *point, GError **error) {
  StoreWriter writer = {.db = db, .error = error};
  store_writer_begin(&writer, STORE_POINT);
  store_writer_integer(&writer, sweep_id);
  store_writer_record(&writer, &store_record_point, point);
  store_writer_end(&writer);
  return !writer.failed;
}
