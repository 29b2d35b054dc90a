/* SPDX-License-Identifier: MIT */
/* A run loaded from the database is the run that was written, less what is said to be missing; one that somebody
 * changed is refused. */
#include <sqlite3.h>
#include <string.h>

#include "base-error.h"
#include "run-record.h"
#include "store-help.h"

/* Fields that are kept, equal; the first that is not. */
static const char *kept_differs(const RunRecord *record, gconstpointer a, gconstpointer b) {
  for (guint i = 0; i < record->n; i++)
    if (record->fields[i].key != NULL && !run_field_equal(&record->fields[i], a, b))
      return record->fields[i].member;
  return NULL;
}

static void same(const RunRecord *record, gconstpointer a, gconstpointer b) {
  const char *differs = kept_differs(record, a, b);
  if (differs != NULL)
    printf("\n    %s differs\n", differs);
  CU_ASSERT_PTR_NULL(differs);
}

static int by_row(gconstpointer a, gconstpointer b) {
  return (int)*(const guint32 *)a - (int)*(const guint32 *)b;
}

/* The sample's tasks and collectives stand by start; the database has them by row. */
static RunReport *sample(guint32 stage, guint64 capacity) {
  RunReport *report = report_sample(stage, capacity);
  for (guint32 i = 0; i < report->n_classes; i++) {
    RunClass *of = &report->classes[i];
    qsort(of->tasks, of->n_tasks, sizeof *of->tasks, by_row);
    qsort(of->collectives, of->n_collectives, sizeof *of->collectives, by_row);
  }
  return report;
}

static void same_rows(const RunRecord *record, gconstpointer a, guint32 n_a, gconstpointer b, guint32 n_b) {
  CU_ASSERT_EQUAL_FATAL(n_a, n_b);
  for (guint32 i = 0; i < n_a; i++)
    same(record, (const char *)a + i * record->size, (const char *)b + i * record->size);
}

static void same_timeline(const RunClass *a, const RunClass *b) {
  same_rows(&run_record_task, a->tasks, a->n_tasks, b->tasks, b->n_tasks);
  same_rows(&run_record_collective, a->collectives, a->n_collectives, b->collectives, b->n_collectives);
  same_rows(&run_record_exposure, a->exposures, a->n_exposures, b->exposures, b->n_exposures);
  CU_ASSERT_EQUAL(memcmp(a->by_cause, b->by_cause, sizeof a->by_cause), 0);
  /* A sample at which nothing changes has no row: levels are compared where the loaded run has one. */
  guint32 at = 0;
  for (guint32 i = 0; i < b->n_samples; i++) {
    while (at + 1 < a->n_samples && a->samples[at].at < b->samples[i].at)
      at++;
    CU_ASSERT_PTR_NULL(run_record_differs(&run_record_sample, &a->samples[at], &b->samples[i]));
  }
}

