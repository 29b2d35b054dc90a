/* SPDX-License-Identifier: MIT */
/* Host costs under the model's names. */
#include "model-host.h"

#include "kernel-host.h"

SimTime model_op_host(const ModelOp *op, const struct HwHost *host) {
  return kernel_host_time(host, op->kernel);
}

SimTime model_host_cost(const struct HwHost *host, ModelHostCost what) {
  static const KernelHostCost costs[] = {
      [MODEL_HOST_LAYER_FUNCTION] = KERNEL_HOST_LAYER_FUNCTION,
      [MODEL_HOST_CHECKPOINT] = KERNEL_HOST_CHECKPOINT,
      [MODEL_HOST_COLLECTIVE] = KERNEL_HOST_COLLECTIVE,
      [MODEL_HOST_CHECK] = KERNEL_HOST_CHECK,
      [MODEL_HOST_CHECKED_RANK] = KERNEL_HOST_CHECKED_RANK,
      [MODEL_HOST_CHECKED_RANK_FAR] = KERNEL_HOST_CHECKED_RANK_FAR,
      [MODEL_HOST_FSDP_UNIT] = KERNEL_HOST_FSDP_UNIT,
      [MODEL_HOST_DEEPSPEED_MODULE] = KERNEL_HOST_DEEPSPEED_MODULE,
      [MODEL_HOST_GRADIENT_HOOK] = KERNEL_HOST_GRADIENT_HOOK,
      [MODEL_HOST_OPTIMIZER_STEP] = KERNEL_HOST_OPTIMIZER_STEP,
      [MODEL_HOST_OPTIMIZER_TENSOR] = KERNEL_HOST_OPTIMIZER_TENSOR,
      [MODEL_HOST_COPY] = KERNEL_HOST_COPY,
      [MODEL_HOST_LISTED_RANK] = KERNEL_HOST_LISTED_RANK,
      [MODEL_HOST_MICRO_BATCH] = KERNEL_HOST_MICRO_BATCH,
      [MODEL_HOST_PASS] = KERNEL_HOST_PASS,
  };
  return kernel_host_cost(host, costs[what]);
}
