/* SPDX-License-Identifier: MIT */
/* Runs side by side as JSON. */
#include <string.h>

#include "base-json.h"
#include "report-compare-step.h"
#include "report-compare.h"
#include "report-quotes.h"
#include "report-text.h"

static void add_metrics(BaseJson *json, const ReportStep *step) {
  for (gsize m = 0; m < store_n_metrics; m++) {
    const char *value = step->metrics[m];
    if (store_metrics[m].unit == STORE_TEXT || value == NULL) {
      base_json_text(json, store_metrics[m].column, value);
      continue;
    }
    if (store_metric_is_whole(&store_metrics[m]))
      base_json_integer(json, store_metrics[m].column, g_ascii_strtoll(value, NULL, 10));
    else
      base_json_number(json, store_metrics[m].column, g_ascii_strtod(value, NULL));
  }
}

static void add_changes(BaseJson *json, const ReportStep *from, const ReportStep *to) {
  for (gsize m = 0; m < store_n_metrics; m++) {
    const char *was = from->metrics[m], *is = to->metrics[m];
    if (store_metrics[m].unit == STORE_TEXT)
      continue;
    const char *column = store_metrics[m].column;
    if (was == NULL || is == NULL)
      base_json_null(json, column);
    else if (store_metric_is_whole(&store_metrics[m]))
      base_json_integer(json, column, g_ascii_strtoll(is, NULL, 10) - g_ascii_strtoll(was, NULL, 10));
    else
      base_json_number(json, column, g_ascii_strtod(is, NULL) - g_ascii_strtod(was, NULL));
  }
}

static void add_part(BaseJson *json, const ReportPart *part) {
  base_json_map(json, NULL);
  base_json_text(json, "kind", report_kind_names[part->kind]);
  base_json_text(json, "what", part->what);
  base_json_text(json, "purpose", part->purpose);
  base_json_text(json, "cause", part->cause);
  base_json_integer(json, "time_ps", part->time);
  base_json_end(json);
}

static void add_run(BaseJson *json, const ReportStep *step) {
  base_json_map(json, NULL);
  base_json_text(json, "label", step->label);
  base_json_integer(json, "run_id", step->run_id);
  add_metrics(json, step);
  base_json_list(json, "parts");
  for (guint i = 0; i < step->parts->len; i++) {
    add_part(json, &g_array_index(step->parts, ReportPart, i));
  }
  base_json_end(json);
  base_json_map(json, "memory_at_peak");
  for (guint t = 0; t < RUN_TENANTS; t++)
    base_json_integer(json, run_tenant_names[t], (gint64)step->tenants[t]);
  base_json_end(json);
  base_json_end(json);
}

static void add_setting(BaseJson *json, const ReportStep *from, const ReportStep *to, const char *name) {
  if (!report_setting_differs(from, to, name))
    return;
  base_json_list(json, name);
  base_json_text(json, NULL, report_setting(from, name));
  base_json_text(json, NULL, report_setting(to, name));
  base_json_end(json);
}

static void add_settings(BaseJson *json, const ReportStep *from, const ReportStep *to) {
  const RunIdentity *first = &from->report->identity, *second = &to->report->identity;
  for (guint32 i = 0; i < first->n_settings; i++)
    add_setting(json, from, to, first->settings[i].name);
  for (guint32 i = 0; i < second->n_settings; i++)
    if (report_setting(from, second->settings[i].name) == NULL)
      add_setting(json, from, to, second->settings[i].name);
}

static void add_difference(BaseJson *json, const ReportStep *from, const ReportStep *to, const ReportRatio *ratio) {
  ReportStep *const pair[] = {(ReportStep *)from, (ReportStep *)to};
  g_autoptr(GPtrArray) rows = report_rows(pair, 2, REPORT_KINDS, REPORT_BY_LEAF);
  g_autofree char *words = report_difference_words(from, to);
  base_json_map(json, NULL);
  base_json_text(json, "from", from->label);
  base_json_text(json, "to", to->label);
  base_json_list(json, "parts");
  for (guint i = 0; i < rows->len; i++) {
    const ReportRow *row = g_ptr_array_index(rows, i);
    add_part(json, &(ReportPart){row->kind, row->what, row->purpose, row->cause, row->times[1] - row->times[0]});
  }
  base_json_end(json);
  base_json_map(json, "memory_at_peak");
  for (guint t = 0; t < RUN_TENANTS; t++)
    base_json_integer(json, run_tenant_names[t], (gint64)to->tenants[t] - (gint64)from->tenants[t]);
  base_json_end(json);
  add_changes(json, from, to);
  base_json_map(json, "settings");
  add_settings(json, from, to);
  base_json_end(json);
  base_json_text(json, "words", words);
  report_ratio_json(ratio, json);
  base_json_end(json);
}

void report_compared_json(RunReport *const *reports, const gint64 *run_ids, const ReportBeside *beside, guint n,
                          GString *text) {
  const ReportRatio none = {0};
  g_autoptr(GPtrArray) steps = report_steps(reports, run_ids, n);
  g_autoptr(BaseJson) json = base_json_new(text, BASE_JSON_SPREAD);
  base_json_map(json, NULL);
  base_json_integer(json, "json_version", REPORT_JSON_VERSION);
  base_json_list(json, "runs");
  for (guint i = 0; i < n; i++)
    add_run(json, steps->pdata[i]);
  base_json_end(json);
  base_json_list(json, "differences");
  for (guint i = 1; i < n; i++)
    add_difference(json, steps->pdata[0], steps->pdata[i], beside->ratios != NULL ? &beside->ratios[i] : &none);
  base_json_end(json);
  if (beside->offers != NULL && report_quotes_wanted(beside->offers, n))
    report_quotes_json(beside->offers, n, json);
  base_json_end(json);
}

gboolean report_compare_json(StoreDb *db, const gint64 *run_ids, guint n, GString *text, GError **error) {
  g_autofree RunReport **reports = report_compare_load(db, run_ids, n, error);
  if (reports != NULL)
    report_compared_json(reports, run_ids, &(ReportBeside){0}, n, text);
  return reports != NULL;
}
