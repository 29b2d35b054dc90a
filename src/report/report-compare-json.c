/* Runs side by side as JSON. */
#include <json-glib/json-glib.h>
#include <string.h>

#include "report-compare-step.h"
#include "report-compare.h"
#include "report-text.h"

static void add_value(JsonBuilder *json, const char *value) {
  if (value != NULL)
    json_builder_add_string_value(json, value);
  else
    json_builder_add_null_value(json);
}

static void add_text(JsonBuilder *json, const char *key, const char *value) {
  json_builder_set_member_name(json, key);
  add_value(json, value);
}

static void add_integer(JsonBuilder *json, const char *key, gint64 value) {
  json_builder_set_member_name(json, key);
  json_builder_add_int_value(json, value);
}

static void add_metrics(JsonBuilder *json, const ReportStep *step) {
  for (gsize m = 0; m < store_n_metrics; m++) {
    const char *value = step->metrics[m];
    if (store_metrics[m].unit == STORE_TEXT || value == NULL) {
      add_text(json, store_metrics[m].column, value);
      continue;
    }
    json_builder_set_member_name(json, store_metrics[m].column);
    if (store_metric_is_whole(&store_metrics[m]))
      json_builder_add_int_value(json, g_ascii_strtoll(value, NULL, 10));
    else
      json_builder_add_double_value(json, g_ascii_strtod(value, NULL));
  }
}

static void add_changes(JsonBuilder *json, const ReportStep *from, const ReportStep *to) {
  for (gsize m = 0; m < store_n_metrics; m++) {
    const char *was = from->metrics[m], *is = to->metrics[m];
    if (store_metrics[m].unit == STORE_TEXT)
      continue;
    json_builder_set_member_name(json, store_metrics[m].column);
    if (was == NULL || is == NULL)
      json_builder_add_null_value(json);
    else if (store_metric_is_whole(&store_metrics[m]))
      json_builder_add_int_value(json, g_ascii_strtoll(is, NULL, 10) - g_ascii_strtoll(was, NULL, 10));
    else
      json_builder_add_double_value(json, g_ascii_strtod(is, NULL) - g_ascii_strtod(was, NULL));
  }
}

static void add_part(JsonBuilder *json, ReportKind kind, const char *what, const char *cause, SimTime time) {
  json_builder_begin_object(json);
  add_text(json, "kind", report_kind_names[kind]);
  add_text(json, "what", what);
  add_text(json, "cause", cause);
  add_integer(json, "time_ps", time);
  json_builder_end_object(json);
}

static void add_run(JsonBuilder *json, const ReportStep *step) {
  json_builder_begin_object(json);
  add_text(json, "label", step->label);
  add_integer(json, "run_id", step->run_id);
  add_metrics(json, step);
  json_builder_set_member_name(json, "parts");
  json_builder_begin_array(json);
  for (guint i = 0; i < step->parts->len; i++) {
    const ReportPart *part = &g_array_index(step->parts, ReportPart, i);
    add_part(json, part->kind, part->what, part->cause, part->time);
  }
  json_builder_end_array(json);
  json_builder_set_member_name(json, "memory_at_peak");
  json_builder_begin_object(json);
  for (guint t = 0; t < RUN_TENANTS; t++)
    add_integer(json, run_tenant_names[t], (gint64)step->tenants[t]);
  json_builder_end_object(json);
  json_builder_end_object(json);
}

/* Both lists are in order of name: one walk over the two. */
static void add_settings(JsonBuilder *json, const RunIdentity *from, const RunIdentity *to) {
  guint32 a = 0, b = 0;
  while (a < from->n_settings || b < to->n_settings) {
    int order = a == from->n_settings ? 1
                : b == to->n_settings ? -1
                                      : strcmp(from->settings[a].name, to->settings[b].name);
    const RunSetting *was = order <= 0 ? &from->settings[a++] : NULL, *is = order >= 0 ? &to->settings[b++] : NULL;
    if (was != NULL && is != NULL && strcmp(was->value, is->value) == 0)
      continue;
    json_builder_set_member_name(json, was != NULL ? was->name : is->name);
    json_builder_begin_array(json);
    add_value(json, was != NULL ? was->value : NULL);
    add_value(json, is != NULL ? is->value : NULL);
    json_builder_end_array(json);
  }
}

static void add_difference(JsonBuilder *json, const ReportStep *from, const ReportStep *to) {
  ReportStep *const pair[] = {(ReportStep *)from, (ReportStep *)to};
  g_autoptr(GPtrArray) rows = report_rows(pair, 2, REPORT_KINDS, REPORT_BY_BOTH);
  g_autofree char *words = report_difference_words(from, to);
  json_builder_begin_object(json);
  add_text(json, "from", from->label);
  add_text(json, "to", to->label);
  json_builder_set_member_name(json, "parts");
  json_builder_begin_array(json);
  for (guint i = 0; i < rows->len; i++) {
    const ReportRow *row = g_ptr_array_index(rows, i);
    add_part(json, row->kind, row->what, row->cause, row->times[1] - row->times[0]);
  }
  json_builder_end_array(json);
  json_builder_set_member_name(json, "memory_at_peak");
  json_builder_begin_object(json);
  for (guint t = 0; t < RUN_TENANTS; t++)
    add_integer(json, run_tenant_names[t], (gint64)to->tenants[t] - (gint64)from->tenants[t]);
  json_builder_end_object(json);
  add_changes(json, from, to);
  json_builder_set_member_name(json, "settings");
  json_builder_begin_object(json);
  add_settings(json, &from->report->identity, &to->report->identity);
  json_builder_end_object(json);
  add_text(json, "words", words);
  json_builder_end_object(json);
}

gboolean report_compare_json(StoreDb *db, const gint64 *run_ids, guint n, GString *text, GError **error) {
  g_autoptr(GPtrArray) steps = g_ptr_array_new_with_free_func((GDestroyNotify)report_step_free);
  g_autoptr(JsonBuilder) json = json_builder_new();
  for (guint i = 0; i < n; i++) {
    ReportStep *step = report_step_load(db, run_ids[i], i, error);
    if (step == NULL)
      return FALSE;
    g_ptr_array_add(steps, step);
  }
  json_builder_begin_object(json);
  add_integer(json, "json_version", REPORT_JSON_VERSION);
  json_builder_set_member_name(json, "runs");
  json_builder_begin_array(json);
  for (guint i = 0; i < n; i++)
    add_run(json, steps->pdata[i]);
  json_builder_end_array(json);
  json_builder_set_member_name(json, "differences");
  json_builder_begin_array(json);
  for (guint i = 1; i < n; i++)
    add_difference(json, steps->pdata[0], steps->pdata[i]);
  json_builder_end_array(json);
  json_builder_end_object(json);
  g_autoptr(JsonNode) root = json_builder_get_root(json);
  g_autofree char *printed = json_to_string(root, TRUE);
  g_string_append_printf(text, "%s\n", printed);
  return TRUE;
}
