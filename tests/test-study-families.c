/* SPDX-License-Identifier: MIT */
/* Every family of models under every framework: small models that are planned and played to the end. */
#include <string.h>

#include "harness.h"
#include "model-shape.h"
#include "study.h"

static const char *const sizes[] = {"model.layers=4",
                                    "model.hidden_size=64",
                                    "model.heads=4",
                                    "model.kv_heads=2",
                                    "model.head_dim=16",
                                    "model.intermediate_size=96",
                                    "model.vocab_size=1000",
                                    "training.sequence_length=128",
                                    "model.max_positions=128",
                                    "training.micro_batch=1",
                                    "training.gradient_accumulation=2",
                                    "cluster.topology=dgx-h100",
                                    "cluster.nodes=1",
                                    NULL};
static const char *const latent[] = {"model.kv_rank=32",
                                     "model.q_rank=48",
                                     "model.rotary_dim=8",
                                     "model.value_dim=8",
                                     "model.kv_heads=4",
                                     "model.experts=8",
                                     "model.dense_layers=1",
                                     "model.experts_per_token=2",
                                     "model.expert_intermediate_size=32",
                                     "model.shared_intermediate_size=64",
                                     NULL};

static void set(Study *study, const char *assignment) {
  GError *error = NULL;
  if (!study_set(study, assignment, &error)) {
    printf("\n    %s\n", error->message);
    CU_FAIL("a setting that should be taken");
    g_clear_error(&error);
  }
}

static Study *study_of(const char *family, const char *framework, int stage, const char *checkpointing) {
  Study *study = study_new("a family");
  g_autofree char *of_family = g_strconcat("model.family=", family, NULL);
  g_autofree char *of_framework = g_strconcat("parallel.framework=", framework, NULL);
  g_autofree char *of_stage = g_strdup_printf("parallel.zero_stage=%d", stage);
  g_autofree char *of_checkpointing = g_strconcat("training.activation_checkpointing=", checkpointing, NULL);
  for (const char *const *size = sizes; *size != NULL; size++)
    set(study, *size);
  set(study, of_family);
  set(study, of_framework);
  set(study, of_stage);
  set(study, of_checkpointing);
  for (const char *const *key = latent; g_str_has_prefix(family, "deepseek") && *key != NULL; key++)
    set(study, *key);
  if (strstr(family, "t5") != NULL) {
    set(study, "model.encoder_layers=3");
    set(study, "model.kv_heads=4");
    set(study, "training.decoder_length=64");
  }
  if (strcmp(family, "gptj") == 0)
    set(study, "model.rotary_dim=8");
  if (strcmp(family, "llama4") == 0 || strstr(family, "moe") != NULL)
    set(study, "model.expert_intermediate_size=32");
  return study;
}

static void plays(const char *family, const char *framework, int stage, const char *checkpointing) {
  g_autoptr(Study) study = study_of(family, framework, stage, checkpointing);
  GError *error = NULL;
  StudyOptions options = {.fold = TRUE};
  g_autoptr(RunReport) report = study_run(study, &options, &error);
  if (report == NULL) {
    printf("\n    %s under %s: %s\n", family, framework, error->message);
    CU_FAIL("a family that should be played");
    g_clear_error(&error);
    return;
  }
  CU_ASSERT_TRUE(run_report_slowest(report)->step > 0);
  CU_ASSERT_EQUAL(report->verdict, RUN_FITS);
}

/* A decoder beside an encoder is transformers', and checkpoints whole layers. */
static gboolean is_modelled(const char *family, const char *framework, const char *checkpointing) {
  return strstr(family, "t5") == NULL || (strcmp(framework, "megatron") != 0 && strcmp(framework, "nanotron") != 0 &&
                                          strcmp(checkpointing, "every-2nd-matmul") != 0);
}

static void every_family_under_every_framework(void) {
  static const struct {
    const char *name, *checkpointing;
    int stage;
  } frameworks[] = {
      {"paper", "none", 3},   {"ddp", "full", 0},   {"deepspeed", "none", 3},         {"deepspeed", "full", 1},
      {"fsdp1", "full", 3},   {"fsdp2", "none", 3}, {"fsdp2", "every-2nd-matmul", 2}, {"megatron", "attention", 1},
      {"nanotron", "full", 1}};
  for (int family = 0; model_family_names[family] != NULL; family++)
    for (gsize i = 0; i < G_N_ELEMENTS(frameworks); i++)
      if (is_modelled(model_family_names[family], frameworks[i].name, frameworks[i].checkpointing))
        plays(model_family_names[family], frameworks[i].name, frameworks[i].stage, frameworks[i].checkpointing);
}

/* Units of single layers and of what they leave of attention and MLP: their forwards end in the order of definition,
 * which FSDP1's plan requires. */
static void every_family_in_small_units(void) {
  for (int family = 0; model_family_names[family] != NULL; family++) {
    if (strstr(model_family_names[family], "t5") != NULL) /* its shared embedding is of no unit but the root */
      continue;
    g_autoptr(Study) study = study_of(model_family_names[family], "fsdp1", 3, "none");
    set(study, "fsdp.wrap=size:1100"); /* keys and values are 1024 */
    set(study, "model.tied_embeddings=no");
    g_autoptr(RunReport) report = study_run(study, &(StudyOptions){.fold = TRUE}, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(report);
    CU_ASSERT_EQUAL(report->verdict, RUN_FITS);
  }
}

int main(void) {
  return harness_run("study-families",
                     (HarnessCase[]){{"every family under every framework", every_family_under_every_framework},
                                     {"every family in small units", every_family_in_small_units},
                                     {NULL, NULL}});
}
