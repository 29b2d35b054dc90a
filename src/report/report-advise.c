/* SPDX-License-Identifier: MIT */
/* Choosing, a table, and sentences from the parts of steps. */
#include "report-advise.h"

#include <math.h>
#include <string.h>

#include "base-json.h"
#include "base-table.h"
#include "report-endurance.h"
#include "report-quotes.h"
#include "report-text.h"
#include "report-trial.h"
#include "report-verdict.h"
#include "report-words.h"
#include "store-metric.h"

static const RunReport *report_of(const GPtrArray *rows, guint i) {
  return ((const StudyAdvised *)rows->pdata[i])->report;
}

static SimTime step_of(const RunReport *report) {
  return run_report_slowest(report)->step;
}

#define MOST_OFFERS 8

/* Whether the price of every row is known; else tokens are compared by the GPU time that they take. */
static gboolean all_priced(const StudyAdvice *advice) {
  for (guint i = 0; i < advice->n; i++)
    if (advice->best[i].report->price_per_million_tokens <= 0)
      return FALSE;
  return TRUE;
}

/* Without what the spread of failures needs. */
static double loss(const ReportAdvise *page, const RunReport *report) {
  StudyTraining training = study_training(report);
  StudyEndurance endurance;
  if (!report_endures(page, report))
    return 1;
  training.seconds = 0;
  study_endure(page->reliability, &training, STUDY_ENDURE_SEED, &endurance);
  return 1 / endurance.goodput;
}

/* What the training costs as it will be; 0: not known. */
static double cost_to_train(const ReportAdvise *page, const RunReport *report, StudyQuote *ret_quote) {
  StudyQuote quote;
  if (!study_quote_read(report, &quote, NULL) || report->days_to_train <= 0)
    return 0;
  if (ret_quote != NULL)
    *ret_quote = quote;
  return study_quote_cost(&quote, report, report->days_to_train * loss(page, report), 1).total;
}

static double cost_of(const RunReport *report, gboolean priced) {
  return priced ? report->price_per_million_tokens : 1 / report->tokens_per_second_per_gpu;
}

/* By what a training costs where that is known of both, by what tokens cost where the price of all is, else by GPU
 * time. */
static int compare_costs(const ReportAdvise *page, const RunReport *left, const RunReport *right) {
  double x = cost_to_train(page, left, NULL), y = cost_to_train(page, right, NULL);
  if (x <= 0 || y <= 0) {
    gboolean priced = all_priced(page->advice);
    x = cost_of(left, priced);
    y = cost_of(right, priced);
  }
  return (x > y) - (x < y);
}

static gint by_cost(gconstpointer a, gconstpointer b, gpointer user) {
  return compare_costs(user, (*(const StudyAdvised *const *)a)->report, (*(const StudyAdvised *const *)b)->report);
}

static gint by_speed(gconstpointer a, gconstpointer b, G_GNUC_UNUSED gpointer user) {
  double x = (*(const StudyAdvised *const *)a)->report->tokens_per_second,
         y = (*(const StudyAdvised *const *)b)->report->tokens_per_second;
  return (x < y) - (x > y);
}

/* Days from its delivery on. */
static double limit_of(const ReportAdvise *page, const StudyQuote *quote) {
  gboolean later = page->by > 0 && quote->delivery > page->today;
  return later ? (double)page->by - quote->delivery : page->days;
}

GPtrArray *report_advise_order(const ReportAdvise *page) {
  GPtrArray *rows = g_ptr_array_new();
  for (guint i = 0; i < page->advice->n; i++) {
    const StudyAdvised *row = &page->advice->best[i];
    StudyQuote quote = {0};
    double price = cost_to_train(page, row->report, &quote);
    gboolean in_time =
        page->days <= 0 || row->report->days_to_train * loss(page, row->report) <= limit_of(page, &quote);
    gboolean affordable = page->budget <= 0 || (price > 0 && price <= page->budget);
    if (in_time && affordable)
      g_ptr_array_add(rows, (gpointer)row);
  }
  g_ptr_array_sort_with_data(rows, page->days > 0 ? by_cost : by_speed, (gpointer)page);
  if (rows->len > page->top)
    g_ptr_array_set_size(rows, (gint)page->top);
  return rows;
}

