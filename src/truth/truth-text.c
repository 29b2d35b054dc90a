/* SPDX-License-Identifier: MIT */
/* Tables by measure, verdicts, reasons, defaults. */
#include "truth-text.h"

#include <string.h>

#include "base-table.h"
#include "truth-interval.h"
#include "truth-rows.h"

#define PERCENT 100.0

static void group_cells(BaseTable *table, const TruthGroup *group) {
  base_table_cell(table, "%s", group->source);
  base_table_cell(table, "%s", group->set);
  base_table_cell(table, "%s", group->collectives ? truth_band_names[group->band] : "");
}

static void error_cells(BaseTable *table, const TruthError *sum) {
  const double figures[] = {sum->mean, sum->median, sum->p90, sum->worst};
  base_table_cell(table, "%u", sum->n);
  for (gsize i = 0; i < G_N_ELEMENTS(figures); i++)
    base_table_cell(table, "%.1f %%", PERCENT * figures[i]);
  base_table_cell(table, "%+.1f %%", PERCENT * sum->bias);
  base_table_end_row(table);
}

static void print_measure(const TruthResult *result, const GArray *groups, StoreMeasureKind kind, GString *text) {
  static const char *const heads[] = {"rows", "mean", "median", "90 %", "worst", "bias"};
  g_autoptr(BaseTable) table = base_table_new();
  base_table_head(table, "source", BASE_LEFT);
  base_table_head(table, "set", BASE_LEFT);
  base_table_head(table, "size", BASE_LEFT);
  for (gsize i = 0; i < G_N_ELEMENTS(heads); i++)
    base_table_head(table, heads[i], BASE_RIGHT);
  guint shown = 0;
  for (guint g = 0; g < groups->len; g++) {
    const TruthGroup *group = &g_array_index(groups, TruthGroup, g);
    g_autoptr(GArray) errors = truth_score_errors(result, group, kind);
    if (errors->len == 0)
      continue;
    TruthError sum = truth_score_sum(errors);
    group_cells(table, group);
    error_cells(table, &sum);
    shown++;
  }
  if (shown == 0)
    return;
  g_string_append_printf(text, "\n%s: how far predictions are from what was measured\n", store_measures[kind].title);
  base_table_print(table, 2, text);
}

static void print_headlines(const TruthResult *result, GString *text) {
  g_autoptr(GArray) headlines = truth_score_headlines(result, STORE_MEASURE_STEP_TIME);
  for (guint i = 0; i < headlines->len; i++) {
    const TruthHeadline *line = &g_array_index(headlines, TruthHeadline, i);
    g_string_append_printf(text,
                           "\n%s, tiers A and B: median over %u sources of their median error of step time %.1f %%; 90 "
                           "%% of %u rows within %.1f %%; largest bias of a source %+.1f %%\n",
                           line->family, line->sources, PERCENT * line->median_of_medians, line->all.n,
                           PERCENT * line->all.p90, PERCENT * line->worst_bias);
  }
}

static void cover_cells(BaseTable *table, const TruthCover *cover) {
  base_table_cell(table, "%u", cover->n);
  base_table_cell(table, "%.1f %%", PERCENT * cover->inside / cover->n);
  base_table_cell(table, "%.2f", cover->width);
  base_table_cell(table, "%.1f %%", PERCENT * cover->held_out / cover->n);
  base_table_cell(table, "%.2f", cover->held_width);
  base_table_cell(table, "%u", cover->beyond);
  base_table_end_row(table);
}

static void print_intervals(const TruthResult *result, GString *text) {
  static const char *const heads[] = {"rows", "inside", "high/low", "held out", "high/low", "beyond"};
  g_autoptr(GArray) covers = truth_interval_covers(result);
  g_autoptr(BaseTable) table = base_table_new();
  TruthCover sum = truth_interval_sum(result);
  if (covers->len == 0)
    return;
  base_table_head(table, "source", BASE_LEFT);
  base_table_head(table, "set", BASE_LEFT);
  for (gsize i = 0; i < G_N_ELEMENTS(heads); i++)
    base_table_head(table, heads[i], BASE_RIGHT);
  for (guint i = 0; i < covers->len; i++) {
    const TruthCover *cover = &g_array_index(covers, TruthCover, i);
    base_table_cell(table, "%s", cover->source);
    base_table_cell(table, "%s", cover->set);
    cover_cells(table, cover);
  }
  if (sum.n > 0) {
    base_table_rule(table);
    base_table_cell(table, "tiers A and B");
    base_table_cell(table, "%s", "");
    cover_cells(table, &sum);
  }
  g_string_append_printf(text, "\nIntervals of step time: how many rows lie in theirs, nominally %u %%\n",
                         result->coverage);
  base_table_print(table, 2, text);
  if (sum.resting == 0)
    return;
  g_string_append_printf(text,
                         "  %u of these rows are what the intervals are made of: \"inside\" is no independent test of "
                         "them, \"held out\" is:\n",
                         sum.resting);
  g_string_append_printf(
      text, "  the interval that all other sources give. Each source counting the same, it holds %.1f %%\n",
      PERCENT * sum.by_source);
}

static void share_cell(BaseTable *table, guint part, guint whole) {
  if (whole > 0)
    base_table_cell(table, "%.1f %%", PERCENT * part / whole);
  else
    base_table_cell(table, "-");
}

