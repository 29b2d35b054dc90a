/* SPDX-License-Identifier: MIT */
/* Rows on streams: a stream runs its rows in order, each when its needs have ended. */
#include "base-error.h"
#include "run-state.h"

static void compute_ended(Event *event, gpointer owner) {
  (void)event;
  run_stream_ended(owner);
}

void run_stream_init(RunStream *stream, RunRank *rank, guint32 index) {
  stream->rank = rank;
  guint64 identity = (guint64)rank->index * rank->play->system->program->n_streams + index;
  event_init(&stream->event, compute_ended, stream, EVENT_PHASE_COMPLETIONS, identity);
}

/* Of a row that is no collective and no host row. */
static SimTime duration_of(const RunStep *step, const ProgramRow *row) {
  const RunSystem *system = step->rank->play->system;
  if (row->kind == PROGRAM_COMPUTE)
    return run_op_duration(step->rank, row->op);
  return sim_time_of_amount((double)row->call.bytes,
                            row->kind == PROGRAM_COPY ? system->copy_rates[row->op] : system->cpu_rate);
}

void run_stream_advance(RunStream *stream) {
  if (stream->pending == 0 || stream->running || run_row_waits(stream->step, stream->head))
    return;
  RunStep *step = stream->step;
  const ProgramRow *row = run_row(step, stream->head);
  if (row->kind == PROGRAM_COLLECTIVE && !run_collective_may_start(step, stream->head))
    return;
  RunPlay *play = stream->rank->play;
  SimTime now = run_now(play);
  stream->running = TRUE;
  *run_row_start(step, stream->head) = now;
  if (BASE_TRACED(play->traced, RUN_TRACE_START))
    run_trace_row(stream, RUN_TRACE_START);
  if (row->kind == PROGRAM_COLLECTIVE) {
    run_collective_join(stream);
    return;
  }
  stream->anchor = now;
  stream->left = 1;
  run_schedule(play, &stream->event, now, duration_of(step, row));
  if (row->kind == PROGRAM_COMPUTE)
    run_contention_begins(stream);
}

void run_task_issue(RunRank *rank, guint32 row) {
  RunStep *step = rank->host.step;
  const ProgramRow *what = run_row(step, row);
  RunStream *stream = &rank->device.streams[what->stream];
  if (step->issues != NULL)
    *run_row_issue(step, row) = run_now(rank->play);
  if (what->kind == PROGRAM_COLLECTIVE) {
    RunCall *call = run_row_call(step, row);
    call->issued = run_now(rank->play);
    call->ready = run_row_waits(step, row) ? RUN_UNSET : call->issued;
  }
  if (stream->pending++ == 0) {
    rank->device.busy++;
    stream->step = step;
    stream->head = row;
    run_stream_advance(stream);
  }
}

/* To the next row on the stream, in this step or a later one. */
static void move_head(RunStream *stream) {
  RunStep *step = stream->step;
  guint32 index = run_row(step, stream->head)->stream;
  stream->head = step->table->next[stream->head];
  while (stream->head == PROGRAM_NONE) {
    step = stream->rank->steps[step->number + 1];
    stream->head = step->table->first[index];
  }
  stream->step = step;
}

void run_stream_ended(RunStream *stream) {
  RunRank *rank = stream->rank;
  RunStep *step = stream->step;
  guint32 row = stream->head;
  const ProgramRow *what = run_row(step, row);
  *run_row_own_end(step, row) = run_now(rank->play);
  if (BASE_TRACED(rank->play->traced, RUN_TRACE_END))
    run_trace_row(stream, RUN_TRACE_END);
  stream->running = FALSE;
  if (what->kind == PROGRAM_COMPUTE)
    run_contention_ends(stream);
  if (run_replay_wanted(rank->play))
    run_replay_note(rank, PROGRAM_NONE, (guint32)(stream - rank->device.streams));
  run_memory_end(stream);
  if (--stream->pending > 0)
    move_head(stream);
  else if (--rank->device.busy == 0 && rank->host.waits)
    run_host_resume(rank);
  if (what->kind == PROGRAM_COLLECTIVE) {
    rank->device.ended_calls[what->group]++;
    for (guint32 s = 1; s < rank->play->system->program->n_streams; s++)
      run_stream_advance(&rank->device.streams[s]);
  } else {
    run_stream_advance(stream);
  }
  run_row_ended(step, row);
}

static void wake(RunStep *step, guint32 row) {
  RunRank *rank = step->rank;
  const ProgramRow *what = run_row(step, row);
  gboolean stands = rank->host.step == step && rank->host.row == row;
  if (what->kind == PROGRAM_HOST) {
    if (stands)
      run_host_resume(rank);
    return;
  }
  gboolean issued = rank->host.step != step || row < rank->host.row;
  if (!issued)
    return;
  if (what->kind == PROGRAM_COLLECTIVE)
    run_row_call(step, row)->ready = run_now(rank->play);
  run_stream_advance(&rank->device.streams[what->stream]);
}

void run_row_ended(RunStep *step, guint32 row) {
  const RunTable *table = step->table;
  for (guint32 i = table->waiter_offsets[row]; i < table->waiter_offsets[row + 1]; i++)
    if (run_row_met(step, table->waiters[i]))
      wake(step, table->waiters[i]);
  if (--step->remaining == 0)
    run_step_ended(step);
}
