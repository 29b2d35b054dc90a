/* SPDX-License-Identifier: MIT */
/* ATTACH, then INSERT … SELECT table by table, run_ids moved behind those that are there. */
#include "store-merge.h"

#include "base-error.h"
#include "store-older.h"

#define MERGING "merging"

/* Tables that hang from run by run_id. */
static const char *const below_run[] = {"setting", "note",   "rank_class",  "task", "collective", "exposure",
                                        "counted", "memory", "memory_peak", "link", "oom",        "provenance"};

static void first_column(int n, const char *const *names, const char *const *values, gpointer user) {
  (void)n, (void)names;
  *(guint64 *)user = values[0] != NULL ? g_ascii_strtoull(values[0], NULL, 10) : 0;
}

static gboolean count(StoreDb *db, const char *sql, guint64 *ret, GError **error) {
  return store_db_query(db, sql, 0, first_column, ret, error);
}

/* `fresh` names the runs that come: their old id and their new one. */
static gboolean copy_table(StoreDb *db, const char *table, GError **error) {
  g_autoptr(GString) columns = g_string_new(NULL), values = g_string_new(NULL);
  if (!store_older_columns(db, table, columns, values, error))
    return FALSE;
  if (columns->len == 0)
    return TRUE;
  g_autofree char *sql = g_strdup_printf("INSERT INTO main.%s (run_id%s) SELECT fresh.run_id%s FROM other.%s AS t"
                                         " JOIN temp.fresh ON t.run_id = fresh.old_id ORDER BY fresh.run_id",
                                         table, columns->str, values->str, table);
  return store_db_exec(db, sql, MERGING, error);
}

static gboolean copy_runs(StoreDb *db, GError **error) {
  if (!store_db_exec(db,
                     "CREATE TEMP TABLE fresh AS SELECT run_id AS old_id,"
                     " (SELECT coalesce(max(run_id), 0) FROM main.run) + row_number() OVER (ORDER BY run_id) AS run_id"
                     " FROM other.run WHERE run_key NOT IN (SELECT run_key FROM main.run) ORDER BY old_id",
                     MERGING, error) ||
      !copy_table(db, "run", error))
    return FALSE;
  for (gsize i = 0; i < G_N_ELEMENTS(below_run); i++)
    if (!copy_table(db, below_run[i], error))
      return FALSE;
  return TRUE;
}

static gboolean copy_points(StoreDb *db, GError **error) {
  return store_db_exec(db,
                       "INSERT INTO main.sweep (sweep_key, workload, axes, condition, points)"
                       " SELECT sweep_key, workload, axes, condition, points FROM other.sweep WHERE true"
                       " ORDER BY sweep_id ON CONFLICT (sweep_key) DO NOTHING;"
                       "INSERT OR REPLACE INTO main.point (sweep_id, number, settings, status, run_key)"
                       " SELECT mine.sweep_id, p.number, p.settings, p.status, p.run_key FROM other.point AS p"
                       " JOIN other.sweep AS theirs ON theirs.sweep_id = p.sweep_id"
                       " JOIN main.sweep AS mine ON mine.sweep_key = theirs.sweep_key",
                       MERGING, error);
}

/* Those of budgets that have none here; what was validated, where nothing was here. */
static gboolean copy_judgements(StoreDb *db, GError **error) {
  return store_db_exec(db,
                       "INSERT INTO main.baseline_setting SELECT * FROM other.baseline_setting"
                       " WHERE budget NOT IN (SELECT budget FROM main.baseline);"
                       "INSERT INTO main.baseline SELECT * FROM other.baseline"
                       " WHERE budget NOT IN (SELECT budget FROM main.baseline);"
                       "INSERT INTO main.validation SELECT * FROM other.validation"
                       " WHERE NOT EXISTS (SELECT 1 FROM main.validation)",
                       MERGING, error);
}

static gboolean copy_all(StoreDb *db, guint64 *ret_runs, guint64 *ret_points, GError **error) {
  return copy_runs(db, error) && copy_points(db, error) && copy_judgements(db, error) &&
         count(db, "SELECT count(*) FROM temp.fresh", ret_runs, error) &&
         count(db, "SELECT count(*) FROM other.point", ret_points, error);
}

static gboolean attach(StoreDb *db, const char *path, GError **error) {
  sqlite3_stmt *statement = store_db_prepare(db, "ATTACH DATABASE ?1 AS other", MERGING, error);
  if (statement == NULL)
    return FALSE;
  sqlite3_bind_text(statement, 1, path, -1, SQLITE_STATIC);
  gboolean good = sqlite3_step(statement) == SQLITE_DONE || store_db_fail(db, MERGING, error);
  sqlite3_finalize(statement);
  return good;
}

gboolean store_db_merge(StoreDb *db, const char *path, guint64 *ret_runs, guint64 *ret_points, GError **error) {
  StoreDb *other = store_db_open_older(path, error); /* whether it is ours */
  if (other == NULL)
    return FALSE;
  store_db_close(other);
  if (!attach(db, path, error))
    return FALSE;
  guint64 runs = 0, points = 0;
  gboolean good = store_db_begin(db, error);
  if (good) {
    good = copy_all(db, &runs, &points, error);
    good = store_db_exec(db, "DROP TABLE IF EXISTS temp.fresh", MERGING, good ? error : NULL) && good;
    good = store_db_end(db, good, good ? error : NULL) && good;
  }
  sqlite3_exec(db->sqlite, "DETACH DATABASE other", NULL, NULL, NULL);
  if (!good)
    return FALSE;
  *ret_runs = runs;
  *ret_points = points;
  return TRUE;
}
