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
} KernelDevice;

/* Each in seconds. The forms are described beside the definitions. */
double kernel_matmul_seconds(const HwMatmul *form, const KernelDevice *device, const KernelOp *op);
double kernel_attention_seconds(const HwAttention *form, const KernelDevice *device, const KernelOp *op);
