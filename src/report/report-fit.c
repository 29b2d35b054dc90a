/* SPDX-License-Identifier: MIT */
/* A line for each stage. */
#include "report-fit.h"

#include <math.h>
#include <string.h>

#include "base-json.h"
#include "base-table.h"
#include "report-words.h"

static void print_fit(BaseTable *table, const StudyFit *fit, int stage) {
  base_table_cell(table, "ZeRO-%d", stage);
  if (fit->report == NULL) {
    base_table_cell(table, "none");
    for (int i = 0; i < 4; i++)
      base_table_cell(table, "%s", "");
    base_table_cell(table, "%s",
                    fit->refused != NULL ? "the framework has no such stage"
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

static void print_envelopes(const StudyFits *fits, GString *text) {
  static const char *const labels[STUDY_STAGES] = {"ZeRO-0", "ZeRO-1", "ZeRO-2", "ZeRO-3"};
  const char *envelopes[STUDY_STAGES];
  for (int stage = 0; stage < STUDY_STAGES; stage++)
    envelopes[stage] = fits->stages[stage].report != NULL ? fits->stages[stage].report->envelope : NULL;
  report_envelopes(labels, envelopes, STUDY_STAGES, text);
}

void report_fit(const StudyFits *fits, GString *text) {
  gboolean least = strcmp(fits->key, "nodes") == 0;
  g_autoptr(BaseTable) table = base_table_new();
  g_string_append_printf(text, "The %s %s that fit%s, per stage\n\n", least ? "fewest" : "largest", fits->key,
                         least ? "" : "s");
  base_table_head(table, "stage", BASE_LEFT);
  base_table_head(table, fits->key, BASE_RIGHT);
  base_table_head(table, "step", BASE_RIGHT);
  base_table_head(table, "interval, ms", BASE_RIGHT);
  base_table_head(table, "tokens/s per GPU", BASE_RIGHT);
  base_table_head(table, "needs", BASE_RIGHT);
  base_table_head(table, "bound by", BASE_LEFT);
  for (int stage = 0; stage < STUDY_STAGES; stage++)
    print_fit(table, &fits->stages[stage], stage);
  base_table_print(table, 0, text);
  for (int stage = 0; stage < STUDY_STAGES; stage++) {
    const StudyFit *fit = &fits->stages[stage];
    const char *why = fit->refused != NULL ? fit->refused : fit->limit;
    g_autofree char *first = g_strdup_printf("ZeRO-%d: ", stage);
    if (why != NULL)
      report_wrap(text, first, why);
  }
  print_envelopes(fits, text);
}

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
  base_json_integer(json, "zero_stage", stage);
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
  base_json_end(json);
}
