/* The columns of every table, in the order in which they are written. */
#include "store-writer.h"

/* `metrics`: those follow the columns named here. */
static const struct {
  const char *name, *columns;
  enum { NO_METRICS, ALL_METRICS, CLASS_METRICS } metrics;
  gboolean replaces; /* the row that has its key */
} tables[STORE_TABLES] = {
    [STORE_RUN] = {"run", "", ALL_METRICS},
    [STORE_SETTING] = {"setting", "run_id,name,value,origin"},
    [STORE_NOTE] = {"note", "run_id,number,text"},
    [STORE_CLASS] = {"rank_class", "run_id,rank_class,ranks,first_rank", CLASS_METRICS},
    [STORE_TASK] = {"task", "run_id,rank_class,task_id,stream,kind,name,layer,phase,micro,start_ps,end_ps"},
    [STORE_COLLECTIVE] = {"collective", "run_id,rank_class,task_id,operation,algorithm,protocol,channels,bytes,"
                                        "group_size,queued_ps,start_ps,end_ps,bus_bandwidth"},
    [STORE_EXPOSURE] = {"exposure", "run_id,rank_class,start_ps,end_ps,task_id,cause"},
    [STORE_MEMORY] = {"memory", "run_id,rank_class,at_ps,tenant,bytes"},
    [STORE_PEAK] = {"memory_peak", "run_id,rank_class,tenant,bytes,unique_bytes,at_ps,step,task_name,layer,phase"},
    [STORE_LINK] = {"link", "run_id,link_class,links,bytes,busy_ps,utilisation"},
    [STORE_OOM] = {"oom", "run_id,rank_class,at_ps,step,task_id,task_name,layer,phase,tenant,tensor,requested_bytes,"
                          "free_bytes,allocated_bytes,reserved_bytes"},
    [STORE_PROVENANCE] = {"provenance", "run_id,written_at,foretrain_version,wall_seconds,events"},
    [STORE_VALIDATION] = {"validation",
                          "validation_id,table_name,id,source,set_name,status,run_key,measured_step_ps,"
                          "predicted_step_ps,measured_tokens_per_second_per_gpu,predicted_tokens_per_second_per_gpu,"
                          "measured_peak_reserved_bytes,predicted_peak_reserved_bytes,measured_peak_allocated_bytes,"
                          "predicted_peak_allocated_bytes,measured_steady_allocated_bytes,"
                          "predicted_steady_allocated_bytes,measured_fits,predicted_fits,measured_time_ps,"
                          "predicted_time_ps,measured_bus_bandwidth,predicted_bus_bandwidth"},
    [STORE_BASELINE] = {"baseline", "budget,metric,value,model_version,reason"},
    [STORE_BASELINE_SETTING] = {"baseline_setting", "budget,name,value,origin"},
    [STORE_POINT] = {"point", "sweep_id,number,settings,status,run_key", .replaces = TRUE},
};

static char *insert_sql(StoreTable table) {
  g_autoptr(GString) columns = g_string_new(tables[table].columns);
  for (gsize i = 0; i < store_n_metrics; i++)
    if (tables[table].metrics == ALL_METRICS || (tables[table].metrics == CLASS_METRICS && store_metrics[i].per_class))
      g_string_append_printf(columns, "%s%s", columns->len > 0 ? "," : "", store_metrics[i].column);
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

void store_writer_index(StoreWriter *writer, gint32 value) {
  if (value < 0)
    store_writer_null(writer);
  else
    store_writer_integer(writer, value);
}

void store_writer_metric(StoreWriter *writer, const StoreMetric *metric, const RunReport *report) {
  if (metric->text != NULL)
    store_writer_text(writer, metric->text(report));
  else if (metric->integer != NULL && metric->optional && metric->integer(report) == 0)
    store_writer_null(writer);
  else if (metric->integer != NULL)
    store_writer_integer(writer, metric->integer(report));
  else if (metric->optional && metric->number(report) == 0)
    store_writer_null(writer);
  else
    store_writer_number(writer, metric->number(report));
}

void store_writer_end(StoreWriter *writer) {
  if (writer->failed)
    return;
  if (sqlite3_step(writer->row) != SQLITE_DONE)
    fail(writer);
  sqlite3_reset(writer->row);
}
