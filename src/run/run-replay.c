/* SPDX-License-Identifier: MIT */
/* Steps that can differ from the one before in memory alone.
 *
 *   at rest ──► step N: rows and streams' ends, noted ──► at rest ──► step N + 1: the notes again
 *
 * A step that began and ended at rest, all ranks at one instant and holding the same bytes, takes the same time again
 * to the picosecond: time enters as differences only, and waits for memory only where the cache is given back, which is
 * never taken for known. Where it left every byte where the one before did, all of it is known. Else the allocator's
 * cache is still settling: of the next steps the memory alone is played, in the order that was noted, until it repeats;
 * if the cache must be given back there, all is played again with every step. */
#include <string.h>

#include "run-state.h"

/* The host acts on each row once, and nearly each ends on a stream. */
void run_replay_make_room(RunRank *rank) {
  BaseVector *notes = &rank->replay.notes;
  guint32 rows = rank->host.step->table->section->n_rows;
  base_vector_reserve(notes, MAX(2 * rows, 2 * notes->size), sizeof(RunNote));
}

void run_replay_notes(RunRank *rank, RunStep *step) {
  const RunNote *notes = rank->replay.notes.data;
  guint border = 0;
  rank->replay.replaying = TRUE;
  gboolean made = run_memory_again(rank, step);
  for (guint32 i = 0; !made && i < rank->replay.notes.n; i++) {
    rank->replay.noted_at = notes[i].at;
    if (notes[i].row != PROGRAM_NONE)
      run_memory_act(rank, step, notes[i].row);
    else if (notes[i].stream == PROGRAM_NONE)
      run_window_replayed(rank, border++);
    else
      run_memory_end(&rank->device.streams[notes[i].stream]);
  }
  rank->replay.noted_at = 0;
  rank->replay.replaying = FALSE;
}

void run_replay_mark(RunRank *rank) {
  const Program *program = rank->play->system->program;
  const RunHeap *heap = rank->memory.heap;
  BaseVector layout = rank->replay.layout[1];
  rank->replay.layout[1] = rank->replay.layout[0];
  layout.n = 0;
  mem_allocator_layout(heap->allocator, &layout);
  for (guint32 t = 0; t < program->n_tensors; t++) {
    if (heap->blocks[t] == PROGRAM_NONE)
      continue;
    *(guint64 *)base_vector_next(&layout, sizeof(guint64)) = t;
    *(guint64 *)base_vector_next(&layout, sizeof(guint64)) = mem_allocator_address(heap->allocator, heap->blocks[t]);
  }
  *(guint64 *)base_vector_next(&layout, sizeof(guint64)) = heap->outside;
  *(guint64 *)base_vector_next(&layout, sizeof(guint64)) = heap->use->flushes; /* they count */
  rank->replay.layout[0] = layout;
}

static gboolean memory_is_as_before(const RunRank *rank) {
  const BaseVector *layout = rank->replay.layout;
  return layout[0].n == layout[1].n && memcmp(layout[0].data, layout[1].data, layout[0].n * sizeof(guint64)) == 0;
}

static void rank_passes(RunRank *rank) {
  rank->period[1] = rank->period[0];
  const RunLevels levels = run_memory_step(rank);
  run_step_note_memory(rank, &levels);
  run_window_step(rank, &levels);
  run_replay_mark(rank);
  rank->steps_ended++;
}

static gboolean all(const RunPlay *play, gboolean (*holds)(const RunRank *rank)) {
  for (guint32 i = 0; i < play->n_ranks; i++)
    if (!holds(&play->ranks[i]))
      return FALSE;
  return TRUE;
}

static void step_passes(RunPlay *play) {
  for (guint32 i = 0; i < play->n_ranks; i++)
    rank_passes(&play->ranks[i]);
  play->steps_ended++;
}

/* Its memory was taken for an earlier play's, but its first steady step must be played. */
static void make_moves(RunPlay *play) {
  RunRank *rank = &play->ranks[0];
  rank->memory.kept = FALSE;
  if (!rank->memory.foreseen)
    return;
  run_recall_miss(rank, rank->last);
  const RunLevels levels = run_memory_step(rank);
  memcpy(rank->replay.level[0], levels.held, sizeof rank->replay.level[0]);
  run_step_note_memory(rank, &levels);
  run_replay_mark(rank);
}

/* The first steady step, where it is a copy of the first on all ranks. TRUE: memory is known, of all steps. Of a
 * timeline the levels would have to be kept too. */
static gboolean copy_first(RunPlay *play) {
  if (play->options->timeline || !run_copy_first(play)) {
    make_moves(play);
    return FALSE;
  }
  if (run_recall_rest(play))
    return TRUE;
  for (guint32 i = 0; i < play->n_ranks; i++)
    run_replay_notes(&play->ranks[i], play->ranks[i].last);
  step_passes(play);
  for (guint32 i = 0; i < play->n_ranks; i++) {
    RunRank *rank = &play->ranks[i];
    rank->replay.rested[1] = rank->replay.rested[0];
    memcpy(rank->replay.level[1], rank->replay.level[0], sizeof rank->replay.level[0]);
    memcpy(rank->replay.level[0], rank->memory.heap->ledger.held, sizeof rank->replay.level[0]);
  }
  return FALSE;
}

/* The step that has ended did not wait for memory, nor may later ones. */
static gboolean memory_takes_no_time(const RunRank *rank) {
  const RunHeap *heap = rank->memory.heap;
  return rank->last->stalled == 0 && (heap->use->flushes == 0 || heap->has_oom);
}

static gboolean rests_now(const RunRank *rank) {
  return rank->replay.rested[0];
}

static gboolean began_alike(const RunRank *rank) {
  return rank->replay.rested[1] &&
         memcmp(rank->replay.level[0], rank->replay.level[1], sizeof rank->replay.level[0]) == 0;
}

static void replay_rank(RunRank *rank) {
  rank->replay.replayed++;
  if (memory_is_as_before(rank))
    run_window_known(rank);
  else
    run_replay_notes(rank, rank->last);
}

/* Memory at windows' borders is taken down as ranks come to them, so theirs alone it must be. */
static gboolean may_replay(const RunRank *rank) {
  return rank->play->options->windows.body == 0 || (rank->window.noted && rank->memory.heap->log == NULL);
}

static gboolean replay(RunPlay *play) {
  if (!run_replay_wanted(play) || !all(play, rests_now) || !all(play, memory_takes_no_time) || !all(play, may_replay))
    return FALSE;
  gboolean copied = play->steps_ended == 1 && copy_first(play);
  if (copied || play->again)
    return TRUE;
  if (play->steps_ended < 2 || !all(play, began_alike))
    return FALSE;
  /* What is held when, a timeline shows of the last step alone, and a cache that is given back changes it. */
  if (play->options->timeline && !all(play, memory_is_as_before))
    return FALSE;
  while (!play->repeats && !play->again && play->steps_ended < RUN_MOST_STEPS) {
    for (guint32 i = 0; i < play->n_ranks && !play->again; i++)
      replay_rank(&play->ranks[i]);
    step_passes(play);
    play->repeats = all(play, run_step_repeats);
  }
  run_recall_keep(play);
  return TRUE;
}

gboolean run_replay(RunPlay *play) {
  gboolean known = replay(play);
  if (!known && play->steps_ended > 1) /* a steady step is played that need not be the first's again */
    play->ranks[0].memory.kept = FALSE;
  return known;
}
