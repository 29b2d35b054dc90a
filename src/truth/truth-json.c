/* SPDX-License-Identifier: MIT */
/* The same as JSON: flat rows, errors as shares. */
#include "base-json.h"
#include "report-text.h"
#include "truth-interval.h"
#include "truth-text.h"

static void add_errors(BaseJson *json, const TruthResult *result, const TruthGroup *group) {
  base_json_map(json, "errors");
  for (StoreMeasureKind kind = 0; kind < STORE_MEASURES; kind++) {
    g_autoptr(GArray) errors = truth_score_errors(result, group, kind);
    TruthError sum = truth_score_sum(errors);
    if (sum.n == 0)
      continue;
    base_json_map(json, store_measure_names[kind]);
    base_json_integer(json, "n", sum.n);
    base_json_number(json, "mean", sum.mean);
    base_json_number(json, "median", sum.median);
    base_json_number(json, "p90", sum.p90);
    base_json_number(json, "worst", sum.worst);
    base_json_number(json, "bias", sum.bias);
    base_json_end(json);
  }
  base_json_end(json);
}

static void add_groups(BaseJson *json, const TruthResult *result) {
  g_autoptr(GArray) groups = truth_score_groups(result);
  base_json_list(json, "groups");
  for (guint g = 0; g < groups->len; g++) {
    const TruthGroup *group = &g_array_index(groups, TruthGroup, g);
    base_json_map(json, NULL);
    base_json_text(json, "source", group->source);
    base_json_text(json, "set", group->set);
    base_json_text(json, "band", group->collectives ? truth_band_names[group->band] : NULL);
    base_json_integer(json, "rows", group->rows);
    base_json_integer(json, "ran", group->ran);
    add_errors(json, result, group);
    base_json_map(json, "verdicts");
    base_json_integer(json, "fits_fits", group->verdicts[STORE_VERDICT_FITS][STORE_VERDICT_FITS]);
    base_json_integer(json, "fits_edge", group->verdicts[STORE_VERDICT_FITS][STORE_VERDICT_EDGE]);
    base_json_integer(json, "fits_oom", group->verdicts[STORE_VERDICT_FITS][STORE_VERDICT_OOM]);
    base_json_integer(json, "oom_fits", group->verdicts[STORE_VERDICT_OOM][STORE_VERDICT_FITS]);
    base_json_integer(json, "oom_edge", group->verdicts[STORE_VERDICT_OOM][STORE_VERDICT_EDGE]);
    base_json_integer(json, "oom_oom", group->verdicts[STORE_VERDICT_OOM][STORE_VERDICT_OOM]);
    base_json_integer(json, "hard", group->hard);
    base_json_integer(json, "hard_right", group->hard_right);
    base_json_integer(json, "hard_edge", group->hard_edge);
    base_json_end(json);
    base_json_end(json);
  }
  base_json_end(json);
}

static void add_headlines(BaseJson *json, const TruthResult *result) {
  g_autoptr(GArray) headlines = truth_score_headlines(result, STORE_MEASURE_STEP_TIME);
  base_json_list(json, "headlines");
  for (guint i = 0; i < headlines->len; i++) {
    const TruthHeadline *line = &g_array_index(headlines, TruthHeadline, i);
    base_json_map(json, NULL);
    base_json_text(json, "family", line->family);
    base_json_integer(json, "sources", line->sources);
    base_json_number(json, "median_of_medians", line->median_of_medians);
    base_json_number(json, "worst_bias", line->worst_bias);
    base_json_integer(json, "n", line->all.n);
    base_json_number(json, "p90", line->all.p90);
    base_json_end(json);
  }
  base_json_end(json);
}

static void add_intervals(BaseJson *json, const TruthResult *result) {
  g_autoptr(GArray) covers = truth_interval_covers(result);
  base_json_list(json, "intervals");
  for (guint i = 0; i < covers->len; i++) {
    const TruthCover *cover = &g_array_index(covers, TruthCover, i);
    base_json_map(json, NULL);
    base_json_text(json, "source", cover->source);
    base_json_text(json, "set", cover->set);
    base_json_integer(json, "n", cover->n);
    base_json_integer(json, "inside", cover->inside);
    base_json_integer(json, "held_out_inside", cover->held_out);
    base_json_integer(json, "held_out_beyond", cover->beyond);
    base_json_integer(json, "rested_on", cover->resting);
    base_json_number(json, "width", cover->width);
    base_json_number(json, "held_out_width", cover->held_width);
    base_json_end(json);
  }
  base_json_end(json);
}

