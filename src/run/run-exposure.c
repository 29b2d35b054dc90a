/* SPDX-License-Identifier: MIT */
/* Why a rank computes nothing: every instant of the last step without compute gets one cause.
 *
 *   compute   ████████          ██████
 *   comm         ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒
 *   gap               ^^^^^^^^^^
 *
 * Between two computes stands a gap. W is the collective that the next compute waits for: directly, or because its host
 * row did. The gap is cut wherever W or the residency of any collective changes; each piece gets the first cause that
 * holds, in the order of RunCause. Pieces without communication are idle. Where an exchange between stages of a
 * pipeline is waited for, by the compute, its host or what else stands before it, and the peer is not there yet, the
 * piece is bubble, whatever is resident. */
#include <string.h>

#include "base-span.h"
#include "run-state.h"

/* A row that ran. */
typedef struct {
  guint32 row;
  SimTime start, end;
} Ran;

typedef struct {
  const RunStep *step;
  SimTime start, end;
  GArray *computes;    /* Ran, by start */
  GArray *collectives; /* Ran, by start */
  guint over;          /* of these, so many at the front had ended when the present gap began */
  GArray *cuts;        /* SimTime, of one gap */
  GArray *stages;      /* guint32: exchanges between stages that one gap's rows wait for */
  gboolean keep;
  GArray *exposures; /* RunExposure */
  RunWindow *window; /* NULL: there is none */
  RunClass *ret;
} Analysis;

static gint by_start(gconstpointer a, gconstpointer b) {
  const Ran *left = a, *right = b;
  if (left->start != right->start)
    return left->start < right->start ? -1 : 1;
  return left->row < right->row ? -1 : left->row > right->row;
}

#define SHIFTS 16 /* for each row, in putting them in order one by one */

/* Rows of one stream stand in order already, those of a few nearly: each is moved back to where it belongs, unless that
 * takes longer than sorting them does. */
static void sort_by_start(GArray *rows) {
  Ran *ran = (Ran *)(gpointer)rows->data;
  gsize shifts = 0;
  for (guint i = 1; i < rows->len && shifts < (gsize)SHIFTS * rows->len; i++) {
    const Ran late = ran[i];
    guint to = i;
    for (; to > 0 && by_start(&late, &ran[to - 1]) < 0; to--)
      ran[to] = ran[to - 1];
    ran[to] = late;
    shifts += i - to;
  }
  if (shifts >= (gsize)SHIFTS * rows->len)
    g_array_sort(rows, by_start);
}

static GArray *ran_new(guint32 most) {
  GArray *ran = g_array_sized_new(FALSE, FALSE, sizeof(Ran), most);
  g_array_set_size(ran, most);
  return ran;
}

static Ran row_that_ran(const RunStep *step, guint32 row) {
  return (Ran){row, *run_row_start(step, row), run_row_end(step, row)};
}

static void find_rows_that_ran(const RunStep *step, GArray **ret_computes, GArray **ret_collectives) {
  const ProgramSection *section = step->table->section;
  *ret_computes = ran_new(section->n_rows - step->table->n_calls);
  *ret_collectives = ran_new(step->table->n_calls);
  Ran *compute = (Ran *)(gpointer)(*ret_computes)->data, *collective = (Ran *)(gpointer)(*ret_collectives)->data;
  const Ran *first = compute;
  for (guint32 i = 0; i < section->n_rows; i++)
    if (section->rows[i].kind == PROGRAM_COMPUTE)
      *compute++ = row_that_ran(step, i);
    else if (section->rows[i].kind == PROGRAM_COLLECTIVE)
      *collective++ = row_that_ran(step, i);
  g_array_set_size(*ret_computes, (guint)(compute - first));
  sort_by_start(*ret_computes);
  sort_by_start(*ret_collectives);
}

/* The collective among a row's needs that ended last, after `after` and after *ret (a row, or PROGRAM_NONE). */
static void last_collective_need(const RunStep *step, guint32 row, SimTime after, guint32 *ret) {
  const ProgramSection *section = step->table->section;
  for (guint32 i = 0; i < section->rows[row].n_needs; i++) {
    guint32 need = section->needs[section->rows[row].needs + i];
    if (section->rows[need].kind != PROGRAM_COLLECTIVE)
      continue;
    SimTime end = run_row_end(step, need);
    if (end > after && (*ret == PROGRAM_NONE || end > run_row_end(step, *ret)))
      *ret = need;
  }
}

/* The collective that a compute row waited for in a gap that began at `after`: of its own needs, or of the host rows
 * between it and the compute row before; PROGRAM_NONE: none. The end of the rows stands for the next step's first. */
