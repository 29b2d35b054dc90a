/* SPDX-License-Identifier: MIT */
/* [deepspeed] and what follows from it, by version. Sources: DeepSpeed's runtime/zero/config.py and offload_config.py
 * at 0.19.6; versions at which something changed: its pull requests 4695 (0.12.4), 4705 (0.12.5), 5606 (0.14.4), 7371
 * (0.17.2), which 7805 undid (merged after 0.18.4 and found in 0.18.7: 0.18.6 is taken), 8207 (0.19.5). */
#include "plan-axes.h"
#include "plan-deepspeed.h"

#include "plan-deepspeed-engine.h"
#include "plan-policy.h"

#define FLAG(key_, field_, initial_, help_)                                                                            \
  BASE_ROW("deepspeed", key_, BASE_FLAG, PlanDeepspeed, field_, .initial = initial_, .help = help_)
#define ELEMENTS(key_, field_, initial_, help_, ...)                                                                   \
  BASE_ROW("deepspeed", key_, BASE_COUNT, PlanDeepspeed, field_, .initial = initial_, .help = help_, __VA_ARGS__)
#define SIZE(key_, field_, initial_, help_)  ELEMENTS(key_, field_, initial_, help_, .max = 1e12)
#define RANKS(key_, field_, initial_, help_) ELEMENTS(key_, field_, initial_, help_, .max = 1e8)
#define LATER(key_, initial_, help_)                                                                                   \
  { .group = "deepspeed", .key = key_, .kind = BASE_LATER, .initial = initial_, .help = help_ }

static const char *const tensor_names[] = {"megatron", "autotp", NULL};

