/* SPDX-License-Identifier: MIT */
/* Comparing runs: parts add up to the step and to the difference, in the database and on the page. */
#include <json-glib/json-glib.h>
#include <string.h>

#include "base-names.h"

#include "report-compare.h"
#include "report-measured.h"
#include "store-help.h"
#include "study.h"

static gint64 keep(StoreDb *db, const char *workload, const char *const *sets, gboolean timeline) {
  GError *error = NULL;
  gint64 run_id = -1;
  StudyOptions options = STUDY_OPTIONS_DEFAULT;
  g_autoptr(Study) study = study_open(workload, &error);
  for (; *sets != NULL; sets++)
    CU_ASSERT_TRUE_FATAL(study_set(study, *sets, &error));
  g_autoptr(RunReport) report = study_run(study, &options, &error);
  CU_ASSERT_TRUE_FATAL(report != NULL && store_db_write(db, report, timeline, &run_id, &error));
  return run_id;
}

static JsonNode *compare_json(StoreDb *db, const gint64 *ids, guint n) {
  GError *error = NULL;
  g_autoptr(GString) text = g_string_new(NULL);
  CU_ASSERT_TRUE_FATAL(report_compare_json(db, ids, n, text, &error));
  JsonNode *node = json_from_string(text->str, &error);
  CU_ASSERT_PTR_NOT_NULL_FATAL(node);
  return node;
}

/* Sum of "time_ps" of an object's parts; `kind` NULL: all. */
static gint64 sum(JsonObject *object, const char *kind) {
  JsonArray *parts = json_object_get_array_member(object, "parts");
  gint64 total = 0;
  for (guint i = 0; i < json_array_get_length(parts); i++) {
    JsonObject *part = json_array_get_object_element(parts, i);
    if (kind == NULL || strcmp(json_object_get_string_member(part, "kind"), kind) == 0)
      total += json_object_get_int_member(part, "time_ps");
  }
  return total;
}

static void check_sums(StoreDb *db, const gint64 *ids, guint n) {
  g_autoptr(JsonNode) node = compare_json(db, ids, n);
  JsonObject *root = json_node_get_object(node);
  JsonArray *runs = json_object_get_array_member(root, "runs");
  JsonArray *differences = json_object_get_array_member(root, "differences");
  CU_ASSERT_EQUAL(json_array_get_length(runs), n);
  CU_ASSERT_EQUAL_FATAL(json_array_get_length(differences), n - 1);
  JsonObject *first = json_array_get_object_element(runs, 0);
  for (guint i = 0; i < n; i++) {
    JsonObject *run = json_array_get_object_element(runs, i);
    CU_ASSERT_EQUAL(json_object_get_int_member(run, "run_id"), ids[i]);
    CU_ASSERT_EQUAL(sum(run, NULL), json_object_get_int_member(run, "step_ps"));
    CU_ASSERT_EQUAL(sum(run, "compute"), json_object_get_int_member(run, "compute_ps"));
    CU_ASSERT_EQUAL(sum(run, "exposed"), json_object_get_int_member(run, "exposed_ps"));
    CU_ASSERT_EQUAL(sum(run, "idle"), json_object_get_int_member(run, "idle_ps"));
    if (i == 0)
      continue;
    JsonObject *difference = json_array_get_object_element(differences, i - 1);
    gint64 step = json_object_get_int_member(run, "step_ps") - json_object_get_int_member(first, "step_ps");
    CU_ASSERT_EQUAL(sum(difference, NULL), step);
    CU_ASSERT_EQUAL(json_object_get_int_member(difference, "step_ps"), step);
  }
}

static void parts_add_up(void) {
  static const char *const none[] = {NULL};
  g_autoptr(StoreDb) db = store_help_fresh();
  gint64 ids[8];
  for (guint stage = 0; stage <= 3; stage++) {
    g_autofree char *zero = g_strdup_printf("parallel.zero_stage=%u", stage);
    ids[stage] = keep(db, "llama2-7b", (const char *const[]){zero, NULL}, TRUE);
  }
  ids[4] = keep(db, "gpt2-xl", none, TRUE);
  ids[5] = keep(db, "llama2-7b", (const char *const[]){"cluster.slow_gpus=5: 0.8", "model.layers=4", NULL}, TRUE);
  ids[6] = keep(db, "llama2-7b", (const char *const[]){"cluster.nodes=1", "model.layers=4", NULL}, FALSE);
  ids[7] = store_help_write(db, 2); /* hand-made: idle time too, two classes */
  check_sums(db, ids, 8);
}

