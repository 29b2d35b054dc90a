/* SPDX-License-Identifier: MIT */
/* YAML of TRL's command line (trl sft --config): the Trainer's arguments beside those of the model and of the data.
 *
 * Source: trl/trainer/sft_config.py, trl/trainer/model_config.py. SFTConfig trains in bf16 and recomputes every layer
 * where its file does not say otherwise, and cuts sequences at 1 024 tokens. */
#include <string.h>

#include "recipe-fsdp.h"
#include "recipe-lora.h"
#include "recipe-rows.h"
#include "recipe-trainer.h"

#define MODEL    "the model is the workload's [model]: name its config.json there"
#define ADAPTERS "of adapters, which use_peft switches on"

static gboolean take_attention(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  g_autofree char *kind = node->text != NULL ? g_ascii_strdown(node->text, -1) : g_strdup("");
  gboolean flash = strstr(kind, "flash") != NULL || strcmp(kind, "sdpa") == 0;
  return flash || strcmp(kind, "eager") == 0
             ? recipe_give(reading, node, row->setting, flash ? "flash" : "eager", NULL, error)
             : conf_tree_fail(reading->tree, node, error,
                              "\"%s\" is not modelled; flash_attention_2, sdpa and eager are", kind);
}

static gboolean take_loss(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  gboolean chunked = g_strcmp0(node->text, "chunked_nll") == 0, plain = g_strcmp0(node->text, "nll") == 0;
  if (!chunked && !plain)
    return conf_tree_fail(reading->tree, node, error, "\"%s\" is not modelled; nll and chunked_nll are",
                          node->text != NULL ? node->text : "");
  if (plain && recipe_is_true(reading, "use_liger_kernel"))
    return TRUE; /* Liger's own */
  return recipe_give(reading, node, row->setting, chunked ? "chunked-recompute" : "eager", NULL, error);
}

/* What the model is loaded in; finish() gives it. */
static gboolean take_dtype(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  static const char *const known[] = {"bfloat16", "float32", "auto", "none", "None", NULL};
  return g_strv_contains(known, node->text != NULL ? node->text : "")
             ? recipe_take_later(reading, row, node, error)
             : conf_tree_fail(reading->tree, node, error, "\"%s\" is not modelled; float32 and bfloat16 are",
                              node->text != NULL ? node->text : "");
}

static gboolean give_dtype(RecipeReading *reading, GError **error) {
  const ConfTreeNode *node = conf_tree_given(reading->tree, "dtype");
  node = node != NULL ? node : conf_tree_given(reading->tree, "torch_dtype");
  return node == NULL || g_strcmp0(node->text, "bfloat16") != 0 ||
         recipe_give_half(reading, node, "parameters are loaded in 16 bits, and DDP leaves them so", error);
}