static void what_was_written_is_loaded(void) {
  for (guint32 stage = 0; stage <= 3; stage++) {
    g_autoptr(StoreDb) db = store_help_fresh();
    g_autoptr(RunReport) report = sample(stage, (guint64)(stage == 0 ? 20 : 79) << 30);
    gint64 run_id;
    CU_ASSERT_TRUE(store_db_write(db, report, TRUE, &run_id, NULL));
    g_autoptr(RunReport) loaded = store_db_load(db, run_id, TRUE, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(loaded);
    CU_ASSERT_EQUAL(loaded->missing, 0);
    same(&run_record_report, report, loaded);
    same_rows(&run_record_setting, report->identity.settings, report->identity.n_settings, loaded->identity.settings,
              loaded->identity.n_settings);
    CU_ASSERT_TRUE(
        g_strv_equal((const char *const *)report->identity.notes, (const char *const *)loaded->identity.notes));
    CU_ASSERT_EQUAL(loaded->n_links, 2);
    same(&run_record_link, &report->links[0], &loaded->links[1]); /* in order of name */
    CU_ASSERT_EQUAL_FATAL(loaded->n_classes, report->n_classes);
    for (guint32 i = 0; i < report->n_classes; i++) {
      const RunClass *a = &report->classes[i], *b = &loaded->classes[i];
      same(&run_record_class, a, b);
      CU_ASSERT_EQUAL(memcmp(a->peak_held, b->peak_held, sizeof a->peak_held), 0);
      CU_ASSERT_EQUAL(memcmp(a->peak_unique, b->peak_unique, sizeof a->peak_unique), 0);
      CU_ASSERT_TRUE(a->peak_at == b->peak_at && a->peak_step == b->peak_step && a->peak_layer == b->peak_layer);
      CU_ASSERT_STRING_EQUAL(a->peak_name, b->peak_name);
      CU_ASSERT_EQUAL(a->has_oom, b->has_oom);
      same(&run_record_oom, &a->oom, &b->oom);
      same_timeline(a, b);
    }
    CU_ASSERT_EQUAL(loaded->classes[0].has_oom, stage == 0);
  }
}

static void what_was_not_kept_is_marked(void) {
  g_autoptr(StoreDb) db = store_help_fresh();
  g_autoptr(RunReport) report = sample(3, SAMPLE_CAPACITY);
  gint64 without, summary, full;
  CU_ASSERT_TRUE(store_db_write(db, report, FALSE, &without, NULL));
  CU_ASSERT_TRUE(store_db_write_summary(db, report, &summary, NULL));
  CU_ASSERT_TRUE(store_db_write(db, report, TRUE, &full, NULL));
  g_autoptr(RunReport) a = store_db_load(db, without, TRUE, NULL), b = store_db_load(db, summary, TRUE, NULL);
  g_autoptr(RunReport) c = store_db_load(db, full, FALSE, NULL);
  CU_ASSERT_EQUAL(a->missing, RUN_MISSING_TIMELINE);
  CU_ASSERT_EQUAL(b->missing, RUN_MISSING_TIMELINE | RUN_MISSING_DETAILS);
  CU_ASSERT_EQUAL(c->missing, RUN_MISSING_TIMELINE); /* not asked for */
  CU_ASSERT_EQUAL(c->classes[0].n_tasks, 0);
  same(&run_record_class, &report->classes[1], &b->classes[1]);
  CU_ASSERT_EQUAL(b->identity.n_settings, 2); /* the third is a default */
  GError *error = NULL;
  HARNESS_FAILS(store_db_load(db, 99, TRUE, &error) != NULL, error, "no run 99");
}

/* As one who may write the file would. */
static void tamper(StoreDb *db, const char *sql) {
  char *cause = NULL;
  sqlite3 *raw;
  g_autofree char *path = store_help_value(db, "SELECT file FROM pragma_database_list WHERE name = 'main'", 0);
  CU_ASSERT_EQUAL(sqlite3_open(path, &raw), SQLITE_OK);
  sqlite3_exec(raw, "PRAGMA ignore_check_constraints = ON; PRAGMA foreign_keys = OFF", NULL, NULL, NULL);
  if (sqlite3_exec(raw, sql, NULL, NULL, &cause) != SQLITE_OK)
    printf("\n    %s\n", cause);
  CU_ASSERT_PTR_NULL(cause);
  sqlite3_free(cause);
  sqlite3_close(raw);
}

static void a_changed_run_is_refused(void) {
  static const struct {
    const char *sql, *says;
  } cases[] = {
      {"UPDATE run SET step_ps = 9223372036854775807", "table run has the step_ps 9223372036854775807"},
      {"UPDATE run SET step_ps = step_ps + 1", "run 1 and its rank classes differ in step_ps"},
      {"UPDATE rank_class SET device_used_bytes = 1", "run 1 and its rank classes differ in device_used_bytes"},
      {"UPDATE run SET gpus = -1", "table run has the gpus -1"},
      {"UPDATE run SET slowest_class = 2", "run 1 lacks rank classes"},
      {"DELETE FROM rank_class", "run 1 lacks rank classes"},
      {"DELETE FROM rank_class WHERE rank_class = 1", "run 1 lacks rank classes"},
      {"UPDATE task SET start_ps = -9223372036854775808 WHERE task_id = 3",
       "task has the start_ps -9223372036854775808"},
      {"UPDATE task SET rank_class = 7 WHERE rank_class = 1", "run 1 lacks rank classes"},
      {"UPDATE exposure SET cause = 'x\n!touch y'", "table exposure has the cause x"},
      {"UPDATE exposure SET end_ps = end_ps + 1000000000000", "is exposed twice at one time, or beyond its step"},
      {"UPDATE memory SET tenant = 'me' WHERE at_ps = 0 AND tenant = 'overhead'", "table memory has the tenant me"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    GError *error = NULL;
    g_autoptr(StoreDb) db = store_help_fresh();
    CU_ASSERT_EQUAL(store_help_write(db, 3), 1);
    tamper(db, cases[i].sql);
    RunReport *loaded = store_db_load(db, 1, TRUE, &error);
    CU_ASSERT_TRUE(g_error_matches(error, SIM_ERROR, SIM_ERROR_INPUT));
    HARNESS_FAILS(loaded != NULL, error, cases[i].says);
    run_report_free(loaded);
  }
}

int main(void) {
  store_help_begin();
  int status = harness_run("store-load", (HarnessCase[]){{"what was written is loaded", what_was_written_is_loaded},
                                                         {"what was not kept is marked", what_was_not_kept_is_marked},
                                                         {"a changed run is refused", a_changed_run_is_refused},
                                                         {NULL, NULL}});
  store_help_end();
  return status;
}
