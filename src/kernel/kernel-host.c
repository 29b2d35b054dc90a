/* SPDX-License-Identifier: MIT */
/* Host time by operation, from the catalogue's figures of the CPU. */
#include "kernel-host.h"

#include "hw-catalog.h"

static SimTime per_launch(const HwHost *host, const KernelOp *op) {
  if (op->compiled)
    return host->compiled_kernel;
  if (op->kind == KERNEL_MATMUL)
    return host->matmul;
  return op->pass == KERNEL_FORWARD ? host->forward_kernel : host->backward_kernel;
}

/* A matmul of several launches is a loop below Python: what each further one takes. */
static SimTime further_launch(const HwHost *host, const KernelOp *op) {
  return op->kind == KERNEL_MATMUL && !op->compiled ? host->forward_kernel : per_launch(host, op);
}

SimTime kernel_host_time(const HwHost *host, const KernelOp *op) {
  return host != NULL ? per_launch(host, op) + (kernel_launches(op) - 1) * further_launch(host, op) : 0;
}

SimTime kernel_host_cost(const HwHost *host, KernelHostCost what) {
  if (host == NULL)
    return 0;
  const SimTime costs[] = {
      [KERNEL_HOST_LAYER_FUNCTION] = host->layer_function,
      [KERNEL_HOST_CHECKPOINT] = host->checkpoint,
      [KERNEL_HOST_COLLECTIVE] = host->collective,
      [KERNEL_HOST_CHECK] = host->check,
      [KERNEL_HOST_CHECKED_RANK] = host->checked_rank,
      [KERNEL_HOST_CHECKED_RANK_FAR] = host->checked_rank_far,
      [KERNEL_HOST_FSDP_UNIT] = host->fsdp_unit,
      [KERNEL_HOST_DEEPSPEED_MODULE] = host->deepspeed_module,
      [KERNEL_HOST_GRADIENT_HOOK] = host->gradient_hook,
      [KERNEL_HOST_OPTIMIZER_STEP] = host->optimizer_step,
      [KERNEL_HOST_OPTIMIZER_TENSOR] = host->optimizer_tensor,
      [KERNEL_HOST_COPY] = host->copy,
      [KERNEL_HOST_LISTED_RANK] = host->listed_rank,
      [KERNEL_HOST_MICRO_BATCH] = host->micro_batch,
      [KERNEL_HOST_PASS] = host->forward_kernel,
  };
  return costs[what];
}
