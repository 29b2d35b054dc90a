/* SPDX-License-Identifier: MIT */
/* Expressions: units, precedence, texts, and what is refused with its place. */
#include <string.h>

#include "harness.h"
#include "report-sample.h"
#include "store-expression.h"

static RunReport *sample;

static gboolean holds(const char *text) {
  GError *error = NULL;
  g_autoptr(StoreExpression) expression = store_expression_parse(text, &error);
  if (expression == NULL)
    printf("\n    %s\n", error->message);
  CU_ASSERT_PTR_NOT_NULL_FATAL(expression);
  return store_expression_holds(expression, sample);
}

/* The sample's step in whole microseconds and the picosecond around it: sizes and times compare exactly. */
static void quantities_compare_exactly(void) {
  SimTime step = store_metric_get(store_metric_find("step"), sample).integer;
  const struct {
    SimTime picoseconds;
    gboolean below, equal;
  } cases[] = {{step - 1, FALSE, FALSE}, {step, FALSE, TRUE}, {step + 1, TRUE, FALSE}};
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *less = g_strdup_printf("step < %" G_GINT64_FORMAT " ps", cases[i].picoseconds);
    g_autofree char *equal = g_strdup_printf("step = %" G_GINT64_FORMAT " ps", cases[i].picoseconds);
    CU_ASSERT_EQUAL(holds(less), cases[i].below);
    CU_ASSERT_EQUAL(holds(equal), cases[i].equal);
  }
  CU_ASSERT_TRUE(holds("capacity = 79 GiB")); /* SAMPLE_CAPACITY */
  CU_ASSERT_TRUE(holds("capacity < 79.000001 GiB"));
  CU_ASSERT_FALSE(holds("capacity < 79 GiB"));
}

static void parts_bind_as_in_arithmetic(void) {
  CU_ASSERT_TRUE(holds("2 + 3 * 4 = 14"));
  CU_ASSERT_TRUE(holds("(2 + 3) * 4 = 20"));
  CU_ASSERT_TRUE(holds("12 / 3 / 2 = 2"));
  CU_ASSERT_TRUE(holds("10 - 3 - 2 = 5"));
  CU_ASSERT_TRUE(holds("12 % = 0.12"));
  CU_ASSERT_TRUE(holds("gpus = 16 or gpus = 1 and gpus = 2")); /* "and" binds tighter: true or (false and false) */
  CU_ASSERT_FALSE(holds("(gpus = 16 or gpus = 1) and gpus = 2"));
  CU_ASSERT_TRUE(holds("not gpus = 2 and gpus = 16"));
  CU_ASSERT_TRUE(holds("peak_allocated < 0.95 * capacity and peak_allocated / capacity > 1 %"));
  CU_ASSERT_TRUE(holds("((gpus + 0) * 2 = 32)"));
  CU_ASSERT_TRUE(holds("step > 0.000001 s AND gpus>=16"));
}

static void texts_are_equal_or_not(void) {
  CU_ASSERT_TRUE(holds("verdict = fits"));
  CU_ASSERT_FALSE(holds("verdict = oom"));
  CU_ASSERT_TRUE(holds("verdict != oom and framework != 'no such' or verdict = \"oom\""));
}

static void mistakes_are_shown(void) {
  static const struct {
    const char *text, *said;
  } cases[] = {
      {"step <= 1.9", "a time cannot be compared with a plain number"},
      {"step <= 74 GiB", "a time cannot be compared with a size in bytes"},
      {"stp <= 1.9 s", "column 1: no metric is called \"stp\"; did you mean \"step\"?"},
      {"step <= 1.9 parsec", "is no quantity"},
      {"step + capacity > 1 s", "cannot be added"},
      {"step * step > 1 s", "cannot be multiplied by"},
      {"step", "expected one of <, <=, =, !=, >=, >"},
      {"step < 1 s step", "expected \"and\", \"or\" or the end"},
      {"(step < 1 s", "expected \")\""},
      {"verdict < fits", "expected = or !="},
      {"verdict = 'fits", "never closed"},
      {"", "found the end"},
      {"step < 1 s and", "column 15"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    GError *error = NULL;
    StoreExpression *expression = store_expression_parse(cases[i].text, &error);
    HARNESS_FAILS(expression != NULL, error, cases[i].said);
    store_expression_free(expression);
  }
}

/* 200 000 brackets, or as many words, would end a parser that goes by the stack. */
static void depth_has_an_end(void) {
  static const struct {
    const char *word, *said;
  } cases[] = {{"(", "over 100 brackets"}, {"not ", "over 100 brackets"}, {"step < 1 s and ", "characters"}};
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GString) text = g_string_new(NULL);
    for (int k = 0; k < (i < 2 ? 8000 / (int)strlen(cases[i].word) : 200000); k++)
      g_string_append(text, cases[i].word);
    GError *error = NULL;
    StoreExpression *expression = store_expression_parse(text->str, &error);
    HARNESS_FAILS(expression != NULL, error, cases[i].said);
    store_expression_free(expression);
  }
  CU_ASSERT_TRUE(holds("((((((((((step <= 1e9 s))))))))))"));
}

