/* How long one operation takes on a device: a roofline over the catalogue's sustained figures.
 *
 *   time = floor + max(flops / sustained matmul rate, bytes / sustained bandwidth)
 *
 * MATMUL and ATTENTION run at the sustained matmul rate of their dtype, MEMORY by bytes alone.
 *
 *   SimTime t = kernel_time(gpu, &op);   // O(1) */
#pragma once

#include "base-quantity.h"
#include "hw-catalog.h"
#include "kernel-op.h"

/* The device must have the dtype (kernel_supports); else a broken contract. */
SimTime kernel_time(const HwGpu *gpu, const KernelOp *op);
gboolean kernel_supports(const HwGpu *gpu, KernelDtype dtype);
/* Data-sheet dense FLOP/s, what MFU divides by. */
double kernel_peak(const HwGpu *gpu, KernelDtype dtype);
