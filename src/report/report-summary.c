/* SPDX-License-Identifier: MIT */
/* One run on one page: what was asked, and where the time goes; whether it fits and who holds the memory is told by
 * report-verdict. */
#include "base-table.h"
#include "report-awaited.h"
#include "report-classes.h"
#include "report-text.h"
#include "report-verdict.h"
#include "report-words.h"

static double percent(double part, double whole) {
  return whole > 0 ? 100 * part / whole : 0;
}

void report_title(const RunIdentity *identity, GString *text) {
  g_autofree char *parameters = base_format_large((double)identity->parameters);
  g_autofree char *asked =
      g_strdup_printf("%s (%s parameters), framework %s, ZeRO-%u, on %u × %s in %u node%s", identity->model, parameters,
                      identity->framework, identity->zero_stage, identity->gpus, identity->gpu, identity->nodes,
                      identity->nodes == 1 ? "" : "s");
  report_wrap(text, "", asked);
  g_autofree char *recipe =
      g_strdup_printf("sequence %" G_GUINT64_FORMAT ", micro-batch %" G_GUINT64_FORMAT " × %" G_GUINT64_FORMAT
                      " accumulated, global batch %" G_GUINT64_FORMAT ", %s, activation checkpointing %s",
                      identity->sequence_length, identity->micro_batch, identity->gradient_accumulation,
                      identity->global_batch, identity->precision, identity->activation_checkpointing);
  report_wrap(text, "", recipe);
  g_autofree char *layout = report_layout(identity);
  if (layout != NULL)
    report_wrap(text, "", layout);
}

static void time_row(BaseTable *table, const char *name, gint64 centi_ms, gint64 per_mille, const char *meaning) {
  base_table_cell(table, "%s", name);
  base_table_cell(table, "%.2f ms", (double)centi_ms / 100);
  base_table_cell(table, "%.1f %%", (double)per_mille / 10);
  base_table_cell(table, "%s", meaning);
}

const char *const report_cause_meanings[RUN_CAUSES] = {
    [RUN_CAUSE_TAIL] = "nothing is left to compute",
    [RUN_CAUSE_HOST] = "the host had not issued the collective yet",
    [RUN_CAUSE_SERIALISED] = "it queued behind another collective",
    [RUN_CAUSE_STRAGGLER] = "it waited for a slower rank",
    [RUN_CAUSE_BOUNDARY] = "it starts only at the end of the step",
    [RUN_CAUSE_BUCKET_FILL] = "its bucket filled late",
    [RUN_CAUSE_LATENCY] = "its latency, whatever the bandwidth",
    [RUN_CAUSE_BANDWIDTH] = "its bytes were on the way",
    [RUN_CAUSE_BUBBLE] = "the pipeline has no micro-batch here",
    [RUN_CAUSE_HOST_IDLE] = "the host had launched nothing yet",
};

/* Causes first … last - 1, which share what their sum shows; each with the collective that it is mostly about. */
static void cause_rows(BaseTable *table, const ReportAwaited *awaited, const RunClass *slow, guint first, guint last,
                       gint64 time, gint64 share) {
  gint64 times[RUN_CAUSES], shares[RUN_CAUSES];
  report_split(slow->by_cause + first, last - first, time, times);
  report_split(slow->by_cause + first, last - first, share, shares);
  for (guint cause = first; cause < last; cause++)
    if (slow->by_cause[cause] > 0) {
      g_autofree char *name = g_strdup_printf("    %s", run_cause_names[cause]);
      const char *most = report_awaited_most(awaited, cause);
      g_autofree char *meaning = most != NULL ? g_strdup_printf("%s: %s", report_cause_meanings[cause], most)
                                              : g_strdup(report_cause_meanings[cause]);
      time_row(table, name, times[cause - first], shares[cause - first], meaning);
    }
}

/* "539 to 1557 ms, beyond what was validated (if it fitted)" */
static char *step_meaning(const RunReport *report) {
  g_autofree char *interval = report_interval(report->step_low, report->step_high);
  GString *words = g_string_new(NULL);
  if (interval != NULL)
    g_string_append_printf(words, "%s ms", interval);
  if (report->validated_rows > 0)
    g_string_append_printf(words, "%slike %u validated row%s", words->len > 0 ? ", " : "", report->validated_rows,
                           report->validated_rows == 1 ? "" : "s");
  else if (report->envelope != NULL)
    g_string_append_printf(words, "%sbeyond what was validated", words->len > 0 ? ", " : "");
  if (run_report_runs_out(report))
    g_string_append_printf(words, "%s(if it fitted)", words->len > 0 ? " " : "");
  return g_string_free(words, FALSE);
}

/* Stages that end together: where the work is, which those whose times stand above may only wait for. */
static void print_busiest(const RunReport *report, const RunClass *slow, GString *text) {
  const RunClass *busiest = slow;
  for (guint32 i = 0; i < report->n_classes; i++)
    if (report->classes[i].compute > busiest->compute)
      busiest = &report->classes[i];
  if (busiest == slow || slow->role == NULL || busiest->step != slow->step)
    return;
  g_autofree char *words =
      g_strdup_printf("Stages end together; it computes longest on %s (%.2f ms, exposed %.2f ms, bubble %.2f ms).",
                      busiest->role, (double)report_centi_ms(busiest->compute) / 100,
                      (double)report_centi_ms(busiest->exposed) / 100, (double)report_centi_ms(busiest->bubble) / 100);
  report_wrap(text, "", words);
}

