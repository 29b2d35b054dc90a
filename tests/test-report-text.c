/* SPDX-License-Identifier: MIT */
/* What people read: the facts stand in the text, and parts add up to their sums as printed. */
#include <json-glib/json-glib.h>
#include <string.h>

#include "harness.h"
#include "report-sample.h"
#include "report-text.h"
#include "report-words.h"
#include "store-metric.h"

#define HAS(text, fragment)                                                                                            \
  do {                                                                                                                 \
    if (strstr((text)->str, (fragment)) == NULL)                                                                       \
      printf("\n    lacks \"%s\" in\n%s\n", (fragment), (text)->str);                                                  \
    CU_ASSERT_PTR_NOT_NULL(strstr((text)->str, (fragment)));                                                           \
  } while (0)
/* The same, wherever lines break. */
#define SAYS(text, sentence)                                                                                           \
  do {                                                                                                                 \
    g_autoptr(GString) unwrapped = unwrap(text);                                                                       \
    HAS(unwrapped, sentence);                                                                                          \
  } while (0)
#define LACKS(text, fragment) CU_ASSERT_PTR_NULL(strstr((text)->str, (fragment)))

static GString *unwrap(const GString *text) {
  GString *flat = g_string_new(NULL);
  for (const char *at = text->str; *at != '\0'; at++)
    if (!g_ascii_isspace(*at))
      g_string_append_c(flat, *at);
    else if (!g_ascii_isspace(at[1]))
      g_string_append_c(flat, ' ');
  return flat;
}

static GString *summary(const RunReport *report) {
  GString *text = g_string_new(NULL);
  report_summary(report, text);
  return text;
}

static GString *stages(RunReport *const *reports, guint n) {
  GString *text = g_string_new(NULL);
  static const char *const all[] = {"ZeRO-0", "ZeRO-1", "ZeRO-2", "ZeRO-3"};
  const char *titles[G_N_ELEMENTS(all)];
  for (guint i = 0; i < n; i++)
    titles[i] = all[reports[i]->identity.zero_stage];
  report_stages(titles, reports, n, text);
  return text;
}

/* The first number after `label`, which begins a line. */
static double number_after(const GString *text, const char *label) {
  g_autofree char *line = g_strconcat("\n", label, " ", NULL);
  const char *at = strstr(text->str, line);
  if (at == NULL)
    printf("\n    no line \"%s\" in\n%s\n", label, text->str);
  CU_ASSERT_PTR_NOT_NULL_FATAL(at);
  at += strlen(line);
  return g_ascii_strtod(at + strspn(at, " "), NULL);
}

static void fits_in_a_page(const GString *text) {
  g_auto(GStrv) lines = g_strsplit(text->str, "\n", -1);
  for (guint i = 0; lines[i] != NULL; i++) {
    CU_ASSERT_TRUE(g_utf8_strlen(lines[i], -1) <= REPORT_WIDTH);
    CU_ASSERT_FALSE(g_str_has_suffix(lines[i], " "));
  }
}

/* Thirds of 1000: 333.33 each, the one left over goes to the first. 1 : 2 : 4 of 10: 1.43, 2.86, 5.71 → floors 1, 2, 5
 * and the two left over to the largest remainders, .86 and .71. */
static void parts_add_up(void) {
  gint64 shares[3];
  report_split((gint64[]){7, 7, 7}, 3, 1000, shares);
  CU_ASSERT_TRUE(shares[0] == 334 && shares[1] == 333 && shares[2] == 333);
  report_split((gint64[]){1, 2, 4}, 3, 10, shares);
  CU_ASSERT_TRUE(shares[0] == 1 && shares[1] == 3 && shares[2] == 6);
  report_split((gint64[]){0, 0, 0}, 3, 10, shares);
  CU_ASSERT_TRUE(shares[0] == 0 && shares[1] == 0 && shares[2] == 0);
  /* What only a damaged database holds: (2^63 - 1) twice and less than nothing, of 2^63 - 1: halves, the odd one
   * first. */
  report_split((gint64[]){G_MAXINT64, G_MAXINT64, G_MININT64}, 3, G_MAXINT64, shares);
  CU_ASSERT_TRUE(shares[0] == G_MAXINT64 / 2 + 1 && shares[1] == G_MAXINT64 / 2 && shares[2] == 0);
  report_split((gint64[]){1, -1, 0}, 3, -5, shares);
  CU_ASSERT_TRUE(shares[0] == 0 && shares[1] == 0 && shares[2] == 0);
  CU_ASSERT_EQUAL(report_centi_ms(G_MAXINT64), G_MAXINT64 / (SIM_MILLISECOND / 100));
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 1000; i++) {
    gint64 parts[5], rounded[5], sum = 0, of_rounded = 0;
    for (int p = 0; p < 5; p++)
      sum += parts[p] = (gint64)(g_rand_double(random) * 1e15);
    gint64 units = g_rand_int_range(random, 0, 1000000);
    report_split(parts, 5, units, rounded);
    for (int p = 0; p < 5; p++) {
      of_rounded += rounded[p];
      double exact = (double)parts[p] * (double)units / (double)sum;
      CU_ASSERT_TRUE((double)rounded[p] > exact - 1.001 && (double)rounded[p] < exact + 1.001);
    }
    CU_ASSERT_EQUAL(of_rounded, units);
  }
}

