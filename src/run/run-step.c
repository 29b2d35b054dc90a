/* SPDX-License-Identifier: MIT */
/* Steps: what ranks keep of their rows, and when the run has seen enough of them. */
#include <string.h>

#include "run-state.h"

static RunTable *table_of(const RunRank *rank, guint32 number) {
  return &rank->play->tables[rank->rank->role][number == 0 ? PROGRAM_FIRST : PROGRAM_STEADY];
}

static RunStep *step_new(RunRank *rank, guint32 number) {
  const RunTable *table = table_of(rank, number);
  RunStep *step = rank->spare != NULL ? g_steal_pointer(&rank->spare) : g_new(RunStep, 1);
  *step = (RunStep){.rank = rank, .table = table, .number = number, .remaining = table->section->n_rows};
  rank->steps[number] = step;
  return step;
}

RunStep *run_step_begin(RunRank *rank, guint32 number) {
  run_table_prepare(table_of(rank, number), rank->play->system->program);
  RunStep *step = step_new(rank, number);
  run_plane_enter(step);
  return step;
}

RunStep *run_step_follow(RunRank *rank, RunStep *first, guint32 ahead) {
  run_table_follow(table_of(rank, 1), first->table, ahead);
  RunStep *step = step_new(rank, 1);
  run_plane_pass(first, step, ahead);
  return step;
}

void run_step_forget(RunRank *rank, RunStep *step) {
  if (step == NULL)
    return;
  rank->steps[step->number] = NULL;
  run_plane_leave(step);
  g_free(rank->spare);
  rank->spare = step;
}

void run_steps_clear(RunRank *rank) {
  for (int number = 0; number < RUN_MOST_STEPS; number++)
    g_free(rank->steps[number]);
  g_free(rank->spare);
}

gboolean run_step_repeats(const RunRank *rank) {
  return rank->steps_ended > 2 && rank->period[0] == rank->period[1] &&
         rank->replay.allocated[0] == rank->replay.allocated[1] &&
         rank->replay.reserved[0] == rank->replay.reserved[1] &&
         memcmp(rank->replay.level[0], rank->replay.level[1], sizeof rank->replay.level[0]) == 0;
}

/* The step's last row was the host's, and no stream has anything left. */
static gboolean rests(const RunRank *rank, const RunStep *step) {
  gboolean rests = rank->host.step == step && rank->host.row == step->table->section->n_rows;
  for (guint32 s = 0; s < rank->play->system->program->n_streams; s++)
    rests &= rank->device.streams[s].pending == 0;
  return rests;
}

/* A step begins at rest where all ranks are, at one instant. */
static void all_rest(RunPlay *play) {
  gboolean rest = TRUE;
  for (guint32 i = 0; i < play->n_ranks; i++)
    rest &= play->ranks[i].replay.rested[0] && play->ranks[i].last->end == run_now(play);
  for (guint32 i = 0; i < play->n_ranks; i++)
    play->ranks[i].replay.rested[0] = rest;
}

/* Of the step that all ranks have ended only its end is asked for from here on, but of a rank that is a step ahead. */
static void leave_planes(RunPlay *play) {
  for (guint32 i = 0; i < play->n_ranks; i++)
    if (play->ranks[i].steps_ended == play->steps_ended)
      run_plane_leave(play->ranks[i].last);
}

/* All ranks have ended as many steps: what the links carried so far, and whether to go on. */
static void all_ended(RunPlay *play) {
  guint32 n = net_link_count(play->net);
  play->steps_ended++;
  play->repeats = TRUE;
  for (guint32 i = 0; i < play->n_ranks; i++)
    play->repeats &= run_step_repeats(&play->ranks[i]);
  for (guint32 link = 0; link < n; link++) {
    play->link_bytes[link + n] = play->link_bytes[link];
    play->link_busy[link + n] = play->link_busy[link];
    play->link_bytes[link] = net_link_bytes(play->net, link);
    play->link_busy[link] = net_link_busy(play->net, link);
  }
  all_rest(play);
  play->over = play->again || play->repeats || play->steps_ended == RUN_MOST_STEPS || run_replay(play);
  if (!play->over && !run_replay_wanted(play))
    leave_planes(play);
}

void run_step_note_memory(RunRank *rank, const RunLevels *levels) {
  rank->replay.allocated[1] = rank->replay.allocated[0];
  rank->replay.allocated[0] = levels->allocated;
  rank->replay.reserved[1] = rank->replay.reserved[0];
  rank->replay.reserved[0] = levels->reserved;
}

void run_step_ended(RunStep *step) {
  RunRank *rank = step->rank;
  RunPlay *play = rank->play;
  gboolean at_rest = rests(rank, step);
  run_recall_step(rank, step, at_rest);
  const RunLevels levels = run_memory_step(rank);
  step->end = run_now(play);
  rank->retries += step->retries;
  rank->before = rank->last != NULL ? rank->last->end : 0;
  rank->period[1] = rank->period[0];
  rank->period[0] = step->end - rank->before;
  rank->replay.rested[1] = rank->replay.rested[0];
  rank->replay.rested[0] = at_rest;
  memcpy(rank->replay.level[1], rank->replay.level[0], sizeof rank->replay.level[0]);
  memcpy(rank->replay.level[0], levels.held, sizeof rank->replay.level[0]);
  run_step_note_memory(rank, &levels);
  run_window_step(rank, &levels);
  if (at_rest && run_replay_wanted(play) && !rank->memory.foreseen)
    run_replay_mark(rank);
  run_step_forget(rank, rank->last);
  rank->last = step;
  rank->steps_ended++;
  if (BASE_TRACED(play->traced, RUN_TRACE_STEP))
    run_trace_step(rank);
  play->ranks_ended += rank->steps_ended == play->steps_ended + 1;
  if (play->ranks_ended < play->n_ranks)
    return;
  all_ended(play);
  play->ranks_ended = 0;
  for (guint32 i = 0; i < play->n_ranks; i++)
    play->ranks_ended += play->ranks[i].steps_ended > play->steps_ended;
}
