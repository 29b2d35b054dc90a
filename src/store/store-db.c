/* SPDX-License-Identifier: MIT */
/* Opening and closing a database, and telling ours from any other file. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base-error.h"
#include "base-file.h"
#include "store-beside.h"
#include "store-merge.h"
#include "store-older.h"

#define PATIENCE_MS 5000       /* for another process's transaction */
#define VALUE_MOST  (64 << 20) /* bytes of a text: more is nobody's but a hostile file's */

extern const char store_schema_text[]; /* made of schema.sql */

const char *store_schema(void) {
  return store_schema_text;
}

/* A path that cannot lead to a file of its person's. */
static gboolean fail_path(const char *path, GError **error) {
  g_autofree char *folder = g_path_get_dirname(path);
  if (g_file_test(path, G_FILE_TEST_IS_DIR))
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: is a folder; expected the file of a database", path);
  else if (!g_file_test(folder, G_FILE_TEST_IS_DIR))
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: there is no folder \"%s\" for the database", path, folder);
  else
    g_set_error(error, SIM_ERROR, SIM_ERROR_SYSTEM,
                "%s: cannot be opened; the file and its folder must be there and writable", path);
  return FALSE;
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
    return fail_path(db->path, error);
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

/* Objects, application id and version, all of one moment. */
static gboolean read_marks(StoreDb *db, gint64 ret[3], GError **error) {
  sqlite3_stmt *statement = store_db_prepare(db,
                                             "SELECT (SELECT count(*) FROM sqlite_master), application_id, user_version"
                                             " FROM pragma_application_id, pragma_user_version",
                                             "opening it", error);
  if (statement == NULL)
    return FALSE;
  gboolean read = sqlite3_step(statement) == SQLITE_ROW;
  for (int i = 0; read && i < 3; i++)
    ret[i] = sqlite3_column_int64(statement, i);
  if (!read)
    store_db_fail(db, "opening it", error);
  sqlite3_finalize(statement);
  return read;
}

static gboolean fail_version(const StoreDb *db, gint64 version, GError **error) {
  g_autofree char *quoted = g_shell_quote(db->path);
  g_autofree char *advice = version > STORE_SCHEMA_VERSION
                                ? g_strdup("a newer foretrain wrote it: use that one, or name another file")
                            : version < STORE_OLDEST_VERSION
                                ? g_strdup("it is too old to be brought there: name another file")
                                : g_strdup_printf("foretrain merge %s --db NEW.db brings what it holds there", quoted);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
              "%s: has schema version %" G_GINT64_FORMAT ", this foretrain reads and writes version %d; %s", db->path,
              version, STORE_SCHEMA_VERSION, advice);
  return FALSE;
}

/* TRUE and *ret_blank for a database without content; TRUE for one of ours, of this version down to `oldest`. */
static gboolean recognise(StoreDb *db, gint64 oldest, gboolean *ret_blank, GError **error) {
  gint64 marks[3];
  if (!read_marks(db, marks, error))
    return FALSE;
  gint64 application = marks[1], version = marks[2];
  gboolean blank = marks[0] == 0 && application == 0 && version == 0;
  if (!blank && application != STORE_APPLICATION_ID) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: is a SQLite database, but not foretrain's; name another file",
                db->path);
    return FALSE;
  }
  if (!blank && (version < oldest || version > STORE_SCHEMA_VERSION))
    return fail_version(db, version, error);
  *ret_blank = blank;
  return TRUE;
}

/* SQLite's own patience does not cover this statement: two that find no file would fail each other. */
static gboolean use_wal(StoreDb *db, GError **error) {
  gint64 deadline = g_get_monotonic_time() + PATIENCE_MS * (gint64)1000;
  int status;
  while ((status = sqlite3_exec(db->sqlite, "PRAGMA journal_mode = WAL", NULL, NULL, NULL)) == SQLITE_BUSY &&
         g_get_monotonic_time() < deadline)
    g_usleep(1000);
  return status == SQLITE_OK || store_db_fail(db, "creating it", error);
}

/* Another process may have created the schema since `recognise`: asked again inside the transaction. */
static gboolean create(StoreDb *db, GError **error) {
  if (!use_wal(db, error) || !store_db_exec(db, "BEGIN IMMEDIATE", "creating it", error))
    return FALSE;
  gboolean blank;
  if (recognise(db, STORE_SCHEMA_VERSION, &blank, error) &&
      (!blank || store_db_exec(db, store_schema_text, "creating it", error)) &&
      store_db_exec(db, "COMMIT", "creating it", error))
    return TRUE;
  sqlite3_exec(db->sqlite, "ROLLBACK", NULL, NULL, NULL);
  return FALSE;
}

