/* SPDX-License-Identifier: MIT */
/* All reasons for a refusal at once: settings, recipe, model and machine, a line each, in the order of this list. */
#include <glib/gstdio.h>
#include <string.h>

#include "harness.h"
#include "study.h"

typedef struct {
  const char *name, *text;
} File;

/* Lines that the errors must have, each a part of one line, in order. */
typedef struct {
  const char *title;
  File files[4];
  const char *lines[8];
} Example;

static const Example examples[] = {
    {"settings, recipe, model and machine",
     {{"w.ini", "[model]\nconfig = m.json\n[training]\nsequence_lenght = 4096\nmicro_batch = many\n[parallel]\n"
                "recipe = ds.json\n[cluster]\ntopology = dgx-h1000\n"},
      {"m.json", "{\"model_type\": \"nothing\"}"},
      {"ds.json", "{\"zero_optimization\": {\"stage\": 9, \"zenflow\": {\"topk_ratio\": 0.1}, \"stag\": 1}}"}},
     {"w.ini:4:1: training.sequence_lenght: no such key", "w.ini:5:1: training.micro_batch: expected a whole number",
      "zero_optimization.zenflow: is not modelled", "zero_optimization.stag: is no key of DeepSpeed",
      "parallel.zero_stage: 9 is out of range", "cluster.topology: no file \"dgx-h1000.ini\"",
      "model_type: \"nothing\" is not modelled", NULL}},
    {"refused rows and refused values of a recipe, and the model",
     {{"w.ini", "[model]\nconfig = m.json\n[training]\nsequence_length = 64\n[parallel]\nrecipe = ds.json\n[cluster]\n"
                "topology = dgx-h100\n"},
      {"m.json", "{\"model_type\": \"nothing\"}"},
      {"ds.json", "{\"zero_optimization\": {\"stage\": 3, \"reduce_bucket_size\": \"auto\"}, \"optimizer\": {\"type\": "
                  "\"OneBitAdam\"}, \"train_micro_batch_size_per_gpu\": \"auto\"}"}},
     {"optimizer.type: is not modelled: OneBitAdam", "train_micro_batch_size_per_gpu: is \"auto\", and nothing says it",
      "model_type: \"nothing\" is not modelled", NULL}},
    {"a missing model hides no axis that the framework does not have, nor any other reason of its",
     {{"w.ini",
       "[model]\nconfig = gone.json\n[training]\nactivation_checkpointing = some\n[parallel]\nframework = ddp\n"
       "tensor = 2\npipeline = 2\nframework_version = x\n[cluster]\ntopology = dgx-h100\n"}},
     {"model.config: no file \"gone.json\"", "parallel.tensor: framework ddp has no tensor parallelism",
      "parallel.pipeline: framework ddp has no pipeline parallelism",
      "training.activation_checkpointing: unknown activation checkpointing",
      "parallel.framework_version: \"x\" is not a version", NULL}},
    {"nor ranks that do not divide; a key that is none and a value out of range stand beside them",
     {{"w.ini", "[model]\nconfig = gone.json\n[training]\nsequence_lenght = 4096\nmicro_batch = 0\n[parallel]\n"
                "framework = megatron\ntensor = 3\n[cluster]\ntopology = dgx-h100\nnodes = 1\n"}},
     {"model.config: no file \"gone.json\"", "training.sequence_lenght: no such key",
      "training.micro_batch: 0 is out of range", "parallel.tensor: 8 GPUs are not a multiple of tensor 3", NULL}},
    {"nor does a missing model in JSON's place hide the batch",
     {{"w.ini", "[model]\nconfig = m.json\n[training]\nsequence_length = 64\nmicro_batch = 3\nglobal_batch = 7\n"
                "[parallel]\nframework = fsdp2\n[cluster]\ntopology = dgx-h100\nnodes = 1\n"},
      {"m.json", "{\"model_type\": \"nothing\"}"}},
     {"model_type: \"nothing\" is not modelled", "training.global_batch: 7 is not a multiple of micro_batch 3 x 8 GPUs",
      NULL}},
    {"a key of [parallel] at fault: only what the framework lacks is told, not how the ranks would then lie",
     {{"w.ini",
       "[model]\nconfig = gone.json\n[training]\nsequence_length = 64\nglobal_batch = 8\nmicro_batch = 8\n"
       "[parallel]\nframework = fsdp1\ntensor = 2\ncontexts = 4\n[cluster]\ntopology = dgx-h100\nnodes = 1\n"}},
     {"model.config: no file \"gone.json\"", "parallel.contexts: no such key",
      "parallel.tensor: framework fsdp1 has no tensor parallelism", NULL}},
    {"a missing topology leaves the axes too",
     {{"w.ini", "[model]\nconfig = m.json\n[training]\nsequence_length = 64\n[parallel]\nframework = ddp\n"
                "context = 2\n[cluster]\ntopology = dgx-h1000\n"},
      {"m.json", "{\"model_type\": \"nothing\"}"}},
     {"cluster.topology: no file \"dgx-h1000.ini\"", "model_type: \"nothing\" is not modelled",
      "parallel.context: framework ddp has no context parallelism", NULL}},
    {"all files are good: every reason of the recipe still comes in one pass",
     {{"w.ini", "[model]\nconfig = llama-3-8b.json\n[training]\nsequence_length = 64\n[parallel]\nframework = ddp\n"
                "tensor = 2\ncontext = 2\nframework_version = x\n[cluster]\ntopology = dgx-h100\nnodes = 1\n"}},
     {"parallel.tensor: framework ddp has no tensor parallelism",
      "parallel.context: framework ddp has no context parallelism",
      "parallel.framework_version: \"x\" is not a version", NULL}},
};

