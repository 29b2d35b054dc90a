/* SPDX-License-Identifier: MIT */
/* DeepSpeed beside other axes: what a rank's share of a layer is, which layers a stage of the pipeline holds, and how
 * its engine sends.
 *
 *   megatron   Megatron-DeepSpeed's layers: joined columns, a vocabulary split by rows and padded, one loss over ranks
 *   autotp     DeepSpeed's own: each column layer reduces its input's gradient; embedding and head are whole
 *   Ulysses    parallel.context: all-to-all around attention; sequence ranks share states out as data ranks do
 *
 * Source: deepspeed/module_inject/layers.py, runtime/pipe/module.py (_partition_layers), runtime/pipe/engine.py,
 * sequence/layer.py of 0.19; class names of pipeline layers: Megatron-DeepSpeed's model/gpt_model.py. */
#include <string.h>

#include "plan-deepspeed-engine.h"
#include "plan-stages.h"

/* Megatron-DeepSpeed took Megatron-LM's asynchronous reduction over with the merge of spring 2023. */
#define ASYNC_GRADIENTS     BASE_VERSION(0, 9, 0)
#define MEGATRON_VOCABULARY 128 /* --make-vocab-size-divisible-by's default */

static guint32 degree(const PlanRecipe *recipe, LayoutAxis axis) {
  return recipe->axes.layout.degree[axis];
}

/* ---- What goes together ---- */

static gboolean check_pipeline(const PlanGiven *given, const PlanRecipe *recipe, GError **error) {
  const ConfSettings *settings = given->settings;
  if (degree(recipe, LAYOUT_PIPELINE) == 1)
    return TRUE;
  if (recipe->zero_stage > 1)
    return conf_settings_fail(settings, "parallel.zero_stage", error,
                              "DeepSpeed's pipeline engine takes stages 0 and 1; %" G_GUINT64_FORMAT
                              " frees gradients that its micro-batches add up",
                              recipe->zero_stage);
  if (recipe->offload_optimizer != PLAN_OFFLOAD_NO)
    return conf_settings_fail(settings, "parallel.offload_optimizer", error, "over a pipeline it is not modelled");
  if (recipe->deepspeed.tensor_parallel == PLAN_DEEPSPEED_AUTOTP && degree(recipe, LAYOUT_TENSOR) > 1)
    return conf_settings_fail(settings, "deepspeed.tensor_parallel", error,
                              "AutoTP splits models that are no pipelines; megatron does both");
  return degree(recipe, LAYOUT_CONTEXT) == 1 ||
         conf_settings_fail(settings, "parallel.context", error, "Ulysses over a pipeline is not modelled");
}

static gboolean check_tensor(const PlanGiven *given, const PlanRecipe *recipe, GError **error) {
  const ConfSettings *settings = given->settings;
  if (degree(recipe, LAYOUT_TENSOR) == 1)
    return TRUE;
  if (recipe->zero_stage == 3)
    return conf_settings_fail(settings, "parallel.zero_stage", error,
                              "3 beside tensor parallelism is not modelled; DeepSpeed splits matmuls in stages 0 to 2");
  return degree(recipe, LAYOUT_CONTEXT) == 1 ||
         conf_settings_fail(settings, "parallel.context", error, "Ulysses beside parallel.tensor is not modelled");
}

static gboolean check_experts(const PlanGiven *given, const PlanRecipe *recipe, GError **error) {
  const ConfSettings *settings = given->settings;
  if (!recipe->experts_apart)
    return TRUE;
  if (recipe->zero_stage == 3)
    return conf_settings_fail(settings, "parallel.zero_stage", error,
                              "DeepSpeed's experts of several ranks take stages 0 to 2; 3 gathers all experts: set "
                              "parallel.expert=1");
  if (degree(recipe, LAYOUT_PIPELINE) > 1)
    return conf_settings_fail(settings, "parallel.pipeline", error,
                              "experts of several ranks over a pipeline are not modelled");
  return recipe->offload_optimizer == PLAN_OFFLOAD_NO ||
         conf_settings_fail(settings, "parallel.offload_optimizer", error,
                            "beside experts of several ranks it is not modelled");
}

