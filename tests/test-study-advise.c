/* SPDX-License-Identifier: MIT */
/* Advice: its bounds hold for all that is played, and with them the search finds what it finds without. */
#include <glib/gstdio.h>
#include <string.h>

#include "base-error.h"
#include "harness.h"
#include "study-advise.h"
#include "study-bound.h"
#include "study-candidates.h"

/* Small spaces: four layers, short sequences, a global batch of 8 to 16 on one node of eight or two of them. Between
 * them they have all schedules of pipelines, Megatron's buckets, and experts. */
static const struct {
  const char *workload, *sets[8];
} spaces[] = {
    {"llama2-7b-megatron", {"cluster.nodes=1", "training.gradient_accumulation=1", NULL}},
    {"llama3-8b-fsdp2", {"cluster.nodes=2", "training.gradient_accumulation=1", NULL}},
    {"llama2-7b",
     {"parallel.framework=deepspeed", "parallel.zero_stage=2", "cluster.nodes=1", "training.gradient_accumulation=2",
      NULL}},
    {"llama2-7b",
     {"parallel.framework=nanotron", "parallel.zero_stage=1", "cluster.nodes=1", "training.gradient_accumulation=2",
      NULL}},
    {"mixtral-8x7b",
     {"cluster.nodes=1", "training.global_batch=8", "parallel.pipeline=1", "parallel.interleave=1", "parallel.expert=2",
      NULL}},
    {"llama2-7b",
     {"cluster.topology=box-rtx4090", "cluster.nodes=1", "model.layers=16", "training.gradient_accumulation=2", NULL}},
};

/* As if the workload's file said so: what the command line sets is not varied. */
static void put(Study *study, const char *assignment) {
  g_auto(GStrv) parts = g_strsplit(assignment, "=", 2);
  CU_ASSERT_TRUE_FATAL(conf_settings_put(study->settings, parts[0], parts[1], CONF_ORIGIN_FILE, NULL, NULL));
}

