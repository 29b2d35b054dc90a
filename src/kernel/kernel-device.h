/* SPDX-License-Identifier: MIT */
/* What a kernel has of a device: rates and SMs after clocks, contention and faults. For this floor alone. */
#pragma once

#include "hw-catalog.h"
#include "kernel-op.h"

typedef struct {
  double sms;       /* of the whole device */
  double free_sms;  /* that are left */
  double bandwidth; /* bytes/s that are left of the sustained */
  double rate;      /* FLOP/s in large matmuls of the op's dtype, whole device, short burst */
  double peak;      /* data sheet: nothing runs faster */
  gboolean burst;   /* clocks before the power limit acts */
  const HwGpu *gpu; /* whose power limit it is */
} KernelDevice;

/* Share of its rate in a burst that a kernel keeps for long under the GPU's power limit: `sustained`, which its section
 * says, where that is the limit that it was measured at. `activity`: its rate, of a matmul's; of kernels that met no
 * limit it tells what they draw. */
double kernel_power_rate(const HwGpu *gpu, double sustained, double activity);

/* What such a kernel draws there, watts: the limit, or what it wants at the boost clock where that is less. */
double kernel_power_draw(const HwGpu *gpu, double sustained, double activity);

/* Each in seconds. The forms are described beside the definitions. */
double kernel_matmul_seconds(const HwMatmul *form, const KernelDevice *device, const KernelOp *op);
double kernel_attention_seconds(const HwAttention *form, const KernelDevice *device, const KernelOp *op);