/* The sample has no price: nothing holds of it, not even that it is small. */
static void what_is_not_known_never_holds(void) {
  double price = sample->price_to_train;
  sample->price_to_train = 0;
  CU_ASSERT_FALSE(holds("price_to_train < 1000000 USD"));
  CU_ASSERT_FALSE(holds("price_to_train >= 0 USD"));
  sample->price_to_train = price;
}

static const char *column(const StoreMetric *metric, gpointer user) {
  return strcmp(metric->name, "step") == 0 ? user : NULL;
}

static void rows_of_text_do_too(void) {
  g_autoptr(StoreExpression) expression = store_expression_parse("step <= 1.9 s", NULL);
  CU_ASSERT_TRUE(store_expression_holds_row(expression, column, NULL, "1900000000000"));
  CU_ASSERT_FALSE(store_expression_holds_row(expression, column, NULL, "1900000000001"));
  CU_ASSERT_FALSE(store_expression_holds_row(expression, column, NULL, NULL));
  CU_ASSERT_STRING_EQUAL(store_expression_metrics(expression)[0]->name, "step");
  CU_ASSERT_PTR_NULL(store_expression_metrics(expression)[1]);
}

static gboolean find_setting(const char *word, StoreSettingFound *ret, G_GNUC_UNUSED gpointer user) {
  static const StoreSettingFound known[] = {{"deepspeed.overlap_comm", STORE_TEXT, "no"},
                                            {"ddp.bucket_cap", STORE_BYTES, "26214400 B"},
                                            {"cluster.nic_bandwidth", STORE_RATE, NULL},
                                            {"environment.hop_latency", STORE_TIME, NULL}};
  for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    if (strcmp(word, known[i].name) == 0 || strcmp(word, strchr(known[i].name, '.') + 1) == 0) {
      *ret = known[i];
      return TRUE;
    }
  return FALSE;
}

static const char *value_of_setting(guint n, gpointer user) {
  return ((const char *const *)user)[n];
}

static const char *no_column(G_GNUC_UNUSED const StoreMetric *metric, G_GNUC_UNUSED gpointer user) {
  return NULL;
}

static gboolean setting_holds(const char *text, const char *value) {
  GError *error = NULL;
  const char *const values[] = {value};
  g_autoptr(StoreExpression) expression = store_expression_parse_over(text, find_setting, NULL, &error);
  if (expression == NULL)
    g_error("%s", error->message);
  return store_expression_holds_row(expression, no_column, value_of_setting, (gpointer)values);
}

/* What a run has not is the default; what has none never holds. Texts of settings are in base units. */
static void settings_count_too(void) {
  CU_ASSERT_TRUE(setting_holds("overlap_comm = no", NULL));
  CU_ASSERT_TRUE(setting_holds("deepspeed.overlap_comm = yes", "yes"));
  CU_ASSERT_FALSE(setting_holds("overlap_comm = yes", NULL));
  CU_ASSERT_TRUE(setting_holds("bucket_cap = 25 MiB", NULL));
  CU_ASSERT_TRUE(setting_holds("ddp.bucket_cap > 25 MiB", "26214401 B"));
  CU_ASSERT_TRUE(setting_holds("nic_bandwidth >= 400 Gb/s", "50000000000 B/s"));
  CU_ASSERT_TRUE(setting_holds("2 * nic_bandwidth = 100 GB/s", "50000000000 B/s"));
  CU_ASSERT_FALSE(setting_holds("nic_bandwidth > 0 GB/s", NULL));
  CU_ASSERT_TRUE(setting_holds("hop_latency = 2.5 us", "2.5e-06 s"));
  GError *error = NULL;
  HARNESS_FAILS(store_expression_parse_over("nic_bandwidth = 3", find_setting, NULL, &error), error,
                "a rate in bytes a second cannot be compared with a plain number");
  HARNESS_FAILS(store_expression_parse("overlap_comm = no", &error), error, "no metric is called \"overlap_comm\"");
}

int main(void) {
  sample = report_sample(3, SAMPLE_CAPACITY);
  int failed = harness_run("expression", (HarnessCase[]){{"quantities", quantities_compare_exactly},
                                                         {"precedence", parts_bind_as_in_arithmetic},
                                                         {"texts", texts_are_equal_or_not},
                                                         {"mistakes", mistakes_are_shown},
                                                         {"depth", depth_has_an_end},
                                                         {"unknown values", what_is_not_known_never_holds},
                                                         {"rows", rows_of_text_do_too},
                                                         {"settings", settings_count_too},
                                                         {NULL, NULL}});
  run_report_free(sample);
  return failed;
}
