/* SPDX-License-Identifier: MIT */
/* Arguments of Hugging Face's Trainer in a JSON or YAML file, with its FSDP settings.
 *
 * Source: transformers/training_args.py: `fsdp` is a list of words, also in one string, and fsdp_config has the
 * rest. */
#include <string.h>

#include "recipe-fsdp.h"
#include "recipe-rows.h"
#include "recipe-trainer.h"

/* "full_shard auto_wrap offload", or a list of them. */
static gboolean take_word(RecipeReading *reading, const ConfTreeNode *node, const char *word, GError **error) {
  static const struct {
    const char *word, *stage, *group;
  } strategies[] = {{"full_shard", "3", "all"},
                    {"shard_grad_op", "2", "all"},
                    {"no_shard", "0", "all"},
                    {"hybrid_shard", "3", "node"},
                    {"hybrid_shard_zero2", "2", "node"}};
  for (gsize i = 0; i < G_N_ELEMENTS(strategies); i++)
    if (strcmp(strategies[i].word, word) == 0)
      return recipe_give(reading, node, "parallel.zero_stage", strategies[i].stage, word, error) &&
             recipe_give(reading, node, "parallel.shard_group", strategies[i].group, word, error);
  if (strcmp(word, "auto_wrap") == 0)
    return recipe_give(reading, node, "fsdp.wrap", "block", word, error);
  if (strcmp(word, "offload") == 0)
    return recipe_give(reading, node, "fsdp.cpu_offload", "yes", word, error);
  return conf_tree_fail(reading->tree, node, error,
                        "\"%s\" is none of full_shard, shard_grad_op, no_shard, hybrid_shard, hybrid_shard_zero2, "
                        "auto_wrap, offload",
                        word);
}

gboolean recipe_take_fsdp_words(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                GError **error) {
  (void)row;
  g_autoptr(GString) text = g_string_new(node->text);
  for (guint i = 0; node->kind == CONF_TREE_LIST; i++) {
    g_autofree char *path = g_strdup_printf("%s.%u", node->path, i);
    const ConfTreeNode *element = conf_tree_find(reading->tree, path);
    if (element == NULL)
      break;
    g_string_append_printf(text, " %s", element->text != NULL ? element->text : "");
  }
  if (node->kind == CONF_TREE_FLAG)
    return TRUE; /* newer versions: fsdp_config speaks */
  g_auto(GStrv) words = g_strsplit_set(text->str, " ,", -1);
  for (char **word = words; *word != NULL; word++)
    if (**word != '\0' && !take_word(reading, node, *word, error))
      return FALSE;
  return TRUE;
}

static gboolean take_precision(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  return recipe_give_flag(reading, node, "training.precision", row->setting, NULL, NULL, error);
}

static gboolean is_off(const RecipeReading *reading, const char *kernel) {
  g_autofree char *path = g_strconcat("liger_kernel_config.", kernel, NULL);
  return conf_tree_given(reading->tree, path) != NULL && !recipe_is_true(reading, path);
}

/* All of Liger's kernels with the fused linear loss, but those that liger_kernel_config switches off. Source:
 * liger_kernel/transformers/monkey_patch.py. */
gboolean recipe_take_liger(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  gboolean on, norms = !is_off(reading, "rope") && !is_off(reading, "rms_norm"), glu = !is_off(reading, "swiglu");
  (void)row;
  if (!conf_tree_flag(reading->tree, node, &on, error) || !on)
    return on || (error == NULL || *error == NULL);
  const char *loss = !is_off(reading, "fused_linear_cross_entropy")                 ? "fused-linear"
                     : recipe_is_true(reading, "liger_kernel_config.cross_entropy") ? "fused"
                                                                                    : "eager";
  if (!norms)
    return conf_tree_fail(reading->tree, node, error,
                          "without its norms or its rotary embedding is not modelled; leave liger_kernel_config out");
  return recipe_give(reading, node, "training.loss", loss, "Liger's", error) &&
         recipe_give(reading, node, "training.fused_kernels", glu ? "liger" : "norms", "Liger's", error);
}

