/* SPDX-License-Identifier: MIT */
/* axolotl's YAML: the Trainer's arguments under names of its own, with accelerate's FSDP settings.
 *
 * Source: axolotl/utils/schemas/config.py. */
#include <string.h>

#include "recipe-axolotl.h"
#include "recipe-fsdp.h"
#include "recipe-lora.h"
#include "recipe-rows.h"
#include "recipe-trainer.h"

static gboolean take_precision(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  if (recipe_is_auto(node)) { /* bf16 where the GPU has it, as all do that are modelled since 2020 */
    recipe_give_rule(reading, node, "training.precision", &(RecipeWait){RECIPE_RULE_WORKLOAD}, "auto: the workload's");
    return TRUE;
  }
  if (g_strcmp0(node->text, "full") == 0)
    return conf_tree_fail(reading->tree, node, error, "is not modelled: parameters that are kept in bf16 alone");
  return recipe_give_flag(reading, node, "training.precision", row->setting, NULL, NULL, error);
}

/* Words beside true and false put what is kept elsewhere: offload (before: unsloth), offload_disk. */
static gboolean take_checkpointing(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                   GError **error) {
  if (node->kind == CONF_TREE_FLAG || node->text == NULL)
    return recipe_take_checkpointing(reading, row, node, error);
  return conf_tree_fail(reading->tree, node, error,
                        "\"%s\" is not modelled: checkpoints outside the GPU's memory; say true, for checkpoints in it",
                        node->text);
}

#define XFORMERS "xformers takes FlashAttention's kernels on these GPUs"

static gboolean take_attention(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  gboolean flash = node->text != NULL && (strstr(node->text, "flash") != NULL || strcmp(node->text, "sdpa") == 0);
  if (g_strcmp0(node->text, "xformers") == 0)
    return recipe_give(reading, node, row->setting, "flash", XFORMERS, error);
  if (!flash && g_strcmp0(node->text, "eager") != 0)
    return conf_tree_fail(reading->tree, node, error, "\"%s\" is not modelled; flash attention, sdpa and eager are",
                          node->text != NULL ? node->text : "");
  return recipe_give(reading, node, row->setting, flash ? "flash" : "eager", NULL, error);
}

static gboolean take_flash(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  return recipe_give_flag(reading, node, row->setting, "flash", NULL, row->remark, error);
}

/* Those that change a step say by keys of their own how; but Cut Cross-Entropy's is on with its plugin. */
static gboolean take_plugins(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  static const char *const harmless[] = {"CutCrossEntropyPlugin", "LigerPlugin",          "SwanLabPlugin",
                                         "KernelsPlugin",         "ExpertParallelPlugin", NULL};
  (void)row;
  for (guint i = 0;; i++) {
    g_autofree char *path = g_strdup_printf("%s.%u", node->path, i);
    const ConfTreeNode *plugin = conf_tree_find(reading->tree, path);
    if (plugin == NULL)
      return TRUE;
    const char *dot = plugin->text != NULL ? strrchr(plugin->text, '.') : NULL;
    const char *name = dot != NULL ? dot + 1 : "";
    const ConfTreeNode *cut = conf_tree_given(reading->tree, "cut_cross_entropy");
    gboolean cuts = strcmp(name, "CutCrossEntropyPlugin") == 0 && cut == NULL;
    if (cuts && !recipe_give(reading, node, "training.loss", "cut", "Cut Cross-Entropy", error))
      return FALSE;
    if (!g_strv_contains(harmless, name))
      return conf_tree_fail(reading->tree, node, error,
                            "\"%s\" is not modelled; LigerPlugin and CutCrossEntropyPlugin are",
                            plugin->text != NULL ? plugin->text : "");
  }
}

static gboolean take_loss(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  return recipe_give_flag(reading, node, "training.loss", row->setting, NULL, NULL, error);
}

static gboolean take_packing(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  gboolean on;
  (void)row;
  if (!conf_tree_flag(reading->tree, node, &on, error))
    return FALSE;
  recipe_leave(
      reading, node,
      on ? "sequences are full; attention is over each whole one, an upper bound: training.packing=packed and "
           "sample_mean keep it within samples"
         : "every sequence is taken to be as long as sequence_len, an upper bound: training.packing=padded and "
           "sample_mean tell padding apart");
  return TRUE;
}

#define ADAPTERS       "of adapters, which adapter switches on"
#define FUSED_ADAPTERS "adapters by fused kernels: played as plain ones, an upper bound"

