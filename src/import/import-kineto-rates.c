/* SPDX-License-Identifier: MIT */
/* Finds the rates of the GPU and of its host that foretell a trace's operations best. */
#include "import-kineto-rates.h"

#include <math.h>
#include <string.h>

#include "import-kineto-launches.h"
#include "import-kineto-set.h"
#include "import-model.h"
#include "kernel-host.h"
#include "kernel-time.h"

const char *const import_kineto_rate_keys[] = {"node.matmul_rate", "node.memory_rate", "node.host_rate", NULL};

/* ---- Samples ---- */

typedef struct {
  GArray *of[IMPORT_KINETO_RATES]; /* ImportKinetoSample */
} Samples;

static void samples_init(Samples *samples) {
  for (int kind = 0; kind < IMPORT_KINETO_RATES; kind++)
    samples->of[kind] = g_array_new(FALSE, FALSE, sizeof(ImportKinetoSample));
}

static void samples_clear(Samples *samples) {
  for (int kind = 0; kind < IMPORT_KINETO_RATES; kind++)
    g_array_unref(samples->of[kind]);
}

/* Where the GPU has TF32, operands of 32 bits whose kernels do not say in which they ran are counted alone. */
static void add_kernel(Samples *samples, const HwGpu *gpu, const ImportKinetoSample *sample, guint *wide) {
  KernelDtype dtype = sample->op.dtype;
  if (sample->op.kind != KERNEL_MATMUL) {
    if (sample->op.bytes > gpu->l2_bytes)
      g_array_append_val(samples->of[IMPORT_KINETO_STREAMS], *sample);
  } else if (dtype == KERNEL_FP32 && kernel_supports(gpu, KERNEL_TF32) && sample->in_fp32 == sample->in_tf32) {
    (*wide)++;
  } else if (kernel_supports(gpu, dtype)) {
    g_array_append_val(samples->of[IMPORT_KINETO_MATMULS], *sample);
  }
}

static void add_trace(Samples *samples, const HwGpu *gpu, const ImportKinetoTrace *trace, ImportKinetoRates *found) {
  g_autoptr(GArray) kernels = g_array_new(FALSE, FALSE, sizeof(ImportKinetoSample));
  import_kineto_sample_kernels(trace, kernels);
  for (guint i = 0; i < kernels->len; i++)
    add_kernel(samples, gpu, &g_array_index(kernels, ImportKinetoSample, i), &found->wide);
  if (!trace->stacked)
    import_kineto_sample_issues(trace, samples->of[IMPORT_KINETO_ISSUES]);
  found->stacked |= trace->stacked;
}

/* ---- A rate ---- */

typedef struct {
  guint slow; /* foretold slower than measured */
  double sum; /* of relative errors */
  double median;
} Trial;

static gint by_size(gconstpointer a, gconstpointer b) {
  double one = *(const double *)a, other = *(const double *)b;
  return (one > other) - (one < other);
}

static SimTime issue_time(const HwHost *host, const ImportKinetoSample *sample) {
  const KernelOp matmul = {.kind = KERNEL_MATMUL, .pass = sample->op.pass};
  SimTime others = sample->op.launches > 0 ? kernel_host_time(host, &sample->op) : 0;
  return others + sample->matmuls * kernel_host_time(host, &matmul);
}

