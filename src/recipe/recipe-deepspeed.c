/* SPDX-License-Identifier: MIT */
/* ds_config.json of DeepSpeed (0.19), older spellings included.
 *
 * Source of names, defaults and of what is dead: deepspeed/runtime/config.py, precision_config.py, zero/config.py and
 * zero/offload_config.py; of "auto": transformers/integrations/deepspeed.py. Sizes of zero_optimization are
 * elements. */
#include <string.h>

#include "conf-path.h"
#include "recipe-rows.h"

#define FOLDERS_UP 4 /* from the recipe's on, in which a file that it names is looked for */

#define ZERO "zero_optimization."

/* true is how 2020's files said stage 1; a list is the autotuner's. */
static gboolean take_stage(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  if (node->kind == CONF_TREE_LIST)
    return conf_tree_fail(reading->tree, node, error,
                          "is a list for DeepSpeed's autotuner; write the one stage to predict");
  return recipe_take_count(reading, row, node, error);
}

static gboolean take_zero(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  return recipe_give_flag(reading, node, row->setting, "1", "0", "true meant stage 1", error);
}

/* Sizes; "auto" is what Hugging Face makes of the model, where it fills that key, else DeepSpeed's default. */
static gboolean take_size(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  static const struct {
    const char *setting;
    RecipeRule rule;
    gboolean third; /* filled at stage 3 only */
    const char *remark;
  } rules[] = {
      {"deepspeed.reduce_bucket_size", RECIPE_RULE_HIDDEN_SQUARED, FALSE, "auto: hidden_size², elements"},
      {"deepspeed.stage3_prefetch_bucket_size", RECIPE_RULE_PREFETCH, TRUE, "auto: 0.9 hidden_size², elements"},
      {"deepspeed.stage3_param_persistence_threshold", RECIPE_RULE_PERSISTENCE, TRUE, "auto: 10 hidden_size, elements"},
  };
  if (!recipe_is_auto(node))
    return recipe_take_count(reading, row, node, error);
  g_autofree char *stage = recipe_text(reading, ZERO "stage");
  for (gsize i = 0; i < G_N_ELEMENTS(rules); i++)
    if (strcmp(rules[i].setting, row->setting) == 0 && (!rules[i].third || strcmp(stage, "3") == 0)) {
      recipe_give_rule(reading, node, row->setting, &(RecipeWait){rules[i].rule}, rules[i].remark);
      return TRUE;
    }
  recipe_leave(reading, node, "auto, which is not filled in here: DeepSpeed's default holds");
  return TRUE;
}

static gboolean take_zero_flag(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  if (!recipe_is_auto(node))
    return recipe_take_flag(reading, row, node, error);
  recipe_leave(reading, node, "auto, which is not filled in here: DeepSpeed's default holds");
  return TRUE;
}

/* -1 and 0 stand for no MiCS. */
static gboolean take_mics(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  gboolean off = node->text != NULL && (strcmp(node->text, "-1") == 0 || strcmp(node->text, "0") == 0);
  return off || recipe_take_count(reading, row, node, error);
}

/* cpu_offload and cpu_offload_param: flags of 2020. */
static gboolean take_cpu_offload(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                 GError **error) {
  return recipe_give_flag(reading, node, row->setting, "cpu", "no", "the old name of offload_…", error);
}

static gboolean take_device(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  g_autofree char *device = node->text != NULL ? g_ascii_strdown(node->text, -1) : g_strdup("");
  g_autofree char *stage = recipe_text(reading, ZERO "stage");
  gboolean off = strcmp(device, "none") == 0;
  if (!off && strcmp(row->setting, "parallel.offload_parameters") == 0 && strcmp(stage, "3") != 0) {
    recipe_leave(reading, node, "DeepSpeed offloads parameters at stage 3 only");
    return TRUE;
  }
  return off ? recipe_give(reading, node, row->setting, "no", NULL, error)
             : recipe_take_text(reading, row, node, error);
}

static gboolean take_torch_adam(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                GError **error) {
  return recipe_give_flag(reading, node, row->setting, "foreach", NULL, row->remark, error);
}

/* The model dtypes that communication and accumulation may have. */
static gboolean take_dtype(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  if (!recipe_is_auto(node))
    return recipe_take_precision(reading, row, node, error);
  recipe_leave(reading, node, "auto: the model's dtype");
  return TRUE;
}

