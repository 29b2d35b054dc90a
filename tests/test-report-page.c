/* SPDX-License-Identifier: MIT */
/* The page of runs: texts stay texts, its data is what the database has, its policy names its own script. How it looks
 * and moves in a browser: test-report-page.sh. */
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <string.h>

#include "harness.h"
#include "report-page.h"
#include "report-sample.h"

#define HOSTILE "</script><script>bad()</script><img src=x onerror=bad()> \" ' & \xff \x01"

static StoreDb *db;

static gint64 keep(RunReport *report, gboolean timeline) {
  gint64 run_id = 0;
  CU_ASSERT_TRUE_FATAL(store_db_write(db, report, timeline, &run_id, NULL));
  return run_id;
}

static char *page_of(const gint64 *run_ids, guint n) {
  GString *html = g_string_new(NULL);
  ReportPageRun runs[8] = {{0}};
  for (guint i = 0; i < n; i++)
    runs[i].run_id = run_ids[i];
  CU_ASSERT_TRUE_FATAL(report_page(db, runs, n, html, NULL));
  return g_string_free(html, FALSE);
}

static guint count(const char *text, const char *fragment) {
  guint n = 0;
  for (const char *at = text; (at = strstr(at, fragment)) != NULL; at += strlen(fragment))
    n++;
  return n;
}

/* A name that is markup stands in the page as its letters, wherever a run says it. Two scripts alone: data and code. */
static void hostile_names_stay_texts(void) {
  g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
  char **names[] = {&report->identity.model, &report->identity.workload, &report->identity.topology,
                    &report->identity.gpu};
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
    g_free(*names[i]);
    *names[i] = g_utf8_make_valid(HOSTILE, -1);
  }
  for (guint32 c = 0; c < report->n_classes; c++)
    report->classes[c].tasks[0].name = "</script><script>bad()</script>";
  gint64 id = keep(report, TRUE);
  g_autofree char *html = page_of(&id, 1);
  CU_ASSERT_PTR_NULL(strstr(html, "<img"));
  CU_ASSERT_PTR_NULL(strstr(html, "<script>bad"));
  CU_ASSERT_PTR_NOT_NULL(strstr(html, "&lt;img src=x onerror=bad()&gt;"));
  CU_ASSERT_PTR_NOT_NULL(strstr(html, "\\u003c/script>\\u003cscript>bad()"));
  CU_ASSERT_EQUAL(count(html, "<script"), 2);
  CU_ASSERT_EQUAL(count(html, "</script>"), 2);
  CU_ASSERT_TRUE(g_utf8_validate(html, -1, NULL));
}

static char *between(const char *text, const char *begin, const char *end) {
  const char *from = strstr(text, begin);
  CU_ASSERT_PTR_NOT_NULL_FATAL(from);
  from += strlen(begin);
  const char *to = strstr(from, end);
  CU_ASSERT_PTR_NOT_NULL_FATAL(to);
  return g_strndup(from, (gsize)(to - from));
}

/* The policy's hash is that of the one script that stands there. */
static void only_its_own_script_may_run(void) {
  g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
  gint64 id = keep(report, TRUE);
  g_autofree char *html = page_of(&id, 1), *script = between(html, "<script>", "</script>"),
                  *hash = between(html, "script-src 'sha256-", "'");
  g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
  guint8 digest[32];
  gsize length = sizeof digest;
  g_checksum_update(checksum, (const guchar *)script, -1);
  g_checksum_get_digest(checksum, digest, &length);
  g_autofree char *expected = g_base64_encode(digest, length);
  CU_ASSERT_STRING_EQUAL(hash, expected);
  CU_ASSERT_PTR_NULL(strstr(html, "http://"));
  CU_ASSERT_PTR_NULL(strstr(html, "https://"));
}