/* Every cell of the step's rows: a number in hundredths, G_MININT64 where the row has none such. */
static gint64 cell(const char *text, const char *title, guint column) {
  const char *row = strstr(text, title);
  CU_ASSERT_PTR_NOT_NULL_FATAL(row);
  g_autofree char *line = g_strndup(row + strlen(title), strcspn(row + strlen(title), "\n"));
  g_auto(GStrv) words = g_strsplit_set(line, " ", -1);
  guint found = 0;
  for (char **word = words; *word != NULL; word++) {
    if (**word == '\0' || found++ != column)
      continue;
    double value = strcmp(*word, "=") == 0 ? 0 : g_ascii_strtod(*word, NULL);
    return (gint64)(value * 100 + (value < 0 ? -0.5 : 0.5));
  }
  return G_MININT64;
}

static void the_page_adds_up(void) {
  GError *error = NULL;
  g_autoptr(StoreDb) db = store_help_fresh();
  gint64 ids[2] = {keep(db, "llama2-7b", (const char *const[]){"parallel.zero_stage=2", NULL}, TRUE),
                   keep(db, "llama2-7b", (const char *const[]){"parallel.zero_stage=3", NULL}, TRUE)};
  g_autoptr(GString) text = g_string_new(NULL);
  CU_ASSERT_TRUE_FATAL(report_compare(db, ids, 2, text, &error));
  static const char *const kinds[] = {"\n  compute ", "\n  exposed communication ", "\n  idle "};
  static const char *const phases[] = {"\n    forward ", "\n    backward ", "\n    recomputation ", "\n    optimizer "};
  static const char *const causes[] = {"\n    boundary ", "\n    bucket-fill ", "\n    latency ", "\n    bandwidth "};
  static const char *const calls[] = {"\n    parameter gathers ", "\n    gradients "};
  for (guint column = 0; column < 3; column++) {
    gint64 step = 0, compute = 0, by_cause = 0, by_call = 0;
    for (int i = 0; i < 3; i++)
      step += cell(text->str, kinds[i], column);
    for (int i = 0; i < 4; i++) {
      compute += cell(text->str, phases[i], column);
      by_cause += cell(text->str, causes[i], column);
    }
    for (int i = 0; i < 2; i++)
      by_call += cell(text->str, calls[i], column);
    CU_ASSERT_EQUAL(step, cell(text->str, "\nstep, ms ", column));
    CU_ASSERT_EQUAL(compute, cell(text->str, kinds[0], column));
    CU_ASSERT_EQUAL(by_cause, cell(text->str, kinds[1], column));
    CU_ASSERT_EQUAL(by_call, cell(text->str, kinds[1], column));
  }
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "What differs: parallel.zero_stage 2 / 3\n"));
  /* Stage 3 lacks the gather after the step, which was exposed: that is more than the whole difference. */
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, " times faster than A ("));
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "at the end of the step, which hides nothing)"));
}

/* DeepSpeed's stage 2 reduces, stage 3 reduces and scatters; one gathers all, the other by module: names cancel. */
static void purposes_cancel(void) {
  GError *error = NULL;
  g_autoptr(StoreDb) db = store_help_fresh();
  gint64 ids[2];
  for (guint i = 0; i < 2; i++) {
    g_autofree char *stage = g_strdup_printf("parallel.zero_stage=%u", i + 2);
    ids[i] = keep(db, "llama2-7b", (const char *const[]){"parallel.framework=deepspeed", stage, NULL}, TRUE);
  }
  g_autoptr(GString) text = g_string_new(NULL);
  CU_ASSERT_TRUE_FATAL(report_compare(db, ids, 2, text, &error));
  const char *exposed = strstr(text->str, "exposed communication");
  CU_ASSERT_PTR_NOT_NULL_FATAL(exposed);
  CU_ASSERT_TRUE(cell(exposed, "\n    gradients ", 0) > 0 && cell(exposed, "\n    gradients ", 1) > 0);
  CU_ASSERT_TRUE(cell(exposed, "\n    parameter gathers ", 0) > 0);
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "gradients exposed"));
  CU_ASSERT_PTR_NULL(strstr(text->str, "reduce gradients"));
  CU_ASSERT_PTR_NULL(strstr(text->str, "% of the difference"));
}

