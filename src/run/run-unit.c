/* SPDX-License-Identifier: MIT */
/* The smallest end of a body that all of it repeats, and what was taken when of what it gives. */
#include "run-unit.h"

#include <string.h>

#include "run-state.h"

void run_unit_clear(RunUnit *unit) {
  g_free(unit->tensors);
  g_free(unit->last);
  g_free(unit->taken);
  g_free(unit->waited);
}

/* What scanning a section up to its last border finds. */
typedef struct {
  BaseVector tensors, given; /* guint32: of takes; numbers of takes */
  guint32 takes_at[RUN_BORDERS], gives_at[RUN_BORDERS];
  guint32 reach;
} Scan;

static guint32 number_at(const BaseVector *vector, guint32 i) {
  return ((const guint32 *)vector->data)[i];
}

static void scan_row(const ProgramSection *section, guint32 index, gboolean within, guint32 *last, Scan *scan) {
  const ProgramRow *row = &section->rows[index];
  for (guint32 i = 0; within && i < row->n_gives; i++) {
    guint32 number = last[section->gives[row->gives + i].tensor];
    *(guint32 *)base_vector_next(&scan->given, sizeof(guint32)) = number;
    scan->reach = number != PROGRAM_NONE ? MAX(scan->reach, scan->tensors.n - number) : scan->reach;
  }
  for (guint32 i = 0; i < row->n_takes; i++) {
    guint32 tensor = section->takes[row->takes + i];
    last[tensor] = scan->tensors.n;
    *(guint32 *)base_vector_next(&scan->tensors, sizeof(guint32)) = tensor;
  }
}

/* Up to the last of three borders. */
static void scan_section(const ProgramSection *section, const guint32 *borders, guint32 *last, Scan *scan) {
  guint border = 0;
  for (guint32 i = 0; i <= borders[RUN_BODIES]; i++) {
    while (border < RUN_BORDERS && i == borders[border]) {
      scan->takes_at[border] = scan->tensors.n;
      scan->gives_at[border++] = scan->given.n;
    }
    if (i < borders[RUN_BODIES])
      scan_row(section, i, border > 0, last, scan);
  }
}

static gboolean same_kind(const ProgramTensor *a, const ProgramTensor *b) {
  return a->tenant == b->tenant && a->bytes == b->bytes && a->unique_bytes == b->unique_bytes &&
         a->managed == b->managed;
}

/* The takes from `first` on, and those a body later. */
static gboolean takes_alike(const Scan *scan, const ProgramTensor *tensors, guint32 first, guint32 of_body) {
  for (guint32 i = first; i + of_body < scan->takes_at[RUN_BODIES]; i++)
    if (!same_kind(&tensors[number_at(&scan->tensors, i)], &tensors[number_at(&scan->tensors, i + of_body)]))
      return FALSE;
  return TRUE;
}

/* What chunks take in one body they may give two later: what body 0 gives may come from before all was alike, but what
 * body 1 gives was taken where all is. */
static gboolean gives_alike(const Scan *scan, guint32 first, guint32 of_body) {
  guint32 gives = scan->gives_at[2] - scan->gives_at[1];
  for (guint32 i = scan->gives_at[1]; i < scan->gives_at[2]; i++) {
    guint32 number = number_at(&scan->given, i), before = number_at(&scan->given, i - gives);
    if (number == PROGRAM_NONE || number < first || before == PROGRAM_NONE ||
        (before >= first && number - before != of_body))
      return FALSE;
  }
  return TRUE;
}

/* The oldest take that body 1 gives, at the latest the first of the body before body 0. */
static guint32 first_alike(const Scan *scan) {
  guint32 first = scan->takes_at[0] - MIN(scan->takes_at[0], scan->takes_at[2] - scan->takes_at[1]);
  for (guint32 i = scan->gives_at[1]; i < scan->gives_at[2]; i++)
    first = MIN(first, number_at(&scan->given, i));
  return first;
}

