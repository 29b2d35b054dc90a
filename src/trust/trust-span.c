/* SPDX-License-Identifier: MIT */
/* Weighted quantiles, and their means over classes. */
#include "trust-span.h"

#include <stdlib.h>
#include <string.h>

#include "base-error.h"

#define PER_CENT 100.0

typedef struct {
  double ratio, weight;
} Weighed;

guint trust_span_least(guint coverage) {
  guint n = 1;
  while ((n + 1) * coverage > (n - 1) * (guint)PER_CENT)
    n++;
  return n;
}

static int by_source(const void *a, const void *b) {
  const TrustResidual *one = a, *other = b;
  int source = strcmp(one->source, other->source);
  return source != 0 ? source : (one->ratio > other->ratio) - (one->ratio < other->ratio);
}

static int by_ratio(const void *a, const void *b) {
  const Weighed *one = a, *other = b;
  return (one->ratio > other->ratio) - (one->ratio < other->ratio);
}

/* Of n > 0 numbers in ascending order, where a share of `tail` of the weight lies below. */
static double quantile(const Weighed *sorted, guint n, double total, double tail) {
  double wanted = tail * total, before = 0;
  for (guint i = 0; i < n; i++) {
    double middle = before + sorted[i].weight / 2;
    if (wanted <= middle && i == 0)
      return sorted[0].ratio;
    if (wanted <= middle) {
      double from = before - sorted[i - 1].weight / 2;
      return sorted[i - 1].ratio + (sorted[i].ratio - sorted[i - 1].ratio) * (wanted - from) / (middle - from);
    }
    before += sorted[i].weight;
  }
  return sorted[n - 1].ratio;
}

/* Weights by source; says how many sources and how much weight there are. */
static void weigh(TrustResidual *residuals, guint n, double most, Weighed *ret, TrustSpan *counts) {
  qsort(residuals, n, sizeof *residuals, by_source);
  for (guint first = 0, end; first < n; first = end) {
    for (end = first + 1; end < n && strcmp(residuals[end].source, residuals[first].source) == 0;)
      end++;
    double rows = end - first, weight = MIN(rows, most);
    for (guint i = first; i < end; i++)
      ret[i] = (Weighed){residuals[i].ratio, weight / rows};
    counts->weight += weight;
    counts->sources++;
  }
  qsort(ret, n, sizeof *ret, by_ratio);
}

TrustSpan trust_span_of(TrustResidual *residuals, guint n, const TrustRule *rule) {
  sim_require(n > 0, 0, NULL, "a span of no rows");
  g_autofree Weighed *weighed = g_new(Weighed, n);
  TrustSpan span = {.rows = n};
  weigh(residuals, n, rule->most, weighed, &span);
  double sources = span.sources, tail = (PER_CENT - (double)rule->coverage) / (2 * PER_CENT) * sources / (sources + 1);
  span.low = MIN(quantile(weighed, n, span.weight, tail), 1);
  span.high = MAX(quantile(weighed, n, span.weight, 1 - tail), 1);
  return span;
}

gboolean trust_span(TrustResidual *residuals, guint n, const TrustRule *rule, TrustSpan *ret) {
  if (n < trust_span_least((guint)rule->coverage))
    return FALSE;
  *ret = trust_span_of(residuals, n, rule);
  return TRUE;
}

TrustSpan trust_span_pool(const TrustSpan *wider, const TrustSpan *own, const TrustRule *rule) {
  double share = own->weight / (own->weight + rule->pooling);
  TrustSpan pooled = *own;
  pooled.low = wider->low + share * (own->low - wider->low);
  pooled.high = wider->high + share * (own->high - wider->high);
  return pooled;
}

TrustSpan trust_span_join(const TrustSpan *one, const TrustSpan *wider) {
  return (TrustSpan){MIN(one->low, wider->low), MAX(one->high, wider->high), wider->weight, wider->rows,
                     wider->sources};
}
