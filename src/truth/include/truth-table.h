/* SPDX-License-Identifier: MIT */
/* A validation table: what somebody measured, and the settings under which they did.
 *
 *   id,source,set,note,parallel.zero_stage,…,measured.step_time_s
 *   a-17,llm-foundry,data-parallel-A,"README, line 77",3,…,15.4783
 *
 *   g_autoptr(TruthTable) table = truth_table_load("rows.csv", error);
 *   StudyPoint *point = truth_table_point(table, row);        // the settings of its cells that are not empty
 *
 * `id`, `source` and `set` must be there, `note` and `memory_of` may; columns measured.* are those of
 * store-validation.h; every other column is a setting, group.key, and an empty cell leaves it as the topology or the
 * framework has it. A table with the column collective.operation holds collectives. Errors: SIM_ERROR_INPUT at the
 * cell. Cost: one pass. */
#pragma once

#include "conf-csv.h"
#include "store-validation.h"
#include "study-point.h"

typedef struct {
  ConfCsv *csv;
  gboolean collectives;
  guint id, source, set;
  int measured[STORE_MEASURES]; /* columns; -1: none */
  int memory_of;                /* column; -1: none */
  GArray *settings;             /* guint: columns */
} TruthTable;

TruthTable *truth_table_load(const char *path, GError **error);
void truth_table_free(TruthTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TruthTable, truth_table_free)

/* Whether parts of steps were measured: then rows are played with their timelines. */
gboolean truth_table_has_parts(const TruthTable *table);
/* The caller's. */
StudyPoint *truth_table_point(const TruthTable *table, guint row);
/* Of a row; checked at loading. STORE_UNKNOWN: not measured. */
double truth_table_measured(const TruthTable *table, guint row, StoreMeasureKind kind);
/* memory_of = first-stage: memory was measured on the first pipeline stage; else on the rank that needs most. */
gboolean truth_table_of_first_stage(const TruthTable *table, guint row);
/* The cell of a setting; "" where it is empty or the table has no such column. */
const char *truth_table_setting(const TruthTable *table, guint row, const char *name);