static char *recipe_of(const char *change) {
  g_autofree char *text = report_trial_change(change, "cluster.");
  return *text != '\0' ? g_steal_pointer(&text) : g_strdup("as the workload says");
}

static void print_row(BaseTable *table, guint number, const StudyAdvised *row) {
  const RunReport *report = row->report;
  const RunClass *tight = run_report_tightest(report);
  g_autofree char *interval = report_interval(report->step_low, report->step_high);
  gint64 spare = report_centi_gib(tight->capacity) - report_centi_gib(tight->device_used);
  base_table_cell(table, "%u", number);
  g_autofree char *topology = g_path_get_basename(report->identity.topology);
  base_table_cell(table, "%u × %s", report->identity.gpus, report->identity.gpu);
  base_table_cell(table, "%s", topology);
  base_table_cell(table, "%.2f", (double)report_centi_ms(step_of(report)) / 100);
  base_table_cell(table, "%s", interval != NULL ? interval : "-");
  base_table_cell(table, "%.2f", (double)spare / 100);
  base_table_cell(table, "%.1f", 100 * report->model_flops_utilisation);
  base_table_cell(table, "%.0f", report->tokens_per_second);
  if (report->days_to_train > 0)
    base_table_cell(table, "%.1f", report->days_to_train);
  else
    base_table_cell(table, "-");
  report_print_price(table, report_price_for(report, report->days_to_train));
}

static void print_table(const GPtrArray *rows, GString *text) {
  static const char *const heads[] = {"step, ms", "interval, ms", "to spare, GiB", "MFU, %",
                                      "tokens/s", "days",         "price, USD"};
  g_autoptr(BaseTable) table = base_table_new();
  base_table_head(table, "", BASE_RIGHT);
  base_table_head(table, "on", BASE_LEFT);
  base_table_head(table, "of", BASE_LEFT);
  for (gsize i = 0; i < G_N_ELEMENTS(heads); i++)
    base_table_head(table, heads[i], BASE_RIGHT);
  for (guint i = 0; i < rows->len; i++)
    print_row(table, i + 1, rows->pdata[i]);
  base_table_print(table, 0, text);
}

typedef struct {
  const char *name;
  SimTime less; /* than the other's */
} Part;

static gint by_size(gconstpointer a, gconstpointer b) {
  SimTime x = ABS(((const Part *)a)->less), y = ABS(((const Part *)b)->less);
  return (x < y) - (x > y);
}

#define WORTH_SAYING 10 /* parts smaller than this part of the largest are left out */

/* "compute -24.10 ms, bubble +3.20 ms": of the same batch on as many GPUs. */
static void say_parts(const RunReport *better, const RunReport *other, GString *words) {
  const RunClass *a = run_report_slowest(better), *b = run_report_slowest(other);
  Part parts[] = {{"compute", b->compute - a->compute},
                  {"exposed communication", b->exposed - a->exposed},
                  {"pipeline bubble", b->bubble - a->bubble},
                  {"waiting for the host", b->host - a->host}};
  qsort(parts, G_N_ELEMENTS(parts), sizeof *parts, by_size);
  for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
    if (parts[i].less != 0 && ABS(parts[i].less) >= ABS(parts[0].less) / WORTH_SAYING)
      g_string_append_printf(words, "%s%s %+.2f ms", i > 0 ? ", " : "", parts[i].name,
                             -(double)report_centi_ms(ABS(parts[i].less)) / 100 * (parts[i].less < 0 ? -1 : 1));
}

/* Why a row stands before the next. Caller frees. */
static char *why(const RunReport *better, const RunReport *other, gboolean priced) {
  if (better->tokens_per_second == other->tokens_per_second && cost_of(better, priced) == cost_of(other, priced))
    return g_strdup("as fast, and first in the order of the search");
  GString *words = g_string_new(NULL);
  double faster = 100 * (better->tokens_per_second / other->tokens_per_second - 1);
  double dearer = 100 * (cost_of(better, priced) / cost_of(other, priced) - 1);
  if (better->identity.gpus == other->identity.gpus && better->identity.global_batch == other->identity.global_batch &&
      strcmp(better->identity.gpu, other->identity.gpu) == 0) {
    g_string_append_printf(words, "%.1f %% faster: ", faster);
    say_parts(better, other, words);
  } else {
    g_string_append_printf(words, "%.1f %% %s, and a token costs %.1f %% %s%s", fabs(faster),
                           faster >= 0 ? "faster" : "slower", fabs(dearer), dearer > 0 ? "more" : "less",
                           priced ? "" : " GPU time");
  }
  return g_string_free(words, FALSE);
}

