/* SPDX-License-Identifier: MIT */
/* Runs side by side as a text. */
#include "report-compare.h"

#include <string.h>

#include "base-table.h"
#include "report-compare-step.h"
#include "report-quotes.h"
#include "report-words.h"

#define MOST_PERCENT 5.0 /* times; beyond, a ratio reads better than a percentage */

typedef struct {
  ReportStep **steps;
  guint n;
  BaseTable *table;
} Page;

static const char *metric(const ReportStep *step, const char *name) {
  const char *value = report_step_metric(step, name);
  return value != NULL ? value : "?";
}

static void print_titles(const Page *page, GString *text) {
  for (guint s = 0; s < page->n; s++) {
    const ReportStep *step = page->steps[s];
    const char *nodes = metric(step, "nodes");
    g_autofree char *first = g_strdup_printf("%s  ", step->label);
    g_autofree char *title = g_strdup_printf(
        "run %" G_GINT64_FORMAT ": %s (%s), ZeRO-%s, framework %s, on %s × %s (%s, %s node%s)", step->run_id,
        metric(step, "workload"), metric(step, "model"), metric(step, "zero_stage"), metric(step, "framework"),
        metric(step, "gpus"), metric(step, "gpu"), metric(step, "topology"), nodes, strcmp(nodes, "1") == 0 ? "" : "s");
    report_wrap(text, first, title);
  }
}

/* Settings stand in base units: "500000000000 B/s" reads better as "500 GB/s". Caller frees. */
static char *readable(const char *value) {
  char *rest = NULL;
  double number = value != NULL ? g_ascii_strtod(value, &rest) : 0;
  if (value == NULL || rest == value)
    return g_strdup(value != NULL ? value : "-");
  if (strcmp(rest, " B/s") == 0)
    return base_format_byte_rate(number);
  return strcmp(rest, " B") == 0 ? base_format_memory((guint64)number) : g_strdup(value);
}

/* "name: a, b": one setting in all steps, where it differs between them. */
static void say_setting(const Page *page, const char *name, GString *words) {
  gboolean differs = FALSE;
  for (guint s = 1; s < page->n; s++)
    differs |= report_setting_differs(page->steps[0], page->steps[s], name);
  if (!differs)
    return;
  g_string_append_printf(words, "%s%s ", words->len > 0 ? "; " : "", name);
  for (guint s = 0; s < page->n; s++) {
    g_autofree char *value = readable(report_setting(page->steps[s], name));
    g_string_append_printf(words, "%s%s", s > 0 ? " / " : "", value);
  }
}

static void print_settings(const Page *page, GString *text) {
  g_autoptr(GHashTable) said = g_hash_table_new(g_str_hash, g_str_equal);
  g_autoptr(GString) words = g_string_new(NULL);
  for (guint s = 0; s < page->n; s++)
    for (guint32 i = 0; i < page->steps[s]->report->identity.n_settings; i++)
      if (g_hash_table_add(said, page->steps[s]->report->identity.settings[i].name))
        say_setting(page, page->steps[s]->report->identity.settings[i].name, words);
  g_string_append_c(text, '\n');
  report_wrap(text, "What differs: ", words->len > 0 ? words->str : "no setting");
  g_string_append_c(text, '\n');
}

static void centi_row(const Page *page, const char *title, const gint64 *values) {
  base_table_cell(page->table, "%s", title);
  for (guint s = 0; s < page->n; s++)
    base_table_cell(page->table, "%.2f", (double)values[s] / 100);
  for (guint s = 1; s < page->n; s++)
    if (values[s] == values[0])
      base_table_cell(page->table, "=");
    else
      base_table_cell(page->table, "%+.2f", (double)(values[s] - values[0]) / 100);
}

/* Hundredths of a millisecond of each row in each step, rounded so that a step's add up to `sums`. Caller frees. */
static gint64 *split_rows(const Page *page, const GPtrArray *rows, const gint64 *sums) {
  gint64 *cells = g_new0(gint64, MAX(1, rows->len) * page->n);
  g_autofree gint64 *parts = g_new0(gint64, rows->len + 1), *rounded = g_new0(gint64, rows->len + 1);
  for (guint s = 0; s < page->n; s++) {
    for (guint i = 0; i < rows->len; i++)
      parts[i] = ((const ReportRow *)g_ptr_array_index(rows, i))->times[s];
    report_split(parts, rows->len, sums[s], rounded);
    for (guint i = 0; i < rows->len; i++)
      cells[i * page->n + s] = rounded[i];
  }
  return cells;
}

static void print_view(const Page *page, ReportKind kind, ReportView view, const gint64 *sums) {
  g_autoptr(GPtrArray) rows = report_rows(page->steps, page->n, kind, view);
  const ReportRow *only = rows->len == 1 ? g_ptr_array_index(rows, 0) : NULL;
  if (only != NULL && only->purpose == NULL && only->cause == NULL)
    return;
  g_autofree gint64 *cells = split_rows(page, rows, sums);
  for (guint i = 0; i < rows->len; i++) {
    const ReportRow *row = g_ptr_array_index(rows, i);
    const char *name = view == REPORT_BY_CAUSE ? row->cause : row->purpose;
    const char *nothing = view == REPORT_BY_CAUSE  ? "of runs without a timeline"
                          : kind == REPORT_EXPOSED ? "waits for no collective in particular"
                                                   : "other";
    g_autofree char *title = g_strdup_printf("    %s", name != NULL ? name : nothing);
    centi_row(page, title, &cells[i * page->n]);
  }
}