/* Whose times stand above, of several classes. */
static void print_whose(const RunReport *report, const RunClass *slow, GString *text) {
  if (report->n_classes > 1 && report->n_classes == report->identity.gpus)
    g_string_append_printf(text, "Times are those of the slowest of %u ranks, rank %u.\n", report->n_classes,
                           slow->first_rank);
  else if (report->n_classes > 1)
    g_string_append_printf(text, "Times are those of the slowest of %u classes of ranks: %u from rank %u on.\n",
                           report->n_classes, slow->ranks, slow->first_rank);
  print_busiest(report, slow, text);
}

static void print_step(const RunReport *report, GString *text) {
  const RunClass *slow = run_report_slowest(report);
  const gint64 parts[] = {slow->compute, slow->exposed, slow->idle};
  gint64 times[3], shares[3];
  report_split(parts, 3, report_centi_ms(slow->step), times);
  report_split(parts, 3, 1000, shares);
  g_autoptr(ReportAwaited) awaited = report_awaited_new(slow);
  g_autoptr(BaseTable) table = base_table_new();
  base_table_head(table, "", BASE_LEFT);
  base_table_head(table, "", BASE_RIGHT);
  base_table_head(table, "", BASE_RIGHT);
  base_table_head(table, "", BASE_LEFT);
  g_autofree char *meaning = step_meaning(report);
  time_row(table, "Step time", report_centi_ms(slow->step), 1000, meaning);
  time_row(table, "  compute", times[0], shares[0], "");
  time_row(table, "  exposed", times[1], shares[1], "communication while no compute runs");
  cause_rows(table, awaited, slow, 0, RUN_CAUSE_BUBBLE, times[1], shares[1]);
  time_row(table, "  idle", times[2], shares[2], "neither");
  cause_rows(table, awaited, slow, RUN_CAUSE_BUBBLE, RUN_CAUSES, times[2], shares[2]);
  g_string_append_c(text, '\n');
  base_table_print(table, 0, text);
  SimTime hidden = slow->communication - slow->exposed;
  g_string_append_printf(text, "Communication takes %.2f ms, of which %.2f ms (%.1f %%) hide behind compute.\n",
                         (double)report_centi_ms(slow->communication) / 100, (double)report_centi_ms(hidden) / 100,
                         percent((double)hidden, (double)slow->communication));
  const char *label = "step time";
  report_envelopes(&label, (const char *const *)&report->envelope, 1, text);
  print_whose(report, slow, text);
}

static void print_price(const RunReport *report, GString *text) {
  if (report->price_per_step > 0)
    g_string_append_printf(text, "Price          %.4f USD per step, %.3f USD per million tokens\n",
                           report->price_per_step, report->price_per_million_tokens);
  if (report->days_to_train <= 0)
    return;
  g_autofree char *tokens = base_format_large(report->identity.total_tokens);
  double step = (double)run_report_slowest(report)->step, low = (double)report->step_low,
         high = (double)report->step_high;
  g_string_append_printf(text, "Training       %s tokens take %.1f days", tokens, report->days_to_train);
  if (low > 0)
    g_string_append_printf(text, " (%.1f to %.1f)", report->days_to_train * low / step,
                           report->days_to_train * high / step);
  if (report->price_to_train > 0) {
    g_autofree char *price = base_format_count((guint64)(report->price_to_train + 0.5));
    g_string_append_printf(text, " and %s USD", price);
  }
  g_string_append_c(text, '\n');
}

/* [power] or a power cap is among its settings. */
static gboolean asks_for_energy(const RunIdentity *identity) {
  for (guint32 i = 0; i < identity->n_settings; i++)
    if (g_str_has_prefix(identity->settings[i].name, "power.") ||
        g_str_equal(identity->settings[i].name, "cluster.power_cap"))
      return TRUE;
  return FALSE;
}

static void print_energy(const RunReport *report, GString *text) {
  if (report->gpu_power <= 0 || !asks_for_energy(&report->identity))
    return;
  g_string_append_printf(text, "Energy         %.0f W per GPU; with node and building %.4f kWh per step",
                         report->gpu_power, report->energy_per_step);
  if (report->energy_to_train > 0) {
    g_autofree char *whole = base_format_count((guint64)(report->energy_to_train + 0.5));
    g_string_append_printf(text, ", %s kWh to train", whole);
  }
  if (report->energy_cost > 0) {
    g_autofree char *price = base_format_count((guint64)(report->energy_cost + 0.5));
    g_string_append_printf(text, " for %s USD", price);
  }
  g_string_append_c(text, '\n');
}

static void print_rates(const RunReport *report, GString *text) {
  const RunClass *slow = run_report_slowest(report);
  g_autofree char *intra = base_format_gb(slow->network_bytes_intra);
  g_autofree char *inter = base_format_gb(slow->network_bytes_inter);
  g_autofree char *all = base_format_count((guint64)(report->tokens_per_second + 0.5));
  g_autofree char *each = base_format_count((guint64)(report->tokens_per_second_per_gpu + 0.5));
  g_string_append_printf(text, "\nSent per GPU   %s inside the node, %s between nodes\n", intra, inter);
  g_string_append_printf(text, "Throughput     %s tokens/s, %s per GPU; MFU %.1f %%, HFU %.1f %%\n", all, each,
                         100 * report->model_flops_utilisation, 100 * report->hardware_flops_utilisation);
  print_price(report, text);
  print_energy(report, text);
}

void report_summary(const RunReport *report, GString *text) {
  report_title(&report->identity, text);
  report_verdict(report, text);
  print_step(report, text);
  report_classes(report, text);
  print_rates(report, text);
  report_memory_table(report, text);
  char **notes = report->identity.notes;
  if (notes == NULL || notes[0] == NULL)
    return;
  g_string_append(text, "\nAssumed\n");
  for (guint i = 0; notes[i] != NULL; i++)
    report_wrap(text, "  - ", notes[i]);
}
