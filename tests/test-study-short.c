/* SPDX-License-Identifier: MIT */
/* Steps whose micro-batches are counted, on devices that are a little too small for them: where memory runs out, and
 * what was free then, is what playing all of them gives; and where micro-batches that are not played would run out,
 * though those that are do not, all are played. */
#include "harness.h"
#include "run-count.h"
#include "study.h"

/* Two stages of 40 micro-batches on 79 GiB need about 0.128 of that, the first nearly all of it between steps. */
#define STAGES                                                                                                         \
  "parallel.framework=megatron", "parallel.zero_stage=0", "parallel.pipeline=2", "parallel.tensor=4",                  \
      "training.sequence_length=512", "training.micro_batch=1", "training.gradient_accumulation=40",                   \
      "training.activation_checkpointing=layers:2"
/* Four of 32, which hold more the nearer they stand to the first. */
#define DEEP                                                                                                           \
  "parallel.framework=nanotron", "parallel.zero_stage=0", "parallel.pipeline=4", "parallel.tensor=2",                  \
      "training.sequence_length=2048", "training.micro_batch=4", "training.gradient_accumulation=32",                  \
      "training.activation_checkpointing=none"

typedef struct {
  const char *name;
  const char *settings[12];
  gboolean counted, out;
  guint32 step;    /* in which memory runs out */
  gboolean narrow; /* a size some 10^-5 larger or smaller is another case */
} Case;

/* Sizes as they were found by trying many. What must be is that both plays are equal; that a size is still the case
 * that it was shows in whether it was counted, and in the step, and is asked where it is not narrow. */
static const Case cases[] = {
    {"before the windows", {STAGES, "what_if.memory_size=0.12"}, TRUE, TRUE, 0},
    {"in a copy", {STAGES, "what_if.memory_size=0.12802"}, FALSE, TRUE, 2, TRUE},
    {"nowhere", {STAGES, "what_if.memory_size=0.1282"}, TRUE, FALSE, 0},
    {"in the second step", {STAGES, "memory.expandable_segments=yes", "what_if.memory_size=0.1273"}, TRUE, TRUE, 1},
    {"in a copy that grows",
     {STAGES, "memory.expandable_segments=yes", "what_if.memory_size=0.12757"},
     FALSE,
     TRUE,
     2,
     TRUE},
    {"in a deep pipeline", {DEEP, "what_if.memory_size=0.35"}, TRUE, TRUE, 1},
};

static RunReport *played(const Case *of, gboolean plain) {
  g_autoptr(Study) study = study_open("llama2-7b", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(study);
  CU_ASSERT_TRUE_FATAL(study_set(study, "cluster.nodes=1", NULL) && study_set(study, "model.layers=16", NULL));
  for (gsize i = 0; i < G_N_ELEMENTS(of->settings) && of->settings[i] != NULL; i++)
    CU_ASSERT_TRUE_FATAL(study_set(study, of->settings[i], NULL));
  return study_run(study, &(StudyOptions){.fold = TRUE, .every_step = plain}, NULL);
}

static gboolean run_out_alike(const RunOom *a, const RunOom *b) {
  return a->at == b->at && a->step == b->step && a->row == b->row && g_strcmp0(a->tensor, b->tensor) == 0 &&
         a->requested == b->requested && a->free == b->free && a->allocated == b->allocated &&
         a->reserved == b->reserved && memcmp(a->held, b->held, sizeof a->held) == 0;
}

static void memory_runs_out_where_it_does(void) {
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(RunReport) report = played(&cases[i], FALSE), plain = played(&cases[i], TRUE);
    CU_ASSERT_TRUE_FATAL(report != NULL && plain != NULL && report->n_classes == plain->n_classes);
    gboolean counted = report->settled != RUN_UNSETTLED;
    const RunClass *tightest = run_report_tightest(report);
    if (counted != cases[i].counted || tightest->has_oom != cases[i].out || tightest->oom.step != cases[i].step)
      printf("\n    %s: counted %d, out %d in step %u\n", cases[i].name, counted, tightest->has_oom,
             tightest->oom.step);
    CU_ASSERT_TRUE(cases[i].narrow || counted == cases[i].counted);
    CU_ASSERT_TRUE(cases[i].narrow || (tightest->has_oom == cases[i].out && tightest->oom.step == cases[i].step));
    for (guint32 c = 0; c < report->n_classes; c++) {
      const RunClass *a = &report->classes[c], *b = &plain->classes[c];
      CU_ASSERT_TRUE(a->has_oom == b->has_oom && run_out_alike(&a->oom, &b->oom));
      CU_ASSERT_TRUE(a->step == b->step && a->retries == b->retries && a->verdict == b->verdict);
      CU_ASSERT_TRUE(a->device_used == b->device_used && a->steady_allocated == b->steady_allocated);
      CU_ASSERT_TRUE(a->peak_allocated == b->peak_allocated && a->peak_reserved == b->peak_reserved &&
                     a->short_by == b->short_by);
    }
  }
}

int main(void) {
  return harness_run("study-short",
                     (HarnessCase[]){{"memory runs out where it does", memory_runs_out_where_it_does}, {NULL, NULL}});
}