static gboolean try_rate(const ImportModel *model, ImportKinetoRateKind kind, const GArray *samples, double rate,
                         Trial *ret, GError **error) {
  char value[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *assignment =
      g_strconcat(import_kineto_rate_keys[kind], "=", g_ascii_dtostr(value, sizeof value, rate), NULL);
  g_autoptr(HwCluster) cluster = import_model_node(model, assignment, error);
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
  if (cluster == NULL)
    return FALSE;
  *ret = (Trial){0};
  for (guint i = 0; i < samples->len; i++) {
    const ImportKinetoSample *sample = &g_array_index(samples, ImportKinetoSample, i);
    SimTime foretold =
        kind == IMPORT_KINETO_ISSUES ? issue_time(cluster->host, sample) : kernel_time(cluster->gpu, &sample->op);
    double off = fabs((double)foretold / (double)sample->measured - 1);
    ret->slow += foretold > sample->measured;
    ret->sum += off;
    g_array_append_val(errors, off);
  }
  g_array_sort(errors, by_size);
  ret->median = g_array_index(errors, double, errors->len / 2);
  return TRUE;
}

/* No call runs beyond the data sheet: by how much the sustained rates may grow at most. */
static double most_rate(const HwGpu *gpu, ImportKinetoRateKind kind, const GArray *samples) {
  const double sustained[KERNEL_DTYPES] = {[KERNEL_FP32] = gpu->matmul_fp32,
                                           [KERNEL_TF32] = gpu->matmul_tf32,
                                           [KERNEL_FP16] = gpu->matmul_fp16,
                                           [KERNEL_BF16] = gpu->matmul_bf16};
  double most = INFINITY;
  if (kind != IMPORT_KINETO_MATMULS)
    return kind == IMPORT_KINETO_STREAMS ? gpu->memory_bandwidth / gpu->memory_bandwidth_sustained
                                         : IMPORT_KINETO_RATE_MOST;
  for (guint i = 0; i < samples->len; i++) {
    KernelDtype dtype = g_array_index(samples, ImportKinetoSample, i).op.dtype;
    most = MIN(most, kernel_peak(gpu, dtype) / sustained[dtype]);
  }
  return most;
}

/* To a part in a thousand. */
#define HALVINGS 14

static gboolean fit(const ImportModel *model, ImportKinetoRateKind kind, const GArray *samples, double limit,
                    ImportKinetoRate *ret, GError **error) {
  double low = IMPORT_KINETO_RATE_LEAST, high = limit;
  Trial own, trial;
  if (!try_rate(model, kind, samples, 1, &own, error))
    return FALSE;
  for (int i = 0; i < HALVINGS; i++) {
    double middle = (low + high) / 2;
    if (!try_rate(model, kind, samples, middle, &trial, error))
      return FALSE;
    *(2 * trial.slow > samples->len ? &low : &high) = middle;
  }
  double rate = round(high * 1000) / 1000;
  if (!try_rate(model, kind, samples, rate, &trial, error))
    return FALSE;
  ret->at_limit = low <= IMPORT_KINETO_RATE_LEAST || high >= limit;
  ret->fitted = !ret->at_limit && trial.sum < own.sum;
  ret->rate = rate;
  ret->before = own.median;
  ret->after = trial.median;
  return TRUE;
}

static gboolean fit_all(const ImportModel *model, const HwGpu *gpu, const Samples *samples, ImportKinetoRates *found,
                        GError **error) {
  for (int kind = 0; kind < IMPORT_KINETO_RATES; kind++) {
    const GArray *of = samples->of[kind];
    found->of[kind].calls = of->len;
    if (of->len > 0 && !fit(model, kind, of, most_rate(gpu, kind, of), &found->of[kind], error))
      return FALSE;
  }
  return TRUE;
}

gboolean import_kineto_rates(const ImportKinetoSet *set, const char *topology, ImportKinetoRates *ret, GError **error) {
  g_autoptr(ImportModel) model = import_model_new(topology, error);
  g_autoptr(HwCluster) node = model != NULL ? import_model_node(model, "cluster.nodes=1", error) : NULL;
  if (node == NULL)
    return FALSE;
  ImportKinetoRates found = {.l2 = node->gpu->l2_bytes};
  Samples samples;
  samples_init(&samples);
  for (guint i = 0; i < set->traces->len; i++)
    add_trace(&samples, node->gpu, g_ptr_array_index(set->traces, i), &found);
  gboolean good = fit_all(model, node->gpu, &samples, &found, error);
  samples_clear(&samples);
  if (good)
    *ret = found;
  return good;
}

/* ---- As text ---- */

static char *what_was_measured(const ImportKinetoRates *rates, ImportKinetoRateKind kind) {
  switch (kind) {
  case IMPORT_KINETO_MATMULS:
    return g_strdup_printf("Matmuls of %g GFLOP and more", IMPORT_KINETO_MATMUL / 1e9);
  case IMPORT_KINETO_STREAMS:
    return g_strdup_printf("Elementwise operations and norms of more than the L2's %" G_GUINT64_FORMAT " MiB",
                           rates->l2 >> 20);
  default:
    return g_strdup("The host from launch to launch, the profiler's own time with it");
  }
}

static void write_found(const ImportKinetoRates *rates, ImportKinetoRateKind kind, GString *text) {
  const ImportKinetoRate *rate = &rates->of[kind];
  g_autofree char *what = what_was_measured(rates, kind);
  const char *key = strchr(import_kineto_rate_keys[kind], '.') + 1;
  if (rate->calls == 0)
    return;
  g_autofree char *most = kind == IMPORT_KINETO_ISSUES ? g_strdup_printf("%g", IMPORT_KINETO_RATE_MOST)
                                                       : g_strdup("the peak of the GPU's datasheet");
  g_string_append_printf(text,
                         "# %s: %u, median error of foretold times %.1f %% before, %.1f %% at %g of the catalogue's "
                         "rate.\n",
                         what, rate->calls, 100 * rate->before, 100 * rate->after, rate->rate);
  if (rate->at_limit)
    g_string_append_printf(text, "# %s keeps the catalogue's value: the fit ends at its limit (%g, or %s).\n", key,
                           IMPORT_KINETO_RATE_LEAST, most);
  else if (!rate->fitted)
    g_string_append_printf(text, "# %s keeps the catalogue's value: with that, calls are foretold no better.\n", key);
}

void import_kineto_rates_write(const ImportKinetoRates *rates, GString *text) {
  gboolean headed = strstr(text->str, "\n[node]\n") != NULL;
  if (rates->wide > 0)
    g_string_append_printf(text,
                           "# %u matmuls of 32-bit operands are left out: whether they ran in fp32 or in TF32, their "
                           "kernels' names do not say.\n",
                           rates->wide);
  if (rates->stacked)
    g_string_append(text, "# The host's times are left out: the profiler recorded Python's calls (with_stack=True), "
                          "which takes longer than they do.\n");
  for (int kind = 0; kind < IMPORT_KINETO_RATES; kind++)
    write_found(rates, kind, text);
  for (int kind = 0; kind < IMPORT_KINETO_RATES; kind++) {
    if (!rates->of[kind].fitted)
      continue;
    if (!headed)
      g_string_append(text, "[node]\n");
    headed = TRUE;
    g_string_append_printf(text, "%s = %g%s\n", strchr(import_kineto_rate_keys[kind], '.') + 1, rates->of[kind].rate,
                           kind == IMPORT_KINETO_ISSUES ? " ; of a run with the profiler on; without it the host is "
                                                          "faster by what events cost it"
                                                        : "");
  }
}