static guint32 awaited(const RunStep *step, const Ran *compute, SimTime after) {
  guint32 found = PROGRAM_NONE;
  guint32 row = step->table->section->n_rows;
  if (compute != NULL) {
    row = compute->row;
    last_collective_need(step, row, after, &found);
  }
  while (row-- > 0 && run_row(step, row)->kind != PROGRAM_COMPUTE)
    if (run_row(step, row)->kind == PROGRAM_HOST)
      last_collective_need(step, row, after, &found);
  return found;
}

static void add_stages(Analysis *analysis, guint32 row) {
  const ProgramSection *section = analysis->step->table->section;
  for (guint32 i = 0; i < section->rows[row].n_needs; i++) {
    guint32 need = section->needs[section->rows[row].needs + i];
    if (section->rows[need].hint == PROGRAM_HINT_PIPELINE)
      g_array_append_val(analysis->stages, need);
  }
}

/* The exchanges between stages that a compute row waits for: of its own needs, or of what was issued between it and the
 * compute row before: its host, or a collective of other ranks of its stage. */
static void find_stages(Analysis *analysis, const Ran *compute) {
  const RunStep *step = analysis->step;
  guint32 row = step->table->section->n_rows;
  g_array_set_size(analysis->stages, 0);
  if (compute != NULL)
    add_stages(analysis, row = compute->row);
  while (row-- > 0 && run_row(step, row)->kind != PROGRAM_COMPUTE)
    add_stages(analysis, row);
}

/* What a pipeline's stage waits for is under way once its peer has come to it: until then the stage has no work.
 * PROGRAM_NONE: it is not in such a wait. */
static guint32 in_bubble(const Analysis *analysis, SimTime at) {
  const RunStep *step = analysis->step;
  for (guint i = 0; i < analysis->stages->len; i++) {
    guint32 row = g_array_index(analysis->stages, guint32, i);
    if (at >= run_row_call(step, row)->issued && at < run_collective_move(step, row)->begun)
      return row;
  }
  return PROGRAM_NONE;
}

static RunCause cause_of(const Analysis *analysis, const Ran *next, guint32 w, SimTime gap, SimTime at) {
  const RunStep *step = analysis->step;
  if (in_bubble(analysis, at) != PROGRAM_NONE)
    return RUN_CAUSE_BUBBLE;
  if (w == PROGRAM_NONE)
    return next == NULL ? RUN_CAUSE_TAIL : RUN_CAUSE_HOST;
  const RunCall *call = run_row_call(step, w);
  const RunMove *move = run_collective_move(step, w);
  ProgramHint hint = run_row(step, w)->hint;
  if (at < call->issued)
    return RUN_CAUSE_HOST;
  if (at < *run_row_start(step, w))
    return RUN_CAUSE_SERIALISED;
  if (at < move->begun)
    return RUN_CAUSE_STRAGGLER;
  if (hint == PROGRAM_HINT_BOUNDARY)
    return RUN_CAUSE_BOUNDARY;
  if (hint == PROGRAM_HINT_BUCKET && call->ready >= gap)
    return RUN_CAUSE_BUCKET_FILL;
  return at < move->moving ? RUN_CAUSE_LATENCY : RUN_CAUSE_BANDWIDTH;
}

static void cut(Analysis *analysis, BaseSpan gap, SimTime at) {
  if (at > gap.start && at < gap.end)
    g_array_append_val(analysis->cuts, at);
}

static gint by_time(gconstpointer a, gconstpointer b) {
  SimTime left = *(const SimTime *)a, right = *(const SimTime *)b;
  return left < right ? -1 : left > right;
}

static gboolean resident(const Analysis *analysis, SimTime start, SimTime end) {
  for (guint i = analysis->over; i < analysis->collectives->len; i++) {
    const Ran *collective = &g_array_index(analysis->collectives, Ran, i);
    if (collective->start >= end)
      break;
    if (collective->start <= start && collective->end >= end)
      return TRUE;
  }
  return FALSE;
}

static BaseSpan body_of(const RunWindow *window, guint i) {
  return (BaseSpan){window->starts[i], window->starts[i + 1]};
}

static gboolean is_border(const RunWindow *window, SimTime at) {
  return window != NULL && (at == window->starts[0] || at == window->starts[1] || at == window->starts[2]);
}

static void charge(Analysis *analysis, BaseSpan piece, guint32 row, RunCause cause) {
  RunWindow *window = analysis->window;
  analysis->ret->by_cause[cause] += piece.end - piece.start;
  for (guint i = 0; window != NULL && i < RUN_BODIES; i++)
    window->shares[i].by_cause[cause] += base_span_length(base_span_within(piece, body_of(window, i)));
  if (!analysis->keep)
    return;
  if (analysis->exposures->len > 0) {
    RunExposure *last = &g_array_index(analysis->exposures, RunExposure, analysis->exposures->len - 1);
    if (!is_border(analysis->window, piece.start) && last->end == piece.start - analysis->start && last->row == row &&
        last->cause == cause) {
      last->end = piece.end - analysis->start;
      return;
    }
  }
  RunExposure exposure = {piece.start - analysis->start, piece.end - analysis->start, row, cause, 1};
  g_array_append_val(analysis->exposures, exposure);
}