/* 0: off. */
static gboolean take_autotp(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  guint64 size;
  if (!conf_tree_count(reading->tree, node, &size, error))
    return FALSE;
  g_autofree char *text = g_strdup_printf("%" G_GUINT64_FORMAT, MAX(size, 1));
  return recipe_give(reading, node, row->setting, text, "AutoTP", error) &&
         (size <= 1 || recipe_give(reading, node, "deepspeed.tensor_parallel", "autotp", NULL, error));
}

static gboolean autotp_is_on(const RecipeReading *reading) {
  guint64 size = 0;
  const ConfTreeNode *node = conf_tree_given(reading->tree, "tensor_parallel.autotp_size");
  return node != NULL && conf_tree_count(reading->tree, node, &size, NULL) && size > 1;
}

static gboolean take_overlap(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  if (autotp_is_on(reading))
    return recipe_take_flag(reading, row, node, error);
  recipe_leave(reading, node, "of AutoTP, which is not on");
  return TRUE;
}

/* "auto": what the script builds its PipelineModule with. */
static gboolean take_stages(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  if (!recipe_is_auto(node))
    return recipe_take_count(reading, row, node, error);
  recipe_leave(reading, node, "auto: the script's own, parallel.pipeline of the workload");
  return TRUE;
}

/* "best" is what nothing reads: the module's own method holds. */
static gboolean take_partition(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  if (g_strcmp0(node->text, "best") != 0)
    return recipe_take_text(reading, row, node, error);
  recipe_leave(reading, node, "best: the script's own, deepspeed.partition_method of the workload");
  return TRUE;
}

/* Layers that are checkpointed as one; 0: the module's own. */
static gboolean take_interval(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  guint64 layers;
  if (!conf_tree_count(reading->tree, node, &layers, error))
    return FALSE;
  if (layers > 1)
    return conf_tree_fail(reading->tree, node, error,
                          "several layers that are checkpointed as one are not modelled; 1 checkpoints each");
  if (layers == 1)
    return recipe_give(reading, node, row->setting, "full", "each layer", error);
  recipe_leave(reading, node, "0: the script's own, training.activation_checkpointing of the workload");
  return TRUE;
}

#define SIZE(key)                                                                                                      \
  { ZERO key, RECIPE_TAKE, "deepspeed." key, take_size, NULL, "elements" }
#define FLAG(key)                                                                                                      \
  { ZERO key, RECIPE_TAKE, "deepspeed." key, take_zero_flag, NULL, NULL }

#define SCALING "loss scaling changes values, not their sizes"
#define NVME    "transfers to NVMe, which matter only with offload to it"

