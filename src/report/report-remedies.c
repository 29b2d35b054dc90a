/* SPDX-License-Identifier: MIT */
/* Changes in order of what they cost. */
#include "report-remedies.h"

#include <string.h>

#include "base-table.h"
#include "report-trial.h"
#include "report-verdict.h"
#include "report-words.h"
#include "study-remedy.h"

static SimTime step_of(const RunReport *report) {
  return run_report_slowest(report)->step;
}

/* Fitting ones first, the fastest first of those, the nearest first of the others; then as they were tried. */
static gboolean is_better(const RunReport *a, const RunReport *b) {
  if (a->verdict != b->verdict)
    return a->verdict < b->verdict;
  if (a->verdict != RUN_OOM)
    return a->tokens_per_second_per_gpu > b->tokens_per_second_per_gpu;
  return run_report_tightest(a)->short_by < run_report_tightest(b)->short_by;
}

static GPtrArray *in_order(const GPtrArray *remedies) {
  GPtrArray *sorted = g_ptr_array_new();
  for (guint i = 0; i < remedies->len; i++) {
    StudyRemedy *remedy = g_ptr_array_index(remedies, i);
    guint at = sorted->len;
    while (at > 0 && is_better(remedy->report, ((StudyRemedy *)g_ptr_array_index(sorted, at - 1))->report))
      at--;
    g_ptr_array_insert(sorted, (gint)at, remedy);
  }
  return sorted;
}

static void print_row(BaseTable *table, const RunReport *base, const StudyRemedy *remedy) {
  const RunReport *report = remedy->report;
  const RunClass *tight = run_report_tightest(report);
  gint64 spare = report_centi_gib(tight->capacity) - report_centi_gib(tight->device_used);
  double price = 100 * report_trial_cost(base, report);
  g_autofree char *change = report_trial_change(remedy->change, NULL);
  g_autofree char *interval = report_interval(report->step_low, report->step_high);
  base_table_cell(table, "%s", change);
  base_table_cell(table, "%s", report_verdict_word(report->verdict));
  base_table_cell(table, "%.2f GiB", (double)spare / 100);
  base_table_cell(table, "%.2f ms", (double)report_centi_ms(step_of(report)) / 100);
  base_table_cell(table, "%s", interval != NULL ? interval : "-");
  base_table_cell(table, "%+.1f %%", price);
}

/* What a change of layout means, where one was tried. */
static void print_axes(const GPtrArray *remedies, GString *text) {
  static const struct {
    const char *key, *means;
  } axes[] = {
      {"parallel.tensor=", "tensor: so many GPUs split each matmul, and exchange activations in every layer."},
      {"parallel.sequence_parallel=", "sequence_parallel: what lies between matmuls is split over tensor ranks too."},
      {"parallel.pipeline=", "pipeline: so many stages hold a run of layers each, and wait while it fills and drains."},
      {"parallel.context=", "context: so many GPUs split each sequence, and exchange keys and values."},
  };
  gboolean any = FALSE;
  for (gsize i = 0; i < G_N_ELEMENTS(axes); i++) {
    gboolean tried = FALSE;
    for (guint r = 0; r < remedies->len; r++)
      tried |= strstr(((StudyRemedy *)g_ptr_array_index(remedies, r))->change, axes[i].key) != NULL;
    if (tried)
      report_wrap(text, "  ", axes[i].means);
    any |= tried;
  }
  if (any)
    report_wrap(text, "  ", "Data ranks are so many times fewer, and each plays so many times the micro-batches.");
}

void report_remedies(const RunReport *report, const GPtrArray *remedies, GString *text) {
  g_autoptr(GPtrArray) sorted = in_order(remedies);
  g_autoptr(BaseTable) table = base_table_new();
  static const char *const titles[] = {
      [RUN_FITS] = "Changes tried, those that make it fit first, the least GPU time per token before others:",
      [RUN_EDGE] = "No change of those tried makes it fit for sure; nearest first:",
      [RUN_OOM] = "No change of those tried makes it fit; nearest first:",
  };
  RunVerdict best = sorted->len > 0 ? ((StudyRemedy *)g_ptr_array_index(sorted, 0))->report->verdict : RUN_OOM;
  g_string_append(text, "\n");
  report_wrap(text, "", titles[best]);
  base_table_head(table, "change", BASE_LEFT);
  base_table_head(table, "", BASE_LEFT);
  base_table_head(table, "to spare", BASE_RIGHT);
  base_table_head(table, "step", BASE_RIGHT);
  base_table_head(table, "interval, ms", BASE_RIGHT);
  base_table_head(table, "GPU time per token", BASE_RIGHT);
  for (guint i = 0; i < sorted->len; i++)
    print_row(table, report, g_ptr_array_index(sorted, i));
  base_table_print(table, 2, text);
  print_axes(sorted, text);
}

void report_remedies_json(const GPtrArray *remedies, BaseJson *json) {
  g_autoptr(GPtrArray) sorted = in_order(remedies);
  base_json_list(json, "remedies");
  for (guint i = 0; i < sorted->len; i++) {
    base_json_map(json, NULL);
    report_trial_json(g_ptr_array_index(sorted, i), json);
    base_json_end(json);
  }
  base_json_end(json);
}
