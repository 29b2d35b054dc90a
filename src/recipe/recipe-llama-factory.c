/* SPDX-License-Identifier: MIT */
/* LLaMA-Factory's YAML: the Trainer's arguments beside its own.
 *
 * Source: llamafactory/hparams (model_args.py, finetuning_args.py, data_args.py) and
 * model/model_utils/checkpointing.py, by which every layer is recomputed unless disable_gradient_checkpointing says
 * no. */
#include <string.h>

#include "recipe-fsdp.h"
#include "recipe-lora.h"
#include "recipe-rows.h"
#include "recipe-trainer.h"

#define MODEL    "the model is the workload's [model]: name its config.json there"
#define ADAPTERS "of adapters, which finetuning_type switches on"

static gboolean take_attention(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  static const char *const flash[] = {"fa2", "sdpa", "auto", "flash_attention_2", NULL};
  const char *kind = node->text != NULL ? node->text : "";
  if (strcmp(kind, "disabled") == 0)
    return recipe_give(reading, node, row->setting, "eager", NULL, error);
  return g_strv_contains(flash, kind)
             ? recipe_give(reading, node, row->setting, "flash", NULL, error)
             : conf_tree_fail(reading->tree, node, error, "\"%s\" is not modelled; fa2, sdpa, auto and disabled are",
                              kind);
}

static gboolean take_disabled(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  return recipe_give_flag(reading, node, row->setting, "none", "full", NULL, error);
}

static const RecipeRow rows[] = {
    TAKE("cutoff_len", "training.sequence_length", recipe_take_count, "tokens, as if every sequence were as long"),
    REFUSE("stage", "sft|pt", "reward models and preferences, which run several models; sft and pt are"),
    TAKE("finetuning_type", NULL, recipe_take_later, NULL),
    TAKE("lora_rank", NULL, recipe_take_later, NULL),
    TAKE("lora_target", NULL, recipe_take_later, NULL),
    SAFE("lora_alpha", ADAPTERS),
    SAFE("lora_dropout", ADAPTERS),
    SAFE("loraplus_lr_ratio", ADAPTERS),
    REFUSE("additional_target", "none", "layers that are trained beside adapters"),
    REFUSE("use_dora", "false", "DoRA"),
    REFUSE("quantization_bit", "4|8|none", "weights in as many bits; 4 and 8 are"),
    REFUSE("quantization_method", "bnb|bitsandbytes|none", "weights of this kind; bnb's are"),
    TAKE("double_quantization", NULL, recipe_take_later, NULL),
    REFUSE("quantization_type", "nf4|none", "this kind of 4 bits; nf4 is"),
    REFUSE("pure_bf16", "false", "parameters that are kept in bf16 alone"),
    REFUSE("upcast_layernorm", "false", "norms in fp32"),
    TAKE("enable_liger_kernel", NULL, recipe_take_liger, NULL),
    REFUSE("use_unsloth", "false", "Unsloth's kernels"),
    REFUSE("use_galore", "false", "GaLore"),
    REFUSE("use_apollo", "false", "APOLLO"),
    REFUSE("use_badam", "false", "BAdam"),
    REFUSE("use_kt", "false", "KTransformers"),
    SAFE(
        "neat_packing",
        "attention is over each whole sequence, an upper bound: training.packing=packed and sample_mean keep it within "
        "samples"),
    TAKE("disable_gradient_checkpointing", "training.activation_checkpointing", take_disabled, NULL),
    SAFE("use_reentrant_gc", "how PyTorch recomputes: the same operations"),
    TAKE("flash_attn", "training.attention", take_attention, NULL),
    SAFE("packing", "every sequence is as long as cutoff_len"),
    SAFE("model_name_or_path", MODEL),
    SAFE("adapter_name_or_path", MODEL),
    SAFE("trust_remote_code", MODEL),
    SAFE("template", DATA),
    SAFE("dataset", DATA),
    SAFE("dataset_dir", DATA),
    SAFE("eval_dataset", EVAL),
    SAFE("val_size", EVAL),
    SAFE("max_samples", DATA),
    SAFE("preprocessing_num_workers", DATA),
    SAFE("overwrite_cache", DATA),
    SAFE("tokenized_path", DATA),
    SAFE("media_dir", DATA),
    SAFE("streaming", DATA),
    SAFE("train_on_prompt", DATA),
    SAFE("mask_history", DATA),
    SAFE("image_max_pixels", DATA),
    SAFE("video_max_pixels", DATA),
    SAFE("video_maxlen", DATA),
    SAFE("video_fps", DATA),
    SAFE("freeze_vision_tower", "of models that see, which are not modelled"),
    SAFE("freeze_multi_modal_projector", "of models that see, which are not modelled"),
    REFUSE("freeze_language_model", "false", "a language model that is not trained"),
    SAFE("mix_strategy", DATA),
    SAFE("interleave_probs", DATA),
    SAFE("buffer_size", DATA),
    SAFE("use_dft_loss", LEARNING),
    SAFE("use_asft_loss", LEARNING),
    SAFE("asft_alpha", LEARNING),
    SAFE("use_eaft_loss", LEARNING),
    SAFE("eaft_alpha", LEARNING),
    SAFE("pissa_init", LEARNING),
    SAFE("pissa_iter", LEARNING),
    SAFE("pissa_convert", LEARNING),
    SAFE("create_new_adapter", LEARNING),
    SAFE("predict_with_generate", EVAL),
    SAFE("compute_accuracy", EVAL),
    SAFE("do_predict", EVAL),
    REFUSE("use_llama_pro", "false", "LLaMA Pro"),
    REFUSE("mixture_of_depths", "none", "mixture of depths"),
    REFUSE("use_muon", "false", "Muon, which multiplies matrices in its step"),
    REFUSE("use_adam_mini", "false", "Adam-mini"),
    SAFE("plot_loss", LOGGING),
    SAFE("ray_run_name", "of the launcher"),
    SAFE("ray_num_workers", "of the launcher"),
    SAFE("ray_storage_path", "of the launcher"),
};

