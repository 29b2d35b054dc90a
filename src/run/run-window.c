/* SPDX-License-Identifier: MIT */
/* Borders, what lies between them, and whether it repeats. */
#include "run-window.h"

#include <math.h>
#include <string.h>

#include "base-span.h"
#include "run-count.h"
#include "run-state.h"

/* Of the period. */
#define MOST_DRIFT       100
#define MOST_DRIFT_WAITS 20
#define MOST_HOST        1000

static const RunWindows *asked(const RunPlay *play) {
  return &play->options->windows;
}

static void note_memory(const RunHeap *heap, RunBorder *border) {
  const MemUse *use = mem_allocator_use(heap->allocator);
  memcpy(border->held, heap->ledger.held, sizeof border->held);
  border->peak_allocated = use->peak_allocated;
  border->peak_active = use->peak_active;
  border->peak_reserved = use->peak_reserved;
  border->device_peak = heap->device_peak;
  border->has_oom = heap->has_oom;
}

void run_window_seen(RunRank *rank) {
  RunStep *step = rank->host.step;
  note_memory(rank->memory.heap, &rank->window.borders[step->seen]);
  step->watched[step->seen++] = run_now(rank->play);
  if (asked(rank->play)->body > 0 && run_replay_wanted(rank->play))
    run_replay_note(rank, PROGRAM_NONE, PROGRAM_NONE);
}

void run_window_replayed(RunRank *rank, guint border) {
  note_memory(rank->memory.heap, &rank->window.borders[border]);
}

/* All peaks were reached before it began. */
void run_window_known(RunRank *rank) {
  RunBorder now;
  note_memory(rank->memory.heap, &now);
  for (guint border = 0; border < RUN_BORDERS; border++) {
    memcpy(now.held, rank->window.borders[border].held, sizeof now.held);
    rank->window.borders[border] = now;
  }
}

/* ---- Rows ---- */

gboolean run_window_moves_alike(const ProgramRow *x, const ProgramRow *y) {
  return x->kind == y->kind && x->stream == y->stream && x->group == y->group && x->layer == y->layer &&
         x->n_takes == y->n_takes && x->n_gives == y->n_gives;
}

static gboolean rows_alike(const ProgramSection *section, guint32 a, guint32 b, gint32 body) {
  const ProgramRow *x = &section->rows[a], *y = &section->rows[b];
  gboolean alike = run_window_moves_alike(x, y) && x->phase == y->phase && x->op == y->op &&
                   x->call.operation == y->call.operation && x->call.bytes == y->call.bytes && x->host == y->host &&
                   x->n_needs == y->n_needs && (x->micro < 0 ? y->micro < 0 : y->micro == x->micro + body);
  for (guint32 i = 0; alike && i < x->n_needs; i++)
    alike = a - section->needs[x->needs + i] == b - section->needs[y->needs + i];
  return alike;
}

static guint32 computes_between(const ProgramSection *section, guint32 first, guint32 end) {
  guint32 n = 0;
  for (guint32 i = first; i < end; i++)
    n += section->rows[i].kind == PROGRAM_COMPUTE;
  return n;
}

/* All compute of so many micro-batches, which a body more would add to the section. What is sent between stages is
 * issued in other rows at a pipeline's ends. */
static guint32 computes_of_body(const ProgramSection *section, const RunWindows *windows) {
  gint32 first = (gint32)(windows->first + windows->body), end = first + (gint32)windows->body;
  guint32 n = 0;
  for (guint32 i = 0; i < section->n_rows; i++)
    n += section->rows[i].kind == PROGRAM_COMPUTE && section->rows[i].micro >= first && section->rows[i].micro < end;
  return n;
}

static gboolean bodies_alike(const RunTable *table, const RunWindows *windows) {
  guint32 first = table->watched[0], end = table->watched[1], n = end - first;
  if (table->watched[2] == PROGRAM_NONE || table->watched[2] - end != n ||
      computes_between(table->section, first, end) != computes_of_body(table->section, windows))
    return FALSE;
  for (guint32 i = first; i < end; i++)
    if (windows->memory ? !run_window_moves_alike(&table->section->rows[i], &table->section->rows[i + n])
                        : !rows_alike(table->section, i, i + n, (gint32)windows->body))
      return FALSE;
  return TRUE;
}

static gboolean roles_alike(const RunPlay *play) {
  for (guint32 r = 0; r < play->system->program->n_roles; r++)
    for (int s = 0; s < PROGRAM_SECTIONS; s++)
      if (!bodies_alike(&play->tables[r][s], asked(play)))
        return FALSE;
  return TRUE;
}

/* ---- Times ---- */

static SimTime first_compute_from(const RunStep *step, guint32 row) {
  SimTime first = SIM_TIME_NEVER;
  for (guint32 i = row; i < step->table->section->n_rows; i++)
    if (run_row(step, i)->kind == PROGRAM_COMPUTE)
      first = MIN(first, *run_row_start(step, i));
  return first;
}

