/* SPDX-License-Identifier: MIT */
/* The table of measured kernels (tests/truth/kernels.csv), row by row, and what the model says of a row.
 *
 *   GArray *samples = kernel_table_load(path);             // KernelSample
 *   double ratio = kernel_sample_predict(gpu, &sample) / sample.seconds;
 *
 * A row is one operation, or a forward and its backward together. */
#pragma once

#include "base-names.h"
#include "kernel-time.h"

#define KERNEL_LONG_SECONDS 3e-3 /* kernels of a burst that last longer run into the power limit within it */

typedef struct {
  char gpu[32], source[96], style[32];
  KernelOp op;
  gboolean sustained; /* measured at the clocks of long loops */
  gboolean both;      /* forward and backward */
  gboolean quantised; /* fp8: a pass over the 16-bit operand that writes the fp8 one is in the time */
  double seconds;
} KernelSample;

/* Exits where the file is not there. */
GArray *kernel_table_load(const char *path);

/* Which of the flash kernels a row was measured on. */
HwFlash kernel_sample_flash(const KernelSample *sample);

double kernel_sample_predict(const HwGpu *gpu, const KernelSample *sample);

/* Of `n` values, which are sorted; share 0.5 is the median. 0 where there are none. */
double kernel_quantile(double *values, guint n, double share);
