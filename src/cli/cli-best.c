/* SPDX-License-Identifier: MIT */
/* foretrain best: which of the runs in the database, by one objective or the front of several. */
#include <stdio.h>
#include <string.h>

#include "base-error.h"
#include "base-json.h"
#include "base-table.h"
#include "cli-objectives.h"
#include "cli-write.h"
#include "store-points.h"

#define TOP 10 /* runs that are shown of one objective */

typedef struct {
  CliObjectives objectives;
  const char *const *words;
  const char *db;
  gboolean json;
  int top;
} Best;

static const CliOption options[] = {
    CLI_WORDS(Best, words, 0, 0, "options alone"),
    CLI_DB(Best, db),
    CLI_JSON(Best, json),
    CLI_GROUP_ROW(Best, objectives, cli_objectives_options),
    {"top", 0, CLI_NUMBER, offsetof(Best, top), "N", "so many of one objective (10)", .least = 1},
    {NULL}};

/* What every row says of itself. */
static const char *const columns[] = {
    "workload", "topology", "framework", "zero_stage",     "nodes",         "micro_batch", "activation_checkpointing",
    "step",     "step_low", "step_high", "validated_rows", "peak_allocated"};

typedef struct {
  BaseTable *table;
  BaseJson *json;
} Row;

static void add_cells(int n, const char *const *names, const char *const *values, gpointer user) {
  Row *row = user;
  for (int i = 1; i < n; i++) {
    g_autofree char *text = store_metric_shown(store_metric_find(names[i]), values[i]);
    base_table_cell(row->table, "%s", text);
  }
}

static void add_members(int n, const char *const *names, const char *const *values, gpointer user) {
  Row *row = user;
  for (int i = 0; i < n; i++) {
    const StoreMetric *metric = store_metric_find(names[i]);
    if (values[i] != NULL && (metric == NULL || metric->unit != STORE_TEXT))
      base_json_digits(row->json, names[i], values[i]);
    else
      base_json_text(row->json, names[i], values[i]);
  }
}

/* The objectives, then what says which run it is, each metric once. Caller unrefs. */
static GPtrArray *shown_metrics(const StoreObjective *objectives, guint n) {
  GPtrArray *metrics = g_ptr_array_new();
  for (guint i = 0; i < n + G_N_ELEMENTS(columns); i++) {
    const StoreMetric *metric = i < n ? objectives[i].metric : store_metric_find(columns[i - n]);
    if (!g_ptr_array_find(metrics, metric, NULL))
      g_ptr_array_add(metrics, (gpointer)metric);
  }
  return metrics;
}

static GPtrArray *all_metrics(void) {
  GPtrArray *metrics = g_ptr_array_new();
  for (gsize i = 0; i < store_n_metrics; i++)
    g_ptr_array_add(metrics, (gpointer)&store_metrics[i]);
  return metrics;
}

static gboolean print(StoreDb *db, const GArray *best, const StoreObjective *objectives, guint n, gboolean as_json,
                      GError **error) {
  g_autoptr(BaseTable) table = base_table_new();
  g_autoptr(GString) text = g_string_new(NULL);
  g_autoptr(BaseJson) json = base_json_new(text, BASE_JSON_SPREAD);
  Row row = {table, json};
  base_table_head(table, "run", BASE_RIGHT);
  g_autoptr(GPtrArray) metrics = as_json ? all_metrics() : shown_metrics(objectives, n);
  for (guint i = 0; i < metrics->len; i++) {
    const StoreMetric *metric = metrics->pdata[i];
    base_table_head(table, metric->name, metric->unit == STORE_TEXT ? BASE_LEFT : BASE_RIGHT);
  }
  if (as_json)
    base_json_list(json, NULL);
  for (guint i = 0; i < best->len; i++) {
    gint64 run_id = g_array_index(best, StoreBest, i).run_id;
    if (as_json)
      base_json_map(json, NULL);
    else
      base_table_cell(table, "%" G_GINT64_FORMAT, run_id);
    if (!store_db_columns(db, (const StoreMetric *const *)metrics->pdata, metrics->len, run_id,
                          as_json ? add_members : add_cells, &row, error))
      return FALSE;
    if (as_json)
      base_json_end(json);
  }
  if (as_json)
    base_json_end(json);
  else
    base_table_print(table, 0, text);
  cli_print(text->str);
  return TRUE;
}

static CliExit best(gconstpointer data, GError **error) {
  const Best *asked = data;
  StoreObjective objectives[STORE_OBJECTIVES_MOST];
  guint n = 0;
  if (!cli_objectives(&asked->objectives, objectives, &n, error))
    return CLI_INPUT;
  if (n == 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "best: say by what, as in --minimise price_to_train or --maximise tokens_per_second");
    return CLI_INPUT;
  }
  g_autoptr(StoreExpression) subject = cli_subject(&asked->objectives, error);
  const char *database = subject != NULL ? cli_database(asked->db, error) : NULL;
  g_autoptr(StoreDb) db = database != NULL ? store_db_open_existing(database, error) : NULL;
  g_autoptr(GArray) found = db != NULL ? store_db_best(db, objectives, n, subject, (guint)asked->top, error) : NULL;
  if (found == NULL)
    return CLI_FAULT;
  if (found->len == 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s: no run has the figures and fulfils \"%s\"", database,
                store_expression_text(subject));
    return CLI_INPUT;
  }
  return print(db, found, objectives, n, asked->json, error) ? CLI_DONE : CLI_FAULT;
}

static const Best defaults = {.top = TOP};

const CliVerb cli_best = {"best",
                          "--minimise METRIC [--subject EXPRESSION]",
                          "which of the database's runs is cheapest, fastest ...",
                          options,
                          sizeof(Best),
                          &defaults,
                          best};
