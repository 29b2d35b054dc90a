/* SPDX-License-Identifier: MIT */
/* One SELECT of a record's columns, and its rows set field by field. */
#include "store-reader.h"

#include <string.h>

#include "base-display.h"
#include "base-error.h"

#define READING "reading"

static sqlite3_stmt *prepare(const StoreReader *reader, gboolean classes, GError **error) {
  g_autoptr(GString) sql = g_string_new(classes ? "SELECT rank_class" : "SELECT 0");
  for (guint i = 0; i < reader->record->n; i++)
    if (reader->record->fields[i].key != NULL)
      g_string_append_printf(sql, ",%s", reader->record->fields[i].key);
  g_string_append_printf(sql, " FROM %s WHERE %s", reader->table, reader->rest);
  sqlite3_stmt *statement = store_db_prepare(reader->db, sql->str, READING, error);
  if (statement != NULL && reader->text != NULL)
    sqlite3_bind_text(statement, 1, reader->text, -1, SQLITE_STATIC);
  else if (statement != NULL)
    sqlite3_bind_int64(statement, 1, reader->id);
  return statement;
}

static RunValue value_at(sqlite3_stmt *statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
  case SQLITE_INTEGER:
    return (RunValue){.kind = RUN_INTEGER, .integer = sqlite3_column_int64(statement, column)};
  case SQLITE_FLOAT:
    return (RunValue){.kind = RUN_REAL, .real = sqlite3_column_double(statement, column)};
  case SQLITE_NULL:
    return (RunValue){.kind = RUN_NULL};
  default:
    return (RunValue){.kind = RUN_STRING, .string = (const char *)sqlite3_column_text(statement, column)};
  }
}

/* Texts of a stranger's file begin no lines where they are shown. */
static gboolean set_field(const RunField *field, gpointer row, RunValue value, GStringChunk *names) {
  g_autofree char *line = NULL;
  if (value.kind == RUN_STRING && value.string != NULL && strpbrk(value.string, "\n\r\t") != NULL) {
    line = base_display_line(value.string);
    value.string = line;
  }
  return run_field_set(field, row, value, names);
}

static gboolean read_row(const StoreReader *reader, sqlite3_stmt *statement, gpointer row, GError **error) {
  int column = 0;
  for (guint i = 0; i < reader->record->n; i++) {
    const RunField *field = &reader->record->fields[i];
    if (field->key == NULL || set_field(field, row, value_at(statement, ++column), reader->names))
      continue;
    const char *found = (const char *)sqlite3_column_text(statement, column);
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: is damaged: a row of table %s has the %s %s", reader->db->path,
                reader->table, field->key, found != NULL ? found : "NULL");
    return FALSE;
  }
  return TRUE;
}

GArray *store_reader_rows(const StoreReader *reader, GArray *classes, GDestroyNotify clear, GError **error) {
  sqlite3_stmt *statement = prepare(reader, classes != NULL, error);
  if (statement == NULL)
    return NULL;
  g_autoptr(GArray) rows = g_array_new(FALSE, TRUE, (guint)reader->record->size);
  g_array_set_clear_func(rows, clear);
  int status;
  gboolean good = TRUE;
  while (good && (status = sqlite3_step(statement)) == SQLITE_ROW) {
    g_array_set_size(rows, rows->len + 1);
    good = read_row(reader, statement, rows->data + (rows->len - 1) * reader->record->size, error);
    guint32 rank_class = (guint32)sqlite3_column_int64(statement, 0);
    if (classes != NULL)
      g_array_append_val(classes, rank_class);
  }
  if (good && status != SQLITE_DONE)
    good = store_db_fail(reader->db, READING, error);
  sqlite3_finalize(statement);
  for (guint i = 0; !good && clear == NULL && i < rows->len; i++)
    run_record_clear(reader->record, rows->data + i * reader->record->size);
  return good ? g_steal_pointer(&rows) : NULL;
}
