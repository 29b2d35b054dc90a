/* What a device is asked to do: one operation, by kind and shape. Plain data, no times. */
#pragma once

#include <glib.h>

typedef enum { KERNEL_FP32, KERNEL_TF32, KERNEL_FP16, KERNEL_BF16, KERNEL_FP8, KERNEL_DTYPES } KernelDtype;
extern const char *const kernel_dtype_names[]; /* "fp32", "tf32", "fp16", "bf16", "fp8" */
/* Bytes of an element as it is stored: tf32 is stored as fp32. */
guint32 kernel_dtype_bytes(KernelDtype dtype);

typedef enum { KERNEL_MATMUL, KERNEL_ATTENTION, KERNEL_MEMORY, KERNEL_KINDS } KernelKind;
extern const char *const kernel_kind_names[]; /* "matmul", "attention", "memory" */

typedef struct KernelOp {
  KernelKind kind;
  KernelDtype dtype; /* of the arithmetic */
  guint64 batch;     /* equal problems side by side, >= 1 */
  guint64 m, n,
      k; /* MATMUL: C[m,n] = A[m,k] B[k,n]. ATTENTION: m queries, n keys, k head dimension; batch = sequences × heads */
  double flops;  /* executed, MAC = 2; causal flash attention counts half */
  guint64 bytes; /* least traffic to device memory, read and written */
} KernelOp;
