/* SPDX-License-Identifier: MIT */
/* torchtitan's TOML files, of 2024 to 2026 (then its settings became Python: recipe-torchtitan-python.c).
 *
 * Source: torchtitan/config/job_config.py and, before, config_manager.py. Its data parallelism is FSDP2, gradients
 * reduced in fp32 and on every micro-batch; DDP where nothing is sharded. Defaults changed without new keys, so a file
 * is dated by the keys it has (torchtitan's history, by commit):
 *
 *   [parallelism]               since 2025-03-18 (785c34c9)   AdamW is fused since 2025-02-24 (6e498855)
 *   model.norm_type             until 2025-04-23 (9cf88aa1)   the loss is compiled too, since 2025-04-02
 *   training.local_batch_size   since 2025-06-05 (8570415c)
 *   [compile]                   since 2025-08-20 (08b8b244)   embedding and head are wrapped apart, since 2025-07-28
 *                                                             (83e69410); before, blocks alone */
#include <string.h>

#include "recipe-float8.h"
#include "recipe-rows.h"
#include "recipe-torchtitan.h"

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
  if (strcmp(option, "op") == 0 || (*option == '\0' && recipe_torchtitan_is_python(reading)))
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
  return recipe_give_flag(reading, node, row->setting, "fused", "foreach", NULL, error);
}

/* Of a list of names, whether `name` is among them. */
static gboolean has_component(const RecipeReading *reading, const ConfTreeNode *list, const char *name) {
  const ConfTreeNode *component = list;
  for (guint i = 0; component != NULL; i++) {
    g_autofree char *path = g_strdup_printf("%s.%u", list->path, i);
    component = conf_tree_find(reading->tree, path);
    if (component != NULL && g_strcmp0(component->text, name) == 0)
      return TRUE;
  }
  return FALSE;
}

#define COMPILED_LOSS "the compiled loss keeps no fp32 copy of the logits"

/* Whether the blocks are compiled: where components are listed, they must be among them. */
static gboolean take_compile(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  const ConfTreeNode *components = conf_tree_given(reading->tree, "compile.components");
  gboolean on;
  if (!conf_tree_flag(reading->tree, node, &on, error))
    return FALSE;
  on = on && (components == NULL || has_component(reading, components, "model"));
  return recipe_give(reading, node, row->setting, on ? "yes" : "no", on ? "the blocks" : NULL, error);
}

static gboolean take_components(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                GError **error) {
  gboolean on = recipe_is_true(reading, "compile.enable");
  if (on && has_component(reading, node, "loss"))
    return recipe_give(reading, node, row->setting, "fused", COMPILED_LOSS, error);
  recipe_leave(reading, node, on ? "the loss is not compiled" : "nothing is compiled");
  return TRUE;
}

/* The kernels of its norms, of 2024: the fused one is of Triton, the compiled one torch.compile's. */
static gboolean take_norm(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  g_autofree char *kind = node->text != NULL ? g_ascii_strdown(node->text, -1) : g_strdup("");
  if (strcmp(kind, "rmsnorm") == 0) {
    recipe_leave(reading, node, "the model's norm, as it is");
    return TRUE;
  }
  return strcmp(kind, "fused_rmsnorm") == 0 || strcmp(kind, "compiled_rmsnorm") == 0
             ? recipe_give(reading, node, row->setting, "norms", "norms by one kernel each", error)
             : conf_tree_fail(reading->tree, node, error,
                              "\"%s\" is not modelled; rmsnorm, fused_rmsnorm and compiled_rmsnorm are", kind);
}

/* What is beside fp8 matmuls, where converters or an old switch turn them on. */
static gboolean take_param(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node, GError **error) {
  const ConfTreeNode *converters = conf_tree_given(reading->tree, "model.converters");
  gboolean fp8 = recipe_is_true(reading, "float8.enable_float8_linear") ||
                 (converters != NULL && (has_component(reading, converters, "float8") ||
                                         has_component(reading, converters, "quantize.linear.float8")));
  if (!fp8 || g_strcmp0(node->text, "bfloat16") != 0)
    return recipe_take_precision(reading, row, node, error);
  recipe_leave(reading, node, "of what does not multiply in fp8");
  return TRUE;
}

#define LATER(path)                                                                                                    \
  { path, RECIPE_TAKE, NULL, recipe_take_later, NULL, NULL }

#define MODEL   "the model is the workload's [model]"
#define COMPILE "compiled autograd; set it to false"

