/* SPDX-License-Identifier: MIT */
/* Names and sizes of operation kinds and dtypes. */
#include "kernel-op.h"

const char *const kernel_dtype_names[] = {"fp32", "tf32", "fp16", "bf16", "fp8", NULL};
const char *const kernel_kind_names[] = {"matmul", "attention", "memory",    "norm",      "rotary", "softmax",
                                         "loss",   "gather",    "optimizer", "reduction", NULL};

guint32 kernel_dtype_bytes(KernelDtype dtype) {
  static const guint32 bytes[KERNEL_DTYPES] = {
      [KERNEL_FP32] = 4, [KERNEL_TF32] = 4, [KERNEL_FP16] = 2, [KERNEL_BF16] = 2, [KERNEL_FP8] = 1};
  return bytes[dtype];
}