static const RecipeRow rows[] = {
    TAKE("train_batch_size", "training.global_batch", recipe_take_batch, "sequences per step over all GPUs"),
    TAKE("train_micro_batch_size_per_gpu", "training.micro_batch", recipe_take_batch, "sequences per GPU"),
    TAKE("gradient_accumulation_steps", "training.gradient_accumulation", recipe_take_batch, "micro-batches per step"),
    TAKE("optimizer.type", "training.optimizer", recipe_take_optimizer, NULL),
    TAKE("optimizer.params.torch_adam", "training.optimizer_style", take_torch_adam, "torch's Adam"),
    SAFE("optimizer.params.*", LEARNING),
    REFUSE("optimizer.legacy_fusion", "false", "the old fused optimizer of fp16 without ZeRO"),
    SAFE("scheduler.*", LEARNING),
    TAKE("communication_data_type", "training.gradient_communication_dtype", take_dtype, NULL),
    SAFE("seq_parallel_communication_data_type", "of sequence parallelism, which is not on"),
    TAKE("data_types.grad_accum_dtype", "training.gradient_accumulation_dtype", take_dtype, NULL),
    SAFE("prescale_gradients", "divides before the reduction or after it: the same bytes"),
    SAFE("gradient_predivide_factor", "divides before the reduction or after it: the same bytes"),
    REFUSE("sparse_gradients", "false", "sparse embedding gradients; set it to false"),
    TAKE("gradient_clipping", "training.gradient_clipping", recipe_take_clipping, NULL),
    TAKE("fp16.enabled", NULL, recipe_take_later, NULL),
    TAKE("bf16.enabled", NULL, recipe_take_later, NULL),
    TAKE("bfloat16.enabled", NULL, recipe_take_later, NULL),
    REFUSE("fp16.auto_cast", "false|auto", "casting of the inputs"),
    SAFE("fp16.loss_scale", SCALING),
    SAFE("fp16.initial_scale_power", SCALING),
    SAFE("fp16.loss_scale_window", SCALING),
    SAFE("fp16.hysteresis", SCALING),
    SAFE("fp16.consecutive_hysteresis", SCALING),
    SAFE("fp16.min_loss_scale", SCALING),
    REFUSE("fp16.fp16_master_weights_and_grads", "false", "master weights in fp16; set it to false"),
    TAKE("bf16.immediate_grad_update", "deepspeed.immediate_grad_update", recipe_take_flag, NULL),
    SAFE("bf16.check_grad_overflow", "the norm's pass finds overflows too"),
    REFUSE("bf16.bf16_master_weights_and_grads", "false", "master weights in bf16; set it to false"),
    REFUSE("bf16.bf16_optimizer_states", "false", "optimizer states in bf16; set it to false"),
    REFUSE("amp.*", "false", "NVIDIA Apex; use bf16 or fp16"),
    REFUSE("torch_autocast.*", "false", "torch.autocast inside DeepSpeed; use bf16 or fp16"),
    REFUSE("fp8.*", "false", "fp8 by Transformer Engine; leave the block out to predict the step without it"),

    TAKE("zero_optimization", "parallel.zero_stage", take_zero, NULL),
    TAKE(ZERO "stage", "parallel.zero_stage", take_stage, NULL),
    FLAG("contiguous_gradients"),
    FLAG("reduce_scatter"),
    SIZE("reduce_bucket_size"),
    FLAG("use_multi_rank_bucket_allreduce"),
    FLAG("allgather_partitions"),
    SIZE("allgather_bucket_size"),
    FLAG("overlap_comm"),
    SAFE(ZERO "load_from_fp32_weights", LOADING),
    SAFE(ZERO "elastic_checkpoint", LOADING),
    TAKE(ZERO "cpu_offload", "parallel.offload_optimizer", take_cpu_offload, NULL),
    TAKE(ZERO "cpu_offload_param", "parallel.offload_parameters", take_cpu_offload, NULL),
    SAFE(ZERO "cpu_offload_use_pin_memory", "DeepSpeed reads it no more"),
    TAKE(ZERO "offload_optimizer.device", "parallel.offload_optimizer", take_device, NULL),
    TAKE(ZERO "offload_param.device", "parallel.offload_parameters", take_device, NULL),
    REFUSE(ZERO "offload_optimizer.ratio", "1|1.0", "Twin-Flow, which keeps a part of the optimizer on the GPU"),
    REFUSE(ZERO "offload_optimizer.super_offload", "false", "SuperOffload; set it to false"),
    FLAG("offload_optimizer.pin_memory"),
    REFUSE(ZERO "offload_optimizer.cpuadam_cores_perc", "0.8|0.9", "another share of the cores for Adam"),
    REFUSE(ZERO "offload_optimizer.pipeline", "false", "offload to NVMe"),
    REFUSE(ZERO "offload_optimizer.pipeline_read", "false", "offload to NVMe"),
    REFUSE(ZERO "offload_optimizer.pipeline_write", "false", "offload to NVMe"),
    SAFE(ZERO "offload_optimizer.nvme_path", NVME),
    SAFE(ZERO "offload_optimizer.buffer_count", NVME),
    SAFE(ZERO "offload_optimizer.fast_init", "of the start, before the first step"),
    FLAG("offload_param.pin_memory"),
    SAFE(ZERO "offload_param.nvme_path", NVME),
    SAFE(ZERO "offload_param.buffer_count", NVME),
    SAFE(ZERO "offload_param.buffer_size", NVME),
    SAFE(ZERO "offload_param.max_in_cpu", NVME),
    REFUSE(ZERO "zenflow.*", NULL, "ZenFlow's split updates; leave the block out to predict the step without it"),
    SIZE("sub_group_size"),
    SIZE("stage3_prefetch_bucket_size"),
    SIZE("stage3_param_persistence_threshold"),
    SIZE("stage3_model_persistence_threshold"),
    SIZE("stage3_max_live_parameters"),
    SIZE("stage3_max_reuse_distance"),
    SAFE(ZERO "stage3_gather_16bit_weights_on_model_save", LOADING),
    SAFE(ZERO "stage3_gather_fp16_weights_on_model_save", LOADING),
    SIZE("stage3_module_granularity_threshold"),
    FLAG("stage3_use_all_reduce_for_fetch_params"),
    FLAG("stage3_allgather_sequential"),
    SAFE(ZERO "stage3_partition_stream_chunk_size", "of the start, before the first step"),
    SAFE(ZERO "ignore_unused_parameters", "a check of the model"),
    REFUSE(ZERO "legacy_stage1", "false", "DeepSpeed's first stage 1; set it to false"),
    FLAG("round_robin_gradients"),
    SIZE("zero_hpz_partition_size"),
    FLAG("zero_quantized_weights"),
    FLAG("zero_quantized_nontrainable_weights"),
    FLAG("zero_quantized_gradients"),
    REFUSE(ZERO "zeropp_loco_param.*", NULL, "LoCo's error feedback; leave it out"),
    TAKE(ZERO "mics_shard_size", "deepspeed.mics_shard_size", take_mics, "GPUs that share one copy"),
    FLAG("mics_hierarchical_params_gather"),
    REFUSE(ZERO "memory_efficient_linear", "true", "another linear layer; leave it out"),
    SAFE(ZERO "pipeline_loading_checkpoint", LOADING),
    SAFE(ZERO "override_module_apply", "of the start, before the first step"),
    SAFE(ZERO "log_trace_cache_warnings", LOGGING),
    SAFE(ZERO "enable_sanity_checks", "checks of DeepSpeed's own state"),
    SAFE(ZERO "save_muon_momentum_buffer_in_memory", "of Muon beside NVMe"),
    SAFE(ZERO "leaf_module.*", "names modules of mixtures of experts"),

    TAKE("activation_checkpointing.partition_activations", "deepspeed.partition_activations", recipe_take_flag,
         "over tensor ranks"),
    REFUSE("activation_checkpointing.cpu_checkpointing", "false", "checkpoints in host memory; set it to false"),
    SAFE("activation_checkpointing.*", "how DeepSpeed's own function stores checkpoints: whether layers are "
                                       "recomputed is training.activation_checkpointing of the workload"),
    REFUSE("sparse_attention.*", NULL, "sparse attention; leave the block out to predict the dense one"),
    TAKE("tensor_parallel.autotp_size", "parallel.tensor", take_autotp, NULL),
    TAKE("tensor_parallel.tp_overlap_comm", "deepspeed.tp_overlap_comm", take_overlap, NULL),
    SAFE("tensor_parallel.dtype", "the model's own holds"),
    SAFE("tensor_parallel.preset_model", "names the layers that are split, which are those of the model"),
    REFUSE("tensor_parallel.partition_config.*", NULL, "layers that are split by rules of one's own"),
    SAFE("tensor_parallel.keep_module_on_host", LOADING),
    REFUSE("tensor_parallel.replace_with_kernel_inject", "false", "kernels for inference"),
    REFUSE("tensor_parallel.kernel_inject", "false", "kernels for inference"),
    SAFE("tensor_parallel.tp.tp_grain_size", "DeepSpeed does not read it in training"),
    SAFE("tensor_parallel.tensor_parallel.tp_grain_size", "DeepSpeed does not read it in training"),
    TAKE("sequence_parallel_size", "parallel.context", recipe_take_count, "Ulysses"),
    TAKE("pipeline.stages", "parallel.pipeline", take_stages, NULL),
    TAKE("pipeline.partition", "deepspeed.partition_method", take_partition, NULL),
    TAKE("pipeline.partition_method", "deepspeed.partition_method", take_partition, NULL),
    SAFE("pipeline.seed_layers", "of the start, before the first step"),
    TAKE("pipeline.activation_checkpoint_interval", "training.activation_checkpointing", take_interval, NULL),
    SAFE("pipeline.use_reentrant", "which of torch's checkpoint functions recomputes"),
    TAKE("pipeline.pipe_partitioned", "deepspeed.pipe_partitioned", recipe_take_flag, NULL),
    TAKE("pipeline.grad_partitioned", "deepspeed.grad_partitioned", recipe_take_flag, NULL),
    REFUSE("compile.*", "false", "torch.compile and DeepCompile; leave the block out to predict the step without it"),
    REFUSE("hybrid_engine.*", "false", "the hybrid engine, which also generates text"),
    REFUSE("compression_training.*", "false", "compression of the model"),
    REFUSE("curriculum_learning.*", "false", "sequences that grow; leave the block out and say sequence_length"),
    REFUSE("data_efficiency.*", "false", "data that changes shape; leave the block out"),
    REFUSE("progressive_layer_drop.*", "false", "layers that are left out"),
    REFUSE("elasticity.*", "false", "a job that changes its size; leave the block out"),
    REFUSE("autotuning.*", "false", "DeepSpeed's search; set enabled to false and write the values to predict"),
    REFUSE("graph_harvesting", "false", "CUDA graphs; set it to false"),
    REFUSE("weight_quantization.*", "false", "quantized weights"),
    REFUSE("quantize_training.*", "false", "quantized weights"),
    REFUSE("eigenvalue.*", "false", "passes over the Hessian"),

    SAFE("zero_allow_untested_optimizer", "a check"),
    SAFE("zero_force_ds_cpu_optimizer", "a check"),
    SAFE("aio.*", NVME),
    SAFE("steps_per_print", LOGGING),
    SAFE("wall_clock_breakdown", "prints timings; a real step is a little slower where it is on"),
    SAFE("memory_breakdown", LOGGING),
    SAFE("dump_state", LOGGING),
    SAFE("flops_profiler.*", "profiles one step of all"),
    SAFE("tensorboard.*", LOGGING),
    SAFE("wandb.*", LOGGING),
    SAFE("csv_monitor.*", LOGGING),
    SAFE("comet.*", LOGGING),
    SAFE("monitor_config.*", LOGGING),
    SAFE("comms_logger.*", LOGGING),
    SAFE("timers.*", LOGGING),
    SAFE("checkpoint.*", LOADING),
    SAFE("nebula.*", LOADING),
    SAFE("load_universal_checkpoint", LOADING),
    SAFE("checkpoint_tag_validation", LOADING),
    SAFE("dataloader_drop_last", "of the data"),
    SAFE("disable_allgather", "unused: DeepSpeed reads it no more"),
};