static const RecipeRow rows[] = {
    TAKE("max_length", "training.sequence_length", recipe_take_count, "tokens, as if every sequence were as long"),
    TAKE("max_seq_length", "training.sequence_length", recipe_take_count, "tokens, as if every sequence were as long"),
    TAKE("use_peft", NULL, recipe_take_later, NULL),
    TAKE("lora_r", NULL, recipe_take_later, NULL),
    TAKE("lora_target_modules", NULL, recipe_take_later, NULL),
    SAFE("lora_alpha", ADAPTERS),
    TAKE("lora_dropout", NULL, recipe_take_later, NULL),
    SAFE("lora_task_type", ADAPTERS),
    REFUSE("lora_modules_to_save", "none", "layers that are trained beside adapters"),
    REFUSE("use_dora", "false", "DoRA"),
    TAKE("load_in_4bit", NULL, recipe_take_later, NULL),
    TAKE("use_bnb_nested_quant", NULL, recipe_take_later, NULL),
    TAKE("bnb_4bit_quant_type", NULL, recipe_take_later, NULL),
    TAKE("load_in_8bit", NULL, recipe_take_later, NULL),
    REFUSE("activation_offloading", "false", "activations in host memory; set it to false"),
    TAKE("loss_type", "training.loss", take_loss, NULL),
    TAKE("attn_implementation", "training.attention", take_attention, NULL),
    TAKE("torch_dtype", NULL, take_dtype, NULL),
    TAKE("dtype", NULL, take_dtype, NULL),
    REFUSE("lora_target_parameters.*", NULL, "adapters of experts"),
    REFUSE("model_init_kwargs.*", NULL,
           "arguments of the model; say what they mean beside them (dtype, attn_implementation)"),
    REFUSE("beta", "none", "preferences, which run several models; sft is"),
    REFUSE("max_prompt_length", "none", "preferences or generation, which run several models; sft is"),
    REFUSE("max_completion_length", "none", "reinforcement learning, which runs several models; sft is"),
    REFUSE("num_generations", "none", "reinforcement learning, which runs several models; sft is"),
    REFUSE("reward_funcs.*", NULL, "reinforcement learning, which runs several models; sft is"),
    REFUSE("reward_model_path", "none", "reinforcement learning, which runs several models; sft is"),
    REFUSE("ref_model_name_or_path", "none", "preferences, which run several models; sft is"),
    REFUSE("teacher_model_name_or_path", "none", "a teacher beside the model; sft is"),
    SAFE("packing", "every sequence is as long as max_length; training.packing=packed and sample_mean keep attention "
                    "within samples"),
    SAFE("packing_strategy", DATA),
    SAFE("padding_free", "no padding: every sequence is as long as max_length"),
    SAFE("eval_packing", EVAL),
    SAFE("model_name_or_path", MODEL),
    SAFE("model_revision", MODEL),
    SAFE("trust_remote_code", MODEL),
    SAFE("chat_template_path", DATA),
    SAFE("dataset_name", DATA),
    SAFE("dataset_config", DATA),
    SAFE("dataset_train_split", DATA),
    SAFE("dataset_test_split", DATA),
    SAFE("dataset_text_field", DATA),
    SAFE("dataset_num_proc", DATA),
    SAFE("dataset_streaming", DATA),
    SAFE("datasets.*", DATA),
    SAFE("assistant_only_loss", DATA),
    SAFE("completion_only_loss", DATA),
    SAFE("eos_token", DATA),
    SAFE("pad_token", DATA),
    SAFE("chat_template", DATA),
    SAFE("dataset_kwargs.*", DATA),
    SAFE("dataset_mixer.*", DATA),
    SAFE("dataset_mixture.*", DATA),
    SAFE("dataset_splits.*", DATA),
    SAFE("dataset_configs.*", DATA),
    SAFE("dataset_batch_size", DATA),
    SAFE("truncation_mode", DATA),
    SAFE("shuffle_dataset", DATA),
    SAFE("eval_dataset_name", DATA),
    SAFE("pad_to_multiple_of", "every sequence is as long as max_length"),
    SAFE("tokenizer_name_or_path", MODEL),
    SAFE("config_name", MODEL),
    SAFE("tokenizer_revision", MODEL),
    SAFE("router_aux_loss_coef", LEARNING),
    SAFE("use_rslora", ADAPTERS),
    SAFE("bnb_4bit_quant_storage", "in what the 4 bits are packed"),
    SAFE("bnb_4bit_compute_dtype", "training.precision is what is multiplied in"),
    SAFE("ignore_bias_buffers", "a work-around of DDP"),
    SAFE("env.*", "of the launcher"),
};

static gboolean finish(RecipeReading *reading, GError **error) {
  if (recipe_is_true(reading, "use_peft") &&
      !(recipe_give_lora(reading, &(RecipeLora){"lora_r", 16, "lora_target_modules", NULL, NULL, "0.05"}, error) &&
        recipe_give_base(
            reading,
            &(RecipeBase){"load_in_4bit", "load_in_8bit", "use_bnb_nested_quant", FALSE, "bnb_4bit_quant_type"},
            error)))
    return FALSE;
  return recipe_give(reading, NULL, "training.loss", "chunked-recompute",
                     "chunked_nll, TRL's default since 2026 (before: loss_type: nll)", error) &&
         recipe_give(reading, NULL, "training.sequence_length", "1024", "TRL's default", error) &&
         recipe_give(reading, NULL, "training.precision", "bf16", "TRL's default", error) &&
         recipe_give(reading, NULL, "training.activation_checkpointing", "full", "TRL's default", error) &&
         recipe_give_reentrant(reading, FALSE, "TRL's checkpoints are not reentrant by default", error) &&
         recipe_trainer_finish(reading, error) && give_dtype(reading, error);
}

static const char *const marks[] = {
    "use_peft",       "dataset_name",   "dataset_text_field",  "dataset_mixture",     "dataset_mixer",
    "max_seq_length", "dataset_kwargs", "dataset_train_split", "assistant_only_loss", NULL};
const RecipeTable recipe_trl = {.tool = "TRL",
                                .marks = marks,
                                .rows = {rows, G_N_ELEMENTS(rows), NULL},
                                .shared = &recipe_trainer_rows,
                                .normal = recipe_fsdp_normal,
                                .finish = finish};
