/* JSON: the columns of table run from the table of metrics, and the objects that hang from them. */
#include <json-glib/json-glib.h>

#include "report-text.h"
#include "report-words.h"
#include "store-metric.h"

static void add_integer(JsonBuilder *builder, const char *key, gint64 value) {
  json_builder_set_member_name(builder, key);
  json_builder_add_int_value(builder, value);
}

static void add_number(JsonBuilder *builder, const char *key, double value) {
  json_builder_set_member_name(builder, key);
  json_builder_add_double_value(builder, value);
}

static void add_text(JsonBuilder *builder, const char *key, const char *value) {
  json_builder_set_member_name(builder, key);
  json_builder_add_string_value(builder, value);
}

static void add_null(JsonBuilder *builder, const char *key) {
  json_builder_set_member_name(builder, key);
  json_builder_add_null_value(builder);
}

static void add_layer(JsonBuilder *builder, gint32 layer) {
  if (layer < 0)
    add_null(builder, "layer");
  else
    add_integer(builder, "layer", layer);
}

static void begin_object(JsonBuilder *builder, const char *key) {
  json_builder_set_member_name(builder, key);
  json_builder_begin_object(builder);
}

static void begin_array(JsonBuilder *builder, const char *key) {
  json_builder_set_member_name(builder, key);
  json_builder_begin_array(builder);
}

static void add_known_text(JsonBuilder *builder, const char *name, const char *value) {
  if (value != NULL)
    add_text(builder, name, value);
  else
    add_null(builder, name);
}

static void add_value(JsonBuilder *builder, const char *key, RunValue value) {
  if (value.kind == RUN_NULL)
    add_null(builder, key);
  else if (value.kind == RUN_INTEGER)
    add_integer(builder, key, value.integer);
  else if (value.kind == RUN_REAL)
    add_number(builder, key, value.real);
  else
    add_text(builder, key, value.string);
}

static void add_record(JsonBuilder *builder, const RunRecord *record, gconstpointer of) {
  for (guint i = 0; i < record->n; i++)
    if (record->fields[i].key != NULL)
      add_value(builder, record->fields[i].key, run_field_get(&record->fields[i], of));
}

static void add_metrics(JsonBuilder *builder, const RunReport *report, gboolean per_class) {
  for (gsize i = 0; i < store_n_metrics; i++)
    if (!per_class || store_metrics[i].per_class)
      add_value(builder, store_metrics[i].column, store_metric_get(&store_metrics[i], report));
}

static void add_causes(JsonBuilder *builder, const RunClass *slowest) {
  begin_object(builder, "causes_ps");
  for (guint cause = 0; cause < RUN_CAUSES; cause++)
    add_integer(builder, run_cause_names[cause], slowest->by_cause[cause]);
  json_builder_end_object(builder);
}

static void add_memory(JsonBuilder *builder, const RunClass *tightest) {
  begin_object(builder, "memory_at_peak");
  for (guint t = 0; t < RUN_TENANTS; t++) {
    begin_object(builder, run_tenant_names[t]);
    add_integer(builder, "bytes", (gint64)tightest->peak_held[t]);
    add_integer(builder, "unique_bytes", (gint64)tightest->peak_unique[t]);
    json_builder_end_object(builder);
  }
  json_builder_end_object(builder);
  begin_object(builder, "peak");
  add_integer(builder, "at_ps", tightest->peak_at);
  add_integer(builder, "step", tightest->peak_step);
  add_text(builder, "task_name", tightest->peak_name);
  add_layer(builder, tightest->peak_layer);
  add_text(builder, "phase", tightest->peak_phase);
  add_text(builder, "place", report_place(tightest->peak_name, tightest->peak_layer, tightest->peak_phase));
  json_builder_end_object(builder);
}

static void add_oom(JsonBuilder *builder, const RunReport *report) {
  const RunClass *tightest = run_report_tightest(report);
  const RunOom *oom = &tightest->oom;
  if (!tightest->has_oom) {
    add_null(builder, "oom");
    return;
  }
  begin_object(builder, "oom");
  add_integer(builder, "rank_class", report->tightest);
  add_record(builder, &run_record_oom, oom);
  begin_object(builder, "held_bytes");
  for (guint t = 0; t < RUN_TENANTS; t++)
    add_integer(builder, run_tenant_names[t], (gint64)oom->held[t]);
  json_builder_end_object(builder);
  json_builder_end_object(builder);
}

static void add_classes(JsonBuilder *builder, const RunReport *report) {
  begin_array(builder, "rank_classes");
  for (guint32 i = 0; i < report->n_classes; i++) {
    RunReport view = store_metric_class_view(report, i);
    json_builder_begin_object(builder);
    add_integer(builder, "rank_class", i);
    add_integer(builder, "ranks", report->classes[i].ranks);
    add_integer(builder, "first_rank", report->classes[i].first_rank);
    add_known_text(builder, "members", report->classes[i].members);
    add_known_text(builder, "apart", report->classes[i].apart);
    add_metrics(builder, &view, TRUE);
    json_builder_end_object(builder);
  }
  json_builder_end_array(builder);
}

static void add_links(JsonBuilder *builder, const RunReport *report) {
  begin_array(builder, "links");
  for (guint32 i = 0; i < report->n_links; i++) {
    const RunLink *link = &report->links[i];
    json_builder_begin_object(builder);
    add_record(builder, &run_record_link, link);
    add_known_text(builder, "apart", link->apart);
    json_builder_end_object(builder);
  }
  json_builder_end_array(builder);
}

static void add_identity(JsonBuilder *builder, const RunIdentity *identity) {
  begin_object(builder, "settings");
  for (guint32 i = 0; i < identity->n_settings; i++) {
    begin_object(builder, identity->settings[i].name);
    add_text(builder, "value", identity->settings[i].value);
    add_text(builder, "origin", identity->settings[i].origin);
    json_builder_end_object(builder);
  }
  json_builder_end_object(builder);
  begin_array(builder, "notes");
  for (guint i = 0; identity->notes != NULL && identity->notes[i] != NULL; i++)
    json_builder_add_string_value(builder, identity->notes[i]);
  json_builder_end_array(builder);
}

static void add_report(JsonBuilder *builder, const RunReport *report) {
  json_builder_begin_object(builder);
  add_integer(builder, "json_version", REPORT_JSON_VERSION);
  add_metrics(builder, report, FALSE);
  add_causes(builder, run_report_slowest(report));
  add_memory(builder, run_report_tightest(report));
  add_oom(builder, report);
  add_classes(builder, report);
  add_links(builder, report);
  add_identity(builder, &report->identity);
  json_builder_end_object(builder);
}

static void print(JsonBuilder *builder, GString *text) {
  g_autoptr(JsonNode) root = json_builder_get_root(builder);
  g_autofree char *json = json_to_string(root, TRUE);
  g_string_append_printf(text, "%s\n", json);
}

void report_json(const RunReport *report, GString *text) {
  g_autoptr(JsonBuilder) builder = json_builder_new();
  add_report(builder, report);
  print(builder, text);
}

void report_stages_json(RunReport *const *reports, guint n, GString *text) {
  g_autoptr(JsonBuilder) builder = json_builder_new();
  json_builder_begin_array(builder);
  for (guint i = 0; i < n; i++)
    add_report(builder, reports[i]);
  json_builder_end_array(builder);
  print(builder, text);
}
