/* SPDX-License-Identifier: MIT */
/* HTA's figures of a trace (hta/common/types.py, hta/common/trace.py, hta/analyzers/breakdown_analysis.py,
 * communication_analysis.py at commit f4d0062). */
#include <string.h>

#include "import-kineto-read.h"

typedef enum { HTA_COMMUNICATION, HTA_MEMORY, HTA_COMPUTE, HTA_OTHER } Kind;

/* The patterns of hta/common/types.py, in the order in which get_kernel_type asks. */
static Kind kind_of(const char *name) {
  static const char *const neither[] = {"Memcpy", "Memset", "dma", "Sync"};
  if (g_str_has_prefix(name, "nccl") || strstr(name, "ncclKernel") != NULL || g_str_has_prefix(name, "hccl"))
    return HTA_COMMUNICATION;
  if (g_str_has_prefix(name, "Memcpy") || g_str_has_prefix(name, "Memset") || g_str_has_prefix(name, "dma"))
    return HTA_MEMORY;
  for (gsize i = 0; i < G_N_ELEMENTS(neither); i++)
    if (strstr(name, neither[i]) != NULL)
      return HTA_OTHER;
  return HTA_COMPUTE;
}

/* Correlations of what is launched before the last of several marks; NULL: all is taken. */
static GHashTable *launched_before_last(const ImportKinetoTrace *trace) {
  if (trace->marked < 2)
    return NULL;
  GHashTable *found = g_hash_table_new(g_int64_hash, g_int64_equal);
  for (guint i = 0; i < trace->calls->len; i++) {
    ImportKinetoCall *call = &g_array_index(trace->calls, ImportKinetoCall, i);
    if (call->kind == IMPORT_KINETO_LAUNCH && call->at.start < trace->last_mark)
      g_hash_table_add(found, &call->correlation);
  }
  return found;
}

static void add(ImportKinetoFigures *figures, BaseCover *all, BaseCover *sent, GArray *compute,
                const ImportKinetoKernel *kernel, Kind kind) {
  base_cover_add(all, kernel->at);
  if (kind == HTA_COMMUNICATION)
    figures->communication += base_span_length(base_cover_add(sent, kernel->at));
  else if (kind == HTA_COMPUTE)
    g_array_append_val(compute, kernel->at);
}

/* Of the union of communication what no compute covers. */
static SimTime exposed(const ImportKinetoTrace *trace, GHashTable *taken, const GArray *compute, BaseSpan whole) {
  BaseCover sent = base_cover(whole);
  SimTime outside = 0;
  for (guint i = 0; i < trace->kernels->len; i++) {
    const ImportKinetoKernel *kernel = &g_array_index(trace->kernels, ImportKinetoKernel, i);
    if ((taken == NULL || g_hash_table_contains(taken, &kernel->correlation)) &&
        kind_of(kernel->name) == HTA_COMMUNICATION)
      outside += base_spans_outside(compute, base_cover_add(&sent, kernel->at));
  }
  return outside;
}

ImportKinetoFigures import_kineto_figures(const ImportKinetoTrace *trace) {
  ImportKinetoFigures figures = {0};
  g_autoptr(GHashTable) taken = launched_before_last(trace);
  g_autoptr(GArray) compute = g_array_new(FALSE, FALSE, sizeof(BaseSpan));
  BaseSpan whole = {G_MAXINT64, G_MININT64};
  BaseCover all = base_cover((BaseSpan){G_MININT64, G_MAXINT64}), sent = all;
  for (guint i = 0; i < trace->kernels->len; i++) {
    const ImportKinetoKernel *kernel = &g_array_index(trace->kernels, ImportKinetoKernel, i);
    if (taken != NULL && !g_hash_table_contains(taken, &kernel->correlation))
      continue;
    whole = (BaseSpan){MIN(whole.start, kernel->at.start), MAX(whole.end, kernel->at.end)};
    add(&figures, &all, &sent, compute, kernel, kind_of(kernel->name));
  }
  figures.kernel_time = base_span_length(whole);
  figures.compute = base_spans_join(compute);
  figures.idle = figures.kernel_time - all.length;
  figures.non_compute = all.length - figures.compute;
  if (figures.communication > 0)
    figures.overlap = figures.communication - exposed(trace, taken, compute, whole);
  return figures;
}
