/* SPDX-License-Identifier: MIT */
/* margins.csv column by column; which margin a run has. */
#include "trust-margin.h"

#include <string.h>

#include "conf-csv.h"

#define ALL      "all"
#define ADAPTERS "adapters"

static const char *const columns[] = {"framework", "kind", "low", "high", "rows", "sources", "source", NULL};
enum { FRAMEWORK, KIND, LOW, HIGH, ROWS, SOURCES };

static void margin_clear(gpointer data) {
  TrustMargin *margin = data;
  g_free(margin->framework);
  g_free(margin->kind);
}

static gboolean check_head(const ConfCsv *csv, GError **error) {
  for (guint column = 0; column < csv->n_columns || columns[column] != NULL; column++) {
    const char *found = column < csv->n_columns ? conf_csv_column(csv, column) : "nothing";
    if (columns[column] != NULL && strcmp(columns[column], found) == 0)
      continue;
    BasePlace place = {.file = csv->file, .line = 1};
    base_error_set_at(error, &place,
                      "column %u: expected \"%s\", found \"%s\"; tests/truth/gate --accept writes the table",
                      column + 1, columns[column] != NULL ? columns[column] : "no further one", found);
    return FALSE;
  }
  return TRUE;
}

static gboolean read_factor(const ConfCsv *csv, guint at, guint column, double least, double most, double *ret,
                            GError **error) {
  const char *text = conf_csv_cell(csv, at, column);
  char *end;
  double value = g_ascii_strtod(text, &end);
  if (end == text || *end != '\0' || !(value >= least && value <= most))
    return conf_csv_fail(csv, at, column, error, "expected a number from %g to %g, found \"%s\"", least, most, text);
  *ret = value;
  return TRUE;
}

static gboolean read_count(const ConfCsv *csv, guint at, guint column, guint64 *ret, GError **error) {
  const char *text = conf_csv_cell(csv, at, column);
  return g_ascii_string_to_unsigned(text, 10, 1, G_MAXUINT32, ret, NULL) ||
         conf_csv_fail(csv, at, column, error, "expected a count from 1 on, found \"%s\"", text);
}

static gboolean read_margin(const ConfCsv *csv, guint at, GArray *margins, GError **error) {
  TrustMargin margin = {0};
  if (!read_factor(csv, at, LOW, 1e-3, 1, &margin.low, error) ||
      !read_factor(csv, at, HIGH, 1, 1e3, &margin.high, error) || !read_count(csv, at, ROWS, &margin.rows, error) ||
      !read_count(csv, at, SOURCES, &margin.sources, error))
    return FALSE;
  margin.framework = g_strdup(conf_csv_cell(csv, at, FRAMEWORK));
  margin.kind = g_strdup(conf_csv_cell(csv, at, KIND));
  g_array_append_val(margins, margin);
  return TRUE;
}

static const TrustMargin *find(const GArray *margins, const char *framework, const char *kind) {
  for (guint i = 0; i < margins->len; i++) {
    const TrustMargin *margin = &g_array_index(margins, TrustMargin, i);
    if (strcmp(margin->framework, framework) == 0 && strcmp(margin->kind, kind) == 0)
      return margin;
  }
  return NULL;
}

GArray *trust_margins_parse(const char *name, const char *text, GError **error) {
  g_autoptr(ConfCsv) csv = conf_csv_parse(name, text, strlen(text), error);
  if (csv == NULL || !check_head(csv, error))
    return NULL;
  g_autoptr(GArray) margins = g_array_new(FALSE, FALSE, sizeof(TrustMargin));
  g_array_set_clear_func(margins, margin_clear);
  for (guint at = 0; at < csv->n_rows; at++)
    if (!read_margin(csv, at, margins, error))
      return NULL;
  if (find(margins, ALL, ALL) != NULL)
    return g_steal_pointer(&margins);
  g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
              "%s: has no row of all frameworks and all kinds; tests/truth/gate --accept writes the table", name);
  return NULL;
}

const char *trust_margin_kind(const TrustCase *one) {
  static const TrustNumber axes[] = {TRUST_TENSOR, TRUST_PIPELINE, TRUST_CONTEXT, TRUST_EXPERT};
  if (strcmp(one->words[TRUST_OFFLOAD], "no") != 0)
    return "offload";
  for (gsize i = 0; i < G_N_ELEMENTS(axes); i++)
    if (one->numbers[axes[i]] > 1)
      return "model-parallel";
  return "data-parallel";
}

const char *trust_margin_memory_kind(const TrustCase *one) {
  const char *kind = trust_margin_kind(one);
  if (strcmp(kind, "data-parallel") == 0 && strcmp(one->words[TRUST_TRAINABLE], "lora") == 0)
    return ADAPTERS;
  if (strcmp(kind, "model-parallel") != 0 || one->numbers[TRUST_TENSOR] <= 1)
    return kind;
  return one->tensor_over_nodes ? "tensor-over-nodes" : "tensor";
}

const TrustMargin *trust_margins_find(const GArray *margins, const TrustCase *one) {
  const char *framework = one->words[TRUST_FRAMEWORK], *kind = trust_margin_memory_kind(one);
  const char *const tries[][2] = {{framework, kind}, {framework, ALL}, {ALL, kind}};
  for (gsize i = 0; i < G_N_ELEMENTS(tries); i++) {
    gboolean others = strcmp(kind, ADAPTERS) == 0 && strcmp(tries[i][1], ALL) == 0;
    const TrustMargin *margin = others ? NULL : find(margins, tries[i][0], tries[i][1]);
    if (margin != NULL)
      return margin;
  }
  return find(margins, ALL, ALL);
}