static char *refusal(const char *folder) {
  BaseErrors errors = {0};
  g_autofree char *path = g_build_filename(folder, "w.ini", NULL);
  g_autoptr(Study) study = study_open_some(path, &errors);
  CU_ASSERT_PTR_NOT_NULL_FATAL(study);
  GError *error = NULL;
  if (errors.lines > 0)
    study_check_files(study, &errors);
  if (base_errors_end(&errors, &error))
    CU_ASSERT_PTR_NULL(study_run(study, &STUDY_OPTIONS_DEFAULT, &error));
  char *text = g_strdup(error != NULL ? error->message : "");
  g_clear_error(&error);
  return text;
}

static void expect_lines(const Example *example, const char *text) {
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  gboolean same = TRUE;
  guint i = 0;
  for (; example->lines[i] != NULL && same; i++)
    same = lines[i] != NULL && strstr(lines[i], example->lines[i]) != NULL;
  same = same && lines[i] == NULL;
  if (!same)
    printf("\n    %s:\n%s\n", example->title, text);
  CU_ASSERT_TRUE(same);
}

static void come_together(void) {
  for (gsize e = 0; e < G_N_ELEMENTS(examples); e++) {
    g_autofree char *folder = g_dir_make_tmp("foretrain-XXXXXX", NULL);
    for (const File *file = examples[e].files; file->name != NULL; file++) {
      g_autofree char *path = g_build_filename(folder, file->name, NULL);
      g_file_set_contents(path, file->text, -1, NULL);
    }
    g_autofree char *text = refusal(folder);
    expect_lines(&examples[e], text);
    for (const File *file = examples[e].files; file->name != NULL; file++) {
      g_autofree char *path = g_build_filename(folder, file->name, NULL);
      g_remove(path);
    }
    g_rmdir(folder);
  }
}

/* Twenty lines at most, and no line twice. */
static void are_bounded(void) {
  BaseErrors errors = {0};
  GError *error = NULL;
  for (int i = 0; i < 50; i++)
    base_errors_add(&errors, g_error_new(SIM_ERROR, SIM_ERROR_INPUT, "reason %d", i % 25));
  CU_ASSERT_FALSE(base_errors_end(&errors, &error));
  g_auto(GStrv) lines = g_strsplit(error->message, "\n", -1);
  CU_ASSERT_EQUAL(g_strv_length(lines), 21);
  CU_ASSERT_TRUE(g_str_has_prefix(lines[20], "… and "));
  g_clear_error(&error);
  base_errors_add(&errors, g_error_new(SIM_ERROR, SIM_ERROR_INPUT, "same"));
  base_errors_add(&errors, g_error_new(SIM_ERROR, SIM_ERROR_SYSTEM, "same"));
  CU_ASSERT_FALSE(base_errors_end(&errors, &error));
  CU_ASSERT_STRING_EQUAL(error->message, "same");
  CU_ASSERT_EQUAL(error->code, SIM_ERROR_SYSTEM);
  g_clear_error(&error);
  CU_ASSERT_TRUE(base_errors_end(&errors, &error));
}

int main(void) {
  return harness_run("study-reasons",
                     (HarnessCase[]){{"come together", come_together}, {"are bounded", are_bounded}, {NULL, NULL}});
}
