/* SPDX-License-Identifier: MIT */
/* Matmuls of a trace with their shapes and times, and the rate of the GPU's that foretells them best. */
#include "import-kineto-matmuls.h"

#include <math.h>
#include <string.h>

#include "import-kineto-kernels.h"
#include "import-kineto-set.h"
#include "import-model.h"
#include "kernel-op.h"
#include "kernel-time.h"

/* ---- Reading ---- */

#define BETWEEN ", \t\r\n"

/* Of "[[8, 1024], [1024, 512]]" the n-th list's numbers; returns how many, at most 3. */
static guint dims_of(const char *text, guint n, guint64 ret[3]) {
  const char *at = text + (*text == '[');
  for (guint i = 0; i <= n; i++) {
    at = strchr(at, '[');
    if (at == NULL)
      return 0;
    at += 1 + strspn(at + 1, BETWEEN);
  }
  guint found = 0;
  while (found < 3 && g_ascii_isdigit(*at)) {
    char *end;
    ret[found++] = g_ascii_strtoull(at, &end, 10);
    at = end + strspn(end, BETWEEN);
  }
  return found;
}

/* -1: none that the kernel model has. */
static int dtype_of(const char *types) {
  static const struct {
    const char *part;
    KernelDtype dtype;
  } known[] = {{"BFloat16", KERNEL_BF16}, {"Half", KERNEL_FP16}, {"float", KERNEL_FP32}};
  for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    if (strstr(types, known[i].part) != NULL)
      return (int)known[i].dtype;
  return -1;
}

#define MOST_SIDE ((guint64)1 << 31)

void import_kineto_keep_matmul(ImportKinetoTrace *trace, const ImportKinetoEvent *event, BaseSpan at) {
  static const struct {
    const char *name;
    guint first, dims; /* which argument is the left matrix; of how many dimensions both are */
  } known[] = {{"aten::mm", 0, 2}, {"aten::addmm", 1, 2}, {"aten::bmm", 0, 3}, {"aten::baddbmm", 1, 3}};
  for (gsize i = 0; i < G_N_ELEMENTS(known); i++) {
    guint64 a[3], b[3];
    guint dims = known[i].dims, from = dims - 2;
    if (strcmp(event->name->str, known[i].name) != 0)
      continue;
    if (dims_of(event->dims->str, known[i].first, a) != dims ||
        dims_of(event->dims->str, known[i].first + 1, b) != dims)
      return;
    ImportKinetoMatmul matmul = {.at = at,
                                 .thread = import_kineto_number(event->tid),
                                 .dtype = dtype_of(event->types->str),
                                 .batch = dims == 3 ? a[0] : 1,
                                 .m = a[from],
                                 .n = b[from + 1],
                                 .k = a[from + 1]};
    guint64 most = MAX(MAX(matmul.m, matmul.n), MAX(matmul.k, matmul.batch));
    if (matmul.dtype >= 0 && a[from + 1] == b[from] && (dims == 2 || a[0] == b[0]) && most < MOST_SIDE)
      g_array_append_val(trace->matmuls, matmul);
    return;
  }
}

/* ---- Calls and their times ---- */

typedef struct {
  KernelOp op;
  SimTime measured;
} Sample;

static KernelOp op_of(const ImportKinetoMatmul *matmul) {
  double batch = (double)matmul->batch, m = (double)matmul->m, n = (double)matmul->n, k = (double)matmul->k;
  double bytes = batch * (m * k + k * n + m * n) * kernel_dtype_bytes((KernelDtype)matmul->dtype);
  return (KernelOp){.kind = KERNEL_MATMUL,
                    .dtype = (KernelDtype)matmul->dtype,
                    .batch = matmul->batch,
                    .m = matmul->m,
                    .n = matmul->n,
                    .k = matmul->k,
                    .flops = 2 * batch * m * n * k,
                    .bytes = bytes < 1e18 ? (guint64)bytes : 0};
}

/* Kernels by the correlation of their launches. */
static GHashTable *kernel_times(const ImportKinetoTrace *trace) {
  GHashTable *times = g_hash_table_new(g_int64_hash, g_int64_equal);
  for (guint i = 0; i < trace->kernels->len; i++) {
    ImportKinetoKernel *kernel = &g_array_index(trace->kernels, ImportKinetoKernel, i);
    if (kernel->correlation != IMPORT_KINETO_NONE && !kernel->copies && kernel->what == IMPORT_COLLECTIVES)
      g_hash_table_insert(times, &kernel->correlation, kernel);
  }
  return times;
}

/* What was launched while the call ran, on its thread; 0: something of it is not in the file. */
static SimTime time_of(const ImportKinetoTrace *trace, GHashTable *times, const ImportKinetoMatmul *matmul,
                       guint *from) {
  SimTime sum = 0;
  while (*from < trace->calls->len && g_array_index(trace->calls, ImportKinetoCall, *from).at.start < matmul->at.start)
    (*from)++;
  for (guint i = *from; i < trace->calls->len; i++) {
    const ImportKinetoCall *call = &g_array_index(trace->calls, ImportKinetoCall, i);
    if (call->at.start >= matmul->at.end)
      break;
    if (call->thread != matmul->thread || call->kind != IMPORT_KINETO_LAUNCH || strstr(call->name, "Launch") == NULL)
      continue;
    const ImportKinetoKernel *kernel = g_hash_table_lookup(times, &call->correlation);
    if (kernel == NULL)
      return 0;
    sum += base_span_length(kernel->at);
  }
  return sum;
}

