/* torchtitan's TOML files, of 2024 to 2026 (then its settings became Python).
 *
 * Source: torchtitan/config/job_config.py and, for 2024, config_manager.py. Its data parallelism is FSDP2 with embedding
 * and head as units of their own, gradients reduced in fp32 and on every micro-batch; DDP where nothing is sharded. */
#include <string.h>

#include "recipe-float8.h"
#include "recipe-rows.h"

/* -1 stands for "not set". */
static gboolean is_unset(const ConfTreeNode *node) {
  return node->text != NULL && strcmp(node->text, "-1") == 0;
}

static gboolean take_global_batch(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                  GError **error) {
  return is_unset(node) || recipe_take_count(reading, row, node, error);
}

/* none, full, or selective with an option: "op" saves every second matmul, N recomputes each N-th layer. */
static gboolean take_checkpointing(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                   GError **error) {
  g_autofree char *mode = node->text != NULL ? g_ascii_strdown(node->text, -1) : g_strdup("");
  g_autofree char *option = recipe_text(reading, "activation_checkpoint.selective_ac_option");
  if (strcmp(mode, "none") == 0 || strcmp(mode, "full") == 0)
    return recipe_give(reading, node, row->setting, mode, NULL, error);
  if (strcmp(mode, "selective") != 0)
    return conf_tree_fail(reading->tree, node, error, "expected none, selective or full, found \"%s\"", mode);
  if (strcmp(option, "op") == 0)
    return recipe_give(reading, node, row->setting, "every-2nd-matmul", "selective, op", error);
  guint64 every;
  const ConfTreeNode *count = conf_tree_given(reading->tree, "activation_checkpoint.selective_ac_option");
  if (count == NULL)
    return conf_tree_fail(
        reading->tree, node, error,
        "is selective, and versions differ in what that is; say selective_ac_option = \"op\" or \"2\"");
  if (!conf_tree_count(reading->tree, count, &every, error))
    return FALSE;
  if (every == 0)
    return conf_tree_fail(reading->tree, count, error, "expected \"op\" or a number from 1 on");
  g_autofree char *layers = g_strdup_printf("layers:%" G_GUINT64_FORMAT, every);
  return recipe_give(reading, node, row->setting, every == 1 ? "full" : layers, "every N-th layer is recomputed",
                     error);
}

static gboolean take_reshard(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  g_autofree char *policy = node->text != NULL ? g_ascii_strdown(node->text, -1) : g_strdup("");
  if (strcmp(policy, "default") == 0)
    return TRUE;
  if (strcmp(policy, "always") == 0)
    return recipe_give(reading, node, row->setting, "yes", "every unit, the last too", error);
  return strcmp(policy, "never") == 0
             ? recipe_give(reading, node, "parallel.zero_stage", "2", "parameters stay after forward", error)
             : conf_tree_fail(reading->tree, node, error, "expected default, always or never, found \"%s\"", policy);
}

/* "for-loop" is torch's foreach without its batching: no style of ours. */
static gboolean take_style(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  g_autofree char *style = node->text != NULL ? g_ascii_strdown(node->text, -1) : g_strdup("");
  if (strcmp(style, "fused") != 0 && strcmp(style, "foreach") != 0)
    return conf_tree_fail(reading->tree, node, error, "\"%s\" is not modelled; fused and foreach are", style);
  return recipe_give(reading, node, row->setting, style, NULL, error);
}

static gboolean take_fused(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  gboolean on;
  return conf_tree_flag(reading->tree, node, &on, error) &&
         recipe_give(reading, node, row->setting, on ? "fused" : "foreach", NULL, error);
}

static gboolean take_offload(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  gboolean on;
  (void)row;
  return conf_tree_flag(reading->tree, node, &on, error) &&
         recipe_give(reading, node, "parallel.offload_parameters", on ? "cpu" : "no", NULL, error) &&
         recipe_give(reading, node, "parallel.offload_optimizer", on ? "cpu" : "no", NULL, error);
}

