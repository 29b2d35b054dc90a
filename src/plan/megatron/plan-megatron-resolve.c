/* SPDX-License-Identifier: MIT */
/* What follows from [megatron], and what does not go together. Sources: megatron/training/arguments.py (validate_args),
 * megatron/core/model_parallel_config.py, core 0.12. */
#include "plan-groups.h"
#include "plan-policy.h"
#include "plan-schedule.h"
#include "plan-stages.h"

#define USUAL_CLIPPING 1.0 /* --clip-grad */

static guint32 stages_of(const PlanRecipe *recipe) {
  return MAX(recipe->axes.layout.degree[LAYOUT_PIPELINE], 1);
}

static gboolean is_interleaved(const PlanRecipe *recipe) {
  return recipe->axes.schedule == LAYOUT_SCHEDULE_INTERLEAVED;
}

/* ---- Data parallelism ---- */

static gboolean check_data(const ConfSettings *settings, const PlanRecipe *recipe, GError **error) {
  const PlanMegatron *options = &recipe->megatron;
  if (recipe->zero_stage > 1)
    return conf_settings_fail(
        settings, "parallel.zero_stage", error,
        "Megatron's distributed optimizer is stage 1, without it is 0; Megatron-FSDP (2 and 3) is "
        "not modelled");
  if (options->overlap_param_gather && (recipe->zero_stage == 0 || !options->overlap_grad_reduce))
    return conf_settings_fail(settings, "megatron.overlap_param_gather", error,
                              "it needs the distributed optimizer (zero_stage = 1) and overlap_grad_reduce");
  if (conf_settings_given(settings, "megatron.bucket_size") && !options->overlap_grad_reduce)
    return conf_settings_fail(settings, "megatron.bucket_size", error,
                              "without overlap_grad_reduce there is one bucket");
  if (options->pad_buckets && recipe->zero_stage == 0)
    return conf_settings_fail(settings, "megatron.pad_buckets_for_high_nccl_busbw", error,
                              "it needs the distributed optimizer (zero_stage = 1)");
  return recipe->zero_stage == 1 || recipe->shard_ranks == recipe->ranks ||
         conf_settings_fail(settings, "parallel.shard_group", error,
                            "stage 0 shards nothing; instances of the distributed optimizer need zero_stage = 1");
}

/* arguments.py: fp8 parameters are the distributed optimizer's; rows padded by the router are of fp8. */
static gboolean check_fp8(const PlanGiven *given, const PlanRecipe *recipe, GError **error) {
  const PlanMegatron *options = &recipe->megatron;
  gboolean fp8 = given->model->precision == MODEL_FP8;
  if (options->router_pads && !fp8)
    return conf_settings_fail(given->settings, "megatron.moe_router_padding_for_fp8", error,
                              "it is of training.precision=fp8");
  if (!options->fp8_param_gather)
    return TRUE;
  if (!fp8)
    return conf_settings_fail(given->settings, "megatron.fp8_param_gather", error, "it is of training.precision=fp8");
  if (recipe->trainable.lora.rank > 0)
    return conf_settings_fail(given->settings, "megatron.fp8_param_gather", error,
                              "weights that are frozen beside adapters are not gathered; set it to no");
  return recipe->zero_stage == 1 || conf_settings_fail(given->settings, "megatron.fp8_param_gather", error,
                                                       "it needs the distributed optimizer (zero_stage = 1)");
}

/* ---- Tensor and context ranks ---- */

static gboolean check_tensor(const PlanGiven *given, const PlanRecipe *recipe, GError **error) {
  const PlanMegatron *options = &recipe->megatron;
  const ConfSettings *settings = given->settings;
  if (options->tp_comm_overlap && !recipe->axes.sequence_parallel)
    return conf_settings_fail(settings, "megatron.tp_comm_overlap", error,
                              "it needs parallel.sequence_parallel over tensor ranks");
  if (options->dispatch == MODEL_DISPATCH_FLEX && recipe->axes.layout.degree[LAYOUT_EXPERT_TENSOR] > 1)
    return conf_settings_fail(settings, "megatron.moe_token_dispatcher_type", error,
                              "flex beside tensor ranks that split experts is not modelled; set "
                              "parallel.expert_tensor=1");
  if (!options->distributes_saved)
    return TRUE;
  if (recipe->axes.layout.degree[LAYOUT_TENSOR] < 2 || recipe->axes.sequence_parallel)
    return conf_settings_fail(settings, "megatron.distribute_saved_activations", error,
                              "it needs tensor ranks without parallel.sequence_parallel");
  return recipe->checkpointing.kind == PLAN_CHECKPOINT_FULL ||
         conf_settings_fail(settings, "megatron.distribute_saved_activations", error,
                            "it needs training.activation_checkpointing = full");
}

