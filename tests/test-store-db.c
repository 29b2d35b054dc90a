/* SPDX-License-Identifier: MIT */
/* The database: what is written comes back, and views and names find it. */
#include <string.h>

#include "store-db-private.h"
#include "store-help.h"
#include "store-metric.h"

static void what_is_written_comes_back(void) {
  g_autoptr(StoreDb) db = store_help_fresh();
  g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
  gint64 run_id;
  CU_ASSERT_TRUE(store_db_write(db, report, TRUE, &run_id, NULL));
  for (gsize i = 0; i < store_n_metrics; i++) {
    const StoreMetric *metric = &store_metrics[i];
    g_autofree char *sql = g_strdup_printf("SELECT %s FROM run WHERE run_id = ?1", metric->column);
    g_autofree char *got = store_help_value(db, sql, run_id);
    if (metric->unit == STORE_TEXT)
      CU_ASSERT_STRING_EQUAL(got, store_metric_get(metric, report).string)
    else if (store_metric_is_whole(metric))
      CU_ASSERT_EQUAL(g_ascii_strtoll(got, NULL, 10), store_metric_get(metric, report).integer)
    else /* text of a REAL has 15 digits */
      CU_ASSERT_DOUBLE_EQUAL(g_ascii_strtod(got, NULL), store_metric_get(metric, report).real,
                             store_metric_get(metric, report).real * 1e-14)
  }
  for (guint32 i = 0; i < report->n_classes; i++) {
    const RunClass *rank_class = &report->classes[i];
    const struct {
      const char *sql;
      gint64 expected;
    } facts[] = {
        {"SELECT ranks FROM rank_class WHERE run_id = ?1 AND rank_class = %u", rank_class->ranks},
        {"SELECT step_ps FROM rank_class WHERE run_id = ?1 AND rank_class = %u", rank_class->step},
        {"SELECT count(*) FROM task WHERE run_id = ?1 AND rank_class = %u", rank_class->n_tasks},
        {"SELECT count(*) FROM collective WHERE run_id = ?1 AND rank_class = %u", rank_class->n_collectives},
        {"SELECT count(*) FROM exposure WHERE run_id = ?1 AND rank_class = %u", rank_class->n_exposures},
        {"SELECT sum(bytes) FROM memory_peak WHERE run_id = ?1 AND rank_class = %u", (gint64)rank_class->device_used},
        {"SELECT sum(end_ps - start_ps) FROM exposure WHERE run_id = ?1 AND rank_class = %u AND"
         " cause NOT IN ('bubble', 'host-idle')",
         rank_class->exposed},
        {"SELECT sum(end_ps - start_ps) FROM task WHERE run_id = ?1 AND rank_class = %u AND kind = 'compute'",
         rank_class->compute},
    };
    for (gsize f = 0; f < G_N_ELEMENTS(facts); f++) {
      g_autofree char *sql = g_strdup_printf(facts[f].sql, i);
      CU_ASSERT_EQUAL(store_help_number(db, sql, run_id), facts[f].expected);
    }
  }
  g_autofree char *first =
      store_help_rows(db,
                      "SELECT * FROM task WHERE run_id = ?1 AND rank_class = 0 AND kind = 'compute'"
                      " ORDER BY start_ps LIMIT 1",
                      run_id);
  CU_ASSERT_STRING_EQUAL(
      first, "run_id=1|rank_class=0|task_id=1|stream=compute|kind=compute|name=decoder_layer|layer=0|"
             "phase=forward|micro=0|issued_ps=5100000000|host_ps=0|start_ps=5100000000|end_ps=10100000000|repeats=1\n");
  g_autofree char *setting =
      store_help_rows(db, "SELECT * FROM setting WHERE run_id = ?1 AND origin = 'command line'", run_id);
  CU_ASSERT_STRING_EQUAL(setting, "run_id=1|name=parallel.zero_stage|value=3|origin=command line\n");
}

/* Only changes are kept; each level, read back as "the last row at or before", is the sample's. */
static void levels_of_memory_come_back(void) {
  g_autoptr(StoreDb) db = store_help_fresh();
  g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
  gint64 run_id;
  CU_ASSERT_TRUE(store_db_write(db, report, TRUE, &run_id, NULL));
  const RunClass *rank_class = &report->classes[0];
  for (guint32 i = 0; i < rank_class->n_samples; i += 7) {
    guint64 total = 0;
    for (guint t = 0; t < RUN_TENANTS; t++)
      total += rank_class->samples[i].held[t];
    g_autofree char *sql =
        g_strdup_printf("SELECT sum(bytes) FROM memory AS m WHERE run_id = ?1 AND rank_class = 0 AND at_ps ="
                        " (SELECT max(at_ps) FROM memory WHERE run_id = m.run_id AND rank_class = 0 AND"
                        " tenant = m.tenant AND at_ps <= %" G_GINT64_FORMAT ")",
                        rank_class->samples[i].at);
    CU_ASSERT_EQUAL(store_help_number(db, sql, run_id), (gint64)total);
  }
  CU_ASSERT_TRUE(store_help_number(db, "SELECT count(*) FROM memory WHERE rank_class = 0", 0) <
                 2 * rank_class->n_samples);
}

