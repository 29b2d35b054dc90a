/* The host of a rank: issues rows in order, pays for each, takes and gives memory, blocks where the framework blocks.
 */
#include "base-error.h"
#include "run-state.h"

static void act(RunRank *rank, RunInstance *instance) {
  const ProgramRow *row = instance->row;
  const ProgramSection *section = run_section(instance->step);
  for (guint32 i = 0; i < row->n_gives; i++) {
    const ProgramGive *give = &section->gives[row->gives + i];
    RunInstance *tail = give->stream == PROGRAM_NONE ? NULL : rank->streams[give->stream].tail;
    if (tail == NULL) {
      run_memory_give(rank, give->tensor);
      continue;
    }
    if (tail->frees == NULL)
      tail->frees = g_array_new(FALSE, FALSE, sizeof(guint32));
    g_array_append_val(tail->frees, give->tensor);
  }
  for (guint32 i = 0; i < row->n_takes; i++)
    run_memory_take(rank, section->takes[row->takes + i], instance);
}

/* Issues what can be issued now; FALSE where the host must stop (a cost to pay, a wait, the end). */
static gboolean issue_row(RunRank *rank) {
  RunStep *step = rank->step;
  RunInstance *instance = &step->instances[rank->row];
  const ProgramRow *row = instance->row;
  SimTime now = run_now(rank->play);
  if (row->host > 0 && !rank->paid) {
    rank->paid = TRUE;
    event_schedule(rank->play->queue, &rank->host, now + row->host);
    return FALSE;
  }
  gboolean host = row->kind == PROGRAM_HOST;
  if (host && instance->issued == RUN_UNSET)
    instance->issued = instance->start = now;
  if (host && instance->unmet > 0)
    return FALSE;
  act(rank, instance);
  rank->paid = FALSE;
  rank->row++;
  if (host)
    run_task_end(instance);
  else
    run_task_issue(rank, instance);
  return TRUE;
}

static void play_host(Event *event, gpointer owner) {
  (void)event;
  RunRank *rank = owner;
  for (;;) {
    while (rank->row < run_section(rank->step)->n_rows)
      if (!issue_row(rank))
        return;
    if (rank->step->number + 1 == RUN_MOST_STEPS)
      return;
    rank->step = run_step_new(rank, rank->step->number + 1);
    rank->row = 0;
    if (run_section(rank->step)->n_rows == 0)
      return;
  }
}

void run_host_init(RunRank *rank) {
  event_init(&rank->host, play_host, rank, EVENT_PHASE_HOST, rank->index);
  rank->step = run_step_new(rank, 0);
  event_schedule(rank->play->queue, &rank->host, 0);
}

void run_host_resume(RunRank *rank) {
  if (!event_is_pending(&rank->host))
    event_schedule(rank->play->queue, &rank->host, run_now(rank->play));
}
