/* SPDX-License-Identifier: MIT */
/* The pattern search, its residuals and its sources: what all fits share. */
#include "fit.h"

#include <math.h>
#include <string.h>

#define HOLD_EVERY   3
#define LOSS_MOST    0.6 /* a row further off than this is an outlier and weighs no more */
#define FIRST_STEP   0.3
#define LAST_STEP    0.003
#define STEP_SHRINKS 1.6

/* Measured devices that the catalogue does not list: compute capability, SMs, data sheet's dense 16-bit, fp8 and fp32
 * TFLOP/s, GB/s; sustained rates by the share of the catalogue's nearest. NVIDIA RTX A6000 and RTX PRO 6000 Blackwell
 * Server Edition data sheets (2020, 2025). */
static HwGpu others[] = {
    {.name = "rtx-a6000",
     .compute_capability = 86,
     .sms = 84,
     .peak_fp16 = 155e12,
     .peak_bf16 = 155e12,
     .peak_fp32 = 38.7e12,
     .matmul_fp16 = 115e12,
     .matmul_bf16 = 115e12,
     .matmul_fp32 = 30e12,
     .memory_bandwidth_sustained = 690e9,
     .kernel_floor = 1900000},
    {.name = "rtx-pro-6000",
     .compute_capability = 120,
     .sms = 188,
     .peak_fp16 = 504e12,
     .peak_bf16 = 504e12,
     .peak_fp8 = 1007e12,
     .peak_fp32 = 126e12,
     .matmul_fp16 = 400e12,
     .matmul_bf16 = 400e12,
     .matmul_fp8 = 800e12,
     .matmul_fp32 = 100e12,
     .memory_bandwidth_sustained = 1600e9,
     .kernel_floor = 2000000},
};

GArray *fit_table;
HwCatalog *fit_catalog;

const HwGpu *fit_gpu(const char *name) {
  for (guint i = 0; i < G_N_ELEMENTS(others); i++)
    if (strcmp(others[i].name, name) == 0) {
      others[i].contention = hw_catalog_gpu(fit_catalog, "l40s", NULL, NULL)->contention;
      return &others[i];
    }
  return hw_catalog_gpu(fit_catalog, name, NULL, NULL);
}

void fit_apply(Fit *fit) {
  fit->matmul.floor = (SimTime)round(fit->floor_forward * SIM_MICROSECOND);
  fit->attention.floor_forward = (SimTime)round(fit->floor_forward * SIM_MICROSECOND);
  fit->attention.floor_backward = (SimTime)round(fit->floor_backward * SIM_MICROSECOND);
}

static gboolean is_held(guint row) {
  return row % HOLD_EVERY == HOLD_EVERY - 1;
}

static double loss(Fit *fit) {
  double sum = 0;
  guint n = 0;
  fit_apply(fit);
  for (guint i = 0; i < fit->rows->len; i++) {
    const KernelSample *row = &g_array_index(fit->rows, KernelSample, i);
    if (is_held(i) && fit->rows->len > 30)
      continue;
    sum += MIN(LOSS_MOST, fabs(log(kernel_sample_predict(&fit->gpu, row) / row->seconds)));
    n++;
  }
  return n > 0 ? sum / n : INFINITY;
}

static double turned(const FitKnob *knob, int way, double step) {
  double value = knob->additive ? *knob->value + way * step / 2 : *knob->value * (way > 0 ? 1 + step : 1 / (1 + step));
  return CLAMP(value, knob->least, knob->most);
}

double fit_search(Fit *fit) {
  double best = loss(fit);
  for (double step = FIRST_STEP; step > LAST_STEP;) {
    gboolean better = FALSE;
    for (guint i = 0; i < fit->n_knobs; i++)
      for (int way = -1; way <= 1; way += 2) {
        double old = *fit->knobs[i].value;
        *fit->knobs[i].value = turned(&fit->knobs[i], way, step);
        double now = *fit->knobs[i].value != old ? loss(fit) : INFINITY;
        if (now < best) {
          best = now;
          better = TRUE;
        } else {
          *fit->knobs[i].value = old;
        }
      }
    if (!better)
      step /= STEP_SHRINKS;
  }
  fit_apply(fit);
  return best;
}

static double median_speed(const HwGpu *gpu, const GArray *rows, const char *source, guint64 shortest) {
  g_autofree double *ratios = g_new(double, rows->len);
  guint n = 0;
  for (guint i = 0; i < rows->len; i++) {
    const KernelSample *row = &g_array_index(rows, KernelSample, i);
    if (strcmp(row->source, source) == 0 && MIN(row->op.m, MIN(row->op.n, row->op.k)) >= shortest)
      ratios[n++] = kernel_sample_predict(gpu, row) / row->seconds;
  }
  return n > 0 ? kernel_quantile(ratios, n, 0.5) : 0;
}

