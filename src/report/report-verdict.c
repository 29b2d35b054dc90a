/* SPDX-License-Identifier: MIT */
/* The verdict and the memory of the tightest class of ranks. */
#include "report-verdict.h"

#include "base-table.h"
#include "report-words.h"

static double percent(guint64 part, guint64 whole) {
  return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

static guint64 sum_of(const guint64 held[RUN_TENANTS]) {
  guint64 sum = 0;
  for (guint t = 0; t < RUN_TENANTS; t++)
    sum += held[t];
  return sum;
}

/* Nothing of a report from the database, which does not keep it. */
static void print_held_then(const RunOom *oom, guint64 capacity, GString *text) {
  if (sum_of(oom->held) == 0)
    return;
  g_autoptr(GString) words = g_string_new("Held then:");
  for (guint t = 0; t < RUN_TENANTS; t++)
    if (oom->held[t] > 0) {
      g_autofree char *held = base_format_memory(oom->held[t]);
      g_string_append_printf(words, " %s %s,", run_tenant_names[t], held);
    }
  guint64 held = sum_of(oom->held) + oom->free;
  g_autofree char *lost = base_format_memory(capacity > held ? capacity - held : 0);
  g_string_append_printf(words, " and %s in rounding and in pieces of segments that are in use.", lost);
  report_wrap(text, "  ", words->str);
}

/* Ranks of which a request fails. */
static guint32 run_out(const RunReport *report) {
  guint32 ranks = 0;
  for (guint32 i = 0; i < report->n_classes; i++)
    ranks += report->classes[i].has_oom ? report->classes[i].ranks : 0;
  return ranks;
}

/* Whose request fails before any other's, of the classes that decide the verdict; `tight` is one of them. */
static const RunClass *first_to_fail(const RunReport *report, const RunClass *tight) {
  const RunClass *first = tight;
  for (guint32 i = 0; i < report->n_classes; i++) {
    const RunClass *one = &report->classes[i];
    if (!one->has_oom || one->verdict != tight->verdict)
      continue;
    gboolean sooner = one->oom.step == first->oom.step ? one->oom.at < first->oom.at : one->oom.step < first->oom.step;
    if (sooner)
      first = one;
  }
  return first;
}

/* "on every rank", "on 8 of 16 ranks", "on stage 1: layers 8-15"; caller frees. */
static char *where_it_fails(const RunReport *report, const RunClass *first) {
  guint32 ranks = run_out(report), gpus = report->identity.gpus;
  if (first->role != NULL)
    return g_strdup_printf("on %s", first->role);
  return ranks == gpus ? g_strdup("on every rank") : g_strdup_printf("on %u of %u ranks", ranks, gpus);
}

static void print_request(const RunReport *report, const RunClass *first, GString *text) {
  const RunOom *oom = &first->oom;
  g_autofree char *requested = base_format_memory(oom->requested);
  g_autofree char *available = base_format_memory(oom->free);
  g_autofree char *row = report_row(oom->name, oom->layer, oom->phase);
  g_autofree char *step = report_step(oom->step);
  g_autofree char *at = base_format_time(oom->at);
  g_autofree char *where = where_it_fails(report, first);
  g_autofree char *words =
      g_strdup_printf("The first request that fails: %s for %s (%s) with %s free, by %s %s, %s after its start, %s.",
                      requested, oom->tensor, oom->tenant, available, row, step, at, where);
  report_wrap(text, "  ", words);
  if (first->role != NULL)
    g_string_append_printf(text, "  Of %u ranks %u run out.\n", report->identity.gpus, run_out(report));
  if (g_str_equal(oom->tenant, run_tenant_names[RUN_TENANTS - 1]))
    report_wrap(text, "  ", "It is no tensor's: PyTorch's allocator does not give its cache back for it.");
  print_held_then(oom, first->capacity, text);
}

static void print_retries(const RunClass *tight, GString *text) {
  if (tight->retries == 0)
    return;
  g_autofree char *stalled = base_format_time(tight->step_stalled);
  g_autofree char *words = g_strdup_printf(
      "The allocator gives its cache back %" G_GUINT64_FORMAT " times to make room (alloc retries), %" G_GUINT64_FORMAT
      " of them in the last step, whose host waits %s for all streams and for the device's allocator.",
      tight->retries, tight->step_retries, stalled);
  report_wrap(text, "  ", words);
}

const char *report_verdict_word(RunVerdict verdict) {
  static const char *const words[] = {[RUN_FITS] = "fits", [RUN_EDGE] = "edge", [RUN_OOM] = "OOM"};
  return words[verdict];
}

/* Why nobody can tell whether it fits. */
static void print_edge(const RunClass *tight, GString *text) {
  g_autofree char *low = base_format_gib(tight->device_used_low);
  g_autofree char *high = base_format_gib(tight->device_used_high);
  gboolean lies_within = tight->device_used_low <= tight->capacity && tight->capacity < tight->device_used_high;
  g_autofree char *words =
      lies_within
          ? g_strdup_printf("Whether it fits cannot be told: by the errors of published peaks it may need from "
                            "%s to %s.",
                            low, high)
          : g_strdup("It fits only because the allocator gives its cache back: what is in pieces then decides.");
  report_wrap(text, "  ", words);
}

static void print_host(const RunReport *report, GString *text) {
  g_autofree char *need = base_format_gib(report->host_used);
  g_autofree char *capacity = base_format_gib(report->host_capacity);
  g_string_append_printf(text, "\nOUT OF HOST MEMORY: %s %s of states in each node's %s\n",
                         report->paged_host > 0 ? "pages take" : "offload keeps", need, capacity);
}

static void print_paged(const RunReport *report, GString *text) {
  if (report->paged_host == 0)
    return;
  g_autofree char *all = base_format_memory(report->paged);
  g_autofree char *host = base_format_memory(report->paged_host);
  g_autofree char *words = g_strdup_printf("Of %s of paged optimizer states %s lie in host memory between steps; each "
                                           "step moves all of them in and out (move paged states).",
                                           all, host);
  report_wrap(text, "  ", words);
}

void report_verdict(const RunReport *report, GString *text) {
  static const char *const heads[] = {[RUN_FITS] = "FITS", [RUN_EDGE] = "AT THE EDGE", [RUN_OOM] = "OUT OF MEMORY"};
  const RunClass *tight = run_report_tightest(report);
  g_autofree char *need = base_format_gib(tight->device_used);
  g_autofree char *capacity = base_format_gib(tight->capacity);
  if (run_report_host_short(report)) {
    print_host(report, text);
    return;
  }
  g_string_append_printf(text, "\n%s: needs %s of %s per GPU, ", heads[report->verdict], need, capacity);
  if (tight->has_oom) {
    g_autofree char *missing = base_format_memory(tight->short_by);
    g_string_append_printf(text, "%s are missing\n", missing);
  } else {
    guint64 spare = tight->capacity - tight->device_used;
    g_autofree char *room = base_format_memory(spare);
    g_string_append_printf(text, "%s (%.1f %%) to spare\n", room, percent(spare, tight->capacity));
  }
  if (report->verdict == RUN_EDGE)
    print_edge(tight, text);
  if (tight->has_oom)
    print_request(report, first_to_fail(report, tight), text);
  else
    print_retries(tight, text);
  print_paged(report, text);
}

static void memory_row(BaseTable *table, const char *name, gint64 centi_gib, const char *share, const char *unique) {
  base_table_cell(table, "%s", name);
  base_table_cell(table, "%.2f GiB", (double)centi_gib / 100);
  base_table_cell(table, "%s", share);
  base_table_cell(table, "%s", unique);
}

static void print_peak(const RunClass *tight, GString *text) {
  g_autofree char *row = report_row(tight->peak_name, tight->peak_layer, tight->peak_phase);
  g_autofree char *step = report_step(tight->peak_step);
  g_autofree char *at = base_format_time(tight->peak_at);
  g_autofree char *where =
      g_strdup_printf("Memory per GPU at its peak, in %s: as the host issues %s %s, %s after its start",
                      report_place(tight->peak_name, tight->peak_layer, tight->peak_phase), row, step, at);
  g_string_append_c(text, '\n');
  report_wrap(text, "", where);
}

static void print_numbers(const RunClass *tight, GString *text) {
  g_autofree char *allocated = base_format_memory(tight->peak_allocated);
  g_autofree char *active = base_format_memory(tight->peak_active);
  g_autofree char *reserved = base_format_memory(tight->peak_reserved);
  g_autofree char *device = base_format_memory(tight->device_used);
  g_autofree char *steady = base_format_memory(tight->steady_allocated);
  g_autofree char *step = report_step(tight->device_used_step);
  g_autofree char *words = g_strdup_printf("Peaks: %s allocated, %s active, %s reserved, %s on the device "
                                           "(nvidia-smi), there first %s. Between steps %s stay "
                                           "allocated.",
                                           allocated, active, reserved, device, step, steady);
  report_wrap(text, "", words);
}

void report_memory_table(const RunReport *report, GString *text) {
  const RunClass *tight = run_report_tightest(report);
  gint64 levels[REPORT_LEVELS], shares[REPORT_LEVELS];
  report_memory_levels(tight, levels);
  report_split(levels, REPORT_LEVELS, 1000, shares);
  print_peak(tight, text);
  g_autoptr(BaseTable) table = base_table_new();
  base_table_head(table, "", BASE_LEFT);
  base_table_head(table, "", BASE_RIGHT);
  base_table_head(table, "", BASE_RIGHT);
  base_table_head(table, "", BASE_RIGHT);
  for (guint t = 0; t < REPORT_LEVELS; t++) {
    gboolean is_tenant = t < RUN_TENANTS;
    g_autofree char *share = g_strdup_printf("%.1f %%", (double)shares[t] / 10);
    g_autofree char *unique = is_tenant && tight->peak_unique[t] < tight->peak_held[t]
                                  ? g_strdup_printf("%.2f GiB unique", base_in_gib(tight->peak_unique[t]))
                                  : g_strdup("");
    memory_row(table, report_level_name(t), levels[t], share, unique);
  }
  base_table_rule(table);
  memory_row(table, "in all", report_centi_gib(tight->device_used), "100.0 %", "");
  memory_row(table, "capacity", report_centi_gib(tight->capacity), "", "");
  base_table_print(table, 2, text);
  print_numbers(tight, text);
  if (report->n_classes > 1)
    g_string_append_printf(text, "Memory is that of the tightest of %u classes of ranks: %u from rank %u on.\n",
                           report->n_classes, tight->ranks, tight->first_rank);
}