static void print_recipes(const ReportAdvise *page, const GPtrArray *rows, GString *text) {
  for (guint i = 0; i < rows->len; i++) {
    const StudyAdvised *row = rows->pdata[i];
    g_autofree char *change = recipe_of(row->change), *first = g_strdup_printf("%u  ", i + 1);
    g_autoptr(GString) words = g_string_new(change);
    if (i + 1 < rows->len) {
      g_autofree char *reason = why(row->report, report_of(rows, i + 1), all_priced(page->advice));
      g_string_append_printf(words, ". Beats %u: %s.", i + 2, reason);
    }
    report_wrap(text, first, words->str);
  }
  g_auto(GStrv) sets = g_strsplit(((const StudyAdvised *)rows->pdata[0])->change, " ", -1);
  g_string_append_printf(text, "\nTo play the first: foretrain run %s", page->workload);
  for (const char *const *set = page->sets; set != NULL && *set != NULL; set++)
    g_string_append_printf(text, " --set %s", *set);
  for (guint i = 0; sets[i] != NULL && *sets[i] != '\0'; i++)
    g_string_append_printf(text, " --set %s", sets[i]);
  g_string_append_c(text, '\n');
}

static void print_own(const ReportAdvise *page, const RunReport *best, GString *text) {
  const RunReport *own = page->advice->own;
  g_autoptr(GString) words = g_string_new(NULL);
  g_string_append_printf(words, "The workload as it is: %s, %.2f ms a step, MFU %.1f %%",
                         report_verdict_word(own->verdict), (double)report_centi_ms(step_of(own)) / 100,
                         100 * own->model_flops_utilisation);
  if (best->identity.gpus == own->identity.gpus)
    g_string_append_printf(words, "; the first above is %.2f times as fast",
                           (double)step_of(own) / (double)step_of(best));
  g_string_append_c(words, '.');
  g_string_append_c(text, '\n');
  report_wrap(text, "", words->str);
  if (page->alone == NULL || page->alone->len == 0)
    return;
  g_string_append(text, "Of its changes, each alone, at the same global batch:\n");
  for (guint i = 0; i < page->alone->len; i++) {
    const StudyAdvised *row = page->alone->pdata[i];
    g_autofree char *change = recipe_of(row->change);
    g_string_append_printf(text, "  %-36s %10.2f ms  %+6.1f %%\n", change,
                           (double)report_centi_ms(step_of(row->report)) / 100,
                           100 * ((double)step_of(row->report) / (double)step_of(own) - 1));
  }
}

/* The best of each place, and whether another beats it in time, price and GPUs together. */
static void print_front(const ReportAdvise *page, GString *text) {
  g_autoptr(GPtrArray) best = g_ptr_array_new();
  for (guint i = 0; i < page->advice->n; i++)
    if (i == 0 || page->advice->best[i].place != page->advice->best[i - 1].place)
      g_ptr_array_add(best, &page->advice->best[i]);
  if (best->len < 2)
    return;
  g_autoptr(GPtrArray) front = g_ptr_array_new();
  gboolean priced = all_priced(page->advice);
  for (guint i = 0; i < best->len; i++) {
    gboolean beaten = FALSE;
    for (guint k = 0; k < best->len; k++) {
      const RunReport *a = report_of(best, i), *b = report_of(best, k);
      int dearer = compare_costs(page, b, a);
      gboolean no_worse =
          b->tokens_per_second >= a->tokens_per_second && dearer <= 0 && b->identity.gpus <= a->identity.gpus;
      beaten |= no_worse &&
                (b->tokens_per_second > a->tokens_per_second || dearer < 0 || b->identity.gpus < a->identity.gpus);
    }
    if (!beaten)
      g_ptr_array_add(front, best->pdata[i]);
  }
  g_string_append(text, priced ? "\nOf speed, price and GPUs together no other beats:\n"
                               : "\nOf speed, GPU time and GPUs together no other beats:\n");
  print_table(front, text);
}

