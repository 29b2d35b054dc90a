/* SPDX-License-Identifier: MIT */
/* Stages side by side, and in a sentence each what a rung buys and what it costs. */
#include <string.h>

#include "base-table.h"
#include "report-text.h"
#include "report-verdict.h"
#include "report-words.h"

/* What is laid side by side: `titles` by report. */
typedef struct {
  const char *const *titles;
  RunReport *const *reports;
  guint n;
} Rungs;

/* The three parts of the step in hundredths of a millisecond. */
static void step_parts(const RunReport *report, gint64 ret[3]) {
  const RunClass *slow = run_report_slowest(report);
  const gint64 parts[] = {slow->compute, slow->exposed, slow->idle};
  report_split(parts, 3, report_centi_ms(slow->step), ret);
}

/* Hundredths of a GiB at the peak; of RUN_TENANTS: what the allocator holds on top. */
static gint64 tenant_size(const RunReport *report, guint tenant) {
  gint64 levels[REPORT_LEVELS];
  report_memory_levels(run_report_tightest(report), levels);
  return levels[tenant];
}

typedef enum { STEP, INTERVAL, COMPUTE, EXPOSED, IDLE, HIDDEN, INTRA, INTER, TOKENS, MFU, PRICE, TIME_ROWS } TimeRow;
static const char *const time_titles[] = {
    [STEP] = "step, ms",
    [INTERVAL] = "  interval, ms",
    [COMPUTE] = "  compute, ms",
    [EXPOSED] = "  exposed communication, ms",
    [IDLE] = "  idle, ms",
    [HIDDEN] = "communication hidden, %",
    [INTRA] = "sent per GPU in the node, GB",
    [INTER] = "sent per GPU between nodes, GB",
    [TOKENS] = "tokens/s per GPU",
    [MFU] = "MFU, %",
    [PRICE] = "USD per million tokens",
};

static void interval_cell(BaseTable *table, const RunReport *report) {
  g_autofree char *interval = report_interval(report->step_low, report->step_high);
  base_table_cell(table, "%s", interval != NULL ? interval : "-");
}

static void time_cell(BaseTable *table, const RunReport *report, TimeRow row) {
  const RunClass *slow = run_report_slowest(report);
  gint64 parts[3];
  step_parts(report, parts);
  switch (row) {
  case STEP:
    base_table_cell(table, run_report_runs_out(report) ? "(%.2f)" : "%.2f", (double)report_centi_ms(slow->step) / 100);
    break;
  case INTERVAL:
    interval_cell(table, report);
    break;
  case COMPUTE:
  case EXPOSED:
  case IDLE:
    base_table_cell(table, "%.2f", (double)parts[row - COMPUTE] / 100);
    break;
  case HIDDEN:
    if (slow->communication > 0)
      base_table_cell(table, "%.1f", 100 * (double)(slow->communication - slow->exposed) / (double)slow->communication);
    else
      base_table_cell(table, "-");
    break;
  case INTRA:
    base_table_cell(table, "%.2f", base_in_gb((double)slow->network_bytes_intra));
    break;
  case INTER:
    base_table_cell(table, "%.2f", base_in_gb((double)slow->network_bytes_inter));
    break;
  case TOKENS:
    base_table_cell(table, "%.0f", report->tokens_per_second_per_gpu);
    break;
  case MFU:
    base_table_cell(table, "%.1f", 100 * report->model_flops_utilisation);
    break;
  default:
    base_table_cell(table, "%.3f", report->price_per_million_tokens);
  }
}

static void print_memory_rows(BaseTable *table, RunReport *const *reports, guint n) {
  for (guint t = 0; t < REPORT_LEVELS; t++) {
    base_table_cell(table, "  %s, GiB", report_level_name(t));
    for (guint i = 0; i < n; i++)
      base_table_cell(table, "%.2f", (double)tenant_size(reports[i], t) / 100);
  }
}

