/* SPDX-License-Identifier: MIT */
/* Rows of the table of measured kernels: read, predicted, summed up by quantiles. */
#include "kernel-table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double kernel_column(char **cells, int i) {
  return *cells[i] != '\0' ? g_ascii_strtod(cells[i], NULL) : 0;
}

static gboolean kernel_sample_read(const char *line, KernelSample *ret) {
  g_auto(GStrv) cells = g_strsplit(line, ",", -1);
  if (g_strv_length(cells) != 15)
    return FALSE;
  KernelSample sample = {.seconds = 1e-6 * kernel_column(cells, 14)};
  g_strlcpy(sample.gpu, cells[0], sizeof sample.gpu);
  g_strlcpy(sample.source, cells[1], sizeof sample.source);
  g_strlcpy(sample.style, cells[4], sizeof sample.style);
  sample.sustained = strcmp(cells[2], "sustained") == 0;
  sample.both = strcmp(cells[5], "both") == 0;
  sample.quantised = strcmp(cells[4], "quantised") == 0;
  KernelOp *op = &sample.op;
  op->kind = (KernelKind)base_names_find(kernel_kind_names, cells[3]);
  op->pass = strcmp(cells[5], "wgrad") == 0   ? KERNEL_WGRAD
             : strcmp(cells[5], "dgrad") == 0 ? KERNEL_DGRAD
                                              : KERNEL_FORWARD;
  op->dtype = (KernelDtype)base_names_find(kernel_dtype_names, cells[6]);
  op->batch = (guint64)kernel_column(cells, 7);
  op->m = (guint64)kernel_column(cells, 8);
  op->n = (guint64)kernel_column(cells, 9);
  op->k = (guint64)kernel_column(cells, 10);
  op->flash = strcmp(cells[4], "flash1") == 0 ? KERNEL_FLASH_1 : KERNEL_FLASH_USUAL;
  op->causal = kernel_column(cells, 11) > 0;
  op->bytes = (guint64)kernel_column(cells, 12);
  op->launches = (guint32)kernel_column(cells, 13);
  if (op->kind == KERNEL_MATMUL) {
    double e = kernel_dtype_bytes(op->dtype), m = (double)op->m, n = (double)op->n, k = (double)op->k;
    /* fp8 writes 16 bits; a wgrad that accumulates reads what it adds to. */
    double c = strcmp(cells[4], "accumulate-fp32") == 0 ? 8 : strcmp(cells[4], "accumulate-bf16") == 0 ? 4 : MAX(e, 2);
    op->bytes = (guint64)((double)op->batch * (e * (m * k + k * n) + c * m * n));
  }
  *ret = sample;
  return TRUE;
}

GArray *kernel_table_load(const char *path) {
  g_autofree char *text = NULL;
  GError *error = NULL;
  if (!g_file_get_contents(path, &text, NULL, &error))
    g_error("%s", error->message);
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  GArray *samples = g_array_new(FALSE, FALSE, sizeof(KernelSample));
  KernelSample sample;
  for (guint i = 1; lines[i] != NULL; i++)
    if (kernel_sample_read(lines[i], &sample))
      g_array_append_val(samples, sample);
  return samples;
}

HwFlash kernel_sample_flash(const KernelSample *sample) {
  return sample->op.flash == KERNEL_FLASH_1 || strcmp(sample->style, "flash2") == 0 ? HW_FLASH_2 : HW_FLASH_3;
}

double kernel_sample_predict(const HwGpu *gpu, const KernelSample *sample) {
  HwGpu device = *gpu;
  KernelOp op = sample->op;
  if (op.kind == KERNEL_ATTENTION)
    device.attention[HW_FLASH_2] = device.attention[HW_FLASH_3] = gpu->attention[kernel_sample_flash(sample)];
  SimTime (*time)(const HwGpu *, const KernelOp *) = sample->sustained ? kernel_time : kernel_time_burst;
  SimTime total = 0;
  if (sample->both && op.kind == KERNEL_ATTENTION) { /* of the bytes of both a quarter is forward's */
    op.bytes = sample->op.bytes / 4;
    total = time(&device, &op);
    op.pass = KERNEL_DGRAD;
    op.bytes = sample->op.bytes - op.bytes;
  }
  total += time(&device, &op);
  if (sample->quantised) {
    KernelOp cast = {.kind = KERNEL_MEMORY, .dtype = KERNEL_BF16, .batch = 1, .bytes = 3 * op.m * op.k};
    total += time(&device, &cast);
  }
  return sim_time_to_seconds(total);
}

static int kernel_compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double kernel_quantile(double *values, guint n, double share) {
  if (n == 0)
    return 0;
  qsort(values, n, sizeof *values, kernel_compare_doubles);
  return values[MIN(n - 1, (guint)(share * n))];
}