/* What is compiled: the blocks, and since 2025 the loss, whose kernels stay as training.loss has them. */
static gboolean take_components(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                GError **error) {
  gboolean blocks = FALSE;
  (void)row;
  for (guint i = 0;; i++) {
    g_autofree char *path = g_strdup_printf("%s.%u", node->path, i);
    const ConfTreeNode *component = conf_tree_find(reading->tree, path);
    if (component == NULL)
      break;
    blocks |= g_strcmp0(component->text, "model") == 0;
  }
  if (!blocks && recipe_is_true(reading, "compile.enable"))
    return conf_tree_fail(reading->tree, node, error,
                          "without \"model\" the blocks run as they are; set enable = false");
  recipe_leave(reading, node, "the blocks are compiled; the loss runs as training.loss says");
  return TRUE;
}

#define LATER(path)                                                                                                    \
  { path, RECIPE_TAKE, NULL, recipe_take_later, NULL, NULL }

#define MODEL    "the model is the workload's [model]"
#define TENSOR   "of tensor parallelism, which is not on"
#define PIPELINE "of pipeline parallelism, which is not on"
#define COMPILE  "compiled autograd; set it to false"

static const RecipeRow rows[] = {
    TAKE("training.local_batch_size", "training.micro_batch", recipe_take_count, "sequences per GPU"),
    TAKE("training.batch_size", "training.micro_batch", recipe_take_count, "sequences per GPU"),
    TAKE("training.global_batch_size", "training.global_batch", take_global_batch, "sequences per step over all GPUs"),
    TAKE("training.seq_len", "training.sequence_length", recipe_take_count, "tokens"),
    TAKE("training.mixed_precision_param", "training.precision", recipe_take_precision, NULL),
    TAKE("training.mixed_precision_reduce", "training.gradient_communication_dtype", recipe_take_precision, NULL),
    TAKE("training.enable_cpu_offload", NULL, take_offload, NULL),
    TAKE("training.compile", "training.compile", recipe_take_flag, NULL),
    TAKE("training.fp8_linear", "training.precision", recipe_take_float8_scaling, NULL),
    TAKE("training.enable_fp8_linear", "training.precision", recipe_take_float8_switch, NULL),
    REFUSE("training.dtype", "float32", "parameters that are kept in 16 bits"),
    TAKE("training.max_norm", "training.gradient_clipping", recipe_take_clipping, NULL),
    SAFE("training.steps", LEARNING),
    SAFE("training.dataset", LEARNING),
    SAFE("training.dataset_path", LEARNING),
    SAFE("training.warmup_steps", LEARNING),
    SAFE("training.seed", LEARNING),
    REFUSE("training.deterministic", "false", "deterministic kernels"),
    SAFE("training.gc_freq", "of Python's garbage collector"),
    SAFE("training.gc_debug", "of Python's garbage collector"),
    SAFE("training.debug_moe_force_load_balance", "of mixtures of experts"),
    LATER("training.data_parallel_degree"),
    LATER("training.data_parallel_shard_degree"),
    LATER("training.data_parallel_replicate_degree"),
    TAKE("training.tensor_parallel_degree", "parallel.tensor", recipe_take_count, NULL),
    TAKE("training.pipeline_parallel_degree", "parallel.pipeline", recipe_take_count, NULL),
    SAFE("training.enable_loss_parallel", TENSOR),

    LATER("parallelism.data_parallel_shard_degree"),
    LATER("parallelism.data_parallel_replicate_degree"),
    TAKE("parallelism.tensor_parallel_degree", "parallel.tensor", recipe_take_count, NULL),
    TAKE("parallelism.pipeline_parallel_degree", "parallel.pipeline", recipe_take_count, NULL),
    TAKE("parallelism.context_parallel_degree", "parallel.context", recipe_take_count, NULL),
    TAKE("parallelism.expert_parallel_degree", "parallel.expert", recipe_take_count, NULL),
    TAKE("parallelism.expert_tensor_parallel_degree", "parallel.expert_tensor", recipe_take_count, NULL),
    TAKE("parallelism.fsdp_reshard_after_forward", "fsdp.reshard_after_forward", take_reshard, NULL),
    REFUSE("parallelism.enable_compiled_autograd", "false", COMPILE),
    SAFE("parallelism.enable_async_tensor_parallel", TENSOR),
    SAFE("parallelism.disable_loss_parallel", TENSOR),
    SAFE("parallelism.context_parallel_rotate_method", "of context parallelism, which is not on"),
    SAFE("parallelism.pipeline_parallel_split_points", PIPELINE),
    SAFE("parallelism.module_fqns_per_model_part", PIPELINE),
    SAFE("parallelism.pipeline_parallel_first_stage_less_layers", PIPELINE),
    SAFE("parallelism.pipeline_parallel_last_stage_less_layers", PIPELINE),
    SAFE("parallelism.pipeline_parallel_layers_per_stage", PIPELINE),
    SAFE("parallelism.pipeline_parallel_schedule", PIPELINE),
    SAFE("parallelism.pipeline_parallel_schedule_csv", PIPELINE),
    SAFE("parallelism.pipeline_parallel_microbatch_size", PIPELINE),
    TAKE("experimental.pipeline_parallel_degree", "parallel.pipeline", recipe_take_count, NULL),
    TAKE("experimental.context_parallel_degree", "parallel.context", recipe_take_count, NULL),
    REFUSE("experimental.enable_async_tensor_parallel", "false", "asynchronous tensor parallelism"),
    REFUSE("experimental.enable_compiled_autograd", "false", COMPILE),
    SAFE("experimental.pipeline_parallel_schedule", PIPELINE),
    SAFE("experimental.pipeline_parallel_split_points", PIPELINE),
    SAFE("experimental.pipeline_parallel_microbatches", PIPELINE),
    SAFE("experimental.custom_import", MODEL),
    SAFE("experimental.custom_args_module", MODEL),

    TAKE("activation_checkpoint.mode", "training.activation_checkpointing", take_checkpointing, NULL),
    LATER("activation_checkpoint.selective_ac_option"),
    SAFE("activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns", "of mixtures of experts"),
    SAFE("activation_checkpoint.early_stop", "ends a recomputation with the last value that is needed"),
    SAFE("activation_checkpoint.preserve_rng_state", LEARNING),
    SAFE("activation_checkpoint.determinism_check", "a check"),
    SAFE("activation_checkpoint.debug", "a check"),
    REFUSE("activation_checkpoint.memory_budget", "1|1.0|0.5", "torch.compile's memory budget"),

    TAKE("optimizer.name", "training.optimizer", recipe_take_optimizer, NULL),
    TAKE("optimizer.implementation", "training.optimizer_style", take_style, NULL),
    TAKE("optimizer.fused", "training.optimizer_style", take_fused, NULL),
    REFUSE("optimizer.early_step_in_backward", "false", "optimizer steps inside backward; set it to false"),
    SAFE("optimizer.lr", LEARNING),
    SAFE("optimizer.eps", LEARNING),
    SAFE("optimizer.beta1", LEARNING),
    SAFE("optimizer.beta2", LEARNING),
    SAFE("optimizer.weight_decay", LEARNING),
    SAFE("lr_scheduler.*", LEARNING),
    TAKE("compile.enable", "training.compile", recipe_take_flag, NULL),
    TAKE("compile.components", NULL, take_components, NULL),
    REFUSE("compile.backend", "inductor", "another compiler than inductor"),
    TAKE("model.converters", "training.precision", recipe_take_converters, NULL),
    SAFE("model.*", MODEL),
    TAKE("float8.enable_float8_linear", "training.precision", recipe_take_float8_switch, NULL),
    RECIPE_FLOAT8_ROWS("float8"),
    RECIPE_FLOAT8_ROWS("quantize.linear.float8"),
    SAFE("mx.*", "of fp8, which model.converters would switch on"),
    SAFE("quantize.*", "of fp8, which model.converters would switch on"),
    SAFE("job.*", LOGGING),
    SAFE("profiling.*", "profiles a few steps of all"),
    SAFE("metrics.*", LOGGING),
    SAFE("checkpoint.*", LOADING),
    SAFE("validation.*", "between training steps"),
    SAFE("debug.*", "checks"),
    SAFE("comm.*", "limits of waiting, and its tracing"),
    SAFE("memory_estimation.*", "torchtitan's own estimate"),
    REFUSE("fault_tolerance.*", "false", "copies of the job that leave and join; leave the block out"),
};