static void print_table(const Rungs *rungs, GString *text) {
  RunReport *const *reports = rungs->reports;
  guint n = rungs->n;
  g_autoptr(BaseTable) table = base_table_new();
  gboolean priced = FALSE;
  base_table_head(table, "", BASE_LEFT);
  for (guint i = 0; i < n; i++) {
    base_table_head(table, rungs->titles[i], BASE_RIGHT);
    priced |= reports[i]->price_per_million_tokens > 0;
  }
  base_table_cell(table, "verdict");
  for (guint i = 0; i < n; i++)
    base_table_cell(table, "%s", report_verdict_word(reports[i]->verdict));
  base_table_rule(table);
  for (TimeRow row = 0; row < TIME_ROWS; row++) {
    if ((row == PRICE && !priced) || (row == INTER && reports[0]->identity.nodes == 1))
      continue;
    base_table_cell(table, "%s", time_titles[row]);
    for (guint i = 0; i < n; i++)
      time_cell(table, reports[i], row);
  }
  base_table_rule(table);
  base_table_cell(table, "memory at its peak, GiB");
  for (guint i = 0; i < n; i++)
    base_table_cell(table, "%.2f", (double)report_centi_gib(run_report_tightest(reports[i])->device_used) / 100);
  print_memory_rows(table, reports, n);
  base_table_cell(table, "capacity, GiB");
  for (guint i = 0; i < n; i++)
    base_table_cell(table, "%.2f", (double)report_centi_gib(run_report_tightest(reports[i])->capacity) / 100);
  base_table_cell(table, "to spare (-: missing), GiB");
  for (guint i = 0; i < n; i++)
    base_table_cell(table, "%.2f",
                    (double)(report_centi_gib(run_report_tightest(reports[i])->capacity) -
                             report_centi_gib(run_report_tightest(reports[i])->device_used)) /
                        100);
  base_table_print(table, 0, text);
}

/* Hundredths of what changed, from the exact values: what is equal looks equal, however its neighbours round. */
static gint64 centi_ms_change(SimTime before, SimTime now) {
  return now < before ? -report_centi_ms(before - now) : report_centi_ms(now - before);
}

static gint64 centi_gib_change(guint64 before, guint64 now) {
  return now < before ? -report_centi_gib(before - now) : report_centi_gib(now - before);
}

/* " (gradients -11.77, communication +0.31 GiB)": what changed by a hundredth, largest change first. Empties `changes`.
 */
static void say_changes(GString *words, const char *const *names, gint64 *changes, guint n, const char *unit) {
  const char *before = " (";
  for (;;) {
    guint largest = 0;
    for (guint i = 1; i < n; i++)
      largest = ABS(changes[i]) > ABS(changes[largest]) ? i : largest;
    if (changes[largest] == 0)
      break;
    g_string_append_printf(words, "%s%s %+.2f", before, names[largest], (double)changes[largest] / 100);
    changes[largest] = 0;
    before = ", ";
  }
  if (*before == ',')
    g_string_append_printf(words, " %s)", unit);
}

static void say_memory(GString *words, const char *than, const RunReport *before, const RunReport *now) {
  const RunClass *was = run_report_tightest(before), *is = run_report_tightest(now);
  gint64 freed = centi_gib_change(is->device_used, was->device_used);
  gint64 changes[RUN_TENANTS];
  for (guint t = 0; t < RUN_TENANTS; t++)
    changes[t] = centi_gib_change(was->peak_held[t], is->peak_held[t]);
  if (freed == 0)
    g_string_append_printf(words, "needs as much memory as %s", than);
  else
    g_string_append_printf(words, "%s %.2f GiB %s %s", freed > 0 ? "frees" : "takes", (double)ABS(freed) / 100,
                           freed > 0 ? "per GPU over" : "more per GPU than", than);
  say_changes(words, run_tenant_names, changes, RUN_TENANTS, "GiB");
}

