/* SPDX-License-Identifier: MIT */
/* [ddp] and what follows from it. Defaults: torch/nn/parallel/distributed.py and reducer.hpp
 * (kDefaultFirstBucketBytes). */
#include "plan-ddp.h"

#include "plan-policy.h"

#define MOST_BUCKET                    0x1p40 /* 1 TiB: products stay far inside 64 bits */
#define KEY(key_, kind_, member_, ...) BASE_ROW("ddp", key_, kind_, PlanDdp, member_, __VA_ARGS__)

static const BaseField keys[] = {
    KEY("bucket_cap", BASE_BYTES, bucket_cap, .min = 1, .max = MOST_BUCKET, .initial = "25 MiB",
        .help = "a bucket of gradients closes once it holds so much (bucket_cap_mb)"),
    KEY("first_bucket_cap", BASE_BYTES, first_bucket_cap, .min = 1, .max = MOST_BUCKET, .initial = "1 MiB",
        .help = "the same of the first bucket to be ready; bucket_cap where only that is given"),
    KEY("gradient_as_bucket_view", BASE_FLAG, gradient_as_bucket_view, .initial = "no",
        .help = "gradients live in the buckets: no second copy of them"),
    KEY("find_unused_parameters", BASE_FLAG, find_unused_parameters, .initial = "no",
        .help = "buckets stay in order of definition, and a map of used parameters is reduced too"),
    KEY("no_sync", BASE_FLAG, no_sync, .initial = "yes",
        .help = "gradients are reduced in the last micro-batch alone; no: in each"),
    KEY("autocast", BASE_FLAG, autocast, .initial = "yes",
        .help = "16-bit training keeps fp32 parameters and gradients and casts weights for each micro-batch; no: "
                "parameters, gradients and momenta are 16 bits"),
};
const ConfSchema plan_ddp_schema = {keys, G_N_ELEMENTS(keys)};

gboolean plan_ddp_resolve(const PlanGiven *given, PlanRecipe *recipe, GError **error) {
  const ConfSettings *settings = given->settings;
  if (recipe->zero_stage != 0)
    return conf_settings_fail(settings, "parallel.zero_stage", error,
                              "framework ddp shards nothing: stage 0; deepspeed, fsdp1, fsdp2 and megatron shard");
  if (recipe->ddp.autocast) {
    given->model->base_storage = sizeof(float);
    given->model->autocast = model_precision_bytes(given->model->precision) < sizeof(float);
  }
  if (conf_settings_given(settings, "ddp.bucket_cap") && !conf_settings_given(settings, "ddp.first_bucket_cap"))
    recipe->ddp.first_bucket_cap = recipe->ddp.bucket_cap;
  return plan_policy_refuse(settings, "training.gradient_accumulation_dtype", recipe,
                            "accumulates gradients in the dtype of parameters; see ddp.autocast", error) &&
         plan_policy_refuse(settings, "parallel.framework_version", recipe, "is modelled as of PyTorch 2; no version",
                            error) &&
         (recipe->shard_ranks == recipe->ranks ||
          plan_policy_refuse(settings, "parallel.shard_group", recipe, "shards nothing", error));
}

void plan_ddp_note(const PlanRecipe *recipe, GPtrArray *notes) {
  g_ptr_array_add(notes, g_strdup("ddp: the loss is read after each step; gradients are set to none after it"));
  if (recipe->gradient_accumulation > 1 && !recipe->ddp.no_sync)
    g_ptr_array_add(notes, g_strdup("ddp: gradients are reduced in every micro-batch"));
}
