/* SPDX-License-Identifier: MIT */
/* From residuals to limits: between which factors of a prediction the truth is to be expected.
 *
 *   TrustResidual residuals[] = {{"a", 1.04}, {"a", 0.97}, …};
 *   TrustSpan span;
 *   if (trust_span(residuals, n, 80, &span)) … a step foretold as T takes from span.low × T to span.high × T …
 *
 * A residual is measured / predicted. Of n residuals in ascending order the next one lies between the k-th from below
 * and the k-th from above in a share of (n + 1 - 2k) / (n + 1) of all cases, if it is drawn as they were (a
 * distribution-free prediction interval, as conformal prediction uses it). With a coverage of c % the rank is
 *
 *   k = (n + 1) × (100 - c) / 200, at least 1;       c = 80: n = 9 → 1, n = 14 → 1.5, n = 19 → 2, n = 61 → 6.2
 *
 * and between two ranks limits are interpolated (Hyndman and Fan 1996, definition 6: (n + 1) p, as Weibull had it).
 * Rows of one source are not drawn independently: one cluster, one version, one hand. So the rule is applied twice:
 * within each source, which gives it a low and a high limit, and then to the limits of the sources, lows from below and
 * highs from above. Up to eight sources that is the span which holds those of all of them: no source is outvoted by a
 * larger one.
 *
 * The prediction itself always lies in the span: low <= 1 <= high. */
#pragma once

#include <glib.h>

typedef struct {
  const char *source;
  double ratio; /* measured / predicted */
} TrustResidual;

typedef struct {
  double low, high;
  guint rows, sources;
} TrustSpan;

/* How many rows it takes: the least n for which k is not raised to 1. 9 for 80 %, 19 for 90 %. */
guint trust_span_least(guint coverage);
/* Sorts `residuals`. FALSE, *ret untouched: there are fewer than it takes. `coverage` in per cent. */
gboolean trust_span(TrustResidual *residuals, guint n, guint coverage, TrustSpan *ret);
/* What holds both; rows and sources are the wider's. */
TrustSpan trust_span_join(const TrustSpan *one, const TrustSpan *wider);
