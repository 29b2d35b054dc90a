/* Preparing a section: who waits for whom, who follows whom on a stream, which collective is the how-manieth. */
#include "run-state.h"

static void find_waiters(RunTable *table, const ProgramSection *section) {
  table->waiter_offsets = g_new0(guint32, section->n_rows + 1);
  table->needs = g_new(guint32, section->n_rows);
  for (guint32 i = 0; i < section->n_rows; i++) {
    table->needs[i] = section->rows[i].n_needs;
    for (guint32 k = 0; k < section->rows[i].n_needs; k++)
      table->waiter_offsets[section->needs[section->rows[i].needs + k] + 1]++;
  }
  for (guint32 i = 0; i < section->n_rows; i++)
    table->waiter_offsets[i + 1] += table->waiter_offsets[i];
  table->waiters = g_new(guint32, table->waiter_offsets[section->n_rows]);
  g_autofree guint32 *at = g_memdup2(table->waiter_offsets, section->n_rows * sizeof(guint32));
  for (guint32 i = 0; i < section->n_rows; i++)
    for (guint32 k = 0; k < section->rows[i].n_needs; k++)
      table->waiters[at[section->needs[section->rows[i].needs + k]]++] = i;
}

static void find_order(RunTable *table, const ProgramSection *section, const Program *program) {
  table->next = g_new(guint32, section->n_rows);
  table->first = g_new(guint32, program->n_streams);
  table->call = g_new0(guint32, section->n_rows);
  table->sequence = g_new0(guint32, section->n_rows);
  table->calls = g_new0(guint32, program->n_slots);
  for (guint32 s = 0; s < program->n_streams; s++)
    table->first[s] = PROGRAM_NONE;
  for (guint32 i = section->n_rows; i-- > 0;) {
    table->next[i] = table->first[section->rows[i].stream];
    table->first[section->rows[i].stream] = i;
  }
  for (guint32 i = 0; i < section->n_rows; i++)
    if (section->rows[i].kind == PROGRAM_COLLECTIVE) {
      table->call[i] = table->n_calls++;
      table->sequence[i] = table->calls[section->rows[i].group]++;
    }
}

void run_table_init(RunTable *table, const ProgramSection *section, const Program *program) {
  table->section = section;
  find_waiters(table, section);
  find_order(table, section, program);
}

void run_table_clear(RunTable *table) {
  g_free(table->needs);
  g_free(table->waiter_offsets);
  g_free(table->waiters);
  g_free(table->next);
  g_free(table->first);
  g_free(table->call);
  g_free(table->sequence);
  g_free(table->calls);
}
