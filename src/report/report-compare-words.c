/* SPDX-License-Identifier: MIT */
/* "B is 1.31 times faster than A: gradients exposed 36.00 → 32.70 ms (-3.30 …); …" */
#include <string.h>

#include "base-names.h"
#include "report-compare-step.h"
#include "report-words.h"

#define MOST_NAMED 4    /* parts in a sentence */
#define SAME_PRICE 1e-9 /* relative: prices are told from those of steps */

static SimTime change(const ReportRow *row) {
  return row->times[1] - row->times[0];
}

static void say_part(GString *words, const ReportRow *row) {
  if (row->kind == REPORT_COMPUTE)
    g_string_append_printf(words, "compute of %s", row->purpose != NULL ? row->purpose : "all");
  else if (row->kind == REPORT_EXPOSED)
    g_string_append_printf(words, "%s exposed", row->purpose != NULL ? row->purpose : "communication");
  else
    g_string_append(words, "idle time");
}

static gint by_weight(gconstpointer a, gconstpointer b) {
  SimTime left = ABS(change(*(ReportRow *const *)a)), right = ABS(change(*(ReportRow *const *)b));
  return (left < right) - (left > right);
}

/* What a cause means within "… of it". */
static const char *const cause_words[RUN_CAUSES] = {
    [RUN_CAUSE_TAIL] = "where nothing is left to compute",
    [RUN_CAUSE_HOST] = "before the host had issued it",
    [RUN_CAUSE_SERIALISED] = "waiting for its turn",
    [RUN_CAUSE_STRAGGLER] = "waiting for a slower rank",
    [RUN_CAUSE_BOUNDARY] = "at the end of the step, which hides nothing",
    [RUN_CAUSE_BUCKET_FILL] = "waiting for its bucket to fill",
    [RUN_CAUSE_LATENCY] = "in latency",
    [RUN_CAUSE_BANDWIDTH] = "while its bytes were on the way",
    [RUN_CAUSE_BUBBLE] = "in the pipeline's bubble",
    [RUN_CAUSE_HOST_IDLE] = "while the host launched",
};

/* The cause that changed most among those of one purpose. */
static void say_cause(GString *words, const ReportRow *row, const GPtrArray *leaves) {
  const ReportRow *most = NULL;
  guint causes = 0;
  for (guint i = 0; i < leaves->len; i++) {
    const ReportRow *leaf = g_ptr_array_index(leaves, i);
    if (leaf->kind != row->kind || leaf->purpose != row->purpose || leaf->cause == NULL || change(leaf) == 0)
      continue;
    causes++;
    if (most == NULL || ABS(change(leaf)) > ABS(change(most)))
      most = leaf;
  }
  int cause = most != NULL ? base_names_find(run_cause_names, most->cause) : -1;
  if (cause < 0)
    return;
  if (causes > 1 && ABS(change(row) - change(most)) > ABS(change(row)) / 100)
    g_string_append_printf(words, ", %+.2f of it", base_in_ms(change(most)));
  g_string_append_printf(words, " %s", cause_words[cause]);
}

/* "parameter gathers exposed 4.80 → 18.20 ms (+13.40, +14.60 of it waiting for its turn)": the largest change first,
 * those below a hundredth of the largest left out. */
static void say_parts(GString *words, const ReportStep *from, const ReportStep *to) {
  ReportStep *const pair[] = {(ReportStep *)from, (ReportStep *)to};
  g_autoptr(GPtrArray) rows = g_ptr_array_new();
  g_autoptr(GPtrArray) leaves = report_rows(pair, 2, REPORT_KINDS, REPORT_BY_BOTH);
  g_autoptr(GPtrArray) all = report_rows(pair, 2, REPORT_KINDS, REPORT_BY_PURPOSE);
  for (guint i = 0; i < all->len; i++)
    g_ptr_array_add(rows, g_ptr_array_index(all, i));
  g_ptr_array_sort(rows, by_weight);
  guint named = 0;
  for (guint i = 0; i < rows->len && named < MOST_NAMED; i++) {
    const ReportRow *row = g_ptr_array_index(rows, i), *largest = g_ptr_array_index(rows, 0);
    if (change(row) == 0 || ABS(change(row)) < ABS(change(largest)) / 100)
      break;
    g_string_append(words, named == 0 ? ": " : "; ");
    say_part(words, row);
    g_string_append_printf(words, " %.2f → %.2f ms (%+.2f", base_in_ms(row->times[0]), base_in_ms(row->times[1]),
                           base_in_ms(change(row)));
    say_cause(words, row, leaves);
    g_string_append_c(words, ')');
    named++;
  }
}

static void say_time(GString *words, const ReportStep *from, const ReportStep *to) {
  SimTime difference = to->step - from->step;
  gboolean faster = difference < 0;
  if (difference == 0) {
    g_string_append_printf(words, "%s takes as long as %s.", to->label, from->label);
    return;
  }
  g_string_append_printf(words, "%s is %.2f times %s than %s (%+.2f ms a step)", to->label,
                         faster ? (double)from->step / (double)to->step : (double)to->step / (double)from->step,
                         faster ? "faster" : "slower", from->label, base_in_ms(difference));
  say_parts(words, from, to);
  g_string_append_c(words, '.');
}

static double number_of(const ReportStep *step, const char *name) {
  const char *value = report_step_metric(step, name);
  return value != NULL ? g_ascii_strtod(value, NULL) : 0;
}