static gint64 sum_of_kind(JsonObject *data, gint64 kind) {
  JsonArray *rows = json_object_get_array_member(data, "rows");
  gint64 sum = 0;
  for (guint r = 0; r < json_array_get_length(rows); r++) {
    JsonObject *row = json_array_get_object_element(rows, r);
    JsonArray *kinds = json_object_get_array_member(row, "kind"),
              *durations = json_object_get_array_member(row, "duration");
    for (guint i = 0; i < json_array_get_length(kinds); i++)
      sum += json_array_get_int_element(kinds, i) == kind ? json_array_get_int_element(durations, i) : 0;
  }
  return sum;
}

/* Of each cause the boxes last as long as the database says; the highest level with the cache is the device's peak. */
static void its_data_is_the_databases(void) {
  g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
  gint64 id = keep(report, TRUE);
  g_autofree char *html = page_of(&id, 1), *start = g_strdup_printf("id=\"data-%" G_GINT64_FORMAT "\">", id),
                  *json = between(html, start, "</script>");
  g_autoptr(JsonParser) parser = json_parser_new();
  CU_ASSERT_TRUE_FATAL(json_parser_load_from_data(parser, json, -1, NULL));
  JsonObject *data = json_node_get_object(json_parser_get_root(parser));
  JsonArray *kinds = json_object_get_array_member(data, "kinds");
  const RunClass *slow = run_report_slowest(report);
  for (guint k = 0; k < json_array_get_length(kinds); k++) {
    const char *name = json_object_get_string_member(json_array_get_object_element(kinds, k), "name");
    for (guint cause = 0; cause < RUN_CAUSES; cause++)
      if (strcmp(name, run_cause_names[cause]) == 0)
        CU_ASSERT_EQUAL(sum_of_kind(data, k), slow->by_cause[cause]);
  }
  JsonObject *levels = json_object_get_object_member(data, "levels");
  JsonArray *held = json_object_get_array_member(levels, "held");
  CU_ASSERT_EQUAL(json_array_get_length(held), RUN_TENANTS + 1);
  for (guint i = 0; i < json_array_get_length(json_object_get_array_member(levels, "at")); i++) {
    gint64 sum = 0;
    for (guint t = 0; t < json_array_get_length(held); t++)
      sum += json_array_get_int_element(json_array_get_array_element(held, t), i);
    CU_ASSERT_EQUAL(sum, (gint64)run_report_tightest(report)->device_used);
  }
}

static void several_runs_are_compared(void) {
  g_autoptr(RunReport) first = report_sample(3, SAMPLE_CAPACITY), second = report_sample(2, SAMPLE_CAPACITY);
  const gint64 ids[] = {keep(first, TRUE), keep(second, FALSE)};
  g_autofree char *html = page_of(ids, 2);
  CU_ASSERT_PTR_NOT_NULL(strstr(html, "<h2>Side by side</h2>"));
  CU_ASSERT_EQUAL(count(html, "<section data-run="), 2);
  CU_ASSERT_EQUAL(count(html, "application/json"), 1); /* the second kept no timeline, and says so */
  CU_ASSERT_EQUAL(count(html, "has no timeline"), 1);
  GString *none = g_string_new(NULL);
  GError *error = NULL;
  const ReportPageRun missing = {.run_id = 999};
  HARNESS_FAILS(report_page(db, &missing, 1, none, &error), error, "no run 999");
  CU_ASSERT_EQUAL(none->len, 0);
  g_string_free(none, TRUE);
}

int main(void) {
  g_autofree char *folder = g_dir_make_tmp("foretrain-page-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "a.db", NULL);
  db = store_db_open(path, NULL);
  if (db == NULL)
    return 1;
  int status = harness_run("report-page", (HarnessCase[]){
                                              {"hostile names", hostile_names_stay_texts},
                                              {"policy", only_its_own_script_may_run},
                                              {"data", its_data_is_the_databases},
                                              {"several runs", several_runs_are_compared},
                                              {NULL, NULL},
                                          });
  store_db_close(db);
  g_unlink(path);
  g_rmdir(folder);
  return status;
}