static const RecipeRow rows[] = {
    TAKE("per_device_train_batch_size", "training.micro_batch", recipe_take_batch, "sequences per GPU"),
    TAKE("gradient_accumulation_steps", "training.gradient_accumulation", recipe_take_batch, "micro-batches per step"),
    TAKE("gradient_checkpointing", "training.activation_checkpointing", recipe_take_checkpointing, NULL),
    TAKE("gradient_checkpointing_kwargs.use_reentrant", "training.checkpoint_early_stop", recipe_take_reentrant, NULL),
    SAFE("gradient_checkpointing_kwargs.*", "checks, and random numbers that are kept"),
    TAKE("bf16", "bf16", take_precision, NULL),
    TAKE("fp16", "fp16", take_precision, NULL),
    TAKE("optim", "training.optimizer", recipe_take_optimizer, NULL),
    TAKE("torch_compile", "training.compile", recipe_take_flag, NULL),
    TAKE("deepspeed", NULL, recipe_take_deepspeed, NULL),
    TAKE("fsdp", NULL, recipe_take_fsdp_words, NULL),
    TAKE("use_liger_kernel", NULL, recipe_take_liger, NULL),
    TAKE("liger_kernel_config.rope", NULL, recipe_take_later, NULL),
    TAKE("liger_kernel_config.rms_norm", NULL, recipe_take_later, NULL),
    TAKE("liger_kernel_config.swiglu", NULL, recipe_take_later, NULL),
    TAKE("liger_kernel_config.cross_entropy", NULL, recipe_take_later, NULL),
    TAKE("liger_kernel_config.fused_linear_cross_entropy", NULL, recipe_take_later, NULL),
    SAFE("tf32", "of the few fp32 matmuls beside 16-bit training"),
    REFUSE("per_gpu_train_batch_size", "none", "the batch by its old name; say per_device_train_batch_size"),
    REFUSE("split_batches", "false", "a batch that is split over the ranks; set it to false and say what one GPU gets"),
    REFUSE("accelerator_config.split_batches", "false",
           "a batch that is split over the ranks; set it to false and say what one GPU gets"),
    REFUSE("accelerator_config.gradient_accumulation_kwargs.*", NULL, "accumulation by other rules"),
    REFUSE("accelerator_config", "none", "the file that it names; write its keys here"),
    REFUSE("parallelism_config.*", NULL, "parallelism beyond data parallel; leave the block out"),
    REFUSE("torch_empty_cache_steps", "none", "a cache that is emptied every so many steps; leave it out"),
    REFUSE("half_precision_backend", "auto|cuda_amp|amp|none", "Apex's mixed precision; auto is"),
    REFUSE("fp16_backend", "auto|cuda_amp|amp|none", "Apex's mixed precision; auto is"),
    REFUSE("ddp_backend", "nccl|none", "another library of collectives than NCCL"),
    TAKE("ddp_bucket_cap_mb", NULL, recipe_take_later, NULL),
    REFUSE("no_cuda", "false", "training without a GPU"),
    REFUSE("use_cpu", "false", "training without a GPU"),
    REFUSE("use_mps_device", "false", "training without a GPU of NVIDIA"),
    REFUSE("use_ipex", "false", "training without a GPU of NVIDIA"),
    REFUSE("tpu_num_cores", "none", "training without a GPU of NVIDIA"),
    REFUSE("debug", "|none", "hooks on every layer; leave it out"),
    REFUSE("past_index", "-1", "states that pass from step to step"),
    REFUSE("adafactor", "false", "Adafactor"),
    REFUSE("mp_parameters", "|none", "SageMaker's model parallelism"),
    REFUSE("full_determinism", "false", "deterministic kernels"),
    REFUSE("torchdynamo", "none", "a compiler by its old name; say torch_compile"),
    REFUSE("optim_target_modules.*", NULL, "an optimizer for a part of the layers"),
    REFUSE("fsdp_min_num_params", "0|none", "wrapping by size under its old name; write fsdp_config.min_num_params"),
    REFUSE("neftune_noise_alpha", "none", "noise on embeddings"),
    REFUSE("gradient_accumulation_kwargs.*", NULL, "accumulation by other rules"),
    REFUSE("torch_compile_mode", "default", "CUDA graphs and tuned matmuls; say default"),
    REFUSE("torch_compile_backend", "inductor", "another compiler than inductor"),
    REFUSE("optim_args", "none", "arguments of the optimizer"),
    REFUSE("auto_find_batch_size", "false", "a batch that is searched for; write per_device_train_batch_size"),
    SAFE("fsdp_transformer_layer_cls_to_wrap", "names the model's own layer class"),
    SAFE("per_device_eval_batch_size", "of evaluation, between steps"),
    SAFE("learning_rate", LEARNING),
    SAFE("weight_decay", LEARNING),
    SAFE("adam_beta1", LEARNING),
    SAFE("adam_beta2", LEARNING),
    SAFE("adam_epsilon", LEARNING),
    TAKE("max_grad_norm", "training.gradient_clipping", recipe_take_clipping, NULL),
    SAFE("lr_scheduler_type", LEARNING),
    SAFE("warmup_ratio", LEARNING),
    SAFE("warmup_steps", LEARNING),
    SAFE("num_train_epochs", LEARNING),
    SAFE("max_steps", LEARNING),
    SAFE("seed", LEARNING),
    SAFE("output_dir", LOGGING),
    SAFE("logging_steps", LOGGING),
    SAFE("logging_dir", LOGGING),
    SAFE("report_to", LOGGING),
    SAFE("save_steps", "saving, between steps"),
    SAFE("save_strategy", "saving, between steps"),
    SAFE("eval_strategy", "of evaluation, between steps"),
    SAFE("dataloader_num_workers", DATA),
    SAFE("train_batch_size", "the tool's own sum"),
    SAFE("do_train", LOADING),
    SAFE("do_eval", EVAL),
    SAFE("evaluation_strategy", EVAL),
    SAFE("eval_steps", EVAL),
    SAFE("eval_on_start", EVAL),
    SAFE("metric_for_best_model", EVAL),
    SAFE("load_best_model_at_end", LOADING),
    SAFE("save_total_limit", LOADING),
    SAFE("save_only_model", LOADING),
    SAFE("save_safetensors", LOADING),
    SAFE("overwrite_output_dir", LOADING),
    SAFE("resume_from_checkpoint", LOADING),
    SAFE("push_to_hub", LOADING),
    SAFE("hub_model_id", LOADING),
    SAFE("hub_strategy", LOADING),
    SAFE("hub_private_repo", LOADING),
    SAFE("run_name", LOGGING),
    SAFE("log_level", LOGGING),
    SAFE("logging_strategy", LOGGING),
    SAFE("logging_first_step", LOGGING),
    SAFE("disable_tqdm", LOGGING),
    SAFE("include_num_input_tokens_seen", LOGGING),
    SAFE("include_tokens_per_second", LOGGING),
    SAFE("ddp_timeout", "a limit of waiting"),
    SAFE("ddp_find_unused_parameters", "DDP's walk over the graph, some microseconds"),
    SAFE("data_seed", DATA),
    SAFE("dataloader_pin_memory", DATA),
    SAFE("dataloader_drop_last", DATA),
    SAFE("dataloader_prefetch_factor", DATA),
    SAFE("dataloader_persistent_workers", DATA),
    SAFE("group_by_length", DATA),
    SAFE("remove_unused_columns", DATA),
    SAFE("do_predict", EVAL),
    SAFE("prediction_loss_only", EVAL),
    SAFE("bf16_full_eval", EVAL),
    SAFE("fp16_full_eval", EVAL),
    SAFE("eval_delay", EVAL),
    SAFE("eval_accumulation_steps", EVAL),
    SAFE("per_gpu_eval_batch_size", EVAL),
    SAFE("greater_is_better", EVAL),
    SAFE("include_inputs_for_metrics", EVAL),
    SAFE("include_for_metrics.*", EVAL),
    SAFE("eval_do_concat_batches", EVAL),
    SAFE("batch_eval_metrics", EVAL),
    SAFE("eval_use_gather_object", EVAL),
    SAFE("use_legacy_prediction_loop", EVAL),
    SAFE("jit_mode_eval", EVAL),
    SAFE("log_level_replica", LOGGING),
    SAFE("log_on_each_node", LOGGING),
    SAFE("logging_nan_inf_filter", LOGGING),
    SAFE("skip_memory_metrics", LOGGING),
    SAFE("project", LOGGING),
    SAFE("trackio_space_id", LOGGING),
    SAFE("tpu_metrics_debug", LOGGING),
    SAFE("save_on_each_node", LOADING),
    SAFE("restore_callback_states_from_checkpoint", LOADING),
    SAFE("hub_always_push", LOADING),
    SAFE("hub_revision", LOADING),
    SAFE("hub_token", LOADING),
    SAFE("push_to_hub_model_id", LOADING),
    SAFE("push_to_hub_organization", LOADING),
    SAFE("push_to_hub_token", LOADING),
    SAFE("ignore_data_skip", DATA),
    SAFE("length_column_name", DATA),
    SAFE("label_names.*", DATA),
    SAFE("dispatch_batches", DATA),
    SAFE("accelerator_config.even_batches", DATA),
    SAFE("accelerator_config.dispatch_batches", DATA),
    SAFE("accelerator_config.use_seedable_sampler", DATA),
    SAFE("accelerator_config.non_blocking", DATA),
    SAFE("accelerator_config.use_configured_state", DATA),
    SAFE("local_rank", "of the launcher"),
    SAFE("ray_scope", "of the launcher"),
    SAFE("fp16_opt_level", "of Apex's mixed precision, which half_precision_backend names"),
    SAFE("average_tokens_across_devices", "one number over all ranks"),
    SAFE("ddp_broadcast_buffers", "buffers of a model, some kilobytes"),
    SAFE("lr_scheduler_kwargs.*", LEARNING),
    SAFE("label_smoothing_factor", LEARNING),
};
const RecipeRows recipe_trainer_rows = {rows, G_N_ELEMENTS(rows), &recipe_fsdp_rows};