/* Gaps come in order of time: what has ended before one is nothing to those that follow. */
static void pass_over(Analysis *analysis, SimTime at) {
  while (analysis->over < analysis->collectives->len &&
         g_array_index(analysis->collectives, Ran, analysis->over).end <= at)
    analysis->over++;
}

static void explain_gap(Analysis *analysis, BaseSpan gap, const Ran *next) {
  const RunStep *step = analysis->step;
  guint32 w = awaited(step, next, gap.start);
  find_stages(analysis, next);
  pass_over(analysis, gap.start);
  g_array_set_size(analysis->cuts, 0);
  g_array_append_val(analysis->cuts, gap.start);
  for (guint i = analysis->over; i < analysis->collectives->len; i++) {
    const Ran *collective = &g_array_index(analysis->collectives, Ran, i);
    if (collective->start >= gap.end)
      break;
    cut(analysis, gap, collective->start);
    cut(analysis, gap, collective->end);
  }
  if (w != PROGRAM_NONE) {
    cut(analysis, gap, run_row_call(step, w)->issued);
    cut(analysis, gap, run_collective_move(step, w)->begun);
    cut(analysis, gap, run_collective_move(step, w)->moving);
  }
  for (guint i = 0; i < analysis->stages->len; i++) {
    guint32 row = g_array_index(analysis->stages, guint32, i);
    cut(analysis, gap, run_row_call(step, row)->issued);
    cut(analysis, gap, run_collective_move(step, row)->begun);
  }
  for (guint i = 0; analysis->window != NULL && i < RUN_BORDERS; i++)
    cut(analysis, gap, analysis->window->starts[i]);
  g_array_sort(analysis->cuts, by_time);
  g_array_append_val(analysis->cuts, gap.end);
  for (guint i = 0; i + 1 < analysis->cuts->len; i++) {
    BaseSpan piece = {g_array_index(analysis->cuts, SimTime, i), g_array_index(analysis->cuts, SimTime, i + 1)};
    if (piece.start == piece.end)
      continue;
    gboolean communicates = resident(analysis, piece.start, piece.end);
    guint32 stage = in_bubble(analysis, piece.start);
    RunCause cause = communicates            ? cause_of(analysis, next, w, gap.start, piece.start)
                     : stage != PROGRAM_NONE ? RUN_CAUSE_BUBBLE
                                             : RUN_CAUSE_HOST_IDLE;
    charge(analysis, piece, stage != PROGRAM_NONE || !communicates ? stage : w, cause);
  }
}

static BaseSpan span_of(const GArray *rows, guint i) {
  const Ran *ran = &g_array_index(rows, Ran, i);
  return (BaseSpan){ran->start, ran->end};
}

static SimTime union_length(const GArray *rows, BaseSpan window) {
  BaseCover cover = base_cover(window);
  for (guint i = 0; i < rows->len; i++)
    base_cover_add(&cover, span_of(rows, i));
  return cover.length;
}

static void explain_all(Analysis *analysis, BaseSpan window) {
  BaseCover cover = base_cover(window);
  for (guint i = 0; i < analysis->computes->len; i++) {
    BaseSpan gap = base_span_within((BaseSpan){cover.covered, span_of(analysis->computes, i).start}, window);
    if (base_span_length(gap) > 0)
      explain_gap(analysis, gap, &g_array_index(analysis->computes, Ran, i));
    base_cover_add(&cover, span_of(analysis->computes, i));
  }
  if (cover.covered < window.end)
    explain_gap(analysis, (BaseSpan){cover.covered, window.end}, NULL);
}

/* Shares other than causes. */
static void measure_bodies(const Analysis *analysis) {
  for (guint i = 0; analysis->window != NULL && i < RUN_BODIES; i++) {
    RunShares *shares = &analysis->window->shares[i];
    shares->compute = union_length(analysis->computes, body_of(analysis->window, i));
    shares->communication = union_length(analysis->collectives, body_of(analysis->window, i));
  }
}

void run_exposure(RunRank *rank, gboolean keep, RunClass *ret) {
  Analysis analysis = {.step = rank->last, .start = rank->before, .end = rank->last->end, .keep = keep, .ret = ret};
  BaseSpan window = {analysis.start, analysis.end};
  find_rows_that_ran(rank->last, &analysis.computes, &analysis.collectives);
  analysis.cuts = g_array_new(FALSE, FALSE, sizeof(SimTime));
  analysis.stages = g_array_new(FALSE, FALSE, sizeof(guint32));
  analysis.exposures = g_array_new(FALSE, FALSE, sizeof(RunExposure));
  analysis.window = rank->window.found ? &rank->window : NULL;
  explain_all(&analysis, window);
  measure_bodies(&analysis);
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
  g_array_unref(analysis.stages);
}
