/* SPDX-License-Identifier: MIT */
/* From residuals to limits: ranks by hand, and the share of cases that they hold by drawing. */
#include "harness.h"
#include "trust-span.h"

/* first/10 … (first + n - 1)/10 of one source, in falling order: the span sorts. */
static void fill(TrustResidual *residuals, const char *source, guint n, guint first) {
  for (guint i = 0; i < n; i++)
    residuals[i] = (TrustResidual){source, (first + n - 1 - i) / 10.0};
}

/* (n + 1) × 20 >= 200; (n + 1) × 10 >= 200; (n + 1) × 50 >= 200. */
static void takes_rows(void) {
  TrustResidual residuals[9];
  TrustSpan span = {.rows = 77};
  fill(residuals, "a", 9, 5);
  CU_ASSERT_EQUAL(trust_span_least(80), 9);
  CU_ASSERT_EQUAL(trust_span_least(90), 19);
  CU_ASSERT_EQUAL(trust_span_least(50), 3);
  CU_ASSERT_FALSE(trust_span(residuals, 8, 80, &span));
  CU_ASSERT_EQUAL(span.rows, 77);
  CU_ASSERT_TRUE(trust_span(residuals, 9, 80, &span));
  CU_ASSERT_FALSE(trust_span(residuals, 9, 90, &span));
}

/* One source, 80 %: n = 9 has k = 10 × 20 / 200 = 1, its least and most, 0.5 and 1.3. n = 14 has k = 1.5: halfway from
 * the first, 0.1, to the second, 0.2; and from the last, 1.4, to 1.3. n = 19 has k = 2: 0.2 and 1.8. */
static void ranks(void) {
  static const struct {
    guint n, first;
    double low, high;
  } cases[] = {{9, 5, 0.5, 1.3}, {14, 1, 0.15, 1.35}, {19, 1, 0.2, 1.8}};
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    TrustResidual residuals[19];
    TrustSpan span;
    fill(residuals, "a", cases[i].n, cases[i].first);
    CU_ASSERT_TRUE_FATAL(trust_span(residuals, cases[i].n, 80, &span));
    CU_ASSERT_DOUBLE_EQUAL(span.low, cases[i].low, 1e-12);
    CU_ASSERT_DOUBLE_EQUAL(span.high, cases[i].high, 1e-12);
    CU_ASSERT_EQUAL(span.rows, cases[i].n);
    CU_ASSERT_EQUAL(span.sources, 1);
  }
}

/* A source of 19 rows spans 0.2 … 1.8 (above); one of two rows, 0.05 and 2.5, spans those: together 0.05 … 2.5,
 * although 19 of 21 rows lie inside the first. */
static void sources_are_not_outvoted(void) {
  TrustResidual residuals[21] = {{"b", 2.5}, {"b", 0.05}};
  TrustSpan span;
  fill(residuals + 2, "a", 19, 1);
  CU_ASSERT_TRUE_FATAL(trust_span(residuals, 21, 80, &span));
  CU_ASSERT_DOUBLE_EQUAL(span.low, 0.05, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(span.high, 2.5, 1e-12);
  CU_ASSERT_EQUAL(span.sources, 2);
}

/* 19 sources of a row each, 0.1 … 1.9: the ranks of sources are those of rows, 0.2 … 1.8: the outermost is trimmed. */
static void many_sources_are_ranked(void) {
  static const char *const names[19] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j",
                                        "k", "l", "m", "n", "o", "p", "q", "r", "s"};
  TrustResidual residuals[19];
  TrustSpan span;
  for (guint i = 0; i < 19; i++)
    residuals[i] = (TrustResidual){names[(i * 7) % 19], (i + 1) / 10.0};
  CU_ASSERT_TRUE_FATAL(trust_span(residuals, 19, 80, &span));
  CU_ASSERT_DOUBLE_EQUAL(span.low, 0.2, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(span.high, 1.8, 1e-12);
  CU_ASSERT_EQUAL(span.sources, 19);
}

/* All measured slower than foretold, 1.2 … 2.0: the prediction is the lower end. */
static void holds_the_prediction(void) {
  TrustResidual residuals[9];
  TrustSpan span;
  fill(residuals, "a", 9, 12);
  CU_ASSERT_TRUE_FATAL(trust_span(residuals, 9, 80, &span));
  CU_ASSERT_EQUAL(span.low, 1);
  CU_ASSERT_DOUBLE_EQUAL(span.high, 2.0, 1e-12);
}

static void join_holds_both(void) {
  TrustSpan one = {0.9, 1.5, 12, 1}, all = {0.8, 1.3, 87, 4}, joined = trust_span_join(&one, &all);
  CU_ASSERT_EQUAL(joined.low, 0.8);
  CU_ASSERT_EQUAL(joined.high, 1.5);
  CU_ASSERT_EQUAL(joined.rows, 87);
}

/* A rank k of n numbers drawn uniformly is expected at k / (n + 1), interpolated or not: the next draw lies between the
 * limits in (n + 1 - 2k) / (n + 1) = 80 % of cases. Of 4000 trials that is 0.8 ± 0.0063 (sqrt(0.8 × 0.2 / 4000)); four
 * of these deviations are allowed, and 1 in 512 clamps for n = 9, which adds at most that. */
static void covers_what_it_says(void) {
  static const guint sizes[] = {9, 14, 30, 61};
  g_autoptr(GRand) random = harness_random();
  for (gsize s = 0; s < G_N_ELEMENTS(sizes); s++) {
    guint inside = 0, trials = 4000;
    for (guint t = 0; t < trials; t++) {
      TrustResidual residuals[61];
      TrustSpan span;
      for (guint i = 0; i < sizes[s]; i++)
        residuals[i] = (TrustResidual){"a", g_rand_double_range(random, 0.5, 1.5)};
      double next = g_rand_double_range(random, 0.5, 1.5);
      CU_ASSERT_TRUE_FATAL(trust_span(residuals, sizes[s], 80, &span));
      inside += next >= span.low && next <= span.high;
    }
    CU_ASSERT_DOUBLE_EQUAL((double)inside / trials, 0.8, 0.028);
  }
}

int main(void) {
  return harness_run("trust span", (HarnessCase[]){{"takes so many rows", takes_rows},
                                                   {"ranks by hand", ranks},
                                                   {"no source is outvoted", sources_are_not_outvoted},
                                                   {"many sources are ranked", many_sources_are_ranked},
                                                   {"the prediction lies inside", holds_the_prediction},
                                                   {"a join holds both", join_holds_both},
                                                   {"covers what it says", covers_what_it_says},
                                                   {NULL, NULL}});
}
