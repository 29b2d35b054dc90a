/* SPDX-License-Identifier: MIT */
/* Small hand-made tables: rows are played, refused by name, counted and kept; the same for one thread and for two. */
#include <string.h>

#include "store-help.h"
#include "truth-interval.h"
#include "truth-text.h"

static TruthResult *run_both(guint threads) {
  g_autofree char *steps = harness_path("tests/data/truth/steps.csv");
  g_autofree char *collectives = harness_path("tests/data/truth/collectives.csv");
  char *paths[] = {steps, collectives, NULL};
  g_autoptr(Study) base = study_new("validation");
  TruthOptions options = {.base = base, .study = STUDY_OPTIONS_DEFAULT, .threads = threads};
  GError *error = NULL;
  TruthResult *result = truth_run(paths, &options, &error);
  if (result == NULL)
    g_error("%s", error->message);
  return result;
}

static const TruthRow *find(const TruthResult *result, const char *id) {
  for (guint i = 0; i < result->rows->len; i++)
    if (strcmp(truth_row(result, i)->id, id) == 0)
      return truth_row(result, i);
  g_error("no row %s", id);
}

/* What a row says and a study of the same settings says are one thing. */
static void rows_are_runs(void) {
  g_autoptr(TruthResult) result = run_both(1);
  const TruthRow *row = find(result, "a-1");
  g_autoptr(Study) study = study_open("llama2-7b", NULL);
  const char *const sets[] = {"training.micro_batch=1",    "training.gradient_accumulation=1",
                              "parallel.zero_stage=3",     "training.activation_checkpointing=none",
                              "cluster.topology=dgx-h100", "cluster.nodes=1"};
  for (gsize i = 0; i < G_N_ELEMENTS(sets); i++)
    CU_ASSERT_TRUE(study_set(study, sets[i], NULL));
  g_autoptr(RunReport) report = study_run(study, &STUDY_OPTIONS_DEFAULT, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(report);
  CU_ASSERT_TRUE(row->ran);
  CU_ASSERT_EQUAL(row->breakdown.step, report->classes[0].step);
  CU_ASSERT_EQUAL(row->predicted[STORE_MEASURE_STEP_TIME], sim_time_to_seconds(report->classes[0].step));
  CU_ASSERT_EQUAL(row->predicted[STORE_MEASURE_STEADY], (double)report->classes[0].steady_allocated);
  CU_ASSERT_EQUAL(row->measured[STORE_MEASURE_TOKENS], 4096);
  CU_ASSERT_EQUAL(row->measured[STORE_MEASURE_RESERVED], STORE_UNKNOWN);
  /* ZeRO-0 of 6.74 B parameters: 16 bytes each are 100 GiB, more than an H100 has. */
  CU_ASSERT_EQUAL(find(result, "a-2")->predicted[STORE_MEASURE_FITS], 0);
}

static void reasons_are_all_told(void) {
  g_autoptr(TruthResult) result = run_both(2);
  const TruthRow *row = find(result, "b-1");
  CU_ASSERT_FALSE(row->ran);
  CU_ASSERT_EQUAL(g_strv_length(row->reasons), 2);
  CU_ASSERT_TRUE(g_str_has_prefix(row->reasons[0], "parallel.framework: "));
  CU_ASSERT_TRUE(g_str_has_prefix(row->reasons[1], "deepspeed.offload_optimizer.ratio: "));
  CU_ASSERT_PTR_NOT_NULL(strstr(find(result, "b-3")->reasons[0], "no file \"no-such-machine.ini\""));
  g_autoptr(GArray) reasons = truth_score_reasons(result);
  /* ratio = 0.5 and 0.25 are one reason of two rows; so is the framework; then the machine, and the tree. */
  CU_ASSERT_EQUAL(reasons->len, 4);
  CU_ASSERT_EQUAL(g_array_index(reasons, TruthReason, 0).rows, 2);
  CU_ASSERT_EQUAL(g_array_index(reasons, TruthReason, 1).rows, 2);
  CU_ASSERT_EQUAL(g_array_index(reasons, TruthReason, 2).rows, 1);
}

static const TruthDefault *find_default(const TruthResult *result, const char *name) {
  for (guint i = 0; i < result->defaults->len; i++)
    if (strcmp(g_array_index(result->defaults, TruthDefault, i).name, name) == 0)
      return &g_array_index(result->defaults, TruthDefault, i);
  return NULL;
}

static void defaults_are_told(void) {
  g_autoptr(TruthResult) result = run_both(2);
  const TruthDefault *loss = find_default(result, "training.loss");           /* empty in a-1 and a-2, given in a-3 */
  const TruthDefault *optimizer = find_default(result, "training.optimizer"); /* no column: a-1, a-2, a-3 */
  const TruthDefault *dtype = find_default(result, "collective.dtype");       /* empty in s-2 */
  CU_ASSERT_PTR_NOT_NULL_FATAL(loss);
  CU_ASSERT_PTR_NOT_NULL_FATAL(optimizer);
  CU_ASSERT_PTR_NOT_NULL_FATAL(dtype);
  CU_ASSERT_EQUAL(loss->rows, 2);
  CU_ASSERT_STRING_EQUAL(loss->value, "default");
  CU_ASSERT_EQUAL(optimizer->rows, 3);
  CU_ASSERT_STRING_EQUAL(optimizer->value, "adamw");
  CU_ASSERT_EQUAL(dtype->rows, 1);
  CU_ASSERT_STRING_EQUAL(dtype->value, "float");
  CU_ASSERT_PTR_NULL(find_default(result, "parallel.zero_stage")); /* stated in every row */
}

static void settings_concern_frameworks(void) {
  CU_ASSERT_TRUE(study_point_concerns("fsdp.wrap", "fsdp2"));
  CU_ASSERT_FALSE(study_point_concerns("fsdp.wrap", "megatron"));
  CU_ASSERT_TRUE(study_point_concerns("ddp.bucket_cap", "ddp"));
  CU_ASSERT_TRUE(study_point_concerns("training.loss", "megatron"));
}

static void threads_do_not_matter(void) {
  TruthShow show = {.rows = TRUE, .worst = 3};
  g_autoptr(GString) expected = g_string_new(NULL);
  for (guint threads = 1; threads <= 4; threads *= 2) {
    g_autoptr(TruthResult) result = run_both(threads);
    g_autoptr(GString) text = g_string_new(NULL);
    truth_text(result, &show, text);
    truth_json(result, &show, text);
    if (threads == 1)
      g_string_assign(expected, text->str);
    CU_ASSERT_STRING_EQUAL(text->str, expected->str);
  }
}

static void all_is_kept(void) {
  store_help_begin();
  g_autoptr(TruthResult) result = run_both(2);
  g_autoptr(StoreDb) db = store_help_fresh();
  CU_ASSERT_TRUE(truth_keep(result, db, NULL));
  CU_ASSERT_TRUE(truth_keep(result, db, NULL));
  CU_ASSERT_EQUAL(store_help_number(db, "SELECT count(*) FROM validation", 0), 20); /* 6 + 4 rows, twice */
  CU_ASSERT_EQUAL(store_help_number(db, "SELECT max(validation_id) FROM validation", 0), 2);
  CU_ASSERT_EQUAL(
      store_help_number(db, "SELECT predicted_step_ps FROM validation WHERE id = 'a-1' AND validation_id = 2", 0),
      find(result, "a-1")->breakdown.step);
  CU_ASSERT_EQUAL(store_help_number(db, "SELECT measured_step_ps FROM validation WHERE id = 'a-3'", 0), 2 * SIM_SECOND);
  CU_ASSERT_EQUAL(store_help_number(db, "SELECT count(*) FROM validation WHERE status = 'ran'", 0), 2 * 6);
  g_autofree char *status = store_help_value(db, "SELECT status FROM validation WHERE id = 's-4'", 0);
  CU_ASSERT_STRING_EQUAL(status, "collective.algorithm: NCCL has no tree for all-gather here");
  CU_ASSERT_EQUAL(store_help_number(db,
                                    "SELECT sum(status = 'ran') FROM validation WHERE source = 'alpha' AND "
                                    "validation_id = 2 GROUP BY set_name ORDER BY set_name",
                                    0),
                  2);
  g_clear_pointer(&db, store_db_close);
  store_help_end();
}

static TruthRow *first_row(TruthResult *result) {
  return &g_array_index(result->rows, TruthRow, 0);
}

static TruthCover cover_of(const TruthResult *result, const char *set) {
  g_autoptr(GArray) covers = truth_interval_covers(result);
  for (guint i = 0; i < covers->len; i++)
    if (strcmp(g_array_index(covers, TruthCover, i).set, set) == 0)
      return g_array_index(covers, TruthCover, i);
  g_error("no intervals of %s", set);
}

/* alpha's rows a-1 and a-2 are tier A, a-3 is tier B; nobody else ran. A measured step on the lower limit lies inside,
 * a picosecond below it does not. Intervals do not rest on these rows, so without their source they are the same. */
static void intervals_are_counted(void) {
  g_autoptr(TruthResult) result = run_both(1);
  TruthRow *row = first_row(result);
  CU_ASSERT_STRING_EQUAL(row->id, "a-1");
  CU_ASSERT_TRUE_FATAL(row->interval.low > 0 && row->interval.low < row->breakdown.step);
  CU_ASSERT_TRUE(row->interval.high > row->breakdown.step);
  CU_ASSERT_EQUAL(row->interval.held_low, row->interval.low);
  CU_ASSERT_EQUAL(row->interval.held_high, row->interval.high);
  CU_ASSERT_STRING_EQUAL(row->interval.like.words[TRUST_FRAMEWORK], "paper");
  for (guint i = 0; i < result->rows->len; i++) /* all far above */
    g_array_index(result->rows, TruthRow, i).measured[STORE_MEASURE_STEP_TIME] = 1000;
  CU_ASSERT_EQUAL(cover_of(result, "made-A").n, 2);
  CU_ASSERT_EQUAL(cover_of(result, "made-A").inside, 0);
  row->measured[STORE_MEASURE_STEP_TIME] = sim_time_to_seconds(row->interval.low);
  CU_ASSERT_EQUAL(cover_of(result, "made-A").inside, 1);
  CU_ASSERT_EQUAL(cover_of(result, "made-A").held_out, 1);
  CU_ASSERT_EQUAL(cover_of(result, "made-A").resting, 0);
  CU_ASSERT_EQUAL(cover_of(result, "made-A").beyond, 2);
  CU_ASSERT_EQUAL(cover_of(result, "made-B").n, 1);
  /* Three rows of one source, one of them inside. */
  TruthCover sum = truth_interval_sum(result);
  CU_ASSERT_EQUAL(sum.n, 3);
  CU_ASSERT_DOUBLE_EQUAL(sum.by_source, 1.0 / 3, 1e-12);
  row->measured[STORE_MEASURE_STEP_TIME] = sim_time_to_seconds(row->interval.low - 1);
  CU_ASSERT_EQUAL(cover_of(result, "made-A").inside, 0);
  g_autoptr(GString) text = g_string_new(NULL);
  truth_text(result, &(TruthShow){.rows = FALSE}, text);
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "\nIntervals of step time: how many rows lie in theirs, nominally 80 %\n"));
  CU_ASSERT_PTR_NULL(strstr(text->str, "is no independent test"));
}

static gboolean stop_at_once(G_GNUC_UNUSED gpointer user) {
  return TRUE;
}

static void stops(void) {
  g_autofree char *steps = harness_path("tests/data/truth/steps.csv");
  char *paths[] = {steps, NULL};
  g_autoptr(Study) base = study_new("validation");
  TruthOptions options = {.base = base, .study = STUDY_OPTIONS_DEFAULT, .stop = stop_at_once};
  g_autoptr(TruthResult) result = truth_run(paths, &options, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(result);
  CU_ASSERT_TRUE(result->stopped);
  CU_ASSERT_EQUAL(result->rows->len, 0);
}

int main(void) {
  return harness_run("validation", (HarnessCase[]){{"rows are runs", rows_are_runs},
                                                   {"all reasons of a row", reasons_are_all_told},
                                                   {"what is left unsaid", defaults_are_told},
                                                   {"settings of other frameworks", settings_concern_frameworks},
                                                   {"one thread or many", threads_do_not_matter},
                                                   {"into the database", all_is_kept},
                                                   {"intervals", intervals_are_counted},
                                                   {"stop", stops},
                                                   {NULL, NULL}});
}
