/* SPDX-License-Identifier: MIT */
/* A layer profile as input: measured times are replayed to the picosecond, and a profile that does not fit is
 * refused. */
#include <glib/gstdio.h>
#include <string.h>

#include "harness.h"
#include "study.h"

#define LAYERS 32

/* Llama-2-7B alone on one GPU, so that a step is the sum of its operations. */
static Study *open_alone(const char *profile) {
  static const char *const sets[] = {"cluster.nodes=1", "cluster.gpus_per_node=1", "parallel.zero_stage=0",
                                     "training.activation_checkpointing=none"};
  GError *error = NULL;
  Study *study = study_open("llama2-7b", &error);
  for (gsize i = 0; study != NULL && i < G_N_ELEMENTS(sets); i++)
    if (!study_set(study, sets[i], &error))
      g_clear_pointer(&study, study_free);
  g_autofree char *assignment = g_strdup_printf("model.profile=%s", profile != NULL ? profile : "");
  if (study != NULL && profile != NULL && !study_set(study, assignment, &error))
    g_clear_pointer(&study, study_free);
  if (study == NULL)
    g_error("%s", error->message);
  return study;
}

/* A millisecond forward and two backward for every layer, a half for each end; `odd` layer forward takes one and a bit.
 * Row `leave_out` (from 0, in order) is not written. */
static char *profile_text(int odd, int leave_out) {
  GString *text = g_string_new("layer,phase,time_us,flops,bytes,activation_bytes,parameters\n");
  int row = 0;
  for (int unit = -1; unit <= LAYERS; unit++)
    for (int backward = 0; backward < 2; backward++, row++) {
      g_autofree char *number = g_strdup_printf("%d", unit);
      const char *name = unit < 0 ? "embedding" : unit < LAYERS ? number : "head";
      double time = unit < 0 || unit == LAYERS ? 500 : backward ? 2000 : unit == odd ? 1000.000017 : 1000;
      if (row != leave_out)
        g_string_append_printf(text, "%s,%s,%.6f,,,,\n", name, backward ? "backward" : "forward", time);
    }
  return g_string_free(text, FALSE);
}

static char *write_profile(const char *text) {
  char *path = NULL;
  gint file = g_file_open_tmp("foretrain-XXXXXX.layers.csv", &path, NULL);
  if (file < 0 || !g_file_set_contents(path, text, -1, NULL))
    g_error("no temporary file");
  g_close(file, NULL);
  return path;
}

static RunReport *run_with(const char *text, GError **error) {
  g_autofree char *path = text != NULL ? write_profile(text) : NULL;
  g_autoptr(Study) study = open_alone(path);
  StudyOptions options = STUDY_OPTIONS_DEFAULT;
  RunReport *report = study_run(study, &options, error);
  if (path != NULL)
    g_unlink(path);
  return report;
}

/* 32 × (1 + 2) ms and 2 × (0.5 + 0.5) ms, and the optimizer, which is no layer's: the same in both runs. One layer's
 * forward is 17 ps longer in the second, and so is the step. */
