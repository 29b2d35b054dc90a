/* SPDX-License-Identifier: MIT */
/* What a device is asked to do: one operation, by kind and shape. Plain data, no times. */
#pragma once

#include <glib.h>

typedef enum { KERNEL_FP32, KERNEL_TF32, KERNEL_FP16, KERNEL_BF16, KERNEL_FP8, KERNEL_DTYPES } KernelDtype;
extern const char *const kernel_dtype_names[]; /* "fp32", "tf32", "fp16", "bf16", "fp8" */
/* Bytes of an element as it is stored: tf32 is stored as fp32. */
guint32 kernel_dtype_bytes(KernelDtype dtype);

typedef enum {
  KERNEL_MATMUL,
  KERNEL_ATTENTION, /* flash: one kernel over queries and keys */
  KERNEL_MEMORY,    /* elementwise and copies: streams in, streams out */
  KERNEL_NORM,
  KERNEL_ROTARY, /* elementwise over halves of heads: slices and copies out of order */
  KERNEL_SOFTMAX,
  KERNEL_LOSS,      /* cross-entropy over a vocabulary */
  KERNEL_GATHER,    /* embedding: rows by index, and their gradients back */
  KERNEL_OPTIMIZER, /* many tensors in, many out */
  KERNEL_REDUCTION, /* a norm of many tensors */
  KERNEL_KINDS
} KernelKind;
extern const char *const kernel_kind_names[];

/* Whose flash attention: what frameworks call on the GPU; the first FlashAttention, in Triton; FlashAttention-2;
 * FlashAttention-3 or cuDNN's, where the GPU has them. */
typedef enum { KERNEL_FLASH_USUAL, KERNEL_FLASH_1, KERNEL_FLASH_2, KERNEL_FLASH_3 } KernelFlash;

typedef enum { KERNEL_FORWARD, KERNEL_DGRAD, KERNEL_WGRAD, KERNEL_PASSES } KernelPass;

typedef struct KernelOp {
  KernelKind kind;
  KernelDtype dtype; /* of the arithmetic */
  guint64 batch;     /* equal problems side by side, >= 1 */
  guint64 m, n,
      k; /* MATMUL: C[m,n] = A[m,k] B[k,n]. ATTENTION: m queries, n keys, k head dimension; batch = sequences × heads */
  double flops;         /* executed, MAC = 2; causal flash attention counts half */
  guint64 bytes;        /* least traffic to device memory, read and written */
  KernelPass pass;      /* which way; DGRAD is any backward that is no matmul */
  KernelFlash flash;    /* ATTENTION */
  gboolean causal;      /* ATTENTION: half of the pairs are masked */
  gboolean compiled;    /* issued from a compiled graph: less for the host to do */
  guint32 launches;     /* kernels that it takes; 0 counts as 1 */
  gboolean is_measured; /* it takes measured_ps alone, whatever the form says */
  gint64 measured_ps;
} KernelOp;

static inline guint32 kernel_launches(const KernelOp *op) {
  return MAX(op->launches, 1);
}