/* Names without "stage3_", which DeepSpeed takes too. */
static char *normal(const char *path) {
  static const char *const shorts[] = {"prefetch_bucket_size",
                                       "param_persistence_threshold",
                                       "model_persistence_threshold",
                                       "max_live_parameters",
                                       "max_reuse_distance",
                                       "gather_16bit_weights_on_model_save",
                                       "module_granularity_threshold",
                                       "use_all_reduce_for_fetch_params",
                                       "allgather_sequential",
                                       "partition_stream_chunk_size",
                                       NULL};
  gboolean zero = g_str_has_prefix(path, ZERO);
  if (zero && g_strv_contains(shorts, path + strlen(ZERO)))
    return g_strconcat(ZERO "stage3_", path + strlen(ZERO), NULL);
  return g_strdup(path);
}

/* DeepSpeed checks the keys of zero_optimization and stops; of others it reads those that it knows. */
static const char *unknown(const char *path) {
  return g_str_has_prefix(path, ZERO) ? NULL : "DeepSpeed does not know it here and leaves it unread";
}

/* The switch that is on; else the workload's where one is "auto"; else fp32. */
static gboolean give_precision(RecipeReading *reading, GError **error) {
  static const struct {
    const char *path, *precision;
  } switches[] = {{"bf16.enabled", "bf16"}, {"bfloat16.enabled", "bf16"}, {"fp16.enabled", "fp16"}};
  const ConfTreeNode *automatic = NULL;
  gboolean given = FALSE;
  for (gsize i = 0; i < G_N_ELEMENTS(switches); i++) {
    const ConfTreeNode *node = conf_tree_given(reading->tree, switches[i].path);
    gboolean on = FALSE;
    if (node != NULL && recipe_is_auto(node)) {
      if (automatic != NULL)
        recipe_leave(reading, node, "auto: the workload's precision");
      automatic = automatic != NULL ? automatic : node;
      continue;
    }
    if (node != NULL && (!conf_tree_flag(reading->tree, node, &on, error) ||
                         (on && !recipe_give(reading, node, "training.precision", switches[i].precision, NULL, error))))
      return FALSE;
    given = given || on;
    if (node != NULL && !on)
      recipe_leave(reading, node, "is off");
  }
  gboolean half_alone = automatic != NULL && strcmp(automatic->path, "fp16.enabled") == 0;
  if (half_alone && !given && conf_tree_given(reading->tree, "bf16.enabled") == NULL) {
    recipe_give_auto(reading, automatic, "training.precision", "fp16", "auto, and no bf16 block to be on instead");
    return TRUE;
  }
  if (automatic != NULL && !given)
    recipe_give_rule(reading, automatic, "training.precision", &(RecipeWait){RECIPE_RULE_WORKLOAD},
                     "auto: the workload's");
  return automatic != NULL || given ||
         recipe_give(reading, NULL, "training.precision", "fp32", "neither bf16 nor fp16 is enabled", error);
}