static void print_verdicts(const GArray *groups, GString *text) {
  static const char *const heads[] = {"fits / fits", "fits / edge", "fits / oom", "oom / fits",
                                      "oom / edge",  "oom / oom",   "edge",       "right",
                                      "hard",        "edge",        "right"};
  static const StoreVerdict order[] = {STORE_VERDICT_FITS, STORE_VERDICT_EDGE, STORE_VERDICT_OOM};
  g_autoptr(BaseTable) table = base_table_new();
  base_table_head(table, "source", BASE_LEFT);
  base_table_head(table, "set", BASE_LEFT);
  for (gsize i = 0; i < G_N_ELEMENTS(heads); i++)
    base_table_head(table, heads[i], BASE_RIGHT);
  guint shown = 0;
  for (guint g = 0; g < groups->len; g++) {
    const TruthGroup *group = &g_array_index(groups, TruthGroup, g);
    guint right =
        group->verdicts[STORE_VERDICT_FITS][STORE_VERDICT_FITS] + group->verdicts[STORE_VERDICT_OOM][STORE_VERDICT_OOM];
    guint edge = group->verdicts[STORE_VERDICT_FITS][STORE_VERDICT_EDGE] +
                 group->verdicts[STORE_VERDICT_OOM][STORE_VERDICT_EDGE];
    guint told = right + group->verdicts[STORE_VERDICT_FITS][STORE_VERDICT_OOM] +
                 group->verdicts[STORE_VERDICT_OOM][STORE_VERDICT_FITS];
    if (told + edge == 0)
      continue;
    base_table_cell(table, "%s", group->source);
    base_table_cell(table, "%s", group->set);
    for (int measured = STORE_VERDICT_FITS; measured >= STORE_VERDICT_OOM; measured--)
      for (gsize i = 0; i < G_N_ELEMENTS(order); i++)
        base_table_cell(table, "%u", group->verdicts[measured][order[i]]);
    share_cell(table, edge, told + edge);
    share_cell(table, right, told);
    base_table_cell(table, "%u", group->hard);
    share_cell(table, group->hard_edge, group->hard);
    share_cell(table, group->hard_right, group->hard - group->hard_edge);
    base_table_end_row(table);
    shown++;
  }
  if (shown == 0)
    return;
  g_string_append(text, "\nDoes it fit? Measured / predicted; right: of those that are not called edge; hard where "
                        "states and activations "
                        "are 0.6 to 1.5 of the capacity\n");
  base_table_print(table, 2, text);
}

static void print_coverage(const GArray *groups, GString *text) {
  g_autoptr(BaseTable) table = base_table_new();
  base_table_head(table, "source", BASE_LEFT);
  base_table_head(table, "set", BASE_LEFT);
  base_table_head(table, "size", BASE_LEFT);
  base_table_head(table, "rows", BASE_RIGHT);
  base_table_head(table, "ran", BASE_RIGHT);
  base_table_head(table, "not", BASE_RIGHT);
  for (guint g = 0; g < groups->len; g++) {
    const TruthGroup *group = &g_array_index(groups, TruthGroup, g);
    group_cells(table, group);
    base_table_cell(table, "%u", group->rows);
    base_table_cell(table, "%u", group->ran);
    base_table_cell(table, "%u", group->rows - group->ran);
  }
  base_table_print(table, 2, text);
}

static void print_reasons(const TruthResult *result, GString *text) {
  g_autoptr(GArray) reasons = truth_score_reasons(result);
  if (reasons->len == 0)
    return;
  g_string_append(text, "\nWhy rows could not be expressed (a row may have several reasons)\n");
  for (guint i = 0; i < reasons->len; i++) {
    const TruthReason *reason = &g_array_index(reasons, TruthReason, i);
    g_string_append_printf(text, "  %5u  %s\n", reason->rows, reason->text);
  }
}

static void print_defaults(const TruthResult *result, GString *text) {
  if (result->defaults->len == 0)
    return;
  g_string_append(text, "\nWhat rows that ran leave unsaid, and what they got\n");
  for (guint i = 0; i < result->defaults->len; i++) {
    const TruthDefault *one = &g_array_index(result->defaults, TruthDefault, i);
    g_string_append_printf(text, "  %5u  %s: %s\n", one->rows, one->name,
                           *one->value != '\0' ? one->value : "as topology, framework or NCCL have it");
  }
}

void truth_text(const TruthResult *result, const TruthShow *show, GString *text) {
  guint ran = 0;
  for (guint i = 0; i < result->rows->len; i++)
    ran += truth_row(result, i)->ran != FALSE;
  g_autoptr(GArray) groups = truth_score_groups(result);
  g_string_append_printf(text, "%u rows of %u table%s, %u ran, %u could not be expressed%s\n\n", result->rows->len,
                         result->tables->len, result->tables->len == 1 ? "" : "s", ran, result->rows->len - ran,
                         result->stopped ? "; stopped before the end" : "");
  print_coverage(groups, text);
  for (StoreMeasureKind kind = 0; kind < STORE_MEASURES; kind++)
    print_measure(result, groups, kind, text);
  print_headlines(result, text);
  print_intervals(result, text);
  print_verdicts(groups, text);
  print_reasons(result, text);
  print_defaults(result, text);
  if (show->rows)
    truth_rows_all(result, text);
  if (show->worst > 0)
    truth_rows_worst(result, show->worst, text);
}
