/* SPDX-License-Identifier: MIT */
/* The page, section by section. */
#include "report-page.h"

#include <string.h>

#include "report-compare.h"
#include "report-explained.h"
#include "report-html.h"
#include "report-page-data.h"
#include "report-page-tables.h"
#include "report-remedies.h"
#include "report-text.h"
#include "report-verdict.h"
#include "report-words.h"

extern const char report_page_css[], report_page_js[]; /* page/page.css, page/page.js */

static char *hash_of(const char *text) {
  g_autoptr(GChecksum) checksum = g_checksum_new(G_CHECKSUM_SHA256);
  guint8 digest[32];
  gsize length = sizeof digest;
  g_checksum_update(checksum, (const guchar *)text, -1);
  g_checksum_get_digest(checksum, digest, &length);
  return g_base64_encode(digest, length);
}

static char *title_of(RunReport *const *reports, guint n) {
  const RunIdentity *identity = &reports[0]->identity;
  if (n > 1)
    return g_strdup_printf("%u training steps compared, %s first", n, identity->model);
  return g_strdup_printf("One training step of %s on %u × %s", identity->model, identity->gpus, identity->gpu);
}

static void add_head(const char *title, GString *html) {
  g_autofree char *style = hash_of(report_page_css), *script = hash_of(report_page_js);
  g_string_append_printf(html,
                         "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
                         "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
                         "'sha256-%s'; script-src 'sha256-%s'\">\n"
                         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                         "<meta name=\"color-scheme\" content=\"light dark\">\n",
                         style, script);
  report_html_element(html, "title", NULL, title);
  g_string_append_printf(html, "\n<style>%s</style>\n</head>\n<body>\n", report_page_css);
}

static void add_card(GString *html, const char *class, const char *value, const char *meaning) {
  g_string_append_printf(html, "<div class=\"card %s\">", class);
  report_html_element(html, "b", NULL, value);
  report_html_element(html, "span", NULL, meaning);
  g_string_append(html, "</div>\n");
}

static void add_question(const RunReport *report, GString *html) {
  const RunIdentity *identity = &report->identity;
  g_autofree char *parameters = base_format_large((double)identity->parameters);
  g_autofree char *question = g_strdup_printf(
      "Does a step of %s (%s parameters) under ZeRO-%u (%s) fit on %u × %s in %u node%s, and how long does it take? "
      "Sequences of %" G_GUINT64_FORMAT " tokens, micro-batch %" G_GUINT64_FORMAT " × %" G_GUINT64_FORMAT
      " accumulated, global batch %" G_GUINT64_FORMAT ", %s, activation checkpointing %s.",
      identity->model, parameters, identity->zero_stage, identity->framework, identity->gpus, identity->gpu,
      identity->nodes, identity->nodes == 1 ? "" : "s", identity->sequence_length, identity->micro_batch,
      identity->gradient_accumulation, identity->global_batch, identity->precision, identity->activation_checkpointing);
  report_html_element(html, "p", NULL, question);
  g_autofree char *files = g_strdup_printf("Workload %s on topology %s.", identity->workload, identity->topology);
  report_html_element(html, "p", "soft", files);
}

static void add_cards(const RunReport *report, GString *html) {
  const RunClass *slow = run_report_slowest(report), *tight = run_report_tightest(report);
  g_autofree char *step = g_strdup_printf("%.2f ms", (double)report_centi_ms(slow->step) / 100);
  g_autofree char *interval = report_interval(report->step_low, report->step_high);
  g_autofree char *around = g_strdup_printf("a step%s%s%s%s", run_report_runs_out(report) ? ", if it fitted" : "",
                                            interval != NULL ? "; " : "", interval != NULL ? interval : "",
                                            interval != NULL ? " ms in four of five cases" : "");
  g_autofree char *memory =
      g_strdup_printf("%.2f of %.2f GiB per GPU", (double)report_centi_gib(tight->device_used) / 100,
                      (double)report_centi_gib(tight->capacity) / 100);
  g_autofree char *tokens = base_format_count((guint64)(report->tokens_per_second + 0.5));
  g_autofree char *mfu = g_strdup_printf("tokens per second; MFU %.1f %%", 100 * report->model_flops_utilisation);
  g_autofree char *exposed = g_strdup_printf("%.1f %%", 100 * run_report_exposed_share(report));
  g_string_append(html, "<div class=\"cards\">\n");
  add_card(html, run_verdict_names[report->verdict], report_verdict_word(report->verdict), memory);
  add_card(html, "", step, around);
  add_card(html, "", tokens, mfu);
  add_card(html, "", exposed, "of the step is exposed communication");
  if (report->price_to_train > 0) {
    g_autofree char *price = base_format_count((guint64)(report->price_to_train + 0.5));
    g_autofree char *value = g_strdup_printf("%s USD", price);
    g_autofree char *days = g_strdup_printf("to train, in %.1f days", report->days_to_train);
    add_card(html, "", value, days);
  } else if (report->price_per_million_tokens > 0) {
    g_autofree char *value = g_strdup_printf("%.3f USD", report->price_per_million_tokens);
    add_card(html, "", value, "per million tokens");
  }
  g_string_append(html, "</div>\n");
}

