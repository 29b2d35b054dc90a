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
    store_writer_metric(writer, &store_metrics[i], report);
  store_writer_end(writer);
  return sqlite3_last_insert_rowid(writer->db->sqlite);
}

static void write_settings(StoreWriter *writer, gint64 run_id, const RunIdentity *identity, gboolean defaults) {
  for (guint32 i = 0; i < identity->n_settings; i++) {
    if (!defaults && strcmp(identity->settings[i].origin, "default") == 0)
      continue;
    begin(writer, STORE_SETTING, run_id);
    store_writer_text(writer, identity->settings[i].name);
    store_writer_text(writer, identity->settings[i].value);
    store_writer_text(writer, identity->settings[i].origin);
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
    const RunLink *link = &report->links[i];
    begin(writer, STORE_LINK, run_id);
    store_writer_text(writer, link->link_class);
    store_writer_integer(writer, link->links);
    store_writer_integer(writer, (gint64)(link->bytes + 0.5));
    store_writer_integer(writer, link->busy);
    store_writer_number(writer, link->utilisation);
    store_writer_end(writer);
  }
}

static void write_results(StoreWriter *writer, gint64 run_id, const RunReport *report, guint32 index) {
  RunReport view = store_metric_class_view(report, index);
  begin_of_class(writer, STORE_CLASS, run_id, index);
  store_writer_integer(writer, report->classes[index].ranks);
  store_writer_integer(writer, report->classes[index].first_rank);
  for (gsize i = 0; i < store_n_metrics; i++)
    if (store_metrics[i].per_class)
      store_writer_metric(writer, &store_metrics[i], &view);
  store_writer_end(writer);
}

static void write_peak(StoreWriter *writer, gint64 run_id, guint32 index, const RunClass *rank_class) {
  for (guint t = 0; t < RUN_TENANTS; t++) {
    begin_of_class(writer, STORE_PEAK, run_id, index);
    store_writer_text(writer, run_tenant_names[t]);
    store_writer_integer(writer, (gint64)rank_class->peak_held[t]);
    store_writer_integer(writer, (gint64)rank_class->peak_unique[t]);
    store_writer_integer(writer, rank_class->peak_at);
    store_writer_integer(writer, rank_class->peak_step);
    store_writer_text(writer, rank_class->peak_name);
    store_writer_index(writer, rank_class->peak_layer);
    store_writer_text(writer, rank_class->peak_phase);
    store_writer_end(writer);
  }
}

static void write_oom(StoreWriter *writer, gint64 run_id, guint32 index, const RunOom *oom) {
  begin_of_class(writer, STORE_OOM, run_id, index);
  store_writer_integer(writer, oom->at);
  store_writer_integer(writer, oom->step);
  store_writer_integer(writer, oom->row);
  store_writer_text(writer, oom->name);
  store_writer_index(writer, oom->layer);
  store_writer_text(writer, oom->phase);
  store_writer_text(writer, oom->tenant);
  store_writer_text(writer, oom->tensor);
  store_writer_integer(writer, (gint64)oom->requested);
  store_writer_integer(writer, (gint64)oom->free);
  store_writer_integer(writer, (gint64)oom->allocated);
  store_writer_integer(writer, (gint64)oom->reserved);
  store_writer_end(writer);
}

static void write_tasks(StoreWriter *writer, gint64 run_id, guint32 index, const RunClass *rank_class) {
  for (guint32 i = 0; i < rank_class->n_tasks; i++) {
    const RunTask *task = &rank_class->tasks[i];
    begin_of_class(writer, STORE_TASK, run_id, index);
    store_writer_integer(writer, task->row);
    store_writer_text(writer, task->stream);
    store_writer_text(writer, task->kind);
    store_writer_text(writer, task->name);
    store_writer_index(writer, task->layer);
    store_writer_text(writer, task->phase);
    store_writer_index(writer, task->micro);
    store_writer_integer(writer, task->start);
    store_writer_integer(writer, task->end);
    store_writer_end(writer);
  }
}

static void write_collectives(StoreWriter *writer, gint64 run_id, guint32 index, const RunClass *rank_class) {
  for (guint32 i = 0; i < rank_class->n_collectives; i++) {
    const RunCollective *collective = &rank_class->collectives[i];
    begin_of_class(writer, STORE_COLLECTIVE, run_id, index);
    store_writer_integer(writer, collective->row);
    store_writer_text(writer, collective->operation);
    store_writer_text(writer, collective->algorithm);
    store_writer_text(writer, collective->protocol);
    store_writer_integer(writer, collective->channels);
    store_writer_integer(writer, (gint64)collective->bytes);
    store_writer_integer(writer, collective->group_size);
    store_writer_integer(writer, collective->queued);
    store_writer_integer(writer, collective->start);
    store_writer_integer(writer, collective->end);
    store_writer_number(writer, collective->bus_bandwidth);
    store_writer_end(writer);
  }
}

static void write_exposures(StoreWriter *writer, gint64 run_id, guint32 index, const RunClass *rank_class) {
  for (guint32 i = 0; i < rank_class->n_exposures; i++) {
    const RunExposure *exposure = &rank_class->exposures[i];
    begin_of_class(writer, STORE_EXPOSURE, run_id, index);
    store_writer_integer(writer, exposure->start);
    store_writer_integer(writer, exposure->end);
    if (exposure->row == G_MAXUINT32)
      store_writer_null(writer);
    else
      store_writer_integer(writer, exposure->row);
    store_writer_text(writer, run_cause_names[exposure->cause]);
    store_writer_end(writer);
  }
}

/* All tenants at first, then those whose level changed. */
static void write_samples(StoreWriter *writer, gint64 run_id, guint32 index, const RunClass *rank_class) {
  for (guint32 i = 0; i < rank_class->n_samples; i++)
    for (guint t = 0; t < RUN_TENANTS; t++) {
      const RunMemorySample *sample = &rank_class->samples[i];
      if (i > 0 && sample->held[t] == sample[-1].held[t])
        continue;
      begin_of_class(writer, STORE_MEMORY, run_id, index);
      store_writer_integer(writer, sample->at);
      store_writer_text(writer, run_tenant_names[t]);
      store_writer_integer(writer, (gint64)sample->held[t]);
      store_writer_end(writer);
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
    if (rank_class->has_oom)
      write_oom(writer, run_id, i, &rank_class->oom);
    if (timeline) {
      write_tasks(writer, run_id, i, rank_class);
      write_collectives(writer, run_id, i, rank_class);
      write_exposures(writer, run_id, i, rank_class);
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