/* Keys that begin with "_" are comments in files whose format has none. */
static const char *unknown(const char *path) {
  return *path == '_' ? "a remark" : NULL;
}

/* The model is trained in fp32 where neither bf16 nor fp16 is on; a fragment of arguments says nothing of it. */
static gboolean give_precision(RecipeReading *reading, GError **error) {
  gboolean whole = conf_tree_given(reading->tree, "per_device_train_batch_size") != NULL;
  return !whole || recipe_give(reading, NULL, "training.precision", "fp32", "neither bf16 nor fp16 is on", error);
}

/* Source: accelerate/accelerator.py (prepare_model) and utils/fsdp_utils.py (fsdp2_prepare_model). */
gboolean recipe_give_half(RecipeReading *reading, const ConfTreeNode *node, const char *remark, GError **error) {
  if (recipe_gives(reading, "training.precision", "fp32"))
    return TRUE;
  if (recipe_gives(reading, "parallel.framework", "ddp"))
    return recipe_give(reading, node, "ddp.autocast", "no", remark, error);
  if (node != NULL)
    recipe_leave(reading, node,
                 "parameters that are trained are fp32 beside it: accelerate's FSDP and DeepSpeed say so");
  return TRUE;
}

/* Without FSDP or DeepSpeed the Trainer wraps the model in DDP. Its buckets are in MiB. */
static gboolean give_ddp(RecipeReading *reading, GError **error) {
  const ConfTreeNode *node = conf_tree_given(reading->tree, "ddp_bucket_cap_mb");
  guint64 size;
  if (node != NULL) {
    if (!conf_tree_count(reading->tree, node, &size, error))
      return FALSE;
    g_autofree char *cap = g_strdup_printf("%" G_GUINT64_FORMAT " MiB", size);
    if (!recipe_give(reading, node, "ddp.bucket_cap", cap, NULL, error))
      return FALSE;
  }
  return recipe_give(reading, NULL, "parallel.framework", "ddp", "no fsdp, no deepspeed", error);
}