/* Sources: megatron/core/tensor_parallel/layers.py; transformer/attention.py, of fewer key heads than ranks. */
static void fill_share(const PlanRecipe *recipe, ModelShare *share) {
  const PlanMegatron *options = &recipe->megatron;
  share->keys = MODEL_KEYS_GATHERED;
  share->overlap = options->tp_comm_overlap ? MODEL_OVERLAP_CHUNKS : MODEL_OVERLAP_NONE;
  share->context_kind = options->context_kind;
  share->dispatch = options->dispatch;
  share->expert_nodes = plan_groups_expert_nodes(recipe);
  share->zigzag = TRUE;
  share->async_gradient = TRUE;
  share->gathers_again = TRUE;
  share->distributes_saved = options->distributes_saved;
  share->vocabulary_multiple = options->vocabulary_multiple;
}

/* ---- Pipeline ---- */

static gboolean check_pipeline(const ConfSettings *settings, const PlanRecipe *recipe, GError **error) {
  static const char *const of_pipelines[] = {
      "megatron.decoder_first_pipeline_num_layers", "megatron.decoder_last_pipeline_num_layers",
      "megatron.account_for_embedding_in_pipeline_split", "megatron.account_for_loss_in_pipeline_split"};
  for (gsize i = 0; i < G_N_ELEMENTS(of_pipelines) && stages_of(recipe) == 1; i++)
    if (conf_settings_given(settings, of_pipelines[i]))
      return conf_settings_fail(settings, of_pipelines[i], error, "there is no pipeline; give parallel.pipeline");
  if (!is_interleaved(recipe) && recipe->megatron.micro_batch_group > 0)
    return conf_settings_fail(settings, "megatron.microbatch_group_size_per_virtual_pipeline_stage", error,
                              "it is of the interleaved schedule; give parallel.interleave");
  if (!is_interleaved(recipe) && recipe->megatron.overlap_p2p &&
      conf_settings_given(settings, "megatron.overlap_p2p_communication"))
    return conf_settings_fail(settings, "megatron.overlap_p2p_communication", error,
                              "only the interleaved schedule overlaps; give parallel.interleave");
  return !is_interleaved(recipe) || recipe->megatron.overlap_p2p || stages_of(recipe) > 2 ||
         conf_settings_fail(settings, "megatron.overlap_p2p_communication", error,
                            "without overlap the interleaved schedule needs a pipeline of more than 2");
}

/* Without overlap sends and receives of a neighbour are one call (batch_isend_irecv), after which the host waits for
 * the device (batch_p2p_sync). The interleaved schedule exchanges with both neighbours so; each then waits for its
 * own. */
static gboolean fill_pipeline(const ConfSettings *settings, PlanRecipe *recipe, GError **error) {
  gboolean overlaps = is_interleaved(recipe) && recipe->megatron.overlap_p2p;
  g_autoptr(GError) fault = NULL;
  recipe->pipeline = (PlanPipeline){.batches = !is_interleaved(recipe),
                                    .waits_for_sends = !is_interleaved(recipe),
                                    .blocks = !overlaps,
                                    .early = overlaps,
                                    .keeps_outputs = !recipe->megatron.deallocates};
  if (!is_interleaved(recipe) ||
      plan_schedule_group_megatron(stages_of(recipe), (guint32)recipe->gradient_accumulation,
                                   (guint32)recipe->megatron.micro_batch_group, &recipe->pipeline.group, &fault))
    return TRUE;
  gboolean asked = recipe->megatron.micro_batch_group > 0;
  return conf_settings_fail(
      settings, asked ? "megatron.microbatch_group_size_per_virtual_pipeline_stage" : "training.gradient_accumulation",
      error, "%s", fault->message);
}

gboolean plan_megatron_spread(const ModelShape *shape, const PlanRecipe *recipe, guint32 *ret_bounds, GError **error) {
  const PlanMegatron *options = &recipe->megatron;
  PlanStagesMegatron how = {.ranks = stages_of(recipe),
                            .chunks = recipe->axes.chunks,
                            .first = (guint32)options->first_layers,
                            .last = (guint32)options->last_layers,
                            .count_embedding = options->counts_embedding,
                            .count_loss = options->counts_loss};
  return plan_stages_megatron((guint32)shape->layers, &how, ret_bounds, error);
}

/* ---- All of it ---- */

