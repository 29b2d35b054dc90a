/* SPDX-License-Identifier: MIT */
/* A step's budget and its critical path add up to it; purposes are the same under every framework. */
#include <string.h>

#include "harness.h"
#include "report-kinds.h"
#include "report-path.h"
#include "study.h"

static RunReport *play(const char *workload, const char *const *sets) {
  g_autoptr(GError) error = NULL;
  g_autoptr(Study) study = study_open(workload, &error);
  for (; study != NULL && *sets != NULL; sets++)
    if (!study_set(study, *sets, &error))
      break;
  RunReport *report = error == NULL ? study_run(study, &STUDY_OPTIONS_DEFAULT, &error) : NULL;
  if (report == NULL)
    g_error("%s", error->message);
  return report;
}

static SimTime length_of(const GArray *path) {
  SimTime sum = 0;
  for (guint i = 0; i < path->len; i++)
    sum += g_array_index(path, ReportHop, i).time;
  return sum;
}

static void check(const char *workload, const char *const *sets) {
  g_autoptr(RunReport) report = play(workload, sets);
  const RunClass *slow = run_report_slowest(report);
  g_autoptr(GArray) path = report_path(slow);
  gint64 kinds[REPORT_COMPUTES], sum = 0;
  CU_ASSERT_EQUAL(length_of(path), slow->step);
  report_kinds(slow, kinds);
  for (guint i = 0; i < REPORT_COMPUTES; i++)
    sum += kinds[i];
  CU_ASSERT_EQUAL(sum, slow->compute);
  for (guint i = 1; i < path->len; i++)
    CU_ASSERT_TRUE(g_array_index(path, ReportHop, i - 1).time >= g_array_index(path, ReportHop, i).time);
}

/* Steps with and without accumulation (which counts micro-batches), over axes, on slow networks, host-bound. */
static void adds_up(void) {
  check("llama2-7b", (const char *const[]){"parallel.framework=fsdp2", "training.gradient_accumulation=16",
                                           "cluster.topology=h100-eth100", NULL});
  check("llama2-7b", (const char *const[]){"parallel.framework=deepspeed", "training.gradient_accumulation=32", NULL});
  check("llama2-7b", (const char *const[]){"parallel.framework=fsdp2", "parallel.tensor=2", "parallel.pipeline=2",
                                           "training.gradient_accumulation=8", NULL});
  check("llama2-7b-megatron", (const char *const[]){"parallel.tensor=2", "training.gradient_accumulation=8", NULL});
  check("gpt2-xl", (const char *const[]){NULL});
}

/* Compute of 10, a collective of 20 that begins when it ends, 5 in which the host launches, compute of 15; beside it a
 * collective that ends at 12 and that nobody waits for. The step is 50: 10 + 20 + 5 + 15. */
static void hand_made(void) {
  RunTask tasks[] = {{0, "compute", "compute", "a", "forward", 0, 0, .start = 0, .end = 10, .repeats = 1},
                     {1, "comm", "collective", "gather", "gather", 0, 0, .start = 10, .end = 30, .repeats = 1},
                     {2, "other", "collective", "early", "gather", 0, 0, .start = 2, .end = 12, .repeats = 1},
                     {3, "compute", "compute", "b", "backward", 0, 0, .start = 35, .end = 50, .repeats = 1}};
  RunExposure exposed[] = {{10, 35, 1, RUN_CAUSE_BANDWIDTH, 1}};
  RunClass one = {.step = 50, .tasks = tasks, .n_tasks = 4, .exposures = exposed, .n_exposures = 1};
  static const struct {
    const char *name;
    SimTime time;
  } wanted[] = {{"gather", 20}, {"b", 15}, {"a", 10}, {NULL, 5}};
  g_autoptr(GArray) path = report_path(&one);
  CU_ASSERT_EQUAL_FATAL(path->len, 4);
  for (guint i = 0; i < 4; i++) {
    const ReportHop *hop = &g_array_index(path, ReportHop, i);
    CU_ASSERT_EQUAL(g_strcmp0(hop->name, wanted[i].name), 0);
    CU_ASSERT_EQUAL(hop->time, wanted[i].time);
  }
  CU_ASSERT_TRUE(g_array_index(path, ReportHop, 3).host);
}

