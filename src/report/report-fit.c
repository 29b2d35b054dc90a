/* SPDX-License-Identifier: MIT */
/* A line for each stage. */
#include "report-fit.h"

#include <math.h>
#include <string.h>

#include "base-json.h"
#include "base-table.h"
#include "report-text.h"
#include "report-words.h"

/* Stages, then layouts. */
static GPtrArray *all_of(const StudyFits *fits) {
  GPtrArray *all = g_ptr_array_new();
  for (int stage = 0; stage < STUDY_STAGES; stage++)
    g_ptr_array_add(all, (gpointer)&fits->stages[stage]);
  for (guint i = 0; i < fits->n_layouts; i++)
    g_ptr_array_add(all, &fits->layouts[i]);
  return all;
}

static void print_fit(BaseTable *table, const StudyFit *fit) {
  base_table_cell(table, "%s", fit->title);
  if (fit->report == NULL) {
    base_table_cell(table, "none");
    for (int i = 0; i < 4; i++)
      base_table_cell(table, "%s", "");
    base_table_cell(table, "%s",
                    fit->refused != NULL
                        ? (g_str_has_prefix(fit->title, "ZeRO-") ? "the framework has no such stage" : "refused")
                    : fit->limit != NULL ? "refused"
                                         : "memory");
    return;
  }
  const RunClass *tight = run_report_tightest(fit->report);
  base_table_cell(table, "%" G_GUINT64_FORMAT, fit->value);
  base_table_cell(table, "%.2f ms", (double)report_centi_ms(run_report_slowest(fit->report)->step) / 100);
  g_autofree char *interval = report_interval(fit->report->step_low, fit->report->step_high);
  base_table_cell(table, "%s", interval != NULL ? interval : "-");
  base_table_cell(table, "%.0f", fit->report->tokens_per_second_per_gpu);
  base_table_cell(table, "%.2f of %.2f GiB", (double)report_centi_gib(tight->device_used) / 100,
                  (double)report_centi_gib(tight->capacity) / 100);
  g_autofree char *retries = tight->step_retries > 0
                                 ? g_strdup_printf(", %" G_GUINT64_FORMAT " alloc retries a step", tight->step_retries)
                                 : g_strdup("");
  base_table_cell(table, "%s%s", fit->limit != NULL ? "refused further" : "memory", retries);
}

static void print_envelopes(const GPtrArray *all, GString *text) {
  g_autoptr(GPtrArray) labels = g_ptr_array_new(), envelopes = g_ptr_array_new();
  for (guint i = 0; i < all->len; i++) {
    const StudyFit *fit = g_ptr_array_index(all, i);
    g_ptr_array_add(labels, fit->title);
    g_ptr_array_add(envelopes, fit->report != NULL ? fit->report->envelope : NULL);
  }
  report_envelopes((const char *const *)labels->pdata, (const char *const *)envelopes->pdata, all->len, text);
}

void report_fit(const StudyFits *fits, GString *text) {
  gboolean least = strcmp(fits->key, "nodes") == 0;
  g_autoptr(GPtrArray) all = all_of(fits);
  g_autoptr(BaseTable) table = base_table_new();
  g_string_append_printf(text, "The %s %s that fit%s, per stage%s\n\n", least ? "fewest" : "largest", fits->key,
                         least ? "" : "s", fits->n_layouts > 0 ? " and layout" : "");
  base_table_head(table, "stage", BASE_LEFT);
  base_table_head(table, fits->key, BASE_RIGHT);
  base_table_head(table, "step", BASE_RIGHT);
  base_table_head(table, "interval, ms", BASE_RIGHT);
  base_table_head(table, "tokens/s per GPU", BASE_RIGHT);
  base_table_head(table, "needs", BASE_RIGHT);
  base_table_head(table, "bound by", BASE_LEFT);
  for (guint i = 0; i < all->len; i++)
    print_fit(table, g_ptr_array_index(all, i));
  base_table_print(table, 0, text);
  for (guint i = 0; i < all->len; i++) {
    const StudyFit *fit = g_ptr_array_index(all, i);
    const char *why = fit->refused != NULL ? fit->refused : fit->limit;
    g_autofree char *first = g_strconcat(fit->title, ": ", NULL);
    if (why != NULL)
      report_wrap(text, first, why);
  }
  print_envelopes(all, text);
}

/* `stage` -1: of a layout. */
static void add_fit(BaseJson *json, const char *key, const StudyFit *fit, int stage) {
  const RunReport *report = fit->report;
  const struct {
    const char *name;
    gint64 value;
  } facts[] = {{"value", (gint64)fit->value},
               {"step_ps", report != NULL ? run_report_slowest(report)->step : 0},
               {"step_low_ps", report != NULL ? report->step_low : 0},
               {"step_high_ps", report != NULL ? report->step_high : 0},
               {"device_used_bytes", report != NULL ? (gint64)run_report_tightest(report)->device_used : 0}};
  base_json_map(json, NULL);
  base_json_integer(json, "json_version", REPORT_JSON_VERSION);
  base_json_text(json, "title", fit->title);
  if (stage >= 0)
    base_json_integer(json, "zero_stage", stage);
  else if (report != NULL)
    base_json_integer(json, "zero_stage", report->identity.zero_stage);
  else
    base_json_null(json, "zero_stage");
  base_json_text(json, "key", key);
  base_json_text(json, "limit", fit->limit);
  for (gsize i = 0; i < G_N_ELEMENTS(facts); i++)
    if (report != NULL && facts[i].value != 0)
      base_json_integer(json, facts[i].name, facts[i].value);
    else
      base_json_null(json, facts[i].name);
  base_json_text(json, "envelope", report != NULL ? report->envelope : NULL);
  base_json_number(json, "tokens_per_second_per_gpu", report != NULL ? report->tokens_per_second_per_gpu : NAN);
  base_json_end(json);
}

void report_fit_json(const StudyFits *fits, GString *text) {
  g_autoptr(BaseJson) json = base_json_new(text, BASE_JSON_SPREAD);
  base_json_list(json, NULL);
  for (int stage = 0; stage < STUDY_STAGES; stage++)
    if (fits->stages[stage].refused == NULL)
      add_fit(json, fits->key, &fits->stages[stage], stage);
  for (guint i = 0; i < fits->n_layouts; i++)
    if (fits->layouts[i].refused == NULL)
      add_fit(json, fits->key, &fits->layouts[i], -1);
  base_json_end(json);
}
