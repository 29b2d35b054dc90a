/* SPDX-License-Identifier: MIT */
/* What operations and launches of a trace took, each beside the operation that the kernel model is asked for. Private
 * to this floor. */
#pragma once

#include "import-kineto-read.h"

typedef struct {
  KernelOp op;
  SimTime measured;
  guint32 launches, matmuls; /* kernels of it; beside it, matmuls of one launch each */
  gboolean in_fp32, in_tf32; /* a kernel's name says so */
} ImportKinetoSample;

/* Shaped operations by the time of their kernels, appended to ImportKinetoSample of `samples`; those of which a kernel
 * is missing are passed. Matmuls of 32-bit operands are of TF32 where their kernels' names say so. */
void import_kineto_sample_kernels(const ImportKinetoTrace *trace, GArray *samples);
/* Stretches of IMPORT_KINETO_STRETCH launches each, for kernel_host_time: op.launches are those of no matmuls. */
void import_kineto_sample_issues(const ImportKinetoTrace *trace, GArray *samples);