static void print_counts(const ReportAdvise *page, GString *text) {
  const StudyAdvice *advice = page->advice;
  g_autofree char *words =
      g_strdup_printf("%" G_GUINT64_FORMAT " layouts: %" G_GUINT64_FORMAT " are refused, %" G_GUINT64_FORMAT
                      " have states larger than the device; the others were played, or are slower by a bound "
                      "on their compute.",
                      advice->candidates, advice->refused, advice->too_large);
  report_wrap(text, "", words);
  if (advice->stopped)
    g_string_append(text, "Stopped before all were played: what follows is the best so far.\n");
}

static gint by_total(gconstpointer a, gconstpointer b) {
  const StudyOffer *left = a, *right = b;
  return (left->cost.total > right->cost.total) - (left->cost.total < right->cost.total);
}

/* What the best layout of each place is offered for, the cheapest first. Caller unrefs. */
static GArray *offers_of(const ReportAdvise *page) {
  GArray *offers = g_array_new(FALSE, FALSE, sizeof(StudyOffer));
  for (guint i = 0; i < page->advice->n; i++) {
    const RunReport *report = page->advice->best[i].report;
    StudyOffer offer = {.report = report, .days = report->days_to_train * loss(page, report)};
    gboolean first = i == 0 || page->advice->best[i].place != page->advice->best[i - 1].place;
    if (!first || !study_quote_read(report, &offer.quote, NULL))
      continue;
    offer.cost = study_quote_cost(&offer.quote, report, offer.days, 1);
    g_array_append_val(offers, offer);
  }
  g_array_sort(offers, by_total);
  if (offers->len > MOST_OFFERS)
    g_array_set_size(offers, MOST_OFFERS);
  study_offers_weigh((StudyOffer *)(gpointer)offers->data, offers->len, page->days, STUDY_QUOTE_SEED);
  return offers;
}

/* What a checkpoint of the first row is in the step where it happens. */
static void print_saving(const StudySaving *saving, GString *text) {
  g_autoptr(GString) words = g_string_new(NULL);
  g_string_append_printf(words, "A checkpoint of 1 has %.1f GB: each node writes %.1f GB in %.1f s",
                         saving->bytes / 1e9, saving->node_bytes / 1e9, saving->write);
  if (saving->staged > 0)
    g_string_append_printf(words, ", staged in its host memory%s",
                           study_saving_is_short(saving) ? ", WHICH IS TOO SMALL FOR IT" : "");
  if (saving->beside > 0)
    g_string_append_printf(words, ". Over the NICs of the training: a step beside it takes %.2f ms, not %.2f",
                           (double)report_centi_ms(saving->beside) / 100, (double)report_centi_ms(saving->step) / 100);
  g_string_append_c(words, '.');
  report_wrap(text, "", words->str);
}

static void print_quotes(const ReportAdvise *page, GString *text) {
  g_autoptr(GArray) offers = offers_of(page);
  const StudyOffer *all = (const StudyOffer *)(gconstpointer)offers->data;
  if (report_quotes_wanted(all, offers->len))
    report_quotes(all, offers->len, text);
}

static const char *why_none(const StudyAdvice *advice) {
  return advice->candidates == 0 ? "No layout keeps the workload's global batch and what is set on so many GPUs. "
                                   "A larger training.gradient_accumulation makes that batch larger."
         : advice->n == 0        ? "None of them fits."
                                 : "None of those that fit is within the days and the budget.";
}

void report_advise(const ReportAdvise *page, GString *text) {
  g_autoptr(GPtrArray) rows = report_advise_order(page);
  print_counts(page, text);
  g_string_append_c(text, '\n');
  if (rows->len == 0) {
    report_wrap(text, "", why_none(page->advice));
    print_front(page, text);
    return;
  }
  print_table(rows, text);
  g_string_append_c(text, '\n');
  print_recipes(page, rows, text);
  report_endurance(page, rows, text);
  if (page->saving != NULL)
    print_saving(page->saving, text);
  print_quotes(page, text);
  print_own(page, report_of(rows, 0), text);
  print_front(page, text);
}

