/* SPDX-License-Identifier: MIT */
/* YAML of llm-foundry (Composer, FSDP1). Words in ${…} name other keys of the file.
 *
 * Source: scripts/train/yamls of llm-foundry, composer/trainer/mosaic_fsdp*.py. device_train_microbatch_size is the
 * sequences of one pass; the steps between follow from global_train_batch_size. A model of its own kind, mpt, is GPT
 * with learned positions, GELU and one matrix for embedding and head. */
#include <string.h>

#include "recipe-fsdp.h"
#include "recipe-rows.h"

#define FSDP "fsdp_config."
#define MPT  "model."

#define REDUCED "DEFAULT, of which today's Composer makes a reduction in fp32; older ones differ"

/* PURE reduces in the parameters' dtype; FULL leaves all dtypes to the model, which is fp32, and Composer's precision
 * to autocast (get_mixed_precision). */
static gboolean take_mixed_precision(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                     GError **error) {
  g_autofree char *mode = node->text != NULL ? g_ascii_strdown(node->text, -1) : g_strdup("");
  g_autofree char *precision = recipe_text(reading, "precision");
  if (strcmp(mode, "full") == 0)
    return recipe_give(reading, node, row->setting, "fp32", "FULL reduces in the parameters' fp32", error) &&
           recipe_give(reading, node, "fsdp.param_dtype", "fp32", "FULL: fp32 parameters under autocast", error);
  if (strcmp(mode, "default") == 0)
    return recipe_give(reading, node, row->setting, "fp32", REDUCED, error);
  if (strcmp(mode, "pure") != 0)
    return conf_tree_fail(reading->tree, node, error, "expected PURE, DEFAULT or FULL, found \"%s\"", mode);
  return recipe_give(reading, node, row->setting, strstr(precision, "fp16") != NULL ? "fp16" : "bf16",
                     "PURE reduces in the dtype of the parameters", error);
}

static gboolean take_kind(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  if (g_strcmp0(node->text, "mpt_causal_lm") == 0)
    return recipe_give(reading, node, row->setting, "gpt", "MPT", error);
  if (g_strcmp0(node->text, "hf_causal_lm") == 0) {
    recipe_leave(reading, node, "the model is the workload's [model]: name its config.json there");
    return TRUE;
  }
  return conf_tree_fail(reading->tree, node, error, "expected mpt_causal_lm or hf_causal_lm, found \"%s\"",
                        node->text != NULL ? node->text : "");
}

/* The MLP is expansion_ratio times as wide as the model. */
static gboolean take_expansion(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  const ConfTreeNode *width = conf_tree_given(reading->tree, MPT "d_model");
  guint64 ratio, hidden;
  if (width == NULL)
    return conf_tree_fail(reading->tree, node, error, "needs d_model beside it");
  if (!conf_tree_count(reading->tree, node, &ratio, error) || !conf_tree_count(reading->tree, width, &hidden, error))
    return FALSE;
  if (ratio > G_MAXUINT32 || hidden > G_MAXUINT32)
    return conf_tree_fail(reading->tree, node, error, "is out of range");
  g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, ratio * hidden);
  return recipe_give(reading, node, row->setting, text, "expansion_ratio × d_model", error);
}

static gboolean take_attention(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  g_autofree char *kind = node->text != NULL ? g_ascii_strdown(node->text, -1) : g_strdup("");
  if (strcmp(kind, "flash") == 0)
    return recipe_give(reading, node, row->setting, "flash", NULL, error);
  return strcmp(kind, "torch") == 0
             ? recipe_give(reading, node, row->setting, "eager", "torch", error)
             : conf_tree_fail(reading->tree, node, error, "\"%s\" is not modelled; flash and torch are", kind);
}

/* Of Hugging Face's models. */
static gboolean take_flash(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  return recipe_give_flag(reading, node, row->setting, "flash", "eager", NULL, error);
}

