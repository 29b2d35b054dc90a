/* SPDX-License-Identifier: MIT */
/* Calls joined to kernels by their correlation, cut to the step. */
#include "import-kineto-issue.h"

#include "import-kineto-layers.h"

static gboolean holds(BaseSpan window, SimTime at) {
  return at >= window.start && at < window.end;
}

static GArray *issues_of_kernels(const ImportKinetoTrace *trace, gboolean *ret_known) {
  GArray *issues = g_array_new(FALSE, FALSE, sizeof(ImportKinetoIssue));
  *ret_known = FALSE;
  for (guint i = 0; i < trace->kernels->len; i++) {
    const ImportKinetoKernel *kernel = &g_array_index(trace->kernels, ImportKinetoKernel, i);
    const ImportKinetoCall *call = g_hash_table_lookup(trace->launches, &kernel->correlation);
    ImportKinetoIssue issue = {.at = call != NULL ? call->at : kernel->at,
                               .kernel = (gint)i,
                               .known = call != NULL,
                               .name = kernel->name,
                               .thread = call != NULL ? call->thread : IMPORT_KINETO_NONE};
    *ret_known |= issue.known;
    g_array_append_val(issues, issue);
  }
  return issues;
}

static void add_waits(const ImportKinetoTrace *trace, GArray *issues) {
  for (guint i = 0; i < trace->calls->len; i++) {
    const ImportKinetoCall *call = &g_array_index(trace->calls, ImportKinetoCall, i);
    ImportKinetoIssue issue = {call->at, IMPORT_KINETO_NONE, TRUE, FALSE, call->name, call->thread};
    if (call->kind == IMPORT_KINETO_HOST_WAIT)
      g_array_append_val(issues, issue);
  }
}

/* Calls and issues are in order: each stream wait is its thread's next launch's. */
static void mark_stream_waits(const ImportKinetoTrace *trace, GArray *issues) {
  g_autoptr(GHashTable) waiting = g_hash_table_new_full(g_int64_hash, g_int64_equal, g_free, NULL);
  guint next = 0;
  for (guint i = 0; i < issues->len; i++) {
    ImportKinetoIssue *issue = &g_array_index(issues, ImportKinetoIssue, i);
    for (; next < trace->calls->len; next++) {
      const ImportKinetoCall *call = &g_array_index(trace->calls, ImportKinetoCall, next);
      if (call->at.start > issue->at.start)
        break;
      if (call->kind == IMPORT_KINETO_STREAM_WAIT)
        g_hash_table_add(waiting, g_memdup2(&call->thread, sizeof call->thread));
    }
    if (issue->kernel != IMPORT_KINETO_NONE && issue->known)
      issue->waits = g_hash_table_remove(waiting, &issue->thread);
  }
}

static void cut(GArray *issues, BaseSpan window) {
  guint kept = 0;
  for (guint i = 0; i < issues->len; i++)
    if (holds(window, g_array_index(issues, ImportKinetoIssue, i).at.start))
      g_array_index(issues, ImportKinetoIssue, kept++) = g_array_index(issues, ImportKinetoIssue, i);
  g_array_set_size(issues, kept);
}

GArray *import_kineto_issues(ImportKinetoTrace *trace, BaseSpan *ret_window, guint *ret_n, guint *ret_taken) {
  gboolean known;
  GArray *issues = issues_of_kernels(trace, &known);
  if (known)
    add_waits(trace, issues);
  g_array_sort(issues, base_span_compare);
  if (known)
    mark_stream_waits(trace, issues);
  *ret_window = (known ? import_kineto_host_step : import_kineto_step)(trace, ret_n, ret_taken);
  cut(issues, *ret_window);
  if (known && *ret_n == 0 && issues->len > 0) {
    ret_window->start = g_array_index(issues, ImportKinetoIssue, 0).at.start;
    ret_window->end = g_array_index(issues, ImportKinetoIssue, issues->len - 1).at.end;
  }
  return issues;
}

BaseSpan import_kineto_on_gpu(const ImportKinetoTrace *trace, const GArray *issues) {
  BaseSpan step = {G_MAXINT64, G_MININT64};
  g_autofree gboolean *own = g_new0(gboolean, trace->kernels->len);
  for (guint i = 0; i < issues->len; i++) {
    gint kernel = g_array_index(issues, ImportKinetoIssue, i).kernel;
    if (kernel == IMPORT_KINETO_NONE)
      continue;
    BaseSpan at = g_array_index(trace->kernels, ImportKinetoKernel, kernel).at;
    step = (BaseSpan){MIN(step.start, at.start), MAX(step.end, at.end)};
    own[kernel] = TRUE;
  }
  gboolean inside = FALSE;
  for (guint i = 0; i < trace->kernels->len; i++) {
    inside |= own[i];
    SimTime start = g_array_index(trace->kernels, ImportKinetoKernel, i).at.start;
    if (inside && !own[i] && start >= step.end)
      return (BaseSpan){step.start, start};
  }
  return step;
}

static ProgramPhase phase_of(const ImportKinetoTrace *trace, const ImportKinetoIssue *issue,
                             const ImportKinetoScope *scope, const ImportKinetoOp *op) {
  gboolean other = issue->known && trace->main_thread != IMPORT_KINETO_NONE && issue->thread != trace->main_thread;
  if (scope != NULL && scope->layer == IMPORT_KINETO_NONE)
    return PROGRAM_OPTIMIZER;
  if (scope != NULL && (other || (op != NULL && op->backward)))
    return PROGRAM_RECOMPUTE;
  return other || (op != NULL && op->backward) ? PROGRAM_BACKWARD : PROGRAM_FORWARD;
}

ProgramPhase import_kineto_phase(const ImportKinetoTrace *trace, const ImportKinetoIssue *issue, gint32 *ret_layer) {
  const ImportKinetoScope *scope = NULL;
  const ImportKinetoOp *op = NULL;
  if (issue->known) {
    scope = import_kineto_scope(trace, issue->thread, issue->at.start);
    op = import_kineto_op(trace, issue->thread, issue->at.start);
  }
  *ret_layer = scope != NULL ? scope->layer : op != NULL && op->backward ? op->layer : -1;
  if (issue->kernel != IMPORT_KINETO_NONE) {
    ImportCollective what = g_array_index(trace->kernels, ImportKinetoKernel, issue->kernel).what;
    if (what == IMPORT_TRACED_ALL_GATHER)
      return PROGRAM_GATHER;
    if (what == IMPORT_TRACED_ALL_REDUCE || what == IMPORT_TRACED_REDUCE_SCATTER)
      return PROGRAM_REDUCE;
  }
  return phase_of(trace, issue, scope, op);
}
