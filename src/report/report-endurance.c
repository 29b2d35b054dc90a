/* SPDX-License-Identifier: MIT */
/* A row for each training, and in words what fails how often. */
#include "report-endurance.h"

#include "report-words.h"
#include "study-quote.h"

#define KWH_PER_MWH 1000.0

static const RunReport *report_of(const GPtrArray *rows, guint i) {
  return ((const StudyAdvised *)rows->pdata[i])->report;
}

StudyEndurance report_endure(const ReportAdvise *page, const RunReport *report) {
  StudyTraining training = study_training(report);
  StudyEndurance endurance;
  study_endure(page->reliability, &training, STUDY_ENDURE_SEED, &endurance);
  return endurance;
}

gboolean report_endures(const ReportAdvise *page, const RunReport *report) {
  return page->reliability != NULL && report->days_to_train > 0;
}

double report_price_for(const RunReport *report, double days) {
  StudyQuote quote;
  return report->days_to_train > 0 && study_quote_read(report, &quote, NULL)
             ? study_quote_cost(&quote, report, days, 1).total
             : 0;
}

void report_print_price(BaseTable *table, double usd) {
  g_autofree char *price = base_format_count((guint64)(usd + 0.5));
  base_table_cell(table, "%s", usd > 0 ? price : "-");
}

static void print_endurance_row(const ReportAdvise *page, BaseTable *table, guint number, const RunReport *report,
                                const StudyEndurance *found) {
  base_table_cell(table, "%u", number);
  base_table_cell(table, "%.1f", found->failures);
  base_table_cell(table, "%.1f", found->interval / 60);
  base_table_cell(table, "%.1f", 100 * found->goodput);
  base_table_cell(table, "%.1f", found->seconds / BASE_DAY);
  base_table_cell(table, "%.1f to %.1f", found->low / BASE_DAY, found->high / BASE_DAY);
  if (page->reliability->has_spares)
    base_table_cell(table, "%.1f", 100 * found->waiting);
  report_print_price(table, report_price_for(report, report->days_to_train / found->goodput));
  if (report->energy_to_train > 0)
    base_table_cell(table, "%.1f", report->energy_to_train / found->goodput / KWH_PER_MWH);
  else
    base_table_cell(table, "-");
}

#define SPARES_COLUMN 6

/* Of a node with its GPUs, and which spares are there. Caller frees. */
static char *failures_text(const StudyReliability *reliability, const StudyEndurance *found, guint32 nodes) {
  double hours = found->mtbf * nodes / BASE_HOUR;
  return reliability->has_spares
             ? g_strdup_printf("a node fails every %.0f h and is away for %.1f days; spare nodes: %" G_GUINT64_FORMAT,
                               hours, reliability->repair / BASE_DAY, reliability->spares)
             : g_strdup_printf("a node fails every %.0f h", hours);
}

/* The same trainings with failures, restarts and checkpoints. */
void report_endurance(const ReportAdvise *page, const GPtrArray *rows, GString *text) {
  static const char *const heads[] = {"",        "failures",     "checkpoint every, min", "goodput, %",
                                      "days so", "four of five", "no node left, %",       "price so, USD",
                                      "MWh so"};
  const StudyReliability *reliability = page->reliability;
  if (!report_endures(page, report_of(rows, 0)))
    return;
  g_autoptr(BaseTable) table = base_table_new();
  for (gsize i = 0; i < G_N_ELEMENTS(heads); i++)
    if (i != SPARES_COLUMN || reliability->has_spares)
      base_table_head(table, heads[i], BASE_RIGHT);
  g_autofree StudyEndurance *found = g_new(StudyEndurance, rows->len);
  for (guint i = 0; i < rows->len; i++) {
    found[i] = report_endure(page, report_of(rows, i));
    print_endurance_row(page, table, i + 1, report_of(rows, i), &found[i]);
  }
  g_autofree char *failures = failures_text(reliability, &found[0], report_of(rows, 0)->identity.nodes);
  g_autofree char *words =
      g_strdup_printf("With failures (%s), restarts of %.0f min and checkpoints; four of five of "
                      "%d replays with seed %d lie within:",
                      failures, reliability->restart / 60, STUDY_ENDURE_REPLAYS, STUDY_ENDURE_SEED);
  g_string_append_c(text, '\n');
  report_wrap(text, "", words);
  base_table_print(table, 0, text);
}
