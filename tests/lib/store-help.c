/* SPDX-License-Identifier: MIT */
/* Databases in a folder of their own, and their rows as text. */
#include "store-help.h"

#include <glib/gstdio.h>
#include <sqlite3.h>

char *store_help_folder;

char *store_help_path(const char *name) {
  static guint number = 0;
  return g_strdup_printf("%s/%u-%s", store_help_folder, number++, name);
}

StoreDb *store_help_fresh(void) {
  g_autofree char *path = store_help_path("a.db");
  StoreDb *db = store_db_open(path, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(db);
  return db;
}

gint64 store_help_write(StoreDb *db, guint32 stage) {
  g_autoptr(RunReport) report = report_sample(stage, SAMPLE_CAPACITY);
  gint64 run_id = -1;
  CU_ASSERT_TRUE(store_db_write(db, report, TRUE, &run_id, NULL));
  return run_id;
}

void store_help_append(int n, const char *const *names, const char *const *values, gpointer user) {
  for (int i = 0; i < n; i++)
    g_string_append_printf(user, "%s%s=%s", i > 0 ? "|" : "", names[i], values[i] != NULL ? values[i] : "NULL");
  g_string_append_c(user, '\n');
}

char *store_help_rows(StoreDb *db, const char *sql, gint64 run_id) {
  GString *text = g_string_new(NULL);
  CU_ASSERT_TRUE(store_db_query(db, sql, run_id, store_help_append, text, NULL));
  return g_string_free(text, FALSE);
}

static void store_help_first(G_GNUC_UNUSED int n, G_GNUC_UNUSED const char *const *names, const char *const *values,
                             gpointer user) {
  char **first = user;
  if (*first == NULL)
    *first = g_strdup(values[0] != NULL ? values[0] : "NULL");
}

char *store_help_value(StoreDb *db, const char *sql, gint64 run_id) {
  char *first = NULL;
  CU_ASSERT_TRUE(store_db_query(db, sql, run_id, store_help_first, &first, NULL));
  return first != NULL ? first : g_strdup("no row");
}

gint64 store_help_number(StoreDb *db, const char *sql, gint64 run_id) {
  g_autofree char *text = store_help_value(db, sql, run_id);
  return g_ascii_strtoll(text, NULL, 10);
}

const char *const store_help_tables[] = {"run",      "setting", "note", "rank_class",  "task", "collective",
                                         "exposure", "memory",  "link", "memory_peak", "oom",  NULL};

char *store_help_dump(StoreDb *db) {
  GString *text = g_string_new(NULL);
  for (int i = 0; store_help_tables[i] != NULL; i++) {
    g_autofree char *sql = g_strdup_printf("SELECT * FROM %s", store_help_tables[i]);
    g_string_append_printf(text, "%s\n", store_help_tables[i]);
    CU_ASSERT_TRUE(store_db_query(db, sql, 0, store_help_append, text, NULL));
  }
  return g_string_free(text, FALSE);
}

void store_help_execute(const char *path, const char *sql) {
  sqlite3 *sqlite;
  CU_ASSERT_EQUAL(sqlite3_open(path, &sqlite), SQLITE_OK);
  CU_ASSERT_EQUAL(sqlite3_exec(sqlite, sql, NULL, NULL, NULL), SQLITE_OK);
  sqlite3_close(sqlite);
}

void store_help_begin(void) {
  store_help_folder = g_dir_make_tmp("foretrain-store-XXXXXX", NULL);
  g_chmod(store_help_folder, 0777); /* another user reads in it */
}

void store_help_end(void) {
  g_autoptr(GDir) dir = g_dir_open(store_help_folder, 0, NULL);
  for (const char *name; (name = g_dir_read_name(dir)) != NULL;) {
    g_autofree char *path = g_build_filename(store_help_folder, name, NULL);
    g_unlink(path);
  }
  g_rmdir(store_help_folder);
  g_free(store_help_folder);
}