static gboolean take_implementation(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                    GError **error) {
  g_autofree char *kind = node->text != NULL ? g_ascii_strdown(node->text, -1) : g_strdup("");
  gboolean flash = strcmp(kind, "flash_attention_2") == 0 || strcmp(kind, "sdpa") == 0;
  return flash || strcmp(kind, "eager") == 0
             ? recipe_give(reading, node, row->setting, flash ? "flash" : "eager", NULL, error)
             : conf_tree_fail(reading->tree, node, error,
                              "\"%s\" is not modelled; flash_attention_2, sdpa and eager are", kind);
}

static gboolean take_metrics(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  return recipe_give_flag(reading, node, row->setting, "2", "0", "cross-entropies of all logits", error);
}

static gboolean take_loss(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  g_autofree char *kind = node->text != NULL ? g_ascii_strdown(node->text, -1) : g_strdup("");
  gboolean fused = strcmp(kind, "fused_crossentropy") == 0;
  return fused || strcmp(kind, "torch_crossentropy") == 0
             ? recipe_give(reading, node, row->setting, fused ? "fused" : "eager", kind, error)
             : conf_tree_fail(reading->tree, node, error,
                              "\"%s\" is not modelled; fused_crossentropy and torch_crossentropy are", kind);
}

#define START "of the start, before the first step"

/* A block, even an empty one, has Composer compile the model; its options are torch.compile's. */
static gboolean take_compile(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  g_autofree char *mode = recipe_text(reading, "compile_config.mode");
  if (*mode != '\0' && strcmp(mode, "default") != 0)
    return conf_tree_fail(reading->tree, node, error, "mode \"%s\" is not modelled; default is", mode);
  return recipe_give(reading, node, row->setting, "yes", "torch.compile", error);
}

