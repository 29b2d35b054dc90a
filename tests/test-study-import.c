/* SPDX-License-Identifier: MIT */
/* What import writes is read back, and gives the step that the recipe itself gives; so for every tool. */
#include <glib/gstdio.h>
#include <string.h>

#include "harness.h"
#include "study-recipe.h"

static const char model[] = "models/llama-2-7b.json";

typedef struct {
  SimTime step;
  guint64 used;
} Result;

/* *ret of a workload file, with a short sequence, which both sides are given alike. */
static gboolean run_file(const char *path, Result *ret, GError **error) {
  const StudyOptions options = {.fold = TRUE};
  g_autoptr(Study) study = study_open(path, error);
  if (study == NULL || !study_set(study, "training.sequence_length=512", error))
    return FALSE;
  g_autoptr(RunReport) report = study_run(study, &options, error);
  if (report == NULL)
    return FALSE;
  const RunClass *slowest = run_report_slowest(report);
  *ret = (Result){slowest->step, slowest->device_used};
  return TRUE;
}

static gboolean run_under(const char *folder, const char *recipe, Result *ret, GError **error) {
  g_autofree char *path = g_build_filename(folder, "direct.ini", NULL);
  g_autofree char *text = g_strdup_printf(
      "[model]\nconfig = %s\n[training]\n[parallel]\nrecipe = %s\n[cluster]\ntopology = dgx-h100\n", model, recipe);
  gboolean good = g_file_set_contents(path, text, -1, error) && run_file(path, ret, error);
  g_remove(path);
  return good;
}

static gboolean run_imported(const char *folder, const char *recipe, Result *ret, GError **error) {
  g_autofree char *path = g_build_filename(folder, "imported.ini", NULL);
  g_autoptr(GString) text = g_string_new(NULL);
  gboolean good = study_import_recipe(recipe, model, text, error) && g_file_set_contents(path, text->str, -1, error) &&
                  run_file(path, ret, error);
  g_remove(path);
  return good;
}

static void expect_same(const char *folder, const char *recipe, const char *text) {
  Result direct = {0}, imported = {0};
  GError *error = NULL;
  gboolean good = run_under(folder, recipe, &direct, &error) && run_imported(folder, recipe, &imported, &error);
  if (!good || direct.step != imported.step || direct.used != imported.used)
    printf("\n    %s\n    %s\n", text, error != NULL ? error->message : "another step");
  CU_ASSERT_TRUE(good);
  CU_ASSERT_EQUAL(direct.step, imported.step);
  CU_ASSERT_EQUAL(direct.used, imported.used);
  CU_ASSERT_TRUE(direct.step > 0);
  g_clear_error(&error);
}

#define FSDP "distributed_type: FSDP\nnum_processes: 8\nmixed_precision: bf16\nfsdp_config:\n"

