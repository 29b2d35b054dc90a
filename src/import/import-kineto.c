/* SPDX-License-Identifier: MIT */
/* Which step of a trace is taken, and its kernels as sums. */
#include "import-kineto.h"

#include "import-kineto-read.h"

static gint by_length(gconstpointer a, gconstpointer b) {
  SimTime of_a = base_span_length(*(const BaseSpan *)a), of_b = base_span_length(*(const BaseSpan *)b);
  return of_a == of_b ? base_span_compare(a, b) : of_a < of_b ? -1 : 1;
}

/* From one mark to the next. The host's: the GPU lags behind, but by as much; the last ends with itself. The GPU's
 * may hold but the kernels of one stream: the last ends with the last kernel. */
static void stretch(GArray *marks, SimTime end) {
  g_array_sort(marks, base_span_compare);
  for (guint i = 0; i < marks->len; i++) {
    BaseSpan *mark = &g_array_index(marks, BaseSpan, i);
    mark->end = i + 1 < marks->len ? g_array_index(marks, BaseSpan, i + 1).start : MAX(mark->end, end);
  }
}

static BaseSpan middle(GArray *marks, guint *ret_taken) {
  g_autoptr(GArray) sorted = g_array_copy(marks);
  g_array_sort(sorted, by_length);
  BaseSpan middle = g_array_index(sorted, BaseSpan, (sorted->len - 1) / 2);
  for (guint i = 0; i < marks->len; i++)
    if (g_array_index(marks, BaseSpan, i).start == middle.start)
      *ret_taken = i + 1;
  return middle;
}

BaseSpan import_kineto_step(ImportKinetoTrace *trace, guint *ret_n, guint *ret_taken) {
  GArray *marks = trace->gpu_marks->len > 0 ? trace->gpu_marks : trace->marks;
  BaseSpan all = {G_MAXINT64, G_MININT64};
  for (guint i = 0; i < trace->kernels->len; i++) {
    const ImportKinetoKernel *kernel = &g_array_index(trace->kernels, ImportKinetoKernel, i);
    if (kernel->copies)
      continue;
    all.start = MIN(all.start, kernel->at.start);
    all.end = MAX(all.end, kernel->at.end);
  }
  *ret_n = marks->len;
  *ret_taken = 0;
  if (marks->len == 0)
    return all;
  stretch(marks, marks == trace->marks ? G_MININT64 : all.end);
  return middle(marks, ret_taken);
}

BaseSpan import_kineto_host_step(ImportKinetoTrace *trace, guint *ret_n, guint *ret_taken) {
  *ret_n = trace->marks->len;
  *ret_taken = 0;
  if (trace->marks->len == 0)
    return (BaseSpan){G_MININT64, G_MAXINT64};
  stretch(trace->marks, G_MININT64);
  return middle(trace->marks, ret_taken);
}

/* What of the kernels lies within the step: compute as BaseSpan, collectives as ImportKinetoKernel. */
static void divide(const ImportKinetoTrace *trace, BaseSpan step, GArray *compute, GArray *sent) {
  for (guint i = 0; i < trace->kernels->len; i++) {
    ImportKinetoKernel kernel = g_array_index(trace->kernels, ImportKinetoKernel, i);
    kernel.at = base_span_within(kernel.at, step);
    if (kernel.copies || base_span_length(kernel.at) == 0)
      continue;
    if (kernel.what == IMPORT_COLLECTIVES)
      g_array_append_val(compute, kernel.at);
    else
      g_array_append_val(sent, kernel);
  }
  g_array_sort(compute, base_span_compare);
  g_array_sort(sent, base_span_compare);
}

void import_kineto_sum(const ImportKinetoTrace *trace, BaseSpan step, ImportKineto *ret) {
  g_autoptr(GArray) compute = g_array_new(FALSE, FALSE, sizeof(BaseSpan));
  g_autoptr(GArray) sent = g_array_new(FALSE, FALSE, sizeof(ImportKinetoKernel));
  divide(trace, step, compute, sent);
  ret->step = step.end - step.start;
  ret->compute = base_spans_join(compute);
  BaseCover communication = base_cover(step);
  for (guint i = 0; i < sent->len; i++) {
    const ImportKinetoKernel *kernel = &g_array_index(sent, ImportKinetoKernel, i);
    ImportTraffic *of = &ret->of[kernel->what];
    SimTime exposed = base_spans_outside(compute, base_cover_add(&communication, kernel->at));
    of->calls++;
    of->busy = sim_time_add(of->busy, base_span_length(kernel->at));
    of->exposed += exposed;
    ret->exposed += exposed;
  }
  ret->communication = communication.length;
  ret->idle = ret->step - ret->compute - ret->exposed;
  ret->foreign = trace->foreign;
  ret->figures = import_kineto_figures(trace);
}

gboolean import_kineto_load(const char *path, ImportKineto *ret, GError **error) {
  g_autoptr(ImportKinetoTrace) trace = import_kineto_read(path, error);
  if (trace == NULL)
    return FALSE;
  *ret = (ImportKineto){0};
  BaseSpan step = import_kineto_step(trace, &ret->steps, &ret->taken);
  import_kineto_sum(trace, step, ret);
  return TRUE;
}