static void times_are_replayed(void) {
  g_autofree char *plain = profile_text(-1, -1), *longer = profile_text(7, -1);
  g_autoptr(RunReport) a = run_with(plain, NULL);
  g_autoptr(RunReport) b = run_with(longer, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(a);
  CU_ASSERT_PTR_NOT_NULL_FATAL(b);
  SimTime layers = 98 * SIM_MILLISECOND;
  CU_ASSERT_TRUE(a->classes[0].compute > layers);
  /* Fused Adam of 6.74 B parameters moves 28 bytes each: 63.5 ms at 2.97 TB/s, more at what its kernels reach. */
  CU_ASSERT_TRUE(a->classes[0].compute < layers + 90 * SIM_MILLISECOND);
  CU_ASSERT_EQUAL(b->classes[0].compute - a->classes[0].compute, 17);
  /* Two profiles, two runs. */
  CU_ASSERT_STRING_NOT_EQUAL(a->identity.run_key, b->identity.run_key);
  /* Memory does not depend on times. */
  g_autoptr(RunReport) analytic = run_with(NULL, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(analytic);
  CU_ASSERT_EQUAL(analytic->classes[0].peak_allocated, a->classes[0].peak_allocated);
  CU_ASSERT_NOT_EQUAL(analytic->classes[0].compute, a->classes[0].compute);
}

/* The time of a layer's part is spread over its kernels, not over what its ranks exchange: a millisecond more in the
 * profile is a millisecond more of compute. A profile of whole layers is refused. */
static void parts_of_layers_are_replayed(void) {
  static const char *const sets[] = {"parallel.framework=megatron", "cluster.gpus_per_node=2", "parallel.tensor=2",
                                     "training.gradient_accumulation=1"};
  g_autofree char *plain = profile_text(-1, -1);
  g_auto(GStrv) parts = g_strsplit(plain, "\n7,forward,1000.000000", 2);
  g_autofree char *longer = g_strjoinv("\n7,forward,2000.000000", parts);
  g_autofree char *whole = g_strdup("layer,phase,time_us,flops,bytes,activation_bytes,parameters\n"
                                    "0,forward,1,,,,202383360\n");
  const char *const texts[] = {plain, longer, whole};
  SimTime compute[2] = {0, 0};
  for (guint i = 0; i < G_N_ELEMENTS(texts); i++) {
    g_autofree char *path = write_profile(texts[i]);
    g_autoptr(Study) study = open_alone(path);
    g_autoptr(GError) error = NULL;
    for (gsize s = 0; s < G_N_ELEMENTS(sets); s++)
      CU_ASSERT_TRUE(study_set(study, sets[s], NULL));
    g_autoptr(RunReport) report = study_run(study, &(StudyOptions){.fold = TRUE, .no_jitter = TRUE}, &error);
    g_unlink(path);
    CU_ASSERT_EQUAL(report == NULL, i == 2);
    if (report != NULL)
      compute[i] = report->classes[0].compute;
    else
      CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "a profile is of one rank's part of each layer"));
  }
  CU_ASSERT_TRUE(compute[0] > 98 * SIM_MILLISECOND);
  CU_ASSERT_EQUAL(compute[1] - compute[0], SIM_MILLISECOND);
}

static void refuse(const char *text, const char *expected) {
  GError *error = NULL;
  g_autoptr(RunReport) report = run_with(text, &error);
  CU_ASSERT_PTR_NULL(report);
  CU_ASSERT_PTR_NOT_NULL_FATAL(error);
  if (strstr(error->message, expected) == NULL)
    printf("\n    %s\n", error->message);
  CU_ASSERT_PTR_NOT_NULL(strstr(error->message, expected));
  g_error_free(error);
}

static void misfits_are_refused(void) {
  g_autofree char *missing = profile_text(-1, 11); /* embedding 0 and 1, layer 4 backward is 2 + 2 × 4 + 1 */
  refuse(missing, "layer 4 backward is missing");
  g_autofree char *no_head = profile_text(-1, 66);
  refuse(no_head, "the head forward is missing");
  refuse("layer,phase,time\n", "expected the columns layer,phase,time_us");
#define HEAD "layer,phase,time_us,flops,bytes,activation_bytes,parameters\n"
  refuse(HEAD "0,forward,1\n", ":2: 3 columns");
  refuse(HEAD "32,forward,1,,,,\n", "layer \"32\": the model has embedding, 0 to 31 and head");
  refuse(HEAD "0,sideways,1,,,,\n", "phase \"sideways\"");
  refuse(HEAD "0,forward,-1,,,,\n", "time_us \"-1\"");
  refuse(HEAD "0,forward,fast,,,,\n", "time_us \"fast\"");
  refuse(HEAD "0,forward,1,,,,\n0,forward,1,,,,\n", ":3: layer 0 forward stands twice");
  /* A layer of Llama-2-7B has 4 × 4096² + 3 × 4096 × 11008 + 2 × 4096 = 202 383 360 parameters. */
  refuse(HEAD "0,forward,1,,,,202383361\n", "the model has 202383360 there: is it a profile of another model?");
  refuse(HEAD "0,forward,1,1e12,,,\n", "flops 1e12, and the model has");
}

int main(void) {
  return harness_run("study-profile", (HarnessCase[]){{"times are replayed", times_are_replayed},
                                                      {"parts of layers are replayed", parts_of_layers_are_replayed},
                                                      {"misfits are refused", misfits_are_refused},
                                                      {NULL, NULL}});
}
