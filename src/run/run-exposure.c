/* Why a rank computes nothing: every instant of the last step without compute gets one cause.
 *
 *   compute   ████████        ██████          Between two computes stands a gap. W is the collective that the next
 * compute comm         ▒▒▒▒▒▒▒▒▒▒▒                  waits for: directly, or because its host row did. The gap is cut
 * wherever W or gap               ^^^^^^^^                the residency of any collective changes; each piece gets the
 * first cause that holds, in the order of RunCause. Pieces without communication are idle. */
#include <string.h>

#include "run-state.h"

typedef struct {
  SimTime start, end;
} Span;

typedef struct {
  const RunStep *step;
  SimTime start, end;
  GArray *computes;    /* const RunInstance *, by start */
  GArray *collectives; /* const RunInstance *, by start */
  GArray *cuts;        /* SimTime, of one gap */
  gboolean keep;
  GArray *exposures; /* RunExposure */
  RunClass *ret;
} Analysis;

static gint by_start(gconstpointer a, gconstpointer b) {
  const RunInstance *left = *(const RunInstance *const *)a, *right = *(const RunInstance *const *)b;
  if (left->start != right->start)
    return left->start < right->start ? -1 : 1;
  return left < right ? -1 : left > right;
}

static void collect(Analysis *analysis) {
  const RunStep *step = analysis->step;
  for (guint32 i = 0; i < run_section(step)->n_rows; i++) {
    const RunInstance *instance = &step->instances[i];
    if (instance->row->kind == PROGRAM_COMPUTE)
      g_array_append_val(analysis->computes, instance);
    else if (instance->row->kind == PROGRAM_COLLECTIVE)
      g_array_append_val(analysis->collectives, instance);
  }
  g_array_sort(analysis->computes, by_start);
  g_array_sort(analysis->collectives, by_start);
}

static void last_collective_need(const RunStep *step, const RunInstance *instance, SimTime after,
                                 const RunInstance **ret) {
  const ProgramSection *section = run_section(step);
  for (guint32 i = 0; i < instance->row->n_needs; i++) {
    const RunInstance *need = &step->instances[section->needs[instance->row->needs + i]];
    if (need->row->kind == PROGRAM_COLLECTIVE && need->end > after && (*ret == NULL || need->end > (*ret)->end))
      *ret = need;
  }
}

/* The collective that a compute row waited for in a gap that began at `after`: of its own needs, or of the host rows
 * between it and the compute row before; NULL: none. The end of the rows stands for the next step's first compute. */
static const RunInstance *awaited(const RunStep *step, const RunInstance *compute, SimTime after) {
  const RunInstance *found = NULL;
  const RunInstance *row = step->instances + run_section(step)->n_rows;
  if (compute != NULL) {
    row = compute;
    last_collective_need(step, compute, after, &found);
  }
  while (row-- > step->instances && row->row->kind != PROGRAM_COMPUTE)
    if (row->row->kind == PROGRAM_HOST)
      last_collective_need(step, row, after, &found);
  return found;
}

static RunCause cause_of(const RunInstance *next, const RunInstance *w, SimTime gap, SimTime at) {
  if (w == NULL)
    return next == NULL ? RUN_CAUSE_TAIL : RUN_CAUSE_HOST;
  if (at < w->issued)
    return RUN_CAUSE_HOST;
  if (at < w->start)
    return RUN_CAUSE_SERIALISED;
  if (at < w->transfer->begun)
    return RUN_CAUSE_STRAGGLER;
  if (w->row->hint == PROGRAM_HINT_BOUNDARY)
    return RUN_CAUSE_BOUNDARY;
  if (w->row->hint == PROGRAM_HINT_BUCKET && w->ready >= gap)
    return RUN_CAUSE_BUCKET_FILL;
  return at < w->transfer->moving ? RUN_CAUSE_LATENCY : RUN_CAUSE_BANDWIDTH;
}

static void cut(Analysis *analysis, Span gap, SimTime at) {
  if (at > gap.start && at < gap.end)
    g_array_append_val(analysis->cuts, at);
}

static gint by_time(gconstpointer a, gconstpointer b) {
  SimTime left = *(const SimTime *)a, right = *(const SimTime *)b;
  return left < right ? -1 : left > right;
}

static gboolean resident(const Analysis *analysis, SimTime start, SimTime end) {
  for (guint i = 0; i < analysis->collectives->len; i++) {
    const RunInstance *collective = g_array_index(analysis->collectives, const RunInstance *, i);
    if (collective->start >= end)
      break;
    if (collective->start <= start && collective->end >= end)
      return TRUE;
  }
  return FALSE;
}