double fit_speed(const HwGpu *gpu, const GArray *rows, const char *only, guint64 shortest) {
  g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
  double sum = 0;
  guint n_sources = 0;
  for (guint i = 0; i < rows->len; i++) {
    const char *source = g_array_index(rows, KernelSample, i).source;
    if (!g_hash_table_add(seen, (gpointer)source) || (only != NULL && strcmp(source, only) != 0))
      continue;
    double found = median_speed(gpu, rows, source, shortest);
    sum += found;
    n_sources += found > 0;
  }
  return n_sources > 0 ? sum / n_sources : 0;
}

static void residual(Fit *fit, gboolean held, guint *ret_n, double *ret_median, double *ret_90th) {
  g_autofree double *errors = g_new(double, fit->rows->len + 1);
  guint n = 0;
  for (guint i = 0; i < fit->rows->len; i++) {
    const KernelSample *row = &g_array_index(fit->rows, KernelSample, i);
    if (is_held(i) == held)
      errors[n++] = fabs(kernel_sample_predict(&fit->gpu, row) / row->seconds - 1);
  }
  *ret_n = n;
  *ret_median = 100 * kernel_quantile(errors, n, 0.5);
  *ret_90th = 100 * kernel_quantile(errors, n, 0.9);
}

char *fit_note(Fit *fit) {
  guint n, n_held;
  double median, high, median_held, high_held;
  residual(fit, FALSE, &n, &median, &high);
  residual(fit, TRUE, &n_held, &median_held, &high_held);
  return g_strdup_printf("off by %.1f %% (median) and %.1f %% (90th percentile) over %u rows; %.1f and %.1f %% over %u "
                         "rows held out",
                         median, high, n, median_held, high_held, n_held);
}

static const char *const repositories[][2] = {
    {"aiconfigurator", "ai-dynamo/aiconfigurator systems/data (SGLang, TensorRT-LLM, vLLM layers)"},
    {"SimuMax", "SimuMax configs/system (Transformer Engine)"},
    {"Azure-AI-benchmarking-guide", "Azure/AI-benchmarking-guide (cuBLASLt)"},
    {"NeuSight", "NeuSight measurements"},
    {"Phantora-perfdb", "tohtana/Phantora performance database"},
    {"LLMServingSim-v0", "casys LLMServingSim v0 profiles"},
    {"LLMServingSim-v1", "casys LLMServingSim v1 profiles"},
    {"frontier", "NetX-lab/Frontier profiles"},
    {"vidur", "microsoft/vidur profiles"},
    {"DeepBench", "baidu-research/DeepBench"},
    {"liger", "linkedin/Liger-Kernel benchmark data"},
    {"flash-attention", "Dao-AILab/flash-attention benchmarks"},
    {"cudnn-frontend", "NVIDIA/cudnn-frontend benchmark results"},
    {"tritonbench", "meta-pytorch/tritonbench results"},
    {"triton", "triton-lang/triton python/test/regression/test_performance.py"},
};

static const char *repository(const char *source) {
  for (guint i = 0; i < G_N_ELEMENTS(repositories); i++)
    if (strcmp(repositories[i][0], source) == 0)
      return repositories[i][1];
  g_error("tests/truth/README.md and fit-kernels.c do not know the source %s", source);
}

/* Names of the fit_table, each once. */
char *fit_cite(const GPtrArray *names) {
  GString *text = g_string_new("tests/truth/kernels.csv: ");
  for (guint i = 0; i < names->len; i++)
    g_string_append_printf(text, "%s%s", i > 0 ? ", " : "", repository(names->pdata[i]));
  return g_string_free(text, FALSE);
}

char *fit_sources(const GArray *rows) {
  g_autoptr(GPtrArray) names = g_ptr_array_new_with_free_func(g_free);
  for (guint i = 0; i < rows->len; i++) {
    g_auto(GStrv) parts = g_strsplit(g_array_index(rows, KernelSample, i).source, "+", -1);
    for (guint p = 0; parts[p] != NULL; p++)
      if (!g_ptr_array_find_with_equal_func(names, parts[p], g_str_equal, NULL))
        g_ptr_array_add(names, g_strdup(parts[p]));
  }
  return fit_cite(names);
}

GArray *fit_choose(const char *gpu, FitWanted wanted, gpointer user) {
  GArray *rows = g_array_new(FALSE, FALSE, sizeof(KernelSample));
  for (guint i = 0; i < fit_table->len; i++) {
    KernelSample *row = &g_array_index(fit_table, KernelSample, i);
    if (strcmp(row->gpu, gpu) == 0 && wanted(row, user))
      g_array_append_val(rows, *row);
  }
  return rows;
}
