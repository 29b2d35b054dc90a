/* SPDX-License-Identifier: MIT */
/* Databases from strangers as a fuzz target: the bytes are SQL that somebody ran on a database of ours before they
 * handed it on. It is read whole, or refused; nothing that it holds runs, and nothing in it changes. */
#include <glib/gstdio.h>
#include <sqlite3.h>

#include "base-error.h"
#include "fuzz.h"
#include "report-sample.h"
#include "store-db.h"

#define STEPS_MOST 100000 /* of SQLite's machine, for the stranger's statements */

/* A good database with one run, as bytes. */
static GBytes *make_sample(const char *path) {
  StoreDb *db = store_db_open(path, NULL);
  g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
  gint64 run_id;
  gboolean written = db != NULL && store_db_write_summary(db, report, &run_id, NULL);
  store_db_close(db);
  char *data;
  gsize length;
  sim_require(written && g_file_get_contents(path, &data, &length, NULL), 0, NULL, "%s cannot be written", path);
  return g_bytes_new_take(data, length);
}

static int stop(G_GNUC_UNUSED gpointer unused) {
  return 1;
}

/* Databases beside this one are out of reach. */
static void run_stranger(const char *path, const char *sql) {
  sqlite3 *sqlite = NULL;
  if (sqlite3_open(path, &sqlite) == SQLITE_OK) {
    sqlite3_limit(sqlite, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(sqlite, SQLITE_LIMIT_LENGTH, 1 << 20);
    sqlite3_progress_handler(sqlite, STEPS_MOST, stop, NULL);
    sqlite3_exec(sqlite, sql, NULL, NULL, NULL);
  }
  sqlite3_close(sqlite);
}

static RunReport *read_last(const char *path, GError **error) {
  gint64 run_id;
  g_autoptr(StoreDb) db = store_db_open_existing(path, error);
  if (db == NULL || !store_db_find(db, "last", &run_id, error))
    return NULL;
  return store_db_load(db, run_id, TRUE, error);
}

void fuzz_database(const char *path) {
  static GBytes *sample = NULL;
  g_autofree char *sql = NULL, *database = g_strconcat(path, ".db", NULL);
  if (sample == NULL)
    sample = make_sample(database);
  gboolean ready =
      g_file_get_contents(path, &sql, NULL, NULL) &&
      g_file_set_contents(database, g_bytes_get_data(sample, NULL), (gssize)g_bytes_get_size(sample), NULL);
  sim_require(ready, 0, NULL, "%s cannot be written", database);
  run_stranger(database, sql);
  GError *error = NULL;
  g_autoptr(RunReport) report = read_last(database, &error);
  sim_require((report != NULL) == (error == NULL), 0, NULL, "a report and an error, or neither");
  g_clear_error(&error); /* of the input, or what SQLite says of a damaged file */
  static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
  for (gsize i = 0; i < G_N_ELEMENTS(endings); i++) {
    g_autofree char *file = g_strconcat(database, endings[i], NULL);
    g_unlink(file);
  }
}
