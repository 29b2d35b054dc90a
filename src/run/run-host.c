/* SPDX-License-Identifier: MIT */
/* The host of a rank: issues rows in order, pays for each, takes and gives memory, blocks where the framework blocks.
 *
 * Hosts that go on at one instant are played by one event of the host phase, in the order in which they were woken; or,
 * where nothing else is left to happen at that instant, at once: it would be the next event. */
#include "base-error.h"
#include "run-state.h"

/* Of a host's row that moves no memory, nor does the steady step's row that it is like, nothing is to be noted; but
 * windows may begin there. */
static gboolean is_of_note(const RunRank *rank, const ProgramRow *row) {
  gboolean unlike_steady = rank->host.step->number == 0 && rank->role->ahead == 0;
  return row->kind != PROGRAM_HOST || row->n_takes > 0 || row->n_gives > 0 || unlike_steady || rank->window.noted;
}

/* The host's time for a row; FALSE where it must stop until that has passed. Nearly always nothing else happens until
 * then: the host is ahead of its device. */
static gboolean pay(RunRank *rank, SimTime cost) {
  RunPlay *play = rank->play;
  rank->host.paid = TRUE;
  SimTime at = sim_time_add(run_now(play), cost);
  if (play->n_hosts == 0 && play->n_hosts_playing == 0 && !play->over && at < SIM_TIME_NEVER &&
      event_queue_pass(play->queue, at))
    return TRUE;
  run_schedule(play, &rank->host.event, run_now(play), cost);
  return FALSE;
}

/* Issues the row the host stands before, or pays for it; FALSE where it must stop: a cost to pay, or a wait. */
static gboolean issue_row(RunRank *rank) {
  RunStep *step = rank->host.step;
  const ProgramRow *row = run_row(step, rank->host.row);
  if (event_is_pending(&rank->host.event))
    return FALSE; /* woken while it pays: what it will wait for has ended already */
  if (step->seen < step->table->n_watched && rank->host.row == step->table->watched[step->seen])
    run_window_seen(rank);
  if (row->host > 0 && !rank->host.paid)
    return pay(rank, row->host);
  if (row->kind == PROGRAM_HOST && run_row_waits(step, rank->host.row))
    return FALSE;
  if (run_replay_wanted(rank->play) && rank->memory.heap->acts == 0 && is_of_note(rank, row))
    run_replay_note(rank, rank->host.row, PROGRAM_NONE);
  if (!run_memory_act(rank, step, rank->host.row))
    return FALSE;
  rank->host.paid = FALSE;
  guint32 issued = rank->host.row++;
  if (row->kind == PROGRAM_HOST)
    run_row_ended(step, issued);
  else
    run_task_issue(rank, issued);
  return TRUE;
}

/* Between steps, once: others may end theirs at this instant too, and then what follows may be known. */
static gboolean gives_way(RunRank *rank) {
  if (rank->play->n_ranks == 1 || !run_replay_wanted(rank->play))
    return FALSE;
  rank->host.gave_way = !rank->host.gave_way;
  if (rank->host.gave_way)
    run_host_resume(rank);
  return rank->host.gave_way || rank->play->over;
}

/* A timeline's last levels are those of the instant at which the next step begins, what that takes at once included. */
static gboolean has_seen_enough(const RunPlay *play) {
  return play->over && !play->options->timeline;
}

static void play_host(RunRank *rank) {
  for (;;) {
    while (rank->host.row < rank->host.step->table->section->n_rows)
      if (!issue_row(rank))
        return;
    if (has_seen_enough(rank->play) || rank->host.step->number + rank->replay.replayed + 1 == RUN_MOST_STEPS ||
        gives_way(rank))
      return;
    run_recall_miss(rank, rank->host.step);
    if (rank->play->again)
      return;
    rank->replay.notes.n = 0;
    rank->host.step = run_step_begin(rank, rank->host.step->number + 1);
    rank->host.row = 0;
    if (rank->host.step->table->section->n_rows == 0)
      return;
  }
}

static void host_paid(Event *event, gpointer owner) {
  (void)event;
  play_host(owner);
}

static void play_hosts(RunPlay *play) {
  RunRank **playing = play->hosts;
  guint32 n = play->n_hosts;
  play->hosts = play->hosts_playing;
  play->hosts_playing = playing;
  play->n_hosts = 0;
  for (guint32 i = 0; i < n; i++) {
    playing[i]->host.queued = FALSE;
    play->n_hosts_playing = n - 1 - i;
    play_host(playing[i]);
  }
}

static void hosts_go_on(Event *event, gpointer owner) {
  (void)event;
  play_hosts(owner);
}

void run_hosts_due(RunPlay *play) {
  while (play->n_hosts > 0 && !play->over) {
    if (event_queue_next(play->queue) > run_now(play)) {
      play_hosts(play);
    } else {
      if (!event_is_pending(&play->hosts_event))
        event_schedule(play->queue, &play->hosts_event, run_now(play));
      return;
    }
  }
}

void run_hosts_init(RunPlay *play) {
  play->hosts = g_new(RunRank *, play->system->program->n_ranks);
  play->hosts_playing = g_new(RunRank *, play->system->program->n_ranks);
  /* Above the identities of ranks, whose host times end in the same phase. */
  event_init(&play->hosts_event, hosts_go_on, play, EVENT_PHASE_HOST, play->system->program->n_ranks);
}

void run_host_init(RunRank *rank) {
  event_init(&rank->host.event, host_paid, rank, EVENT_PHASE_HOST, rank->index);
  rank->host.step = run_step_begin(rank, 0);
  run_host_resume(rank);
}

void run_host_resume(RunRank *rank) {
  RunPlay *play = rank->play;
  if (rank->host.queued)
    return;
  rank->host.queued = TRUE;
  play->hosts[play->n_hosts++] = rank;
}