/* Steps of other batches, or of other numbers of GPUs, are not for the same work: tokens are. */
static void say_rate(GString *words, const ReportStep *from, const ReportStep *to) {
  double was = number_of(from, "tokens_per_second_per_gpu"), is = number_of(to, "tokens_per_second_per_gpu");
  gboolean same =
      number_of(from, "tokens") == number_of(to, "tokens") && number_of(from, "gpus") == number_of(to, "gpus");
  if (was > 0 && is > 0 && !same)
    g_string_append_printf(words, " A GPU makes %.2f times as many tokens a second.", is / was);
}

static guint64 bytes_of(const ReportStep *step, const char *name) {
  const char *value = report_step_metric(step, name);
  return value != NULL ? g_ascii_strtoull(value, NULL, 10) : 0;
}

static double gib_change(guint64 from, guint64 to) {
  return to < from ? -base_in_gib(from - to) : base_in_gib(to - from);
}

static void say_memory(GString *words, const ReportStep *from, const ReportStep *to) {
  guint64 before = bytes_of(from, "device_used"), now = bytes_of(to, "device_used");
  guint largest = 0;
  for (guint t = 1; t < RUN_TENANTS; t++)
    if (ABS(gib_change(from->tenants[t], to->tenants[t])) >
        ABS(gib_change(from->tenants[largest], to->tenants[largest])))
      largest = t;
  if (before == now)
    g_string_append(words, " It needs as much memory.");
  else if (((from->report->missing | to->report->missing) & RUN_MISSING_DETAILS) != 0)
    g_string_append_printf(words, " It needs %.2f GiB %s memory per GPU.", ABS(gib_change(before, now)),
                           now < before ? "less" : "more");
  else
    g_string_append_printf(words, " It needs %.2f GiB %s memory per GPU (largest change: %s, %+.2f GiB).",
                           ABS(gib_change(before, now)), now < before ? "less" : "more", run_tenant_names[largest],
                           gib_change(from->tenants[largest], to->tenants[largest]));
}

static gboolean runs_out(const ReportStep *step) {
  return g_strcmp0(report_step_metric(step, "verdict"), run_verdict_names[RUN_OOM]) == 0;
}

static gboolean is_at_edge(const ReportStep *step) {
  return g_strcmp0(report_step_metric(step, "verdict"), run_verdict_names[RUN_EDGE]) == 0;
}

static void say_edges(GString *words, const ReportStep *from, const ReportStep *to) {
  if (is_at_edge(from) && is_at_edge(to))
    g_string_append(words, " Both are at the edge of memory: whether they fit cannot be told.");
  else if (is_at_edge(from) || is_at_edge(to))
    g_string_append_printf(words, " %s is at the edge of memory: whether it fits cannot be told.",
                           is_at_edge(to) ? to->label : from->label);
}

static void say_verdicts(GString *words, const ReportStep *from, const ReportStep *to) {
  say_edges(words, from, to);
  if (runs_out(from) && runs_out(to))
    g_string_append(words, " Neither fits: times are as if memory had no end.");
  else if (runs_out(from) || runs_out(to))
    g_string_append_printf(words, " %s does not fit: its time is as if memory had no end.",
                           runs_out(to) ? to->label : from->label);
}

static void say_price(GString *words, const ReportStep *from, const ReportStep *to) {
  const char *before = report_step_metric(from, "price_per_million_tokens");
  const char *now = report_step_metric(to, "price_per_million_tokens");
  double was = before != NULL ? g_ascii_strtod(before, NULL) : 0, is = now != NULL ? g_ascii_strtod(now, NULL) : 0;
  if (was <= 0 || is <= 0 || was == is)
    return;
  g_string_append_printf(words, " A token costs %.2f times as much (%.4f against %.4f USD per million).", is / was, is,
                         was);
}

/* USD for a GPU and hour, from what the step costs; 0: no price. */
static double gpu_hour_of(const ReportStep *step) {
  double hours = sim_time_to_seconds(step->step) / BASE_HOUR;
  return step->step > 0 ? number_of(step, "price_per_step") / (number_of(step, "gpus") * hours) : 0;
}

/* At which price of a GPU-hour tokens cost the same on both: as much more as it makes more tokens. */
static void say_break_even(GString *words, const ReportStep *from, const ReportStep *to) {
  double was = number_of(from, "tokens_per_second_per_gpu"), is = number_of(to, "tokens_per_second_per_gpu");
  double price = gpu_hour_of(from), other = gpu_hour_of(to);
  gboolean same = g_strcmp0(report_step_metric(from, "topology"), report_step_metric(to, "topology")) == 0;
  if (was <= 0 || is <= 0 || (same && ABS(price - other) <= SAME_PRICE * price))
    return;
  g_string_append_printf(words, " Tokens cost the same where a GPU-hour of %s costs %.2f times one of %s", to->label,
                         is / was, from->label);
  if (price > 0)
    g_string_append_printf(words, ": %.2f USD against %.2f", price * is / was, price);
  if (price > 0 && other > 0)
    g_string_append_printf(words, " (it costs %.2f)", other);
  g_string_append_c(words, '.');
}

char *report_difference_words(const ReportStep *from, const ReportStep *to) {
  GString *words = g_string_new(NULL);
  say_time(words, from, to);
  say_rate(words, from, to);
  say_memory(words, from, to);
  say_verdicts(words, from, to);
  say_price(words, from, to);
  say_break_even(words, from, to);
  return g_string_free(words, FALSE);
}