/* deepspeed.initialize is then given the trainer's optimizer: torch's AdamW, whose default is foreach. For an optimizer
 * on the host accelerate takes DeepSpeed's own in its place. */
static gboolean give_client_optimizer(RecipeReading *reading, GError **error) {
  const ConfTreeNode *device = conf_tree_given(reading->tree, ZERO "offload_optimizer.device");
  const ConfTreeNode *old = conf_tree_given(reading->tree, ZERO "cpu_offload");
  gboolean offloads =
      (device != NULL && g_strcmp0(device->text, "none") != 0) || (old != NULL && g_strcmp0(old->text, "true") == 0);
  return offloads || conf_tree_given(reading->tree, "optimizer") != NULL ||
         recipe_give(reading, NULL, "training.optimizer_style", "foreach",
                     "no optimizer block: the trainer brings torch's AdamW", error);
}

static gboolean finish(RecipeReading *reading, GError **error) {
  return recipe_give(reading, NULL, "parallel.framework", "deepspeed", NULL, error) &&
         (conf_tree_given(reading->tree, "zero_optimization") != NULL ||
          recipe_give(reading, NULL, "parallel.zero_stage", "0", "DeepSpeed's default", error)) &&
         give_client_optimizer(reading, error) && give_precision(reading, error);
}