/* ---- Shares ---- */

/* Where nobody says otherwise: its loss, its fused kernels, one matmul for q, k and v. */
static void as_megatron(const PlanGiven *given) {
  given->model->layer_functions = TRUE;
  if (!conf_settings_given(given->settings, "training.loss"))
    given->model->loss = MODEL_LOSS_VOCAB_PARALLEL;
  if (!conf_settings_given(given->settings, "training.projections"))
    given->model->projections = MODEL_PROJECTIONS_JOINED;
  if (!conf_settings_given(given->settings, "training.fused_kernels"))
    given->model->kernels = MODEL_KERNELS_FUSED;
}

static void share_tensor(const PlanGiven *given, const PlanRecipe *recipe) {
  ModelShare *share = &given->model->share;
  const PlanDeepspeed *options = &recipe->deepspeed;
  gboolean automatic = options->tensor_parallel == PLAN_DEEPSPEED_AUTOTP;
  if (degree(recipe, LAYOUT_TENSOR) == 1)
    return;
  share->distributes_saved = options->partition_activations;
  share->whole_vocabulary = share->reduces_each = automatic;
  share->async_gradient = automatic ? options->tp_overlap_comm : recipe->version >= ASYNC_GRADIENTS;
  share->vocabulary_multiple = automatic ? 0 : MEGATRON_VOCABULARY;
  if (!automatic)
    as_megatron(given);
}

/* ---- Stages ---- */

static gboolean counts(GRegex *regex, const char *name) {
  return g_regex_match(regex, name, 0, NULL);
}

static gboolean read_type(const ModelShape *shape, const char *pattern, PlanDeepspeed *options) {
  g_autoptr(GRegex) regex = g_regex_new(pattern, G_REGEX_CASELESS, 0, NULL);
  if (regex == NULL)
    return FALSE;
  options->counts_embedding = counts(regex, "EmbeddingPipe");
  options->counts_layers = counts(regex, "ParallelTransformerLayerPipe");
  options->counts_head = counts(regex, shape->tied_embeddings ? "EmbeddingPipe" : "LMHeadPipe");
  return options->counts_layers;
}

static gboolean read_partition(const PlanGiven *given, PlanDeepspeed *options, GError **error) {
  const char *method = options->partition_method;
  gboolean type = g_ascii_strncasecmp(method, "type:", strlen("type:")) == 0;
  options->partition = type                                         ? PLAN_PARTITION_TYPE
                       : g_ascii_strcasecmp(method, "uniform") == 0 ? PLAN_PARTITION_UNITS
                                                                    : PLAN_PARTITION_PARAMETERS;
  if (type ? read_type(given->shape, method + strlen("type:"), options)
           : options->partition == PLAN_PARTITION_UNITS || g_ascii_strcasecmp(method, "parameters") == 0)
    return TRUE;
  return conf_settings_fail(given->settings, "deepspeed.partition_method", error,
                            "\"%s\" is not parameters, uniform, or type: with a pattern that the class of a layer "
                            "(ParallelTransformerLayerPipe) matches",
                            method);
}

/* Parameters of a unit, the tied matrix in both. */
static guint64 elements_of(const ModelShape *shape, guint32 unit) {
  guint64 table = shape->vocab_size * shape->hidden_size, ends = table * (shape->tied_embeddings ? 1 : 2);
  gboolean learned = model_has(model_shape_traits(shape), MODEL_LEARNED);
  guint64 positions = learned ? shape->max_positions * shape->hidden_size : 0;
  if (unit == 0)
    return table + positions;
  return unit == shape->layers + 1 ? table : (model_shape_parameters(shape) - ends - positions) / shape->layers;
}