static const BaseField keys[] = {
    FLAG("contiguous_gradients", contiguous_gradients, "yes",
         "gradients are copied into one buffer as they come, and reduced from there"),
    FLAG("reduce_scatter", reduce_scatter, "yes",
         "stages 1, 2: reduce to the owner of each slice; with use_multi_rank_bucket_allreduce still an all-reduce of "
         "the bucket. Stage 3: reduce-scatter; no: all-reduce"),
    FLAG("use_multi_rank_bucket_allreduce", use_multi_rank_bucket_allreduce, "yes",
         "stages 1, 2: all-reduce each bucket and keep the own slices; no: one reduce per slice. Since 0.12.4, before "
         "it: no"),
    SIZE("reduce_bucket_size", reduce_bucket_size, "5e8", "elements of a bucket of gradients"),
    FLAG("overlap_comm", overlap_comm, "no",
         "reduce beside backward, from two buffers; the default of stage 3 is yes, of stages 1 and 2 no"),
    FLAG("allgather_partitions", allgather_partitions, "yes", "before 0.12.5; since then nothing reads it"),
    SIZE("allgather_bucket_size", allgather_bucket_size, "5e8",
         "elements of a piece of the all-gather after the step, before 0.12.5; since then it is one piece"),
    FLAG("round_robin_gradients", round_robin_gradients, "no",
         "owners of gradients in turn: evens out copies to host memory, and neither sizes nor times here"),
    ELEMENTS("sub_group_size", sub_group_size, "1e9",
             "stage 3: whole parameters are updated together up to the first with which they reach so many elements"),
    SIZE("stage3_prefetch_bucket_size", prefetch_bucket_size, "5e7",
         "elements that each module may gather ahead; 0: none"),
    ELEMENTS("stage3_param_persistence_threshold", param_persistence_threshold, "1e5",
             "parameters of at most so many elements stay gathered"),
    ELEMENTS("stage3_model_persistence_threshold", model_persistence_threshold, "9223372036854775807",
             "elements that may stay gathered in all"),
    ELEMENTS("stage3_max_live_parameters", max_live_parameters, "1e9",
             "nothing is gathered ahead while so many elements are gathered"),
    ELEMENTS("stage3_max_reuse_distance", max_reuse_distance, "1e9",
             "a parameter that is used again within so many elements is kept"),
    ELEMENTS("stage3_module_granularity_threshold", module_granularity_threshold, "0",
             "layers whose parameters per module are at most so many are fetched as one; 0: each module by itself"),
    FLAG("stage3_use_all_reduce_for_fetch_params", use_all_reduce_for_fetch_params, "no",
         "gather parameters by all-reduce of zero-padded buffers"),
    FLAG("stage3_allgather_sequential", allgather_sequential, "no",
         "gather parameters one by one, without flat copies"),
    RANKS("zero_hpz_partition_size", hpz_partition_size, "1",
          "ZeRO++ hpZ: GPUs that share a second copy of the parameters, from the first forward on; 1: none"),
    FLAG("zero_quantized_weights", quantized_weights, "no", "ZeRO++ qwZ: parameters are gathered as int8"),
    FLAG("zero_quantized_gradients", quantized_gradients, "no",
         "ZeRO++ qgZ: gradients are reduced as int4, inside nodes and then between them"),
    LATER("zero_quantized_nontrainable_weights", "no", "quantized frozen weights"),
    RANKS("mics_shard_size", mics_shard_size, "0", "MiCS: GPUs that share one copy of the states; 0: all"),
    LATER("mics_hierarchical_params_gather", "no", "MiCS' gather in two steps"),
    FLAG("immediate_grad_update", immediate_grad_update, "no",
         "stage 1 with fp32 accumulation: 16-bit gradients are added and freed as they come"),
    FLAG("offload_optimizer.pin_memory", offload_pin_memory, "yes",
         "page-locked host memory, which PCIe copies several times faster; default no before 0.19.5"),
    FLAG("offload_param.pin_memory", offload_param_pin_memory, "yes", "the same for parameters"),
    BASE_ROW("deepspeed", "tensor_parallel", BASE_NAME, PlanDeepspeed, tensor_parallel, .initial = "megatron",
             .names = tensor_names,
             .help =
                 "who splits matmuls over parallel.tensor: megatron (Megatron-DeepSpeed's layers), autotp (DeepSpeed's "
                 "own, of stages 0 to 2)"),
    FLAG("tp_overlap_comm", tp_overlap_comm, "no",
         "autotp: a column layer's input gradient is reduced beside its weight gradient"),
    FLAG("partition_activations", partition_activations, "no",
         "of the input that a recomputed layer keeps, each tensor rank keeps a part"),
    BASE_ROW(
        "deepspeed", "partition_method", BASE_TEXT, PlanDeepspeed, partition_method, .initial = "parameters",
        .help =
            "layers to pipeline stages: parameters (as many in each), uniform (as many layers), type:REGEX (as many "
            "of a class, as type:transformer or type:transformer|embedding)"),
    FLAG("pipe_partitioned", pipe_partitioned, "yes",
         "beside parallel.tensor: each tensor rank sends its part of a stage's output, which is gathered there"),
    FLAG("grad_partitioned", grad_partitioned, "yes", "the same of gradients between stages"),
    LATER("offload_optimizer.ratio", "1", "Twin-Flow, which keeps a part of the optimizer on the GPU"),
    LATER("offload_optimizer.super_offload", "no", "SuperOffload"),
    LATER("offload_optimizer.pipeline_read", "no", "offload to NVMe"),
    LATER("offload_optimizer.pipeline_write", "no", "offload to NVMe"),
    LATER("zenflow", "no", "ZenFlow's split updates"),
    LATER("legacy_stage1", "no", "DeepSpeed's first stage 1"),
    LATER("elastic_checkpoint", "no", "elastic checkpoints"),
    LATER("zeropp_loco_param", "none", "LoCo's error feedback"),
};
const ConfSchema plan_deepspeed_schema = {keys, G_N_ELEMENTS(keys)};

#define ALLGATHER_BUCKET ((guint64)500000000) /* its default */
#define NEWEST           BASE_VERSION(0, 19, 6)
#define OLDEST           BASE_VERSION(0, 8, 0)
#define OLDEST_SINGLE    BASE_VERSION(0, 3, 15) /* of stage 3 before 0.6 */

static gboolean is_given(const ConfSettings *settings, const char *key) {
  g_autofree char *name = g_strconcat("deepspeed.", key, NULL);
  return conf_settings_given(settings, name);
}

