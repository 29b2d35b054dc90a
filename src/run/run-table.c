/* SPDX-License-Identifier: MIT */
/* Preparing a section, once a step is to be played by it: who waits for whom, who follows whom on a stream, which
 * collective is the how-manieth. */
#include <string.h>

#include "base-error.h"
#include "run-state.h"
#include "run-tables.h"

/* Who follows whom, and how many rows need each, counted where its waiters will end. */
static void find_order(RunTable *table, const ProgramSection *section, const Program *program) {
  guint32 n_rows = section->n_rows;
  g_autofree guint32 *last = g_new(guint32, program->n_streams);
  guint32 *needs = table->needs = g_new(guint32, n_rows);
  guint32 *counts = table->waiter_offsets = g_new0(guint32, n_rows + 2);
  guint32 *next = table->next = g_new(guint32, n_rows);
  table->first = g_new(guint32, program->n_streams);
  table->call = g_new0(guint32, n_rows);
  table->sequence = g_new0(guint32, n_rows);
  table->calls = g_new0(guint32, program->n_slots);
  for (guint32 s = 0; s < program->n_streams; s++)
    table->first[s] = last[s] = PROGRAM_NONE;
  for (guint32 i = 0; i < n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    needs[i] = row->n_needs;
    for (guint32 k = row->needs; k < row->needs + row->n_needs; k++)
      counts[section->needs[k] + 2]++;
    *(last[row->stream] == PROGRAM_NONE ? &table->first[row->stream] : &next[last[row->stream]]) = i;
    last[row->stream] = i;
    next[i] = PROGRAM_NONE;
    if (row->kind == PROGRAM_COLLECTIVE) {
      table->call[i] = table->n_calls++;
      table->sequence[i] = table->calls[row->group]++;
    }
  }
}

static void find_waiters(RunTable *table, const ProgramSection *section) {
  guint32 *offsets = table->waiter_offsets;
  for (guint32 i = 0; i < section->n_rows; i++)
    offsets[i + 2] += offsets[i + 1];
  table->waiters = g_new(guint32, offsets[section->n_rows + 1]);
  for (guint32 i = 0; i < section->n_rows; i++)
    for (guint32 k = 0; k < section->rows[i].n_needs; k++)
      table->waiters[offsets[section->needs[section->rows[i].needs + k] + 1]++] = i;
}

static guint32 first_of_micro(const ProgramSection *section, guint32 micro) {
  for (guint32 i = 0; micro > 0 && i < section->n_rows; i++)
    if (section->rows[i].micro >= (gint32)micro)
      return i;
  return PROGRAM_NONE;
}

static void find_watched(RunTable *table, const RunOptions *options) {
  const RunWindows *windows = &options->windows;
  table->n_watched = windows->body > 0 ? RUN_BORDERS : 1;
  table->watched[0] = first_of_micro(table->section, windows->body > 0 ? windows->first : options->watched);
  for (guint32 i = 1; i < table->n_watched; i++)
    table->watched[i] = first_of_micro(table->section, windows->first + i * windows->body);
}

void run_table_init(RunTable *table, const ProgramSection *section, const RunOptions *options) {
  table->section = section;
  find_watched(table, options);
}

static gboolean is_prepared(const RunTable *table) {
  return table->waiter_offsets != NULL;
}

void run_table_prepare(RunTable *table, const Program *program) {
  if (is_prepared(table))
    return;
  table->n_calls = 0;
  find_order(table, table->section, program);
  find_waiters(table, table->section);
}

void run_table_follow(RunTable *table, const RunTable *first, guint32 ahead) {
  if (is_prepared(table))
    return;
  table->call = first->call + ahead;
  table->sequence = first->sequence + ahead;
  table->calls = first->calls;
  table->n_calls = first->n_calls;
}

/* ---- Kept for further plays ---- */

struct RunTables {
  RunTable (*tables)[PROGRAM_SECTIONS]; /* by role; NULL until a play has ended */
  guint32 n_roles;
};

RunTables *run_tables_new(void) {
  return g_new0(RunTables, 1);
}

void run_tables_free(RunTables *tables) {
  if (tables == NULL)
    return;
  for (guint32 r = 0; r < tables->n_roles; r++)
    for (int s = 0; s < PROGRAM_SECTIONS; s++)
      run_table_clear(&tables->tables[r][s]);
  g_free(tables->tables);
  g_free(tables);
}

/* What is prepared; which rows are watched is each play's own. */
static void copy_prepared(RunTable *to, const RunTable *from) {
  RunTable own = *to;
  *to = *from;
  to->section = own.section;
  to->n_watched = own.n_watched;
  memcpy(to->watched, own.watched, sizeof to->watched);
}

void run_tables_lend(RunTables *tables, RunPlay *play) {
  for (guint32 r = 0; r < tables->n_roles; r++)
    for (int s = 0; s < PROGRAM_SECTIONS; s++)
      if (is_prepared(&tables->tables[r][s]))
        copy_prepared(&play->tables[r][s], &tables->tables[r][s]);
}

void run_tables_return(RunTables *tables, RunPlay *play) {
  guint32 n_roles = play->system->program->n_roles;
  if (tables->tables == NULL) {
    tables->tables = g_malloc0(n_roles * sizeof *tables->tables);
    tables->n_roles = n_roles;
  }
  sim_require(tables->n_roles == n_roles, 0, play->run_key, "%u roles are not %u", n_roles, tables->n_roles);
  for (guint32 r = 0; r < n_roles; r++)
    for (int s = 0; s < PROGRAM_SECTIONS; s++)
      if (!is_prepared(&tables->tables[r][s]) && is_prepared(&play->tables[r][s]))
        tables->tables[r][s] = play->tables[r][s];
}

void run_table_clear(RunTable *table) {
  if (!is_prepared(table))
    return;
  g_free(table->needs);
  g_free(table->waiter_offsets);
  g_free(table->waiters);
  g_free(table->next);
  g_free(table->first);
  g_free(table->call);
  g_free(table->sequence);
  g_free(table->calls);
}
