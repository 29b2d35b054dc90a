/* SPDX-License-Identifier: MIT */
/* A recipe that was written for another tool is the same step again: with the model, the cluster and what its comments
 * say beside it, and nothing else. */
#include <glib/gstdio.h>
#include <string.h>

#include "base-names.h"
#include "harness.h"
#include "recipe-export.h"
#include "study-recipe.h"

typedef struct {
  const char *workload, *tool;
  const char *sets[8];
} Case;

#define FSDP1 "parallel.framework=fsdp1", "training.activation_checkpointing=full", "fsdp.wrap=block"

static const Case cases[] = {
    {"mixtral-8x7b",
     "deepspeed",
     {"parallel.interleave=1", "parallel.pipeline=1", "parallel.framework=deepspeed", "parallel.zero_stage=2", NULL}},
    {"mixtral-8x7b", "megatron", {NULL}},
    {"mixtral-8x7b",
     "megatron",
     {"parallel.sequence_parallel=yes", "parallel.tensor=2", "parallel.expert_tensor=1", "parallel.expert=4",
      "megatron.moe_token_dispatcher_type=flex", NULL}},
    {"qwen3-32b", "deepspeed", {"deepspeed.reduce_bucket_size=1e8", "deepspeed.overlap_comm=no", NULL}},
    {"qwen3-32b", "deepspeed", {"parallel.zero_stage=2", "training.optimizer_style=foreach", NULL}},
    {"qwen3-32b",
     "deepspeed",
     {"parallel.offload_optimizer=cpu", "training.gradient_accumulation_dtype=fp32",
      "deepspeed.offload_optimizer.pin_memory=no", NULL}},
    {"qwen3-32b", "deepspeed", {"training.precision=fp16", "parallel.context=2", NULL}},
    {"qwen3-32b", "accelerate", {NULL}},
    {"llama3-8b-fsdp2", "accelerate", {"parallel.framework=ddp", "parallel.zero_stage=0", NULL}},
    {"llama3-8b-fsdp2", "accelerate", {FSDP1, "fsdp.backward_prefetch=post", NULL}},
    {"llama3-8b-fsdp2", "accelerate", {FSDP1, "parallel.shard_group=node", "cluster.nodes=2", NULL}},
    {"llama3-8b-fsdp2", "accelerate", {"parallel.zero_stage=2", "training.compile=yes", NULL}},
    {"llama3-8b-fsdp2",
     "trainer",
     {"training.loss=fused-linear", "training.fused_kernels=liger", "training.gradient_accumulation=4",
      "training.global_batch=32", NULL}},
    {"llama3-8b-fsdp2", "trainer", {FSDP1, "training.optimizer=adam8bit", "fsdp.use_orig_params=no", NULL}},
    {"llama3-8b-fsdp2",
     "trainer",
     {"training.trainable=lora:16:all-linear", "training.base_weights=nf4", "parallel.framework=ddp",
      "parallel.zero_stage=0", "training.activation_checkpointing=none", NULL}},
    {"llama3-8b-fsdp2", "trainer", {"training.trainable=lora:8", "training.lora_dropout=0.05", NULL}},
    {"llama3-8b-fsdp2", "accelerate", {"training.trainable=lora:8", "training.lora_dropout=0.1", NULL}},
    {"llama3-8b-fsdp2", "torchtitan", {"training.trainable=lora:8", "training.lora_dropout=0.1", NULL}},
    {"llama3-8b-fsdp2", "torchtitan", {NULL}},
    {"llama3-8b-fsdp2", "torchtitan", {"parallel.tensor=2", "cluster.nodes=2", "training.loss=fused", NULL}},
    {"llama3-8b-fsdp2", "torchtitan", {"training.compile=yes", "training.activation_checkpointing=layers:2", NULL}},
    {"llama3-8b-fsdp2", "torchtitan", {"training.precision=fp8", "training.compile=yes", "fsdp.float8_all_gather=yes"}},
    {"llama3-8b-fsdp2",
     "torchtitan",
     {"parallel.pipeline=2", "parallel.schedule=1f1b", "training.global_batch=32", "training.gradient_accumulation=8",
      NULL}},
    {"llama2-70b-hsdp", "torchtitan", {NULL}},
    {"llama2-7b-megatron", "megatron", {NULL}},
    {"llama2-7b-megatron",
     "megatron",
     {"parallel.tensor=2", "parallel.sequence_parallel=yes", "training.activation_checkpointing=full",
      "parallel.pipeline=2", "parallel.schedule=1f1b", NULL}},
    {"llama2-7b-megatron", "megatron", {"parallel.zero_stage=0", "megatron.overlap_param_gather=no", NULL}},
    {"llama2-7b-megatron",
     "megatron",
     {"training.precision=fp8", "training.fp8_scaling=tensorwise", "megatron.fp8_param_gather=yes", NULL}},
};

static Study *open_case(const Case *of, GError **error) {
  g_autoptr(Study) study = study_open(of->workload, error);
  for (const char *const *set = of->sets; study != NULL && *set != NULL; set++)
    if (!study_set(study, *set, error))
      return NULL;
  return g_steal_pointer(&study);
}

static RunReport *play(Study *study, GError **error) {
  StudyOptions options = STUDY_OPTIONS_DEFAULT;
  options.timeline = FALSE;
  return study_run(study, &options, error);
}