static Study *open_space(gsize i) {
  static const char *const small[] = {"model.layers=4", "training.sequence_length=1024", "training.micro_batch=1",
                                      NULL};
  Study *study = study_open(spaces[i].workload, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(study);
  for (const char *const *set = small; *set != NULL; set++)
    put(study, *set);
  for (const char *const *set = spaces[i].sets; *set != NULL; set++)
    put(study, *set);
  return study;
}

/* A wrong bound would leave out the best, or all of them: the pruned search has the same rows as the full one. */
static void pruned_is_full(void) {
  guint64 left_out = 0;
  for (gsize i = 0; i < G_N_ELEMENTS(spaces); i++) {
    g_autoptr(Study) study = open_space(i);
    StudyAdvise ask = {.study = study, .options = STUDY_OPTIONS_DEFAULT, .top = 3};
    StudyAdvice pruned, full;
    g_autoptr(GError) error = NULL;
    CU_ASSERT_TRUE_FATAL(study_advise(&ask, &pruned, &error));
    ask.everything = TRUE;
    CU_ASSERT_TRUE_FATAL(study_advise(&ask, &full, &error));
    CU_ASSERT_EQUAL_FATAL(pruned.n, full.n);
    CU_ASSERT_TRUE(full.n > 0 && pruned.candidates == full.candidates && pruned.refused == full.refused);
    CU_ASSERT_TRUE(pruned.played <= full.played);
    left_out += full.played - pruned.played;
    for (guint k = 0; k < full.n; k++) {
      CU_ASSERT_STRING_EQUAL(pruned.best[k].change, full.best[k].change);
      CU_ASSERT_EQUAL(run_report_slowest(pruned.best[k].report)->step, run_report_slowest(full.best[k].report)->step);
    }
    study_advice_clear(&pruned);
    study_advice_clear(&full);
  }
  CU_ASSERT_TRUE(left_out > 0);
}

/* What every candidate of a space takes when it is played is no less than its bounds. */
static void bounds_hold(void) {
  guint checked = 0;
  for (gsize i = 0; i < G_N_ELEMENTS(spaces); i++) {
    g_autoptr(Study) study = open_space(i);
    g_autoptr(StudyCache) cache = study_cache_new();
    StudyOptions options = {.fold = TRUE};
    g_autoptr(RunReport) own = study_run(study, &options, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(own);
    const char *experts = run_identity_setting(&own->identity, "model.experts");
    StudySize size = {.layers = 4, .experts = experts != NULL ? g_ascii_strtoull(experts, NULL, 10) : 0};
    g_autoptr(GPtrArray) points = study_candidates(study, &own->identity, &size, NULL, own->identity.nodes,
                                                   own->identity.gpus / own->identity.nodes);
    for (guint k = 0; k < points->len; k += 7) {
      StudyPoint *point = points->pdata[k];
      StudyWalk walk = {
          .settings = conf_settings_copy(study->settings), .cache = cache, .fidelity = "flow", .contention = TRUE};
      study_point_lay(point, walk.settings);
      gboolean good = point->reasons->len == 0 && study_walk_read(&walk, NULL);
      StudyBound bound = good ? study_bound(&walk) : (StudyBound){0};
      study_walk_clear(&walk);
      if (!good)
        continue;
      study_point_run(point, study, &options, cache);
      if (point->report == NULL)
        continue;
      checked++;
      CU_ASSERT_TRUE(bound.time > 0 && (bound.bytes > 0 || point->tag != NULL)); /* all of it in the host's memory */
      CU_ASSERT_TRUE(bound.time <= run_report_slowest(point->report)->step);
      CU_ASSERT_TRUE(bound.bytes <= run_report_tightest(point->report)->device_used);
    }
  }
  CU_ASSERT_TRUE(checked > 100);
}

/* (2) of study-bound.h at m = 2, p = 2: w_0 + 2 w_1 = W + w_1, and the stage with the head has more than half of W. */
static void pipelines_wait(void) {
  g_autoptr(Study) study = open_space(0);
  g_autoptr(StudyCache) cache = study_cache_new();
  SimTime bounds[2];
  for (int i = 0; i < 2; i++) {
    StudyWalk walk = {.settings = conf_settings_copy(study->settings), .cache = cache};
    static const char *const sets[2][3] = {
        {"parallel.pipeline=2", "training.micro_batch=2", "training.gradient_accumulation=2"},
        {"parallel.pipeline=1", "training.micro_batch=2", "training.gradient_accumulation=1"}};
    for (int k = 0; k < 3; k++)
      CU_ASSERT_TRUE(conf_settings_set(walk.settings, sets[i][k], NULL));
    CU_ASSERT_TRUE_FATAL(study_walk_read(&walk, NULL));
    bounds[i] = study_bound(&walk).time;
    study_walk_clear(&walk);
  }
  CU_ASSERT_TRUE(2 * bounds[0] > 3 * bounds[1] && bounds[0] < 2 * bounds[1]);
}

/* What the command line sets is not varied. */
static void what_is_set_stays(void) {
  g_autoptr(Study) study = open_space(0);
  CU_ASSERT_TRUE(study_set(study, "parallel.tensor=2", NULL));
  StudyAdvise ask = {.study = study, .options = STUDY_OPTIONS_DEFAULT, .top = 4};
  StudyAdvice advice;
  CU_ASSERT_TRUE_FATAL(study_advise(&ask, &advice, NULL));
  CU_ASSERT_TRUE(advice.n > 0);
  for (guint i = 0; i < advice.n; i++)
    CU_ASSERT_PTR_NULL(strstr(advice.best[i].change, "parallel.tensor"));
  study_advice_clear(&advice);
  const StudyPlace odd = {NULL, 0, 12};
  GError *error = NULL;
  ask.places = &odd;
  ask.n_places = 1;
  HARNESS_FAILS(study_advise(&ask, &advice, &error), error, "12 GPUs do not fill nodes of 8: nearest are 8 and 16");
}

/* In shares, with what is played kept: the shares' databases together give the advice of one search, which plays
 * nothing that they have. */
static void shares_are_one(void) {
  g_autoptr(Study) study = open_space(1);
  StudyAdvise ask = {.study = study, .options = STUDY_OPTIONS_DEFAULT, .top = 3};
  StudyAdvice whole, part, again;
  CU_ASSERT_TRUE_FATAL(study_advise(&ask, &whole, NULL));
  g_autofree char *folder = g_dir_make_tmp("foretrain-XXXXXX", NULL);
  g_autofree char *database = g_build_filename(folder, "kept.db", NULL);
  ask.database = database;
  ask.shards = 2;
  for (ask.shard = 0; ask.shard < 2; ask.shard++) {
    CU_ASSERT_TRUE_FATAL(study_advise(&ask, &part, NULL));
    CU_ASSERT_TRUE(part.played > 0 && part.candidates == whole.candidates);
    study_advice_clear(&part);
  }
  ask.shard = ask.shards = 0;
  CU_ASSERT_TRUE_FATAL(study_advise(&ask, &again, NULL));
  CU_ASSERT_EQUAL(again.played, 0);
  CU_ASSERT_EQUAL_FATAL(again.n, whole.n);
  for (guint i = 0; i < whole.n; i++)
    CU_ASSERT_STRING_EQUAL(again.best[i].change, whole.best[i].change);
  study_advice_clear(&whole);
  study_advice_clear(&again);
  for (const char *const *end = (const char *const[]){"", "-wal", "-shm", NULL}; *end != NULL; end++) {
    g_autofree char *file = g_strconcat(database, *end, NULL);
    g_unlink(file);
  }
  g_rmdir(folder);
}

static gboolean at_once(G_GNUC_UNUSED gpointer user) {
  return TRUE;
}

/* Who stops it before it begins is told so, and gets nothing. */
static void it_stops(void) {
  g_autoptr(Study) study = open_space(0);
  StudyAdvise ask = {.study = study, .options = STUDY_OPTIONS_DEFAULT, .top = 1, .stop = at_once};
  StudyAdvice advice;
  CU_ASSERT_TRUE_FATAL(study_advise(&ask, &advice, NULL));
  CU_ASSERT_TRUE(advice.stopped && advice.n == 0 && advice.played == 0);
  study_advice_clear(&advice);
}

/* Offload is for layouts that do not fit without: where memory is short it is advised, and then only it. */
static void offload_where_it_must_be(void) {
  g_autoptr(Study) study = study_open("llama2-70b", NULL);
  static const char *const sets[] = {"parallel.framework=fsdp2",
                                     "parallel.zero_stage=3",
                                     "parallel.tensor=1",
                                     "parallel.pipeline=1",
                                     "cluster.nodes=1",
                                     "model.layers=60",
                                     "training.micro_batch=1",
                                     "training.gradient_accumulation=1",
                                     NULL};
  for (const char *const *set = sets; *set != NULL; set++)
    CU_ASSERT_TRUE_FATAL(study_set(study, *set, NULL));
  StudyAdvise ask = {.study = study, .options = STUDY_OPTIONS_DEFAULT, .top = 2};
  StudyAdvice advice;
  CU_ASSERT_TRUE_FATAL(study_advise(&ask, &advice, NULL));
  CU_ASSERT_TRUE(advice.n > 0);
  for (guint i = 0; i < advice.n; i++)
    CU_ASSERT_PTR_NOT_NULL(strstr(advice.best[i].change, "fsdp.cpu_offload=yes"));
  study_advice_clear(&advice);
}

int main(void) {
  return harness_run("study-advise", (HarnessCase[]){
                                         {"bounds hold", bounds_hold},
                                         {"pruned is full", pruned_is_full},
                                         {"pipelines wait", pipelines_wait},
                                         {"what is set stays", what_is_set_stays},
                                         {"shares are one", shares_are_one},
                                         {"it stops", it_stops},
                                         {"offload where it must be", offload_where_it_must_be},
                                         {NULL, NULL},
                                     });
}