/* A sweep's point keeps no defaults: what it lacks is the default. Of a run beside it no more is told than of it. */
static void what_is_absent_is_the_default(void) {
  GError *error = NULL;
  g_autoptr(StoreDb) db = store_help_fresh();
  g_autoptr(Study) study = study_open("llama2-7b", &error);
  CU_ASSERT_TRUE_FATAL(study_set(study, "parallel.zero_stage=2", &error));
  StudyOptions summary = STUDY_OPTIONS_DEFAULT;
  summary.timeline = FALSE;
  g_autoptr(RunReport) point = study_run(study, &summary, &error);
  gint64 ids[2] = {0, keep(db, "llama2-7b", (const char *const[]){"parallel.zero_stage=3", NULL}, TRUE)};
  CU_ASSERT_TRUE_FATAL(store_db_write_summary(db, point, &ids[0], &error));
  g_autoptr(GString) text = g_string_new(NULL);
  CU_ASSERT_TRUE_FATAL(report_compare(db, ids, 2, text, &error));
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "What differs: parallel.zero_stage 2 / 3\n"));
  CU_ASSERT_PTR_NULL(strstr(text->str, "recomputation"));
  CU_ASSERT_PTR_NULL(strstr(text->str, "activations"));
}

static void what_is_equal_is_said_to_be(void) {
  GError *error = NULL;
  g_autoptr(StoreDb) db = store_help_fresh();
  gint64 id = keep(db, "gpt2-xl", (const char *const[]){"cluster.nodes=1", NULL}, TRUE), ids[] = {id, id};
  g_autoptr(GString) text = g_string_new(NULL);
  CU_ASSERT_TRUE_FATAL(report_compare(db, ids, 2, text, &error));
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "What differs: no setting"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "B takes as long as A. It needs as much memory."));
  CU_ASSERT_PTR_NULL(strstr(text->str, "%+"));
  gint64 nowhere[] = {id, 99};
  HARNESS_FAILS(report_compare(db, nowhere, 2, text, &error), error, "no run 99");
}

/* A planted fault: an interval that the database lost is a leaf of its own, so that sums hold and the loss shows. */
static void what_is_lost_shows(void) {
  g_autofree char *path = store_help_path("lost.db");
  g_autoptr(StoreDb) db = store_db_open(path, NULL);
  gint64 ids[2] = {keep(db, "llama2-7b", (const char *const[]){"model.layers=2", NULL}, TRUE),
                   keep(db, "llama2-7b", (const char *const[]){"model.layers=2", NULL}, TRUE)};
  g_autofree char *sql =
      g_strdup_printf("DELETE FROM task WHERE run_id = %" G_GINT64_FORMAT " AND name = 'adam'", ids[1]);
  store_help_execute(path, sql);
  check_sums(db, ids, 2);
  GError *error = NULL;
  g_autoptr(GString) text = g_string_new(NULL);
  CU_ASSERT_TRUE(report_compare(db, ids, 2, text, &error));
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "    other"));
}

static gint64 of_side(JsonObject *root, const char *side, const char *name) {
  return json_object_get_int_member(json_object_get_object_member(root, side), name);
}

static gint64 of_operations(JsonObject *root, const char *side, const char *name) {
  JsonObject *all = json_object_get_object_member(json_object_get_object_member(root, side), "operations");
  gint64 sum_of = 0;
  for (int o = 0; o < REPORT_OPERATIONS; o++)
    sum_of += json_object_get_int_member(json_object_get_object_member(all, report_operation_names[o]), name);
  return sum_of;
}

/* The database's own columns on the one side, the trace's on the other; exposed time by operation adds up to all of it.
 * Four units (embedding, two blocks, head): each gathered and reduced, so at least eight calls. */
