/* SPDX-License-Identifier: MIT */
/* What a trace's matmuls say of the GPU: how much faster or slower they are than the catalogue foretells.
 *
 *   ImportKinetoKernels found;
 *   if (!import_kineto_kernels(set, "dgx-h100", &found, error)) return FALSE;
 *   if (found.fitted) … found.rate …                           // 0.93, for [node] matmul_rate of an overlay
 *
 * Looked at are PyTorch's matmuls of at least IMPORT_KINETO_MATMUL FLOP whose shapes the profiler noted
 * (record_shapes=True) and all kernels of which are in the file; a call's time is that of its kernels together.
 * On a GPU that has TF32, operands of 32 bits are left out: whether they ran in fp32 or in TF32 no trace says, and
 * the two are a factor of eight apart. The rate is that with which half of the calls are foretold slower than
 * measured, by the kernel model with its floors. It is not taken where it ends at a limit (IMPORT_KINETO_RATE_LEAST,
 * or the GPU's peak: the trace is of another GPU, or something else than the rate is amiss), nor where the sum of
 * relative errors does not fall. Steps are never looked at. Cost: some sixteen clusters. */
#pragma once

#include "import-kineto-program.h"

#define IMPORT_KINETO_MATMUL     1e9
#define IMPORT_KINETO_RATE_LEAST 0.25

typedef struct {
  guint calls; /* looked at */
  guint wide;  /* of 32-bit operands, left out */
  gboolean fitted, at_limit;
  double rate;          /* of the catalogue's */
  double before, after; /* median of |foretold / measured - 1| */
} ImportKinetoKernels;

/* Errors: the topology's. No such matmuls: calls is 0. */
gboolean import_kineto_kernels(const ImportKinetoSet *set, const char *topology, ImportKinetoKernels *ret,
                               GError **error);