static void say_time(GString *words, const RunReport *before, const RunReport *now) {
  static const char *const names[] = {"compute", "exposed communication", "idle"};
  const RunClass *was = run_report_slowest(before), *is = run_report_slowest(now);
  SimTime step = is->step - was->step;
  gint64 longer = centi_ms_change(was->step, is->step);
  gint64 changes[] = {centi_ms_change(was->compute, is->compute), centi_ms_change(was->exposed, is->exposed),
                      centi_ms_change(was->idle, is->idle)};
  if (longer == 0)
    g_string_append(words, " at the same step time");
  else
    g_string_append_printf(words, " and %s %.2f ms a step, %+.1f %%", longer > 0 ? "costs" : "saves",
                           (double)ABS(longer) / 100, 100 * (double)step / (double)was->step);
  say_changes(words, names, changes, 3, "ms");
}

static void say_verdict(GString *words, RunReport *const *reports, guint index) {
  const RunReport *now = reports[index];
  gboolean fitted = FALSE;
  for (guint i = 0; i < index; i++)
    fitted |= reports[i]->verdict == RUN_FITS;
  if (now->verdict == RUN_EDGE) {
    g_string_append(words, " It is at the edge: whether it fits cannot be told.");
  } else if (now->verdict == RUN_OOM) {
    g_autofree char *missing = base_format_memory(run_report_tightest(now)->short_by);
    g_string_append_printf(words, " It %s: %s are missing.",
                           index > 0 && !fitted ? "still does not fit" : "does not fit", missing);
  } else if (index > 0 && !fitted) {
    g_string_append(words, " It is the first that fits.");
  }
}

static gboolean is_stage(const Rungs *rungs, guint index) {
  return g_str_has_prefix(rungs->titles[index], "ZeRO-");
}

/* A stage against the one before, a layout against the last stage. */
static guint against(const Rungs *rungs, guint index) {
  guint before = index - 1;
  while (!is_stage(rungs, index) && before > 0 && !is_stage(rungs, before))
    before--;
  return before;
}

static void print_sentence(const Rungs *rungs, guint index, GString *text) {
  RunReport *const *reports = rungs->reports;
  const RunReport *now = reports[index];
  g_autoptr(GString) words = g_string_new(NULL);
  if (index == 0) {
    g_autofree char *need = base_format_gib(run_report_tightest(now)->device_used);
    g_string_append_printf(words, "needs %s per GPU and %.2f ms a step%s, %.2f ms of it exposed communication", need,
                           (double)report_centi_ms(run_report_slowest(now)->step) / 100,
                           run_report_runs_out(now) ? " if it fitted" : "",
                           (double)report_centi_ms(run_report_slowest(now)->exposed) / 100);
  } else {
    guint before = against(rungs, index);
    say_memory(words, rungs->titles[before], reports[before], now);
    say_time(words, reports[before], now);
  }
  g_string_append_c(words, '.');
  say_verdict(words, reports, index);
  g_autofree char *first = g_strconcat(rungs->titles[index], " ", NULL);
  report_wrap(text, first, words->str);
}

static gboolean is_faster(const RunReport *report, const RunReport *other) {
  gint64 step = report_centi_ms(run_report_slowest(report)->step),
         than = report_centi_ms(run_report_slowest(other)->step);
  return step < than ||
         (step == than && run_report_tightest(report)->device_used < run_report_tightest(other)->device_used);
}

static gboolean is_better(const RunReport *report, const RunReport *than) {
  if (report->verdict != than->verdict)
    return report->verdict < than->verdict;
  if (report->verdict == RUN_FITS)
    return is_faster(report, than);
  return run_report_tightest(report)->device_used < run_report_tightest(than)->device_used;
}

