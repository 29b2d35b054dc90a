/* SPDX-License-Identifier: MIT */
/* Rows of the best runs as a table and as JSON. */
#include "report-best.h"

#include <string.h>

#include "base-json.h"
#include "base-table.h"
#include "report-best-rows.h"
#include "report-text.h"
#include "report-words.h"
#include "store-points.h"

/* What every row says of itself, beside the objectives and NULL-terminated. */
static const char *const columns[] = {"workload", "topology",    "framework",      "zero_stage",
                                      "nodes",    "micro_batch", "step",           "activation_checkpointing",
                                      "step_low", "step_high",   "peak_allocated", NULL};

/* The objectives, then what says which run it is, each metric once. Caller unrefs. */
static GPtrArray *shown_metrics(const StoreObjective *objectives, guint n) {
  GPtrArray *metrics = g_ptr_array_new();
  for (guint i = 0; i < n + G_N_ELEMENTS(columns) - 1; i++) {
    const StoreMetric *metric = i < n ? objectives[i].metric : store_metric_find(columns[i - n]);
    if (!g_ptr_array_find(metrics, metric, NULL))
      g_ptr_array_add(metrics, (gpointer)metric);
  }
  return metrics;
}

static gint64 run_of(const GArray *best, guint row) {
  return g_array_index(best, StoreBest, row).run_id;
}

typedef struct {
  StoreDb *db;
  const GArray *best;
  GPtrArray *metrics;
  ReportChosen *chosen;
  GPtrArray *cells; /* of a table: of each row its metrics, as shown */
} Page;

static void take_cells(int n, const char *const *names, const char *const *values, gpointer user) {
  Page *page = user;
  for (int i = 1; i < n; i++)
    g_ptr_array_add(page->cells, store_metric_shown(store_metric_find(names[i]), values[i]));
}

static const char *cell(const Page *page, guint row, guint metric) {
  return g_ptr_array_index(page->cells, row * page->metrics->len + metric);
}

/* What was asked of all rows alike is told once. */
static gboolean is_told_once(const Page *page, guint metric) {
  gboolean same = page->best->len > 1 && store_metric_is_asked(g_ptr_array_index(page->metrics, metric));
  for (guint row = 1; same && row < page->best->len; row++)
    same = strcmp(cell(page, 0, metric), cell(page, row, metric)) == 0;
  return same;
}

static void print_common(const Page *page, GString *text) {
  g_autoptr(GString) words = g_string_new(NULL);
  for (guint i = 0; i < page->metrics->len; i++)
    if (is_told_once(page, i))
      g_string_append_printf(words, "%s%s %s", words->len > 0 ? ", " : "",
                             ((const StoreMetric *)g_ptr_array_index(page->metrics, i))->name, cell(page, 0, i));
  if (words->len > 0)
    report_wrap(text, "All rows: ", words->str);
}

static void print_head(const Page *page, BaseTable *table) {
  base_table_head(table, "run", BASE_RIGHT);
  for (guint i = 0; i < page->metrics->len; i++) {
    const StoreMetric *metric = g_ptr_array_index(page->metrics, i);
    if (!is_told_once(page, i))
      base_table_head(table, metric->name, metric->unit == STORE_TEXT ? BASE_LEFT : BASE_RIGHT);
  }
  for (guint i = 0; i < report_chosen_count(page->chosen); i++)
    base_table_head(table, strchr(report_chosen_name(page->chosen, i), '.') + 1, BASE_LEFT);
}

static void print_row(const Page *page, guint row, BaseTable *table) {
  base_table_cell(table, "%" G_GINT64_FORMAT, run_of(page->best, row));
  for (guint i = 0; i < page->metrics->len; i++)
    if (!is_told_once(page, i))
      base_table_cell(table, "%s", cell(page, row, i));
  for (guint i = 0; i < report_chosen_count(page->chosen); i++) {
    const char *value = report_chosen_value(page->chosen, i, row);
    base_table_cell(table, "%s", value != NULL ? value : "-");
  }
}

gboolean report_best(StoreDb *db, const GArray *best, const StoreObjective *objectives, guint n, GString *text,
                     GError **error) {
  g_autoptr(GPtrArray) metrics = shown_metrics(objectives, n), cells = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(BaseTable) table = base_table_new();
  g_autoptr(ReportChosen) chosen = report_chosen_new(db, best, columns, error);
  if (chosen == NULL)
    return FALSE;
  Page page = {db, best, metrics, chosen, cells};
  for (guint row = 0; row < best->len; row++)
    if (!store_db_columns(db, (const StoreMetric *const *)metrics->pdata, metrics->len, run_of(best, row), take_cells,
                          &page, error))
      return FALSE;
  print_common(&page, text);
  print_head(&page, table);
  for (guint row = 0; row < best->len; row++)
    print_row(&page, row, table);
  base_table_print(table, 0, text);
  g_string_append_printf(text,
                         "\nforetrain run %" G_GINT64_FORMAT " plays the first again, explain %" G_GINT64_FORMAT
                         " says where its step goes; so for each run.\n",
                         run_of(best, 0), run_of(best, 0));
  return TRUE;
}

static void add_members(int n, const char *const *names, const char *const *values, gpointer user) {
  BaseJson *json = user;
  for (int i = 0; i < n; i++) {
    const StoreMetric *metric = store_metric_find(names[i]);
    if (values[i] != NULL && (metric == NULL || metric->unit != STORE_TEXT))
      base_json_digits(json, names[i], values[i]);
    else
      base_json_text(json, names[i], values[i]);
  }
}

static void add_chosen(const Page *page, guint row, BaseJson *json) {
  g_autofree char *command = g_strdup_printf("foretrain run %" G_GINT64_FORMAT, run_of(page->best, row));
  base_json_map(json, "settings");
  for (guint i = 0; i < report_chosen_count(page->chosen); i++)
    base_json_text(json, report_chosen_name(page->chosen, i), report_chosen_value(page->chosen, i, row));
  base_json_end(json);
  base_json_text(json, "command", command);
}

gboolean report_best_json(StoreDb *db, const GArray *best, G_GNUC_UNUSED const StoreObjective *objectives,
                          G_GNUC_UNUSED guint n, GString *text, GError **error) {
  static const char *const none[] = {NULL};
  g_autoptr(GPtrArray) metrics = g_ptr_array_new();
  for (gsize i = 0; i < store_n_metrics; i++)
    g_ptr_array_add(metrics, (gpointer)&store_metrics[i]);
  g_autoptr(ReportChosen) chosen = report_chosen_new(db, best, none, error);
  if (chosen == NULL)
    return FALSE;
  const Page page = {db, best, metrics, chosen, NULL};
  g_autoptr(BaseJson) json = base_json_new(text, BASE_JSON_SPREAD);
  base_json_list(json, NULL);
  gboolean good = TRUE;
  for (guint row = 0; good && row < best->len; row++) {
    base_json_map(json, NULL);
    base_json_integer(json, "json_version", REPORT_JSON_VERSION);
    good = store_db_columns(db, (const StoreMetric *const *)metrics->pdata, metrics->len, run_of(best, row),
                            add_members, json, error);
    add_chosen(&page, row, json);
    base_json_end(json);
  }
  base_json_end(json);
  return good;
}
