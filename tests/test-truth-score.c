/* SPDX-License-Identifier: MIT */
/* Errors summed up, by hand: quantiles, bias, groups and headlines over rows that are made up. */
#include <string.h>

#include "harness.h"
#include "truth-score.h"

static TruthError sum_of(const double *errors, guint n) {
  g_autoptr(GArray) array = g_array_new(FALSE, FALSE, sizeof(double));
  g_array_append_vals(array, errors, n);
  return truth_score_sum(array);
}

static void sums(void) {
  /* Sizes 0.1, 0.2, 0.3, 0.4: mean 0.25, median (0.2 + 0.3) / 2, 90th percentile by nearest rank ceil(3.6) = 4th; bias
   * (-0.4 + 0.1 + 0.3 - 0.2) / 4 = -0.05. */
  TruthError four = sum_of((double[]){-0.4, 0.1, 0.3, -0.2}, 4);
  CU_ASSERT_EQUAL(four.n, 4);
  CU_ASSERT_DOUBLE_EQUAL(four.mean, 0.25, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(four.median, 0.25, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(four.p90, 0.4, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(four.worst, 0.4, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(four.bias, -0.05, 1e-12);
  /* Ten: ceil(9) = the 9th of ten, not the last; eleven: ceil(9.9) = the 10th. */
  double many[11];
  for (int i = 0; i < 11; i++)
    many[i] = i + 1;
  CU_ASSERT_EQUAL(sum_of(many, 10).p90, 9);
  CU_ASSERT_EQUAL(sum_of(many, 10).median, 5.5);
  CU_ASSERT_EQUAL(sum_of(many, 11).p90, 10);
  CU_ASSERT_EQUAL(sum_of(many, 11).median, 6);
  CU_ASSERT_EQUAL(sum_of(many, 1).p90, 1);
  CU_ASSERT_EQUAL(sum_of(many, 0).n, 0);
}

static void tiers(void) {
  CU_ASSERT_EQUAL(truth_score_tier("data-parallel-A"), 'A');
  CU_ASSERT_EQUAL(truth_score_tier("hybrid-C"), 'C');
  CU_ASSERT_EQUAL(truth_score_tier("fits"), 0);
  CU_ASSERT_EQUAL(truth_score_tier("plan-D"), 0);
  CU_ASSERT_EQUAL(truth_score_tier("A"), 0);
}

/* Of 80 bytes: 48 are 0.6, 120 are 1.5; what is temporary does not count. */
static void hard_cases(void) {
  TruthRow row = {.breakdown.capacity = 80};
  guint held[][2] = {{47, FALSE}, {48, TRUE}, {120, TRUE}, {121, FALSE}};
  for (gsize i = 0; i < G_N_ELEMENTS(held); i++) {
    for (int tenant = 0; tenant < RUN_TENANTS; tenant++) {
      const char *name = run_tenant_names[tenant];
      row.breakdown.held[tenant] = strcmp(name, "optimizer") == 0     ? 40
                                   : strcmp(name, "activations") == 0 ? held[i][0] - 40
                                   : strcmp(name, "temporary") == 0   ? 1000
                                                                      : 0;
    }
    CU_ASSERT_EQUAL(truth_score_is_hard(&row), (gboolean)held[i][1]);
  }
}

static void add(TruthResult *result, const TruthTable *table, const char *source, const char *set, double predicted) {
  TruthRow row = {.table = table, .source = source, .set = set, .ran = predicted > 0};
  for (int kind = 0; kind < STORE_MEASURES; kind++)
    row.measured[kind] = row.predicted[kind] = STORE_UNKNOWN;
  row.measured[STORE_MEASURE_STEP_TIME] = 1;
  row.measured[STORE_MEASURE_FITS] = 1;
  if (predicted > 0) {
    row.predicted[STORE_MEASURE_STEP_TIME] = predicted;
    row.predicted[STORE_MEASURE_FITS] = predicted < 2;
  }
  g_array_append_val(result->rows, row);
}

/* Source x: errors 0.1 (A), -0.2 (B), together median 0.15, bias -0.05; its tier C is not averaged in. Source y: 0.5,
 * and a row that did not run. Median of 0.15 and 0.5: 0.325. All three: sizes 0.1, 0.2, 0.5. */
static void groups_and_headlines(void) {
  TruthTable table = {0};
  g_autoptr(GArray) rows = g_array_new(FALSE, FALSE, sizeof(TruthRow));
  TruthResult result = {.rows = rows};
  add(&result, &table, "y", "made-A", 1.5);
  add(&result, &table, "x", "made-B", 0.8);
  add(&result, &table, "x", "made-A", 1.1);
  add(&result, &table, "x", "made-C", 9);
  add(&result, &table, "y", "made-A", 0);
  g_autoptr(GArray) groups = truth_score_groups(&result);
  CU_ASSERT_EQUAL_FATAL(groups->len, 4);
  const TruthGroup *group = &g_array_index(groups, TruthGroup, 2);
  CU_ASSERT_STRING_EQUAL(group->set, "made-C");
  CU_ASSERT_EQUAL(group->verdicts[1][0], 1); /* fitted, was said not to */
  group = &g_array_index(groups, TruthGroup, 3);
  CU_ASSERT_STRING_EQUAL(group->source, "y");
  CU_ASSERT_EQUAL(group->rows, 2);
  CU_ASSERT_EQUAL(group->ran, 1);
  CU_ASSERT_EQUAL(group->verdicts[1][1], 1);
  g_autoptr(GArray) headlines = truth_score_headlines(&result, STORE_MEASURE_STEP_TIME);
  CU_ASSERT_EQUAL_FATAL(headlines->len, 1);
  const TruthHeadline *headline = &g_array_index(headlines, TruthHeadline, 0);
  CU_ASSERT_STRING_EQUAL(headline->family, "made");
  CU_ASSERT_EQUAL(headline->sources, 2);
  CU_ASSERT_DOUBLE_EQUAL(headline->median_of_medians, 0.325, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(headline->worst_bias, 0.5, 1e-12);
  CU_ASSERT_EQUAL(headline->all.n, 3);
  CU_ASSERT_DOUBLE_EQUAL(headline->all.median, 0.2, 1e-12);
}

int main(void) {
  return harness_run("scores", (HarnessCase[]){{"sums of errors", sums},
                                               {"tiers of trust", tiers},
                                               {"hard cases", hard_cases},
                                               {"groups and headlines", groups_and_headlines},
                                               {NULL, NULL}});
}
