/* SPDX-License-Identifier: MIT */
/* The columns of every table, in the order in which they are written. */
#include "store-writer.h"

#include "store-baseline.h"
#include "store-sweep.h"
#include "store-validation.h"

/* Columns named here, those of the record, then metrics or measures. */
static const struct {
  const char *name, *columns;
  const RunRecord *record;
  enum { NO_METRICS, ALL_METRICS, CLASS_METRICS, MEASURES } metrics;
  gboolean replaces; /* the row that has its key */
} tables[STORE_TABLES] = {
    [STORE_RUN] = {"run", "", NULL, ALL_METRICS},
    [STORE_SETTING] = {"setting", "run_id", &run_record_setting},
    [STORE_NOTE] = {"note", "run_id,number,text"},
    [STORE_CLASS] = {"rank_class", "run_id,rank_class,ranks,first_rank,role", NULL, CLASS_METRICS},
    [STORE_TASK] = {"task", "run_id,rank_class", &run_record_task},
    [STORE_COLLECTIVE] = {"collective", "run_id,rank_class", &run_record_collective},
    [STORE_EXPOSURE] = {"exposure", "run_id,rank_class", &run_record_exposure},
    [STORE_COUNTED] = {"counted", "run_id,rank_class", &run_record_counted},
    [STORE_MEMORY] = {"memory", "run_id,rank_class", &run_record_level},
    [STORE_PEAK] = {"memory_peak", "run_id,rank_class", &run_record_peak},
    [STORE_LINK] = {"link", "run_id", &run_record_link},
    [STORE_OOM] = {"oom", "run_id,rank_class", &run_record_oom},
    [STORE_PROVENANCE] = {"provenance", "run_id,written_at,foretrain_version,wall_seconds,events"},
    [STORE_VALIDATION] = {"validation", "validation_id", &store_record_validation, MEASURES},
    [STORE_BASELINE] = {"baseline", "budget", &store_record_baseline},
    [STORE_BASELINE_SETTING] = {"baseline_setting", "budget", &run_record_setting},
    [STORE_POINT] = {"point", "sweep_id", &store_record_point, .replaces = TRUE},
};

const RunRecord *store_table_record(StoreTable table) {
  return tables[table].record;
}

static void add_columns(StoreTable table, GString *sql) {
  const RunRecord *record = tables[table].record;
  for (guint i = 0; record != NULL && i < record->n; i++)
    if (record->fields[i].key != NULL)
      g_string_append_printf(sql, ",%s", record->fields[i].key);
  for (gsize i = 0; i < store_n_metrics; i++)
    if (tables[table].metrics == ALL_METRICS || (tables[table].metrics == CLASS_METRICS && store_metrics[i].per_class))
      g_string_append_printf(sql, "%s%s", sql->len > 0 ? "," : "", store_metrics[i].column);
  for (int kind = 0; tables[table].metrics == MEASURES && kind < STORE_MEASURES_KEPT; kind++)
    g_string_append_printf(sql, ",measured_%s,predicted_%s", store_measures[kind].column, store_measures[kind].column);
}

static char *insert_sql(StoreTable table) {
  g_autoptr(GString) columns = g_string_new(tables[table].columns);
  add_columns(table, columns);
  g_autoptr(GString) values = g_string_new("?");
  for (gsize i = 0; i < columns->len; i++)
    if (columns->str[i] == ',')
      g_string_append(values, ",?");
  return g_strdup_printf("INSERT%s INTO %s (%s) VALUES (%s)", tables[table].replaces ? " OR REPLACE" : "",
                         tables[table].name, columns->str, values->str);
}

static void fail(StoreWriter *writer) {
  store_db_fail(writer->db, STORE_WRITING, writer->error);
  writer->failed = TRUE;
}

void store_writer_begin(StoreWriter *writer, StoreTable table) {
  sqlite3_stmt **insert = &writer->db->inserts[table];
  if (!writer->failed && *insert == NULL) {
    g_autofree char *sql = insert_sql(table);
    if (sqlite3_prepare_v3(writer->db->sqlite, sql, -1, SQLITE_PREPARE_PERSISTENT, insert, NULL) != SQLITE_OK)
      fail(writer);
  }
  writer->row = *insert;
  writer->column = 0;
}

void store_writer_integer(StoreWriter *writer, gint64 value) {
  if (!writer->failed)
    sqlite3_bind_int64(writer->row, ++writer->column, value);
}

void store_writer_number(StoreWriter *writer, double value) {
  if (!writer->failed)
    sqlite3_bind_double(writer->row, ++writer->column, value);
}

void store_writer_text(StoreWriter *writer, const char *value) {
  if (!writer->failed)
    sqlite3_bind_text(writer->row, ++writer->column, value, -1, SQLITE_STATIC);
}

void store_writer_null(StoreWriter *writer) {
  if (!writer->failed)
    sqlite3_bind_null(writer->row, ++writer->column);
}

void store_writer_value(StoreWriter *writer, RunValue value) {
  if (value.kind == RUN_NULL)
    store_writer_null(writer);
  else if (value.kind == RUN_INTEGER)
    store_writer_integer(writer, value.integer);
  else if (value.kind == RUN_REAL)
    store_writer_number(writer, value.real);
  else
    store_writer_text(writer, value.string);
}

void store_writer_record(StoreWriter *writer, const RunRecord *record, gconstpointer of) {
  for (guint i = 0; i < record->n; i++)
    if (record->fields[i].key != NULL)
      store_writer_value(writer, run_field_get(&record->fields[i], of));
}

void store_writer_end(StoreWriter *writer) {
  if (writer->failed)
    return;
  if (sqlite3_step(writer->row) != SQLITE_DONE)
    fail(writer);
  sqlite3_reset(writer->row);
}
