/* SPDX-License-Identifier: MIT */
/* The kernel model against published measurements (tests/truth/kernels.csv): median and 90th percentile of the error
 * per GPU, kind and clock, printed, and bounds on them that may only get tighter. */
#include <math.h>

#include "harness.h"
#include "kernel-table.h"

typedef struct {
  const char *gpu, *kind, *style; /* style: of attention; dtype of matmuls */
  const char *clock;              /* burst, long (a burst that ran into the power limit), sustained */
  double median, high;            /* per cent: what was reached, rounded up */
} Bound;

/* Bounds are what the fit reaches, rounded up to the next whole per cent or so. Noise of the measurements themselves:
 * 10 % at the 95th percentile on A100 and H100, 15 to 20 % on B200 and L40S. */
static const Bound bounds[] = {
#include "kernel-bounds.h"
};

static const char *clock_of(const KernelSample *row) {
  gboolean lengthy = row->op.kind == KERNEL_MATMUL && row->seconds > KERNEL_LONG_SECONDS;
  return row->sustained ? "sustained" : lengthy ? "long" : "burst";
}

static const char *style_of(const KernelSample *row) {
  if (row->op.kind == KERNEL_MATMUL)
    return row->op.dtype == KERNEL_FP8 ? "fp8" : row->op.dtype == KERNEL_FP32 ? "fp32" : "16bit";
  if (row->op.kind != KERNEL_ATTENTION)
    return "";
  return row->op.flash == KERNEL_FLASH_1 ? "flash1" : kernel_sample_flash(row) == HW_FLASH_2 ? "flash2" : "flash3";
}

static gboolean is_alike(const KernelSample *a, const KernelSample *b) {
  return strcmp(a->gpu, b->gpu) == 0 && a->op.kind == b->op.kind && strcmp(clock_of(a), clock_of(b)) == 0 &&
         strcmp(style_of(a), style_of(b)) == 0;
}

static const Bound *find_bound(const KernelSample *row) {
  for (guint i = 0; i < G_N_ELEMENTS(bounds); i++)
    if (strcmp(bounds[i].gpu, row->gpu) == 0 && strcmp(bounds[i].kind, kernel_kind_names[row->op.kind]) == 0 &&
        strcmp(bounds[i].style, style_of(row)) == 0 && strcmp(bounds[i].clock, clock_of(row)) == 0)
      return &bounds[i];
  return NULL;
}

static gboolean is_first(const GArray *rows, guint index) {
  for (guint i = 0; i < index; i++)
    if (is_alike(&g_array_index(rows, KernelSample, i), &g_array_index(rows, KernelSample, index)))
      return FALSE;
  return TRUE;
}

static void judge(const HwGpu *gpu, const GArray *rows, guint first) {
  const KernelSample *like = &g_array_index(rows, KernelSample, first);
  g_autofree double *errors = g_new(double, rows->len), *ratios = g_new(double, rows->len);
  guint n = 0;
  for (guint i = first; i < rows->len; i++) {
    const KernelSample *row = &g_array_index(rows, KernelSample, i);
    if (!is_alike(row, like))
      continue;
    ratios[n] = kernel_sample_predict(gpu, row) / row->seconds;
    errors[n] = 100 * fabs(ratios[n] - 1);
    n++;
  }
  double median = kernel_quantile(errors, n, 0.5), high = kernel_quantile(errors, n, 0.9);
  const Bound *bound = find_bound(like);
  printf("    {\"%s\", \"%s\", \"%s\", \"%s\", %.0f, %.0f}, /* %u rows: %.1f %.1f, bias %+.1f %% */\n", like->gpu,
         kernel_kind_names[like->op.kind], style_of(like), clock_of(like), ceil(median + 0.5), ceil(high + 1), n,
         median, high, 100 * (kernel_quantile(ratios, n, 0.5) - 1));
  CU_ASSERT_PTR_NOT_NULL(bound);
  if (bound != NULL) {
    CU_ASSERT_TRUE(median <= bound->median);
    CU_ASSERT_TRUE(high <= bound->high);
  }
}

static void residuals(void) {
  g_autofree char *path = g_build_filename(g_getenv("FORETRAIN_TEST_SOURCE"), "tests", "truth", "kernels.csv", NULL);
  g_autoptr(HwCatalog) catalog = hw_catalog_load(NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(catalog);
  g_autoptr(GArray) rows = kernel_table_load(path);
  CU_ASSERT_TRUE(rows->len > 5000);
  putchar('\n');
  for (guint i = 0; i < rows->len; i++) {
    const HwGpu *gpu = hw_catalog_gpu(catalog, g_array_index(rows, KernelSample, i).gpu, NULL, NULL);
    if (gpu != NULL && is_first(rows, i)) /* rows of devices beside the catalogue serve the forms of their kind alone */
      judge(gpu, rows, i);
  }
}

int main(void) {
  return harness_run("kernel-truth", (HarnessCase[]){{"residuals", residuals}, {NULL, NULL}});
}
