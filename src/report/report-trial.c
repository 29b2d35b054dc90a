/* SPDX-License-Identifier: MIT */
/* One changed run beside the run that it changes. */
#include "report-trial.h"

#include <string.h>

char *report_trial_change(const char *change, const char *left_out) {
  g_auto(GStrv) each = g_strsplit(change, " ", -1);
  GString *text = g_string_new(NULL);
  for (guint i = 0; each[i] != NULL && *each[i] != '\0'; i++)
    if (!g_str_has_prefix(each[i], "training.global_batch=") &&
        (left_out == NULL || !g_str_has_prefix(each[i], left_out)))
      g_string_append_printf(text, "%s%s", text->len > 0 ? " " : "", strchr(each[i], '.') + 1);
  return g_string_free(text, FALSE);
}

double report_trial_cost(const RunReport *from, const RunReport *to) {
  return from->tokens_per_second_per_gpu / to->tokens_per_second_per_gpu - 1;
}

void report_trial_json(const StudyTrial *trial, BaseJson *json) {
  const RunReport *report = trial->report;
  const RunClass *tight = run_report_tightest(report);
  base_json_text(json, "change", trial->change);
  base_json_text(json, "verdict", run_verdict_names[report->verdict]);
  base_json_integer(json, "step_ps", run_report_slowest(report)->step);
  base_json_number(json, "tokens_per_second_per_gpu", report->tokens_per_second_per_gpu);
  base_json_integer(json, "device_used_bytes", (gint64)tight->device_used);
  base_json_integer(json, "short_by_bytes", (gint64)tight->short_by);
}
