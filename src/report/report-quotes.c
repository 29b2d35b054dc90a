/* SPDX-License-Identifier: MIT */
/* A table and a sentence for each offer that is not the cheapest. */
#include "report-quotes.h"

#include <math.h>

#include "base-table.h"
#include "report-words.h"

gboolean report_quotes_wanted(const StudyOffer *offers, guint n) {
  gboolean given = FALSE;
  for (guint i = 0; i < n; i++) {
    given |= offers[i].quote.given;
    if (offers[i].report->days_to_train <= 0)
      return FALSE;
  }
  return given && n > 1;
}

/* The day on which the training is over, where it is known when it can begin. Caller frees. */
static char *day_done(const StudyOffer *offer) {
  char text[sizeof "2027-03-01"];
  if (offer->quote.delivery == 0)
    return NULL;
  GDate date;
  g_date_clear(&date, 1);
  g_date_set_julian(&date, offer->quote.delivery + (guint32)ceil(offer->days));
  g_date_strftime(text, sizeof text, "%Y-%m-%d", &date);
  return g_strdup(text);
}

static void print_money(BaseTable *table, double usd) {
  g_autofree char *text = base_format_count((guint64)(usd + 0.5));
  base_table_cell(table, "%s", usd > 0 ? text : "-");
}

static void print_row(BaseTable *table, const StudyOffer *offer, char label) {
  const RunReport *report = offer->report;
  g_autofree char *topology = g_path_get_basename(report->identity.topology), *done = day_done(offer);
  base_table_cell(table, "%c", label);
  base_table_cell(table, "%u × %s", report->identity.gpus, topology);
  base_table_cell(table, "%.2f", offer->quote.gpu_hour);
  print_money(table, offer->cost.up_front);
  print_money(table, offer->cost.electricity);
  base_table_cell(table, "%.1f", offer->days);
  base_table_cell(table, "%.1f", offer->cost.days);
  print_money(table, offer->cost.total);
  print_money(table, offer->cost.per_month);
  base_table_cell(table, "%s", done != NULL ? done : "-");
  base_table_cell(table, "%.0f", 100 * offer->wins);
}

static void say_break_even(const StudyOffer *offer, char label, GString *text) {
  g_autoptr(GString) words = g_string_new(NULL);
  g_string_append_printf(words, "%c costs what the cheapest does ", label);
  if (offer->breaks_even_at > 0)
    g_string_append_printf(words, "at %.2f USD for a GPU-hour (it costs %.2f)", offer->breaks_even_at,
                           offer->quote.gpu_hour);
  else
    g_string_append(words, "at no price of a GPU-hour");
  if (offer->breaks_even_for > 0)
    g_string_append_printf(words, ", or where it is used for %.1f such trainings, %.0f days", offer->breaks_even_for,
                           offer->breaks_even_for * offer->days);
  g_string_append_c(words, '.');
  report_wrap(text, "", words->str);
}

void report_quotes(const StudyOffer *offers, guint n, GString *text) {
  static const char *const heads[] = {"USD/GPU-hour", "up front, USD", "electricity, USD",
                                      "days",         "paid, days",    "cost, USD",
                                      "USD a month",  "done",          "wins, %"};
  g_autoptr(BaseTable) table = base_table_new();
  base_table_head(table, "", BASE_LEFT);
  base_table_head(table, "", BASE_LEFT);
  for (gsize i = 0; i < G_N_ELEMENTS(heads); i++)
    base_table_head(table, heads[i], BASE_RIGHT);
  guint cheapest = 0;
  for (guint i = 0; i < n; i++) {
    print_row(table, &offers[i], (char)('A' + i));
    cheapest = offers[i].cost.total < offers[cheapest].cost.total ? i : cheapest;
  }
  g_string_append(text, "\nThe quotes, for one training:\n");
  base_table_print(table, 0, text);
  for (guint i = 0; i < n; i++)
    if (i != cheapest)
      say_break_even(&offers[i], (char)('A' + i), text);
  g_autofree char *words = g_strdup_printf(
      "\"wins\": share of %d cases with seed %d in which it is the cheapest (of those in time, where a limit is "
      "given), "
      "steps anywhere in and about their intervals, alike for one kind of GPU, prices moved within their spread.",
      STUDY_QUOTE_CASES, STUDY_QUOTE_SEED);
  report_wrap(text, "", words);
}

static void add_known(BaseJson *json, const char *name, double value) {
  if (value > 0)
    base_json_number(json, name, value);
  else
    base_json_digits(json, name, "null");
}

void report_quotes_json(const StudyOffer *offers, guint n, BaseJson *json) {
  base_json_list(json, "quotes");
  for (guint i = 0; i < n; i++) {
    const StudyOffer *offer = &offers[i];
    g_autofree char *done = day_done(offer);
    base_json_map(json, NULL);
    base_json_text(json, "topology", offer->report->identity.topology);
    base_json_integer(json, "nodes", offer->report->identity.nodes);
    base_json_number(json, "days", offer->days);
    base_json_number(json, "paid_days", offer->cost.days);
    base_json_number(json, "cost", offer->cost.total);
    base_json_number(json, "cost_per_month", offer->cost.per_month);
    base_json_number(json, "up_front", offer->cost.up_front);
    base_json_number(json, "electricity", offer->cost.electricity);
    base_json_text(json, "done", done);
    base_json_number(json, "wins", offer->wins);
    add_known(json, "breaks_even_gpu_hour", offer->breaks_even_at);
    add_known(json, "breaks_even_trainings", offer->breaks_even_for);
    base_json_end(json);
  }
  base_json_end(json);
}