static void find_starts(const RunRank *rank, SimTime *ret_starts) {
  for (guint i = 0; i < RUN_BORDERS; i++)
    ret_starts[i] = first_compute_from(rank->last, rank->last->table->watched[i]);
}

gboolean run_window_keeps_step(const RunRank *rank) {
  const SimTime *hosts = rank->last->watched;
  SimTime starts[RUN_BORDERS], period = hosts[1] - hosts[0];
  find_starts(rank, starts);
  return hosts[2] - hosts[1] == period && starts[1] - starts[0] == period && starts[2] - starts[1] == period;
}

/* The period of the first rank that has found it; 0: none has. */
static SimTime period_of(const RunPlay *play) {
  for (guint32 i = 0; i < play->n_ranks; i++) {
    const SimTime *starts = play->ranks[i].window.starts;
    if (starts[2] - starts[1] == starts[1] - starts[0])
      return starts[2] - starts[1];
  }
  return 0;
}

/* Others count back from where body 1 ends. */
static void align(RunRank *rank, SimTime period) {
  SimTime *starts = rank->window.starts;
  starts[1] = starts[2] - period;
  starts[0] = starts[1] - period;
}

static void count_sent(RunRank *rank) {
  const RunStep *step = rank->last;
  for (guint32 i = step->table->watched[1]; i < step->table->watched[2]; i++)
    if (run_row(step, i)->kind == PROGRAM_COLLECTIVE) {
      rank->window.sent_intra += run_collective_move(step, i)->plan.sent_intra;
      rank->window.sent_inter += run_collective_move(step, i)->plan.sent_inter;
    }
}

static gboolean all_seen(const RunPlay *play) {
  for (guint32 i = 0; i < play->n_ranks; i++)
    if (play->ranks[i].last->seen < play->ranks[i].last->table->n_watched || play->ranks[i].last->retries > 0 ||
        play->ranks[i].last->stalled > 0)
      return FALSE;
  return TRUE;
}

/* Steps that differ in nothing, or in what the allocator of a rank without memory makes of it. */
static gboolean steps_repeat(const RunPlay *play) {
  for (guint32 i = 0; i < play->n_ranks; i++) {
    const RunRank *rank = &play->ranks[i];
    if (!run_step_repeats(rank) &&
        !(rank->memory.heap->has_oom && rank->steps_ended > 2 && rank->period[0] == rank->period[1] &&
          memcmp(rank->replay.level[0], rank->replay.level[1], sizeof rank->replay.level[0]) == 0))
      return FALSE;
  }
  return TRUE;
}

void run_windows_find(RunPlay *play) {
  if (asked(play)->body == 0 || asked(play)->memory || !steps_repeat(play) || !roles_alike(play) || !all_seen(play))
    return;
  for (guint32 i = 0; i < play->n_ranks; i++)
    find_starts(&play->ranks[i], play->ranks[i].window.starts);
  SimTime period = period_of(play);
  for (guint32 i = 0; i < play->n_ranks && period > 0; i++) {
    RunRank *rank = &play->ranks[i];
    rank->window.found = rank->window.starts[2] < rank->last->end;
    SimTime drift = ABS(rank->window.starts[2] - rank->window.starts[1] - period);
    rank->window.found &= drift <= period / MOST_DRIFT;
    align(rank, period);
    count_sent(rank);
  }
}

/* ---- Links ---- */

typedef struct {
  const RunPlay *play;
  BaseSpan bodies[RUN_BODIES]; /* of the first rank */
  GArray **spans;              /* BaseSpan, by link */
  guint64 *bytes;              /* in body 1 */
} Links;

static void add_flow(Links *links, const RunStep *step, guint32 row, gboolean within) {
  const RunPlay *play = links->play;
  const RunMove *move = run_collective_move(step, row);
  const CollGroup *group =
      play->system->groups[program_group(play->system->program, step->rank->index, run_row(step, row)->group)];
  BaseSpan span = {move->moving, move->end};
  if (!coll_call_shares(&run_row(step, row)->call))
    return;
  const CollRoute *route = coll_group_route(group, move->plan.algorithm);
  for (guint32 i = 0; i < route->n; i++) {
    if (span.end > links->bodies[0].start && span.start < links->bodies[1].end)
      g_array_append_val(links->spans[route->links[i]], span);
    if (within)
      links->bytes[route->links[i]] += (guint64)llround(move->plan.volume) * route->coefficients[i];
  }
}

