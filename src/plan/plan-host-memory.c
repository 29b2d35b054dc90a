/* SPDX-License-Identifier: MIT */
/* What offload keeps in host memory: shares of states, by framework. Sources: DeepSpeed's runtime/zero/stage_1_and_2.py
 * and stage3.py (fp32 master, momenta, fp32 gradients; with offload_param 16-bit parameters too), as its estimators
 * count 16 and 18 bytes; PyTorch's FSDP CPU offload (shards, their gradients, the optimizer's states, all of a shard's
 * type). */
#include "plan-optimizer.h"
#include "plan.h"

#define FP32 4

static guint64 share(const ModelShape *shape, const PlanRecipe *recipe) {
  return (model_shape_parameters(shape) + recipe->shard_ranks - 1) / recipe->shard_ranks;
}

static gboolean is_fsdp(const PlanRecipe *recipe) {
  return recipe->framework == PLAN_FSDP1 || recipe->framework == PLAN_FSDP2;
}

guint64 plan_host_bytes(const ModelShape *shape, const ModelRecipe *model_recipe, const PlanRecipe *recipe) {
  gboolean adapters = model_recipe->lora.rank > 0; /* states of what is trained alone are next to nothing then */
  guint64 own = share(shape, recipe), trained = adapters ? 0 : own, bytes = 0;
  if (is_fsdp(recipe) && recipe->fsdp.offloads)
    return own * recipe->fsdp.shard_bytes + trained * recipe->fsdp.shard_bytes +
           plan_optimizer_bytes(recipe->optimizer, trained, recipe->fsdp.shard_bytes, FALSE);
  if (recipe->offload_optimizer)
    bytes += trained * FP32 + plan_optimizer_bytes(recipe->optimizer, trained, FP32, TRUE);
  if (recipe->offload_parameters)
    bytes += own * model_precision_bytes(model_recipe->precision);
  return bytes;
}
