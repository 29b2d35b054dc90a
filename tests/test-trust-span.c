/* SPDX-License-Identifier: MIT */
/* From residuals to limits: ranks by hand, and the share of cases that they hold by drawing. */
#include "harness.h"
#include "trust-span.h"

static const TrustRule eighty = {80, 27, 10};

/* first/10 … (first + n - 1)/10 of one source, in falling order: the span sorts. */
static void fill(TrustResidual *residuals, const char *source, guint n, guint first) {
  for (guint i = 0; i < n; i++)
    residuals[i] = (TrustResidual){source, (first + n - 1 - i) / 10.0};
}

/* (n - 1) / (n + 1) >= 0.8, 0.9, 0.5. */
static void takes_rows(void) {
  TrustResidual residuals[9];
  TrustSpan span = {.rows = 77};
  TrustRule ninety = {90, 27, 10};
  fill(residuals, "a", 9, 5);
  CU_ASSERT_EQUAL(trust_span_least(80), 9);
  CU_ASSERT_EQUAL(trust_span_least(90), 19);
  CU_ASSERT_EQUAL(trust_span_least(50), 3);
  CU_ASSERT_FALSE(trust_span(residuals, 8, &eighty, &span));
  CU_ASSERT_EQUAL(span.rows, 77);
  CU_ASSERT_TRUE(trust_span(residuals, 9, &eighty, &span));
  CU_ASSERT_FALSE(trust_span(residuals, 9, &ninety, &span));
}

/* One source, 80 %: a tail of 0.1 × 1/2 = 0.05 of the rows. Of 9 that is 0.45, less than half a row: the least and the
 * most, 0.5 and 1.3. Of 14 it is 0.7: 0.2 of the way from the first row, at 0.5, to the second, at 1.5: 0.12 and 1.38.
 * Of 19 it is 0.95: 0.145 and 1.855. */
static void ranks(void) {
  static const struct {
    guint n, first;
    double low, high;
  } cases[] = {{9, 5, 0.5, 1.3}, {14, 1, 0.12, 1.38}, {19, 1, 0.145, 1.855}};
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    TrustResidual residuals[19];
    TrustSpan span;
    fill(residuals, "a", cases[i].n, cases[i].first);
    CU_ASSERT_TRUE_FATAL(trust_span(residuals, cases[i].n, &eighty, &span));
    CU_ASSERT_DOUBLE_EQUAL(span.low, cases[i].low, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(span.high, cases[i].high, 1e-12);
    CU_ASSERT_EQUAL(span.rows, cases[i].n);
    CU_ASSERT_EQUAL(span.sources, 1);
  }
}

/* 19 rows of one source, 0.1 … 1.9, and two of another, 0.05 and 2.5; a tail of 0.1 × 2/3. Where a source weighs two
 * rows at most, all weigh 4 and the tail 0.267 is less than half of the other source's row: 0.05 … 2.5. Where all 21
 * weigh, the tail is 1.4 rows: 0.9 of the way from 0.05, at 0.5, to 0.1, at 1.5: 0.095; and 2.5 - 0.9 × 0.6 = 1.96. */
