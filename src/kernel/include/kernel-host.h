/* SPDX-License-Identifier: MIT */
/* What an operation costs the thread that issues it.
 *
 *   SimTime t = kernel_host_time(cluster->host, &op);   // O(1)
 *
 * An operation takes one dispatch and launch per kernel; a matmul more than others; a compiled graph less. */
#pragma once

#include "base-quantity.h"
#include "kernel-op.h"

struct HwHost; /* hw-catalog.h */

/* No host: 0, it never limits. */
SimTime kernel_host_time(const struct HwHost *host, const KernelOp *op);

/* What else a step asks of the host. */
typedef enum {
  KERNEL_HOST_LAYER_FUNCTION,
  KERNEL_HOST_CHECKPOINT,
  KERNEL_HOST_COLLECTIVE,
  KERNEL_HOST_CHECK,
  KERNEL_HOST_CHECKED_RANK,
  KERNEL_HOST_CHECKED_RANK_FAR,
  KERNEL_HOST_FSDP_UNIT,
  KERNEL_HOST_DEEPSPEED_MODULE,
  KERNEL_HOST_GRADIENT_HOOK,
  KERNEL_HOST_OPTIMIZER_STEP,
  KERNEL_HOST_OPTIMIZER_TENSOR,
  KERNEL_HOST_COPY,
  KERNEL_HOST_LISTED_RANK,
  KERNEL_HOST_MICRO_BATCH,
  KERNEL_HOST_PASS
} KernelHostCost;
SimTime kernel_host_cost(const struct HwHost *host, KernelHostCost what);