static void add_text(GString *html, const char *title, const char *text) {
  report_html_element(html, "h3", NULL, title);
  report_html_element(html, "pre", NULL, text);
  g_string_append_c(html, '\n');
}

/* A run of the database that has no timeline has no pictures. */
static void add_pictures(StoreDb *db, gint64 run_id, GString *html) {
  g_auto(ReportScene) slowest = {0}, tightest = {0};
  g_autoptr(GError) why = NULL;
  report_html_element(html, "h3", NULL, "What runs when, and who holds memory when");
  if (!report_scene_load(db, run_id, REPORT_SLOWEST, -1, -1, &slowest, &why) ||
      !report_scene_load(db, run_id, REPORT_TIGHTEST, -1, -1, &tightest, &why)) {
    report_html_element(html, "p", "soft", why->message);
    return;
  }
  g_string_append(html, "<figure>\n<canvas class=\"timeline\" tabindex=\"0\" role=\"img\" aria-label=\"Timeline of the "
                        "step\"></canvas>\n<figcaption>");
  g_autofree char *ranks =
      g_strdup_printf("Timeline: %s. What is thinner than a pixel is drawn by its share of it.", slowest.ranks);
  report_html_text(html, ranks);
  g_string_append(html, "</figcaption>\n<ul class=\"key kinds\"></ul>\n"
                        "<canvas class=\"memory\" tabindex=\"0\" role=\"img\" aria-label=\"Memory over the "
                        "step\"></canvas>\n<figcaption>");
  g_autofree char *memory =
      g_strdup_printf("Memory: %s. Each level stands when the GPU comes to what it was asked for.", tightest.ranks);
  report_html_text(html, memory);
  g_string_append(
      html, "</figcaption>\n<ul class=\"key tenants\"></ul>\n</figure>\n<div class=\"tools\"></div>\n"
            "<p class=\"hover\" aria-live=\"polite\">Point at a picture for its values. Drag to move, double-click "
            "or hold Ctrl and turn the wheel to zoom; keys: + - 0 and the arrows.</p>\n");
  g_autoptr(GString) json = g_string_new(NULL);
  report_page_data(&slowest, &tightest, json);
  g_string_append_printf(html, "<script type=\"application/json\" id=\"data-%" G_GINT64_FORMAT "\">", run_id);
  report_html_json(html, json->str);
  g_string_append(html, "</script>\n");
}

static void add_stages(const ReportPageRun *run, GString *html) {
  if (run->stages == NULL || run->n_stages == 0) {
    if (run->no_stages != NULL) {
      report_html_element(html, "h3", NULL, "The same step under each ZeRO stage");
      report_html_element(html, "p", "soft", run->no_stages);
    }
    return;
  }
  g_autoptr(GString) text = g_string_new(NULL);
  report_stages(NULL, run->stages, run->n_stages, text);
  add_text(html, "The same step under each ZeRO stage", text->str);
}

static void add_remedies(const RunReport *report, const ReportPageRun *run, GString *html) {
  if (run->remedies == NULL || run->remedies->len == 0)
    return;
  g_autoptr(GString) text = g_string_new(NULL);
  report_remedies(report, run->remedies, text);
  add_text(html, "What would make it fit", g_strstrip(text->str));
}

/* What the step hangs on, and what would make it faster: of a report with its timeline. */
static void add_explanation(const RunReport *report, const ReportPageRun *run, GString *html) {
  if (run->faster == NULL || run->tornado == NULL || (report->missing & RUN_MISSING_TIMELINE) != 0)
    return;
  g_autoptr(GString) text = g_string_new(NULL);
  report_explained(report, run->faster, run->tornado, text);
  add_text(html, "What it hangs on, and what would make it faster", g_strstrip(text->str));
}

