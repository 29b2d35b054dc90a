/* A line for each stage. */
#include "report-fit.h"

#include <string.h>

#include "base-table.h"
#include "json-glib/json-glib.h"
#include "report-words.h"

static void print_fit(BaseTable *table, const StudyFit *fit, int stage) {
  base_table_cell(table, "ZeRO-%d", stage);
  if (fit->report == NULL) {
    base_table_cell(table, "none");
    for (int i = 0; i < 4; i++)
      base_table_cell(table, "%s", "");
    base_table_cell(table, "%s", fit->refused != NULL ? "stage refused" : fit->limit != NULL ? "refused" : "memory");
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
  g_string_append_printf(text, "The %s %s that fits, per stage\n\n", least ? "least" : "largest", fits->key);
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

static void add_fit(JsonBuilder *builder, const char *key, const StudyFit *fit, int stage) {
  const RunReport *report = fit->report;
  json_builder_begin_object(builder);
  json_builder_set_member_name(builder, "zero_stage");
  json_builder_add_int_value(builder, stage);
  json_builder_set_member_name(builder, "key");
  json_builder_add_string_value(builder, key);
  json_builder_set_member_name(builder, "limit");
  if (fit->limit != NULL)
    json_builder_add_string_value(builder, fit->limit);
  else
    json_builder_add_null_value(builder);
  const struct {
    const char *name;
    gint64 value;
  } facts[] = {{"value", (gint64)fit->value},
               {"step_ps", report != NULL ? run_report_slowest(report)->step : 0},
               {"step_low_ps", report != NULL ? report->step_low : 0},
               {"step_high_ps", report != NULL ? report->step_high : 0},
               {"device_used_bytes", report != NULL ? (gint64)run_report_tightest(report)->device_used : 0}};
  for (gsize i = 0; i < G_N_ELEMENTS(facts); i++) {
    json_builder_set_member_name(builder, facts[i].name);
    if (report != NULL && facts[i].value != 0)
      json_builder_add_int_value(builder, facts[i].value);
    else
      json_builder_add_null_value(builder);
  }
  json_builder_set_member_name(builder, "envelope");
  if (report != NULL && report->envelope != NULL)
    json_builder_add_string_value(builder, report->envelope);
  else
    json_builder_add_null_value(builder);
  json_builder_set_member_name(builder, "tokens_per_second_per_gpu");
  if (report != NULL)
    json_builder_add_double_value(builder, report->tokens_per_second_per_gpu);
  else
    json_builder_add_null_value(builder);
  json_builder_end_object(builder);
}

void report_fit_json(const StudyFits *fits, GString *text) {
  g_autoptr(JsonBuilder) builder = json_builder_new();
  json_builder_begin_array(builder);
  for (int stage = 0; stage < STUDY_STAGES; stage++)
    if (fits->stages[stage].refused == NULL)
      add_fit(builder, fits->key, &fits->stages[stage], stage);
  json_builder_end_array(builder);
  g_autoptr(JsonNode) root = json_builder_get_root(builder);
  g_autofree char *json = json_to_string(root, TRUE);
  g_string_append_printf(text, "%s\n", json);
}
