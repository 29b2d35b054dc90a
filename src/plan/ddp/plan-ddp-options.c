/* [ddp] and what follows from it. Defaults: torch/nn/parallel/distributed.py and reducer.hpp
 * (kDefaultFirstBucketBytes). */
#include "plan-ddp.h"

#include "plan-policy.h"

#define FIELD(field) G_STRUCT_OFFSET(PlanDdp, field)

static const ConfKey keys[] = {
    {.group = "ddp",
     .key = "bucket_cap",
     .kind = CONF_BYTES,
     .offset = FIELD(bucket_cap),
     .min = 1,
     .initial = "25 MiB",
     .help = "a bucket of gradients closes once it holds so much (bucket_cap_mb)"},
    {.group = "ddp",
     .key = "first_bucket_cap",
     .kind = CONF_BYTES,
     .offset = FIELD(first_bucket_cap),
     .min = 1,
     .initial = "1 MiB",
     .help = "the same of the first bucket to be ready; bucket_cap where only that is given"},
    {.group = "ddp",
     .key = "gradient_as_bucket_view",
     .kind = CONF_FLAG,
     .offset = FIELD(gradient_as_bucket_view),
     .initial = "no",
     .help = "gradients live in the buckets: no second copy of them"},
    {.group = "ddp",
     .key = "find_unused_parameters",
     .kind = CONF_FLAG,
     .offset = FIELD(find_unused_parameters),
     .initial = "no",
     .help = "buckets stay in order of definition, and a map of used parameters is reduced too"},
    {.group = "ddp",
     .key = "no_sync",
     .kind = CONF_FLAG,
     .offset = FIELD(no_sync),
     .initial = "yes",
     .help = "gradients are reduced in the last micro-batch alone; no: in each"},
    {.group = "ddp",
     .key = "autocast",
     .kind = CONF_FLAG,
     .offset = FIELD(autocast),
     .initial = "yes",
     .help = "16-bit training keeps fp32 parameters and gradients and casts weights for each micro-batch; no: "
             "parameters, gradients and momenta are 16 bits"},
};
const ConfSchema plan_ddp_schema = {keys, G_N_ELEMENTS(keys)};

gboolean plan_ddp_resolve(const PlanGiven *given, PlanRecipe *recipe, GError **error) {
  const ConfSettings *settings = given->settings;
  if (recipe->zero_stage != 0)
    return conf_settings_fail(settings, "parallel.zero_stage", error,
                              "framework ddp shards nothing: stage 0; deepspeed, fsdp1, fsdp2 and megatron shard");
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