static guint64 weight_of(const ModelShape *shape, const PlanDeepspeed *options, guint32 unit) {
  if (options->partition == PLAN_PARTITION_PARAMETERS)
    return elements_of(shape, unit);
  return unit == 0                   ? options->counts_embedding
         : unit == shape->layers + 1 ? options->counts_head
                                     : options->counts_layers;
}

gboolean plan_deepspeed_spread(const ModelShape *shape, const PlanRecipe *recipe, guint32 *ret_bounds, GError **error) {
  guint32 n = (guint32)shape->layers + 2, stages = degree(recipe, LAYOUT_PIPELINE);
  (void)error;
  if (recipe->deepspeed.partition == PLAN_PARTITION_UNITS) {
    plan_stages_uniform(n, stages, ret_bounds);
    return TRUE;
  }
  g_autofree guint64 *weights = g_new(guint64, n);
  for (guint32 unit = 0; unit < n; unit++)
    weights[unit] = weight_of(shape, &recipe->deepspeed, unit);
  plan_stages_balanced(weights, n, stages, ret_bounds);
  return TRUE;
}

/* Each send and receive stands by itself, and compute waits for either. */
static void send(PlanRecipe *recipe) {
  recipe->pipeline.waits_for_sends = recipe->pipeline.receives_first = TRUE;
  guint32 tensor = degree(recipe, LAYOUT_TENSOR);
  recipe->pipeline.parts = recipe->deepspeed.pipe_partitioned ? tensor : 1;
  recipe->pipeline.gradient_parts = recipe->deepspeed.grad_partitioned ? tensor : 1;
  recipe->pipeline.keeps_outputs = recipe->pipeline.parts == 1;
  recipe->pipeline.headers = recipe->pipeline.parts > 1;
}

gboolean plan_deepspeed_axes(const PlanGiven *given, PlanRecipe *recipe, GError **error) {
  if (!check_pipeline(given, recipe, error) || !check_tensor(given, recipe, error) ||
      !check_experts(given, recipe, error) || !read_partition(given, &recipe->deepspeed, error))
    return FALSE;
  share_tensor(given, recipe);
  if (degree(recipe, LAYOUT_CONTEXT) > 1)
    given->model->share.context_kind = MODEL_CONTEXT_ULYSSES;
  if (degree(recipe, LAYOUT_PIPELINE) > 1)
    send(recipe);
  return TRUE;
}

void plan_deepspeed_note_axes(const PlanRecipe *recipe, GPtrArray *notes) {
  gboolean automatic = recipe->deepspeed.tensor_parallel == PLAN_DEEPSPEED_AUTOTP;
  if (degree(recipe, LAYOUT_TENSOR) > 1)
    g_ptr_array_add(notes, g_strdup(automatic ? "deepspeed: AutoTP splits the layers; embedding and head are whole on "
                                                "each tensor rank"
                                              : "deepspeed: Megatron-DeepSpeed's layers split the matmuls, with their "
                                                "joined projections, fused kernels and loss "
                                                "(deepspeed.tensor_parallel = autotp: DeepSpeed's own)"));
  if (degree(recipe, LAYOUT_CONTEXT) > 1)
    g_ptr_array_add(
        notes, g_strdup_printf("deepspeed: Ulysses; %u data and sequence ranks share out the states", recipe->ranks));
  if (recipe->experts_apart)
    g_ptr_array_add(notes, g_strdup("deepspeed: experts are a group of the optimizer, over the ranks that hold the "
                                    "same ones; rows are permuted, as by Tutel, not multiplied by a mask"));
  if (degree(recipe, LAYOUT_PIPELINE) > 1)
    g_ptr_array_add(notes, g_strdup("deepspeed: the pipeline engine reduces gradients after the last micro-batch; "
                                    "compute waits for each send and receive"));
}
