/* SPDX-License-Identifier: MIT */
/* The first steady step as a copy of the first.
 *
 *   first    load the model · wait · gather · embed · wait · …        rows that cost the host nothing and wait for
 *   steady                    wait · gather · embed · wait · …        nothing set no time
 *
 * Where all other rows are the same, and nothing is under way at the first's end, the steady step would take the same
 * time row by row, from a start like the first's. Its times are then the first's, as if it had been played in the
 * first's place; its memory, in which it may differ, is played by the first's notes. */
#include <string.h>

#include "run-state.h"

static gboolean is_silent(const ProgramRow *row) {
  return row->kind == PROGRAM_HOST && row->host == 0 && row->n_needs == 0;
}

static gboolean rows_alike(const ProgramRow *a, const ProgramRow *b) {
  return a->kind == b->kind && a->stream == b->stream && a->op == b->op && a->group == b->group &&
         a->call.operation == b->call.operation && a->call.bytes == b->call.bytes && a->host == b->host &&
         a->hint == b->hint && a->n_needs == b->n_needs;
}

/* By row of the first section the row of the steady one, or PROGRAM_NONE: a silent row of its own. NULL: they
 * differ. */
static guint32 *map_rows(const ProgramSection *first, const ProgramSection *steady) {
  g_autofree guint32 *map = g_new0(guint32, first->n_rows);
  guint32 next = 0;
  for (guint32 i = 0; i < first->n_rows; i++) {
    const ProgramRow *a = &first->rows[i], *b = next < steady->n_rows ? &steady->rows[next] : NULL;
    gboolean alike = b != NULL && rows_alike(a, b);
    for (guint32 k = 0; alike && k < a->n_needs; k++)
      alike = map[first->needs[a->needs + k]] == steady->needs[b->needs + k];
    if (!alike && !is_silent(a))
      return NULL;
    map[i] = alike ? next++ : PROGRAM_NONE;
  }
  return next == steady->n_rows ? g_steal_pointer(&map) : NULL;
}

static void copy_times(const RunStep *first, const guint32 *map, RunStep *steady) {
  for (guint32 i = 0; i < first->table->section->n_rows; i++) {
    guint32 row = map[i];
    ProgramKind kind = run_row(first, i)->kind;
    if (row == PROGRAM_NONE || kind == PROGRAM_HOST)
      continue;
    *run_row_start(steady, row) = *run_row_start(first, i);
    *run_row_own_end(steady, row) = *run_row_own_end(first, i);
    if (steady->issues != NULL)
      *run_row_issue(steady, row) = *run_row_issue(first, i);
    if (kind == PROGRAM_COLLECTIVE)
      *run_row_call(steady, row) = *run_row_call(first, i);
  }
  steady->end = first->end;
  steady->seen = first->seen;
  memcpy(steady->watched, first->watched, sizeof steady->watched);
  steady->remaining = 0;
}

/* What became of the first's collectives becomes of as many more. */
static void copy_moves(RunRank *rank, const RunTable *first) {
  const Program *program = rank->play->system->program;
  for (guint32 slot = 0; slot < program->n_slots; slot++) {
    guint32 n = first->calls[slot];
    if (n == 0)
      continue;
    GArray *moves = rank->play->communicators[program_group(program, rank->index, slot)].moves;
    g_array_set_size(moves, 2 * n);
    RunMove *all = (RunMove *)(gpointer)moves->data;
    memcpy(all + n, all, n * sizeof *all);
    rank->device.ended_calls[slot] += n;
  }
}

/* The first's notes in rows of the steady section. */
static void map_notes(RunRank *rank, const guint32 *map) {
  RunNote *notes = rank->replay.notes.data;
  guint32 n = 0;
  for (guint32 i = 0; i < rank->replay.notes.n; i++) {
    RunNote note = notes[i];
    if (note.row != PROGRAM_NONE && map[note.row] == PROGRAM_NONE)
      continue;
    note.row = note.row != PROGRAM_NONE ? map[note.row] : PROGRAM_NONE;
    notes[n++] = note;
  }
  rank->replay.notes.n = n;
}

gboolean run_copy_first(RunPlay *play) {
  RunRank *rank = &play->ranks[0];
  RunStep *first = rank->last;
  const ProgramSection *sections = rank->role->sections;
  g_autofree guint32 *map = map_rows(&sections[PROGRAM_FIRST], &sections[PROGRAM_STEADY]);
  if (map == NULL)
    return FALSE;
  RunStep *steady = run_step_begin(rank, 1);
  copy_times(first, map, steady);
  copy_moves(rank, first->table);
  map_notes(rank, map);
  run_step_forget(rank, first);
  rank->last = rank->host.step = steady;
  rank->host.row = sections[PROGRAM_STEADY].n_rows;
  return TRUE;
}
