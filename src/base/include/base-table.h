/* SPDX-License-Identifier: MIT */
/* Text tables: columns that line up on a terminal, whatever is in them.
 *
 *   BaseTable *table = base_table_new();
 *   base_table_head(table, "stage", BASE_LEFT);
 *   base_table_head(table, "step", BASE_RIGHT);
 *   base_table_cell(table, "%d", 3);            // cells fill row after row
 *   base_table_cell(table, "%.1f ms", 812.5);
 *   base_table_print(table, text);              // into a GString; lines end without trailing spaces
 *   base_table_free(table);
 *
 * Widths count UTF-8 characters. A row that is not full is filled with empty cells by base_table_end_row. */
#pragma once

#include <glib.h>

typedef enum { BASE_LEFT, BASE_RIGHT } BaseAlign;

typedef struct BaseTable BaseTable;

BaseTable *base_table_new(void);
void base_table_free(BaseTable *table);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(BaseTable, base_table_free)

/* All heads come before the first cell. */
void base_table_head(BaseTable *table, const char *title, BaseAlign align);
void base_table_cell(BaseTable *table, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Cells wider than this do not widen their column: they push on what follows in their row alone. */
void base_table_cap(BaseTable *table, guint characters);
/* Fills the row with empty cells; nothing where it is complete. */
void base_table_end_row(BaseTable *table);
/* A line of dashes before the next row. */
void base_table_rule(BaseTable *table);
/* `indent` spaces before each line. A table whose heads are all empty prints no head. */
void base_table_print(const BaseTable *table, guint indent, GString *text);