/* Keys of later versions, under stage 3 before 0.6; the first tag whose runtime has each. */
static gboolean refuse_later(const ConfSettings *settings, const PlanRecipe *recipe, GError **error) {
  const PlanDeepspeed *options = &recipe->deepspeed;
  const struct {
    const char *key, *since;
    gboolean asked;
  } later[] = {
      {"deepspeed.zero_quantized_weights", "0.10.0", options->quantized_weights},
      {"deepspeed.zero_quantized_gradients", "0.10.0", options->quantized_gradients},
      {"deepspeed.zero_hpz_partition_size", "0.10.0", options->hpz_partition_size != 1},
      {"deepspeed.mics_shard_size", "0.9.2", options->mics_shard_size > 0},
      {"parallel.shard_group", "0.9.2, as MiCS", recipe->shard_ranks < recipe->ranks},
      {"deepspeed.stage3_use_all_reduce_for_fetch_params", "0.14.3", options->use_all_reduce_for_fetch_params},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(later); i++)
    if (later[i].asked)
      return conf_settings_fail(settings, later[i].key, error, "came with DeepSpeed %s; framework_version is older",
                                later[i].since);
  return TRUE;
}

static gboolean resolve_version(const ConfSettings *settings, PlanRecipe *recipe, GError **error) {
  if (recipe->version == 0)
    recipe->version = NEWEST;
  gboolean single = recipe->zero_stage == 3 && recipe->version < PLAN_DEEPSPEED_TOGETHER;
  plan_policy_oldest(recipe, single ? OLDEST_SINGLE : OLDEST);
  PlanDeepspeed *options = &recipe->deepspeed;
  if (single && !refuse_later(settings, recipe, error))
    return FALSE;
  if (recipe->version < PLAN_DEEPSPEED_MULTI_RANK) {
    if (is_given(settings, "use_multi_rank_bucket_allreduce"))
      return conf_settings_fail(settings, "deepspeed.use_multi_rank_bucket_allreduce", error,
                                "came with DeepSpeed 0.12.4; framework_version is older");
    options->use_multi_rank_bucket_allreduce = FALSE;
  }
  if (recipe->version < PLAN_DEEPSPEED_PINNED && !is_given(settings, "offload_optimizer.pin_memory"))
    options->offload_pin_memory = FALSE;
  if (recipe->version < PLAN_DEEPSPEED_PINNED && !is_given(settings, "offload_param.pin_memory"))
    options->offload_param_pin_memory = FALSE;
  return TRUE;
}

static gboolean refuse_size(const ConfSettings *settings, const char *key, guint64 size, const PlanRecipe *recipe,
                            GError **error) {
  return conf_settings_fail(settings, key, error,
                            "%" G_GUINT64_FORMAT " does not divide the %u GPUs; the nearest that does is "
                            "%" G_GUINT64_FORMAT,
                            size, recipe->ranks, plan_axes_divisor(recipe->ranks, size));
}

/* A key that another stage reads is refused, so that none is without effect unseen. */
static gboolean check_stage_keys(const PlanGiven *given, const PlanRecipe *recipe, GError **error) {
  const ConfSettings *settings = given->settings;
  const PlanDeepspeed *options = &recipe->deepspeed;
  guint64 stage = recipe->zero_stage;
  if (stage != 3 && options->hpz_partition_size > 1)
    return conf_settings_fail(settings, "deepspeed.zero_hpz_partition_size", error, "is of stage 3 alone");
  if (given->model->base != MODEL_BASE_FULL && options->quantized_weights)
    return conf_settings_fail(settings, "deepspeed.zero_quantized_weights", error,
                              "quantises what is in 4 bits already (training.base_weights)");
  if (stage != 3 && options->quantized_weights)
    return conf_settings_fail(settings, "deepspeed.zero_quantized_weights", error, "is of stage 3 alone");
  if (stage != 3 && options->quantized_gradients)
    return conf_settings_fail(settings, "deepspeed.zero_quantized_gradients", error, "is of stage 3 alone");
  if (stage != 3 && options->mics_shard_size > 0)
    return conf_settings_fail(settings, "deepspeed.mics_shard_size", error, "is of stage 3 alone");
  return TRUE;
}

