/* SPDX-License-Identifier: MIT */
/* Unions of sorted spans by one pass; what is left of a span by bisection. */
#include "base-span.h"

int base_span_compare(gconstpointer a, gconstpointer b) {
  const BaseSpan *left = a, *right = b;
  if (left->start != right->start)
    return left->start < right->start ? -1 : 1;
  return (left->end > right->end) - (left->end < right->end);
}

BaseSpan base_cover_add(BaseCover *cover, BaseSpan span) {
  BaseSpan added = base_span_within(span, (BaseSpan){cover->covered, cover->window.end});
  if (added.end <= added.start) {
    cover->covered = MAX(cover->covered, MIN(span.start, cover->window.end)); /* an empty span ends what lies before */
    return (BaseSpan){cover->covered, cover->covered};
  }
  cover->length += added.end - added.start;
  cover->covered = added.end;
  return added;
}

SimTime base_spans_join(GArray *spans) {
  SimTime length = 0;
  guint n = 0;
  for (guint i = 0; i < spans->len; i++) {
    BaseSpan span = g_array_index(spans, BaseSpan, i), *last = n > 0 ? &g_array_index(spans, BaseSpan, n - 1) : NULL;
    if (last != NULL && span.start <= last->end)
      last->end = MAX(last->end, span.end);
    else
      g_array_index(spans, BaseSpan, n++) = span;
  }
  g_array_set_size(spans, n);
  for (guint i = 0; i < n; i++)
    length += base_span_length(g_array_index(spans, BaseSpan, i));
  return length;
}

/* The first of disjoint spans in order that ends after `at`. */
static guint first_after(const GArray *spans, SimTime at) {
  guint low = 0, high = spans->len;
  while (low < high) {
    guint middle = low + (high - low) / 2;
    if (g_array_index(spans, BaseSpan, middle).end > at)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

SimTime base_spans_outside(const GArray *spans, BaseSpan span) {
  SimTime left = base_span_length(span);
  for (guint i = first_after(spans, span.start); i < spans->len && left > 0; i++) {
    if (g_array_index(spans, BaseSpan, i).start >= span.end)
      break;
    left -= base_span_length(base_span_within(g_array_index(spans, BaseSpan, i), span));
  }
  return left;
}
