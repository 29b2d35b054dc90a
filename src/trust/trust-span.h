/* SPDX-License-Identifier: MIT */
/* From residuals to limits: between which factors of a prediction the truth is to be expected.
 *
 *   TrustResidual residuals[] = {{"a", 1.04}, {"a", 0.97}, …};
 *   TrustSpan span;
 *   if (trust_span(residuals, n, rule, &span)) … a step foretold as T takes from span.low × T to span.high × T …
 *   TrustSpan own = trust_span_of(few, m, rule);
 *   own = trust_span_pool(&span, &own, rule);       // what few rows say, leaning on what all say
 *
 * A residual is measured / predicted. Rows of one source are not drawn independently: one cluster, one version, one
 * hand. So a source weighs as many rows as it has, but no more than rule->most; the rest of its rows share that weight.
 * The limits are weighted quantiles: a row stands at the middle of its share of all weight, between two rows they are
 * interpolated, beyond the outermost they are the outermost. The tail that is cut off at either end is, for a coverage
 * of c % and s sources,
 *
 *   (100 - c) / 200 × s / (s + 1)
 *
 * since the next source takes its place among those s, and may stand outside all of them.
 *
 * Partial pooling: of a class and the wider one around it each limit is the mean, the class weighing its rows (counted
 * as above), the wider one rule->pooling. A class of few rows is hardly its own, one of many hardly anything else, and
 * none falls to its parent from one row to the next; a class that holds no fewer rows than the wider one is that (James
 * and Stein 1961; Gelman and Hill 2007, chapter 12).
 *
 * The prediction itself always lies in the span: low <= 1 <= high. */
#pragma once

#include <glib.h>

typedef struct {
  guint64 coverage; /* per cent */
  double most;      /* rows that one source weighs at most, >= 1 */
  double pooling;   /* rows that a wider class weighs in a narrower one's limits, > 0 */
} TrustRule;

typedef struct {
  const char *source;
  double ratio; /* measured / predicted */
} TrustResidual;

typedef struct {
  double low, high;
  double weight; /* in rows */
  guint rows, sources;
} TrustSpan;

/* How many rows it takes to say anything: the least n whose range holds the coverage, (n - 1) / (n + 1) of all cases.
 * 9 for 80 %, 19 for 90 %. */
guint trust_span_least(guint coverage);
/* Sorts `residuals`. FALSE, *ret untouched: there are fewer than it takes. */
gboolean trust_span(TrustResidual *residuals, guint n, const TrustRule *rule, TrustSpan *ret);
/* The same of any number of rows, at least one. */
TrustSpan trust_span_of(TrustResidual *residuals, guint n, const TrustRule *rule);
/* `own` leaning on `wider`; rows and sources are its own. */
TrustSpan trust_span_pool(const TrustSpan *wider, const TrustSpan *own, const TrustRule *rule);
/* What holds both; rows and sources are the wider's. */
TrustSpan trust_span_join(const TrustSpan *one, const TrustSpan *wider);