/* Settings that comments name: "  group.key = value". */
static gboolean set_unsaid(Study *study, const char *text, GError **error) {
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  gboolean good = TRUE;
  for (char **line = lines; *line != NULL && good; line++) {
    g_strdelimit(*line, "#\",", ' ');
    g_strstrip(*line);
    gboolean setting =
        strstr(*line, " = ") != NULL && strchr(*line, '.') != NULL && strchr(*line, '.') < strchr(*line, ' ');
    good = !setting || study_set(study, *line, error);
  }
  return good;
}

/* The comments of a file: all of a JSON's, the end of the others. */
static const char *comments_of(const char *text) {
  const char *at = strstr(text, "Written by foretrain");
  return at != NULL ? at : "";
}

static RunReport *play_again(const Case *of, const RunReport *first, const char *text, GError **error) {
  int tool = base_names_find(recipe_export_names, of->tool);
  g_autofree char *folder = g_dir_make_tmp("foretrain-XXXXXX", NULL);
  g_autofree char *name = g_strconcat("recipe", recipe_export_ending(tool), NULL);
  g_autofree char *path = g_build_filename(folder, name, NULL);
  g_autofree char *recipe = g_strconcat("parallel.recipe=", path, NULL);
  g_autoptr(Study) study = study_new(of->workload);
  gboolean good = g_file_set_contents(path, text, -1, error);
  for (guint i = 0; i < first->identity.n_settings && good; i++) {
    const RunSetting *setting = &first->identity.settings[i];
    gboolean beside = g_str_has_prefix(setting->name, "cluster.") || g_str_has_prefix(setting->name, "model.");
    g_autofree char *assignment = g_strdup_printf("%s=%s", setting->name, setting->value);
    if (beside && strcmp(setting->origin, "default") != 0 && strcmp(setting->name, "model.config") != 0)
      good = study_set(study, assignment, error);
  }
  good = good && set_unsaid(study, comments_of(text), error) && study_set(study, recipe, error);
  RunReport *report = good ? play(study, error) : NULL;
  g_remove(path);
  g_rmdir(folder);
  return report;
}

static gboolean is_same(const RunReport *a, const RunReport *b) {
  const RunClass *slow = run_report_slowest(a), *slow_b = run_report_slowest(b);
  const RunClass *tight = run_report_tightest(a), *tight_b = run_report_tightest(b);
  return slow->step == slow_b->step && tight->peak_allocated == tight_b->peak_allocated &&
         tight->peak_reserved == tight_b->peak_reserved;
}

static void comes_back(void) {
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    GError *error = NULL;
    g_autoptr(Study) study = open_case(&cases[i], &error);
    g_autoptr(GString) text = g_string_new(NULL);
    int tool = base_names_find(recipe_export_names, cases[i].tool);
    gboolean written = study != NULL && study_export(study, tool, text, &error);
    g_autoptr(RunReport) first = written ? play(study, &error) : NULL;
    g_autoptr(RunReport) again = first != NULL ? play_again(&cases[i], first, text->str, &error) : NULL;
    if (again == NULL || !is_same(first, again))
      printf("\n    %s as %s, case %" G_GSIZE_FORMAT ": %s\n%s\n", cases[i].workload, cases[i].tool, i,
             error != NULL ? error->message : "another step", text->str);
    CU_ASSERT_TRUE(again != NULL && is_same(first, again));
    g_clear_error(&error);
  }
}

/* The comparison can fail: a file that was changed is another step. */
static void a_change_is_seen(void) {
  const Case of = {"qwen3-32b", "deepspeed", {NULL}};
  g_autoptr(Study) study = open_case(&of, NULL);
  g_autoptr(GString) text = g_string_new(NULL);
  CU_ASSERT_TRUE(study_export(study, RECIPE_EXPORT_DEEPSPEED, text, NULL));
  g_autoptr(RunReport) first = play(study, NULL);
  CU_ASSERT_EQUAL(g_string_replace(text, "\"stage\" : 3", "\"stage\" : 2", 1), 1);
  g_autoptr(RunReport) again = play_again(&of, first, text->str, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(again);
  CU_ASSERT_FALSE(is_same(first, again));
}

static void other_frameworks_are_refused(void) {
  static const struct {
    const char *workload;
    int tool;
    const char *fragment;
  } rows[] = {{"llama2-7b", RECIPE_EXPORT_DEEPSPEED, "DeepSpeed does not run paper, and no tool"},
              {"llama3-8b-fsdp2", RECIPE_EXPORT_DEEPSPEED, "--as accelerate, --as trainer, --as torchtitan"},
              {"qwen3-32b", RECIPE_EXPORT_TRAINER, "what does: --as deepspeed, --as accelerate"}};
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    GError *error = NULL;
    g_autoptr(Study) study = study_open(rows[i].workload, NULL);
    g_autoptr(GString) text = g_string_new(NULL);
    HARNESS_FAILS(study_export(study, rows[i].tool, text, &error), error, rows[i].fragment);
  }
}

int main(void) {
  return harness_run("study-export", (HarnessCase[]){{"comes back", comes_back},
                                                     {"a change is seen", a_change_is_seen},
                                                     {"other frameworks are refused", other_frameworks_are_refused},
                                                     {NULL, NULL}});
}