/* The Trainer takes peft's policy for adapters, which makes units of them too. Source: transformers/trainer.py,
 * _fsdp_qlora_plugin_updates; peft/utils/other.py, fsdp_auto_wrap_policy. */
static gboolean give_adapters(RecipeReading *reading, GError **error) {
  gboolean wraps = recipe_gives(reading, "training.trainable", NULL) && recipe_gives(reading, "fsdp.wrap", "block") &&
                   recipe_gives(reading, "parallel.framework", "fsdp1");
  return !wraps ||
         recipe_give(reading, NULL, "fsdp.wrap_adapters", "yes", "peft's policy, which the Trainer takes", error);
}

gboolean recipe_trainer_finish(RecipeReading *reading, GError **error) {
  if (!recipe_give_reentrant(reading, TRUE, "checkpoints are reentrant by Transformers' default", error) ||
      !recipe_give(reading, NULL, "training.gradient_clipping", "1", "the Trainer's default", error) ||
      !give_precision(reading, error))
    return FALSE;
  if (recipe_gives(reading, "parallel.framework", "deepspeed")) {
    if (recipe_gives(reading, "training.optimizer", NULL) && !recipe_gives(reading, "training.optimizer", "adamw") &&
        !recipe_gives(reading, "training.optimizer", "adam"))
      recipe_withdraw(reading, "training.optimizer_style"); /* it spoke of torch's Adam */
    return TRUE;
  }
  if (conf_tree_given(reading->tree, "fsdp") == NULL && conf_tree_given(reading->tree, "fsdp_config") == NULL)
    return give_ddp(reading, error);
  return recipe_fsdp_finish(reading, "none", "none", error) && give_adapters(reading, error);
}

static const char *const marks[] = {"fsdp", "fsdp_config", "per_device_train_batch_size", NULL};
const RecipeTable recipe_trainer = {.tool = "Hugging Face's Trainer",
                                    .marks = marks,
                                    .rows = {rows, G_N_ELEMENTS(rows)},
                                    .shared = &recipe_fsdp_rows,
                                    .normal = recipe_fsdp_normal,
                                    .unknown = unknown,
                                    .finish = recipe_trainer_finish};
