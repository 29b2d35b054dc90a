/* [megatron] and what follows from it. Defaults: megatron/training/arguments.py and
 * megatron/core/distributed/distributed_data_parallel_config.py. */
#include "plan-megatron.h"

#include "plan-policy.h"

#define FIELD(field)   G_STRUCT_OFFSET(PlanMegatron, field)
#define USUAL_CLIPPING 1.0 /* --clip-grad */

static const ConfKey keys[] = {
    {.group = "megatron",
     .key = "overlap_grad_reduce",
     .kind = CONF_FLAG,
     .offset = FIELD(overlap_grad_reduce),
     .initial = "no",
     .help =
         "gradients are reduced bucket by bucket as the last micro-batch's backward fills them; no: in one after it"},
    {.group = "megatron",
     .key = "overlap_param_gather",
     .kind = CONF_FLAG,
     .offset = FIELD(overlap_param_gather),
     .initial = "no",
     .help = "parameters are gathered bucket by bucket in the next forward; no: in one after the step"},
    {.group = "megatron",
     .key = "bucket_size",
     .kind = CONF_COUNT,
     .offset = FIELD(bucket_size),
     .initial = "0",
     .max = 1e12,
     .help = "elements after which a bucket closes; 0: the larger of 40e6 and 1e6 x data-parallel ranks"},
    {.group = "megatron",
     .key = "gradient_accumulation_fusion",
     .kind = CONF_FLAG,
     .offset = FIELD(gradient_accumulation_fusion),
     .initial = "yes",
     .help = "the matmuls of weight gradients add into the gradient buffer"},
    {.group = "megatron",
     .key = "pad_buckets_for_high_nccl_busbw",
     .kind = CONF_FLAG,
     .offset = FIELD(pad_buckets),
     .initial = "no",
     .help = "buckets end on multiples of 65 536 elements"},
    {.group = "megatron",
     .key = "check_for_nan_in_grad",
     .kind = CONF_FLAG,
     .offset = FIELD(checks_gradients),
     .initial = "yes",
     .help = "the host reads the norm of each bucket before it is reduced, and so waits for backward; no: "
             "--no-check-for-nan-in-loss-and-grad"},
    {.group = "megatron",
     .key = "tp_comm_overlap",
     .kind = CONF_LATER,
     .initial = "no",
     .help = "overlap of tensor parallelism"},
};
const ConfSchema plan_megatron_schema = {keys, G_N_ELEMENTS(keys)};

static gboolean check_combinations(const ConfSettings *settings, const PlanRecipe *recipe, GError **error) {
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

gboolean plan_megatron_resolve(const PlanGiven *given, PlanRecipe *recipe, GError **error) {
  const ConfSettings *settings = given->settings;
  PlanMegatron *options = &recipe->megatron;
  int precision = given->model->precision;
  if (precision == MODEL_FP8)
    return conf_settings_fail(settings, "training.precision", error,
                              "Transformer Engine's fp8, as Megatron has it, is not modelled: it keeps weights and "
                              "activations cast over micro-batches");
  options->parameter_bytes = model_precision_bytes(precision);
  options->gradient_bytes = plan_dtype_bytes(
      recipe->accumulation_dtype, precision == MODEL_FP16 ? options->parameter_bytes : (guint32)sizeof(float));
  if (!conf_settings_given(settings, "training.gradient_clipping"))
    recipe->gradient_clipping = USUAL_CLIPPING;
  if (plan_dtype_bytes(recipe->communication_dtype, options->gradient_bytes) != options->gradient_bytes)
    return conf_settings_fail(settings, "training.gradient_communication_dtype", error,
                              "Megatron reduces its gradient buffer as it is; set gradient_accumulation_dtype");
  return check_combinations(settings, recipe, error) &&
         plan_policy_refuse(settings, "parallel.framework_version", recipe,
                            "is modelled as of core 0.12 on; no version", error);
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
}
