/* SPDX-License-Identifier: MIT */
/* What would make it faster, as tables and as two lines. */
#include "report-faster.h"

#include <math.h>
#include <string.h>

#include "base-table.h"
#include "report-trial.h"
#include "report-verdict.h"
#include "report-words.h"
#include "study-faster.h"

#define LEAST_SHOWN 0.0005 /* of time per token: what rounds to 0.0 % is no change */
#define MOST_UNFIT  3      /* of the changes that pay but do not fit */

static gboolean pays(const RunReport *from, const StudyTrial *trial) {
  return report_trial_cost(from, trial->report) <= -LEAST_SHOWN;
}

static gint by_gain(gconstpointer a, gconstpointer b) {
  double left = (*(StudyTrial *const *)a)->report->tokens_per_second_per_gpu,
         right = (*(StudyTrial *const *)b)->report->tokens_per_second_per_gpu;
  return (left < right) - (left > right);
}

/* Caller unrefs. */
static GPtrArray *in_order(const GPtrArray *trials) {
  GPtrArray *sorted = g_ptr_array_new();
  for (guint i = 0; i < trials->len; i++)
    g_ptr_array_add(sorted, g_ptr_array_index(trials, i));
  g_ptr_array_sort(sorted, by_gain);
  return sorted;
}

/* What is computed in fewer bits is not what was asked. */
static gboolean rounds_more(const char *change) {
  return strstr(change, "quantized") != NULL || strstr(change, "float8") != NULL;
}

static double gib_more(const RunReport *from, const RunReport *to) {
  return (double)(report_centi_gib(run_report_tightest(to)->device_used) -
                  report_centi_gib(run_report_tightest(from)->device_used)) /
         100;
}

static void print_row(BaseTable *table, const RunReport *from, const StudyTrial *trial) {
  g_autofree char *change = report_trial_change(trial->change, NULL);
  base_table_cell(table, "%s%s", change, rounds_more(trial->change) ? " *" : "");
  base_table_cell(table, "%+.1f %%", 100 * report_trial_cost(from, trial->report));
  base_table_cell(table, "%.2f ms", (double)report_centi_ms(run_report_slowest(trial->report)->step) / 100);
  base_table_cell(table, "%+.2f GiB", gib_more(from, trial->report));
  base_table_cell(table, "%s", report_verdict_word(trial->report->verdict));
}

static BaseTable *new_table(void) {
  BaseTable *table = base_table_new();
  base_table_head(table, "change", BASE_LEFT);
  base_table_head(table, "GPU time per token", BASE_RIGHT);
  base_table_head(table, "step", BASE_RIGHT);
  base_table_head(table, "memory", BASE_RIGHT);
  base_table_head(table, "", BASE_LEFT);
  return table;
}

/* Several groups of settings changed at once: found by study_faster itself. */
static gboolean is_together(const GPtrArray *trials, const StudyTrial *trial) {
  for (guint i = 0; i < trials->len; i++) {
    const StudyTrial *other = g_ptr_array_index(trials, i);
    if (other != trial && g_str_has_prefix(trial->change, other->change) && trial->change[strlen(other->change)] == ' ')
      return TRUE;
  }
  return FALSE;
}

/* The command's words for a change: "--set a=b --set c=d", a setting never parted from its option. */
static void print_sets(const char *change, GString *text) {
  g_auto(GStrv) each = g_strsplit(change, " ", -1);
  gsize column = 0;
  for (guint i = 0; each[i] != NULL; i++) {
    gsize width = strlen("--set ") + strlen(each[i]);
    gboolean breaks = i == 0 || column + 1 + width > REPORT_WIDTH;
    g_string_append_printf(text, "%s--set %s", i == 0 ? "    " : breaks ? "\n    " : " ", each[i]);
    column = breaks ? 4 + width : column + 1 + width;
  }
  g_string_append_c(text, '\n');
}

static void print_together(const RunReport *report, const GPtrArray *sorted, const GPtrArray *faster, GString *text) {
  for (guint i = 0; i < sorted->len; i++) {
    const StudyTrial *trial = g_ptr_array_index(sorted, i);
    if (!is_together(faster, trial))
      continue;
    g_string_append_printf(text, "  Together: %+.1f %% GPU time per token, step %.2f ms, %+.2f GiB, %s:\n",
                           100 * report_trial_cost(report, trial->report),
                           (double)report_centi_ms(run_report_slowest(trial->report)->step) / 100,
                           gib_more(report, trial->report), report_verdict_word(trial->report->verdict));
    print_sets(trial->change, text);
  }
}

static void print_note(const GPtrArray *sorted, GString *text) {
  for (guint i = 0; i < sorted->len; i++)
    if (rounds_more(((const StudyTrial *)g_ptr_array_index(sorted, i))->change)) {
      report_wrap(text, "  ", "* communicates in fewer bits: whether the loss bears it is not told here.");
      return;
    }
}

