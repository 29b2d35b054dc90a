/* SPDX-License-Identifier: MIT */
/* A host after two bodies of micro-batches: how far it is ahead of its device, and until when.
 *
 *   host     ── body 0 ── body 1 ── rows … │ waits        a body more puts off its rows by what the host needs for one,
 *   device   ─── body 0 ─── body 1 ─── rows … ┘           from the wait on by what the device needs
 *
 * Where the host needs less, what the device finds issued when it gets there it finds so after any number of bodies;
 * what it had to wait for may have been issued long before it, after more of them. */
#include "run-state.h"

/* When the last need of a row had ended, of those that a body more puts off; -1: it has none. */
static SimTime needs_met(const RunStep *step, guint32 row) {
  const ProgramSection *section = step->table->section;
  const ProgramRow *of = &section->rows[row];
  SimTime met = -1;
  for (guint32 k = of->needs; k < of->needs + of->n_needs; k++)
    if (section->needs[k] >= step->table->watched[1] && run_row(step, section->needs[k])->kind != PROGRAM_HOST)
      met = MAX(met, run_row_end(step, section->needs[k]));
  return met;
}

/* For how long a row that its host came to at `at` had waited for nothing else; `freed`: its stream was. */
static SimTime late_by(const RunStep *step, guint32 row, SimTime at, SimTime freed) {
  SimTime met = needs_met(step, row);
  if (run_row(step, row)->kind == PROGRAM_HOST)
    return met < 0 ? 0 : at - met;
  if (run_row(step, row)->kind == PROGRAM_COLLECTIVE && run_collective_move(step, row)->begun > at)
    return 0;
  return at - MAX(met, freed);
}

SimTime run_window_late(const RunRank *rank) {
  const RunStep *step = rank->last;
  const RunTable *table = step->table;
  g_autofree SimTime *freed = g_new0(SimTime, rank->play->system->program->n_streams);
  SimTime at = step->watched[RUN_BODIES], most = 0;
  for (guint32 i = 0; i < table->section->n_rows; i++) {
    const ProgramRow *row = run_row(step, i);
    if (i >= table->watched[RUN_BODIES]) {
      at += row->host;
      SimTime late = late_by(step, i, at, freed[row->stream]);
      if (late < 0 && row->kind == PROGRAM_HOST)
        break;
      most = MAX(most, late);
    }
    if (row->kind != PROGRAM_HOST)
      freed[row->stream] = run_row_end(step, i);
  }
  return most;
}

guint32 run_window_caught(const RunTable *table) {
  const ProgramSection *section = table->section;
  for (guint32 i = table->watched[RUN_BODIES]; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    for (guint32 k = row->needs; k < row->needs + row->n_needs && row->kind == PROGRAM_HOST; k++)
      if (section->needs[k] >= table->watched[1] && section->rows[section->needs[k]].kind != PROGRAM_HOST)
        return i;
  }
  return PROGRAM_NONE;
}

SimTime run_window_caught_at(const RunRank *rank) {
  guint32 row = run_window_caught(rank->last->table);
  return row == PROGRAM_NONE ? SIM_TIME_NEVER : needs_met(rank->last, row) - rank->before;
}
