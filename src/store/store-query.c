/* SPDX-License-Identifier: MIT */
/* Finding a run by the name a person gives it, and reading rows as text. */
#include <string.h>

#include "base-display.h"
#include "base-error.h"
#include "store-db-private.h"

/* The only row's only value, bound to ?1 and ?2 as text; TRUE without *ret_found where there is no row. */
static gboolean find_id(StoreDb *db, const char *sql, const char *first, const char *second, gint64 *ret_found,
                        GError **error) {
  sqlite3_stmt *statement = store_db_prepare(db, sql, "looking a run up", error);
  if (statement == NULL)
    return FALSE;
  sqlite3_bind_text(statement, 1, first, -1, SQLITE_STATIC);
  sqlite3_bind_text(statement, 2, second, -1, SQLITE_STATIC);
  int status = sqlite3_step(statement);
  if (status == SQLITE_ROW && sqlite3_column_type(statement, 0) != SQLITE_NULL)
    *ret_found = sqlite3_column_int64(statement, 0);
  gboolean done = status == SQLITE_ROW || status == SQLITE_DONE;
  if (!done)
    store_db_fail(db, "looking a run up", error);
  sqlite3_finalize(statement);
  return done;
}

static gboolean all_of(const char *text, const char *letters) {
  return *text != '\0' && text[strspn(text, letters)] == '\0';
}

#define KEY_LEAST 8 /* digits of a key that are no run id, though all are decimal */

static gboolean may_be_key(const char *name, const char *key) {
  return all_of(key, "0123456789abcdef") && (strlen(name) >= KEY_LEAST || !all_of(name, "0123456789"));
}

gboolean store_db_find(StoreDb *db, const char *name, gint64 *ret_run_id, GError **error) {
  gint64 found = -1, last = -1;
  g_autofree char *key = g_ascii_strdown(name, -1);
  g_autofree char *beyond = g_strconcat(key, "g", NULL); /* after every key that begins so: digits are 0 … f */
  if (!find_id(db, "SELECT max(run_id) FROM run", NULL, NULL, &last, error))
    return FALSE;
  if (g_str_equal(name, "last"))
    found = last;
  else if (all_of(name, "0123456789") &&
           !find_id(db, "SELECT run_id FROM run WHERE run_id = CAST(?1 AS INTEGER)", name, NULL, &found, error))
    return FALSE;
  if (found < 0 && may_be_key(name, key) &&
      !find_id(db, "SELECT max(run_id) FROM run WHERE run_key >= ?1 AND run_key < ?2", key, beyond, &found, error))
    return FALSE;
  if (found < 0 && last < 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: holds no run yet, so none is \"%s\"", db->path, name);
    return FALSE;
  }
  if (found < 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "%s: no run is \"%s\"; expected last, a run id (the newest is %" G_GINT64_FORMAT
                ") or the beginning of a run key",
                db->path, name, last);
    return FALSE;
  }
  *ret_run_id = found;
  return TRUE;
}

/* The file may be a stranger's: its texts begin no lines where they are shown. Kept by `lines`, if it is another. */
static const char *in_line(const char *text, GPtrArray *lines) {
  if (text == NULL || strpbrk(text, "\n\r\t") == NULL)
    return text;
  g_ptr_array_add(lines, base_display_line(text));
  return g_ptr_array_index(lines, lines->len - 1);
}

gboolean store_db_query(StoreDb *db, const char *sql, gint64 run_id, StoreRow row, gpointer user, GError **error) {
  sqlite3_stmt *statement = store_db_prepare(db, sql, "reading", error);
  if (statement == NULL)
    return FALSE;
  if (!sqlite3_stmt_readonly(statement)) {
    sqlite3_finalize(statement);
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: only queries that read are run here: %s", db->path, sql);
    return FALSE;
  }
  if (sqlite3_bind_parameter_count(statement) > 0)
    sqlite3_bind_int64(statement, 1, run_id);
  int n = sqlite3_column_count(statement);
  g_autofree const char **names = g_new0(const char *, n + 1);
  g_autofree const char **values = g_new0(const char *, n + 1);
  for (int i = 0; i < n; i++)
    names[i] = sqlite3_column_name(statement, i);
  int status;
  while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
    for (int i = 0; i < n; i++)
      values[i] = in_line((const char *)sqlite3_column_text(statement, i), lines);
    row(n, names, values, user);
  }
  gboolean done = status == SQLITE_DONE;
  if (!done)
    store_db_fail(db, "reading", error);
  sqlite3_finalize(statement);
  return done;
}

gboolean store_db_has(StoreDb *db, const char *run_key) {
  if (db->by_key == NULL)
    db->by_key = store_db_prepare(db, "SELECT 1 FROM run WHERE run_key = ?1", "looking a run up", NULL);
  if (db->by_key == NULL)
    return FALSE;
  sqlite3_bind_text(db->by_key, 1, run_key, -1, SQLITE_STATIC);
  gboolean found = sqlite3_step(db->by_key) == SQLITE_ROW;
  sqlite3_reset(db->by_key);
  return found;
}
