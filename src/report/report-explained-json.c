/* SPDX-License-Identifier: MIT */
/* The page of foretrain explain, as JSON. */
#include "report-explained.h"
#include "report-faster.h"
#include "report-json.h"
#include "report-kinds.h"
#include "report-path.h"
#include "report-text.h"

static void add_kinds(BaseJson *json, const RunClass *slow) {
  gint64 kinds[REPORT_COMPUTES];
  report_kinds(slow, kinds);
  base_json_map(json, "compute");
  for (guint i = 0; i < REPORT_COMPUTES; i++)
    base_json_integer(json, report_compute_names[i], kinds[i]);
  base_json_end(json);
}

static void add_path(BaseJson *json, const RunClass *slow) {
  g_autoptr(GArray) path = report_path(slow);
  base_json_list(json, "critical_path");
  for (guint i = 0; i < path->len; i++) {
    const ReportHop *hop = &g_array_index(path, ReportHop, i);
    base_json_map(json, NULL);
    base_json_text(json, "name", hop->name);
    base_json_text(json, "phase", hop->phase);
    base_json_text(json, "kind",
                   hop->name == NULL ? (hop->host ? "host" : "peers")
                   : hop->collective ? "collective"
                                     : "compute");
    base_json_integer(json, "tasks", (gint64)hop->tasks);
    base_json_integer(json, "time_ps", hop->time);
    base_json_end(json);
  }
  base_json_end(json);
}

static void add_bar(BaseJson *json, const char *key, double factor, const RunReport *played) {
  if (played == NULL) {
    base_json_null(json, key);
    return;
  }
  base_json_map(json, key);
  base_json_number(json, "factor", factor);
  base_json_integer(json, "step_ps", run_report_slowest(played)->step);
  base_json_text(json, "verdict", run_verdict_names[played->verdict]);
  base_json_end(json);
}

static void add_tornado(BaseJson *json, const StudyTornado *tornado) {
  base_json_list(json, "tornado");
  for (guint i = 0; i < STUDY_FIGURES; i++) {
    base_json_map(json, NULL);
    base_json_text(json, "figure", study_figure_names[i]);
    add_bar(json, "low", 0.9, tornado->bars[i].low);
    add_bar(json, "high", 1.1, tornado->bars[i].high);
    base_json_end(json);
  }
  base_json_end(json);
}

void report_explained_json(const RunReport *report, const GPtrArray *faster, const StudyTornado *tornado,
                           GString *text) {
  const RunClass *slow = run_report_slowest(report);
  g_autoptr(BaseJson) json = base_json_new(text, BASE_JSON_SPREAD);
  base_json_map(json, NULL);
  base_json_integer(json, "json_version", REPORT_JSON_VERSION);
  report_json_metrics(json, report);
  report_json_causes(json, slow);
  add_kinds(json, slow);
  add_path(json, slow);
  base_json_integer(json, "perfect_overlap_ps", report_perfect_overlap(slow));
  if (tornado->endless != NULL)
    base_json_integer(json, "endless_links_ps", run_report_slowest(tornado->endless)->step);
  else
    base_json_null(json, "endless_links_ps");
  add_tornado(json, tornado);
  report_faster_json(report, faster, json);
  base_json_end(json);
}
