/* The host of a rank: issues rows in order, pays for each, takes and gives memory, blocks where the framework blocks.
 *
 * Hosts that go on at one instant are played by one event of the host phase, in the order in which they were woken. */
#include "base-error.h"
#include "run-state.h"

static void act(RunRank *rank, const ProgramRow *row) {
  const ProgramSection *section = rank->step->table->section;
  for (guint32 i = 0; i < row->n_gives; i++) {
    const ProgramGive *give = &section->gives[row->gives + i];
    run_memory_give(rank, give->tensor, give->stream == PROGRAM_NONE ? NULL : &rank->streams[give->stream]);
  }
  if (row->kind == PROGRAM_COLLECTIVE)
    run_memory_connect(rank, rank->step, rank->row);
  for (guint32 i = 0; i < row->n_takes; i++)
    run_memory_take(rank, section->takes[row->takes + i], rank->step, rank->row);
}

/* Issues the row the host stands before; FALSE where it must stop: a cost to pay, or a wait. */
static gboolean issue_row(RunRank *rank) {
  RunStep *step = rank->step;
  const ProgramRow *row = run_row(step, rank->row);
  if (row->host > 0 && !rank->paid) {
    rank->paid = TRUE;
    run_schedule(rank->play, &rank->host, run_now(rank->play), row->host);
    return FALSE;
  }
  if (row->kind == PROGRAM_HOST && step->unmet[rank->row] > 0)
    return FALSE;
  act(rank, row);
  rank->paid = FALSE;
  guint32 issued = rank->row++;
  if (row->kind == PROGRAM_HOST)
    run_row_ended(step, issued);
  else
    run_task_issue(rank, issued);
  return TRUE;
}

static void play_host(RunRank *rank) {
  for (;;) {
    while (rank->row < rank->step->table->section->n_rows)
      if (!issue_row(rank))
        return;
    if (rank->step->number + 1 == RUN_MOST_STEPS)
      return;
    rank->step = run_step_begin(rank, rank->step->number + 1);
    rank->row = 0;
    if (rank->step->table->section->n_rows == 0)
      return;
  }
}

static void host_paid(Event *event, gpointer owner) {
  (void)event;
  play_host(owner);
}

static void play_hosts(Event *event, gpointer owner) {
  (void)event;
  RunPlay *play = owner;
  GPtrArray *playing = play->hosts;
  play->hosts = play->hosts_playing;
  play->hosts_playing = playing;
  for (guint i = 0; i < playing->len; i++) {
    RunRank *rank = g_ptr_array_index(playing, i);
    rank->queued = FALSE;
    play_host(rank);
  }
  g_ptr_array_set_size(playing, 0);
}

void run_hosts_init(RunPlay *play) {
  play->hosts = g_ptr_array_sized_new(play->system->program->n_ranks);
  play->hosts_playing = g_ptr_array_sized_new(play->system->program->n_ranks);
  /* Above the identities of ranks, whose host times end in the same phase. */
  event_init(&play->hosts_event, play_hosts, play, EVENT_PHASE_HOST, play->system->program->n_ranks);
}

void run_host_init(RunRank *rank) {
  event_init(&rank->host, host_paid, rank, EVENT_PHASE_HOST, rank->index);
  rank->step = run_step_begin(rank, 0);
  run_host_resume(rank);
}

void run_host_resume(RunRank *rank) {
  RunPlay *play = rank->play;
  if (rank->queued)
    return;
  rank->queued = TRUE;
  g_ptr_array_add(play->hosts, rank);
  if (!event_is_pending(&play->hosts_event))
    event_schedule(play->queue, &play->hosts_event, run_now(play));
}
