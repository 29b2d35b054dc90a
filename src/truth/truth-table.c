/* SPDX-License-Identifier: MIT */
/* The head says what each column is; ids and measures are checked before anything is run. */
#include "truth-table.h"

#include <string.h>

#include "base-names.h"

#define MEASURED "measured."

#define FIRST_STAGE "first-stage"

static const char *const own_names[] = {"id", "source", "set", "note", "memory_of", NULL};

static gboolean fail_column(const TruthTable *table, guint column, GError **error, const char *message,
                            const char *advice) {
  /* The head is the row before the first. */
  const ConfCsvCell *cell = &g_array_index(table->csv->cells, ConfCsvCell, column);
  BasePlace place = {.file = table->csv->file, .line = cell->line, .column = cell->column};
  base_error_set_at(error, &place, message, cell->text, advice);
  return FALSE;
}

static gboolean read_column(TruthTable *table, guint column, GError **error) {
  const char *name = conf_csv_column(table->csv, column);
  if (strcmp(name, "memory_of") == 0)
    table->memory_of = (int)column;
  if (base_names_find(own_names, name) >= 0)
    return TRUE;
  if (g_str_has_prefix(name, MEASURED)) {
    int kind = base_names_find(store_measure_names, name + strlen(MEASURED));
    if (kind >= 0) {
      table->measured[kind] = (int)column;
      return TRUE;
    }
    g_autofree char *advice = base_names_advice(store_measure_names, name + strlen(MEASURED));
    return fail_column(table, column, error, "nothing is measured as \"%s\"%s", advice);
  }
  if (strchr(name, '.') == NULL) {
    g_autofree char *advice = base_names_advice(own_names, name);
    return fail_column(table, column, error, "the column \"%s\" is no group.key%s", advice);
  }
  table->collectives = table->collectives || strcmp(name, "collective.operation") == 0;
  g_array_append_val(table->settings, column);
  return TRUE;
}

static gboolean read_head(TruthTable *table, GError **error) {
  guint *const required[] = {&table->id, &table->source, &table->set};
  for (gsize i = 0; i < G_N_ELEMENTS(required); i++) {
    int column = conf_csv_find(table->csv, own_names[i]);
    if (column < 0) {
      BasePlace place = {.file = table->csv->file, .line = 1};
      base_error_set_at(error, &place, "the head lacks the column \"%s\"", own_names[i]);
      return FALSE;
    }
    *required[i] = (guint)column;
  }
  for (guint column = 0; column < table->csv->n_columns; column++)
    if (!read_column(table, column, error))
      return FALSE;
  return TRUE;
}

static gboolean check_memory_of(const TruthTable *table, guint row, GError **error) {
  if (table->memory_of < 0)
    return TRUE;
  const char *of = conf_csv_cell(table->csv, row, (guint)table->memory_of);
  return *of == '\0' || strcmp(of, FIRST_STAGE) == 0 ||
         conf_csv_fail(table->csv, row, (guint)table->memory_of, error,
                       "expected " FIRST_STAGE " or nothing, found \"%s\"", of);
}

static gboolean check_rows(const TruthTable *table, GError **error) {
  g_autoptr(GHashTable) ids = g_hash_table_new(g_str_hash, g_str_equal);
  for (guint row = 0; row < table->csv->n_rows; row++) {
    char *id = (char *)conf_csv_cell(table->csv, row, table->id);
    if (*id == '\0')
      return conf_csv_fail(table->csv, row, table->id, error, "expected the name of the row, found nothing");
    if (!g_hash_table_add(ids, id))
      return conf_csv_fail(table->csv, row, table->id, error, "\"%s\" stands twice", id);
    if (!check_memory_of(table, row, error))
      return FALSE;
    for (StoreMeasureKind kind = 0; kind < STORE_MEASURES; kind++) {
      double value;
      if (table->measured[kind] < 0)
        continue;
      guint column = (guint)table->measured[kind];
      if (!store_measure_parse(kind, conf_csv_cell(table->csv, row, column), &value, error)) {
        BasePlace place;
        conf_csv_place(table->csv, row, column, &place);
        base_error_prefix_at(error, &place);
        return FALSE;
      }
    }
  }
  return TRUE;
}

TruthTable *truth_table_load(const char *path, GError **error) {
  g_autoptr(TruthTable) table = g_new0(TruthTable, 1);
  table->settings = g_array_new(FALSE, FALSE, sizeof(guint));
  for (int kind = 0; kind < STORE_MEASURES; kind++)
    table->measured[kind] = -1;
  table->memory_of = -1;
  table->csv = conf_csv_load(path, error);
  if (table->csv == NULL || !read_head(table, error) || !check_rows(table, error))
    return NULL;
  return g_steal_pointer(&table);
}

void truth_table_free(TruthTable *table) {
  if (table == NULL)
    return;
  conf_csv_free(table->csv);
  g_array_unref(table->settings);
  g_free(table);
}

gboolean truth_table_has_parts(const TruthTable *table) {
  for (StoreMeasureKind kind = STORE_MEASURES_KEPT; kind < STORE_MEASURES; kind++)
    if (table->measured[kind] >= 0)
      return TRUE;
  return FALSE;
}

StudyPoint *truth_table_point(const TruthTable *table, guint row) {
  StudyPoint *point = study_point_new(table->csv->file);
  for (guint i = 0; i < table->settings->len; i++) {
    guint column = g_array_index(table->settings, guint, i);
    const char *value = conf_csv_cell(table->csv, row, column);
    BasePlace place;
    conf_csv_place(table->csv, row, column, &place);
    if (*value != '\0')
      study_point_add(point, place.key, value, place.line, place.column);
  }
  return point;
}

double truth_table_measured(const TruthTable *table, guint row, StoreMeasureKind kind) {
  double value = STORE_UNKNOWN;
  if (table->measured[kind] >= 0)
    store_measure_parse(kind, conf_csv_cell(table->csv, row, (guint)table->measured[kind]), &value, NULL);
  return value;
}

gboolean truth_table_of_first_stage(const TruthTable *table, guint row) {
  return table->memory_of >= 0 && *conf_csv_cell(table->csv, row, (guint)table->memory_of) != '\0';
}

const char *truth_table_setting(const TruthTable *table, guint row, const char *name) {
  int column = conf_csv_find(table->csv, name);
  return column >= 0 ? conf_csv_cell(table->csv, row, (guint)column) : "";
}
