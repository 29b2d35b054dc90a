/* Rows on streams: a stream runs its rows in order, each when its needs have ended. */
#include "base-error.h"
#include "run-state.h"

static void compute_ended(Event *event, gpointer owner) {
  (void)event;
  run_task_end(owner);
}

static guint64 identity(const RunInstance *instance) {
  const RunStep *step = instance->step;
  const RunPlay *play = step->rank->play;
  return ((guint64)step->number * play->n_ranks + step->rank->index) * play->most_rows + run_row_index(instance);
}

static void start(RunInstance *instance) {
  RunPlay *play = instance->step->rank->play;
  instance->start = run_now(play);
  if (instance->row->kind == PROGRAM_COLLECTIVE) {
    run_collective_join(instance);
    return;
  }
  event_init(&instance->event, compute_ended, instance, EVENT_PHASE_COMPLETIONS, identity(instance));
  event_schedule(play->queue, &instance->event, instance->start + instance->step->rank->durations[instance->row->op]);
}

void run_task_advance(RunRank *rank, guint32 stream) {
  RunInstance *head = rank->streams[stream].head;
  if (head == NULL || head->start != RUN_UNSET || head->unmet > 0)
    return;
  if (head->row->kind == PROGRAM_COLLECTIVE && !run_collective_may_start(head))
    return;
  start(head);
}

void run_task_issue(RunRank *rank, RunInstance *instance) {
  RunStream *stream = &rank->streams[instance->row->stream];
  instance->issued = run_now(rank->play);
  if (instance->unmet == 0)
    instance->ready = instance->issued;
  if (instance->row->kind == PROGRAM_COLLECTIVE)
    instance->sequence = rank->orders[instance->row->group].issued++;
  if (stream->tail != NULL)
    stream->tail->next = instance;
  else
    stream->head = instance;
  stream->tail = instance;
  run_task_advance(rank, instance->row->stream);
}

static void leave_stream(RunRank *rank, RunInstance *instance) {
  RunStream *stream = &rank->streams[instance->row->stream];
  sim_require(stream->head == instance, run_now(rank->play), rank->play->run_key, "\"%s\" ends before its turn",
              instance->row->name);
  stream->head = instance->next;
  if (stream->head == NULL)
    stream->tail = NULL;
}

static void wake_waiters(RunInstance *instance) {
  RunStep *step = instance->step;
  RunRank *rank = step->rank;
  const RunWaiters *waiters = &rank->play->waiters[rank->rank->role][step->section];
  guint32 row = run_row_index(instance);
  for (guint32 i = waiters->offsets[row]; i < waiters->offsets[row + 1]; i++) {
    RunInstance *waiter = &step->instances[waiters->rows[i]];
    if (--waiter->unmet > 0 || waiter->issued == RUN_UNSET)
      continue;
    waiter->ready = run_now(rank->play);
    if (waiter->row->kind == PROGRAM_HOST)
      run_host_resume(rank);
    else
      run_task_advance(rank, waiter->row->stream);
  }
}

void run_task_end(RunInstance *instance) {
  RunStep *step = instance->step;
  RunRank *rank = step->rank;
  instance->end = run_now(rank->play);
  instance->done = TRUE;
  if (instance->frees != NULL)
    for (guint i = 0; i < instance->frees->len; i++)
      run_memory_give(rank, g_array_index(instance->frees, guint32, i));
  if (instance->row->kind != PROGRAM_HOST) {
    leave_stream(rank, instance);
    run_task_advance(rank, instance->row->stream);
  }
  if (instance->row->kind == PROGRAM_COLLECTIVE) {
    rank->orders[instance->row->group].ended++;
    for (guint32 s = 1; s < rank->play->system->program->n_streams; s++)
      run_task_advance(rank, s);
  }
  wake_waiters(instance);
  if (--step->remaining == 0)
    run_step_ended(step);
}