static const RecipeRow rows[] = {
    TAKE("sequence_len", "training.sequence_length", recipe_take_count, "tokens"),
    TAKE("micro_batch_size", "training.micro_batch", recipe_take_count, "sequences per GPU"),
    TAKE("gradient_accumulation_steps", "training.gradient_accumulation", recipe_take_count, "micro-batches per step"),
    TAKE("optimizer", "training.optimizer", recipe_take_optimizer, NULL),
    TAKE("bf16", "bf16", take_precision, NULL),
    TAKE("fp16", "fp16", take_precision, NULL),
    TAKE("gradient_checkpointing", "training.activation_checkpointing", take_checkpointing, NULL),
    TAKE("gradient_checkpointing_kwargs.use_reentrant", "training.checkpoint_early_stop", recipe_take_reentrant, NULL),
    REFUSE("activation_offloading", "false", "activations in host memory; set it to false"),
    TAKE("attn_implementation", "training.attention", take_attention, NULL),
    TAKE("flash_attention", "training.attention", take_flash, NULL),
    TAKE("xformers_attention", "training.attention", take_flash, XFORMERS),
    REFUSE("flex_attention", "false", "flex attention; flash attention, sdpa and eager are"),
    REFUSE("flash_optimum", "false", "BetterTransformer"),
    TAKE("float16", "fp16", take_precision, NULL),
    TAKE("bfloat16", "bf16", take_precision, NULL),
    TAKE("sdp_attention", "training.attention", take_flash, NULL),
    TAKE("torch_compile", "training.compile", recipe_take_flag, NULL),
    TAKE("fsdp_version", NULL, recipe_take_later, NULL),
    TAKE("fsdp", NULL, recipe_take_fsdp_words, NULL),
    TAKE("dp_shard_size", "parallel.shard_group", recipe_take_count, "ranks that share one copy"),
    TAKE("tensor_parallel_size", "parallel.tensor", recipe_take_count, NULL),
    TAKE("context_parallel_size", "parallel.context", recipe_take_count, NULL),
    TAKE("sequence_parallel_degree", "parallel.context", recipe_take_count, NULL),
    TAKE("deepspeed", NULL, recipe_take_deepspeed, NULL),
    REFUSE("adapter", "none|lora|qlora|", "this adapter; lora and qlora are"),
    TAKE("load_in_4bit", NULL, recipe_take_later, NULL),
    TAKE("bnb_config_kwargs.bnb_4bit_use_double_quant", NULL, recipe_take_later, NULL),
    TAKE("bnb_config_kwargs.bnb_4bit_quant_type", NULL, recipe_take_later, NULL),
    TAKE("load_in_8bit", NULL, recipe_take_later, NULL),
    REFUSE("gptq", "false", "weights that are kept in 4 bits"),
    TAKE("lora_r", NULL, recipe_take_later, NULL),
    TAKE("lora_dropout", NULL, recipe_take_later, NULL),
    TAKE("lora_target_linear", NULL, recipe_take_later, NULL),
    TAKE("lora_target_modules", NULL, recipe_take_later, NULL),
    SAFE("lora_alpha", ADAPTERS),
    SAFE("lora_fan_in_fan_out", ADAPTERS),
    SAFE("lora_on_cpu", ADAPTERS),
    SAFE("loraplus_lr_ratio", ADAPTERS),
    SAFE("loraplus_lr_embedding", ADAPTERS),
    SAFE("lora_alpha_pattern.*", ADAPTERS),
    SAFE("peft_init_lora_weights", ADAPTERS),
    SAFE("peft_autocast_adapter_dtype", ADAPTERS),
    SAFE("lora_model_dir", ADAPTERS),
    SAFE("lora_mlp_kernel", FUSED_ADAPTERS),
    SAFE("lora_qkv_kernel", FUSED_ADAPTERS),
    SAFE("lora_o_kernel", FUSED_ADAPTERS),
    SAFE("peft_use_rslora", ADAPTERS),
    REFUSE("rl", "none", "reinforcement learning and preferences, which run several models"),
    TAKE("plugins.*", NULL, take_plugins, NULL),
    TAKE("liger_rope", NULL, recipe_take_later, NULL),
    TAKE("liger_rms_norm", NULL, recipe_take_later, NULL),
    TAKE("liger_glu_activation", NULL, recipe_take_later, NULL),
    TAKE("liger_layer_norm", NULL, recipe_take_later, NULL),
    TAKE("liger_cross_entropy", NULL, recipe_take_later, NULL),
    TAKE("liger_fused_linear_cross_entropy", NULL, recipe_take_later, NULL),
    TAKE("liger_swiglu", NULL, recipe_take_later, NULL),
    TAKE("cut_cross_entropy", "cut", take_loss, NULL),
    TAKE("flash_attn_cross_entropy", "fused", take_loss, NULL),
    TAKE("batch_size", NULL, recipe_take_later, NULL),
    TAKE("sample_packing", NULL, take_packing, NULL),
    TAKE("max_grad_norm", "training.gradient_clipping", recipe_take_clipping, NULL),
};