static void add_endurance(const ReportAdvise *page, BaseJson *json, const RunReport *report) {
  if (!report_endures(page, report))
    return;
  StudyEndurance found = report_endure(page, report);
  base_json_number(json, "goodput", found.goodput);
  base_json_number(json, "days", found.seconds / BASE_DAY);
  base_json_number(json, "days_low", found.low / BASE_DAY);
  base_json_number(json, "days_high", found.high / BASE_DAY);
  base_json_number(json, "failures", found.failures);
  base_json_number(json, "no_node_left", found.waiting);
  base_json_number(json, "checkpoint_interval_s", found.interval);
}

static void add_run(BaseJson *json, const RunReport *report) {
  static const char *const names[] = {"topology",
                                      "nodes",
                                      "gpus",
                                      "verdict",
                                      "step",
                                      "step_low",
                                      "step_high",
                                      "device_used",
                                      "capacity",
                                      "model_flops_utilisation",
                                      "tokens_per_second",
                                      "days_to_train",
                                      "price_to_train",
                                      "price_per_million_tokens",
                                      "gpu_power_watts",
                                      "energy_per_step_kwh",
                                      "energy_to_train_kwh",
                                      "energy_cost_to_train"};
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
    const StoreMetric *metric = store_metric_find(names[i]);
    RunValue value = store_metric_get(metric, report);
    if (value.kind == RUN_STRING) {
      base_json_text(json, metric->column, value.string);
      continue;
    }
    g_autofree char *number = store_value_text(value);
    base_json_digits(json, metric->column, number != NULL ? number : "null");
  }
}

void report_advise_json(const ReportAdvise *page, GString *text) {
  g_autoptr(GPtrArray) rows = report_advise_order(page);
  g_autoptr(BaseJson) json = base_json_new(text, BASE_JSON_SPREAD);
  base_json_map(json, NULL);
  base_json_integer(json, "json_version", REPORT_JSON_VERSION);
  base_json_integer(json, "candidates", (gint64)page->advice->candidates);
  base_json_integer(json, "refused", (gint64)page->advice->refused);
  base_json_integer(json, "too_large", (gint64)page->advice->too_large);
  base_json_map(json, "own");
  add_run(json, page->advice->own);
  base_json_end(json);
  base_json_list(json, "advised");
  for (guint i = 0; i < rows->len; i++) {
    g_autofree char *reason =
        i + 1 < rows->len ? why(report_of(rows, i), report_of(rows, i + 1), all_priced(page->advice)) : NULL;
    base_json_map(json, NULL);
    base_json_text(json, "change", ((const StudyAdvised *)rows->pdata[i])->change);
    base_json_text(json, "why", reason);
    add_run(json, report_of(rows, i));
    add_endurance(page, json, report_of(rows, i));
    base_json_end(json);
  }
  base_json_end(json);
  g_autoptr(GArray) offers = offers_of(page);
  if (report_quotes_wanted((const StudyOffer *)(gconstpointer)offers->data, offers->len))
    report_quotes_json((const StudyOffer *)(gconstpointer)offers->data, offers->len, json);
  if (page->saving != NULL) {
    base_json_map(json, "checkpoint");
    base_json_number(json, "bytes", page->saving->bytes);
    base_json_number(json, "node_bytes", page->saving->node_bytes);
    base_json_number(json, "write_s", page->saving->write);
    base_json_integer(json, "staged_bytes", (gint64)page->saving->staged);
    base_json_integer(json, "step_beside_ps", page->saving->beside);
    base_json_end(json);
  }
  base_json_list(json, "first");
  for (guint i = 0; page->alone != NULL && i < page->alone->len; i++) {
    const StudyAdvised *row = page->alone->pdata[i];
    base_json_map(json, NULL);
    base_json_text(json, "change", row->change);
    base_json_integer(json, "step_ps", step_of(row->report));
    base_json_text(json, "verdict", run_verdict_names[row->report->verdict]);
    base_json_end(json);
  }
  base_json_end(json);
  base_json_end(json);
}