static void heading(const Page *page, const char *title) {
  base_table_cell(page->table, "%s", title);
  base_table_end_row(page->table);
}

static SimTime time_of(const ReportStep *step, const char *name) {
  const char *value = report_step_metric(step, name);
  return value != NULL ? g_ascii_strtoll(value, NULL, 10) : 0;
}

static void print_intervals(const Page *page) {
  base_table_cell(page->table, "  interval, ms");
  for (guint s = 0; s < page->n; s++) {
    const ReportStep *step = page->steps[s];
    g_autofree char *interval = report_interval(time_of(step, "step_low"), time_of(step, "step_high"));
    base_table_cell(page->table, "%s", interval != NULL ? interval : "-");
  }
  base_table_end_row(page->table);
}

static void print_envelopes(const Page *page, GString *text) {
  g_autoptr(GPtrArray) labels = g_ptr_array_new();
  g_autoptr(GPtrArray) envelopes = g_ptr_array_new();
  for (guint s = 0; s < page->n; s++) {
    g_ptr_array_add(labels, page->steps[s]->label);
    g_ptr_array_add(envelopes, (char *)report_step_metric(page->steps[s], "envelope"));
  }
  report_envelopes((const char *const *)labels->pdata, (const char *const *)envelopes->pdata, page->n, text);
}

static void print_times(const Page *page) {
  g_autofree gint64 *steps = g_new(gint64, page->n), *kinds = g_new(gint64, REPORT_KINDS * page->n);
  for (guint s = 0; s < page->n; s++) {
    gint64 rounded[REPORT_KINDS];
    steps[s] = report_centi_ms(page->steps[s]->step);
    report_split(page->steps[s]->kinds, REPORT_KINDS, steps[s], rounded);
    for (guint kind = 0; kind < REPORT_KINDS; kind++)
      kinds[kind * page->n + s] = rounded[kind];
  }
  centi_row(page, "step, ms", steps);
  print_intervals(page);
  centi_row(page, "  compute", &kinds[REPORT_COMPUTE * page->n]);
  print_view(page, REPORT_COMPUTE, REPORT_BY_PURPOSE, &kinds[REPORT_COMPUTE * page->n]);
  centi_row(page, "  exposed communication", &kinds[REPORT_EXPOSED * page->n]);
  print_view(page, REPORT_EXPOSED, REPORT_BY_PURPOSE, &kinds[REPORT_EXPOSED * page->n]);
  heading(page, "  the same by cause");
  print_view(page, REPORT_EXPOSED, REPORT_BY_CAUSE, &kinds[REPORT_EXPOSED * page->n]);
  centi_row(page, "  idle", &kinds[REPORT_IDLE * page->n]);
  print_view(page, REPORT_IDLE, REPORT_BY_CAUSE, &kinds[REPORT_IDLE * page->n]);
}

static guint64 used_by(const ReportStep *step) {
  return g_ascii_strtoull(metric(step, "device_used"), NULL, 10);
}

/* Who holds it is kept of runs, not of a sweep's points. */
static gboolean knows_memory(const Page *page) {
  for (guint s = 0; s < page->n; s++)
    if ((page->steps[s]->report->missing & RUN_MISSING_DETAILS) != 0)
      return FALSE;
  return TRUE;
}

static void print_memory(const Page *page) {
  g_autofree gint64 *cells = g_new(gint64, page->n);
  for (guint s = 0; s < page->n; s++)
    cells[s] = report_centi_gib(used_by(page->steps[s]));
  centi_row(page, "memory at its peak, GiB", cells);
  if (!knows_memory(page))
    return;
  for (guint level = 0; level < REPORT_LEVELS; level++) {
    g_autofree char *title = g_strdup_printf("  %s", report_level_name(level));
    for (guint s = 0; s < page->n; s++) {
      gint64 levels[REPORT_LEVELS];
      report_split_memory(page->steps[s]->tenants, used_by(page->steps[s]), levels);
      cells[s] = levels[level];
    }
    centi_row(page, title, cells);
  }
}

/* A metric's value in the unit of its title. */
static double in_unit(const StoreMetric *metric_, const char *value, const char **ret_unit, const char **ret_format) {
  double number = g_ascii_strtod(value, NULL);
  gboolean network = g_str_has_prefix(metric_->name, "network");
  *ret_format = "%.2f";
  switch (metric_->unit) {
  case STORE_TIME:
    *ret_unit = ", ms";
    return base_in_ms((SimTime)number);
  case STORE_BYTES:
    *ret_unit = network ? ", GB" : ", GiB";
    return network ? base_in_gb(number) : base_in_gib((guint64)number);
  case STORE_SHARE:
    *ret_unit = ", %";
    return 100 * number;
  case STORE_MONEY:
    *ret_unit = ", USD";
    *ret_format = number < 1 ? "%.4f" : "%.2f";
    return number;
  default:
    *ret_unit = "";
    if (g_str_has_prefix(metric_->name, "energy") && number < 1)
      *ret_format = "%.4f";
    return number;
  }
}