/* A file that nobody writes and that we may not write needs none of WAL's files beside it. */
static gboolean is_frozen(const char *path) {
  g_autofree char *log = g_strconcat(path, "-wal", NULL);
  return faccessat(AT_FDCWD, path, W_OK, AT_EACCESS) != 0 && !g_file_test(log, G_FILE_TEST_EXISTS);
}

/* The file may be a stranger's: none of its triggers or views runs, its schema calls no function that does more than
 * compute, and no statement can damage it. */
static void distrust(sqlite3 *sqlite) {
  static const struct {
    int what, on;
  } rules[] = {{SQLITE_DBCONFIG_ENABLE_TRIGGER, 0},
               {SQLITE_DBCONFIG_ENABLE_VIEW, 0},
               {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
               {SQLITE_DBCONFIG_DEFENSIVE, 1}};
  for (gsize i = 0; i < G_N_ELEMENTS(rules); i++)
    sqlite3_db_config(sqlite, rules[i].what, rules[i].on, NULL);
  sqlite3_limit(sqlite, SQLITE_LIMIT_LENGTH, VALUE_MOST);
}

static gboolean connect_to(StoreDb *db, int flags, GError **error) {
  g_autofree char *uri = NULL;
  if ((flags & SQLITE_OPEN_CREATE) == 0 && is_frozen(db->path)) {
    g_autofree char *escaped = g_uri_escape_string(db->path, "/", TRUE);
    uri = g_strdup_printf("file:%s?immutable=1", escaped);
    flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI;
  }
  if (sqlite3_open_v2(uri != NULL ? uri : db->path, &db->sqlite, flags, NULL) != SQLITE_OK)
    return store_db_fail(db, "opening it", error);
  distrust(db->sqlite);
  sqlite3_busy_timeout(db->sqlite, PATIENCE_MS);
  return store_db_exec(db, "PRAGMA foreign_keys = ON; PRAGMA synchronous = NORMAL", "opening it", error);
}

/* A file that was begun and holds nothing, as on a full disk. */
static void remove_begun(const char *path) {
  struct stat found;
  if (stat(path, &found) == 0 && S_ISREG(found.st_mode) && found.st_size == 0)
    unlink(path);
}

/* Not through a link that somebody else put there, nor beside files that are traps. */
static StoreDb *new_for(const char *path, GError **error) {
  g_autofree char *target = base_file_target(path, error);
  if (target == NULL || !store_beside_is_safe(target, error))
    return NULL;
  StoreDb *db = g_new0(StoreDb, 1);
  db->path = g_strdup(path);
  return db;
}

StoreDb *store_db_open(const char *path, GError **error) {
  g_autoptr(StoreDb) db = new_for(path, error);
  if (db == NULL)
    return NULL;
  gboolean there = g_file_test(path, G_FILE_TEST_EXISTS), blank;
  if (connect_to(db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, error) &&
      recognise(db, STORE_SCHEMA_VERSION, &blank, error) && (!blank || create(db, error)))
    return g_steal_pointer(&db);
  g_clear_pointer(&db, store_db_close);
  if (!there)
    remove_begun(path);
  return NULL;
}

static StoreDb *open_existing(const char *path, gint64 oldest, GError **error) {
  g_autoptr(StoreDb) db = new_for(path, error);
  if (db == NULL)
    return NULL;
  if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "no database \"%s\": runs are kept there once there are some", path);
    return NULL;
  }
  gboolean blank;
  if (!connect_to(db, SQLITE_OPEN_READWRITE, error) || !recognise(db, oldest, &blank, error))
    return NULL;
  if (blank) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: is empty, no database of foretrain's yet", path);
    return NULL;
  }
  return g_steal_pointer(&db);
}

StoreDb *store_db_open_existing(const char *path, GError **error) {
  return open_existing(path, STORE_SCHEMA_VERSION, error);
}

StoreDb *store_db_open_older(const char *path, GError **error) {
  return open_existing(path, STORE_OLDEST_VERSION, error);
}

void store_db_close(StoreDb *db) {
  if (db == NULL)
    return;
  for (int i = 0; i < STORE_TABLES; i++)
    sqlite3_finalize(db->inserts[i]);
  sqlite3_finalize(db->by_key);
  sqlite3_close(db->sqlite);
  g_free(db->path);
  g_free(db);
}
