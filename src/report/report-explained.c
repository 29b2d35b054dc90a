/* SPDX-License-Identifier: MIT */
/* The page of foretrain explain, as text. */
#include "report-explained.h"

#include <string.h>

#include "base-span.h"
#include "base-table.h"
#include "report-awaited.h"
#include "report-faster.h"
#include "report-kinds.h"
#include "report-path.h"
#include "report-verdict.h"
#include "report-words.h"

#define MOST_HOPS    5
#define MOST_CHANGES 12
#define LEAST_SHOWN  0.005 /* per cent of the step: what rounds to 0.01 */

typedef struct {
  const RunReport *report;
  const RunClass *slow;
  GString *text;
} Page;

static double percent(SimTime part, SimTime whole) {
  return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static void row(BaseTable *table, const char *name, gint64 centi_ms, gint64 per_mille, const char *words) {
  base_table_cell(table, "%s", name);
  base_table_cell(table, "%.2f ms", (double)centi_ms / 100);
  base_table_cell(table, "%.1f %%", (double)per_mille / 10);
  base_table_cell(table, "%s", words);
}

static BaseTable *new_table(void) {
  BaseTable *table = base_table_new();
  base_table_head(table, "", BASE_LEFT);
  base_table_head(table, "", BASE_RIGHT);
  base_table_head(table, "", BASE_RIGHT);
  base_table_head(table, "", BASE_LEFT);
  return table;
}

static void kind_rows(BaseTable *table, const Page *page, gint64 time, gint64 share) {
  gint64 kinds[REPORT_COMPUTES], times[REPORT_COMPUTES], shares[REPORT_COMPUTES];
  report_kinds(page->slow, kinds);
  report_split(kinds, REPORT_COMPUTES, time, times);
  report_split(kinds, REPORT_COMPUTES, share, shares);
  for (guint i = 0; i < REPORT_COMPUTES; i++)
    if (kinds[i] > 0) {
      g_autofree char *name = g_strdup_printf("    %s", report_compute_names[i]);
      row(table, name, times[i], shares[i], "");
    }
}

/* Causes first … last - 1. */
static void cause_rows(BaseTable *table, const Page *page, guint first, guint last, gint64 time, gint64 share) {
  gint64 times[RUN_CAUSES], shares[RUN_CAUSES];
  g_autoptr(ReportAwaited) awaited = report_awaited_new(page->slow);
  report_split(page->slow->by_cause + first, last - first, time, times);
  report_split(page->slow->by_cause + first, last - first, share, shares);
  for (guint cause = first; cause < last; cause++)
    if (page->slow->by_cause[cause] > 0) {
      const char *most = report_awaited_most(awaited, cause);
      g_autofree char *name = g_strdup_printf("    %s", run_cause_names[cause]);
      g_autofree char *words =
          g_strdup_printf("%s%s%s", report_cause_meanings[cause], most != NULL ? ": " : "", most != NULL ? most : "");
      row(table, name, times[cause - first], shares[cause - first], words);
    }
}

static void print_budget(const Page *page) {
  const gint64 parts[] = {page->slow->compute, page->slow->exposed, page->slow->idle};
  gint64 times[3], shares[3];
  report_split(parts, 3, report_centi_ms(page->slow->step), times);
  report_split(parts, 3, 1000, shares);
  g_autoptr(BaseTable) table = new_table();
  row(table, "Step", report_centi_ms(page->slow->step), 1000,
      run_report_runs_out(page->report) ? "(if it fitted)" : "");
  row(table, "  compute", times[0], shares[0], "");
  kind_rows(table, page, times[0], shares[0]);
  row(table, "  exposed", times[1], shares[1], "communication while no compute runs");
  cause_rows(table, page, 0, RUN_CAUSE_BUBBLE, times[1], shares[1]);
  row(table, "  idle", times[2], shares[2], "neither");
  cause_rows(table, page, RUN_CAUSE_BUBBLE, RUN_CAUSES, times[2], shares[2]);
  g_string_append(page->text, "\nWhere the step goes\n");
  base_table_print(table, 0, page->text);
}

static char *hop_name(const ReportHop *hop) {
  if (hop->name != NULL)
    return g_strdup_printf("%s (%s)", hop->name, hop->phase);
  return g_strdup(hop->host ? "the host's launches" : "peers that had not come");
}

static void print_path_parts(const Page *page, const GArray *path) {
  static const char *const names[] = {"compute", "collectives", "the host", "peers"};
  gint64 parts[G_N_ELEMENTS(names)] = {0}, times[G_N_ELEMENTS(names)];
  for (guint i = 0; i < path->len; i++) {
    const ReportHop *hop = &g_array_index(path, ReportHop, i);
    parts[hop->name == NULL ? (hop->host ? 2 : 3) : hop->collective ? 1 : 0] += hop->time;
  }
  report_split(parts, G_N_ELEMENTS(names), report_centi_ms(page->slow->step), times);
  g_string_append(page->text, "  of it");
  for (guint i = 0; i < G_N_ELEMENTS(names); i++)
    g_string_append_printf(page->text, "%s %s %.2f ms", i > 0 ? "," : "", names[i], (double)times[i] / 100);
  g_string_append(page->text, "; most of it in\n");
}

/* The longest kinds of tasks, and the rest as one. */
static void print_path(const Page *page) {
  g_autoptr(GArray) path = report_path(page->slow);
  if (path->len == 0)
    return;
  guint shown = MIN(path->len, MOST_HOPS);
  gint64 parts[MOST_HOPS + 1] = {0}, times[MOST_HOPS + 1], shares[MOST_HOPS + 1];
  for (guint i = 0; i < path->len; i++)
    parts[MIN(i, shown)] += g_array_index(path, ReportHop, i).time;
  report_split(parts, shown + 1, report_centi_ms(page->slow->step), times);
  report_split(parts, shown + 1, 1000, shares);
  g_autoptr(BaseTable) table = new_table();
  for (guint i = 0; i < shown; i++) {
    const ReportHop *hop = &g_array_index(path, ReportHop, i);
    g_autofree char *name = hop_name(hop);
    g_autofree char *count =
        hop->tasks > 0 ? g_strdup_printf("%" G_GUINT64_FORMAT " task%s", hop->tasks, hop->tasks == 1 ? "" : "s")
                       : g_strdup("");
    row(table, name, times[i], shares[i], count);
  }
  if (path->len > shown) {
    g_autofree char *count = g_strdup_printf("%u more kinds of tasks", path->len - shown);
    row(table, "the rest of it", times[shown], shares[shown], count);
  }
  g_string_append(page->text, "\nThe critical path: shorten what is on it, nothing else shortens the step\n");
  print_path_parts(page, path);
  base_table_print(table, 2, page->text);
}

static void ideal(const Page *page, const char *what, SimTime step) {
  g_string_append_printf(page->text, "  %s: %.2f ms (%+.1f %%)\n", what, (double)report_centi_ms(step) / 100,
                         percent(step - page->slow->step, page->slow->step));
}

static void print_ideals(const Page *page, const StudyTornado *tornado) {
  g_string_append(page->text, "\nThe step, if\n");
  ideal(page, "overlap were perfect (the longer of communication, and of compute and idle time)",
        report_perfect_overlap(page->slow));
  if (tornado->endless != NULL)
    ideal(page, "links had no end (a thousand times the bandwidth, no latency between nodes)",
          run_report_slowest(tornado->endless)->step);
}

static const char *const figure_words[] = {[STUDY_MATMUL_RATE] = "matmul rate",
                                           [STUDY_MEMORY_BANDWIDTH] = "memory bandwidth of the GPU",
                                           [STUDY_MEMORY_SIZE] = "memory size of the GPU",
                                           [STUDY_INTRA_BANDWIDTH] = "bandwidth inside a node",
                                           [STUDY_NIC_BANDWIDTH] = "bandwidth of NICs",
                                           [STUDY_NETWORK_LATENCY] = "latency between nodes",
                                           [STUDY_OVERSUBSCRIPTION] = "oversubscription"};

static void bar_cell(BaseTable *table, const Page *page, const RunReport *played) {
  if (played == NULL) {
    base_table_cell(table, "-");
    base_table_cell(table, "-");
    return;
  }
  base_table_cell(table, "%+.2f %%", percent(run_report_slowest(played)->step - page->slow->step, page->slow->step));
  base_table_cell(table, "%s", report_verdict_word(played->verdict));
}

static SimTime reach(const Page *page, const StudyBar *bar) {
  SimTime low = bar->low != NULL ? ABS(run_report_slowest(bar->low)->step - page->slow->step) : 0,
          high = bar->high != NULL ? ABS(run_report_slowest(bar->high)->step - page->slow->step) : 0;
  return MAX(low, high);
}

/* Moves the step by something that can be read, or the verdict. */
static gboolean matters(const Page *page, const StudyBar *bar) {
  return percent(reach(page, bar), page->slow->step) >= LEAST_SHOWN ||
         (bar->low != NULL && bar->low->verdict != page->report->verdict) ||
         (bar->high != NULL && bar->high->verdict != page->report->verdict);
}

/* The longest bar first. */
static void print_tornado(const Page *page, const StudyTornado *tornado) {
  guint order[STUDY_FIGURES];
  for (guint i = 0; i < STUDY_FIGURES; i++) {
    guint at = i;
    for (; at > 0 && reach(page, &tornado->bars[order[at - 1]]) < reach(page, &tornado->bars[i]); at--)
      order[at] = order[at - 1];
    order[at] = i;
  }
  g_autoptr(BaseTable) table = base_table_new();
  base_table_head(table, "figure of the cluster", BASE_LEFT);
  base_table_head(table, "10 % less: step", BASE_RIGHT);
  base_table_head(table, "", BASE_LEFT);
  base_table_head(table, "10 % more: step", BASE_RIGHT);
  base_table_head(table, "", BASE_LEFT);
  g_autoptr(GString) none = g_string_new(NULL);
  for (guint i = 0; i < STUDY_FIGURES; i++) {
    const StudyBar *bar = &tornado->bars[order[i]];
    if (!matters(page, bar)) {
      g_string_append_printf(none, "%s%s", none->len > 0 ? ", " : "Without effect here: ", figure_words[order[i]]);
      continue;
    }
    base_table_cell(table, "%s", figure_words[order[i]]);
    bar_cell(table, page, bar->low);
    bar_cell(table, page, bar->high);
  }
  g_string_append(page->text, "\nWhat it hangs on\n");
  base_table_print(table, 2, page->text);
  if (none->len > 0)
    report_wrap(page->text, "  ", none->str);
}

void report_explained(const RunReport *report, const GPtrArray *faster, const StudyTornado *tornado, GString *text) {
  const Page page = {report, run_report_slowest(report), text};
  report_title(&report->identity, text);
  report_verdict(report, text);
  print_budget(&page);
  print_path(&page);
  print_ideals(&page, tornado);
  print_tornado(&page, tornado);
  report_faster(report, faster, MOST_CHANGES, text);
  report_knobs(report, faster, text);
}
