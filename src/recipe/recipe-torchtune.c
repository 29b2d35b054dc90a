/* SPDX-License-Identifier: MIT */
/* torchtune's YAML (until its end in 2026): supervised fine-tuning, full or of adapters, on one GPU or many.
 *
 * Source: recipes/full_finetune_distributed.py and lora_finetune_distributed.py: FSDP2 around each layer; dtype is that
 * of parameters, gradients and optimizer states alike. Its loss goes chunk by chunk, and keeps each chunk's log-softmax
 * for backward as the eager one does. The model and its tokenizer are Python classes: of the first only adapters are
 * read. */
#include <string.h>

#include "recipe-lora.h"
#include "recipe-rows.h"

#define MODEL    "the model is the workload's [model]: name its config.json there"
#define LOGGER   "what is logged, and profiles of a few steps"
#define ADAPTERS "of adapters"

static gboolean take_optimizer(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  static const struct {
    const char *theirs, *ours;
    gboolean paged;
  } names[] = {
      {"torch.optim.AdamW", "adamw", FALSE},
      {"torch.optim.Adam", "adam", FALSE},
      {"torch.optim.SGD", "sgd", FALSE},
      {"bitsandbytes.optim.AdamW", "adamw", FALSE},
      {"bitsandbytes.optim.AdamW8bit", "adam8bit", FALSE},
      {"bitsandbytes.optim.PagedAdamW", "adamw", TRUE},
      {"bitsandbytes.optim.PagedAdamW8bit", "adam8bit", TRUE},
      {"torchao.optim.AdamW8bit", "adam8bit", FALSE},
      {"torchao.optim.AdamW4bit", "adam4bit", FALSE},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    if (g_strcmp0(names[i].theirs, node->text) == 0)
      return recipe_give(reading, node, row->setting, names[i].ours, NULL, error) &&
             (!names[i].paged || recipe_give(reading, node, "training.paged_states", "yes", node->text, error));
  return conf_tree_fail(reading->tree, node, error,
                        "\"%s\" is not modelled; torch.optim.AdamW, Adam and SGD, and AdamW of bitsandbytes and "
                        "torchao are",
                        node->text != NULL ? node->text : "");
}

static gboolean take_fused(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  return recipe_give_flag(reading, node, row->setting, "fused", "foreach", NULL, error);
}

static gboolean take_loss(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  static const char *const known[] = {"torchtune.modules.loss.LinearCrossEntropyLoss",
                                      "torchtune.modules.loss.CEWithChunkedOutputLoss", "torch.nn.CrossEntropyLoss",
                                      NULL};
  if (!g_strv_contains(known, node->text != NULL ? node->text : ""))
    return conf_tree_fail(reading->tree, node, error, "\"%s\" is not modelled; LinearCrossEntropyLoss is",
                          node->text != NULL ? node->text : "");
  return recipe_give(reading, node, row->setting, "eager", "an upper bound: chunks need less beside what is kept",
                     error);
}

static gboolean take_dtype(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  gboolean half = g_strcmp0(node->text, "bf16") == 0;
  if (!half && g_strcmp0(node->text, "fp32") != 0)
    return conf_tree_fail(reading->tree, node, error, "\"%s\" is not modelled; bf16 and fp32 are",
                          node->text != NULL ? node->text : "");
  return recipe_give(reading, node, row->setting, half ? "bf16" : "fp32", NULL, error) &&
         recipe_give(reading, node, "fsdp.orig_dtype", half ? "bf16" : "fp32", "parameters and optimizer states too",
                     error);
}

/* Embedding and head as units of their own. */
static gboolean take_sharded(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  return conf_tree_is_empty(reading->tree, node) ||
         recipe_give(reading, node, row->setting, "ends", "embedding and head apart", error);
}

static gboolean take_clipping(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  g_autofree char *text = node->text != NULL ? g_ascii_strdown(node->text, -1) : g_strdup("");
  return strcmp(text, "none") == 0 || recipe_take_clipping(reading, row, node, error);
}

#define LATER(path)                                                                                                    \
  { path, RECIPE_TAKE, NULL, recipe_take_later, NULL, NULL }

static const RecipeRow rows[] = {
    TAKE("batch_size", "training.micro_batch", recipe_take_count, "sequences per GPU"),
    TAKE("gradient_accumulation_steps", "training.gradient_accumulation", recipe_take_count, "micro-batches per step"),
    TAKE("tokenizer.max_seq_len", "training.sequence_length", recipe_take_count,
         "tokens, as if every sequence were as long"),
    SAFE("tokenizer.*", DATA),
    TAKE("optimizer._component_", "training.optimizer", take_optimizer, NULL),
    TAKE("optimizer.fused", "training.optimizer_style", take_fused, NULL),
    SAFE("optimizer.*", LEARNING),
    REFUSE("optimizer_in_bwd", "false", "optimizer steps inside backward; set it to false"),
    TAKE("loss._component_", "training.loss", take_loss, NULL),
    SAFE("loss.*", "of the loss's chunks"),
    TAKE("dtype", "training.precision", take_dtype, NULL),
    TAKE("clip_grad_norm", "training.gradient_clipping", take_clipping, NULL),
    TAKE("compile", "training.compile", recipe_take_flag, NULL),
    TAKE("enable_activation_checkpointing", "training.activation_checkpointing", recipe_take_checkpointing, NULL),
    REFUSE("enable_activation_offloading", "false", "activations in host memory; set it to false"),
    REFUSE("memory_efficient_fsdp_wrap", "false",
           "FSDP1 with embeddings and norms wrapped apart, of torchtune before "
           "0.3; take it out to predict torchtune's FSDP2"),
    REFUSE("ac_mode", "full|none", "selective recomputation by torchtune's rules"),
    SAFE("ac_option", "of selective recomputation, which is not on"),
    REFUSE("fsdp.cpu_offload", "false", "a key that torchtune no longer reads; say fsdp_cpu_offload"),
    TAKE("fsdp_cpu_offload", "fsdp.cpu_offload", recipe_take_flag, NULL),
    TAKE("custom_sharded_layers.*", "fsdp.wrap", take_sharded, NULL),
    TAKE("tensor_parallel_dim", "parallel.tensor", recipe_take_count, NULL),
    TAKE("context_parallel_dim", "parallel.context", recipe_take_count, NULL),
    SAFE("tensor_parallel_plan.*", "names the layers that are split, which are those of the model"),
    SAFE("data_parallel_shard_dim", "the workload's parallel.shard_group says who shares one copy"),
    SAFE("data_parallel_replicate_dim", "the workload's parallel.shard_group says who shares one copy"),
    LATER("model._component_"),
    LATER("model.lora_attn_modules"),
    LATER("model.apply_lora_to_mlp"),
    LATER("model.lora_rank"),
    LATER("model.quantize_base"),
    REFUSE("model.apply_lora_to_output", "false", "adapters at the head"),
    REFUSE("model.use_dora", "false", "DoRA"),
    SAFE("model.lora_alpha", ADAPTERS),
    LATER("model.lora_dropout"),
    SAFE("model.*", MODEL),
    SAFE("checkpointer.*", LOADING),
    SAFE("dataset.*", DATA),
    SAFE("dataset_val.*", EVAL),
    SAFE("run_val_every_n_steps", EVAL),
    SAFE("batch_size_val", EVAL),
    SAFE("collate_fn", DATA),
    SAFE("shuffle", DATA),
    SAFE("seed", LEARNING),
    SAFE("epochs", LEARNING),
    SAFE("max_steps_per_epoch", LEARNING),
    SAFE("lr_scheduler.*", LEARNING),
    SAFE("use_distributed_state_dict", LOADING),
    SAFE("save_every_n_epochs", LOADING),
    SAFE("save_every_n_steps", LOADING),
    SAFE("keep_last_n_checkpoints", LOADING),
    SAFE("save_adapter_weights_only", LOADING),
    SAFE("resume_from_checkpoint", LOADING),
    SAFE("output_dir", LOADING),
    SAFE("base_model_path", LOADING),
    SAFE("low_cpu_ram", LOADING),
    SAFE("device", "of the launcher"),
    SAFE("metric_logger.*", LOGGER),
    SAFE("profiler.*", LOGGER),
    SAFE("log_every_n_steps", LOGGER),
    SAFE("log_peak_memory_stats", LOGGER),
    SAFE("log_level", LOGGER),
    REFUSE("teacher_model.*", NULL, "a teacher beside the model"),
    REFUSE("ref_checkpointer.*", NULL, "preferences, which run several models"),
    REFUSE("reward_and_value_model.*", NULL, "reinforcement learning, which runs several models"),
    REFUSE("ppo_epochs", NULL, "reinforcement learning, which runs several models"),
    REFUSE("quantizer.*", NULL, "training of weights that are to be quantized"),
};

/* Names of attention's layers, of which output_proj is ours by another. */
static gboolean add_attention(const RecipeReading *reading, GString *targets) {
  const ConfTreeNode *list = conf_tree_given(reading->tree, "model.lora_attn_modules"), *module;
  for (guint i = 0; list != NULL; i++) {
    g_autofree char *path = g_strdup_printf("%s.%u", list->path, i);
    if ((module = conf_tree_find(reading->tree, path)) == NULL)
      break;
    gboolean output = g_strcmp0(module->text, "output_proj") == 0;
    g_string_append_printf(targets, "%s%s", targets->len > 0 ? "+" : "", output ? "o_proj" : module->text);
  }
  return targets->len > 0;
}

static gboolean give_adapters(RecipeReading *reading, GError **error) {
  const ConfTreeNode *node = conf_tree_given(reading->tree, "model.lora_attn_modules");
  const ConfTreeNode *rank = conf_tree_given(reading->tree, "model.lora_rank");
  g_autofree char *component = recipe_text(reading, "model._component_");
  gboolean packed = strstr(component, ".qlora_") != NULL || recipe_is_true(reading, "model.quantize_base");
  guint64 ranks = 8;
  g_autoptr(GString) targets = g_string_new(NULL);
  if (node == NULL)
    return strstr(component, "lora_") == NULL ||
           conf_tree_fail(reading->tree, conf_tree_given(reading->tree, "model._component_"), error,
                          "has adapters, and lora_attn_modules does not say where");
  if (rank != NULL && !conf_tree_count(reading->tree, rank, &ranks, error))
    return FALSE;
  add_attention(reading, targets);
  if (recipe_is_true(reading, "model.apply_lora_to_mlp"))
    g_string_append_printf(targets, "%sgate_proj+up_proj+down_proj", targets->len > 0 ? "+" : "");
  g_autofree char *value = g_strdup_printf("lora:%" G_GUINT64_FORMAT ":%s", ranks, targets->str);
  return recipe_give(reading, node, "training.trainable", value, "adapters", error) &&
         recipe_give_lora_dropout(reading, "model.lora_dropout", NULL, error) &&
         (!packed || recipe_give(reading, node, "training.base_weights", "nf4-double", "torchao's NF4", error));
}

static gboolean finish(RecipeReading *reading, GError **error) {
  if (conf_tree_given(reading->tree, "optimizer") == NULL) {
    base_error_set_at(error, &(BasePlace){.file = conf_tree_file(reading->tree)},
                      "is a file of torchtune without an optimizer: it trains nothing");
    return FALSE;
  }
  return give_adapters(reading, error) &&
         recipe_give(reading, NULL, "parallel.framework", "fsdp2", "fully_shard around each layer", error) &&
         recipe_give(reading, NULL, "parallel.zero_stage", "3", "fully_shard", error) &&
         recipe_give(reading, NULL, "fsdp.wrap", "block", "each layer", error) &&
         recipe_give(reading, NULL, "training.repeat_kv", "without-context",
                     "keys and values are expanded to every head", error) &&
         recipe_give(reading, NULL, "training.optimizer_style", "foreach", "torch's default", error);
}

static const char *const marks[] = {"model._component_", "tokenizer._component_", NULL};
const RecipeTable recipe_torchtune = {
    .tool = "torchtune", .marks = marks, .rows = {rows, G_N_ELEMENTS(rows)}, .finish = finish};
