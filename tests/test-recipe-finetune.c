/* SPDX-License-Identifier: MIT */
/* Tools for fine-tuning around Hugging Face's Trainer (axolotl, LLaMA-Factory, TRL), and DeepSpeed files they name. */
#include <glib/gstdio.h>

#include "recipe-harness.h"

typedef struct {
  const char *setting, *value;
} Said;

static void expect(const char *name, const char *text, const Said *said) {
  GError *error = NULL;
  g_autoptr(Recipe) recipe = recipe_of_text(name, text, &error);
  if (recipe == NULL)
    printf("\n    %s\n", error->message);
  CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
  for (; said->setting != NULL; said++)
    RECIPE_SAYS(recipe, said->setting, said->value);
}

#define AXOLOTL "base_model: x/y\nsequence_len: 512\nmicro_batch_size: 4\n"

static void axolotl(void) {
  expect("x.yml",
         AXOLOTL "adapter: lora\nlora_r: 32\nlora_dropout: 0.05\nlora_target_linear: true\nsample_packing: true\n"
                 "chat_template: llama3\nstrict: false\nload_in_4bit: false\n",
         (const Said[]){{"training.trainable", "lora:32:all-linear"},
                        {"training.micro_batch", "4"},
                        {"parallel.framework", "ddp"},
                        {NULL, NULL}});
  expect("x.yml", AXOLOTL "adapter: lora\nlora_r: 8\nlora_target_modules:\n  - self_attn.q_proj\n  - v_proj\n",
         (const Said[]){{"training.trainable", "lora:8:q_proj+v_proj"}, {NULL, NULL}});
  expect(
      "x.yml",
      AXOLOTL "plugins:\n  - axolotl.integrations.liger.LigerPlugin\nliger_rope: true\nliger_rms_norm: true\n"
              "liger_glu_activation: true\nliger_cross_entropy: true\n",
      (const Said[]){
          {"training.fused_kernels", "yes"}, {"training.loss", "fused"}, {"training.trainable", NULL}, {NULL, NULL}});
  expect("x.yml", AXOLOTL "bf16: false\nfp16:\n", (const Said[]){{"training.precision", "fp32"}, {NULL, NULL}});
}

#define FACTORY "finetuning_type: %s\nstage: sft\ncutoff_len: 2048\nper_device_train_batch_size: 1\nbf16: true\n"

/* Layers are recomputed where no key says no; target "all" is every linear layer. */
static void llama_factory(void) {
  g_autofree char *lora = g_strdup_printf(FACTORY "lora_rank: 8\nlora_target: all\n", "lora");
  g_autofree char *full = g_strdup_printf(FACTORY "disable_gradient_checkpointing: true\nflash_attn: fa2\n", "full");
  expect("f.yaml", lora,
         (const Said[]){{"training.trainable", "lora:8:all-linear"},
                        {"training.sequence_length", "2048"},
                        {"training.activation_checkpointing", "full"},
                        {"training.precision", "bf16"},
                        {NULL, NULL}});
  expect("f.yaml", full,
         (const Said[]){{"training.trainable", NULL},
                        {"training.activation_checkpointing", "none"},
                        {"training.attention", "flash"},
                        {NULL, NULL}});
}

/* SFTConfig's defaults: bf16, every layer recomputed, 1 024 tokens. */
static void trl(void) {
  expect("trl.yaml", "dataset_name: a/b\nuse_peft: true\nlora_target_modules: q_proj, v_proj\n",
         (const Said[]){{"training.sequence_length", "1024"},
                        {"training.precision", "bf16"},
                        {"training.activation_checkpointing", "full"},
                        {"training.trainable", "lora:16:q_proj+v_proj"},
                        {NULL, NULL}});
  expect("trl.yaml", "dataset_name: a/b\nmax_length: 4096\nfp16: true\ngradient_checkpointing: false\n",
         (const Said[]){{"training.sequence_length", "4096"},
                        {"training.precision", "fp16"},
                        {"training.activation_checkpointing", "none"},
                        {NULL, NULL}});
}