gboolean plan_megatron_resolve(const PlanGiven *given, PlanRecipe *recipe, GError **error) {
  const ConfSettings *settings = given->settings;
  PlanMegatron *options = &recipe->megatron;
  int precision = given->model->precision;
  if (given->model->loss == MODEL_LOSS_VOCAB_PARALLEL)
    given->model->loss = MODEL_LOSS_IN_PLACE; /* Megatron-Core's own is */
  options->parameter_bytes = model_precision_bytes(precision);
  options->gradient_bytes = plan_dtype_bytes(
      recipe->accumulation_dtype, precision == MODEL_FP16 ? options->parameter_bytes : (guint32)sizeof(float));
  if (!conf_settings_given(settings, "training.gradient_clipping"))
    recipe->gradient_clipping = USUAL_CLIPPING;
  if (plan_dtype_bytes(recipe->communication_dtype, options->gradient_bytes) != options->gradient_bytes)
    return conf_settings_fail(settings, "training.gradient_communication_dtype", error,
                              "Megatron reduces its gradient buffer as it is; set gradient_accumulation_dtype");
  /* The loss scale looks for what overflows. */
  if (precision == MODEL_FP16 && !conf_settings_given(settings, "megatron.check_for_nan_in_grad"))
    options->checks_gradients = FALSE;
  given->model->experts_by_engine = TRUE;
  given->model->layer_functions = TRUE;
  options->stands_in = options->gradient_accumulation_fusion;
  given->model->wgrad_bytes = options->gradient_accumulation_fusion ? 2 * options->gradient_bytes : 0;
  fill_share(recipe, &given->model->share);
  given->model->fp8_pads = !options->router_pads;
  return check_data(settings, recipe, error) && check_fp8(given, recipe, error) && check_tensor(given, recipe, error) &&
         check_pipeline(settings, recipe, error) && fill_pipeline(settings, recipe, error) &&
         plan_policy_refuse(settings, "parallel.framework_version", recipe,
                            "is modelled as of core 0.12 on; no version", error);
}

static void note_axes(const PlanRecipe *recipe, GPtrArray *notes) {
  const PlanMegatron *options = &recipe->megatron;
  gboolean beside = is_interleaved(recipe) && options->overlap_p2p;
  if (stages_of(recipe) > 1)
    g_ptr_array_add(notes, g_strdup(beside ? "megatron: stages receive beside compute, from the pass before on "
                                             "(overlap_p2p_communication)"
                                           : "megatron: after each exchange between stages the host waits for the "
                                             "device (batch_p2p_sync)"));
  if (recipe->axes.layout.degree[LAYOUT_TENSOR] > 1)
    g_ptr_array_add(notes, g_strdup_printf("megatron: the vocabulary is padded to a multiple of %" G_GUINT64_FORMAT
                                           " x %u tensor ranks",
                                           options->vocabulary_multiple, recipe->axes.layout.degree[LAYOUT_TENSOR]));
  if (recipe->experts_apart)
    g_ptr_array_add(notes, g_strdup_printf("megatron: experts have buffers and an optimizer of their own, over the %u "
                                           "ranks that hold the same ones; rows come by %s "
                                           "(moe_token_dispatcher_type)",
                                           layout_group_size(&recipe->axes.layout, LAYOUT_EXPERT_DATA),
                                           options->dispatch == MODEL_DISPATCH_GATHER ? "all-gather"
                                           : options->dispatch == MODEL_DISPATCH_FLEX ? "DeepEP's exchange"
                                                                                      : "all-to-all"));
}

void plan_megatron_note(const PlanRecipe *recipe, GPtrArray *notes) {
  const PlanMegatron *options = &recipe->megatron;
  g_ptr_array_add(
      notes, g_strdup_printf("megatron: gradients of %u bytes in one buffer, reduced %s; norms clipped at %g, read "
                             "by the host each step",
                             options->gradient_bytes,
                             options->overlap_grad_reduce ? "as backward fills buckets" : "after backward",
                             recipe->gradient_clipping));
  if (options->checks_gradients)
    g_ptr_array_add(notes, g_strdup("megatron: the host looks for NaN in each bucket before it is reduced "
                                    "(check_for_nan_in_grad)"));
  if (recipe->zero_stage == 1)
    g_ptr_array_add(notes, g_strdup(options->overlap_param_gather
                                        ? "megatron: parameters are gathered in the next forward, bucket by bucket"
                                        : "megatron: parameters are gathered after the step, which nothing hides"));
  if (options->fp8_param_gather)
    g_ptr_array_add(notes, g_strdup("megatron: parameters of linear layers are kept and gathered in fp8 "
                                    "(fp8_param_gather)"));
  note_axes(recipe, notes);
}