/* A body from 10 to 20 that comes 3 times more leaves a hole up to 50; what ends at 60 began at 50. The micro-batch is
 * 4 times 10, before it 10, after it 10. */
static void counted(void) {
  RunTask tasks[] = {{0, "compute", "compute", "first", "forward", 0, 0, .start = 0, .end = 10, .repeats = 1},
                     {1, "compute", "compute", "micro", "forward", 0, 1, .start = 10, .end = 20, .repeats = 4},
                     {2, "compute", "compute", "last", "optimizer", 0, 0, .start = 50, .end = 60, .repeats = 1}};
  RunClass one = {.step = 60, .tasks = tasks, .n_tasks = 3, .counted = {10, 20, 10, 3}};
  g_autoptr(GArray) path = report_path(&one);
  CU_ASSERT_EQUAL_FATAL(path->len, 3);
  const ReportHop *micro = &g_array_index(path, ReportHop, 0);
  CU_ASSERT_STRING_EQUAL(micro->name, "micro");
  CU_ASSERT_EQUAL(micro->time, 40);
  CU_ASSERT_EQUAL(micro->tasks, 4);
  CU_ASSERT_EQUAL(length_of(path), 60);
}

/* The same thing under every framework. */
static void purposes(void) {
  static const struct {
    RunTask task;
    ReportPurpose purpose;
  } cases[] = {
      {{.kind = "collective", .name = "gather parameters, int8", .phase = "gather"}, REPORT_PARAMETERS},
      {{.kind = "collective", .name = "all-gather parameters", .phase = "gather"}, REPORT_PARAMETERS},
      {{.kind = "collective", .name = "reduce gradients", .phase = "reduce"}, REPORT_GRADIENTS},
      {{.kind = "collective", .name = "exchange gradients, int4", .phase = "reduce"}, REPORT_GRADIENTS},
      {{.kind = "compute", .name = "copy into bucket", .phase = "backward"}, REPORT_GRADIENTS},
      {{.kind = "compute", .name = "cast weights", .phase = "forward"}, REPORT_PARAMETERS},
      {{.kind = "compute", .name = "copy out", .phase = "backward"}, REPORT_PARAMETERS},
      {{.kind = "compute", .name = "adam", .phase = "optimizer"}, REPORT_OPTIMIZER},
      {{.kind = "compute", .name = "zero gradients", .phase = "setup"}, REPORT_OPTIMIZER},
      {{.kind = "compute", .name = "q_proj", .phase = "recompute"}, REPORT_RECOMPUTATION},
      {{.kind = "compute", .name = "q_proj.wgrad", .phase = "backward"}, REPORT_BACKWARD},
      {{.kind = "collective", .name = "o_proj.reduce", .phase = "forward"}, REPORT_TENSOR},
      {{.kind = "collective", .name = "attention.keys", .phase = "forward"}, REPORT_CONTEXT},
      {{.kind = "collective", .name = "experts.dispatch", .phase = "forward"}, REPORT_EXPERTS},
      {{.kind = "collective", .name = "send gradients", .phase = "backward"}, REPORT_PIPELINE},
      {{.kind = "collective", .name = "exchange", .phase = "forward"}, REPORT_PIPELINE},
      {{.kind = "collective", .name = "sum gradient", .phase = "backward"}, REPORT_GRADIENTS},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
    CU_ASSERT_EQUAL(report_purpose(&cases[i].task), cases[i].purpose);
}

int main(void) {
  return harness_run("report-explained", (HarnessCase[]){{"budget and path add up", adds_up},
                                                         {"a path by hand", hand_made},
                                                         {"counted micro-batches", counted},
                                                         {"purposes", purposes},
                                                         {NULL, NULL}});
}