static void add_reasons(BaseJson *json, const TruthResult *result) {
  g_autoptr(GArray) reasons = truth_score_reasons(result);
  base_json_list(json, "reasons");
  for (guint i = 0; i < reasons->len; i++) {
    base_json_map(json, NULL);
    base_json_text(json, "reason", g_array_index(reasons, TruthReason, i).text);
    base_json_integer(json, "rows", g_array_index(reasons, TruthReason, i).rows);
    base_json_end(json);
  }
  base_json_end(json);
  base_json_list(json, "defaults");
  for (guint i = 0; i < result->defaults->len; i++) {
    const TruthDefault *one = &g_array_index(result->defaults, TruthDefault, i);
    base_json_map(json, NULL);
    base_json_text(json, "name", one->name);
    base_json_text(json, "value", *one->value != '\0' ? one->value : NULL);
    base_json_integer(json, "rows", one->rows);
    base_json_end(json);
  }
  base_json_end(json);
}

static void add_figure(BaseJson *json, const char *side, StoreMeasureKind kind, double value) {
  g_autofree char *key = g_strconcat(side, ".", store_measure_names[kind], NULL);
  if (value == STORE_UNKNOWN)
    base_json_text(json, key, NULL);
  else if (kind == STORE_MEASURE_FITS)
    base_json_text(json, key, value == STORE_VERDICT_FITS ? "yes" : value == STORE_VERDICT_EDGE ? "edge" : "no");
  else
    base_json_number(json, key, store_measure_shown(kind, value));
}

static void add_seconds(BaseJson *json, const char *key, SimTime time) {
  if (time != 0)
    base_json_number(json, key, sim_time_to_seconds(time));
  else
    base_json_text(json, key, NULL);
}

/* Of rows with a step: its interval, and the features by which it is compared. */
static void add_interval(BaseJson *json, const TruthInterval *interval) {
  g_autofree char *options = interval->like.options != NULL ? g_strjoinv("; ", interval->like.options) : g_strdup("");
  add_seconds(json, "predicted.step_low_s", interval->low);
  add_seconds(json, "predicted.step_high_s", interval->high);
  add_seconds(json, "held_out.step_low_s", interval->held_low);
  add_seconds(json, "held_out.step_high_s", interval->held_high);
  base_json_text(json, "envelope", interval->envelope);
  base_json_map(json, "like");
  for (int w = 0; w < TRUST_WORDS; w++)
    base_json_text(json, trust_word_names[w], interval->like.words[w]);
  for (int f = 0; f < TRUST_NUMBERS; f++)
    base_json_number(json, trust_number_names[f], interval->like.numbers[f]);
  base_json_text(json, "options", options);
  base_json_end(json);
}

static void add_row(BaseJson *json, const TruthRow *row) {
  g_autofree char *status = truth_row_status(row);
  base_json_map(json, NULL);
  base_json_text(json, "table", row->table->csv->file);
  base_json_text(json, "id", row->id);
  base_json_text(json, "source", row->source);
  base_json_text(json, "set", row->set);
  base_json_text(json, "status", status);
  for (StoreMeasureKind kind = 0; kind < STORE_MEASURES; kind++)
    if (row->measured[kind] != STORE_UNKNOWN) {
      add_figure(json, "measured", kind, row->measured[kind]);
      add_figure(json, "predicted", kind, row->predicted[kind]);
    }
  if (row->interval.envelope != NULL)
    add_interval(json, &row->interval);
  base_json_end(json);
}

void truth_json(const TruthResult *result, const TruthShow *show, GString *text) {
  g_autoptr(BaseJson) json = base_json_new(text, BASE_JSON_SPREAD);
  gint64 ran = 0;
  for (guint i = 0; i < result->rows->len; i++)
    ran += truth_row(result, i)->ran != FALSE;
  base_json_map(json, NULL);
  base_json_integer(json, "json_version", REPORT_JSON_VERSION);
  base_json_text(json, "model_version", RUN_MODEL_VERSION);
  base_json_integer(json, "coverage", result->coverage);
  base_json_integer(json, "rows_total", result->rows->len);
  base_json_integer(json, "rows_ran", ran);
  add_groups(json, result);
  add_headlines(json, result);
  base_json_number(json, "held_out_by_source", truth_interval_sum(result).by_source);
  add_intervals(json, result);
  add_reasons(json, result);
  if (show->rows) {
    base_json_list(json, "rows");
    for (guint i = 0; i < result->rows->len; i++)
      add_row(json, truth_row(result, i));
    base_json_end(json);
  }
  base_json_end(json);
}