static void metric_row(const Page *page, gsize m) {
  const StoreMetric *row = &store_metrics[m];
  const char *unit = "", *format = "%.2f", *each, *first = page->steps[0]->metrics[m];
  for (guint s = 0; s < page->n; s++)
    if (page->steps[s]->metrics[m] != NULL)
      in_unit(row, page->steps[s]->metrics[m], &unit, &format);
  g_autofree char *name = g_strdelimit(g_strdup(row->name), "_", ' ');
  base_table_cell(page->table, "%s%s", name, unit);
  for (guint s = 0; s < page->n; s++) {
    const char *value = page->steps[s]->metrics[m];
    char shown[G_ASCII_DTOSTR_BUF_SIZE];
    if (value == NULL)
      base_table_cell(page->table, "-");
    else
      base_table_cell(page->table, "%s",
                      g_ascii_formatd(shown, sizeof shown, format, in_unit(row, value, &unit, &each)));
  }
  for (guint s = 1; s < page->n; s++) {
    const char *value = page->steps[s]->metrics[m];
    double was = first != NULL ? g_ascii_strtod(first, NULL) : 0, is = value != NULL ? g_ascii_strtod(value, NULL) : 0;
    if (g_strcmp0(first, value) == 0)
      base_table_cell(page->table, "=");
    else if (row->unit == STORE_SHARE && first != NULL && value != NULL)
      base_table_cell(page->table, "%+.2f", 100 * (is - was));
    else if (first == NULL || value == NULL || was == 0)
      base_table_cell(page->table, "%s", "");
    else if (is == 0)
      base_table_cell(page->table, "%s", "none");
    else if (is / was >= MOST_PERCENT || is / was <= 1 / MOST_PERCENT)
      base_table_cell(page->table, is > was ? "%.1f times" : "%.2f times", is / was);
    else
      base_table_cell(page->table, "%+.1f %%", 100 * (is / was - 1));
  }
}

/* Every metric that is better one way and that does not stand above. */
static void print_metrics(const Page *page) {
  for (gsize m = 0; m < store_n_metrics; m++) {
    gboolean known = FALSE;
    for (guint s = 0; s < page->n; s++)
      known |= page->steps[s]->metrics[m] != NULL && strcmp(page->steps[s]->metrics[m], "0") != 0;
    if (known && store_metrics[m].better != STORE_NEITHER && store_metrics[m].unit != STORE_TIME &&
        strcmp(store_metrics[m].name, "device_used") != 0)
      metric_row(page, m);
  }
}

static void print_table(Page *page, GString *text) {
  g_autoptr(BaseTable) table = base_table_new();
  page->table = table;
  base_table_head(table, "", BASE_LEFT);
  for (guint s = 0; s < page->n; s++)
    base_table_head(table, page->steps[s]->label, BASE_RIGHT);
  for (guint s = 1; s < page->n; s++) {
    g_autofree char *title = g_strdup_printf("%s - %s", page->steps[s]->label, page->steps[0]->label);
    base_table_head(table, title, BASE_RIGHT);
  }
  base_table_cell(table, "verdict");
  for (guint s = 0; s < page->n; s++)
    base_table_cell(table, "%s", metric(page->steps[s], "verdict"));
  base_table_end_row(table);
  base_table_rule(table);
  print_times(page);
  base_table_rule(table);
  print_memory(page);
  base_table_rule(table);
  print_metrics(page);
  base_table_print(table, 0, text);
  g_string_append_c(text, '\n');
}

void report_compared(RunReport *const *reports, const gint64 *run_ids, const ReportBeside *beside, guint n,
                     GString *text) {
  g_autoptr(GPtrArray) steps = report_steps(reports, run_ids, n);
  Page page = {(ReportStep **)steps->pdata, n, NULL};
  print_titles(&page, text);
  print_settings(&page, text);
  print_table(&page, text);
  for (guint i = 1; i < n; i++) {
    g_autofree char *words = report_difference_words(page.steps[0], page.steps[i]);
    report_wrap(text, "", words);
  }
  print_envelopes(&page, text);
  if (beside->offers != NULL && report_quotes_wanted(beside->offers, n))
    report_quotes(beside->offers, n, text);
  for (guint i = 1; beside->ratios != NULL && i < n; i++)
    report_ratio(&beside->ratios[i], text);
}

gboolean report_compare(StoreDb *db, const gint64 *run_ids, guint n, GString *text, GError **error) {
  g_autofree RunReport **reports = report_compare_load(db, run_ids, n, error);
  if (reports != NULL)
    report_compared(reports, run_ids, &(ReportBeside){0}, n, text);
  return reports != NULL;
}