static void charge(Analysis *analysis, Span piece, guint32 row, RunCause cause) {
  analysis->ret->by_cause[cause] += piece.end - piece.start;
  if (!analysis->keep)
    return;
  if (analysis->exposures->len > 0) {
    RunExposure *last = &g_array_index(analysis->exposures, RunExposure, analysis->exposures->len - 1);
    if (last->end == piece.start && last->row == row && last->cause == cause) {
      last->end = piece.end;
      return;
    }
  }
  RunExposure exposure = {piece.start - analysis->start, piece.end - analysis->start, row, cause};
  g_array_append_val(analysis->exposures, exposure);
}

static void explain_gap(Analysis *analysis, Span gap, const RunInstance *next) {
  const RunInstance *w = awaited(analysis->step, next, gap.start);
  g_array_set_size(analysis->cuts, 0);
  g_array_append_val(analysis->cuts, gap.start);
  for (guint i = 0; i < analysis->collectives->len; i++) {
    const RunInstance *collective = g_array_index(analysis->collectives, const RunInstance *, i);
    cut(analysis, gap, collective->start);
    cut(analysis, gap, collective->end);
  }
  if (w != NULL) {
    cut(analysis, gap, w->issued);
    cut(analysis, gap, w->transfer->begun);
    cut(analysis, gap, w->transfer->moving);
  }
  g_array_sort(analysis->cuts, by_time);
  g_array_append_val(analysis->cuts, gap.end);
  for (guint i = 0; i + 1 < analysis->cuts->len; i++) {
    Span piece = {g_array_index(analysis->cuts, SimTime, i), g_array_index(analysis->cuts, SimTime, i + 1)};
    if (piece.start == piece.end)
      continue;
    gboolean communicates = resident(analysis, piece.start, piece.end);
    RunCause cause = communicates ? cause_of(next, w, gap.start, piece.start) : RUN_CAUSE_HOST_IDLE;
    charge(analysis, piece, communicates && w != NULL ? run_row_index(w) : G_MAXUINT32, cause);
  }
}

static SimTime union_length(const GArray *instances, Span window) {
  SimTime length = 0, covered = window.start;
  for (guint i = 0; i < instances->len; i++) {
    const RunInstance *instance = g_array_index(instances, const RunInstance *, i);
    SimTime start = MAX(instance->start, covered), end = MIN(instance->end, window.end);
    if (end > start) {
      length += end - start;
      covered = end;
    }
  }
  return length;
}

static void explain_all(Analysis *analysis) {
  SimTime covered = analysis->start;
  for (guint i = 0; i < analysis->computes->len; i++) {
    const RunInstance *compute = g_array_index(analysis->computes, const RunInstance *, i);
    if (compute->start > covered)
      explain_gap(analysis, (Span){covered, MIN(compute->start, analysis->end)}, compute);
    covered = MAX(covered, compute->end);
  }
  if (covered < analysis->end)
    explain_gap(analysis, (Span){covered, analysis->end}, NULL);
}

void run_exposure(const RunRank *rank, SimTime start, gboolean keep, RunClass *ret) {
  Analysis analysis = {.step = rank->last, .start = start, .end = rank->last->end, .keep = keep, .ret = ret};
  Span window = {analysis.start, analysis.end};
  analysis.computes = g_array_new(FALSE, FALSE, sizeof(gpointer));
  analysis.collectives = g_array_new(FALSE, FALSE, sizeof(gpointer));
  analysis.cuts = g_array_new(FALSE, FALSE, sizeof(SimTime));
  analysis.exposures = g_array_new(FALSE, FALSE, sizeof(RunExposure));
  collect(&analysis);
  explain_all(&analysis);
  ret->step = window.end - window.start;
  ret->compute = union_length(analysis.computes, window);
  ret->communication = union_length(analysis.collectives, window);
  ret->bubble = ret->by_cause[RUN_CAUSE_BUBBLE];
  ret->host = ret->by_cause[RUN_CAUSE_HOST_IDLE];
  ret->idle = ret->bubble + ret->host;
  ret->exposed = ret->step - ret->compute - ret->idle;
  ret->n_exposures = analysis.exposures->len;
  ret->exposures = (RunExposure *)g_array_free(analysis.exposures, FALSE);
  g_array_unref(analysis.computes);
  g_array_unref(analysis.collectives);
  g_array_unref(analysis.cuts);
}