/* Liger's kernels, each switched on by itself. Source: axolotl/integrations/liger/args.py. */
static gboolean give_liger(RecipeReading *reading, GError **error) {
  gboolean norms = recipe_is_true(reading, "liger_rms_norm") || recipe_is_true(reading, "liger_layer_norm"),
           rope = recipe_is_true(reading, "liger_rope"),
           glu = recipe_is_true(reading, "liger_glu_activation") || recipe_is_true(reading, "liger_swiglu");
  const ConfTreeNode *node = conf_tree_given(reading->tree, "plugins");
  if (node == NULL)
    return TRUE;
  if (recipe_is_true(reading, "liger_cross_entropy") &&
      !recipe_give(reading, node, "training.loss", "fused", "liger_cross_entropy", error))
    return FALSE;
  if (recipe_is_true(reading, "liger_fused_linear_cross_entropy") &&
      !recipe_give(reading, node, "training.loss", "fused-linear", "liger_fused_linear_cross_entropy", error))
    return FALSE;
  return !norms || !rope ||
         recipe_give(reading, node, "training.fused_kernels", glu ? "liger" : "norms", "Liger's kernels", error);
}

/* bf16 is "auto" where nothing is said: the workload's, as all GPUs since 2020 have it. */
static gboolean give_precision(RecipeReading *reading, GError **error) {
  g_autofree char *bf16 = recipe_text(reading, "bf16");
  return strcmp(bf16, "false") != 0 ||
         recipe_give(reading, NULL, "training.precision", "fp32", "neither bf16 nor fp16 is on", error);
}

/* micro_batch_size × gradient_accumulation_steps (config/normalize.py), of one GPU. */
static gboolean give_batch(RecipeReading *reading, GError **error) {
  const ConfTreeNode *batch = conf_tree_given(reading->tree, "batch_size"),
                     *micro = conf_tree_given(reading->tree, "micro_batch_size");
  guint64 all, of_each;
  if (batch == NULL || conf_tree_given(reading->tree, "gradient_accumulation_steps") != NULL)
    return TRUE;
  if (micro == NULL)
    return conf_tree_fail(reading->tree, batch, error, "stands without micro_batch_size");
  if (!conf_tree_count(reading->tree, batch, &all, error) || !conf_tree_count(reading->tree, micro, &of_each, error))
    return FALSE;
  if (of_each == 0 || all < of_each)
    return conf_tree_fail(reading->tree, batch, error, "is less than micro_batch_size");
  g_autofree char *times = g_strdup_printf("%" G_GUINT64_FORMAT, all / of_each);
  return recipe_give(reading, batch, "training.gradient_accumulation", times, "over micro_batch_size", error);
}

static gboolean give_adapters(RecipeReading *reading, GError **error) {
  g_autofree char *adapter = recipe_text(reading, "adapter");
  const RecipeLora lora = {"lora_r", 8, "lora_target_modules", "lora_target_linear", NULL, NULL};
  const RecipeBase base = {"load_in_4bit", "load_in_8bit", "bnb_config_kwargs.bnb_4bit_use_double_quant", TRUE,
                           "bnb_config_kwargs.bnb_4bit_quant_type"};
  if (strcmp(adapter, "lora") != 0 && strcmp(adapter, "qlora") != 0)
    return TRUE;
  if (*adapter == 'q' && !recipe_is_true(reading, "load_in_4bit"))
    return conf_tree_fail(reading->tree, conf_tree_given(reading->tree, "adapter"), error,
                          "qlora wants load_in_4bit: true");
  return recipe_give_lora(reading, &lora, error) && recipe_give_base(reading, &base, error);
}

static gboolean finish(RecipeReading *reading, GError **error) {
  return recipe_give_reentrant(reading, FALSE, "axolotl's checkpoints are not reentrant by default", error) &&
         give_batch(reading, error) && give_adapters(reading, error) && give_liger(reading, error) &&
         give_precision(reading, error) && recipe_trainer_finish(reading, error) &&
         recipe_give_half(reading, NULL, "axolotl loads parameters in 16 bits, and DDP leaves them so", error);
}

static const char *const marks[] = {"base_model", NULL};
const RecipeTable recipe_axolotl = {.tool = "axolotl",
                                    .marks = marks,
                                    .rows = {rows, G_N_ELEMENTS(rows)},
                                    .shared = &recipe_axolotl_rest,
                                    .normal = recipe_fsdp_normal,
                                    .finish = finish};
