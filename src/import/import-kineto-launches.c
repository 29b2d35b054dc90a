/* SPDX-License-Identifier: MIT */
/* Launches of a trace in order: what they started, and how long the host took from one to the next. */
#include "import-kineto-launches.h"

#include <string.h>

#include "import-kineto-layers.h"
#include "import-kineto-rates.h"

static gboolean launches_kernel(const ImportKinetoCall *call) {
  return call->kind == IMPORT_KINETO_LAUNCH && strstr(call->name, "Launch") != NULL;
}

/* ---- Kernels ---- */

/* Kernels by the correlation of their launches. */
static GHashTable *kernels_of(const ImportKinetoTrace *trace) {
  GHashTable *kernels = g_hash_table_new(g_int64_hash, g_int64_equal);
  for (guint i = 0; i < trace->kernels->len; i++) {
    ImportKinetoKernel *kernel = &g_array_index(trace->kernels, ImportKinetoKernel, i);
    if (kernel->correlation != IMPORT_KINETO_NONE && !kernel->copies && kernel->what == IMPORT_COLLECTIVES)
      g_hash_table_insert(kernels, &kernel->correlation, kernel);
  }
  return kernels;
}

/* Of operands of 32 bits, by the names that cuBLAS and CUTLASS give their kernels: "ampere_sgemm_128x64_nn",
 * "cutlass_80_tensorop_s1688gemm_64x64_32x6_tn_align4", "sm90_xmma_gemm_f32f32_tf32f32_f32_…". */
static void read_name(const char *kernel, ImportKinetoSample *sample) {
  sample->in_tf32 |= strstr(kernel, "s1688gemm") != NULL || strstr(kernel, "tf32") != NULL;
  sample->in_fp32 |= strstr(kernel, "sgemm") != NULL;
}

/* Adds what was launched while the operation ran, on its thread. FALSE: nothing, or something of it is not in the
 * file. */
static gboolean add_kernels(const ImportKinetoTrace *trace, GHashTable *kernels, const ImportKinetoShaped *shaped,
                            guint *from, ImportKinetoSample *sample) {
  while (*from < trace->calls->len && g_array_index(trace->calls, ImportKinetoCall, *from).at.start < shaped->at.start)
    (*from)++;
  for (guint i = *from; i < trace->calls->len; i++) {
    const ImportKinetoCall *call = &g_array_index(trace->calls, ImportKinetoCall, i);
    if (call->at.start >= shaped->at.end)
      break;
    if (call->thread != shaped->thread || !launches_kernel(call))
      continue;
    const ImportKinetoKernel *kernel = g_hash_table_lookup(kernels, &call->correlation);
    if (kernel == NULL)
      return FALSE;
    read_name(kernel->name, sample);
    sample->measured += base_span_length(kernel->at);
    sample->launches++;
  }
  return sample->measured > 0;
}

void import_kineto_sample_kernels(const ImportKinetoTrace *trace, GArray *samples) {
  g_autoptr(GHashTable) kernels = kernels_of(trace);
  guint from = 0;
  for (guint i = 0; i < trace->shaped->len; i++) {
    const ImportKinetoShaped *shaped = &g_array_index(trace->shaped, ImportKinetoShaped, i);
    ImportKinetoSample sample = {.op = shaped->op};
    if (!add_kernels(trace, kernels, shaped, &from, &sample))
      continue;
    if (shaped->op.kind != KERNEL_MATMUL)
      sample.op.launches = sample.launches;
    else if (shaped->op.dtype == KERNEL_FP32 && sample.in_tf32 && !sample.in_fp32)
      sample.op.dtype = KERNEL_TF32;
    g_array_append_val(samples, sample);
  }
}

/* ---- The host ---- */

/* What a thread has launched one after another. */
typedef struct {
  gint64 thread;
  SimTime start; /* of the launch before the first */
  gboolean backward, begun;
  guint32 others, matmuls;
} Stretch;

static Stretch *stretch_of(GArray *threads, gint64 thread) {
  for (guint i = 0; i < threads->len; i++)
    if (g_array_index(threads, Stretch, i).thread == thread)
      return &g_array_index(threads, Stretch, i);
  Stretch stretch = {.thread = thread};
  g_array_append_val(threads, stretch);
  return &g_array_index(threads, Stretch, threads->len - 1);
}

static void begin(Stretch *stretch, const ImportKinetoOp *op, SimTime at) {
  *stretch = (Stretch){.thread = stretch->thread, .start = at, .backward = op->backward, .begun = TRUE};
}

static void add_launch(Stretch *stretch, const ImportKinetoOp *op, SimTime at, GArray *samples) {
  *(op->matmul ? &stretch->matmuls : &stretch->others) += 1;
  if (stretch->others + stretch->matmuls < IMPORT_KINETO_STRETCH)
    return;
  ImportKinetoSample sample = {
      .op = {.kind = KERNEL_MEMORY, .pass = op->backward ? KERNEL_DGRAD : KERNEL_FORWARD, .launches = stretch->others},
      .matmuls = stretch->matmuls,
      .measured = at - stretch->start};
  if (sample.measured > 0)
    g_array_append_val(samples, sample);
  begin(stretch, op, at);
}

void import_kineto_sample_issues(const ImportKinetoTrace *trace, GArray *samples) {
  g_autoptr(GArray) threads = g_array_new(FALSE, FALSE, sizeof(Stretch));
  for (guint i = 0; i < trace->calls->len; i++) {
    const ImportKinetoCall *call = &g_array_index(trace->calls, ImportKinetoCall, i);
    const ImportKinetoOp *op = launches_kernel(call) ? import_kineto_op(trace, call->thread, call->at.start) : NULL;
    Stretch *stretch = stretch_of(threads, call->thread);
    if (op == NULL)
      stretch->begun = FALSE;
    else if (!stretch->begun || stretch->backward != op->backward)
      begin(stretch, op, call->at.start);
    else
      add_launch(stretch, op, call->at.start, samples);
  }
}
