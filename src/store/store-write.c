/* SPDX-License-Identifier: MIT */
/* One report into its tables, in one transaction. */
#include <string.h>

#include "store-writer.h"

static void begin(StoreWriter *writer, StoreTable table, gint64 run_id) {
  store_writer_begin(writer, table);
  store_writer_integer(writer, run_id);
}

static void begin_of_class(StoreWriter *writer, StoreTable table, gint64 run_id, guint32 rank_class) {
  begin(writer, table, run_id);
  store_writer_integer(writer, rank_class);
}

static gint64 write_run(StoreWriter *writer, const RunReport *report) {
  store_writer_begin(writer, STORE_RUN);
  for (gsize i = 0; i < store_n_metrics; i++)
    store_writer_value(writer, store_metric_get(&store_metrics[i], report));
  store_writer_end(writer);
  return sqlite3_last_insert_rowid(writer->db->sqlite);
}

static void write_settings(StoreWriter *writer, gint64 run_id, const RunIdentity *identity, gboolean defaults) {
  for (guint32 i = 0; i < identity->n_settings; i++) {
    if (!defaults && strcmp(identity->settings[i].origin, "default") == 0)
      continue;
    begin(writer, STORE_SETTING, run_id);
    store_writer_record(writer, &run_record_setting, &identity->settings[i]);
    store_writer_end(writer);
  }
}

static void write_identity(StoreWriter *writer, gint64 run_id, const RunIdentity *identity) {
  write_settings(writer, run_id, identity, TRUE);
  for (guint i = 0; identity->notes != NULL && identity->notes[i] != NULL; i++) {
    begin(writer, STORE_NOTE, run_id);
    store_writer_integer(writer, i);
    store_writer_text(writer, identity->notes[i]);
    store_writer_end(writer);
  }
}

static void write_links(StoreWriter *writer, gint64 run_id, const RunReport *report) {
  for (guint32 i = 0; i < report->n_links; i++) {
    begin(writer, STORE_LINK, run_id);
    store_writer_record(writer, &run_record_link, &report->links[i]);
    store_writer_end(writer);
  }
}

static void write_results(StoreWriter *writer, gint64 run_id, const RunReport *report, guint32 index) {
  RunReport view = store_metric_class_view(report, index);
  begin_of_class(writer, STORE_CLASS, run_id, index);
  store_writer_integer(writer, report->classes[index].ranks);
  store_writer_integer(writer, report->classes[index].first_rank);
  store_writer_text(writer, report->classes[index].role);
  for (gsize i = 0; i < store_n_metrics; i++)
    if (store_metrics[i].per_class)
      store_writer_value(writer, store_metric_get(&store_metrics[i], &view));
  store_writer_end(writer);
}

static void write_row(StoreWriter *writer, StoreTable table, gint64 run_id, guint32 index, gconstpointer row) {
  begin_of_class(writer, table, run_id, index);
  store_writer_record(writer, store_table_record(table), row);
  store_writer_end(writer);
}

static void write_rows(StoreWriter *writer, StoreTable table, gint64 run_id, guint32 index, gconstpointer rows,
                       guint32 n) {
  for (guint32 i = 0; i < n; i++)
    write_row(writer, table, run_id, index, (const char *)rows + i * store_table_record(table)->size);
}

static void write_peak(StoreWriter *writer, gint64 run_id, guint32 index, const RunClass *of) {
  for (guint32 t = 0; t < RUN_TENANTS; t++)
    write_row(writer, STORE_PEAK, run_id, index,
              &(RunPeak){t, of->peak_held[t], of->peak_unique[t], of->peak_at, of->peak_step, of->peak_name,
                         of->peak_layer, of->peak_phase});
}

/* All tenants at first, then those whose level changed. */
static void write_samples(StoreWriter *writer, gint64 run_id, guint32 index, const RunClass *rank_class) {
  for (guint32 i = 0; i < rank_class->n_samples; i++)
    for (guint32 t = 0; t < RUN_TENANTS; t++) {
      const RunMemorySample *sample = &rank_class->samples[i];
      if (run_sample_changes(rank_class, i, t))
        write_row(writer, STORE_MEMORY, run_id, index, &(RunLevel){sample->at, t, sample->held[t]});
    }
}