static void lines_wrap(void) {
  g_autoptr(GString) text = g_string_new(NULL);
  g_autofree char *filler = g_strnfill(91, 'x');
  g_autofree char *words = g_strconcat(filler, " costs 12 % of it", NULL);
  report_wrap(text, "a ", words);
  /* 2 + 91 + 1 + 5 = 99 columns; "12 %" stays together on the next line. */
  g_autofree char *expected = g_strconcat("a ", filler, " costs\n  12 % of it\n", NULL);
  CU_ASSERT_STRING_EQUAL(text->str, expected);
}

static void a_summary_says_what_fits(void) {
  g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
  g_autoptr(GString) text = summary(report);
  fits_in_a_page(text);
  HAS(text, "Llama-2-7B (6.74 B parameters), framework paper, ZeRO-3, on 16 × h100-sxm5-80gb in 2 nodes\n");
  HAS(text, "\nFITS: needs 10.75 GiB of 79.00 GiB per GPU, 68.25 GiB (86.4 %) to spare\n");
  LACKS(text, "if it fitted");
  LACKS(text, "OUT OF MEMORY");
  /* 3 × 13.48 GB of weights and gradients pass, 14/16 of it inside the node: 35.38 and 2.53 GB */
  HAS(text, "Sent per GPU   35.38 GB inside the node, 2.53 GB between nodes\n");
  HAS(text, "MFU 16.6 %, HFU 22.1 %");
  /* The sample's interval is 0.9 to 1.3 of its step of 1008.88 ms and of 356.35 days. */
  HAS(text, "Step time      1008.88 ms  100.0 %  908 to 1312 ms, like 12 validated rows\n");
  HAS(text, "2 T tokens take 356.3 days (320.7 to 463.3) and 403 670 USD\n");
  HAS(text, "Interval of step time: validated: like 12 rows of nobody; 80 % interval of 34 rows (hopper).\n");
  HAS(text, "Memory per GPU at its peak, in the loss: as the host issues lm_head_loss (forward) in steady step 1,\n"
            "168.24 ms after its start\n");
  HAS(text, "slowest of 2 classes of ranks: 2 from rank 14 on");
  HAS(text, "tightest of 2 classes of ranks: 14 from rank 0 on");
  HAS(text, "  - Dropout is off.\n");
  double step = number_after(text, "Step time"), compute = number_after(text, "  compute");
  double exposed = number_after(text, "  exposed"), idle = number_after(text, "  idle");
  CU_ASSERT_DOUBLE_EQUAL(step, 1008.88, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(compute + exposed + idle, step, 1e-6);
  CU_ASSERT_DOUBLE_EQUAL(number_after(text, "    latency") + number_after(text, "    bandwidth"), exposed, 1e-6);
  double memory = 0;
  for (guint t = 0; t < RUN_TENANTS; t++) {
    g_autofree char *label = g_strdup_printf("  %s", run_tenant_names[t]);
    memory += number_after(text, label);
  }
  CU_ASSERT_DOUBLE_EQUAL(memory, number_after(text, "  in all"), 1e-6);
}

static void a_summary_says_what_does_not_fit(void) {
  g_autoptr(RunReport) report = report_sample(0, SAMPLE_CAPACITY);
  report->classes[0].oom.layer = 12;
  g_autoptr(GString) text = summary(report);
  fits_in_a_page(text);
  HAS(text, "\nOUT OF MEMORY: needs 104.10 GiB of 79.00 GiB per GPU, 25.10 GiB are missing\n");
  HAS(text, "25.10 GiB for exp_avg_sq (optimizer) with 3.0 MiB free, by adamw");
  HAS(text, "(layer 12, optimizer) in the first step");
  HAS(text, "on every rank");
  HAS(text, "(if it fitted)\n");
  LACKS(text, "FITS");
  report->classes[1].has_oom = FALSE;
  g_autoptr(GString) partly = summary(report);
  HAS(partly, "on 14 of 16 ranks");
}

/* The class that needs most is not the one whose request fails first. */
static void a_summary_names_the_stage_that_fails_first(void) {
  g_autoptr(RunReport) report = report_sample(0, SAMPLE_CAPACITY);
  RunClass *needs_most = &report->classes[report->tightest], *first = &report->classes[1 - report->tightest];
  needs_most->role = "stage 0: layers 0-7";
  first->role = "stage 1: layers 8-15";
  first->verdict = needs_most->verdict;
  needs_most->oom.at = first->oom.at + SIM_MICROSECOND;
  g_autoptr(GString) text = summary(report);
  HAS(text, "on stage 1: layers 8-15.\n  Of 16 ranks 16 run out.\n");
  first->oom.step = needs_most->oom.step + 1;
  g_autoptr(GString) later = summary(report);
  HAS(later, "on stage 0: layers 0-7.\n  Of 16 ranks 16 run out.\n");
  first->has_oom = FALSE;
  g_autoptr(GString) alone = summary(report);
  HAS(alone, "on stage 0: layers 0-7.\n  Of 16 ranks 14 run out.\n");
}

/* Where stages end together, the one that computes longest is named beside the one whose times stand above. */
static void a_summary_names_the_stage_that_computes_longest(void) {
  g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
  RunClass *slow = &report->classes[report->slowest], *other = &report->classes[1 - report->slowest];
  slow->role = "stage 0: layers 0-7";
  other->role = "stage 1: layers 8-15";
  other->compute = slow->compute + SIM_MILLISECOND;
  other->step = slow->step - 1;
  g_autoptr(GString) sooner = summary(report);
  LACKS(sooner, "it computes longest");
  other->step = slow->step;
  g_autoptr(GString) together = summary(report);
  HAS(together, "Stages end together; it computes longest on stage 1: layers 8-15 (");
  slow->compute = other->compute;
  g_autoptr(GString) alike = summary(report);
  LACKS(alike, "it computes longest");
}

/* Classes of one stage that no figure shown tells apart are one line. */
static void a_stage_has_a_line_for_what_reads_the_same(void) {
  g_autoptr(RunReport) report = report_sample(0, SAMPLE_CAPACITY);
  report->classes[0].role = report->classes[1].role = "stage 0: all";
  const RunClass kept = report->classes[1];
  report->classes[1].compute = report->classes[0].compute;
  report->classes[1].exposed = report->classes[0].exposed;
  report->classes[1].bubble = report->classes[0].bubble;
  report->classes[1].host = report->classes[0].host;
  report->classes[1].peak_allocated = report->classes[0].peak_allocated;
  report->classes[1].device_used = report->classes[0].device_used;
  g_autoptr(GString) one = summary(report);
  HAS(one, "stage 0: all     16  ");
  report->classes[1] = kept;
  report->classes[1].compute = report->classes[0].compute + 10 * SIM_MICROSECOND;
  g_autoptr(GString) two = summary(report);
  LACKS(two, "stage 0: all     16  ");
}

static void a_summary_leaves_out_what_is_not_known(void) {
  g_autoptr(RunReport) report = report_sample(3, SAMPLE_CAPACITY);
  report->price_per_step = report->price_per_million_tokens = report->days_to_train = report->price_to_train = 0;
  report->identity.nodes = 1;
  report->n_classes = 1;
  report->slowest = 0;
  report->step_low = report->step_high = 0;
  report->validated_rows = 0;
  g_clear_pointer(&report->envelope, g_free);
  g_strfreev(g_steal_pointer(&report->identity.notes));
  g_autoptr(GString) text = summary(report);
  HAS(text, "in 1 node\n");
  LACKS(text, "Price");
  LACKS(text, "tokens take");
  LACKS(text, "classes of ranks");
  LACKS(text, "Interval");
  LACKS(text, "validated");
  LACKS(text, "Assumed");
  report->n_classes = 2;
}

static void compare_stages(guint64 capacity, void (*assertions)(RunReport **reports)) {
  RunReport *reports[4];
  for (guint32 stage = 0; stage < 4; stage++)
    reports[stage] = report_sample(stage, capacity);
  assertions(reports);
  for (guint32 stage = 0; stage < 4; stage++)
    run_report_free(reports[stage]);
}

/* Stages that rest on the same say so once. */
static void envelopes_are_told_once(RunReport **reports) {
  g_free(reports[3]->envelope);
  reports[3]->envelope = g_strdup("beyond what was validated: fp8 (bf16)");
  g_autoptr(GString) text = stages(reports, 4);
  HAS(text, "Interval of ZeRO-0, ZeRO-1, ZeRO-2: validated: like 12 rows of nobody; 80 % interval of 34 rows\n");
  HAS(text, "Interval of ZeRO-3: beyond what was validated: fp8 (bf16).\n");
  g_free(reports[3]->envelope);
  reports[3]->envelope = NULL;
  reports[3]->step_low = reports[3]->step_high = 0;
  g_autoptr(GString) unknown = stages(reports, 4);
  HAS(unknown, "  interval, ms                  658 to 950  767 to 1108  767 to 1108        -\n");
  LACKS(unknown, "Interval of ZeRO-3");
}

static void first_does_not_fit(RunReport **reports) {
  g_autoptr(GString) text = stages(reports, 4);
  fits_in_a_page(text);
  HAS(text, "ZeRO-0       ZeRO-1       ZeRO-2       ZeRO-3\n");
  HAS(text, "verdict                                OOM         fits         fits         fits\n");
  HAS(text, "  interval, ms                  658 to 950  767 to 1108  767 to 1108  908 to 1312\n");
  HAS(text, "(730.71)");
  HAS(text, "(…): step time if it fitted\n");
  SAYS(text, " ZeRO-0 needs 104.10 GiB per GPU and 730.71 ms a step if it fitted, 12.68 ms of it exposed communication."
             " It does not fit: 25.10 GiB are missing. ");
  /* Optimizer: 12 bytes for each of 6.738e9 parameters (75.31 GiB) become a sixteenth (4.71 GiB), and its step
   * takes 5.25 ms instead of 8 × 5.25 ms. */
  SAYS(text, " ZeRO-1 frees 70.60 GiB per GPU over ZeRO-0 (optimizer -70.60 GiB) and costs 121.35 ms a step, +16.6 %"
             " (exposed communication +156.86, compute -36.75, idle +1.24 ms). It is the first that fits. ");
  SAYS(text, " ZeRO-2 frees 11.77 GiB per GPU over ZeRO-1 (gradients -11.77 GiB) at the same step time. ");
  SAYS(text,
       " ZeRO-3 frees 10.98 GiB per GPU over ZeRO-2 (parameters -11.77, communication +0.78 GiB) and costs 156.82 ms");
  /* 1 and 2 are equally fast: the one that needs less memory is named. */
  SAYS(text, " Fastest that fits: ZeRO-2, 852.06 ms a step; ZeRO-1 is as fast, for more memory; 1.18 times faster than"
             " ZeRO-3.");
  double sum = number_after(text, "  compute, ms") + number_after(text, "  exposed communication, ms") +
               number_after(text, "  idle, ms");
  CU_ASSERT_DOUBLE_EQUAL(sum, 730.71, 1e-6);
}

static void none_fits(RunReport **reports) {
  g_autoptr(GString) text = stages(reports, 4);
  SAYS(text, " It still does not fit: 23.49 GiB are missing. ");
  SAYS(text, " None fits; ZeRO-3 comes nearest and lacks 763.5 MiB per GPU.");
  LACKS(text, "Fastest");
  LACKS(text, "first that fits");
}

static void all_fit(RunReport **reports) {
  RunReport *backwards[] = {reports[3], reports[1]};
  g_autoptr(GString) text = stages(reports, 4);
  g_autoptr(GString) turned = stages(backwards, 2);
  LACKS(text, "if it fitted");
  LACKS(text, "not fit");
  LACKS(text, "first that fits");
  SAYS(text, " Fastest that fits: ZeRO-0, 730.71 ms a step; 1.17 times faster than ZeRO-1; ");
  /* 13.48 GB of parameters and as many gradients, less a sixteenth: 11.77 GiB each. */
  SAYS(turned, " ZeRO-1 takes 22.75 GiB more per GPU than ZeRO-3 (parameters +11.77, gradients +11.77, communication"
               " -0.78 GiB) and saves 156.82 ms a step, -15.5 % (exposed communication -158.10, idle +1.28 ms). ");
}

static void equal_stages_are_said_to_be_equal(RunReport **reports) {
  RunReport *twice[] = {reports[1], reports[1]};
  g_autoptr(GString) text = stages(twice, 2);
  SAYS(text, " ZeRO-1 needs as much memory as ZeRO-1 at the same step time. ");
}

/* Equal compute, 100.004 ms, beside 50.004 and 60.000 ms exposed: steps of 150.008 and 160.004 ms, which as hundredths
 * share out to 100.01 + 50.00 and 100.00 + 60.00. Exposed grew by 9.996 ms, compute not at all. A tenant that grew by
 * two bytes over a rounding edge, 0.005 GiB = 5368709.12 bytes, did not grow by a hundredth. */
static void what_rounding_makes_is_not_said(RunReport **reports) {
  RunReport *two[] = {reports[1], reports[2]};
  for (int i = 0; i < 2; i++) {
    RunClass *slow = &two[i]->classes[two[i]->slowest], *tight = &two[i]->classes[two[i]->tightest];
    slow->compute = 100004 * SIM_MICROSECOND;
    slow->exposed = (i == 0 ? 50004 : 60000) * SIM_MICROSECOND;
    slow->idle = 0;
    slow->step = slow->compute + slow->exposed;
    memset(tight->peak_held, 0, sizeof tight->peak_held);
    tight->peak_held[0] = 5368708 + 2 * (guint64)i;
    tight->device_used = tight->peak_held[0];
  }
  g_autoptr(GString) text = stages(two, 2);
  HAS(text, "compute, ms                        100.01       100.00\n");
  SAYS(text,
       " ZeRO-2 needs as much memory as ZeRO-1 and costs 10.00 ms a step, +6.7 % (exposed communication +10.00 ms).");
}

static void stages_whose_parts_round(void) {
  compare_stages(SAMPLE_CAPACITY, what_rounding_makes_is_not_said);
}

static void stages_that_rest_on_the_same(void) {
  compare_stages(SAMPLE_CAPACITY, envelopes_are_told_once);
}

static void stages_that_do_not_fit(void) {
  compare_stages(SAMPLE_CAPACITY, first_does_not_fit);
}

static void stages_of_which_none_fits(void) {
  compare_stages((guint64)10 << 30, none_fits);
}

static void stages_that_all_fit(void) {
  compare_stages((guint64)200 << 30, all_fit);
}

static void stages_that_are_equal(void) {
  compare_stages(SAMPLE_CAPACITY, equal_stages_are_said_to_be_equal);
}

static void json_holds_every_column(void) {
  g_autoptr(RunReport) report = report_sample(0, SAMPLE_CAPACITY);
  report->price_per_step = 0;
  g_autoptr(GString) text = g_string_new(NULL);
  report_json(report, text);
  g_autoptr(JsonParser) parser = json_parser_new();
  CU_ASSERT_TRUE_FATAL(json_parser_load_from_data(parser, text->str, -1, NULL));
  JsonObject *object = json_node_get_object(json_parser_get_root(parser));
  CU_ASSERT_EQUAL(json_object_get_int_member(object, "json_version"), 1);
  for (gsize i = 0; i < store_n_metrics; i++) {
    const StoreMetric *metric = &store_metrics[i];
    CU_ASSERT_TRUE_FATAL(json_object_has_member(object, metric->column));
    if (metric->unit == STORE_TEXT)
      CU_ASSERT_STRING_EQUAL(json_object_get_string_member(object, metric->column),
                             store_metric_get(metric, report).string)
    else if (store_metric_is_whole(metric))
      CU_ASSERT_EQUAL(json_object_get_int_member(object, metric->column), store_metric_get(metric, report).integer)
    else if (store_metric_get(metric, report).real != 0)
      CU_ASSERT_EQUAL(json_object_get_double_member(object, metric->column), store_metric_get(metric, report).real)
  }
  CU_ASSERT_TRUE(json_object_get_null_member(object, "price_per_step"));
  JsonObject *causes = json_object_get_object_member(object, "causes_ps");
  gint64 exposed = 0;
  for (guint cause = 0; cause < RUN_CAUSE_BUBBLE; cause++)
    exposed += json_object_get_int_member(causes, run_cause_names[cause]);
  CU_ASSERT_EQUAL(exposed, json_object_get_int_member(object, "exposed_ps"));
  JsonObject *memory = json_object_get_object_member(object, "memory_at_peak");
  gint64 used = 0;
  for (guint t = 0; t < RUN_TENANTS; t++)
    used += json_object_get_int_member(json_object_get_object_member(memory, run_tenant_names[t]), "bytes");
  CU_ASSERT_EQUAL(used, json_object_get_int_member(object, "device_used_bytes"));
  JsonObject *oom = json_object_get_object_member(object, "oom");
  CU_ASSERT_STRING_EQUAL(json_object_get_string_member(oom, "tensor"), "exp_avg_sq");
  CU_ASSERT_TRUE(json_object_get_null_member(oom, "layer"));
  JsonArray *classes = json_object_get_array_member(object, "rank_classes");
  CU_ASSERT_EQUAL_FATAL(json_array_get_length(classes), 2);
  CU_ASSERT_EQUAL(json_object_get_int_member(json_array_get_object_element(classes, 0), "step_ps"),
                  report->classes[0].step);
  JsonObject *setting =
      json_object_get_object_member(json_object_get_object_member(object, "settings"), "cluster.nodes");
  CU_ASSERT_STRING_EQUAL(json_object_get_string_member(setting, "origin"), "file");
  CU_ASSERT_EQUAL(json_array_get_length(json_object_get_array_member(object, "notes")), 2);
}

static void json_of_stages_is_an_array(void) {
  RunReport *reports[] = {report_sample(0, SAMPLE_CAPACITY), report_sample(3, SAMPLE_CAPACITY)};
  g_autoptr(GString) text = g_string_new(NULL);
  report_stages_json((const char *const[]){"ZeRO-0", "ZeRO-3"}, reports, 2, text);
  CU_ASSERT_TRUE(g_str_has_suffix(text->str, "]\n"));
  g_autoptr(JsonParser) parser = json_parser_new();
  CU_ASSERT_TRUE_FATAL(json_parser_load_from_data(parser, text->str, -1, NULL));
  JsonArray *array = json_node_get_array(json_parser_get_root(parser));
  CU_ASSERT_EQUAL_FATAL(json_array_get_length(array), 2);
  JsonObject *last = json_array_get_object_element(array, 1);
  CU_ASSERT_EQUAL(json_object_get_int_member(last, "zero_stage"), 3);
  CU_ASSERT_STRING_EQUAL(json_object_get_string_member(last, "title"), "ZeRO-3");
  CU_ASSERT_TRUE(json_object_get_null_member(last, "oom"));
  run_report_free(reports[0]);
  run_report_free(reports[1]);
}

int main(void) {
  return harness_run(
      "report-text",
      (HarnessCase[]){
          {"parts add up", parts_add_up},
          {"lines wrap", lines_wrap},
          {"a summary says what fits", a_summary_says_what_fits},
          {"a summary says what does not fit", a_summary_says_what_does_not_fit},
          {"a summary names the stage that fails first", a_summary_names_the_stage_that_fails_first},
          {"a summary names the stage that computes longest", a_summary_names_the_stage_that_computes_longest},
          {"a stage has a line for what reads the same", a_stage_has_a_line_for_what_reads_the_same},
          {"what is not known is left out", a_summary_leaves_out_what_is_not_known},
          {"envelopes of stages", stages_that_rest_on_the_same},
          {"stages, the first does not fit", stages_that_do_not_fit},
          {"stages, none fits", stages_of_which_none_fits},
          {"stages, all fit", stages_that_all_fit},
          {"stages, equal ones", stages_that_are_equal},
          {"stages, parts that round", stages_whose_parts_round},
          {"JSON holds every column", json_holds_every_column},
          {"JSON of stages is an array", json_of_stages_is_an_array},
          {NULL, NULL},
      });
}