static const char *const marks[] = {"zero_optimization",
                                    "train_batch_size",
                                    "train_micro_batch_size_per_gpu",
                                    "gradient_accumulation_steps",
                                    "zero_allow_untested_optimizer",
                                    "fp16",
                                    "bf16",
                                    "optimizer",
                                    NULL};
const RecipeTable recipe_deepspeed = {.tool = "DeepSpeed",
                                      .marks = marks,
                                      .rows = {rows, G_N_ELEMENTS(rows)},
                                      .normal = normal,
                                      .unknown = unknown,
                                      .finish = finish};

/* Beside the file, or where the tool was started: a folder above it. Caller frees; NULL: nowhere. */
static char *find_file(const char *name, const char *file) {
  g_autofree char *folder = g_path_get_dirname(file);
  for (int up = 0; up < FOLDERS_UP; up++) {
    g_autofree char *path = g_build_filename(folder, name, NULL);
    if (g_file_test(path, G_FILE_TEST_IS_REGULAR))
      return g_steal_pointer(&path);
    char *above = g_path_get_dirname(folder);
    g_free(folder);
    folder = above;
  }
  return NULL;
}

gboolean recipe_take_deepspeed(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  (void)row;
  if (node->text == NULL)
    return conf_tree_fail(reading->tree, node, error,
                          "expected the name of a ds_config.json; write the block into one");
  if (g_ascii_strcasecmp(node->text, "none") == 0)
    return TRUE;
  const char *file = conf_tree_file(reading->tree);
  g_autofree char *beside = g_path_get_dirname(file), *above = find_file(node->text, file);
  BasePlace place = {file, node->line, node->column, node->path};
  g_autofree char *path = above != NULL ? g_strdup(above) : conf_path_find(node->text, NULL, "", beside, &place, error);
  g_autoptr(ConfTree) tree = path != NULL ? conf_tree_load(path, error) : NULL;
  if (tree == NULL)
    return FALSE;
  BaseErrors errors = {0};
  recipe_read(reading->recipe, tree, &recipe_deepspeed, &errors);
  return base_errors_end(&errors, error);
}
