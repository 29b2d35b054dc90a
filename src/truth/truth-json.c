/* The same as JSON: flat rows, errors as shares. */
#include <json-glib/json-glib.h>

#include "report-text.h"
#include "truth-interval.h"
#include "truth-text.h"

static void add_text(JsonBuilder *json, const char *key, const char *value) {
  json_builder_set_member_name(json, key);
  if (value != NULL)
    json_builder_add_string_value(json, value);
  else
    json_builder_add_null_value(json);
}

static void add_count(JsonBuilder *json, const char *key, gint64 value) {
  json_builder_set_member_name(json, key);
  json_builder_add_int_value(json, value);
}

static void add_number(JsonBuilder *json, const char *key, double value) {
  json_builder_set_member_name(json, key);
  json_builder_add_double_value(json, value);
}

static void begin_list(JsonBuilder *json, const char *key) {
  json_builder_set_member_name(json, key);
  json_builder_begin_array(json);
}

static void add_errors(JsonBuilder *json, const TruthResult *result, const TruthGroup *group) {
  json_builder_set_member_name(json, "errors");
  json_builder_begin_object(json);
  for (StoreMeasureKind kind = 0; kind < STORE_MEASURES; kind++) {
    g_autoptr(GArray) errors = truth_score_errors(result, group, kind);
    TruthError sum = truth_score_sum(errors);
    if (sum.n == 0)
      continue;
    json_builder_set_member_name(json, store_measure_names[kind]);
    json_builder_begin_object(json);
    add_count(json, "n", sum.n);
    add_number(json, "mean", sum.mean);
    add_number(json, "median", sum.median);
    add_number(json, "p90", sum.p90);
    add_number(json, "worst", sum.worst);
    add_number(json, "bias", sum.bias);
    json_builder_end_object(json);
  }
  json_builder_end_object(json);
}

static void add_groups(JsonBuilder *json, const TruthResult *result) {
  g_autoptr(GArray) groups = truth_score_groups(result);
  begin_list(json, "groups");
  for (guint g = 0; g < groups->len; g++) {
    const TruthGroup *group = &g_array_index(groups, TruthGroup, g);
    json_builder_begin_object(json);
    add_text(json, "source", group->source);
    add_text(json, "set", group->set);
    add_text(json, "band", group->collectives ? truth_band_names[group->band] : NULL);
    add_count(json, "rows", group->rows);
    add_count(json, "ran", group->ran);
    add_errors(json, result, group);
    json_builder_set_member_name(json, "verdicts");
    json_builder_begin_object(json);
    add_count(json, "fits_fits", group->verdicts[1][1]);
    add_count(json, "fits_oom", group->verdicts[1][0]);
    add_count(json, "oom_fits", group->verdicts[0][1]);
    add_count(json, "oom_oom", group->verdicts[0][0]);
    add_count(json, "hard", group->hard);
    add_count(json, "hard_right", group->hard_right);
    json_builder_end_object(json);
    json_builder_end_object(json);
  }
  json_builder_end_array(json);
}

static void add_headlines(JsonBuilder *json, const TruthResult *result) {
  g_autoptr(GArray) headlines = truth_score_headlines(result, STORE_MEASURE_STEP_TIME);
  begin_list(json, "headlines");
  for (guint i = 0; i < headlines->len; i++) {
    const TruthHeadline *line = &g_array_index(headlines, TruthHeadline, i);
    json_builder_begin_object(json);
    add_text(json, "family", line->family);
    add_count(json, "sources", line->sources);
    add_number(json, "median_of_medians", line->median_of_medians);
    add_number(json, "worst_bias", line->worst_bias);
    add_count(json, "n", line->all.n);
    add_number(json, "p90", line->all.p90);
    json_builder_end_object(json);
  }
  json_builder_end_array(json);
}

static void add_intervals(JsonBuilder *json, const TruthResult *result) {
  g_autoptr(GArray) covers = truth_interval_covers(result);
  begin_list(json, "intervals");
  for (guint i = 0; i < covers->len; i++) {
    const TruthCover *cover = &g_array_index(covers, TruthCover, i);
    json_builder_begin_object(json);
    add_text(json, "source", cover->source);
    add_text(json, "set", cover->set);
    add_count(json, "n", cover->n);
    add_count(json, "inside", cover->inside);
    add_count(json, "held_out_inside", cover->held_out);
    add_count(json, "held_out_beyond", cover->beyond);
    add_count(json, "rested_on", cover->resting);
    add_number(json, "width", cover->width);
    add_number(json, "held_out_width", cover->held_width);
    json_builder_end_object(json);
  }
  json_builder_end_array(json);
}