static void write_provenance(StoreWriter *writer, gint64 run_id, const RunReport *report) {
  g_autoptr(GDateTime) now = g_date_time_new_now_utc();
  g_autofree char *written_at = g_date_time_format(now, "%Y-%m-%dT%H:%M:%SZ");
  begin(writer, STORE_PROVENANCE, run_id);
  store_writer_text(writer, written_at);
  store_writer_text(writer, FORETRAIN_VERSION);
  store_writer_number(writer, report->wall_seconds);
  store_writer_integer(writer, (gint64)report->events);
  store_writer_end(writer);
}

static gint64 write_all(StoreWriter *writer, const RunReport *report, gboolean timeline) {
  gint64 run_id = write_run(writer, report);
  write_identity(writer, run_id, &report->identity);
  write_links(writer, run_id, report);
  for (guint32 i = 0; i < report->n_classes; i++) {
    const RunClass *rank_class = &report->classes[i];
    write_results(writer, run_id, report, i);
    write_peak(writer, run_id, i, rank_class);
    write_rows(writer, STORE_OOM, run_id, i, &rank_class->oom, rank_class->has_oom ? 1 : 0);
    if (timeline) {
      write_rows(writer, STORE_TASK, run_id, i, rank_class->tasks, rank_class->n_tasks);
      write_rows(writer, STORE_COLLECTIVE, run_id, i, rank_class->collectives, rank_class->n_collectives);
      write_rows(writer, STORE_EXPOSURE, run_id, i, rank_class->exposures, rank_class->n_exposures);
      write_rows(writer, STORE_COUNTED, run_id, i, &rank_class->counted, rank_class->counted.more > 0 ? 1 : 0);
      write_samples(writer, run_id, i, rank_class);
    }
  }
  write_provenance(writer, run_id, report);
  return run_id;
}

static gint64 write_summary(StoreWriter *writer, const RunReport *report) {
  gint64 run_id = write_run(writer, report);
  write_settings(writer, run_id, &report->identity, FALSE);
  for (guint32 i = 0; i < report->n_classes; i++)
    write_results(writer, run_id, report, i);
  write_provenance(writer, run_id, report);
  return run_id;
}

gboolean store_db_begin(StoreDb *db, GError **error) {
  return store_db_exec(db, "BEGIN IMMEDIATE", STORE_WRITING, error);
}

gboolean store_db_end(StoreDb *db, gboolean keep, GError **error) {
  if (keep && store_db_exec(db, "COMMIT", STORE_WRITING, error))
    return TRUE;
  sqlite3_exec(db->sqlite, "ROLLBACK", NULL, NULL, NULL);
  return !keep;
}

/* In the transaction that is open, else in one of its own. */
static gboolean write_one(StoreDb *db, const RunReport *report, gboolean summary, gboolean timeline, gint64 *ret_run_id,
                          GError **error) {
  gboolean own = sqlite3_get_autocommit(db->sqlite);
  if (own && !store_db_begin(db, error))
    return FALSE;
  StoreWriter writer = {.db = db, .error = error};
  gint64 run_id = summary ? write_summary(&writer, report) : write_all(&writer, report, timeline);
  if (own && !store_db_end(db, !writer.failed, error))
    return FALSE;
  if (writer.failed)
    return FALSE;
  *ret_run_id = run_id;
  return TRUE;
}

gboolean store_db_write(StoreDb *db, const RunReport *report, gboolean timeline, gint64 *ret_run_id, GError **error) {
  return write_one(db, report, FALSE, timeline, ret_run_id, error);
}

gboolean store_db_write_summary(StoreDb *db, const RunReport *report, gint64 *ret_run_id, GError **error) {
  return write_one(db, report, TRUE, FALSE, ret_run_id, error);
}