static const RecipeRow rows[] = {
    TAKE("max_seq_len", "training.sequence_length", recipe_take_count, "tokens"),
    TAKE("global_train_batch_size", "training.global_batch", recipe_take_count, "sequences per step over all GPUs"),
    TAKE("device_train_microbatch_size", "training.micro_batch", recipe_take_batch, "sequences per GPU"),
    TAKE("precision", "training.precision", recipe_take_precision, NULL),
    TAKE("optimizer.name", "training.optimizer", recipe_take_optimizer, NULL),
    SAFE("optimizer.*", LEARNING),
    TAKE(FSDP "sharding_strategy", NULL, recipe_take_sharding, NULL),
    TAKE(FSDP "mixed_precision", "training.gradient_communication_dtype", take_mixed_precision, NULL),
    TAKE(FSDP "activation_checkpointing", "training.activation_checkpointing", recipe_take_checkpointing, NULL),
    SAFE(FSDP "activation_checkpointing_reentrant", "llm-foundry's train makes checkpoints that are not reentrant "
                                                    "since July 2024, whatever is said here (from July "
                                                    "2023 on: reentrant ones, training.checkpoint_early_stop = no)"),
    REFUSE(FSDP "activation_checkpointing_target", NULL, "a part of each layer that is recomputed"),
    REFUSE(FSDP "activation_cpu_offload", "false", "activations in host memory; set it to false"),
    TAKE(FSDP "limit_all_gathers", "fsdp.limit_all_gathers", recipe_take_flag, NULL),
    TAKE(FSDP "backward_prefetch", "fsdp.backward_prefetch", recipe_take_backward_prefetch, NULL),
    TAKE(FSDP "forward_prefetch", "fsdp.forward_prefetch", recipe_take_forward_prefetch, NULL),
    TAKE(FSDP "use_orig_params", "fsdp.use_orig_params", recipe_take_flag, NULL),
    TAKE(FSDP "cpu_offload", NULL, recipe_take_fsdp_offload, NULL),
    SAFE(FSDP "state_dict_type", LOADING),
    SAFE(FSDP "load_monolith_rank0_only", LOADING),
    SAFE(FSDP "sharded_ckpt_prefix_dir", LOADING),
    SAFE(FSDP "sync_module_states", START),
    SAFE(FSDP "verbose", LOGGING),
    TAKE(MPT "name", "model.family", take_kind, NULL),
    TAKE(MPT "d_model", "model.hidden_size", recipe_take_count, NULL),
    TAKE(MPT "n_heads", "model.heads", recipe_take_count, NULL),
    TAKE(MPT "n_layers", "model.layers", recipe_take_count, NULL),
    TAKE(MPT "expansion_ratio", "model.intermediate_size", take_expansion, NULL),
    TAKE(MPT "vocab_size", "model.vocab_size", recipe_take_count, NULL),
    TAKE(MPT "max_seq_len", "model.max_positions", recipe_take_count, NULL),
    TAKE(MPT "attn_config.attn_impl", "training.attention", take_attention, NULL),
    REFUSE(MPT "attn_config.*", NULL, "this variant of attention"),
    REFUSE(MPT "ffn_config.*", NULL, "this variant of the MLP"),
    REFUSE(MPT "no_bias", "false", "linear layers without biases; write the model into the workload's [model]"),
    REFUSE(MPT "peft_config.*", NULL,
           "adapters by these keys; leave the block out, and for LoRA write training.trainable = lora:R into the "
           "workload"),
    REFUSE(MPT "learned_pos_emb", "true", "positions without a table; write the model into the workload's [model]"),
    TAKE(MPT "use_flash_attention_2", "training.attention", take_flash, NULL),
    TAKE(MPT "attn_implementation", "training.attention", take_implementation, NULL),
    TAKE(MPT "use_train_metrics", "training.loss_metrics", take_metrics, NULL),
    REFUSE(MPT "additional_train_metrics.*", NULL, "metrics of training beside the two"),
    SAFE(MPT "config_overrides.*", "the model is the workload's [model]: name its config.json there"),
    SAFE(MPT "pretrained_model_name_or_path", "the model is the workload's [model]: name its config.json there"),
    SAFE(MPT "pretrained", START),
    SAFE(MPT "init_device", START),
    SAFE(MPT "init_config.*", START),
    SAFE(MPT "use_auth_token", START),
    TAKE(MPT "loss_fn", "training.loss", take_loss, NULL),
    SAFE("variables.*", "taken where ${…} names them"),
    SAFE("run_name", LOGGING),
    SAFE("save_folder", LOADING),
    SAFE("save_interval", LOADING),
    SAFE("save_num_checkpoints_to_keep", LOADING),
    SAFE("save_overwrite", LOADING),
    SAFE("load_path", LOADING),
    SAFE("autoresume", LOADING),
    SAFE("tokenizer.*", DATA),
    SAFE("train_loader.*", DATA),
    SAFE("eval_loader.*", EVAL),
    SAFE("scheduler.*", LEARNING),
    TAKE("algorithms.gradient_clipping.clipping_threshold", "training.gradient_clipping", recipe_take_clipping, NULL),
    REFUSE("algorithms.gradient_clipping.clipping_type", "norm", "clipping by value; norm is"),
    SAFE("max_duration", LEARNING),
    SAFE("eval_interval", EVAL),
    SAFE("eval_first", EVAL),
    SAFE("eval_subset_num_batches", EVAL),
    SAFE("device_eval_batch_size", EVAL),
    SAFE("seed", LEARNING),
    SAFE("dist_timeout", "a limit of waiting"),
    TAKE("expandable_segments", "memory.expandable_segments", recipe_take_flag, NULL),
    SAFE("global_seed", LEARNING),
    SAFE("data_local", DATA),
    SAFE("data_remote", DATA),
    SAFE("tokenizer_name", DATA),
    SAFE("max_train_samples", DATA),
    SAFE("train_subset_num_batches", DATA),
    SAFE("spin_dataloaders", DATA),
    SAFE("load_weights_only", LOADING),
    SAFE("load_strict_model_weights", LOADING),
    SAFE("load_ignore_keys.*", LOADING),
    SAFE("save_ignore_keys.*", LOADING),
    SAFE("save_weights_only", LOADING),
    SAFE("save_filename", LOADING),
    SAFE("save_latest_filename", LOADING),
    SAFE("only_hf_checkpoint", LOADING),
    SAFE("only_composer_checkpoint", LOADING),
    SAFE("icl_tasks", EVAL),
    SAFE("icl_tasks.*", EVAL),
    SAFE("icl_tasks_str", EVAL),
    SAFE("icl_seq_len", EVAL),
    SAFE("icl_max_seq_len", EVAL),
    SAFE("icl_subset_num_batches", EVAL),
    SAFE("eval_gauntlet", EVAL),
    SAFE("eval_gauntlet.*", EVAL),
    SAFE("eval_gauntlet_str", EVAL),
    SAFE("eval_loaders.*", EVAL),
    SAFE("eval_metric", EVAL),
    SAFE("eval_before_training", EVAL),
    SAFE("metadata.*", LOGGING),
    SAFE("flatten_metadata", LOGGING),
    SAFE("run_name_suffix", LOGGING),
    SAFE("n_gpus", LOGGING),
    SAFE("model_name", "taken where ${…} names it"),
    SAFE("model_name_or_path", "taken where ${…} names it"),
    SAFE("cuda_load_lazy", START),
    SAFE("accumulate_train_batch_on_tokens", LEARNING),
    SAFE("progress_bar", LOGGING),
    SAFE("log_to_console", LOGGING),
    SAFE("console_log_interval", LOGGING),
    SAFE("python_log_level", LOGGING),
    SAFE("log_config", LOGGING),
    SAFE("loggers.*", LOGGING),
    SAFE("callbacks.*", LOGGING),
    TAKE("compile_config", "training.compile", take_compile, NULL),
    REFUSE("max_split_size_mb", "none",
           "a limit of the allocator by this name; say memory.max_split_size in the workload"),
    REFUSE("profiler.*", NULL, "Composer's profiler; leave the block out"),
    REFUSE("device_train_grad_accum", "none", "accumulation by its old name; say device_train_microbatch_size"),
    REFUSE("device_train_batch_size", "none", "the batch of one GPU; say global_train_batch_size"),
    REFUSE("code_paths.*", NULL, "code of your own"),
    REFUSE("tp_config.*", NULL, "tensor parallelism; leave the block out"),
};