static gboolean resolve_groups(const ConfSettings *settings, PlanRecipe *recipe, GError **error) {
  PlanDeepspeed *options = &recipe->deepspeed;
  if (recipe->shard_ranks < recipe->ranks) {
    if (recipe->zero_stage != 3)
      return conf_settings_fail(settings, "parallel.shard_group", error,
                                "under DeepSpeed hybrid sharding is MiCS, which is of stage 3");
    if (options->mics_shard_size > 0 && options->mics_shard_size != recipe->shard_ranks)
      return conf_settings_fail(settings, "deepspeed.mics_shard_size", error, "differs from parallel.shard_group, %u",
                                recipe->shard_ranks);
    options->mics_shard_size = recipe->shard_ranks;
  }
  if (options->mics_shard_size > recipe->ranks ||
      (options->mics_shard_size > 0 && recipe->ranks % options->mics_shard_size != 0))
    return refuse_size(settings, "deepspeed.mics_shard_size", options->mics_shard_size, recipe, error);
  if (options->mics_shard_size > 0)
    recipe->shard_ranks = (guint32)options->mics_shard_size;
  guint64 hpz = options->hpz_partition_size;
  if (hpz == 0 || hpz > recipe->ranks || recipe->ranks % hpz != 0)
    return refuse_size(settings, "deepspeed.zero_hpz_partition_size", hpz, recipe, error);
  if (hpz > 1 && options->mics_shard_size > 0)
    return conf_settings_fail(settings, "deepspeed.zero_hpz_partition_size", error, "and MiCS exclude each other");
  return TRUE;
}

static gboolean resolve_offload(const ConfSettings *settings, PlanRecipe *recipe, GError **error) {
  if (recipe->offload_parameters && recipe->zero_stage != 3)
    return conf_settings_fail(settings, "parallel.offload_parameters", error,
                              "DeepSpeed offloads parameters in stage 3 "
                              "alone");
  if (recipe->offload_optimizer && (recipe->optimizer == PLAN_ADAM8BIT || recipe->optimizer == PLAN_ADAM4BIT))
    return conf_settings_fail(settings, "training.optimizer", error, "the host has no Adam of 8 or 4 bits");
  if (recipe->offload_parameters && !recipe->offload_optimizer)
    return conf_settings_fail(settings, "parallel.offload_parameters", error,
                              "without offload_optimizer is not modelled");
  if (recipe->offload_optimizer && recipe->zero_stage == 0)
    return conf_settings_fail(settings, "parallel.offload_optimizer", error,
                              "DeepSpeed offloads the optimizer in stages 1 to 3");
  return TRUE;
}

static gboolean resolve_gradients(const PlanGiven *given, PlanRecipe *recipe, GError **error) {
  const ConfSettings *settings = given->settings;
  const PlanDeepspeed *options = &recipe->deepspeed;
  gboolean half = given->model->precision == MODEL_FP16;
  gboolean wide = recipe->accumulation_dtype == PLAN_DTYPE_FP32;
  if (wide && (recipe->zero_stage == 0 || (recipe->zero_stage == 1 && half)))
    return conf_settings_fail(settings, "training.gradient_accumulation_dtype", error,
                              "fp32 beside 16-bit gradients is modelled in stage 1 with bf16 and in stages 2 and 3");
  if (options->immediate_grad_update && !(wide && recipe->zero_stage == 1 && !recipe->offload_optimizer))
    return conf_settings_fail(settings, "deepspeed.immediate_grad_update", error,
                              "acts in stage 1 with gradient_accumulation_dtype = fp32 and no offload alone");
  if (!options->allgather_partitions && recipe->version < PLAN_DEEPSPEED_ONE_GATHER)
    return conf_settings_fail(settings, "deepspeed.allgather_partitions", error,
                              "no: broadcasts in place of the gather are not modelled");
  return TRUE;
}

static gboolean resolve_style(const ConfSettings *settings, PlanRecipe *recipe, GError **error) {
  gboolean torch = recipe->optimizer_style == PLAN_STYLE_FOREACH || recipe->optimizer_style == PLAN_STYLE_SINGLE;
  gboolean adam = recipe->optimizer == PLAN_ADAM || recipe->optimizer == PLAN_ADAMW;
  if (torch && !adam && conf_settings_origin(settings, "training.optimizer_style") == CONF_ORIGIN_RECIPE) {
    recipe->optimizer_style = PLAN_STYLE_DEFAULT; /* the recipe spoke of the Adam that is not in force */
    return TRUE;
  }
  if (torch && !adam)
    return conf_settings_fail(settings, "training.optimizer_style", error,
                              "under deepspeed foreach and single are torch's Adam; training.optimizer is %s",
                              plan_optimizer_names[recipe->optimizer]);
  if (torch && recipe->offload_optimizer)
    return conf_settings_fail(settings, "training.optimizer_style", error,
                              "with offload_optimizer the host runs DeepSpeed's own Adam; torch's there is not "
                              "modelled");
  return TRUE;
}

