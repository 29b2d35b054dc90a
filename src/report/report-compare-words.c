/* SPDX-License-Identifier: MIT */
/* "B is 1.31 times faster than A; 82.4 % of the difference is …" */
#include <string.h>

#include "report-compare-step.h"
#include "report-words.h"

#define MOST_NAMED 4 /* parts in a sentence */

static SimTime change(const ReportRow *row) {
  return row->times[1] - row->times[0];
}

/* "exposed gather parameters (bandwidth)", "compute of backward". */
static void say_part(GString *words, const ReportRow *row) {
  if (row->kind == REPORT_COMPUTE)
    g_string_append_printf(words, "compute%s%s", row->what != NULL ? " of " : "", row->what != NULL ? row->what : "");
  else if (row->kind == REPORT_EXPOSED)
    g_string_append_printf(words, "exposed %s", row->what != NULL ? row->what : "communication");
  else
    g_string_append(words, "idle time");
  if (row->cause != NULL)
    g_string_append_printf(words, " (%s)", row->cause);
}

static gint by_weight(gconstpointer a, gconstpointer b) {
  SimTime left = ABS(change(*(ReportRow *const *)a)), right = ABS(change(*(ReportRow *const *)b));
  return (left < right) - (left > right);
}

/* Parts, the largest change first, those below a tenth of a per cent of the difference left out. */
static void say_parts(GString *words, GPtrArray *rows, SimTime difference) {
  guint named = 0;
  g_ptr_array_sort(rows, by_weight);
  for (guint i = 0; i < rows->len && named < MOST_NAMED; i++) {
    const ReportRow *row = g_ptr_array_index(rows, i);
    if (ABS(change(row)) < ABS(difference) / 1000 || change(row) == 0)
      break;
    double share = 100 * (double)change(row) / (double)difference;
    g_string_append_printf(words, named == 0 ? "; %.1f %% of the difference is " : ", %.1f %% ", share);
    say_part(words, row);
    g_string_append_printf(words, ", %+.2f ms", base_in_ms(change(row)));
    named++;
  }
}

static void say_time(GString *words, const ReportStep *from, const ReportStep *to, GPtrArray *rows) {
  SimTime difference = to->step - from->step;
  gboolean faster = difference < 0;
  if (difference == 0) {
    g_string_append_printf(words, "%s takes as long as %s.", to->label, from->label);
    return;
  }
  g_string_append_printf(words, "%s is %.2f times %s than %s (%+.2f ms a step)", to->label,
                         faster ? (double)from->step / (double)to->step : (double)to->step / (double)from->step,
                         faster ? "faster" : "slower", from->label, base_in_ms(difference));
  say_parts(words, rows, difference);
  g_string_append_c(words, '.');
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
    g_string_append_printf(words, " It needs as much memory.");
  else
    g_string_append_printf(words, " It needs %.2f GiB %s memory per GPU (most of it %s, %+.2f GiB).",
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

char *report_difference_words(const ReportStep *from, const ReportStep *to) {
  ReportStep *const pair[] = {(ReportStep *)from, (ReportStep *)to};
  g_autoptr(GPtrArray) rows = report_rows(pair, 2, REPORT_KINDS, REPORT_BY_BOTH);
  GString *words = g_string_new(NULL);
  say_time(words, from, to, rows);
  say_memory(words, from, to);
  say_verdicts(words, from, to);
  say_price(words, from, to);
  return g_string_free(words, FALSE);
}
