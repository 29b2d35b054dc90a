/* SPDX-License-Identifier: MIT */
/* Bisection against trying every value; remedies against the run they mend. */
#include <string.h>

#include "harness.h"
#include "study-fit.h"
#include "study-remedy.h"

static Study *open_small(const char *stage) {
  g_autoptr(GError) error = NULL;
  g_autofree char *assignment = g_strconcat("parallel.zero_stage=", stage, NULL);
  Study *study = study_open("llama2-7b", &error);
  if (study == NULL || !study_set(study, assignment, &error) || !study_set(study, "cluster.nodes=1", &error))
    g_error("%s", error->message);
  return study;
}

static RunVerdict verdict_at(const Study *study, guint64 micro_batch, int stage) {
  g_autoptr(GError) error = NULL;
  g_autofree char *micro = g_strdup_printf("training.micro_batch=%" G_GUINT64_FORMAT, micro_batch);
  g_autofree char *at = g_strdup_printf("parallel.zero_stage=%d", stage);
  const char *changes[] = {micro, at, NULL};
  StudyOptions options = STUDY_OPTIONS_DEFAULT;
  options.timeline = FALSE;
  g_autoptr(RunReport) report = study_try(study, changes, &options, &error);
  if (report == NULL)
    g_error("%s", error->message);
  return report->verdict;
}

/* The value fits and the next does not; from 1 on all below fit. Stage 0 needs 16 bytes for each of 6.7 G
 * parameters. */
static void largest_micro_batch(void) {
  g_autoptr(Study) study = open_small("1");
  g_autoptr(GError) error = NULL;
  StudyFits fits;
  CU_ASSERT_TRUE_FATAL(study_fit(study, "training.micro_batch", NULL, &STUDY_OPTIONS_DEFAULT, &fits, &error));
  CU_ASSERT_STRING_EQUAL(fits.key, "micro_batch");
  CU_ASSERT_PTR_NULL(fits.stages[0].report);
  CU_ASSERT_EQUAL(fits.stages[0].value, 0);
  for (int stage = 1; stage < STUDY_STAGES; stage++) {
    const StudyFit *fit = &fits.stages[stage];
    CU_ASSERT_PTR_NOT_NULL_FATAL(fit->report);
    CU_ASSERT_EQUAL(fit->report->identity.micro_batch, fit->value);
    for (guint64 value = 1; value <= fit->value + 1; value++)
      CU_ASSERT_EQUAL(verdict_at(study, value, stage) == RUN_FITS, value <= fit->value);
  }
  study_fits_clear(&fits);
}

/* A small layer with 16 tokens a sequence needs some kilobytes for each: all 2^16 that are tried at most fit. */
static void most_of_all(void) {
  static const char *const sets[] = {"model.family=llama",
                                     "model.layers=1",
                                     "model.heads=1",
                                     "model.hidden_size=64",
                                     "model.intermediate_size=64",
                                     "model.vocab_size=64",
                                     "training.sequence_length=16",
                                     "parallel.framework=fsdp2",
                                     "parallel.zero_stage=3",
                                     "cluster.topology=dgx-h100",
                                     "cluster.nodes=1",
                                     NULL};
  g_autoptr(Study) study = study_new("small");
  StudyFits fits;
  for (const char *const *set = sets; *set != NULL; set++)
    CU_ASSERT_TRUE_FATAL(study_set(study, *set, NULL));
  CU_ASSERT_TRUE_FATAL(study_fit(study, "micro_batch", NULL, &STUDY_OPTIONS_DEFAULT, &fits, NULL));
  CU_ASSERT_EQUAL(fits.stages[2].value, 1 << 16);
  CU_ASSERT_EQUAL(fits.stages[3].value, 1 << 16);
  study_fits_clear(&fits);
}

static void wrong_keys(void) {
  g_autoptr(Study) study = open_small("1");
  GError *error = NULL;
  StudyFits fits;
  HARNESS_FAILS(study_fit(study, "micro", NULL, &STUDY_OPTIONS_DEFAULT, &fits, &error), error,
                "did you mean \"micro_batch\"");
  HARNESS_FAILS(study_fit(study, "model.nodes", NULL, &STUDY_OPTIONS_DEFAULT, &fits, &error), error,
                "is not micro_batch");
}

/* 16 bytes a parameter do not fit; an eighth of 12 of them does: stages 1 to 3 are among the remedies and fit, and each
 * remedy is what its changes alone give. */
static void remedies_mend(void) {
  g_autoptr(Study) study = open_small("0");
  StudyOptions options = STUDY_OPTIONS_DEFAULT;
  options.timeline = FALSE;
  g_autoptr(RunReport) report = study_try(study, (const char *const[]){NULL}, &options, NULL);
  CU_ASSERT_EQUAL(report->verdict, RUN_OOM);
  g_autoptr(GPtrArray) remedies = study_remedies(study, report, &options);
  guint stages = 0;
  for (guint i = 0; i < remedies->len; i++) {
    const StudyRemedy *remedy = g_ptr_array_index(remedies, i);
    g_auto(GStrv) changes = g_strsplit(remedy->change, " ", -1);
    g_autoptr(RunReport) again = study_try(study, (const char *const *)changes, &options, NULL);
    CU_ASSERT_STRING_EQUAL(again->identity.run_key, remedy->report->identity.run_key);
    CU_ASSERT_STRING_NOT_EQUAL(again->identity.run_key, report->identity.run_key);
    gboolean is_stage = g_str_has_prefix(remedy->change, "parallel.zero_stage=");
    stages += is_stage && remedy->report->verdict == RUN_FITS;
  }
  CU_ASSERT_EQUAL(stages, 3);
}

