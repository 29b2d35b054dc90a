/* SPDX-License-Identifier: MIT */
/* Other layouts of the same GPUs: side by side, as far as they go, and as what would make a run fit. */
#include <string.h>

#include "harness.h"
#include "study-fit.h"
#include "study-layout.h"
#include "study-remedy.h"

static const StudyOptions summary = {.fold = TRUE};

static Study *open_with(const char *workload, const char *const *sets) {
  g_autoptr(GError) error = NULL;
  Study *study = study_open(workload, &error);
  for (; study != NULL && *sets != NULL; sets++)
    if (!study_set(study, *sets, &error))
      g_error("%s: %s", *sets, error->message);
  if (study == NULL)
    g_error("%s", error->message);
  return study;
}

static Study *open_fsdp2(void) {
  return open_with("llama2-7b",
                   (const char *const[]){"parallel.framework=fsdp2", "parallel.zero_stage=3", "cluster.nodes=2",
                                         "training.micro_batch=1", "training.gradient_accumulation=2", NULL});
}

static RunReport *run_laid(const Study *study, const char *layout, const RunIdentity *base) {
  g_autoptr(GError) error = NULL;
  g_autoptr(Study) laid = study_lay_out(study, layout, base, &error);
  RunReport *report = laid != NULL ? study_run(laid, &summary, &error) : NULL;
  if (report == NULL)
    g_error("%s: %s", layout, error->message);
  return report;
}

/* 16 GPUs, micro-batch 1, twice: a global batch of 32. Over 16 / 4 data ranks each plays 8 of them; a layout that says
 * how many it accumulates has the batch that follows. */
