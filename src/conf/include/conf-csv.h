/* SPDX-License-Identifier: MIT */
/* Tables as RFC 4180 has them: a head of column names, then rows of as many cells, each with its place.
 *
 *   g_autoptr(ConfCsv) csv = conf_csv_load("rows.csv", error);
 *   int id = conf_csv_find(csv, "id");                       // -1: no such column
 *   for (guint row = 0; row < csv->n_rows; row++) … conf_csv_cell(csv, row, (guint)id) …
 *
 * Cells are separated by commas, rows by LF or CRLF; a cell in quotes may hold commas, line ends and doubled quotes.
 * Blank lines between rows are passed over. Errors are SIM_ERROR_INPUT with line and column: a head that names nothing
 * or one thing twice, a row of another length, a quote out of place or never closed. Cost: one pass, the text once in
 * memory. */
#pragma once

#include "base-error.h"

typedef struct {
  char *text; /* unquoted, NUL-terminated; borrowed from the table */
  guint line, column;
} ConfCsvCell;

typedef struct {
  char *file, *data;
  GArray *cells;       /* ConfCsvCell: the head, then row after row */
  GHashTable *columns; /* of the head: name → number, from 1 */
  guint n_columns, n_rows;
} ConfCsv;

ConfCsv *conf_csv_load(const char *path, GError **error);
/* From memory; `name` stands for the file. */
ConfCsv *conf_csv_parse(const char *name, const char *data, gsize length, GError **error);
void conf_csv_free(ConfCsv *csv);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ConfCsv, conf_csv_free)

/* Name of a column, borrowed. */
const char *conf_csv_column(const ConfCsv *csv, guint column);
/* By its name, exactly; -1 where there is none. Cost: O(1). */
int conf_csv_find(const ConfCsv *csv, const char *name);
/* Borrowed; never NULL. */
const char *conf_csv_cell(const ConfCsv *csv, guint row, guint column);
/* ret->key is the column's name; strings are borrowed. */
void conf_csv_place(const ConfCsv *csv, guint row, guint column, BasePlace *ret);
/* SIM_ERROR_INPUT at a cell; always FALSE. */
gboolean conf_csv_fail(const ConfCsv *csv, guint row, guint column, GError **error, const char *format, ...)
    G_GNUC_PRINTF(5, 6);