void report_faster(const RunReport *report, const GPtrArray *faster, guint most, GString *text) {
  g_autoptr(GPtrArray) sorted = in_order(faster), shown = g_ptr_array_new();
  g_autoptr(BaseTable) table = new_table();
  guint unfit = 0;
  for (guint i = 0; i < sorted->len && shown->len < most; i++) {
    StudyTrial *trial = g_ptr_array_index(sorted, i);
    if (!pays(report, trial) || is_together(faster, trial))
      continue;
    if (!study_may_advise(report, trial->report) && unfit++ >= MOST_UNFIT)
      continue;
    print_row(table, report, trial);
    g_ptr_array_add(shown, trial);
  }
  g_string_append_c(text, '\n');
  if (shown->len == 0) {
    report_wrap(text, "", "What would make it faster: none of the changes tried does.");
    return;
  }
  report_wrap(text, "", "What would make it faster, one change at a time, at the same global batch:");
  base_table_print(table, 2, text);
  print_note(shown, text);
  print_together(report, sorted, faster, text);
}

/* Those that lose, or change nothing that can be read. */
void report_knobs(const RunReport *report, const GPtrArray *faster, GString *text) {
  g_autoptr(GPtrArray) sorted = in_order(faster);
  g_autoptr(BaseTable) table = new_table();
  g_autoptr(GString) same = g_string_new(NULL);
  guint rows = 0;
  for (guint i = 0; i < sorted->len; i++) {
    const StudyTrial *trial = g_ptr_array_index(sorted, i);
    g_autofree char *change = report_trial_change(trial->change, NULL);
    if (pays(report, trial))
      continue;
    if (fabs(report_trial_cost(report, trial->report)) < LEAST_SHOWN && fabs(gib_more(report, trial->report)) < 0.01) {
      g_string_append_printf(same, "%s%s", same->len > 0 ? ", " : "", change);
      continue;
    }
    print_row(table, report, trial);
    rows++;
  }
  if (rows > 0) {
    g_string_append(text, "\nOther knobs, none of which pays:\n");
    base_table_print(table, 2, text);
  }
  if (same->len > 0) {
    g_autofree char *words = g_strconcat("Without effect here: ", same->str, NULL);
    report_wrap(text, "  ", words);
  }
}

static const StudyTrial *best_of(const RunReport *report, const GPtrArray *sorted, const GPtrArray *faster,
                                 gboolean together) {
  for (guint i = 0; i < sorted->len; i++) {
    const StudyTrial *trial = g_ptr_array_index(sorted, i);
    if (pays(report, trial) && study_may_advise(report, trial->report) && is_together(faster, trial) == together)
      return trial;
  }
  return NULL;
}

void report_faster_hint(const RunReport *report, const GPtrArray *faster, GString *text) {
  if (faster == NULL) {
    g_string_append_c(text, '\n');
    report_wrap(text, "Faster with    ", "what foretrain explain finds; for a step as large as this it takes a while");
    return;
  }
  g_autoptr(GPtrArray) sorted = in_order(faster);
  const StudyTrial *one = best_of(report, sorted, faster, FALSE), *all = best_of(report, sorted, faster, TRUE);
  if (one == NULL)
    return;
  g_autofree char *change = report_trial_change(one->change, NULL),
                  *changes = all != NULL ? report_trial_change(all->change, NULL) : NULL;
  g_autofree char *first = g_strdup_printf("%s (%+.1f %% GPU time per token, %+.2f GiB)%s", change,
                                           100 * report_trial_cost(report, one->report), gib_more(report, one->report),
                                           rounds_more(one->change) ? ", in fewer bits" : "");
  g_string_append_c(text, '\n');
  report_wrap(text, "Faster with    ", first);
  g_autofree char *second =
      all != NULL ? g_strdup_printf("%s (%+.1f %%, %+.2f GiB)", changes, 100 * report_trial_cost(report, all->report),
                                    gib_more(report, all->report))
                  : g_strdup("foretrain explain shows what else was tried");
  report_wrap(text, all != NULL ? "  or all of    " : "               ", second);
}

void report_faster_json(const RunReport *report, const GPtrArray *faster, BaseJson *json) {
  g_autoptr(GPtrArray) sorted = in_order(faster);
  base_json_list(json, "changes");
  for (guint i = 0; i < sorted->len; i++) {
    const StudyTrial *trial = g_ptr_array_index(sorted, i);
    const RunClass *tight = run_report_tightest(trial->report);
    base_json_map(json, NULL);
    report_trial_json(trial, json);
    base_json_number(json, "gain", study_gain(report, trial->report));
    base_json_integer(json, "device_used_bytes_more",
                      (gint64)tight->device_used - (gint64)run_report_tightest(report)->device_used);
    base_json_integer(json, "advised", pays(report, trial) && study_may_advise(report, trial->report));
    base_json_end(json);
  }
  base_json_end(json);
}
