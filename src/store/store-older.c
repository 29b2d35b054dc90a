/* SPDX-License-Identifier: MIT */
/* What stands for the columns that older schemas did not have. */
#include "store-older.h"

#include <string.h>

#include "base-error.h"

/* Columns that must have a value, with what an older file knows of them; all other new ones are NULL or have a default
 * in schema.sql. */
static const struct {
  const char *table, *column, *stands;
} added[] = {
    {"run", "device_used_low_bytes", "t.device_used_bytes"}, /* version 7 */
    {"run", "device_used_high_bytes", "t.device_used_bytes"},
    {"rank_class", "device_used_low_bytes", "t.device_used_bytes"},
    {"rank_class", "device_used_high_bytes", "t.device_used_bytes"},
    {"task", "issued_ps", "t.start_ps"}, /* version 8 */
    {"task", "host_ps", "0"},
};

static const char *stands_for(const char *table, const char *column) {
  for (gsize i = 0; i < G_N_ELEMENTS(added); i++)
    if (strcmp(added[i].table, table) == 0 && strcmp(added[i].column, column) == 0)
      return added[i].stands;
  return NULL;
}

typedef struct {
  const char *table;
  GString *columns, *values;
  char *lacking; /* NULL: nothing */
  guint theirs;
} Columns;

/* A row: name, whether theirs has it, whether it may not be left out. */
static void add_column(int n, const char *const *names, const char *const *row, gpointer user) {
  (void)n, (void)names;
  Columns *found = user;
  gboolean theirs = *row[1] == '1', needed = *row[2] == '1';
  const char *stands = theirs ? NULL : stands_for(found->table, row[0]);
  found->theirs += theirs;
  if (!theirs && needed && stands == NULL) {
    g_free(found->lacking);
    found->lacking = g_strdup(row[0]);
  }
  if (strcmp(row[0], "run_id") == 0 || (!theirs && stands == NULL))
    return;
  g_string_append_printf(found->columns, ",%s", row[0]);
  if (theirs)
    g_string_append_printf(found->values, ",t.%s", row[0]);
  else
    g_string_append_printf(found->values, ",%s", stands);
}

gboolean store_older_columns(StoreDb *db, const char *table, GString *columns, GString *values, GError **error) {
  g_autofree char *sql = g_strdup_printf("SELECT mine.name, theirs.name IS NOT NULL,"
                                         " mine.\"notnull\" AND mine.dflt_value IS NULL"
                                         " FROM pragma_table_info('%s', 'main') AS mine"
                                         " LEFT JOIN pragma_table_info('%s', 'other') AS theirs USING (name)"
                                         " ORDER BY mine.cid",
                                         table, table);
  Columns found = {.table = table, .columns = columns, .values = values};
  if (!store_db_query(db, sql, 0, add_column, &found, error))
    return FALSE;
  if (found.theirs == 0) {
    g_string_truncate(columns, 0);
    g_string_truncate(values, 0);
  } else if (found.lacking != NULL) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "table %s of the other database has no column %s, which every version of its kind has", table,
                found.lacking);
    g_free(found.lacking);
    return FALSE;
  }
  g_free(found.lacking);
  return TRUE;
}