static const struct {
  const char *name, *text;
} recipes[] = {
    {"ds.json", "{\"train_batch_size\": 16, \"bf16\": {\"enabled\": true}, \"zero_optimization\": {\"stage\": 3, "
                "\"reduce_bucket_size\": \"auto\", \"sub_group_size\": 1e9, \"offload_optimizer\": {\"device\": "
                "\"cpu\"}}}"},
    {"ds.json", "{\"train_micro_batch_size_per_gpu\": 2, \"fp16\": {\"enabled\": \"auto\"}, \"zero_optimization\": "
                "{\"stage\": 2, \"cpu_offload\": true}}"},
    {"a.yaml", FSDP "  fsdp_sharding_strategy: FULL_SHARD\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"
                    "  fsdp_backward_prefetch: BACKWARD_PRE\n  fsdp_reshard_after_forward: FULL_SHARD\n"},
    {"a.yaml", FSDP "  fsdp_offload_params: true\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"},
    {"a.yaml", FSDP "  fsdp_version: 2\n  fsdp_reshard_after_forward: true\n"
                    "  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n"},
    {"a.yaml", "distributed_type: DEEPSPEED\nmixed_precision: bf16\nnum_processes: 8\ndeepspeed_config:\n"
               "  zero_stage: 2\n  gradient_accumulation_steps: 2\n"},
    {"n.yml", "pipe_parallel_size: 0\nmodel_parallel_size: 2\ntrain_micro_batch_size_per_gpu: 1\n"
              "zero_optimization:\n  stage: 1\nbf16:\n  enabled: true\nattention_config: [[[flash], 32]]\n"},
    {"t.json", "{\"fsdp\": \"full_shard auto_wrap offload\", \"fsdp_config\": {\"backward_prefetch\": "
               "\"backward_pre\"}, \"bf16\": true, \"per_device_train_batch_size\": 1}"},
    {"t.toml", "[training]\nlocal_batch_size = 1\nseq_len = 512\nenable_cpu_offload = true\n[parallelism]\n"
               "data_parallel_shard_degree = -1\n"},
    {"t.toml", "[training]\nlocal_batch_size = 1\nseq_len = 512\n[parallelism]\n[compile]\nenable = true\n"
               "components = [\"model\", \"loss\"]\n"},
    {"f.yaml", "max_seq_len: 512\nglobal_train_batch_size: 16\ndevice_train_microbatch_size: 1\nprecision: amp_bf16\n"
               "optimizer:\n  name: decoupled_adamw\nmodel:\n  name: mpt_causal_lm\n  d_model: 512\n  n_heads: 8\n"
               "  n_layers: 2\n  vocab_size: 1000\n  max_seq_len: 512\nfsdp_config:\n  sharding_strategy: FULL_SHARD\n"
               "  mixed_precision: DEFAULT\n  backward_prefetch: BACKWARD_POST\n"},
    {"m.args",
     "--tensor-model-parallel-size 2\n--micro-batch-size 1\n--global-batch-size 16\n--seq-length 512\n--bf16\n"
     "--use-distributed-optimizer\n--overlap-grad-reduce\n--overlap-param-gather\n--sequence-parallel\n"
     "--attention-dropout 0\n--hidden-dropout 0\n--ddp-bucket-size 50000000\n"},
    {"n.yaml", "trainer:\n  devices: 8\n  precision: bf16\nmodel:\n  tensor_model_parallel_size: 2\n"
               "  micro_batch_size: 1\n  global_batch_size: 16\n  hidden_dropout: 0\n  attention_dropout: 0\n"
               "  sequence_parallel: true\n  optim:\n    name: mcore_distributed_optim\n    overlap_grad_sync: true\n"
               "    overlap_param_sync: true\n"},
    {"b.yaml", "model:\n  tensor_model_parallel_size: 1\ntrain:\n  micro_batch_size: 1\n  global_batch_size: 16\n"
               "ddp:\n  overlap_grad_reduce: true\n"},
    {"l.yaml", "model_name_or_path: x/y\nstage: sft\ndo_train: true\nfinetuning_type: lora\nlora_rank: 8\n"
               "lora_target: all\ncutoff_len: 512\nper_device_train_batch_size: 1\nbf16: true\n"},
    {"r.yaml", "model_name_or_path: x/y\ndataset_name: z\nuse_peft: true\nlora_r: 8\nlora_target_modules: all-linear\n"
               "max_length: 512\nper_device_train_batch_size: 1\nbf16: true\n"},
    {"u.yaml", "model:\n  _component_: torchtune.models.llama2.llama2_7b\ntokenizer:\n  max_seq_len: 512\n"
               "batch_size: 1\noptimizer:\n  _component_: torch.optim.AdamW\n  fused: true\nloss:\n"
               "  _component_: torchtune.modules.loss.LinearCrossEntropyLoss\ndtype: bf16\ncompile: false\n"
               "enable_activation_checkpointing: true\n"},
    {"c.py", "def llama():\n  config = Trainer.Config(training=TrainingConfig(local_batch_size=1, seq_len=512),\n"
             "    activation_checkpoint=FullAC.Config())\n  config.compile.enable = True\n  return config\n"},
    {"b.py", "def llama():\n  cfg = _pretrain_common()\n  cfg.model.tensor_model_parallel_size = 2\n"
             "  cfg.train.micro_batch_size = 1\n  cfg.train.global_batch_size = 16\n"
             "  cfg.ddp.overlap_grad_reduce = True\n  return cfg\n"},
    {"x.yml", "base_model: x/y\nsequence_len: 512\nmicro_batch_size: 1\ngradient_accumulation_steps: 2\nbf16: true\n"
              "fsdp:\n  - full_shard\n  - auto_wrap\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n"},
};

static void recipes_of_every_tool(void) {
  g_autofree char *folder = g_dir_make_tmp("foretrain-XXXXXX", NULL);
  for (gsize i = 0; i < G_N_ELEMENTS(recipes); i++) {
    g_autofree char *path = g_build_filename(folder, recipes[i].name, NULL);
    g_file_set_contents(path, recipes[i].text, -1, NULL);
    expect_same(folder, path, recipes[i].text);
    g_remove(path);
  }
  g_rmdir(folder);
}

/* The whole chain names the file once more where what it wrote were not read. */
static void data_files(void) {
  static const char *const names[] = {"accelerate-deepspeed.yaml", "accelerate-fsdp.yaml", "ds-plain.json",
                                      "llm-foundry.yaml",          "megatron.sh",          NULL};
  g_autofree char *folder = g_dir_make_tmp("foretrain-XXXXXX", NULL);
  for (const char *const *name = names; *name != NULL; name++) {
    g_autofree char *relative = g_build_filename("tests/data/recipe", *name, NULL);
    g_autofree char *found = harness_path(relative);
    g_autofree char *path = g_canonicalize_filename(found, NULL);
    expect_same(folder, path, *name);
  }
  g_rmdir(folder);
}

int main(void) {
  return harness_run(
      "study-import",
      (HarnessCase[]){{"recipes of every tool", recipes_of_every_tool}, {"files of data", data_files}, {NULL, NULL}});
}