static void beside_a_measured_step(void) {
  GError *error = NULL;
  g_autoptr(StoreDb) db = store_help_fresh();
  gint64 id = keep(db, "llama3-8b-fsdp2", (const char *[]){"model.layers=2", NULL}, TRUE);
  ReportMeasured trace = {.file = "h\xc3\xb6her \"b\".json",
                          .steps = 3,
                          .taken = 2,
                          .step = 1000 * SIM_MILLISECOND,
                          .compute = 700 * SIM_MILLISECOND,
                          .communication = 400 * SIM_MILLISECOND,
                          .exposed = 200 * SIM_MILLISECOND,
                          .idle = 100 * SIM_MILLISECOND};
  trace.of[REPORT_ALL_GATHER] = (ReportTraffic){5, 400 * SIM_MILLISECOND, 200 * SIM_MILLISECOND};
  g_autoptr(GString) json = g_string_new(NULL), text = g_string_new(NULL);
  CU_ASSERT_TRUE_FATAL(report_measured_json(db, id, &trace, json, &error));
  g_autoptr(JsonNode) node = json_from_string(json->str, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(node);
  JsonObject *root = json_node_get_object(node);
  CU_ASSERT_STRING_EQUAL(json_object_get_string_member(json_object_get_object_member(root, "trace"), "file"),
                         trace.file);
  CU_ASSERT_EQUAL(of_side(root, "measured", "step_ps"), 1000 * SIM_MILLISECOND);
  CU_ASSERT_EQUAL(of_operations(root, "measured", "exposed_ps"), 200 * SIM_MILLISECOND);
  CU_ASSERT_EQUAL(of_side(root, "predicted", "compute_ps") + of_side(root, "predicted", "exposed_ps") +
                      of_side(root, "predicted", "idle_ps"),
                  of_side(root, "predicted", "step_ps"));
  CU_ASSERT_EQUAL(of_operations(root, "predicted", "exposed_ps"), of_side(root, "predicted", "exposed_ps"));
  CU_ASSERT_TRUE(of_operations(root, "predicted", "busy_ps") >= of_side(root, "predicted", "communication_ps"));
  CU_ASSERT_TRUE(of_operations(root, "predicted", "calls") >= 8);
  CU_ASSERT_TRUE_FATAL(report_measured(db, id, &trace, text, &error));
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "step 2 of 3 that the profiler marked"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "shorter than the measured one"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "all-gather, calls"));
}

/* Layer 1's forward is twice as long as predicted, and the second reduce-scatter has other bytes: they part there. */
static void where_they_part_first(void) {
  GError *error = NULL;
  g_autoptr(StoreDb) db = store_help_fresh();
  gint64 id = keep(db, "llama3-8b-fsdp2", (const char *[]){"model.layers=2", NULL}, TRUE);
  ReportMeasured bare = {.file = "a.json", .step = SIM_SECOND, .compute = SIM_SECOND};
  g_autoptr(GString) json = g_string_new(NULL), text = g_string_new(NULL);
  CU_ASSERT_TRUE_FATAL(report_measured_json(db, id, &bare, json, &error));
  g_autoptr(JsonNode) node = json_from_string(json->str, NULL);
  JsonObject *side = json_object_get_object_member(json_node_get_object(node), "predicted");
  JsonArray *of_layers = json_object_get_array_member(side, "layers");
  JsonArray *of_calls = json_object_get_array_member(side, "collectives");
  ReportLayer layers[2];
  CU_ASSERT_EQUAL_FATAL(json_array_get_length(of_layers), 2);
  for (guint i = 0; i < 2; i++) {
    JsonObject *one = json_array_get_object_element(of_layers, i);
    layers[i] =
        (ReportLayer){json_object_get_int_member(one, "forward_ps") * (1 + (gint64)i),
                      json_object_get_int_member(one, "recompute_ps"), json_object_get_int_member(one, "backward_ps")};
  }
  guint n = json_array_get_length(of_calls), reduced = 0;
  g_autofree ReportCall *calls = g_new0(ReportCall, n);
  for (guint i = 0; i < n; i++) {
    JsonObject *one = json_array_get_object_element(of_calls, i);
    calls[i] = (ReportCall){
        (ReportOperation)base_names_find(report_operation_names, json_object_get_string_member(one, "operation")),
        (guint64)json_object_get_int_member(one, "bytes"), json_object_get_int_member(one, "time_ps")};
    if (calls[i].operation == REPORT_REDUCE_SCATTER && ++reduced == 2)
      calls[i].bytes++;
  }
  bare.layers = layers;
  bare.n_layers = 2;
  bare.calls = calls;
  bare.n_calls = n;
  CU_ASSERT_TRUE_FATAL(report_measured(db, id, &bare, text, &error));
  g_strdelimit(text->str, "\n", ' ');
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "They part first in the forward of layer 1"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "the reduce-scatter no. 2 parts first"));
  CU_ASSERT_PTR_NULL(strstr(text->str, "the all-gather no."));
}

int main(void) {
  store_help_begin();
  int status =
      harness_run("report-compare", (HarnessCase[]){{"parts add up", parts_add_up},
                                                    {"where they part first", where_they_part_first},
                                                    {"the page adds up", the_page_adds_up},
                                                    {"what is equal is said to be", what_is_equal_is_said_to_be},
                                                    {"purposes cancel", purposes_cancel},
                                                    {"what is absent is the default", what_is_absent_is_the_default},
                                                    {"what is lost shows", what_is_lost_shows},
                                                    {"beside a measured step", beside_a_measured_step},
                                                    {NULL, NULL}});
  store_help_end();
  return status;
}