/* A degree of either generation's section; `missing` where there is none. */
static gboolean degree(const RecipeReading *reading, const char *name, gint64 missing, gint64 *ret,
                       const ConfTreeNode **ret_node, GError **error) {
  static const char *const sections[] = {"parallelism", "training"};
  *ret = missing;
  for (gsize i = 0; i < G_N_ELEMENTS(sections); i++) {
    g_autofree char *path = g_strconcat(sections[i], ".", name, NULL);
    const ConfTreeNode *node = conf_tree_given(reading->tree, path);
    guint64 value;
    if (node == NULL)
      continue;
    *ret_node = node;
    *ret = -1;
    if (is_unset(node))
      return TRUE;
    if (!conf_tree_count(reading->tree, node, &value, error))
      return FALSE;
    if (value == 0 || value > G_MAXINT32)
      return conf_tree_fail(reading->tree, node, error, "expected -1 or a number from 1 on");
    *ret = (gint64)value;
  }
  return TRUE;
}

/* Which ranks share the parameters: -1 is what replication leaves. */
static gboolean give_sharding(RecipeReading *reading, GError **error) {
  gint64 shard, replicate, old;
  const ConfTreeNode *shard_node = NULL, *replicate_node = NULL;
  if (!degree(reading, "data_parallel_degree", -1, &old, &shard_node, error) ||
      !degree(reading, "data_parallel_shard_degree", old, &shard, &shard_node, error) ||
      !degree(reading, "data_parallel_replicate_degree", 1, &replicate, &replicate_node, error))
    return FALSE;
  if (replicate < 0)
    return conf_tree_fail(reading->tree, replicate_node, error, "expected a number from 1 on");
  if (shard == 1)
    return recipe_give(reading, shard_node, "parallel.framework", "ddp", "nothing is sharded", error) &&
           recipe_give(reading, NULL, "parallel.zero_stage", "0", "nothing is sharded", error);
  if (shard > 1 && replicate == 1)
    recipe_give_rule(reading, shard_node, "parallel.shard_group", RECIPE_RULE_ALL_RANKS, (guint64)shard,
                     "all ranks share one copy");
  g_autofree char *group = g_strdup_printf("%" G_GINT64_FORMAT, shard);
  if (shard > 1 && replicate > 1 &&
      !recipe_give(reading, shard_node, "parallel.shard_group", group, "ranks that share one copy", error))
    return FALSE;
  if (shard < 0 && replicate > 1)
    recipe_give_rule(reading, replicate_node, "parallel.shard_group", RECIPE_RULE_SHARE, (guint64)replicate,
                     "ranks / data_parallel_replicate_degree");
  return recipe_give(reading, NULL, "parallel.framework", "fsdp2", NULL, error) &&
         recipe_give(reading, NULL, "parallel.zero_stage", "3", "fully_shard", error) &&
         recipe_give(reading, NULL, "fsdp.wrap", "ends", "embedding and head are units", error) &&
         recipe_give(reading, NULL, "training.gradient_communication_dtype", "fp32", "torchtitan's default", error);
}

/* Since its keys moved to [parallelism], at the end of 2024, its AdamW is fused where it does not say otherwise. */
static gboolean give_style(RecipeReading *reading, GError **error) {
  gboolean since = conf_tree_given(reading->tree, "parallelism") != NULL;
  return recipe_give(reading, NULL, "training.optimizer_style", since ? "fused" : "foreach", "torchtitan's default",
                     error);
}

static gboolean finish(RecipeReading *reading, GError **error) {
  return recipe_float8_finish(reading, error) && give_style(reading, error) && give_sharding(reading, error) &&
         recipe_give(reading, NULL, "training.precision", "bf16", "torchtitan's default", error) &&
         recipe_give(reading, NULL, "training.gradient_clipping", "1", "torchtitan's default", error);
}

static const char *const marks[] = {"parallelism", "training.seq_len", "activation_checkpoint", NULL};
const RecipeTable recipe_torchtitan = {
    .tool = "torchtitan", .marks = marks, .rows = {rows, G_N_ELEMENTS(rows)}, .finish = finish};
