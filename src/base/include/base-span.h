/* SPDX-License-Identifier: MIT */
/* Spans of simulated time: what they have in common, what they cover together, what they leave out.
 *
 *   spans    ▇▇▇▇▇   ▇▇▇            in order of start
 *               ▇▇▇▇   ▇▇▇▇
 *   union    ▇▇▇▇▇▇▇ ▇▇▇▇▇▇         each span adds what those before it have not covered
 *
 *   BaseCover cover = base_cover(window);
 *   for (…) phase_time += base_span_length(base_cover_add(&cover, span));      // cover.length: the union's
 *
 * A span holds its start and not its end; one that ends before it starts is empty. */
#pragma once

#include "base-quantity.h"

typedef struct {
  SimTime start, end; /* picoseconds */
} BaseSpan;

static inline SimTime base_span_length(BaseSpan span) {
  return span.end > span.start ? span.end - span.start : 0;
}

/* What lies in both; empty where nothing does. */
static inline BaseSpan base_span_within(BaseSpan span, BaseSpan window) {
  return (BaseSpan){MAX(span.start, window.start), MIN(span.end, window.end)};
}

/* By start, then by end: to sort arrays of structs that begin with a BaseSpan. */
int base_span_compare(gconstpointer a, gconstpointer b);

/* The union of spans within a window, growing. */
typedef struct {
  BaseSpan window;
  SimTime covered; /* up to here; what lies before and is not covered never will be */
  SimTime length;  /* of what is covered */
} BaseCover;

static inline BaseCover base_cover(BaseSpan window) {
  return (BaseCover){window, window.start, 0};
}
/* Spans come in order of start. The part of this one that is within the window and was not covered. */
BaseSpan base_cover_add(BaseCover *cover, BaseSpan span);

/* An array of BaseSpan, in order of start: those that overlap or touch become one. The length of all. */
SimTime base_spans_join(GArray *spans);
/* How much of the span lies outside spans that are in order and apart. Cost: a bisection, then those that it meets. */
SimTime base_spans_outside(const GArray *spans, BaseSpan span);
