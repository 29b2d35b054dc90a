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

/* Of a role. */
typedef struct {
  guint32 *map;  /* NULL: the steady section is known to be the first from a row on */
  guint32 ahead; /* that one */
} Copy;

static gboolean is_silent_until(const ProgramSection *first, guint32 ahead) {
  for (guint32 i = 0; i < ahead; i++)
    if (!is_silent(&first->rows[i]))
      return FALSE;
  return TRUE;
}

static void copy_times(const RunStep *first, const guint32 *map, RunStep *steady) {
  for (guint32 i = 0; i < first->table->section->n_rows; i++) {
    guint32 row = map[i];
    ProgramKind kind = run_row(first, i)->kind;
    if (row == PROGRAM_NONE || kind == PROGRAM_HOST)
      continue;
    *run_row_start(steady, row) = *run_row_start(first, i);
    *run_row_own_end(steady, row) = *run_row_own_end(first, i);
    if (kind == PROGRAM_COLLECTIVE)
      *run_row_call(steady, row) = *run_row_call(first, i);
  }
}

static RunStep *copy_step(RunRank *rank, RunStep *first, const Copy *copy) {
  RunStep *steady = copy->map != NULL ? run_step_begin(rank, 1) : run_step_follow(rank, first, copy->ahead);
  if (copy->map != NULL)
    copy_times(first, copy->map, steady);
  steady->end = first->end;
  steady->seen = first->seen;
  memcpy(steady->watched, first->watched, sizeof steady->watched);
  steady->remaining = 0;
  return steady;
}

/* What became of the first's collectives becomes of as many more. */
static void copy_moves(RunPlay *play) {
  for (guint32 c = 0; c < play->system->program->n_communicators; c++) {
    GArray *moves = play->communicators[c].moves;
    guint n = moves->len;
    g_array_set_size(moves, 2 * n);
    RunMove *all = (RunMove *)(gpointer)moves->data;
    if (n > 0)
      memcpy(all + n, all, n * sizeof *all);
  }
}

static guint32 row_in_steady(const Copy *copy, guint32 row) {
  if (copy->map != NULL)
    return copy->map[row];
  return row < copy->ahead ? PROGRAM_NONE : row - copy->ahead;
}

/* The first's notes in rows of the steady section. */
static void map_notes(RunRank *rank, const Copy *copy) {
  RunNote *notes = rank->replay.notes.data;
  guint32 n = 0;
  for (guint32 i = 0; i < rank->replay.notes.n; i++) {
    RunNote note = notes[i];
    if (note.row != PROGRAM_NONE) {
      note.row = row_in_steady(copy, note.row);
      if (note.row == PROGRAM_NONE)
        continue;
    }
    notes[n++] = note;
  }
  rank->replay.notes.n = n;
}

static void copy_rank(RunRank *rank, const Copy *copy) {
  RunStep *first = rank->last, *steady = copy_step(rank, first, copy);
  for (guint32 slot = 0; slot < rank->play->system->program->n_slots; slot++)
    rank->device.ended_calls[slot] += first->table->calls[slot];
  map_notes(rank, copy);
  run_step_forget(rank, first);
  rank->last = rank->host.step = steady;
  rank->host.row = steady->table->section->n_rows;
}

static void free_copies(Copy *copies, guint32 n) {
  for (guint32 r = 0; r < n; r++)
    g_free(copies[r].map);
  g_free(copies);
}

/* FALSE: the steady section is no copy of the first. */
static gboolean copy_role(const ProgramRole *role, Copy *ret) {
  const ProgramSection *first = &role->sections[PROGRAM_FIRST];
  *ret = (Copy){.ahead = role->ahead};
  if (role->ahead > 0)
    return is_silent_until(first, role->ahead);
  ret->map = map_rows(first, &role->sections[PROGRAM_STEADY]);
  return ret->map != NULL;
}

/* By role; NULL: of one of them the steady section is none. */
static Copy *copy_roles(const Program *program) {
  Copy *copies = g_new0(Copy, program->n_roles);
  for (guint32 r = 0; r < program->n_roles; r++)
    if (!copy_role(&program->roles[r], &copies[r])) {
      free_copies(copies, r);
      return NULL;
    }
  return copies;
}

gboolean run_copy_first(RunPlay *play) {
  const Program *program = play->system->program;
  Copy *copies = copy_roles(program);
  if (copies == NULL)
    return FALSE;
  for (guint32 i = 0; i < play->n_ranks; i++)
    copy_rank(&play->ranks[i], &copies[play->ranks[i].rank->role]);
  copy_moves(play);
  free_copies(copies, program->n_roles);
  return TRUE;
}