static void a_summary_has_no_timeline(void) {
  g_autoptr(StoreDb) db = store_help_fresh();
  g_autoptr(RunReport) report = report_sample(2, SAMPLE_CAPACITY);
  gint64 run_id;
  CU_ASSERT_TRUE(store_db_write(db, report, FALSE, &run_id, NULL));
  CU_ASSERT_EQUAL(store_help_number(db, "SELECT count(*) FROM task", 0), 0);
  CU_ASSERT_EQUAL(store_help_number(db, "SELECT count(*) FROM collective", 0), 0);
  CU_ASSERT_EQUAL(store_help_number(db, "SELECT count(*) FROM exposure", 0), 0);
  CU_ASSERT_EQUAL(store_help_number(db, "SELECT count(*) FROM memory", 0), 0);
  CU_ASSERT_EQUAL(store_help_number(db, "SELECT count(*) FROM memory_peak", 0), 2 * RUN_TENANTS);
}

static void what_is_not_known_is_null(void) {
  g_autoptr(StoreDb) db = store_help_fresh();
  g_autoptr(RunReport) report = report_sample(0, SAMPLE_CAPACITY);
  report->days_to_train = 0;
  gint64 run_id;
  CU_ASSERT_TRUE(store_db_write(db, report, TRUE, &run_id, NULL));
  g_autofree char *days = store_help_value(db, "SELECT days_to_train FROM run", 0);
  CU_ASSERT_STRING_EQUAL(days, "NULL");
  g_autofree char *oom =
      store_help_rows(db, "SELECT tenant, tensor, layer, phase, requested_bytes FROM oom WHERE rank_class = 0", 0);
  /* 4 bytes for each of 6738415616 parameters */
  CU_ASSERT_STRING_EQUAL(oom,
                         "tenant=optimizer|tensor=exp_avg_sq|layer=NULL|phase=optimizer|requested_bytes=26953662464\n");
}

static void what_does_not_add_up_is_refused(void) {
  GError *error = NULL;
  g_autoptr(StoreDb) db = store_help_fresh();
  g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
  gint64 run_id;
  report->classes[0].exposed++;
  HARNESS_FAILS(store_db_write(db, report, TRUE, &run_id, &error), error, "class_step_adds_up");
  CU_ASSERT_EQUAL(store_help_number(db, "SELECT count(*) FROM run", 0), 0);
}

/* Views are for other programs: ours reads none, for a stranger's file may have put one in a table's place. */
static void views_answer(void) {
  g_autoptr(StoreDb) db = store_help_fresh();
  CU_ASSERT_FALSE(store_db_query(db, "SELECT count(*) FROM v_stage_table", 0, store_help_append, NULL, NULL));
  sqlite3_db_config(db->sqlite, SQLITE_DBCONFIG_ENABLE_VIEW, 1, NULL);
  for (guint32 stage = 0; stage < 4; stage++)
    store_help_write(db, stage);
  gint64 newest = store_help_write(db, 3);
  /* Stage 3 was written twice: the table shows the newer. */
  CU_ASSERT_EQUAL(store_help_number(db, "SELECT count(*) FROM v_stage_table", 0), 4);
  CU_ASSERT_EQUAL(store_help_number(db, "SELECT run_id FROM v_stage_table WHERE zero_stage = 3", 0), newest);
  g_autofree char *stages =
      store_help_rows(db, "SELECT group_concat(zero_stage || verdict) AS all_stages FROM v_stage_table", 0);
  CU_ASSERT_STRING_EQUAL(stages, "all_stages=0oom,1fits,2fits,3fits\n");
  /* 79 GiB of capacity; 16 bytes per parameter (100.4 GiB) and activations on top. */
  CU_ASSERT_EQUAL(store_help_number(db, "SELECT capacity_gib FROM v_stage_table WHERE zero_stage = 0", 0), 79);
  CU_ASSERT_EQUAL(
      store_help_number(
          db, "SELECT abs(short_by_gib + 79 - device_used_gib) < 0.002 FROM v_stage_table WHERE zero_stage = 0", 0),
      1);
  CU_ASSERT_EQUAL(
      store_help_number(
          db, "SELECT abs(hidden_ms + exposed_ms - communication_ms) < 0.002 FROM v_overlap WHERE run_id = 4", 0),
      1);
  CU_ASSERT_EQUAL(
      store_help_number(db,
                        "SELECT abs(sum(total_ms) - (SELECT exposed_ms FROM v_overlap WHERE run_id = 4 AND"
                        " rank_class = 1)) < 0.003 FROM v_exposed_by_cause WHERE run_id = 4 AND rank_class = 1"
                        " AND kind = 'exposed'",
                        0),
      1);
  g_autofree char *most = store_help_value(db, "SELECT tenant FROM v_memory_at_peak WHERE run_id = ?1 LIMIT 1", 1);
  CU_ASSERT_STRING_EQUAL(most, "optimizer");
  CU_ASSERT_EQUAL(store_help_number(db, "SELECT count(*) FROM v_links WHERE run_id = 4", 0), 2);
}

