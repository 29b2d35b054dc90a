/* SPDX-License-Identifier: MIT */
/* One walk over the text: cells are unquoted in place, where they are never longer than before. */
#include "conf-csv.h"

#include <string.h>

#include "conf-file.h"

typedef struct {
  ConfCsv *csv;
  char *at;
  guint line, column; /* of `at` */
} Scan;

static gboolean G_GNUC_PRINTF(3, 4) fail(const Scan *scan, GError **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  BasePlace place = {.file = scan->csv->file, .line = scan->line, .column = scan->column};
  base_error_set_at(error, &place, "%s", message);
  return FALSE;
}

/* Columns count characters, so the tails of UTF-8 sequences do not. */
static void step(Scan *scan) {
  if (*scan->at == '\n') {
    scan->line++;
    scan->column = 1;
  } else if (((guchar)*scan->at & 0xc0) != 0x80) {
    scan->column++;
  }
  scan->at++;
}

static gboolean at_line_end(const Scan *scan) {
  return *scan->at == '\n' || (scan->at[0] == '\r' && scan->at[1] == '\n');
}

/* Behind the opening quote. */
static gboolean read_quoted(Scan *scan, char **ret_end, GError **error) {
  Scan opening = *scan;
  char *to = scan->at;
  step(scan);
  while (*scan->at != '\0') {
    if (*scan->at == '"' && scan->at[1] != '"') {
      step(scan);
      *ret_end = to;
      return *scan->at == ',' || *scan->at == '\0' || at_line_end(scan) ||
             fail(scan, error, "expected a comma or the end of the line behind the closing quote");
    }
    if (*scan->at == '"')
      step(scan);
    *to++ = *scan->at;
    step(scan);
  }
  return fail(&opening, error, "the quote that opens here is never closed");
}

/* Letters and digits stand behind the comma in ASCII, all that is none of a bare cell before it. */
static inline gboolean is_bare(char c) {
  return (guchar)c > ',' || (c != ',' && c != '\n' && c != '\r' && c != '"' && c != '\0');
}

static gboolean read_bare(Scan *scan, char **ret_end, GError **error) {
  char *at = scan->at;
  for (;;) {
    for (; is_bare(*at); at++)
      scan->column += ((guchar)*at & 0xc0) != 0x80;
    if (*at != '\r' || at[1] == '\n')
      break;
    at++; /* a carriage return alone is text */
    scan->column++;
  }
  scan->at = *ret_end = at;
  return *at != '"' ||
         fail(scan, error, "a quote inside a cell without quotes; write the cell as \"…\" with quotes doubled");
}

/* The cell at `scan`, which then stands behind the comma or line end that closed it. */
static gboolean read_cell(Scan *scan, gboolean *ret_last, GError **error) {
  ConfCsvCell cell = {scan->at, scan->line, scan->column};
  char *end = NULL;
  if (!(*scan->at == '"' ? read_quoted : read_bare)(scan, &end, error))
    return FALSE;
  *ret_last = *scan->at != ',';
  if (*scan->at == '\r')
    step(scan);
  if (*scan->at != '\0')
    step(scan);
  *end = '\0';
  g_array_append_val(scan->csv->cells, cell);
  return TRUE;
}

static gboolean read_row(Scan *scan, guint *ret_cells, GError **error) {
  gboolean last = FALSE;
  for (*ret_cells = 0; !last; (*ret_cells)++)
    if (!read_cell(scan, &last, error))
      return FALSE;
  return TRUE;
}

static gboolean check_head(Scan *scan, GError **error) {
  ConfCsv *csv = scan->csv;
  for (guint i = 0; i < csv->n_columns; i++) {
    const ConfCsvCell *cell = &g_array_index(csv->cells, ConfCsvCell, i);
    scan->line = cell->line;
    scan->column = cell->column;
    if (*cell->text == '\0')
      return fail(scan, error, "expected the name of a column, found nothing");
    if (!g_hash_table_insert(csv->columns, cell->text, GUINT_TO_POINTER(i + 1)))
      return fail(scan, error, "the column \"%s\" stands twice", cell->text);
  }
  return TRUE;
}

static gboolean read_rows(Scan *scan, GError **error) {
  ConfCsv *csv = scan->csv;
  while (*scan->at != '\0') {
    if (at_line_end(scan)) {
      step(scan);
      continue;
    }
    Scan start = *scan;
    guint cells;
    if (!read_row(scan, &cells, error))
      return FALSE;
    if (csv->n_columns == 0) {
      Scan head = *scan;
      csv->n_columns = cells;
      if (!check_head(&head, error))
        return FALSE;
    } else if (cells != csv->n_columns) {
      return fail(&start, error, "expected %u cells as in the head, found %u", csv->n_columns, cells);
    } else {
      csv->n_rows++;
    }
  }
  return csv->n_columns > 0 || fail(scan, error, "expected a head of column names, found nothing");
}

/* Takes `data`. */
static ConfCsv *scan_data(const char *name, char *data, GError **error) {
  g_autoptr(ConfCsv) csv = g_new0(ConfCsv, 1);
  csv->file = g_strdup(name);
  csv->data = data;
  csv->cells = g_array_new(FALSE, FALSE, sizeof(ConfCsvCell));
  csv->columns = g_hash_table_new(g_str_hash, g_str_equal);
  Scan scan = {csv, data, 1, 1};
  return read_rows(&scan, error) ? g_steal_pointer(&csv) : NULL;
}

ConfCsv *conf_csv_parse(const char *name, const char *data, gsize length, GError **error) {
  gsize taken;
  char *copy = conf_file_take(name, data, length, &taken, error);
  return copy != NULL ? scan_data(name, copy, error) : NULL;
}

ConfCsv *conf_csv_load(const char *path, GError **error) {
  gsize length;
  char *data = conf_file_read(path, &length, error);
  return data != NULL ? scan_data(path, data, error) : NULL;
}

void conf_csv_free(ConfCsv *csv) {
  if (csv == NULL)
    return;
  if (csv->cells != NULL)
    g_array_unref(csv->cells);
  if (csv->columns != NULL)
    g_hash_table_unref(csv->columns);
  g_free(csv->file);
  g_free(csv->data);
  g_free(csv);
}

const char *conf_csv_column(const ConfCsv *csv, guint column) {
  return g_array_index(csv->cells, ConfCsvCell, column).text;
}

int conf_csv_find(const ConfCsv *csv, const char *name) {
  return GPOINTER_TO_INT(g_hash_table_lookup(csv->columns, name)) - 1;
}

static const ConfCsvCell *cell_at(const ConfCsv *csv, guint row, guint column) {
  return &g_array_index(csv->cells, ConfCsvCell, (row + 1) * csv->n_columns + column);
}

const char *conf_csv_cell(const ConfCsv *csv, guint row, guint column) {
  return cell_at(csv, row, column)->text;
}

void conf_csv_place(const ConfCsv *csv, guint row, guint column, BasePlace *ret) {
  const ConfCsvCell *cell = cell_at(csv, row, column);
  *ret = (BasePlace){csv->file, cell->line, cell->column, conf_csv_column(csv, column)};
}

gboolean conf_csv_fail(const ConfCsv *csv, guint row, guint column, GError **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  BasePlace place;
  conf_csv_place(csv, row, column, &place);
  base_error_set_at(error, &place, "%s", message);
  return FALSE;
}
