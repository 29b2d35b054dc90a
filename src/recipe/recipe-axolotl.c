/* SPDX-License-Identifier: MIT */
/* axolotl's YAML: the Trainer's arguments under names of its own, with accelerate's FSDP settings.
 *
 * Source: axolotl/utils/schemas/config.py. */
#include <string.h>

#include "recipe-fsdp.h"
#include "recipe-rows.h"

static gboolean take_precision(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  gboolean on;
  if (recipe_is_auto(node)) { /* bf16 where the GPU has it, as all do that are modelled since 2020 */
    recipe_give_rule(reading, node, "training.precision", &(RecipeWait){RECIPE_RULE_WORKLOAD}, "auto: the workload's");
    return TRUE;
  }
  if (g_strcmp0(node->text, "full") == 0)
    return conf_tree_fail(reading->tree, node, error, "is not modelled: parameters that are kept in bf16 alone");
  return conf_tree_flag(reading->tree, node, &on, error) &&
         (!on || recipe_give(reading, node, "training.precision", row->setting, NULL, error));
}

static gboolean take_attention(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  gboolean flash = node->text != NULL && (strstr(node->text, "flash") != NULL || strcmp(node->text, "sdpa") == 0);
  if (!flash && g_strcmp0(node->text, "eager") != 0)
    return conf_tree_fail(reading->tree, node, error, "\"%s\" is not modelled; flash attention, sdpa and eager are",
                          node->text != NULL ? node->text : "");
  return recipe_give(reading, node, row->setting, flash ? "flash" : "eager", NULL, error);
}

static gboolean take_flash(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  gboolean on;
  return conf_tree_flag(reading->tree, node, &on, error) &&
         (!on || recipe_give(reading, node, row->setting, "flash", NULL, error));
}

#define MODEL "the model is the workload's [model]: name its config.json there"

static const RecipeRow rows[] = {
    TAKE("sequence_len", "training.sequence_length", recipe_take_count, "tokens"),
    TAKE("micro_batch_size", "training.micro_batch", recipe_take_count, "sequences per GPU"),
    TAKE("gradient_accumulation_steps", "training.gradient_accumulation", recipe_take_count, "micro-batches per step"),
    TAKE("optimizer", "training.optimizer", recipe_take_optimizer, NULL),
    TAKE("bf16", "bf16", take_precision, NULL),
    TAKE("fp16", "fp16", take_precision, NULL),
    SAFE("tf32", "of the few fp32 matmuls beside 16-bit training"),
    TAKE("gradient_checkpointing", "training.activation_checkpointing", recipe_take_checkpointing, NULL),
    SAFE("gradient_checkpointing_kwargs.*", "how PyTorch recomputes: the same operations"),
    REFUSE("activation_offloading", "false", "activations in host memory; set it to false"),
    TAKE("attn_implementation", "training.attention", take_attention, NULL),
    TAKE("flash_attention", "training.attention", take_flash, NULL),
    TAKE("sdp_attention", "training.attention", take_flash, NULL),
    TAKE("torch_compile", "training.compile", recipe_take_flag, NULL),
    TAKE("fsdp_version", NULL, recipe_take_later, NULL),
    TAKE("fsdp", NULL, recipe_take_fsdp_words, NULL),
    TAKE("dp_shard_size", "parallel.shard_group", recipe_take_count, "ranks that share one copy"),
    SAFE("dp_replicate_size", "copies follow from the shard group and the number of GPUs"),
    TAKE("tensor_parallel_size", "parallel.tensor", recipe_take_count, NULL),
    TAKE("context_parallel_size", "parallel.context", recipe_take_count, NULL),
    TAKE("sequence_parallel_degree", "parallel.context", recipe_take_count, NULL),
    REFUSE("deepspeed", "none", "a DeepSpeed file below axolotl's; name that file itself as the recipe"),
    REFUSE(
        "adapter", "none",
        "adapters by axolotl's keys; leave it out, and for LoRA write training.trainable = lora:R into the workload"),
    REFUSE("load_in_4bit", "false", "weights that are kept in 4 bits"),
    REFUSE("load_in_8bit", "false", "weights that are kept in 8 bits"),
    SAFE("lora_r", "of adapters, which adapter switches on"),
    SAFE("lora_alpha", "of adapters, which adapter switches on"),
    SAFE("lora_dropout", "of adapters, which adapter switches on"),
    SAFE("lora_target_linear", "of adapters, which adapter switches on"),
    SAFE("lora_target_modules", "of adapters, which adapter switches on"),
    SAFE("lora_model_dir", "of adapters, which adapter switches on"),
    REFUSE("plugins.*", NULL, "plugins that replace kernels, such as Cut Cross Entropy; leave them out"),
    REFUSE("use_kernels", "false", "kernels from the Hub"),
    REFUSE("sample_packing", "false",
           "samples packed into a sequence that do not see each other; set it to false: attention over whole "
           "sequences takes longer"),
    SAFE("pad_to_sequence_len", "every sequence is as long as sequence_len"),
    SAFE("base_model", MODEL),
    SAFE("model_type", MODEL),
    SAFE("tokenizer_type", DATA),
    SAFE("model_quantization_config", "how the weights are stored before training"),
    SAFE("model_quantization_config_kwargs.*", "how the weights are stored before training"),
    SAFE("experimental_skip_move_to_device", "of the start, before the first step"),
    SAFE("special_tokens.*", DATA),
    SAFE("eot_tokens.*", DATA),
    SAFE("datasets.*", DATA),
    SAFE("dataset_prepared_path", DATA),
    SAFE("val_set_size", EVAL),
    SAFE("evals_per_epoch", EVAL),
    SAFE("output_dir", LOADING),
    SAFE("resume_from_checkpoint", LOADING),
    SAFE("saves_per_epoch", LOADING),
    SAFE("save_total_limit", LOADING),
    SAFE("save_first_step", LOADING),
    SAFE("wandb_project", LOGGING),
    SAFE("wandb_entity", LOGGING),
    SAFE("wandb_watch", LOGGING),
    SAFE("wandb_name", LOGGING),
    SAFE("wandb_log_model", LOGGING),
    SAFE("trackio_project_name", LOGGING),
    SAFE("trackio_run_name", LOGGING),
    SAFE("trackio_space_id", LOGGING),
    SAFE("logging_steps", LOGGING),
    TAKE("max_grad_norm", "training.gradient_clipping", recipe_take_clipping, NULL),
    SAFE("lr_scheduler", LEARNING),
    SAFE("learning_rate", LEARNING),
    SAFE("weight_decay", LEARNING),
    SAFE("warmup_ratio", LEARNING),
    SAFE("warmup_steps", LEARNING),
    SAFE("num_epochs", LEARNING),
    SAFE("max_steps", LEARNING),
};

static gboolean finish(RecipeReading *reading, GError **error) {
  gboolean sharded =
      conf_tree_given(reading->tree, "fsdp") != NULL || conf_tree_given(reading->tree, "fsdp_config") != NULL;
  if (!recipe_give(reading, NULL, "training.gradient_clipping", "1", "the Trainer's default", error))
    return FALSE;
  return sharded ? recipe_fsdp_finish(reading, "none", "none", error)
                 : recipe_give(reading, NULL, "parallel.framework", "ddp", "no fsdp, no deepspeed", error);
}

static const char *const marks[] = {"base_model", NULL};
const RecipeTable recipe_axolotl = {.tool = "axolotl",
                                    .marks = marks,
                                    .rows = {rows, G_N_ELEMENTS(rows)},
                                    .shared = &recipe_fsdp_rows,
                                    .normal = recipe_fsdp_normal,
                                    .finish = finish};