/* Source: ComposerMPTCausalLM and ComposerHFCausalLM of llm-foundry: two metrics of training, each from a cross-entropy
 * of its own; MPT's loss is flash-attn's kernel, Hugging Face's models have PyTorch's, and eager attention. */
static gboolean give_model(RecipeReading *reading, GError **error) {
  g_autofree char *kind = recipe_text(reading, MPT "name");
  g_autofree char *metrics = recipe_text(reading, MPT "use_train_metrics");
  if (*kind == '\0')
    return TRUE;
  gboolean plain = strcmp(kind, "mpt_causal_lm") != 0;
  return (strcmp(metrics, "false") == 0 ||
          recipe_give(reading, NULL, "training.loss_metrics", "2", "cross-entropy and perplexity", error)) &&
         (plain || recipe_give(reading, NULL, "training.loss", "fused", "MPT's default, fused_crossentropy", error)) &&
         (!plain || recipe_give(reading, NULL, "training.attention", "eager", "without use_flash_attention_2", error));
}

static gboolean finish(RecipeReading *reading, GError **error) {
  if (conf_tree_given(reading->tree, "fsdp_config") != NULL &&
      !recipe_give(reading, NULL, "training.gradient_communication_dtype", "fp32", REDUCED, error))
    return FALSE;
  if (!give_model(reading, error))
    return FALSE;
  return conf_tree_given(reading->tree, "fsdp_config") != NULL
             ? recipe_fsdp_finish(reading, "block", "post", error)
             : recipe_give(reading, NULL, "parallel.framework", "ddp", "no fsdp_config", error);
}

static const char *const marks[] = {"device_train_microbatch_size", "global_train_batch_size", NULL};
const RecipeTable recipe_llm_foundry = {
    .tool = "llm-foundry", .marks = marks, .rows = {rows, G_N_ELEMENTS(rows)}, .finish = finish};
