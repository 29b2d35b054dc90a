/* SPDX-License-Identifier: MIT */
/* Which scales fp8 has under a framework, and on a GPU. Sources: torchao/float8/config.py and prototype/mx_formats;
 * megatron/training/arguments.py (--fp8-recipe, delayed where it is not given) and core/fp8_utils.py. */
#include "plan-policy.h"

static gboolean is_megatron(const PlanRecipe *recipe) {
  return recipe->framework == PLAN_MEGATRON;
}

static gboolean check_scaling(const PlanGiven *given, const PlanRecipe *recipe, guint32 capability, GError **error) {
  int scaling = given->model->fp8_scaling;
  const char *key = "training.fp8_scaling", *name = plan_policies[recipe->framework].name;
  if (scaling == MODEL_FP8_ROWWISE && is_megatron(recipe))
    return conf_settings_fail(given->settings, key, error,
                              "rowwise is torchao's; framework megatron has delayed, tensorwise and mxfp8");
  if (scaling == MODEL_FP8_DELAYED && !is_megatron(recipe))
    return conf_settings_fail(given->settings, key, error,
                              "delayed is Transformer Engine's, of framework megatron; %s has tensorwise, rowwise and "
                              "mxfp8",
                              name);
  if (scaling == MODEL_FP8_MX && capability > 0 && capability < MODEL_FP8_MX_SINCE)
    return conf_settings_fail(given->settings, key, error,
                              "mxfp8 needs a GPU of compute capability 10.0 (Blackwell); this one has %u.%u",
                              capability / 10, capability % 10);
  return scaling == MODEL_FP8_TENSORWISE || is_megatron(recipe) || given->model->kernels == MODEL_KERNELS_FUSED ||
         conf_settings_fail(given->settings, key, error,
                            "casts of rowwise and mxfp8 by separate kernels are not modelled; set "
                            "training.compile=yes");
}

gboolean plan_fp8_resolve(const PlanGiven *given, const PlanRecipe *recipe, guint32 capability, GError **error) {
  ModelRecipe *model = given->model;
  gboolean fp8 = model->precision == MODEL_FP8;
  if (!fp8 && model->fp8_scaling != MODEL_FP8_DEFAULT)
    return conf_settings_fail(given->settings, "training.fp8_scaling", error, "it is of training.precision=fp8");
  if (!fp8)
    return TRUE;
  if (model->fp8_scaling == MODEL_FP8_DEFAULT)
    model->fp8_scaling = is_megatron(recipe) ? MODEL_FP8_DELAYED : MODEL_FP8_TENSORWISE;
  model->fp8_engine = is_megatron(recipe);
  model->fp8_turns = capability < MODEL_FP8_ANY_ORDER_SINCE;
  return check_scaling(given, recipe, capability, error);
}