static void the_batch_stays(void) {
  g_autoptr(Study) study = open_fsdp2();
  g_autoptr(RunReport) base = study_run(study, &summary, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(base);
  g_autoptr(RunReport) laid = run_laid(study, "tensor=2 pipeline=2", &base->identity);
  g_autoptr(RunReport) own = run_laid(study, "tensor=2 gradient_accumulation=1", &base->identity);
  CU_ASSERT_EQUAL(laid->identity.global_batch, 32);
  CU_ASSERT_EQUAL(laid->identity.micro_batch, 1);
  CU_ASSERT_EQUAL(laid->identity.gradient_accumulation, 8);
  CU_ASSERT_EQUAL(laid->tokens, base->tokens);
  CU_ASSERT_EQUAL(own->identity.global_batch, 8);
  CU_ASSERT_EQUAL(study_degree(&laid->identity, "parallel.tensor"), 2);
  CU_ASSERT_EQUAL(study_degree(&base->identity, "parallel.tensor"), 1);
}

/* Stages first, then layouts as given; each is what it is alone. What is refused is told by its name. */
static void stand_beside_stages(void) {
  g_autoptr(Study) study = open_fsdp2();
  g_autoptr(GError) error = NULL;
  StudyStages stages;
  const char *const layouts[] = {"tensor=2", "tensor=5", "pipeline=4", NULL};
  CU_ASSERT_FALSE(study_run_stages(study, (const char *const[]){"tensor", NULL}, &summary, &stages, &error));
  g_clear_error(&error);
  CU_ASSERT_TRUE_FATAL(study_run_stages(study, layouts, &summary, &stages, &error));
  CU_ASSERT_EQUAL_FATAL(stages.n, 4);
  static const char *const titles[] = {"ZeRO-2", "ZeRO-3", "tensor=2", "pipeline=4"};
  for (guint i = 0; i < stages.n; i++)
    CU_ASSERT_STRING_EQUAL(stages.titles[i], titles[i]);
  g_autoptr(RunReport) alone = run_laid(study, "tensor=2", &stages.reports[0]->identity);
  CU_ASSERT_EQUAL(alone->classes[0].step, stages.reports[2]->classes[0].step);
  CU_ASSERT_PTR_NOT_NULL_FATAL(stages.left_out[0]);
  CU_ASSERT_PTR_NOT_NULL(strstr(stages.left_out[0], "tensor=5 is left out"));
  CU_ASSERT_PTR_NULL(stages.left_out[1]);
  study_stages_clear(&stages);
}

static gboolean holds(char *const *layouts, const char *layout) {
  for (; *layouts != NULL; layouts++)
    if (strcmp(*layouts, layout) == 0)
      return TRUE;
  return FALSE;
}

/* 8 GPUs a node, 16 in all: tensor 1 to 8 times pipeline 1 to 16 / tensor but the one that is none (5 + 4 + 3 + 2 − 1),
 * and context 2, 4, 8. The paper has no axes. "auto" beside stages is the best four. */
static void layouts_are_found(void) {
  g_autoptr(Study) study = open_fsdp2();
  g_autoptr(RunReport) base = study_run(study, &summary, NULL);
  g_auto(GStrv) all = study_layouts(base);
  CU_ASSERT_EQUAL(g_strv_length(all), 13 + 3);
  CU_ASSERT_TRUE(holds(all, "tensor=8 sequence_parallel=yes pipeline=2"));
  CU_ASSERT_TRUE(holds(all, "pipeline=16"));
  CU_ASSERT_TRUE(holds(all, "context=8"));
  StudyStages stages;
  CU_ASSERT_TRUE_FATAL(study_run_stages(study, (const char *const[]){"auto", NULL}, &summary, &stages, NULL));
  CU_ASSERT_EQUAL(stages.n, 2 + 4);
  for (guint i = 3; i < stages.n; i++)
    CU_ASSERT_TRUE(stages.reports[i]->verdict > stages.reports[i - 1]->verdict ||
                   stages.reports[i]->tokens_per_second <= stages.reports[i - 1]->tokens_per_second);
  study_stages_clear(&stages);
  CU_ASSERT_TRUE(study_set(study, "parallel.framework=paper", NULL));
  g_autoptr(RunReport) paper = study_run(study, &summary, NULL);
  g_auto(GStrv) none = study_layouts(paper);
  CU_ASSERT_PTR_NULL(none[0]);
}

static void unknown_keys_are_refused(void) {
  g_autoptr(Study) study = open_fsdp2();
  GError *error = NULL;
  g_autoptr(Study) bare = study_lay_out(study, "tensor", NULL, &error);
  HARNESS_FAILS(bare != NULL, error, "is not KEY=VALUE, as in tensor=4");
  g_autoptr(Study) unknown = study_lay_out(study, "tensors=4", NULL, &error);
  HARNESS_FAILS(unknown != NULL, error, "tensors");
}

/* The largest micro-batch of a layout fits and the next does not; the least number of nodes of a run with axes is found
 * too, whose batch goes with its data ranks. */
static void fit_goes_as_far(void) {
  g_autoptr(Study) study = open_fsdp2();
  g_autoptr(RunReport) base = study_run(study, &summary, NULL);
  g_autoptr(GError) error = NULL;
  StudyFits fits;
  CU_ASSERT_TRUE_FATAL(
      study_fit(study, "micro_batch", (const char *const[]){"tensor=4", NULL}, &summary, &fits, &error));
  CU_ASSERT_EQUAL_FATAL(fits.n_layouts, 1);
  const StudyFit *fit = &fits.layouts[0];
  CU_ASSERT_STRING_EQUAL(fit->title, "tensor=4");
  CU_ASSERT_TRUE_FATAL(fit->report != NULL);
  for (guint64 more = 0; more < 2; more++) {
    g_autofree char *layout =
        g_strdup_printf("tensor=4 micro_batch=%" G_GUINT64_FORMAT " gradient_accumulation=8", fit->value + more);
    g_autoptr(RunReport) report = run_laid(study, layout, &base->identity);
    CU_ASSERT_EQUAL(report->verdict == RUN_FITS, more == 0);
  }
  study_fits_clear(&fits);
  CU_ASSERT_TRUE(study_set(study, "parallel.pipeline=2", NULL));
  CU_ASSERT_TRUE(study_set(study, "training.sequence_length=1024", NULL));
  CU_ASSERT_TRUE_FATAL(study_fit(study, "nodes", NULL, &summary, &fits, &error));
  CU_ASSERT_EQUAL(fits.stages[3].value, 1);
  CU_ASSERT_EQUAL(fits.stages[3].report->identity.global_batch, 1 * 2 * 8 / 2);
  study_fits_clear(&fits);
}

/* 70 B under Megatron's distributed optimizer: more tensor ranks and more stages are tried until they fit, at the same
 * global batch, and one degree of each is told; each is what its changes alone give. Twice the nodes keep the batch of
 * a data rank. */
static void remedies_know_the_axes(void) {
  g_autoptr(Study) study =
      open_with("llama2-70b", (const char *const[]){"parallel.framework=megatron", "parallel.zero_stage=1",
                                                    "parallel.tensor=2", "cluster.nodes=4", NULL});
  g_autoptr(RunReport) report = study_run(study, &summary, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(report);
  CU_ASSERT_EQUAL(report->verdict, RUN_OOM);
  g_autoptr(GPtrArray) remedies = study_remedies(study, report, &summary);
  guint tensor = 0, pipeline = 0, nodes = 0, mended = 0;
  for (guint i = 0; i < remedies->len; i++) {
    const StudyRemedy *remedy = g_ptr_array_index(remedies, i);
    g_auto(GStrv) changes = g_strsplit(remedy->change, " ", -1);
    g_autoptr(RunReport) again = study_try(study, (const char *const *)changes, &summary, NULL);
    gboolean axes = strstr(remedy->change, "parallel.tensor=") || strstr(remedy->change, "parallel.pipeline=");
    CU_ASSERT_STRING_EQUAL(again->identity.run_key, remedy->report->identity.run_key);
    CU_ASSERT_TRUE(!axes || remedy->report->identity.global_batch == report->identity.global_batch);
    tensor += g_str_has_prefix(remedy->change, "parallel.tensor=") &&
              strstr(remedy->change, " parallel.sequence_parallel=yes training.gradient_accumulation=") != NULL;
    pipeline += g_str_has_prefix(remedy->change, "parallel.pipeline=");
    nodes += strstr(remedy->change, "cluster.nodes=8") != NULL;
    mended += axes && remedy->report->verdict != RUN_OOM;
  }
  CU_ASSERT_EQUAL(tensor, 1);
  CU_ASSERT_EQUAL(pipeline, 1);
  CU_ASSERT_EQUAL(nodes, 1);
  CU_ASSERT_TRUE(mended > 0);
}

int main(void) {
  return harness_run("study-layout", (HarnessCase[]){{"the batch stays", the_batch_stays},
                                                     {"beside stages", stand_beside_stages},
                                                     {"layouts are found", layouts_are_found},
                                                     {"unknown keys", unknown_keys_are_refused},
                                                     {"fit goes as far", fit_goes_as_far},
                                                     {"remedies know the axes", remedies_know_the_axes},
                                                     {NULL, NULL}});
}