static void add_reasons(JsonBuilder *json, const TruthResult *result) {
  g_autoptr(GArray) reasons = truth_score_reasons(result);
  begin_list(json, "reasons");
  for (guint i = 0; i < reasons->len; i++) {
    json_builder_begin_object(json);
    add_text(json, "reason", g_array_index(reasons, TruthReason, i).text);
    add_count(json, "rows", g_array_index(reasons, TruthReason, i).rows);
    json_builder_end_object(json);
  }
  json_builder_end_array(json);
  begin_list(json, "defaults");
  for (guint i = 0; i < result->defaults->len; i++) {
    const TruthDefault *one = &g_array_index(result->defaults, TruthDefault, i);
    json_builder_begin_object(json);
    add_text(json, "name", one->name);
    add_text(json, "value", *one->value != '\0' ? one->value : NULL);
    add_count(json, "rows", one->rows);
    json_builder_end_object(json);
  }
  json_builder_end_array(json);
}

static void add_figure(JsonBuilder *json, const char *side, StoreMeasureKind kind, double value) {
  g_autofree char *key = g_strconcat(side, ".", store_measure_names[kind], NULL);
  if (value == STORE_UNKNOWN)
    add_text(json, key, NULL);
  else if (kind == STORE_MEASURE_FITS)
    add_text(json, key, value > 0 ? "yes" : "no");
  else
    add_number(json, key, store_measure_shown(kind, value));
}

static void add_seconds(JsonBuilder *json, const char *key, SimTime time) {
  if (time != 0)
    add_number(json, key, sim_time_to_seconds(time));
  else
    add_text(json, key, NULL);
}

/* Of rows with a step: its interval, and the features by which it is compared. */
static void add_interval(JsonBuilder *json, const TruthInterval *interval) {
  g_autofree char *options = interval->like.options != NULL ? g_strjoinv("; ", interval->like.options) : g_strdup("");
  add_seconds(json, "predicted.step_low_s", interval->low);
  add_seconds(json, "predicted.step_high_s", interval->high);
  add_seconds(json, "held_out.step_low_s", interval->held_low);
  add_seconds(json, "held_out.step_high_s", interval->held_high);
  add_text(json, "envelope", interval->envelope);
  json_builder_set_member_name(json, "like");
  json_builder_begin_object(json);
  for (int w = 0; w < TRUST_WORDS; w++)
    add_text(json, trust_word_names[w], interval->like.words[w]);
  for (int f = 0; f < TRUST_NUMBERS; f++)
    add_number(json, trust_number_names[f], interval->like.numbers[f]);
  add_text(json, "options", options);
  json_builder_end_object(json);
}

static void add_row(JsonBuilder *json, const TruthRow *row) {
  g_autofree char *status = truth_row_status(row);
  json_builder_begin_object(json);
  add_text(json, "table", row->table->csv->file);
  add_text(json, "id", row->id);
  add_text(json, "source", row->source);
  add_text(json, "set", row->set);
  add_text(json, "status", status);
  for (StoreMeasureKind kind = 0; kind < STORE_MEASURES; kind++)
    if (row->measured[kind] != STORE_UNKNOWN) {
      add_figure(json, "measured", kind, row->measured[kind]);
      add_figure(json, "predicted", kind, row->predicted[kind]);
    }
  if (row->interval.envelope != NULL)
    add_interval(json, &row->interval);
  json_builder_end_object(json);
}

void truth_json(const TruthResult *result, const TruthShow *show, GString *text) {
  g_autoptr(JsonBuilder) json = json_builder_new();
  gint64 ran = 0;
  for (guint i = 0; i < result->rows->len; i++)
    ran += truth_row(result, i)->ran != FALSE;
  json_builder_begin_object(json);
  add_count(json, "json_version", REPORT_JSON_VERSION);
  add_text(json, "model_version", RUN_MODEL_VERSION);
  add_count(json, "coverage", result->coverage);
  add_count(json, "rows_total", result->rows->len);
  add_count(json, "rows_ran", ran);
  add_groups(json, result);
  add_headlines(json, result);
  add_number(json, "held_out_by_source", truth_interval_sum(result).by_source);
  add_intervals(json, result);
  add_reasons(json, result);
  if (show->rows) {
    begin_list(json, "rows");
    for (guint i = 0; i < result->rows->len; i++)
      add_row(json, truth_row(result, i));
    json_builder_end_array(json);
  }
  json_builder_end_object(json);
  g_autoptr(JsonNode) root = json_builder_get_root(json);
  g_autofree char *printed = json_to_string(root, TRUE);
  g_string_append_printf(text, "%s\n", printed);
}