static gboolean resolve(const PlanGiven *given, PlanRecipe *recipe, GError **error) {
  const ConfSettings *settings = given->settings;
  PlanDeepspeed *options = &recipe->deepspeed;
  if (!is_given(settings, "overlap_comm"))
    options->overlap_comm = recipe->zero_stage == 3;
  if (options->reduce_bucket_size == 0)
    return conf_settings_fail(settings, "deepspeed.reduce_bucket_size", error, "must be at least 1");
  return resolve_version(settings, recipe, error) && resolve_gradients(given, recipe, error) &&
         check_stage_keys(given, recipe, error) && resolve_groups(settings, recipe, error) &&
         resolve_offload(settings, recipe, error) && resolve_style(settings, recipe, error) &&
         plan_deepspeed_axes(given, recipe, error);
}

gboolean plan_deepspeed_resolve(const PlanGiven *given, PlanRecipe *recipe, GError **error) {
  gboolean good = resolve(given, recipe, error);
  g_clear_pointer(&recipe->deepspeed.partition_method, g_free);
  return good;
}

static void note_reduction(const PlanRecipe *recipe, GPtrArray *notes) {
  const PlanDeepspeed *options = &recipe->deepspeed;
  gboolean whole = !options->reduce_scatter || options->use_multi_rank_bucket_allreduce;
  if (whole)
    g_ptr_array_add(notes,
                    g_strdup_printf("deepspeed: gradients are all-reduced whole, twice a reduce-scatter's bytes; "
                                    "%sdeepspeed.use_multi_rank_bucket_allreduce=no sends each slice to its owner",
                                    options->reduce_scatter ? "" : "deepspeed.reduce_scatter=yes and "));
  if (!options->overlap_comm)
    g_ptr_array_add(notes, g_strdup("deepspeed: overlap_comm is off, so no reduction hides behind backward"));
}

void plan_deepspeed_note(const PlanRecipe *recipe, GPtrArray *notes) {
  g_autofree char *version = base_version_text(recipe->version);
  g_ptr_array_add(notes,
                  g_strdup_printf("deepspeed: behaves as version %s; the host waits for the gradient norm and at "
                                  "the end of the step",
                                  version));
  plan_deepspeed_note_axes(recipe, notes);
  static const char *const optimizers[] = {
      [PLAN_STYLE_DEFAULT] = "DeepSpeed's own fused optimizer",
      [PLAN_STYLE_FOREACH] = "torch's Adam over lists of tensors (foreach), with a temporary as large as a partition",
      [PLAN_STYLE_FUSED] = "DeepSpeed's own fused optimizer",
      [PLAN_STYLE_SINGLE] = "torch's Adam tensor by tensor, with two temporaries as large as a partition"};
  g_ptr_array_add(notes, g_strdup_printf("deepspeed: the optimizer is %s%s", optimizers[recipe->optimizer_style],
                                         recipe->offload_optimizer ? ", for the host" : ""));
  if (recipe->zero_stage == 1 || recipe->zero_stage == 2)
    note_reduction(recipe, notes);
  if (recipe->version >= PLAN_DEEPSPEED_ONE_GATHER &&
      (!recipe->deepspeed.allgather_partitions || recipe->deepspeed.allgather_bucket_size != ALLGATHER_BUCKET))
    g_ptr_array_add(notes, g_strdup("deepspeed: nothing reads allgather_partitions and allgather_bucket_size since "
                                    "0.12.5: the gather after the step is one piece"));
  if (recipe->offload_optimizer)
    g_ptr_array_add(notes, g_strdup("deepspeed: Adam on the host is bound by its memory's bandwidth, which "
                                    "the node's GPUs share"));
  if (recipe->zero_stage == 0)
    g_ptr_array_add(notes, g_strdup("deepspeed: stage 0 reduces after the last backward, in buffers of 5e8 elements"));
}