static void add_trust(const RunReport *report, GString *html) {
  g_autoptr(GString) words = g_string_new(NULL);
  if (report->validated_rows > 0)
    g_string_append_printf(words, "%u published measurement%s like this one were validated. ", report->validated_rows,
                           report->validated_rows == 1 ? "" : "s");
  g_autofree char *interval = report_interval(report->step_low, report->step_high);
  if (interval != NULL)
    g_string_append_printf(words, "By the errors of published steps, the step takes %s ms in four of five such cases. ",
                           interval);
  if (report->envelope != NULL)
    g_string_append_printf(words, "Of the interval: %s.", report->envelope);
  if (words->len == 0)
    g_string_append(words, "No interval is known: too few published steps were validated.");
  report_html_element(html, "h3", NULL, "How far to trust it");
  report_html_element(html, "p", NULL, words->str);
}

static void add_run(StoreDb *db, const RunReport *report, const ReportPageRun *run, guint number, guint n,
                    GString *html) {
  g_string_append_printf(html, "<section data-run=\"%" G_GINT64_FORMAT "\">\n", run->run_id);
  if (n > 1) {
    g_autofree char *title =
        g_strdup_printf("%c: %s on %s", 'A' + (int)(number % 26), report->identity.workload, report->identity.topology);
    report_html_element(html, "h2", NULL, title);
  }
  add_question(report, html);
  add_cards(report, html);
  g_autoptr(GString) verdict = g_string_new(NULL);
  report_verdict(report, verdict);
  report_html_element(html, "pre", NULL, g_strstrip(verdict->str));
  report_html_element(html, "h3", NULL, "Where the time goes");
  report_page_step(report, html);
  add_pictures(db, run->run_id, html);
  report_html_element(html, "h3", NULL, "Who holds the memory at its peak");
  report_page_memory(report, html);
  add_stages(run, html);
  add_remedies(report, run, html);
  add_explanation(report, run, html);
  add_trust(report, html);
  report_page_inputs(report, html);
  g_string_append(html, "</section>\n");
}

static gboolean add_comparison(StoreDb *db, RunReport *const *reports, const ReportPageRun *runs, guint n,
                               GString *html, GError **error) {
  g_autofree gint64 *ids = g_new(gint64, n);
  g_autoptr(GString) text = g_string_new(NULL);
  for (guint i = 0; i < n; i++)
    ids[i] = runs[i].run_id;
  if (!report_compare(db, ids, n, text, error))
    return FALSE;
  report_html_element(html, "h2", NULL, "Side by side");
  report_page_glance(reports, n, html);
  add_text(html, "What makes the difference", text->str);
  return TRUE;
}

static gboolean add_body(StoreDb *db, const GPtrArray *reports, const ReportPageRun *runs, guint n, GString *html,
                         GError **error) {
  RunReport *const *all = (RunReport *const *)reports->pdata;
  g_autofree char *title = title_of(all, n);
  add_head(title, html);
  report_html_element(html, "h1", NULL, title);
  report_html_element(html, "p", "soft",
                      "A prediction of foretrain, a simulator of training steps; nothing here was measured.");
  if (n > 1 && !add_comparison(db, all, runs, n, html, error))
    return FALSE;
  for (guint i = 0; i < n; i++)
    add_run(db, all[i], &runs[i], i, n, html);
  g_string_append_printf(html, "<script>%s</script>\n</body>\n</html>\n", report_page_js);
  return TRUE;
}

gboolean report_page(StoreDb *db, const ReportPageRun *runs, guint n, GString *html, GError **error) {
  g_autoptr(GPtrArray) reports = g_ptr_array_new_with_free_func((GDestroyNotify)run_report_free);
  g_autoptr(GString) page = g_string_new(NULL);
  for (guint i = 0; i < n; i++) {
    RunReport *report = store_db_load(db, runs[i].run_id, TRUE, error);
    if (report == NULL)
      return FALSE;
    g_ptr_array_add(reports, report);
  }
  if (!add_body(db, reports, runs, n, page, error))
    return FALSE;
  g_string_append_len(html, page->str, (gssize)page->len);
  return TRUE;
}
