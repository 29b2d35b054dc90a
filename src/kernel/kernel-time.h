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

/* What collectives on the same device leave to a kernel: SMs that their CTAs hold, and the share of the device's memory
 * bandwidth that they do not take. {0, 1} is the whole device. */
typedef struct {
  double busy_sms;
  double bandwidth; /* 0 to 1 */
} KernelShare;

/* Never shorter with more busy SMs or less bandwidth. At least one SM and KERNEL_LEAST_BANDWIDTH are always left. */
#define KERNEL_LEAST_BANDWIDTH 0.05
SimTime kernel_time_shared(const HwGpu *gpu, const KernelOp *op, KernelShare share);
/* Beside collectives that hold `channels` CTAs and move `memory_rate` bytes/s to and from device memory. */
KernelShare kernel_share_beside(const HwGpu *gpu, guint32 channels, double memory_rate);
gboolean kernel_supports(const HwGpu *gpu, KernelDtype dtype);
/* Data-sheet dense FLOP/s, what MFU divides by. */
double kernel_peak(const HwGpu *gpu, KernelDtype dtype);