static const RecipeRow rows[] = {
    LATER("training.local_batch_size"),
    LATER("training.batch_size"),
    TAKE("training.global_batch_size", "training.global_batch", take_global_batch, "sequences per step over all GPUs"),
    TAKE("training.seq_len", "training.sequence_length", recipe_take_count, "tokens"),
    TAKE("training.mixed_precision_param", "training.precision", take_param, NULL),
    TAKE("training.mixed_precision_reduce", "training.gradient_communication_dtype", recipe_take_precision, NULL),
    TAKE("training.enable_cpu_offload", "fsdp.cpu_offload", recipe_take_flag, NULL),
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
    LATER("training.tensor_parallel_degree"),
    LATER("training.pipeline_parallel_degree"),
    LATER("training.enable_loss_parallel"),
    LATER("training.disable_loss_parallel"),

    LATER("parallelism.data_parallel_shard_degree"),
    LATER("parallelism.data_parallel_replicate_degree"),
    LATER("parallelism.tensor_parallel_degree"),
    LATER("parallelism.pipeline_parallel_degree"),
    LATER("parallelism.context_parallel_degree"),
    TAKE("parallelism.expert_parallel_degree", "parallel.expert", recipe_take_count, NULL),
    TAKE("parallelism.expert_tensor_parallel_degree", "parallel.expert_tensor", recipe_take_count, NULL),
    TAKE("parallelism.fsdp_reshard_after_forward", "fsdp.reshard_after_forward", take_reshard, NULL),
    REFUSE("parallelism.enable_compiled_autograd", "false", COMPILE),
    LATER("parallelism.enable_async_tensor_parallel"),
    LATER("parallelism.disable_loss_parallel"),
    LATER("parallelism.context_parallel_rotate_method"),
    LATER("parallelism.pipeline_parallel_split_points"),
    LATER("parallelism.module_fqns_per_model_part"),
    LATER("parallelism.pipeline_parallel_first_stage_less_layers"),
    LATER("parallelism.pipeline_parallel_last_stage_less_layers"),
    LATER("parallelism.pipeline_parallel_layers_per_stage"),
    LATER("parallelism.pipeline_parallel_schedule"),
    LATER("parallelism.pipeline_parallel_schedule_csv"),
    LATER("parallelism.pipeline_parallel_microbatch_size"),
    SAFE("parallelism.pipeline_parallel_expert_parallel_overlap", "of mixtures of experts"),
    SAFE("parallelism.expert_parallel_comm_backend", "of mixtures of experts"),
    LATER("experimental.pipeline_parallel_degree"),
    LATER("experimental.context_parallel_degree"),
    LATER("experimental.context_parallel_rotate_method"),
    LATER("experimental.enable_async_tensor_parallel"),
    LATER("experimental.pipeline_parallel_schedule_csv"),
    LATER("experimental.pipeline_parallel_split_mode"),
    REFUSE("experimental.enable_compiled_autograd", "false", COMPILE),
    LATER("experimental.pipeline_parallel_schedule"),
    LATER("experimental.pipeline_parallel_split_points"),
    LATER("experimental.pipeline_parallel_microbatches"),
    SAFE("experimental.custom_import", MODEL),
    SAFE("experimental.custom_args_module", MODEL),

    TAKE("activation_checkpoint.mode", "training.activation_checkpointing", take_checkpointing, NULL),
    LATER("activation_checkpoint.selective_ac_option"),
    SAFE("activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns", "of mixtures of experts"),
    TAKE("activation_checkpoint.early_stop", "training.checkpoint_early_stop", recipe_take_flag, NULL),
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
    TAKE("compile.enable", "training.compile", take_compile, NULL),
    TAKE("compile.components", "training.loss", take_components, NULL),
    REFUSE("compile.backend", "inductor", "another compiler than inductor"),
    TAKE("model.converters", "training.precision", recipe_take_converters, NULL),
    TAKE("model.norm_type", "training.fused_kernels", take_norm, NULL),
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

/* Since its keys moved to [parallelism], at the end of 2024, its AdamW is fused where it does not say otherwise. */
static gboolean give_style(RecipeReading *reading, GError **error) {
  return recipe_torchtitan_is_late(reading)
             ? recipe_give(reading, NULL, "training.optimizer_style", "fused", "torchtitan's default since 2025-02-24",
                           error)
             : recipe_give(reading, NULL, "training.optimizer_style", "foreach",
                           "torchtitan's default until 2025-02-24, when the keys stood in [training]", error);
}

/* The loss is compiled with the blocks where no key says what is compiled. */
static gboolean give_loss(RecipeReading *reading, GError **error) {
  gboolean late = recipe_torchtitan_is_late(reading) && !recipe_torchtitan_has(reading, "model.norm_type");
  gboolean compiled = recipe_is_true(reading, "compile.enable") || recipe_is_true(reading, "training.compile");
  return !late || !compiled || recipe_torchtitan_has(reading, "compile.components") ||
         recipe_give(reading, NULL, "training.loss", "fused", COMPILED_LOSS, error);
}

/* With [compile], which is nine days older. */
static gboolean give_early_stop(RecipeReading *reading, GError **error) {
  return !recipe_torchtitan_has(reading, "compile.enable") ||
         recipe_give(reading, NULL, "training.checkpoint_early_stop", "no", "torchtitan's default since 2025-08-29",
                     error);
}

/* Its models copied keys and values to every head until files of Python came, a month later. Context ranks exchange the
 * copies, which is not played. */
static gboolean give_repeat(RecipeReading *reading, GError **error) {
  return recipe_torchtitan_is_python(reading) ||
         recipe_give(reading, NULL, "training.repeat_kv", "without-context", "repeat_kv, until 2026-01-27", error);
}

static gboolean finish(RecipeReading *reading, GError **error) {
  return give_early_stop(reading, error) && recipe_float8_finish(reading, error) && give_style(reading, error) &&
         give_loss(reading, error) && recipe_torchtitan_axes(reading, error) && give_repeat(reading, error) &&
         recipe_give(reading, NULL, "training.precision", "bf16", "torchtitan's default", error) &&
         recipe_give(reading, NULL, "training.gradient_clipping", "1", "torchtitan's default", error);
}

static const char *const marks[] = {"parallelism", "training.seq_len", "activation_checkpoint", NULL};
const RecipeRows recipe_torchtitan_rows = {rows, G_N_ELEMENTS(rows), NULL};
const RecipeTable recipe_torchtitan = {
    .tool = "torchtitan", .marks = marks, .rows = {rows, G_N_ELEMENTS(rows), NULL}, .finish = finish};