/* "auto" of the file below is what the arguments say, whichever comes first; the file is found from a folder above. */
static void names_a_deepspeed_file(void) {
  static const char ds[] = "{\"train_micro_batch_size_per_gpu\": \"auto\", \"gradient_accumulation_steps\": \"auto\", "
                           "\"gradient_clipping\": \"auto\", \"bf16\": {\"enabled\": \"auto\"}, "
                           "\"zero_optimization\": {\"stage\": 3}}";
  static const char *const texts[] = {
      "per_device_train_batch_size: 2\ngradient_accumulation_steps: 3\nmax_grad_norm: 0.5\nbf16: true\n"
      "deepspeed: configs/ds.json\n",
      "deepspeed: configs/ds.json\nper_device_train_batch_size: 2\ngradient_accumulation_steps: 3\n"
      "max_grad_norm: 0.5\nbf16: true\n"};
  g_autofree char *folder = g_dir_make_tmp("foretrain-XXXXXX", NULL);
  g_autofree char *configs = g_build_filename(folder, "configs", NULL);
  g_autofree char *runs = g_build_filename(folder, "runs", NULL);
  g_autofree char *file = g_build_filename(configs, "ds.json", NULL);
  g_autofree char *path = g_build_filename(runs, "t.yaml", NULL);
  g_mkdir(configs, 0700);
  g_mkdir(runs, 0700);
  g_file_set_contents(file, ds, -1, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS(texts); i++) {
    GError *error = NULL;
    g_file_set_contents(path, texts[i], -1, NULL);
    g_autoptr(Recipe) recipe = recipe_load(path, &error);
    CU_ASSERT_PTR_NOT_NULL_FATAL(recipe);
    RECIPE_SAYS(recipe, "parallel.framework", "deepspeed");
    RECIPE_SAYS(recipe, "parallel.zero_stage", "3");
    RECIPE_SAYS(recipe, "training.micro_batch", "2");
    RECIPE_SAYS(recipe, "training.gradient_accumulation", "3");
    RECIPE_SAYS(recipe, "training.gradient_clipping", "0.5");
    RECIPE_SAYS(recipe, "training.precision", "bf16");
  }
  g_remove(path);
  g_remove(file);
  g_rmdir(runs);
  g_rmdir(configs);
  g_rmdir(folder);
}

static void refusals(void) {
  static const struct {
    const char *name, *text, *fragment;
  } rows[] = {
      {"x.yml", AXOLOTL "plugins:\n  - axolotl.integrations.cut_cross_entropy.CutCrossEntropyPlugin\n",
       "plugins: is not modelled: Cut Cross Entropy"},
      {"x.yml", AXOLOTL "adapter: lora\nlora_target_modules: 'layers.[0-9]+.q_proj'\n", "names layers by a pattern"},
      {"x.yml", AXOLOTL "adapter: lora\nlora_modules_to_save:\n  - lm_head\n", "lora_modules_to_save: is not modelled"},
      {"x.yml", AXOLOTL "load_in_8bit: true\n", "load_in_8bit: is not modelled"},
      {"f.yaml", "finetuning_type: freeze\n", "\"freeze\" is not modelled; full and lora are"},
      {"f.yaml", "finetuning_type: full\nstage: dpo\n", "stage: is not modelled"},
      {"t.yaml", "per_device_train_batch_size: 1\ndeepspeed: gone.json\n", "deepspeed: no file"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    GError *error = NULL;
    HARNESS_FAILS(recipe_of_text(rows[i].name, rows[i].text, &error), error, rows[i].fragment);
  }
}

int main(void) {
  return harness_run("recipe-finetune", (HarnessCase[]){{"axolotl", axolotl},
                                                        {"LLaMA-Factory", llama_factory},
                                                        {"TRL", trl},
                                                        {"names a DeepSpeed file", names_a_deepspeed_file},
                                                        {"refusals", refusals},
                                                        {NULL, NULL}});
}
