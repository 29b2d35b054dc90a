/* SPDX-License-Identifier: MIT */
/* Each row against its own interval and against that of other sources. */
#include "truth-interval.h"

#include <stdlib.h>
#include <string.h>

#include "truth-score.h"

static gboolean has_step(const TruthRow *row) {
  return row->ran && !row->table->collectives && row->measured[STORE_MEASURE_STEP_TIME] != STORE_UNKNOWN;
}

typedef struct {
  const char *source;
  Trust *rest; /* without it */
} Rest;

static const Trust *without(GArray *rests, const Trust *trust, const char *source) {
  for (guint i = 0; i < rests->len; i++)
    if (strcmp(g_array_index(rests, Rest, i).source, source) == 0)
      return g_array_index(rests, Rest, i).rest;
  Rest fresh = {source, trust_without(trust, source)};
  g_array_append_val(rests, fresh);
  return fresh.rest;
}

static void rest_clear(gpointer data) {
  trust_free(((Rest *)data)->rest);
}

void truth_intervals(TruthResult *result, const Trust *trust) {
  g_autoptr(GArray) rests = g_array_new(FALSE, FALSE, sizeof(Rest));
  g_array_set_clear_func(rests, rest_clear);
  result->coverage = trust_coverage(trust);
  for (guint i = 0; i < result->rows->len; i++) {
    TruthRow *row = &g_array_index(result->rows, TruthRow, i);
    if (!has_step(row))
      continue;
    TruthInterval *interval = &row->interval;
    interval->resting = trust_has(trust, row->source, row->id);
    TrustVerdict held;
    trust_judge(without(rests, trust, row->source), &interval->like, row->breakdown.step, NULL, &held);
    interval->held_low = held.low;
    interval->held_high = held.high;
    interval->held_alike = held.alike;
    trust_verdict_clear(&held);
  }
}

static int by_size(gconstpointer a, gconstpointer b) {
  double one = *(const double *)a, other = *(const double *)b;
  return (one > other) - (one < other);
}

static double median(GArray *numbers) {
  guint n = numbers->len;
  if (n == 0)
    return 0;
  g_array_sort(numbers, by_size);
  return (g_array_index(numbers, double, (n - 1) / 2) + g_array_index(numbers, double, n / 2)) / 2;
}

typedef struct {
  TruthCover cover;
  GArray *widths, *held_widths; /* double */
} Counting;

static gboolean within(SimTime low, SimTime high, SimTime measured, GArray *widths) {
  if (low == 0)
    return FALSE;
  double width = (double)high / (double)low;
  g_array_append_val(widths, width);
  return measured >= low && measured <= high;
}

static void count(Counting *counting, const TruthRow *row) {
  const TruthInterval *interval = &row->interval;
  SimTime measured = sim_time_from_seconds(row->measured[STORE_MEASURE_STEP_TIME]);
  counting->cover.n++;
  counting->cover.inside += within(interval->low, interval->high, measured, counting->widths) != FALSE;
  counting->cover.held_out += within(interval->held_low, interval->held_high, measured, counting->held_widths) != FALSE;
  counting->cover.beyond += interval->held_alike == 0;
  counting->cover.resting += interval->resting != FALSE;
}

static Counting begin(const char *source, const char *set) {
  return (Counting){{.source = source, .set = set},
                    g_array_new(FALSE, FALSE, sizeof(double)),
                    g_array_new(FALSE, FALSE, sizeof(double))};
}

static TruthCover end(Counting *counting) {
  counting->cover.width = median(counting->widths);
  counting->cover.held_width = median(counting->held_widths);
  g_array_unref(counting->widths);
  g_array_unref(counting->held_widths);
  return counting->cover;
}

GArray *truth_interval_covers(const TruthResult *result) {
  GArray *covers = g_array_new(FALSE, FALSE, sizeof(TruthCover));
  g_autoptr(GArray) groups = truth_score_groups(result);
  for (guint g = 0; g < groups->len; g++) {
    const TruthGroup *group = &g_array_index(groups, TruthGroup, g);
    if (group->collectives)
      continue;
    Counting counting = begin(group->source, group->set);
    for (guint i = 0; i < result->rows->len; i++) {
      const TruthRow *row = truth_row(result, i);
      if (has_step(row) && strcmp(row->source, group->source) == 0 && strcmp(row->set, group->set) == 0)
        count(&counting, row);
    }
    TruthCover cover = end(&counting);
    if (cover.n > 0)
      g_array_append_val(covers, cover);
  }
  return covers;
}

/* Of tier A or B, with a step. */
static gboolean counts(const TruthRow *row) {
  char tier = truth_score_tier(row->set);
  return has_step(row) && (tier == 'A' || tier == 'B');
}

/* Each source once, at its first row. */
static double mean_over_sources(const TruthResult *result) {
  g_autoptr(GPtrArray) sources = g_ptr_array_new();
  double sum = 0;
  for (guint i = 0; i < result->rows->len; i++) {
    const TruthRow *first = truth_row(result, i);
    if (!counts(first) || g_ptr_array_find_with_equal_func(sources, first->source, g_str_equal, NULL))
      continue;
    Counting counting = begin(first->source, NULL);
    for (guint k = i; k < result->rows->len; k++)
      if (counts(truth_row(result, k)) && strcmp(truth_row(result, k)->source, first->source) == 0)
        count(&counting, truth_row(result, k));
    TruthCover cover = end(&counting);
    sum += (double)cover.held_out / cover.n;
    g_ptr_array_add(sources, (gpointer)first->source);
  }
  return sources->len > 0 ? sum / sources->len : 0;
}

TruthCover truth_interval_sum(const TruthResult *result) {
  Counting counting = begin(NULL, NULL);
  for (guint i = 0; i < result->rows->len; i++)
    if (counts(truth_row(result, i)))
      count(&counting, truth_row(result, i));
  TruthCover cover = end(&counting);
  cover.by_source = mean_over_sources(result);
  return cover;
}