static void equal_reports_give_equal_dumps(void) {
  g_autoptr(StoreDb) one = store_help_fresh();
  g_autoptr(StoreDb) two = store_help_fresh();
  store_help_write(one, 1);
  store_help_write(two, 1);
  g_autofree char *first = store_help_dump(one), *second = store_help_dump(two);
  CU_ASSERT_STRING_EQUAL(first, second);
}

static void runs_are_found(void) {
  GError *error = NULL;
  gint64 run_id = -7;
  g_autoptr(StoreDb) db = store_help_fresh();
  HARNESS_FAILS(store_db_find(db, "last", &run_id, &error), error, "holds no run yet");
  gint64 first = store_help_write(db, 1), second = store_help_write(db, 2), again = store_help_write(db, 1);
  CU_ASSERT_TRUE(store_db_find(db, "last", &run_id, NULL) && run_id == again);
  CU_ASSERT_TRUE(store_db_find(db, "1", &run_id, NULL) && run_id == first);
  g_autofree char *key =
      store_help_value(db, "SELECT upper(substr(run_key, 1, 10)) FROM run WHERE run_id = ?1", second);
  CU_ASSERT_TRUE(store_db_find(db, key, &run_id, NULL) && run_id == second);
  g_autofree char *twice = store_help_value(db, "SELECT run_key FROM run WHERE run_id = ?1", first);
  CU_ASSERT_TRUE(store_db_find(db, twice, &run_id, NULL) && run_id == again);
  run_id = -7;
  HARNESS_FAILS(store_db_find(db, "llama2-7b", &run_id, &error), error, "no run is \"llama2-7b\"; expected last");
  HARNESS_FAILS(store_db_find(db, "' OR 1", &run_id, &error), error, "no run is");
  HARNESS_FAILS(store_db_find(db, "", &run_id, &error), error, "no run is");
  CU_ASSERT_EQUAL(run_id, -7);
}

static void queries_only_read(void) {
  GError *error = NULL;
  g_autoptr(StoreDb) db = store_help_fresh();
  store_help_write(db, 1);
  HARNESS_FAILS(store_db_query(db, "DELETE FROM run", 0, store_help_append, NULL, &error), error, "queries that read");
  HARNESS_FAILS(store_db_query(db, "SELECT nothing FROM run", 0, store_help_append, NULL, &error), error, "nothing");
  CU_ASSERT_EQUAL(store_help_number(db, "SELECT count(*) FROM run", 0), 1);
}

static void deleting_a_run_deletes_all_of_it(void) {
  g_autofree char *path = store_help_path("a.db");
  g_autoptr(StoreDb) db = store_db_open(path, NULL);
  store_help_write(db, 0);
  store_help_execute(path, "PRAGMA foreign_keys = ON; DELETE FROM run");
  for (int i = 0; store_help_tables[i] != NULL; i++) {
    g_autofree char *sql = g_strdup_printf("SELECT count(*) FROM %s", store_help_tables[i]);
    CU_ASSERT_EQUAL(store_help_number(db, sql, 0), 0);
  }
  CU_ASSERT_EQUAL(store_help_number(db, "SELECT count(*) FROM provenance", 0), 0);
}

static void the_schema_is_documented(void) {
  g_autoptr(StoreDb) db = store_help_fresh();
  g_autofree char *mode = store_help_value(db, "SELECT * FROM pragma_journal_mode", 0);
  CU_ASSERT_STRING_EQUAL(mode, "wal");
  CU_ASSERT_EQUAL(
      store_help_number(db,
                        "SELECT count(*) FROM pragma_table_list WHERE schema = 'main' AND type = 'table' AND"
                        " NOT strict AND name NOT LIKE 'sqlite%'",
                        0),
      0);
  CU_ASSERT_PTR_NOT_NULL(strstr(store_schema(), "CREATE TABLE run ("));
  CU_ASSERT_PTR_NOT_NULL(strstr(store_schema(), "'fits'")); /* quotes and back-slashes survive the way into C */
  CU_ASSERT_PTR_NOT_NULL(strstr(store_schema(), "\"FtRn\""));
}

int main(void) {
  store_help_begin();
  int status = harness_run("store-db", (HarnessCase[]){
                                           {"what is written comes back", what_is_written_comes_back},
                                           {"levels of memory come back", levels_of_memory_come_back},
                                           {"a summary has no timeline", a_summary_has_no_timeline},
                                           {"what is not known is NULL", what_is_not_known_is_null},
                                           {"what does not add up is refused", what_does_not_add_up_is_refused},
                                           {"views answer", views_answer},
                                           {"equal reports give equal dumps", equal_reports_give_equal_dumps},
                                           {"runs are found", runs_are_found},
                                           {"queries only read", queries_only_read},
                                           {"deleting a run deletes all of it", deleting_a_run_deletes_all_of_it},
                                           {"the schema is documented", the_schema_is_documented},
                                           {NULL, NULL},
                                       });
  store_help_end();
  return status;
}
