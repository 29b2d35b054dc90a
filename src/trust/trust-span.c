/* SPDX-License-Identifier: MIT */
/* Ranks within sources, then ranks among them. */
#include "trust-span.h"

#include <stdlib.h>
#include <string.h>

#define WHOLE 200 /* both tails of 100 % */

typedef struct {
  double low, high;
} Limits;

/* Of n > 0 numbers in ascending order: at rank k from below and from above. */
static Limits limits_of(const double *sorted, guint n, guint coverage) {
  guint units = MAX((n + 1) * (100 - coverage), WHOLE), rank = units / WHOLE;
  Limits limits = {sorted[rank - 1], sorted[n - rank]};
  if (rank == n)
    return limits;
  double rest = (double)(units % WHOLE) / WHOLE;
  limits.low += rest * (sorted[rank] - limits.low);
  limits.high -= rest * (limits.high - sorted[n - rank - 1]);
  return limits;
}

guint trust_span_least(guint coverage) {
  guint n = 1;
  while ((n + 1) * (100 - coverage) < WHOLE)
    n++;
  return n;
}

static int by_source(const void *a, const void *b) {
  const TrustResidual *one = a, *other = b;
  int source = strcmp(one->source, other->source);
  return source != 0 ? source : (one->ratio > other->ratio) - (one->ratio < other->ratio);
}

static int by_size(const void *a, const void *b) {
  double one = *(const double *)a, other = *(const double *)b;
  return (one > other) - (one < other);
}

gboolean trust_span(TrustResidual *residuals, guint n, guint coverage, TrustSpan *ret) {
  if (n < trust_span_least(coverage))
    return FALSE;
  g_autofree double *lows = g_new(double, n), *highs = g_new(double, n), *ratios = g_new(double, n);
  guint sources = 0;
  qsort(residuals, n, sizeof *residuals, by_source);
  for (guint first = 0, end; first < n; first = end) {
    for (end = first + 1; end < n && strcmp(residuals[end].source, residuals[first].source) == 0;)
      end++;
    for (guint i = first; i < end; i++)
      ratios[i - first] = residuals[i].ratio;
    Limits limits = limits_of(ratios, end - first, coverage);
    lows[sources] = limits.low;
    highs[sources++] = limits.high;
  }
  qsort(lows, sources, sizeof *lows, by_size);
  qsort(highs, sources, sizeof *highs, by_size);
  double low = limits_of(lows, sources, coverage).low, high = limits_of(highs, sources, coverage).high;
  *ret = (TrustSpan){MIN(low, 1), MAX(high, 1), n, sources};
  return TRUE;
}

TrustSpan trust_span_join(const TrustSpan *one, const TrustSpan *wider) {
  return (TrustSpan){MIN(one->low, wider->low), MAX(one->high, wider->high), wider->rows, wider->sources};
}
