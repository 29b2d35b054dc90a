/* SPDX-License-Identifier: MIT */
/* Rows of cells. */
#include "report-page-tables.h"

#include <string.h>

#include "report-awaited.h"
#include "report-html.h"
#include "report-verdict.h"
#include "report-words.h"

static void begin_table(GString *html) {
  g_string_append(html, "<div class=\"scroll\"><table>\n");
}

static void end_table(GString *html) {
  g_string_append(html, "</table></div>\n");
}

/* What a row of the glance says of a run; NULL: nothing is known. Caller frees. */
typedef char *(*Say)(const RunReport *report);

static char *say_verdict(const RunReport *report) {
  return g_strdup(report_verdict_word(report->verdict));
}
static char *say_cluster(const RunReport *report) {
  const RunIdentity *identity = &report->identity;
  return g_strdup_printf("%u × %s, %u node%s", identity->gpus, identity->gpu, identity->nodes,
                         identity->nodes == 1 ? "" : "s");
}
static char *say_recipe(const RunReport *report) {
  const RunIdentity *identity = &report->identity;
  return g_strdup_printf("ZeRO-%u (%s), micro-batch %" G_GUINT64_FORMAT " × %" G_GUINT64_FORMAT, identity->zero_stage,
                         identity->framework, identity->micro_batch, identity->gradient_accumulation);
}
static char *say_step(const RunReport *report) {
  return g_strdup_printf("%.2f ms%s", (double)report_centi_ms(run_report_slowest(report)->step) / 100,
                         run_report_runs_out(report) ? " if it fitted" : "");
}
static char *say_interval(const RunReport *report) {
  g_autofree char *interval = report_interval(report->step_low, report->step_high);
  return interval != NULL ? g_strdup_printf("%s ms", interval) : NULL;
}
static char *say_exposed(const RunReport *report) {
  return g_strdup_printf("%.1f %%", 100 * run_report_exposed_share(report));
}
static char *say_tokens(const RunReport *report) {
  return base_format_count((guint64)(report->tokens_per_second + 0.5));
}
static char *say_tokens_each(const RunReport *report) {
  return base_format_count((guint64)(report->tokens_per_second_per_gpu + 0.5));
}
static char *say_mfu(const RunReport *report) {
  return g_strdup_printf("%.1f %%", 100 * report->model_flops_utilisation);
}
static char *say_memory(const RunReport *report) {
  const RunClass *tight = run_report_tightest(report);
  return g_strdup_printf("%.2f of %.2f GiB", (double)report_centi_gib(tight->device_used) / 100,
                         (double)report_centi_gib(tight->capacity) / 100);
}
static char *say_price(const RunReport *report) {
  return report->price_per_million_tokens > 0 ? g_strdup_printf("%.3f USD", report->price_per_million_tokens) : NULL;
}
static char *say_days(const RunReport *report) {
  return report->days_to_train > 0 ? g_strdup_printf("%.1f", report->days_to_train) : NULL;
}
static char *say_total(const RunReport *report) {
  g_autofree char *price = base_format_count((guint64)(report->price_to_train + 0.5));
  return report->price_to_train > 0 ? g_strdup_printf("%s USD", price) : NULL;
}

static const struct {
  const char *title;
  Say say;
} glance[] = {
    {"cluster", say_cluster},
    {"recipe", say_recipe},
    {"verdict", say_verdict},
    {"step", say_step},
    {"interval", say_interval},
    {"exposed communication", say_exposed},
    {"tokens per second", say_tokens},
    {"tokens per second and GPU", say_tokens_each},
    {"MFU", say_mfu},
    {"memory per GPU", say_memory},
    {"price of a million tokens", say_price},
    {"days to train", say_days},
    {"price to train", say_total},
};

static gboolean add_glance_row(RunReport *const *reports, guint n, const char *title, Say say, GString *html) {
  g_autoptr(GString) row = g_string_new("<tr>");
  gboolean any = FALSE;
  report_html_element(row, "th", NULL, title);
  for (guint i = 0; i < n; i++) {
    g_autofree char *text = say(reports[i]);
    report_html_element(row, "td", NULL, text != NULL ? text : "-");
    any |= text != NULL;
  }
  if (any)
    g_string_append_printf(html, "%s</tr>\n", row->str);
  return any;
}

void report_page_glance(RunReport *const *reports, guint n, GString *html) {
  begin_table(html);
  g_string_append(html, "<tr><th></th>");
  for (guint i = 0; i < n; i++)
    report_html_cell(html, "th", NULL, "%c: %s, %s", 'A' + (int)(i % 26), reports[i]->identity.workload,
                     reports[i]->identity.topology);
  g_string_append(html, "</tr>\n");
  for (gsize i = 0; i < G_N_ELEMENTS(glance); i++)
    add_glance_row(reports, n, glance[i].title, glance[i].say, html);
  end_table(html);
}