static void sources_are_not_outvoted(void) {
  TrustResidual residuals[21] = {{"b", 2.5}, {"b", 0.05}};
  TrustSpan span;
  TrustRule few = {80, 2, 10};
  fill(residuals + 2, "a", 19, 1);
  CU_ASSERT_TRUE_FATAL(trust_span(residuals, 21, &few, &span));
  CU_ASSERT_DOUBLE_EQUAL(span.low, 0.05, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(span.high, 2.5, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(span.weight, 4, 1e-12);
  CU_ASSERT_EQUAL(span.sources, 2);
  CU_ASSERT_TRUE_FATAL(trust_span(residuals, 21, &eighty, &span));
  CU_ASSERT_DOUBLE_EQUAL(span.low, 0.095, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(span.high, 1.96, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(span.weight, 21, 1e-12);
}

/* 19 sources of a row each, 0.1 … 1.9: a tail of 0.1 × 19/20 × 19 = 1.805 rows, 0.305 of the way from the second row to
 * the third: 0.2305 and 1.7695. */
static void many_sources_are_ranked(void) {
  static const char *const names[19] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j",
                                        "k", "l", "m", "n", "o", "p", "q", "r", "s"};
  TrustResidual residuals[19];
  TrustSpan span;
  for (guint i = 0; i < 19; i++)
    residuals[i] = (TrustResidual){names[(i * 7) % 19], (i + 1) / 10.0};
  CU_ASSERT_TRUE_FATAL(trust_span(residuals, 19, &eighty, &span));
  CU_ASSERT_DOUBLE_EQUAL(span.low, 0.2305, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(span.high, 1.7695, 1e-12);
  CU_ASSERT_EQUAL(span.sources, 19);
}

/* Ten rows lean halfway on a wider class, thirty a quarter: 0.8 and 1.4 with 0.9 and 1.2. */
static void few_rows_lean(void) {
  TrustSpan all = {0.8, 1.4, 60, 90, 5}, ten = {0.9, 1.2, 10, 11, 2}, thirty = {0.9, 1.2, 30, 40, 2};
  TrustSpan pooled = trust_span_pool(&all, &ten, &eighty);
  CU_ASSERT_DOUBLE_EQUAL(pooled.low, 0.85, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(pooled.high, 1.3, 1e-12);
  CU_ASSERT_EQUAL(pooled.rows, 11);
  pooled = trust_span_pool(&all, &thirty, &eighty);
  CU_ASSERT_DOUBLE_EQUAL(pooled.low, 0.875, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(pooled.high, 1.25, 1e-12);
}

/* All measured slower than foretold, 1.2 … 2.0: the prediction is the lower end. */
static void holds_the_prediction(void) {
  TrustResidual residuals[9];
  TrustSpan span;
  fill(residuals, "a", 9, 12);
  CU_ASSERT_TRUE_FATAL(trust_span(residuals, 9, &eighty, &span));
  CU_ASSERT_EQUAL(span.low, 1);
  CU_ASSERT_DOUBLE_EQUAL(span.high, 2.0, 1e-12);
}

static void join_holds_both(void) {
  TrustSpan one = {0.9, 1.5, 12, 12, 1}, all = {0.8, 1.3, 50, 87, 4}, joined = trust_span_join(&one, &all);
  CU_ASSERT_EQUAL(joined.low, 0.8);
  CU_ASSERT_EQUAL(joined.high, 1.5);
  CU_ASSERT_EQUAL(joined.rows, 87);
}

/* A rank k of n numbers drawn uniformly is expected at k / (n + 1), interpolated or not: the next draw lies between the
 * limits in (n + 1 - 2k) / (n + 1) of cases. k is a tail of 0.05 n and half a row, at least 1: of 9, 14, 30 and 61
 * rows 1, 1.2, 2 and 3.55. The one source there is makes it more than 80 %. Of 4000 trials a share is known to 0.0063
 * (sqrt(0.8 × 0.2 / 4000)); four of these deviations are allowed, and 1 in 512 clamps for n = 9, which adds at most
 * that. */
static void covers_what_it_says(void) {
  static const struct {
    guint n;
    double k;
  } cases[] = {{9, 1}, {14, 1.2}, {30, 2}, {61, 3.55}};
  g_autoptr(GRand) random = harness_random();
  for (gsize s = 0; s < G_N_ELEMENTS(cases); s++) {
    guint inside = 0, trials = 4000;
    for (guint t = 0; t < trials; t++) {
      TrustResidual residuals[61];
      TrustSpan span;
      for (guint i = 0; i < cases[s].n; i++)
        residuals[i] = (TrustResidual){"a", g_rand_double_range(random, 0.5, 1.5)};
      double next = g_rand_double_range(random, 0.5, 1.5);
      CU_ASSERT_TRUE_FATAL(trust_span(residuals, cases[s].n, &eighty, &span));
      inside += next >= span.low && next <= span.high;
    }
    double rows = cases[s].n + 1;
    CU_ASSERT_DOUBLE_EQUAL((double)inside / trials, (rows - 2 * cases[s].k) / rows, 0.028);
  }
}

/* Eight sources, each off by a factor of its own as well as its rows by theirs: the next source's row lies inside in
 * about 80 % of cases, although no two rows of a source are independent. */
static void covers_the_next_source(void) {
  static const char *const names[8] = {"a", "b", "c", "d", "e", "f", "g", "h"};
  g_autoptr(GRand) random = harness_random();
  guint inside = 0, trials = 4000;
  for (guint t = 0; t < trials; t++) {
    TrustResidual residuals[80];
    TrustSpan span;
    double next = 0;
    for (guint source = 0; source <= 8; source++) {
      double off = g_rand_double_range(random, -0.2, 0.2);
      for (guint i = 0; i < 10; i++) {
        next = 1 + off + g_rand_double_range(random, -0.05, 0.05);
        if (source < 8)
          residuals[10 * source + i] = (TrustResidual){names[source], next};
      }
    }
    CU_ASSERT_TRUE_FATAL(trust_span(residuals, 80, &eighty, &span));
    inside += next >= span.low && next <= span.high;
  }
  CU_ASSERT_DOUBLE_EQUAL((double)inside / trials, 0.8, 0.05);
}

int main(void) {
  return harness_run("trust span", (HarnessCase[]){{"takes so many rows", takes_rows},
                                                   {"ranks by hand", ranks},
                                                   {"no source is outvoted", sources_are_not_outvoted},
                                                   {"many sources are ranked", many_sources_are_ranked},
                                                   {"the prediction lies inside", holds_the_prediction},
                                                   {"few rows lean on more", few_rows_lean},
                                                   {"a join holds both", join_holds_both},
                                                   {"covers what it says", covers_what_it_says},
                                                   {"covers the next source", covers_the_next_source},
                                                   {NULL, NULL}});
}
