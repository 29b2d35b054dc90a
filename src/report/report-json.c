/* SPDX-License-Identifier: MIT */
/* JSON: the columns of table run from the table of metrics, and the objects that hang from them. */
#include "report-json.h"

#include "report-remedies.h"
#include "report-text.h"
#include "report-words.h"
#include "store-metric.h"

static void add_layer(BaseJson *json, gint32 layer) {
  if (layer < 0)
    base_json_null(json, "layer");
  else
    base_json_integer(json, "layer", layer);
}

static void add_value(BaseJson *json, const char *key, RunValue value) {
  if (value.kind == RUN_NULL)
    base_json_null(json, key);
  else if (value.kind == RUN_INTEGER)
    base_json_integer(json, key, value.integer);
  else if (value.kind == RUN_REAL)
    base_json_number(json, key, value.real);
  else
    base_json_text(json, key, value.string);
}

static void add_record(BaseJson *json, const RunRecord *record, gconstpointer of) {
  for (guint i = 0; i < record->n; i++)
    if (record->fields[i].key != NULL)
      add_value(json, record->fields[i].key, run_field_get(&record->fields[i], of));
}

static void add_metrics(BaseJson *json, const RunReport *report, gboolean per_class) {
  for (gsize i = 0; i < store_n_metrics; i++)
    if (!per_class || store_metrics[i].per_class)
      add_value(json, store_metrics[i].column, store_metric_get(&store_metrics[i], report));
}

void report_json_metrics(BaseJson *json, const RunReport *report) {
  add_metrics(json, report, FALSE);
}

void report_json_causes(BaseJson *json, const RunClass *slowest) {
  base_json_map(json, "causes_ps");
  for (guint cause = 0; cause < RUN_CAUSES; cause++)
    base_json_integer(json, run_cause_names[cause], slowest->by_cause[cause]);
  base_json_end(json);
}

static void add_memory(BaseJson *json, const RunClass *tightest) {
  base_json_map(json, "memory_at_peak");
  for (guint t = 0; t < RUN_TENANTS; t++) {
    base_json_map(json, run_tenant_names[t]);
    base_json_integer(json, "bytes", (gint64)tightest->peak_held[t]);
    base_json_integer(json, "unique_bytes", (gint64)tightest->peak_unique[t]);
    base_json_end(json);
  }
  base_json_end(json);
  base_json_map(json, "peak");
  base_json_integer(json, "at_ps", tightest->peak_at);
  base_json_integer(json, "step", tightest->peak_step);
  base_json_text(json, "task_name", tightest->peak_name);
  add_layer(json, tightest->peak_layer);
  base_json_text(json, "phase", tightest->peak_phase);
  base_json_text(json, "place", report_place(tightest->peak_name, tightest->peak_layer, tightest->peak_phase));
  base_json_end(json);
}

static void add_oom(BaseJson *json, const RunReport *report) {
  const RunClass *tightest = run_report_tightest(report);
  const RunOom *oom = &tightest->oom;
  if (!tightest->has_oom) {
    base_json_null(json, "oom");
    return;
  }
  base_json_map(json, "oom");
  base_json_integer(json, "rank_class", report->tightest);
  add_record(json, &run_record_oom, oom);
  base_json_map(json, "held_bytes");
  for (guint t = 0; t < RUN_TENANTS; t++)
    base_json_integer(json, run_tenant_names[t], (gint64)oom->held[t]);
  base_json_end(json);
  base_json_end(json);
}

static void add_classes(BaseJson *json, const RunReport *report) {
  base_json_list(json, "rank_classes");
  for (guint32 i = 0; i < report->n_classes; i++) {
    RunReport view = store_metric_class_view(report, i);
    base_json_map(json, NULL);
    base_json_integer(json, "rank_class", i);
    base_json_integer(json, "ranks", report->classes[i].ranks);
    base_json_integer(json, "first_rank", report->classes[i].first_rank);
    base_json_text(json, "members", report->classes[i].members);
    base_json_text(json, "apart", report->classes[i].apart);
    base_json_text(json, "role", report->classes[i].role);
    add_metrics(json, &view, TRUE);
    base_json_end(json);
  }
  base_json_end(json);
}

static void add_links(BaseJson *json, const RunReport *report) {
  base_json_list(json, "links");
  for (guint32 i = 0; i < report->n_links; i++) {
    const RunLink *link = &report->links[i];
    base_json_map(json, NULL);
    add_record(json, &run_record_link, link);
    base_json_text(json, "apart", link->apart);
    base_json_end(json);
  }
  base_json_end(json);
}

static void add_identity(BaseJson *json, const RunIdentity *identity) {
  base_json_map(json, "settings");
  for (guint32 i = 0; i < identity->n_settings; i++) {
    base_json_map(json, identity->settings[i].name);
    base_json_text(json, "value", identity->settings[i].value);
    base_json_text(json, "origin", identity->settings[i].origin);
    base_json_end(json);
  }
  base_json_end(json);
  base_json_list(json, "notes");
  for (guint i = 0; identity->notes != NULL && identity->notes[i] != NULL; i++)
    base_json_text(json, NULL, identity->notes[i]);
  base_json_end(json);
}

static void add_report(BaseJson *json, const char *title, const RunReport *report, const GPtrArray *remedies) {
  base_json_map(json, NULL);
  if (title != NULL)
    base_json_text(json, "title", title);
  base_json_integer(json, "json_version", REPORT_JSON_VERSION);
  add_metrics(json, report, FALSE);
  report_json_causes(json, run_report_slowest(report));
  add_memory(json, run_report_tightest(report));
  add_oom(json, report);
  add_classes(json, report);
  add_links(json, report);
  add_identity(json, &report->identity);
  if (remedies != NULL)
    report_remedies_json(remedies, json);
  base_json_end(json);
}

void report_json_with(const RunReport *report, const GPtrArray *remedies, GString *text) {
  g_autoptr(BaseJson) json = base_json_new(text, BASE_JSON_SPREAD);
  add_report(json, NULL, report, remedies);
}

void report_json(const RunReport *report, GString *text) {
  report_json_with(report, NULL, text);
}

void report_stages_json(const char *const *titles, RunReport *const *reports, guint n, GString *text) {
  g_autoptr(BaseJson) json = base_json_new(text, BASE_JSON_SPREAD);
  base_json_list(json, NULL);
  for (guint i = 0; i < n; i++)
    add_report(json, titles[i], reports[i], NULL);
  base_json_end(json);
}