/* 70 B under DeepSpeed's stage 2 on eight GPUs: 16-bit weights alone are 128 GiB. Stage 3 has an eighth of 16 bytes a
 * parameter, 128 GiB again; offload alone keeps the weights whole. Both together come to the edge, and nothing that is
 * tried needs as much as the run itself. */
static void remedies_join_hands(void) {
  g_autoptr(Study) study = study_open("llama2-70b", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(study);
  CU_ASSERT_TRUE(study_set(study, "parallel.framework=deepspeed", NULL));
  CU_ASSERT_TRUE(study_set(study, "parallel.zero_stage=2", NULL));
  CU_ASSERT_TRUE(study_set(study, "cluster.nodes=1", NULL));
  StudyOptions options = STUDY_OPTIONS_DEFAULT;
  options.timeline = FALSE;
  g_autoptr(RunReport) report = study_try(study, (const char *const[]){NULL}, &options, NULL);
  g_autoptr(GPtrArray) remedies = study_remedies(study, report, &options);
  guint64 need = report->classes[report->tightest].device_used;
  CU_ASSERT_TRUE_FATAL(remedies->len > 0);
  for (guint i = 0; i + 1 < remedies->len; i++) {
    const StudyRemedy *remedy = g_ptr_array_index(remedies, i);
    CU_ASSERT_NOT_EQUAL(remedy->report->verdict, RUN_FITS);
    CU_ASSERT_TRUE(remedy->report->classes[remedy->report->tightest].device_used < need);
  }
  const StudyRemedy *together = g_ptr_array_index(remedies, remedies->len - 1);
  CU_ASSERT_NOT_EQUAL(together->report->verdict, RUN_OOM);
  CU_ASSERT_PTR_NOT_NULL(strstr(together->change, "parallel.zero_stage=3"));
  CU_ASSERT_PTR_NOT_NULL(strstr(together->change, "parallel.offload_optimizer=cpu"));
}

/* DDP has no other stages: FSDP's are what is tried, and more nodes bring nothing and are not told. */
static void ddp_is_shown_fsdp(void) {
  g_autoptr(Study) study = study_open("llama2-7b", NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(study);
  CU_ASSERT_TRUE(study_set(study, "parallel.framework=ddp", NULL));
  CU_ASSERT_TRUE(study_set(study, "parallel.zero_stage=0", NULL));
  StudyOptions options = STUDY_OPTIONS_DEFAULT;
  options.timeline = FALSE;
  g_autoptr(RunReport) report = study_try(study, (const char *const[]){NULL}, &options, NULL);
  g_autoptr(GPtrArray) remedies = study_remedies(study, report, &options);
  CU_ASSERT_EQUAL(report->verdict, RUN_OOM);
  CU_ASSERT_TRUE_FATAL(remedies->len >= 2);
  for (guint i = 0; i < remedies->len; i++) {
    const StudyRemedy *remedy = g_ptr_array_index(remedies, i);
    gboolean is_fsdp = g_str_has_prefix(remedy->change, "parallel.framework=fsdp2");
    CU_ASSERT_EQUAL(is_fsdp, i < 2);
    CU_ASSERT_EQUAL(is_fsdp, remedy->report->verdict == RUN_FITS);
    CU_ASSERT_PTR_NULL(strstr(remedy->change, "cluster.nodes"));
  }
}

/* At the moment of the first failing request: what tensors hold is at most what the allocator has given, and the
 * request is more than is free. */
static void oom_tells_what_was_held(void) {
  g_autoptr(Study) study = open_small("0");
  g_autoptr(RunReport) report = study_run(study, &STUDY_OPTIONS_DEFAULT, NULL);
  const RunClass *all = &report->classes[report->tightest];
  guint64 held = 0;
  for (int tenant = 0; tenant < RUN_TENANTS; tenant++)
    held += all->oom.held[tenant];
  CU_ASSERT_TRUE(all->oom.requested > all->oom.free);
  CU_ASSERT_TRUE(all->oom.allocated <= all->oom.reserved);
  CU_ASSERT_TRUE(held + all->oom.free <= all->capacity);
  CU_ASSERT_TRUE(all->oom.reserved + all->oom.free < all->capacity);
}

int main(void) {
  return harness_run("study-fit", (HarnessCase[]){{"largest micro-batch", largest_micro_batch},
                                                  {"most of all", most_of_all},
                                                  {"wrong keys", wrong_keys},
                                                  {"remedies mend", remedies_mend},
                                                  {"remedies join hands", remedies_join_hands},
                                                  {"DDP is shown FSDP", ddp_is_shown_fsdp},
                                                  {"an OOM tells what was held", oom_tells_what_was_held},
                                                  {NULL, NULL}});
}