/* Where the GPU has TF32, what operands of 32 bits ran in no trace says: they are counted alone. */
static void add_samples(const ImportKinetoTrace *trace, const HwGpu *gpu, GArray *samples, guint *wide) {
  g_autoptr(GHashTable) times = kernel_times(trace);
  guint from = 0;
  for (guint i = 0; i < trace->matmuls->len; i++) {
    const ImportKinetoMatmul *matmul = &g_array_index(trace->matmuls, ImportKinetoMatmul, i);
    Sample sample = {.op = op_of(matmul), .measured = time_of(trace, times, matmul, &from)};
    if (sample.measured <= 0 || sample.op.flops < IMPORT_KINETO_MATMUL)
      continue;
    if (sample.op.dtype == KERNEL_FP32 && kernel_supports(gpu, KERNEL_TF32))
      (*wide)++;
    else if (kernel_supports(gpu, sample.op.dtype))
      g_array_append_val(samples, sample);
  }
}

/* ---- The rate ---- */

typedef struct {
  guint slow; /* foretold slower than measured */
  double sum; /* of relative errors */
  double median;
} Trial;

static gint by_size(gconstpointer a, gconstpointer b) {
  double one = *(const double *)a, other = *(const double *)b;
  return (one > other) - (one < other);
}

static gboolean try_rate(const ImportModel *model, const GArray *samples, double rate, Trial *ret, GError **error) {
  char value[G_ASCII_DTOSTR_BUF_SIZE];
  g_autofree char *assignment = g_strconcat("node.matmul_rate=", g_ascii_dtostr(value, sizeof value, rate), NULL);
  g_autoptr(HwCluster) cluster = import_model_node(model, assignment, error);
  g_autoptr(GArray) errors = g_array_new(FALSE, FALSE, sizeof(double));
  if (cluster == NULL)
    return FALSE;
  *ret = (Trial){0};
  for (guint i = 0; i < samples->len; i++) {
    const Sample *sample = &g_array_index(samples, Sample, i);
    SimTime foretold = kernel_time(cluster->gpu, &sample->op);
    double off = fabs((double)foretold / (double)sample->measured - 1);
    ret->slow += foretold > sample->measured;
    ret->sum += off;
    g_array_append_val(errors, off);
  }
  g_array_sort(errors, by_size);
  ret->median = g_array_index(errors, double, errors->len / 2);
  return TRUE;
}

/* No call runs beyond the datasheet's peak: by how much the sustained rates may grow at most. */
static double most_rate(const HwGpu *gpu, const GArray *samples) {
  const double sustained[KERNEL_DTYPES] = {
      [KERNEL_FP32] = gpu->matmul_fp32, [KERNEL_FP16] = gpu->matmul_fp16, [KERNEL_BF16] = gpu->matmul_bf16};
  double most = INFINITY;
  for (guint i = 0; i < samples->len; i++) {
    KernelDtype dtype = g_array_index(samples, Sample, i).op.dtype;
    most = MIN(most, kernel_peak(gpu, dtype) / sustained[dtype]);
  }
  return most;
}

/* To a part in a thousand. */
#define HALVINGS 14

static gboolean fit(const ImportModel *model, const GArray *samples, double limit, ImportKinetoKernels *ret,
                    GError **error) {
  double low = IMPORT_KINETO_RATE_LEAST, high = limit;
  Trial own, trial;
  if (!try_rate(model, samples, 1, &own, error))
    return FALSE;
  for (int i = 0; i < HALVINGS; i++) {
    double middle = (low + high) / 2;
    if (!try_rate(model, samples, middle, &trial, error))
      return FALSE;
    *(2 * trial.slow > samples->len ? &low : &high) = middle;
  }
  double rate = round(high * 1000) / 1000;
  if (!try_rate(model, samples, rate, &trial, error))
    return FALSE;
  ret->at_limit = low <= IMPORT_KINETO_RATE_LEAST || high >= limit;
  ret->fitted = !ret->at_limit && trial.sum < own.sum;
  ret->rate = rate;
  ret->before = own.median;
  ret->after = trial.median;
  return TRUE;
}

gboolean import_kineto_kernels(const ImportKinetoSet *set, const char *topology, ImportKinetoKernels *ret,
                               GError **error) {
  g_autoptr(ImportModel) model = import_model_new(topology, error);
  g_autoptr(HwCluster) node = model != NULL ? import_model_node(model, "cluster.nodes=1", error) : NULL;
  g_autoptr(GArray) samples = g_array_new(FALSE, FALSE, sizeof(Sample));
  ImportKinetoKernels found = {0};
  if (node == NULL)
    return FALSE;
  for (guint i = 0; i < set->traces->len; i++)
    add_samples(g_ptr_array_index(set->traces, i), node->gpu, samples, &found.wide);
  found.calls = samples->len;
  if (found.calls > 0 && !fit(model, samples, most_rate(node->gpu, samples), &found, error))
    return FALSE;
  *ret = found;
  return TRUE;
}