/* quantization_bit is no flag; double_quantization is on by itself. */
static gboolean give_base(RecipeReading *reading, GError **error) {
  const ConfTreeNode *bits = conf_tree_given(reading->tree, "quantization_bit"),
                     *twice = conf_tree_given(reading->tree, "double_quantization");
  gboolean on = TRUE;
  if (bits == NULL)
    return TRUE;
  return (twice == NULL || conf_tree_flag(reading->tree, twice, &on, error)) &&
         recipe_give(reading, bits, "training.base_weights",
                     g_strcmp0(bits->text, "8") == 0 ? "int8"
                     : on                            ? "nf4-double"
                                                     : "nf4",
                     "the other parameters stay in training.precision", error);
}

static gboolean finish(RecipeReading *reading, GError **error) {
  g_autofree char *kind = recipe_text(reading, "finetuning_type");
  const ConfTreeNode *node = conf_tree_given(reading->tree, "finetuning_type");
  if (node != NULL && strcmp(kind, "lora") != 0 && strcmp(kind, "full") != 0)
    return conf_tree_fail(reading->tree, node, error, "\"%s\" is not modelled; full and lora are", kind);
  if (strcmp(kind, "lora") == 0 &&
      !(recipe_give_lora(reading, &(RecipeLora){"lora_rank", 8, "lora_target", NULL}, error) &&
        give_base(reading, error)))
    return FALSE;
  return recipe_give(reading, NULL, "training.sequence_length", "2048",
                     "cutoff_len, LLaMA-Factory's default since 2024-11-10 (before: 1024)", error) &&
         recipe_give(reading, NULL, "training.activation_checkpointing", "full", "LLaMA-Factory's default", error) &&
         recipe_trainer_finish(reading, error);
}

static const char *const marks[] = {"finetuning_type", "cutoff_len", NULL};
const RecipeTable recipe_llama_factory = {.tool = "LLaMA-Factory",
                                          .marks = marks,
                                          .rows = {rows, G_N_ELEMENTS(rows), NULL},
                                          .shared = &recipe_trainer_rows,
                                          .normal = recipe_fsdp_normal,
                                          .finish = finish};
