/* SPDX-License-Identifier: MIT */
/* The timeline for Perfetto, read back: slices, arrows and counters stand where the database has them. */
#include <glib/gstdio.h>
#include <json-glib/json-glib.h>
#include <string.h>

#include "harness.h"
#include "report-chrome.h"
#include "report-sample.h"

static StoreDb *db;
static gint64 run_id;
static JsonParser *parser;
static JsonArray *events;

static JsonObject *event(guint i) {
  return json_array_get_object_element(events, i);
}

static gboolean is(JsonObject *object, const char *member, const char *value) {
  return json_object_has_member(object, member) && strcmp(json_object_get_string_member(object, member), value) == 0;
}

static double number(JsonObject *object, const char *member) {
  return json_object_get_double_member(object, member);
}

/* How many events of a kind have this category; NULL: any. */
static guint count(const char *kind, const char *category) {
  guint n = 0;
  for (guint i = 0; i < json_array_get_length(events); i++)
    n += is(event(i), "ph", kind) && (category == NULL || is(event(i), "cat", category));
  return n;
}

static void every_interval_is_a_slice(void) {
  g_autoptr(RunReport) report = store_db_load(db, run_id, TRUE, NULL);
  guint tasks = 0, exposed = 0, idle = 0, host = 0;
  for (guint32 c = 0; c < report->n_classes; c++) {
    const RunClass *of = &report->classes[c];
    for (guint32 i = 0; i < of->n_exposures; i++)
      *(run_cause_is_idle(of->exposures[i].cause) ? &idle : &exposed) += 1;
    for (guint32 i = 0; i < of->n_tasks; i++)
      host += of->tasks[i].host > 0;
    tasks += of->n_tasks;
  }
  CU_ASSERT_EQUAL(count("X", "exposed"), exposed);
  CU_ASSERT_EQUAL(count("X", "idle"), idle);
  CU_ASSERT_EQUAL(count("X", "host"), host);
  CU_ASSERT_EQUAL(count("X", NULL), tasks + exposed + idle + host);
  CU_ASSERT_TRUE(host > 0 && idle > 0 && exposed > 0);
}

/* A process for each class, with a place in the order; each thread that a slice names has a name. */
static void processes_and_threads_have_names(void) {
  g_autoptr(GHashTable) named = g_hash_table_new(NULL, NULL);
  guint processes = 0;
  for (guint i = 0; i < json_array_get_length(events); i++) {
    processes += is(event(i), "name", "process_name");
    if (is(event(i), "name", "thread_name"))
      g_hash_table_add(named, GINT_TO_POINTER(100 * json_object_get_int_member(event(i), "pid") +
                                              json_object_get_int_member(event(i), "tid")));
  }
  CU_ASSERT_EQUAL(processes, 2);
  for (guint i = 0; i < json_array_get_length(events); i++)
    if (is(event(i), "ph", "X"))
      CU_ASSERT_TRUE(g_hash_table_contains(named, GINT_TO_POINTER(100 * json_object_get_int_member(event(i), "pid") +
                                                                  json_object_get_int_member(event(i), "tid"))));
}

/* The slice of the end's thread that holds its moment: as the format says, by time alone. */
static JsonObject *slice_of(JsonObject *end) {
  for (guint i = 0; i < json_array_get_length(events); i++) {
    JsonObject *slice = event(i);
    if (is(slice, "ph", "X") && number(slice, "tid") == number(end, "tid") &&
        number(slice, "pid") == number(end, "pid") && number(slice, "ts") <= number(end, "ts") &&
        number(end, "ts") < number(slice, "ts") + number(slice, "dur"))
      return slice;
  }
  return NULL;
}

/* Each arrow begins in a collective and ends in a computation that starts no earlier than it ends. */
static void arrows_lead_from_collectives_to_who_waits(void) {
  guint arrows = 0;
  for (guint i = 0; i + 1 < json_array_get_length(events); i++) {
    JsonObject *begin = event(i), *end = event(i + 1);
    if (!is(begin, "ph", "s"))
      continue;
    arrows++;
    CU_ASSERT_TRUE(is(end, "ph", "f") && is(end, "bp", "e"));
    CU_ASSERT_EQUAL(number(begin, "id"), number(end, "id"));
    JsonObject *from = slice_of(begin), *to = slice_of(end);
    CU_ASSERT_TRUE_FATAL(from != NULL && to != NULL);
    CU_ASSERT_TRUE(json_object_has_member(json_object_get_object_member(from, "args"), "operation"));
    CU_ASSERT_FALSE(json_object_has_member(json_object_get_object_member(to, "args"), "operation"));
    CU_ASSERT_TRUE(number(to, "ts") >= number(from, "ts") + number(from, "dur") - 1e-6);
  }
  CU_ASSERT_TRUE(arrows > 0);
  CU_ASSERT_EQUAL(arrows, count("f", NULL));
}

/* Counters of one tenant never go back in time. */
static void counters_go_forward(void) {
  g_autoptr(GHashTable) last = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  for (guint i = 0; i < json_array_get_length(events); i++) {
    if (!is(event(i), "ph", "C"))
      continue;
    g_autofree char *name = g_strdup_printf("%" G_GINT64_FORMAT " %s", json_object_get_int_member(event(i), "pid"),
                                            json_object_get_string_member(event(i), "name"));
    JsonObject *before = g_hash_table_lookup(last, name);
    CU_ASSERT_TRUE(before == NULL || number(before, "ts") <= number(event(i), "ts"));
    g_hash_table_insert(last, g_steal_pointer(&name), event(i));
  }
  CU_ASSERT_EQUAL(g_hash_table_size(last), 2 * RUN_TENANTS);
}

/* The sample, with a host that spends 3 us on each task of the first class, and an idle moment at its end. */
static gboolean write_run(void) {
  g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
  RunClass *of = &report->classes[0];
  for (guint32 i = 0; i < of->n_tasks; i++)
    of->tasks[i].host = 3 * SIM_MICROSECOND;
  RunExposure *last = &of->exposures[of->n_exposures - 1];
  if (!run_cause_is_idle(last->cause))
    last->cause = RUN_CAUSE_HOST_IDLE;
  return store_db_write(db, report, TRUE, &run_id, NULL);
}

int main(void) {
  g_autofree char *folder = g_dir_make_tmp("foretrain-chrome-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "a.db", NULL);
  g_autoptr(GString) text = g_string_new(NULL);
  db = store_db_open(path, NULL);
  parser = json_parser_new();
  if (db == NULL || !write_run() || !report_chrome(db, run_id, text, NULL) ||
      !json_parser_load_from_data(parser, text->str, -1, NULL))
    return 1;
  events = json_object_get_array_member(json_node_get_object(json_parser_get_root(parser)), "traceEvents");
  int status = harness_run("report-chrome", (HarnessCase[]){
                                                {"slices", every_interval_is_a_slice},
                                                {"names", processes_and_threads_have_names},
                                                {"arrows", arrows_lead_from_collectives_to_who_waits},
                                                {"counters", counters_go_forward},
                                                {NULL, NULL},
                                            });
  store_db_close(db);
  g_object_unref(parser);
  g_unlink(path);
  g_rmdir(folder);
  return status;
}