static gboolean bodies_move_alike(const Scan *scan, const ProgramTensor *tensors) {
  guint32 takes = scan->takes_at[2] - scan->takes_at[1], gives = scan->gives_at[2] - scan->gives_at[1];
  guint32 first = first_alike(scan);
  return scan->takes_at[1] - scan->takes_at[0] == takes && scan->gives_at[1] - scan->gives_at[0] == gives &&
         takes_alike(scan, tensors, first, takes) && gives_alike(scan, first, takes);
}

/* From the bodies on. */
static gboolean *streams_waited(const RunTable *table, guint32 n_streams) {
  gboolean *waited = g_new0(gboolean, n_streams);
  for (guint32 i = table->watched[0]; i < table->section->n_rows; i++)
    for (guint32 g = 0; g < table->section->rows[i].n_gives; g++) {
      guint32 stream = table->section->gives[table->section->rows[i].gives + g].stream;
      if (stream != PROGRAM_NONE)
        waited[stream] = TRUE;
    }
  return waited;
}

/* Two of so many rows before the last border. FALSE: what the second gives is not what the first gives, later. */
static gboolean try_unit(RunUnit *unit, const RunTable *table, const Program *program, guint32 rows) {
  guint32 end = table->watched[RUN_BODIES];
  const guint32 borders[RUN_BORDERS] = {end - 2 * rows, end - rows, end};
  Scan scan = {0};
  memset(unit->last, 0xff, program->n_tensors * sizeof *unit->last);
  scan_section(table->section, borders, unit->last, &scan);
  gboolean alike = bodies_move_alike(&scan, program->tensors);
  unit->row = borders[1];
  unit->takes = scan.takes_at[RUN_BODIES];
  unit->of_unit = unit->takes - scan.takes_at[1];
  unit->reach = scan.reach;
  if (alike) {
    unit->tensors = g_steal_pointer(&scan.tensors.data);
    unit->taken = g_memdup2((guint32 *)scan.given.data + scan.gives_at[1],
                            (scan.gives_at[2] - scan.gives_at[1]) * sizeof(guint32));
  }
  g_free(scan.tensors.data);
  g_free(scan.given.data);
  return alike;
}

/* In both bodies each row is like the one so many rows on. */
static gboolean rows_repeat(const RunTable *table, guint32 rows) {
  for (guint32 i = table->watched[0]; i + rows < table->watched[RUN_BODIES]; i++)
    if (!run_window_moves_alike(&table->section->rows[i], &table->section->rows[i + rows]))
      return FALSE;
  return TRUE;
}

/* Where streams are waited for it is all of body 1, which was held against body 0 in time as well. */
static gboolean may_be_unit(const RunUnit *unit, const RunTable *table, guint32 micros, guint32 of_body) {
  guint32 rows = table->watched[2] - table->watched[1];
  if (micros == of_body)
    return TRUE;
  return !unit->waits && of_body % micros == 0 && rows % (of_body / micros) == 0 &&
         rows_repeat(table, rows / (of_body / micros));
}

/* FALSE: what body 1 gives is not what body 0 gives, a body later. */
gboolean run_unit_init(RunUnit *unit, const RunTable *table, const Program *program, guint32 of_body) {
  guint32 rows = table->watched[2] - table->watched[1];
  *unit = (RunUnit){.watched = table->watched};
  unit->last = g_new(guint32, MAX(program->n_tensors, 1));
  unit->waited = streams_waited(table, program->n_streams);
  for (guint32 s = 0; s < program->n_streams; s++)
    unit->waits |= unit->waited[s];
  for (guint32 micros = 1; micros <= of_body; micros++) {
    unit->micros = micros;
    if (may_be_unit(unit, table, micros, of_body) && try_unit(unit, table, program, rows / (of_body / micros)))
      return TRUE;
  }
  return FALSE;
}