/* A communicator's collectives are told by its first member. */
static void add_rank(Links *links, const RunRank *rank) {
  const Program *program = links->play->system->program;
  const RunStep *step = rank->last;
  for (guint32 i = 0; i < step->table->section->n_rows; i++) {
    const ProgramRow *row = run_row(step, i);
    if (row->kind == PROGRAM_COLLECTIVE &&
        program->communicators[program_group(program, rank->index, row->group)].ranks[0] == rank->index)
      add_flow(links, step, i, i >= step->table->watched[1] && i < step->table->watched[2]);
  }
}

static SimTime busy_in(const GArray *spans, BaseSpan window) {
  BaseCover cover = base_cover(window);
  for (guint i = 0; i < spans->len; i++)
    base_cover_add(&cover, g_array_index(spans, BaseSpan, i));
  return cover.length;
}

/* The largest change from body to body. */
static SimTime link_drift(const Links *links, guint32 n, SimTime *ret_busy) {
  SimTime most = 0;
  for (guint32 i = 0; i < n; i++) {
    g_array_sort(links->spans[i], base_span_compare);
    ret_busy[i] = busy_in(links->spans[i], links->bodies[1]);
    most = MAX(most, ABS(ret_busy[i] - busy_in(links->spans[i], links->bodies[0])));
    g_array_unref(links->spans[i]);
  }
  g_free(links->spans);
  return most;
}

static SimTime measure_links(const RunPlay *play, guint64 *ret_bytes, SimTime *ret_busy) {
  const SimTime *starts = play->ranks[0].window.starts;
  guint32 n = play->system->n_links;
  Links links = {play, {{starts[0], starts[1]}, {starts[1], starts[2]}}, g_new(GArray *, n), ret_bytes};
  for (guint32 i = 0; i < n; i++)
    links.spans[i] = g_array_new(FALSE, FALSE, sizeof(BaseSpan));
  for (guint32 i = 0; i < play->n_ranks; i++)
    add_rank(&links, &play->ranks[i]);
  return link_drift(&links, n, ret_busy);
}

/* ---- Whether ---- */

/* Beyond the device's memory nothing waits for any, and the allocator, which need reuse nothing, may go on growing:
 * there it is enough that as much is held. */
static gboolean memory_settled(const RunRank *rank) {
  const RunBorder *first = &rank->window.borders[0], *last = &rank->window.borders[RUN_BODIES];
  return memcmp(first, last, first->has_oom ? sizeof first->held : sizeof *first) == 0;
}

/* FALSE: a share changes by more than it may. A rank that waits for its host may be the one that all wait for. */
static gboolean shares_hold(const RunRank *rank, SimTime period, RunSettled *settled) {
  const RunShares *a = &rank->window.shares[0], *b = &rank->window.shares[1];
  if (memcmp(a, b, sizeof *a) == 0)
    return TRUE;
  *settled = RUN_SETTLING;
  SimTime hosts = b->by_cause[RUN_CAUSE_HOST] + b->by_cause[RUN_CAUSE_HOST_IDLE];
  gboolean hold = hosts <= period / MOST_HOST && ABS(b->compute - a->compute) <= period / MOST_DRIFT &&
                  ABS(b->communication - a->communication) <= period / MOST_DRIFT_WAITS;
  for (int cause = 0; cause < RUN_CAUSES; cause++)
    hold &= ABS(b->by_cause[cause] - a->by_cause[cause]) <= period / MOST_DRIFT;
  return hold;
}

/* The host must not need longer for a body: what it is ahead would be used up. Nor, where it needs less, may anything
 * after the bodies hang on when it comes there. */
static gboolean host_holds(const RunRank *rank, SimTime period, RunSettled *settled) {
  const RunStep *step = rank->last;
  SimTime last = step->watched[2] - step->watched[1];
  if (last != step->watched[1] - step->watched[0])
    *settled = RUN_SETTLING;
  SimTime late = last < period ? run_window_late(rank) : 0;
  if (late > 0)
    *settled = RUN_SETTLING;
  return last <= period && late <= period / MOST_HOST;
}

RunSettled run_windows_judge(const RunPlay *play, guint64 **ret_bytes, SimTime **ret_busy) {
  RunSettled settled = RUN_SETTLED;
  SimTime period = play->ranks[0].window.starts[2] - play->ranks[0].window.starts[1];
  *ret_bytes = NULL;
  *ret_busy = NULL;
  for (guint32 i = 0; i < play->n_ranks; i++) {
    const RunRank *rank = &play->ranks[i];
    if (!rank->window.found || !memory_settled(rank) || !shares_hold(rank, period, &settled) ||
        !host_holds(rank, period, &settled))
      return RUN_UNSETTLED;
  }
  *ret_bytes = g_new0(guint64, play->system->n_links);
  *ret_busy = g_new0(SimTime, play->system->n_links);
  SimTime drift = measure_links(play, *ret_bytes, *ret_busy);
  if (drift > 0)
    settled = RUN_SETTLING;
  return drift <= period / MOST_DRIFT_WAITS ? settled : RUN_UNSETTLED;
}

