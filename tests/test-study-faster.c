/* SPDX-License-Identifier: MIT */
/* What would make a step faster against the runs themselves; [what_if] against what its factors must do. */
#include <string.h>

#include "harness.h"
#include "study-faster.h"
#include "study-remedy.h"
#include "study-tornado.h"

static Study *open_with(const char *const *sets) {
  g_autoptr(GError) error = NULL;
  Study *study = study_open("llama2-7b", &error);
  for (; study != NULL && *sets != NULL; sets++)
    if (!study_set(study, *sets, &error))
      break;
  if (error != NULL)
    g_error("%s", error->message);
  return study;
}

static RunReport *play(const Study *study, const char *const *changes) {
  g_autoptr(GError) error = NULL;
  StudyOptions options = STUDY_OPTIONS_DEFAULT;
  options.timeline = FALSE;
  RunReport *report = study_try(study, changes, &options, &error);
  if (report == NULL)
    g_error("%s", error->message);
  return report;
}

/* Each trial is what its changes alone give, keeps the global batch and is another run; the last, of several changes,
 * gains more than any one that may be advised. DeepSpeed over slow Ethernet: hpZ and fewer, larger gathers pay. */
static void trials_are_runs(void) {
  g_autoptr(Study) study =
      open_with((const char *const[]){"parallel.framework=deepspeed", "cluster.nodes=2", "cluster.topology=h100-eth100",
                                      "training.gradient_accumulation=4", NULL});
  g_autoptr(RunReport) report = play(study, (const char *const[]){NULL});
  g_autoptr(GPtrArray) faster = study_faster(study, report, &STUDY_OPTIONS_DEFAULT, NULL);
  CU_ASSERT_TRUE_FATAL(faster->len > 20);
  double best = 0;
  gboolean shards_by_node = FALSE;
  for (guint i = 0; i < faster->len; i++) {
    const StudyTrial *trial = g_ptr_array_index(faster, i);
    g_auto(GStrv) changes = g_strsplit(trial->change, " ", -1);
    g_autoptr(RunReport) again = play(study, (const char *const *)changes);
    CU_ASSERT_STRING_EQUAL(again->identity.run_key, trial->report->identity.run_key);
    CU_ASSERT_EQUAL(run_report_slowest(again)->step, run_report_slowest(trial->report)->step);
    CU_ASSERT_EQUAL(trial->report->identity.global_batch, report->identity.global_batch);
    CU_ASSERT_STRING_NOT_EQUAL(trial->report->identity.run_key, report->identity.run_key);
    shards_by_node |= strcmp(trial->change, "deepspeed.zero_hpz_partition_size=8") == 0;
    if (i + 1 < faster->len && study_may_advise(report, trial->report))
      best = MAX(best, study_gain(report, trial->report));
  }
  const StudyTrial *last = g_ptr_array_index(faster, faster->len - 1);
  CU_ASSERT_TRUE(shards_by_node);
  CU_ASSERT_PTR_NOT_NULL(strstr(last->change, " "));
  CU_ASSERT_TRUE(study_may_advise(report, last->report));
  CU_ASSERT_TRUE(study_gain(report, last->report) > best);
  CU_ASSERT_TRUE(best > 0.1);
}

/* Half the time for as many tokens is a gain of one; an oom is never advised where the run fits. */
static void gain_and_advice(void) {
  RunReport one = {.tokens_per_second_per_gpu = 100, .verdict = RUN_FITS},
            other = {.tokens_per_second_per_gpu = 200, .verdict = RUN_OOM};
  CU_ASSERT_EQUAL(study_gain(&one, &other), 1.0);
  CU_ASSERT_FALSE(study_may_advise(&one, &other));
  CU_ASSERT_TRUE(study_may_advise(&other, &one));
  CU_ASSERT_TRUE(study_changes_clash("a.b=1 c.d=2", "e.f=1 c.d=3"));
  CU_ASSERT_FALSE(study_changes_clash("a.b=1", "a.bc=1"));
}

static SimTime step_with(const Study *study, const char *change) {
  g_autoptr(RunReport) report = play(study, (const char *const[]){change, NULL});
  return run_report_slowest(report)->step;
}

/* A factor of one is the same step, of another key; each figure moves the step the way it must. A tenth more memory is
 * a tenth more capacity, and nothing else. Slower NICs and a longer way can only cost where communication is exposed;
 * half the matmul rate more than half as much again of a step that is mostly matmuls (at least a third of 600 ms). */
static void what_if(void) {
  g_autoptr(Study) study = open_with((const char *const[]){"parallel.framework=fsdp2", "cluster.nodes=2", NULL});
  g_autoptr(RunReport) report = play(study, (const char *const[]){NULL});
  SimTime step = run_report_slowest(report)->step;
  CU_ASSERT_EQUAL(step_with(study, "what_if.matmul_rate=1"), step);
  CU_ASSERT_TRUE(step_with(study, "what_if.matmul_rate=0.5") > step + step / 3);
  CU_ASSERT_TRUE(step_with(study, "what_if.memory_bandwidth=0.5") > step + step / 10);
  CU_ASSERT_TRUE(step_with(study, "what_if.network_bandwidth=0.1") > step);
  CU_ASSERT_TRUE(step_with(study, "what_if.network_latency=100") > step);
  CU_ASSERT_TRUE(step_with(study, "what_if.node_bandwidth=0.05") > step);
  g_autoptr(RunReport) larger = play(study, (const char *const[]){"what_if.memory_size=1.1", NULL});
  guint64 capacity = run_report_tightest(report)->capacity;
  CU_ASSERT_EQUAL(run_report_tightest(larger)->capacity, (guint64)((double)capacity * 1.1));
  CU_ASSERT_EQUAL(run_report_slowest(larger)->step, step);
}

/* What the tornado plays is what --set plays. */
static void tornado_is_what_if(void) {
  g_autoptr(Study) study = open_with((const char *const[]){"parallel.framework=fsdp2", "cluster.nodes=2", NULL});
  g_autoptr(StudyTornado) tornado = study_tornado(study, &STUDY_OPTIONS_DEFAULT, NULL);
  for (guint i = 0; i < STUDY_FIGURES; i++) {
    g_autofree char *low = g_strdup_printf("what_if.%s=0.9", study_figure_names[i]);
    g_autofree char *high = g_strdup_printf("what_if.%s=1.1", study_figure_names[i]);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tornado->bars[i].low);
    CU_ASSERT_PTR_NOT_NULL_FATAL(tornado->bars[i].high);
    CU_ASSERT_EQUAL(run_report_slowest(tornado->bars[i].low)->step, step_with(study, low));
    CU_ASSERT_EQUAL(run_report_slowest(tornado->bars[i].high)->step, step_with(study, high));
  }
  CU_ASSERT_PTR_NOT_NULL_FATAL(tornado->endless);
  CU_ASSERT_TRUE(run_report_slowest(tornado->endless)->exposed <
                 MAX(1, step_with(study, "what_if.network_bandwidth=0.9")));
}

int main(void) {
  return harness_run("study-faster", (HarnessCase[]){{"trials are runs", trials_are_runs},
                                                     {"gain and advice", gain_and_advice},
                                                     {"what if", what_if},
                                                     {"the tornado is what if", tornado_is_what_if},
                                                     {NULL, NULL}});
}