static void time_row(const char *name, SimTime time, SimTime step, const char *meaning, GString *html) {
  g_string_append(html, "<tr>");
  report_html_element(html, "td", "name", name);
  report_html_cell(html, "td", "n", "%.2f ms", (double)report_centi_ms(time) / 100);
  report_html_cell(html, "td", "n", "%.1f %%", step > 0 ? 100 * (double)time / (double)step : 0);
  report_html_element(html, "td", NULL, meaning);
  g_string_append(html, "</tr>\n");
}

static void cause_rows(const RunClass *slow, const ReportAwaited *awaited, gboolean idle, GString *html) {
  for (guint cause = 0; cause < RUN_CAUSES; cause++) {
    if (slow->by_cause[cause] == 0 || run_cause_is_idle((RunCause)cause) != idle)
      continue;
    const char *most = report_awaited_most(awaited, (RunCause)cause);
    g_autofree char *name = g_strdup_printf("\xe2\x80\x83%s", run_cause_names[cause]);
    g_autofree char *meaning =
        g_strdup_printf("%s%s%s", report_cause_meanings[cause], most != NULL ? ": " : "", most != NULL ? most : "");
    time_row(name, slow->by_cause[cause], slow->step, meaning, html);
  }
}

void report_page_step(const RunReport *report, GString *html) {
  const RunClass *slow = run_report_slowest(report);
  g_autoptr(ReportAwaited) awaited = report_awaited_new(slow);
  begin_table(html);
  time_row("step", slow->step, slow->step, "of the slowest ranks", html);
  time_row("compute", slow->compute, slow->step, "some kernel computes", html);
  time_row("exposed", slow->exposed, slow->step, "communication while no compute runs", html);
  cause_rows(slow, awaited, FALSE, html);
  time_row("idle", slow->idle, slow->step, "neither", html);
  cause_rows(slow, awaited, TRUE, html);
  time_row("hidden", slow->communication - slow->exposed, slow->step, "communication behind compute", html);
  end_table(html);
}

void report_page_memory(const RunReport *report, GString *html) {
  const RunClass *tight = run_report_tightest(report);
  gint64 levels[REPORT_LEVELS], shares[REPORT_LEVELS];
  report_memory_levels(tight, levels);
  report_split(levels, REPORT_LEVELS, 1000, shares);
  begin_table(html);
  for (guint t = 0; t < REPORT_LEVELS; t++) {
    g_string_append(html, "<tr>");
    report_html_element(html, "td", NULL, report_level_name(t));
    report_html_cell(html, "td", "n", "%.2f GiB", (double)levels[t] / 100);
    report_html_cell(html, "td", "n", "%.1f %%", (double)shares[t] / 10);
    g_string_append(html, "</tr>\n");
  }
  g_string_append(html, "<tr>");
  report_html_element(html, "th", NULL, "in all, of capacity");
  report_html_cell(html, "td", "n", "%.2f GiB", (double)report_centi_gib(tight->device_used) / 100);
  report_html_cell(html, "td", "n", "%.2f GiB", (double)report_centi_gib(tight->capacity) / 100);
  g_string_append(html, "</tr>\n");
  end_table(html);
}

static void settings_table(const RunIdentity *identity, gboolean given, GString *html) {
  begin_table(html);
  g_string_append(html, "<tr><th>setting</th><th>value</th><th>from</th></tr>\n");
  for (guint32 i = 0; i < identity->n_settings; i++) {
    const RunSetting *setting = &identity->settings[i];
    if ((strcmp(setting->origin, "default") != 0) != given)
      continue;
    g_string_append(html, "<tr>");
    report_html_element(html, "td", NULL, setting->name);
    report_html_element(html, "td", "value", setting->value);
    report_html_element(html, "td", NULL, setting->origin);
    g_string_append(html, "</tr>\n");
  }
  end_table(html);
}

void report_page_inputs(const RunReport *report, GString *html) {
  const RunIdentity *identity = &report->identity;
  report_html_element(html, "h3", NULL, "Inputs");
  settings_table(identity, TRUE, html);
  if ((report->missing & RUN_MISSING_DETAILS) == 0) {
    g_string_append(html, "<details><summary>Settings that were left at their defaults</summary>\n");
    settings_table(identity, FALSE, html);
    g_string_append(html, "</details>\n");
  }
  if (identity->notes == NULL || identity->notes[0] == NULL)
    return;
  report_html_element(html, "h3", NULL, "Assumptions");
  g_string_append(html, "<ul>\n");
  for (guint i = 0; identity->notes[i] != NULL; i++)
    report_html_element(html, "li", NULL, identity->notes[i]);
  g_string_append(html, "</ul>\n");
}