/* The fastest that fits, of equals the one that needs least memory; else the one that needs least. */
static void print_choice(const Rungs *rungs, GString *text) {
  RunReport *const *reports = rungs->reports;
  guint at = 0;
  for (guint i = 1; i < rungs->n; i++)
    at = is_better(reports[i], reports[at]) ? i : at;
  const RunReport *best = reports[at];
  if (best->verdict == RUN_EDGE) {
    g_string_append_printf(text, "None fits for sure; %s is at the edge.\n", rungs->titles[at]);
    return;
  }
  if (best->verdict == RUN_OOM) {
    g_autofree char *missing = base_format_memory(run_report_tightest(best)->short_by);
    g_string_append_printf(text, "None fits; %s comes nearest and lacks %s per GPU.\n", rungs->titles[at], missing);
    return;
  }
  g_autoptr(GString) words = g_string_new(NULL);
  g_string_append_printf(words, "%s, %.2f ms a step", rungs->titles[at],
                         (double)report_centi_ms(run_report_slowest(best)->step) / 100);
  for (guint i = 0; i < rungs->n; i++) {
    const RunReport *other = reports[i];
    if (other == best || other->verdict != RUN_FITS)
      continue;
    if (report_centi_ms(run_report_slowest(other)->step) == report_centi_ms(run_report_slowest(best)->step))
      g_string_append_printf(words, "; %s is as fast, for more memory", rungs->titles[i]);
    else
      g_string_append_printf(words, "; %.2f times faster than %s",
                             (double)run_report_slowest(other)->step / (double)run_report_slowest(best)->step,
                             rungs->titles[i]);
  }
  g_string_append_c(words, '.');
  report_wrap(text, "Fastest that fits: ", words->str);
}

static void print_envelopes(const Rungs *rungs, GString *text) {
  g_autoptr(GPtrArray) envelopes = g_ptr_array_new();
  for (guint i = 0; i < rungs->n; i++)
    g_ptr_array_add(envelopes, rungs->reports[i]->envelope);
  report_envelopes(rungs->titles, (const char *const *)envelopes->pdata, rungs->n, text);
}

/* Where a layout has another batch, steps do not compare. */
static void print_batches(const Rungs *rungs, GString *text) {
  const RunIdentity *first = &rungs->reports[0]->identity;
  for (guint i = 1; i < rungs->n; i++) {
    const RunIdentity *identity = &rungs->reports[i]->identity;
    if (identity->global_batch != first->global_batch)
      g_string_append_printf(text,
                             "%s: global batch %" G_GUINT64_FORMAT ", not %" G_GUINT64_FORMAT
                             ": steps do not compare, tokens/s do\n",
                             rungs->titles[i], identity->global_batch, first->global_batch);
  }
}

#define MOST_TITLE 24

/* Long ones become numbers, and are told beneath the table. */
static char **short_titles(const char *const *titles, RunReport *const *reports, guint n) {
  char **all = g_new0(char *, n + 1);
  guint numbers = 0;
  for (guint i = 0; i < n; i++)
    all[i] = titles == NULL                    ? g_strdup_printf("ZeRO-%u", reports[i]->identity.zero_stage)
             : strlen(titles[i]) <= MOST_TITLE ? g_strdup(titles[i])
                                               : g_strdup_printf("layout %u", ++numbers);
  return all;
}

static void print_titles(const Rungs *rungs, const char *const *titles, GString *text) {
  for (guint i = 0; i < rungs->n && titles != NULL; i++) {
    g_autofree char *first = g_strconcat(rungs->titles[i], ": ", NULL);
    if (strcmp(rungs->titles[i], titles[i]) != 0)
      report_wrap(text, first, titles[i]);
  }
}

void report_stages(const char *const *titles, RunReport *const *reports, guint n, GString *text) {
  const RunIdentity *identity = &reports[0]->identity;
  g_auto(GStrv) short_ = short_titles(titles, reports, n);
  const Rungs rungs = {(const char *const *)short_, reports, n};
  g_autofree char *title =
      g_strdup_printf("%s, framework %s, on %u × %s in %u node%s", identity->model, identity->framework, identity->gpus,
                      identity->gpu, identity->nodes, identity->nodes == 1 ? "" : "s");
  report_wrap(text, "", title);
  g_string_append_c(text, '\n');
  print_table(&rungs, text);
  for (guint i = 0; i < n; i++)
    if (run_report_runs_out(reports[i])) {
      g_string_append(text, "(…): step time if it fitted\n");
      break;
    }
  print_titles(&rungs, titles, text);
  print_batches(&rungs, text);
  g_string_append_c(text, '\n');
  for (guint i = 0; i < n; i++)
    print_sentence(&rungs, i, text);
  print_choice(&rungs, text);
  print_envelopes(&rungs, text);
}
