/* SPDX-License-Identifier: MIT */
/* Reports of Nsight Systems as a fuzz target: the bytes are SQL that somebody ran on a good report before they handed
 * it on. It is read as a step and as a Program, or refused; nothing that it holds runs. Damaged pages are the target
 * "kineto"'s. */
#include <glib/gstdio.h>
#include <sqlite3.h>

#include "base-error.h"
#include "fuzz.h"
#include "nsys-sample.h"

#define STEPS_MOST 100000 /* of SQLite's machine, for the stranger's statements */

static int stop(G_GNUC_UNUSED gpointer unused) {
  return 1;
}

/* A good report, as bytes. */
static GBytes *make_sample(const char *path) {
  sqlite3 *sqlite = NULL;
  gboolean good = sqlite3_open(path, &sqlite) == SQLITE_OK &&
                  sqlite3_exec(sqlite, nsys_sample_schema, NULL, NULL, NULL) == SQLITE_OK &&
                  sqlite3_exec(sqlite, nsys_sample_events, NULL, NULL, NULL) == SQLITE_OK;
  sqlite3_close(sqlite);
  char *data;
  gsize length;
  sim_require(good && g_file_get_contents(path, &data, &length, NULL), 0, NULL, "%s cannot be written", path);
  return g_bytes_new_take(data, length);
}

static void run_stranger(const char *path, const char *sql) {
  sqlite3 *sqlite = NULL;
  if (sqlite3_open(path, &sqlite) == SQLITE_OK) {
    sqlite3_exec(sqlite, "PRAGMA synchronous = OFF", NULL, NULL, NULL);
    sqlite3_limit(sqlite, SQLITE_LIMIT_ATTACHED, 0);
    sqlite3_limit(sqlite, SQLITE_LIMIT_LENGTH, 1 << 20);
    sqlite3_progress_handler(sqlite, STEPS_MOST, stop, NULL);
    sqlite3_exec(sqlite, sql, NULL, NULL, NULL);
  }
  sqlite3_close(sqlite);
}

void fuzz_nsys(const char *path) {
  static GBytes *sample = NULL;
  g_autofree char *sql = NULL, *report = g_strconcat(path, ".sqlite", NULL);
  if (sample == NULL)
    sample = make_sample(report);
  gboolean ready = g_file_get_contents(path, &sql, NULL, NULL) &&
                   g_file_set_contents_full(report, g_bytes_get_data(sample, NULL), (gssize)g_bytes_get_size(sample),
                                            G_FILE_SET_CONTENTS_NONE, 0600, NULL);
  sim_require(ready, 0, NULL, "%s cannot be written", report);
  run_stranger(report, sql);
  fuzz_kineto_program(report);
  static const char *const endings[] = {"", "-wal", "-shm", "-journal"};
  for (gsize i = 0; i < G_N_ELEMENTS(endings); i++) {
    g_autofree char *file = g_strconcat(report, endings[i], NULL);
    g_unlink(file);
  }
}
