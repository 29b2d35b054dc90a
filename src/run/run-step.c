/* Steps: the instances of their rows, and when the run has seen enough of them. */
#include <string.h>

#include "run-state.h"

RunStep *run_step_new(RunRank *rank, guint32 number) {
  RunStep *step = g_new0(RunStep, 1);
  step->rank = rank;
  step->number = number;
  step->section = number == 0 ? PROGRAM_FIRST : PROGRAM_STEADY;
  const ProgramSection *section = run_section(step);
  step->remaining = section->n_rows;
  step->instances = g_new0(RunInstance, section->n_rows);
  for (guint32 i = 0; i < section->n_rows; i++) {
    RunInstance *instance = &step->instances[i];
    instance->row = &section->rows[i];
    instance->step = step;
    instance->unmet = section->rows[i].n_needs;
    instance->issued = instance->ready = instance->start = instance->end = RUN_UNSET;
  }
  rank->steps[number] = step;
  return step;
}

void run_step_forget(RunRank *rank, RunStep *step) {
  if (step == NULL)
    return;
  for (guint32 i = 0; i < run_section(step)->n_rows; i++)
    if (step->instances[i].frees != NULL)
      g_array_unref(step->instances[i].frees);
  rank->steps[step->number] = NULL;
  g_free(step->instances);
  g_free(step);
}

static gboolean rank_repeats(const RunRank *rank) {
  return rank->steps_ended > 2 && rank->period[0] == rank->period[1] &&
         memcmp(rank->level[0], rank->level[1], sizeof rank->level[0]) == 0;
}

/* All ranks have ended as many steps: what the links carried so far, and whether to go on. */
static void all_ended(RunPlay *play) {
  guint32 n = net_link_count(play->net);
  play->steps_ended++;
  play->repeats = TRUE;
  for (guint32 i = 0; i < play->n_ranks; i++)
    play->repeats &= rank_repeats(&play->ranks[i]);
  for (guint32 link = 0; link < n; link++) {
    play->link_bytes[link + n] = play->link_bytes[link];
    play->link_busy[link + n] = play->link_busy[link];
    play->link_bytes[link] = net_link_bytes(play->net, link);
    play->link_busy[link] = net_link_busy(play->net, link);
  }
  play->over = play->repeats || play->steps_ended == RUN_MOST_STEPS;
}

void run_step_ended(RunStep *step) {
  RunRank *rank = step->rank;
  RunPlay *play = rank->play;
  step->end = run_now(play);
  rank->period[1] = rank->period[0];
  rank->period[0] = step->end - (rank->last != NULL ? rank->last->end : 0);
  memcpy(rank->level[1], rank->level[0], sizeof rank->level[0]);
  memcpy(rank->level[0], rank->ledger.held, sizeof rank->level[0]);
  run_step_forget(rank, rank->before);
  rank->before = rank->last;
  rank->last = step;
  rank->steps_ended++;
  for (guint32 i = 0; i < play->n_ranks; i++)
    if (play->ranks[i].steps_ended <= play->steps_ended)
      return;
  all_ended(play);
}
