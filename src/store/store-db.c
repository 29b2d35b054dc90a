/* Opening and closing a database, and telling ours from any other file. */
#include "base-error.h"
#include "store-db-private.h"

#define PATIENCE_MS 5000 /* for another process's transaction */

extern const char store_schema_text[]; /* made of schema.sql */

const char *store_schema(void) {
  return store_schema_text;
}

gboolean store_db_fail(const StoreDb *db, const char *doing, GError **error) {
  const char *message = sqlite3_errmsg(db->sqlite);
  switch (sqlite3_errcode(db->sqlite)) {
  case SQLITE_NOTADB:
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: is no SQLite database; name another file", db->path);
    break;
  case SQLITE_READONLY:
    g_set_error(error, SIM_ERROR, SIM_ERROR_SYSTEM, "%s: is read-only, %s is impossible", db->path, doing);
    break;
  case SQLITE_BUSY:
    g_set_error(error, SIM_ERROR, SIM_ERROR_SYSTEM, "%s: another process holds it locked, waited %d s while %s",
                db->path, PATIENCE_MS / 1000, doing);
    break;
  case SQLITE_CANTOPEN:
    g_set_error(error, SIM_ERROR, SIM_ERROR_SYSTEM,
                "%s: cannot be opened; the file and its folder must be there and writable", db->path);
    break;
  default:
    g_set_error(error, SIM_ERROR, SIM_ERROR_SYSTEM, "%s: %s failed: %s", db->path, doing, message);
  }
  return FALSE;
}

gboolean store_db_exec(StoreDb *db, const char *sql, const char *doing, GError **error) {
  if (sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL) != SQLITE_OK)
    return store_db_fail(db, doing, error);
  return TRUE;
}

sqlite3_stmt *store_db_prepare(StoreDb *db, const char *sql, const char *doing, GError **error) {
  sqlite3_stmt *statement = NULL;
  if (sqlite3_prepare_v2(db->sqlite, sql, -1, &statement, NULL) != SQLITE_OK)
    store_db_fail(db, doing, error);
  return statement;
}

static gboolean read_integer(StoreDb *db, const char *sql, gint64 *ret, GError **error) {
  sqlite3_stmt *statement = store_db_prepare(db, sql, "opening it", error);
  if (statement == NULL)
    return FALSE;
  gboolean read = sqlite3_step(statement) == SQLITE_ROW;
  if (read)
    *ret = sqlite3_column_int64(statement, 0);
  else
    store_db_fail(db, "opening it", error);
  sqlite3_finalize(statement);
  return read;
}

/* TRUE and *ret_blank for a database without content; TRUE for one of ours. */
static gboolean recognise(StoreDb *db, gboolean *ret_blank, GError **error) {
  gint64 objects, application, version;
  if (!read_integer(db, "SELECT count(*) FROM sqlite_master", &objects, error) ||
      !read_integer(db, "PRAGMA application_id", &application, error) ||
      !read_integer(db, "PRAGMA user_version", &version, error))
    return FALSE;
  gboolean blank = objects == 0 && application == 0 && version == 0;
  if (!blank && application != STORE_APPLICATION_ID) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: is a SQLite database, but not foretrain's; name another file",
                db->path);
    return FALSE;
  }
  if (!blank && version != STORE_SCHEMA_VERSION) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "%s: has schema version %" G_GINT64_FORMAT ", this foretrain reads and writes version %d; "
                "name another file",
                db->path, version, STORE_SCHEMA_VERSION);
    return FALSE;
  }
  *ret_blank = blank;
  return TRUE;
}

/* Another process may have created the schema since `recognise`: asked again inside the transaction. */
static gboolean create(StoreDb *db, GError **error) {
  if (!store_db_exec(db, "PRAGMA journal_mode = WAL; BEGIN IMMEDIATE", "creating it", error))
    return FALSE;
  gboolean blank;
  if (recognise(db, &blank, error) && (!blank || store_db_exec(db, store_schema_text, "creating it", error)) &&
      store_db_exec(db, "COMMIT", "creating it", error))
    return TRUE;
  sqlite3_exec(db->sqlite, "ROLLBACK", NULL, NULL, NULL);
  return FALSE;
}

StoreDb *store_db_open(const char *path, GError **error) {
  g_autoptr(StoreDb) db = g_new0(StoreDb, 1);
  db->path = g_strdup(path);
  if (sqlite3_open_v2(path, &db->sqlite, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) != SQLITE_OK) {
    store_db_fail(db, "opening it", error);
    return NULL;
  }
  sqlite3_busy_timeout(db->sqlite, PATIENCE_MS);
  gboolean blank;
  if (!store_db_exec(db, "PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL", "opening it", error) ||
      !recognise(db, &blank, error) || (blank && !create(db, error)))
    return NULL;
  return g_steal_pointer(&db);
}

void store_db_close(StoreDb *db) {
  if (db == NULL)
    return;
  for (int i = 0; i < STORE_TABLES; i++)
    sqlite3_finalize(db->inserts[i]);
  sqlite3_close(db->sqlite);
  g_free(db->path);
  g_free(db);
}
