/* SPDX-License-Identifier: MIT */
/* The schema for programs: SQLite is asked what it made of the text. */
#include "store-db-private.h"

/* Rows of the schema, a column each: SQLite's own table-valued pragma. The table's own name tells where one begins. */
static const char columns_sql[] =
    "SELECT m.name, m.type, c.name, nullif(c.type, ''), m.type = 'view' OR NOT (c.\"notnull\" OR c.pk) "
    "FROM sqlite_schema AS m JOIN pragma_table_info(m.name) AS c "
    "WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite_%' ORDER BY m.rowid, c.cid";

static const char *cell(sqlite3_stmt *statement, int column) {
  return (const char *)sqlite3_column_text(statement, column);
}

static void begin_table(BaseJson *json, const char *name, const char *kind) {
  base_json_map(json, NULL);
  base_json_text(json, "name", name);
  base_json_text(json, "kind", kind);
  base_json_list(json, "columns");
}

static void end_table(BaseJson *json) {
  base_json_end(json);
  base_json_end(json);
}

static gboolean add_tables(const StoreDb *db, sqlite3_stmt *statement, BaseJson *json, GError **error) {
  g_autofree char *table = NULL;
  int status;
  while ((status = sqlite3_step(statement)) == SQLITE_ROW) {
    if (g_strcmp0(table, cell(statement, 0)) != 0) {
      if (table != NULL)
        end_table(json);
      g_free(table);
      table = g_strdup(cell(statement, 0));
      begin_table(json, table, cell(statement, 1));
    }
    base_json_map(json, NULL);
    base_json_text(json, "name", cell(statement, 2));
    base_json_text(json, "type", cell(statement, 3));
    base_json_integer(json, "null", sqlite3_column_int(statement, 4));
    base_json_end(json);
  }
  if (table != NULL)
    end_table(json);
  return status == SQLITE_DONE || store_db_fail(db, "reading the schema", error);
}

gboolean store_schema_json(BaseJson *json, GError **error) {
  g_autoptr(StoreDb) db = g_new0(StoreDb, 1);
  db->path = g_strdup(":memory:");
  gboolean good = (sqlite3_open(db->path, &db->sqlite) == SQLITE_OK || store_db_fail(db, "opening it", error)) &&
                  store_db_exec(db, store_schema(), "creating it", error);
  sqlite3_stmt *statement = good ? store_db_prepare(db, columns_sql, "reading the schema", error) : NULL;
  base_json_integer(json, "schema_version", STORE_SCHEMA_VERSION);
  base_json_list(json, "tables");
  good = statement != NULL && add_tables(db, statement, json, error);
  base_json_end(json);
  sqlite3_finalize(statement);
  return good;
}
