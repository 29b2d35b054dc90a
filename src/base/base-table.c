/* SPDX-License-Identifier: MIT */
/* Column widths and padding. */
#include "base-table.h"

typedef struct {
  char *title;
  BaseAlign align;
} Head;

struct BaseTable {
  GArray *heads;    /* Head */
  GPtrArray *cells; /* char *, row after row */
  GArray *rules;    /* guint: row before which a rule stands */
  glong cap;        /* of widths */
};

static void head_clear(gpointer head) {
  g_free(((Head *)head)->title);
}

BaseTable *base_table_new(void) {
  BaseTable *table = g_new0(BaseTable, 1);
  table->heads = g_array_new(FALSE, FALSE, sizeof(Head));
  g_array_set_clear_func(table->heads, head_clear);
  table->cells = g_ptr_array_new_with_free_func(g_free);
  table->rules = g_array_new(FALSE, FALSE, sizeof(guint));
  table->cap = G_MAXLONG;
  return table;
}

void base_table_free(BaseTable *table) {
  if (table == NULL)
    return;
  g_array_unref(table->heads);
  g_ptr_array_unref(table->cells);
  g_array_unref(table->rules);
  g_free(table);
}

void base_table_head(BaseTable *table, const char *title, BaseAlign align) {
  Head head = {g_strdup(title), align};
  g_array_append_val(table->heads, head);
}

void base_table_cap(BaseTable *table, guint characters) {
  table->cap = characters;
}

void base_table_cell(BaseTable *table, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_ptr_array_add(table->cells, g_strdup_vprintf(format, arguments));
  va_end(arguments);
}

void base_table_end_row(BaseTable *table) {
  while (table->cells->len % table->heads->len != 0)
    g_ptr_array_add(table->cells, g_strdup(""));
}

void base_table_rule(BaseTable *table) {
  guint row = table->cells->len / table->heads->len;
  g_array_append_val(table->rules, row);
}

static void print_padded(GString *line, const char *cell, glong width, BaseAlign align) {
  glong padding = MAX(width - g_utf8_strlen(cell, -1), 0);
  if (align == BASE_RIGHT)
    g_string_append_printf(line, "%*s", (int)padding, "");
  g_string_append(line, cell);
  if (align == BASE_LEFT)
    g_string_append_printf(line, "%*s", (int)padding, "");
}

static void print_line(GString *text, GString *line) {
  while (line->len > 0 && line->str[line->len - 1] == ' ')
    g_string_truncate(line, line->len - 1);
  g_string_append_printf(text, "%s\n", line->str);
  g_string_truncate(line, 0);
}

void base_table_print(const BaseTable *table, guint indent, GString *text) {
  guint columns = table->heads->len;
  g_autofree glong *widths = g_new0(glong, columns);
  gboolean titled = FALSE;
  glong total = 0;
  for (guint c = 0; c < columns; c++) {
    const char *title = g_array_index(table->heads, Head, c).title;
    widths[c] = g_utf8_strlen(title, -1);
    titled |= *title != '\0';
    for (guint i = c; i < table->cells->len; i += columns) {
      glong width = g_utf8_strlen(g_ptr_array_index(table->cells, i), -1);
      widths[c] = MAX(widths[c], width <= table->cap ? width : 0);
    }
    total += widths[c] + (c > 0 ? 2 : 0);
  }
  g_autoptr(GString) line = g_string_new(NULL);
  if (titled) {
    g_string_append_printf(line, "%*s", (int)indent, "");
    for (guint c = 0; c < columns; c++) {
      const Head *head = &g_array_index(table->heads, Head, c);
      print_padded(line, head->title, widths[c], head->align);
      g_string_append(line, "  ");
    }
    print_line(text, line);
  }
  guint next_rule = 0;
  for (guint row = 0; row * columns < table->cells->len; row++) {
    if (next_rule < table->rules->len && g_array_index(table->rules, guint, next_rule) == row) {
      g_string_append_printf(line, "%*s", (int)indent, "");
      for (glong i = 0; i < total; i++)
        g_string_append_c(line, '-');
      print_line(text, line);
      next_rule++;
    }
    g_string_append_printf(line, "%*s", (int)indent, "");
    for (guint c = 0; c < columns && row * columns + c < table->cells->len; c++) {
      print_padded(line, g_ptr_array_index(table->cells, row * columns + c), widths[c],
                   g_array_index(table->heads, Head, c).align);
      g_string_append(line, "  ");
    }
    print_line(text, line);
  }
}