/* ---- Counting ---- */

static void draw_shares(const RunWindow *window, guint64 bodies, RunClass *played) {
  SimTime more = (SimTime)bodies;
  const RunShares *shares = &window->shares[RUN_BODIES - 1];
  played->step += more * (window->starts[2] - window->starts[1]);
  played->compute += more * shares->compute;
  played->communication += more * shares->communication;
  for (int cause = 0; cause < RUN_CAUSES; cause++)
    played->by_cause[cause] += more * shares->by_cause[cause];
  played->bubble = played->by_cause[RUN_CAUSE_BUBBLE];
  played->host = played->by_cause[RUN_CAUSE_HOST_IDLE];
  played->idle = played->bubble + played->host;
  played->exposed = played->step - played->compute - played->idle;
  played->network_bytes_intra += bodies * window->sent_intra;
  played->network_bytes_inter += bodies * window->sent_inter;
}

static ProgramSectionKind section_of(guint32 step) {
  return step == 0 ? PROGRAM_FIRST : PROGRAM_STEADY;
}

static void draw_levels(const RunRank *rank, RunClass *played) {
  const RunHeap *heap = rank->window.counted;
  const MemUse *use = mem_allocator_use(heap->allocator);
  played->peak_allocated = use->peak_allocated;
  played->peak_active = use->peak_active;
  played->peak_reserved = use->peak_reserved;
  played->steady_allocated = rank->window.ended_with;
  played->device_used = played->device_used_low = played->device_used_high = heap->device_peak;
  played->device_used_step = heap->device_peak_step;
  played->short_by = heap->device_peak > played->capacity ? heap->device_peak - played->capacity : 0;
  played->oom.free = heap->oom.free;
  played->oom.allocated = heap->oom.allocated;
  played->oom.reserved = heap->oom.reserved;
}

/* By how much bodies put off what a host does at a row after them; `wait`: one before it, at which it waited for all
 * streams. */
static SimTime put_off(const RunRank *rank, const RunTable *table, guint32 row, guint32 wait, guint64 bodies) {
  gboolean caught = row >= run_window_caught(table) || (wait != PROGRAM_NONE && wait >= table->watched[2]);
  const SimTime *at = caught ? rank->window.starts : rank->last->watched;
  return (SimTime)bodies * (at[2] - at[1]);
}

/* What the host did after the bodies it does later. */
static void draw_moments(const RunRank *rank, guint64 bodies, RunClass *played) {
  const RunTable *tables = rank->play->tables[rank->rank->role];
  const RunHeap *heap = rank->memory.heap;
  const RunTable *table = &tables[section_of(heap->peak_step)];
  if (heap->peak_row >= table->watched[2])
    played->peak_at += put_off(rank, table, heap->peak_row, heap->peak_wait, bodies);
  table = &tables[section_of(heap->oom.step)];
  if (!heap->has_oom || heap->oom.row < table->watched[2])
    return;
  played->oom.at += put_off(rank, table, heap->oom.row, heap->oom_wait, bodies);
  played->oom.row += (guint32)bodies * (table->watched[2] - table->watched[1]);
}

static gboolean borders_seen(const RunPlay *play) {
  for (guint32 i = 0; i < play->n_ranks; i++)
    if (play->ranks[i].last->seen < RUN_BORDERS)
      return FALSE;
  return TRUE;
}

gboolean run_windows_levels(RunPlay *play, RunClass *played) {
  if (!steps_repeat(play) || !borders_seen(play) || !roles_alike(play) || !run_windows_memory(play, RUN_SETTLED))
    return FALSE;
  for (guint32 i = 0; i < play->n_ranks; i++)
    draw_levels(&play->ranks[i], &played[i]);
  return TRUE;
}

void run_windows_draw(const RunRank *rank, RunClass *played) {
  guint64 more = asked(rank->play)->more;
  const RunWindow *window = &rank->window;
  const RunTable *table = rank->last->table;
  const SimTime *hosts = rank->last->watched;
  RunBody body = {.row = table->watched[1],
                  .end_row = table->watched[2],
                  .start = window->starts[1] - rank->before,
                  .end = window->starts[2] - rank->before,
                  .period = window->starts[2] - window->starts[1],
                  .host_period = hosts[2] - hosts[1],
                  .caught_row = run_window_caught(table),
                  .caught = run_window_caught_at(rank),
                  .watched = hosts[2] - rank->before,
                  .micros = asked(rank->play)->body};
  if ((double)played->step + (double)more * (double)body.period >= (double)RUN_LONGEST) {
    played->step = RUN_LONGEST;
    return;
  }
  run_count_move(played, &body, more);
  draw_shares(window, more, played);
  draw_levels(rank, played);
  draw_moments(rank, more, played);
}
