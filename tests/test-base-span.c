/* SPDX-License-Identifier: MIT */
/* Spans against a picture of 64 picoseconds in which every one is a bit. */
#include "base-span.h"
#include "harness.h"

static guint64 bits(BaseSpan span) {
  guint64 set = 0;
  for (SimTime at = MAX(span.start, 0); at < MIN(span.end, 64); at++)
    set |= G_GUINT64_CONSTANT(1) << at;
  return set;
}

static SimTime count(guint64 set) {
  SimTime n = 0;
  for (; set != 0; set &= set - 1)
    n++;
  return n;
}

/* ▇▇▇▇···· and ··▇▇▇▇·· in a window of 1 to 6: 3, then 2 more. */
static void a_cover_grows_by_what_is_new(void) {
  BaseCover cover = base_cover((BaseSpan){1, 6});
  BaseSpan first = base_cover_add(&cover, (BaseSpan){0, 4}), second = base_cover_add(&cover, (BaseSpan){2, 7});
  BaseSpan third = base_cover_add(&cover, (BaseSpan){3, 5});
  CU_ASSERT_TRUE(first.start == 1 && first.end == 4);
  CU_ASSERT_TRUE(second.start == 4 && second.end == 6);
  CU_ASSERT_EQUAL(base_span_length(third), 0);
  CU_ASSERT_EQUAL(cover.length, 5);
  /* What lies before an empty span will not come any more: spans are in order. */
  BaseCover gap = base_cover((BaseSpan){1, 9});
  base_cover_add(&gap, (BaseSpan){4, 4});
  CU_ASSERT_EQUAL(gap.covered, 4);
  CU_ASSERT_EQUAL(gap.length, 0);
}

static GArray *random_spans(GRand *random) {
  GArray *spans = g_array_new(FALSE, FALSE, sizeof(BaseSpan));
  for (gint i = g_rand_int_range(random, 0, 8); i > 0; i--) {
    SimTime start = g_rand_int_range(random, 0, 52);
    BaseSpan span = {start, start + g_rand_int_range(random, 0, 12)};
    g_array_append_val(spans, span);
  }
  g_array_sort(spans, base_span_compare);
  return spans;
}

static void spans_are_sets(void) {
  g_autoptr(GRand) random = harness_random();
  for (int round = 0; round < 5000; round++) {
    g_autoptr(GArray) spans = random_spans(random);
    SimTime from = g_rand_int_range(random, 0, 40);
    BaseSpan window = {from, from + g_rand_int_range(random, 0, 24)};
    BaseCover cover = base_cover(window);
    guint64 all = 0;
    for (guint i = 0; i < spans->len; i++) {
      guint64 one = bits(g_array_index(spans, BaseSpan, i));
      CU_ASSERT_EQUAL(bits(base_cover_add(&cover, g_array_index(spans, BaseSpan, i))), one & bits(window) & ~all);
      CU_ASSERT_EQUAL(bits(base_span_within(g_array_index(spans, BaseSpan, i), window)), one & bits(window));
      all |= one;
    }
    CU_ASSERT_EQUAL(cover.length, count(all & bits(window)));
    CU_ASSERT_EQUAL(base_spans_join(spans), count(all));
    for (guint i = 1; i < spans->len; i++)
      CU_ASSERT_TRUE(g_array_index(spans, BaseSpan, i - 1).end < g_array_index(spans, BaseSpan, i).start);
    CU_ASSERT_EQUAL(base_spans_outside(spans, window), count(bits(window) & ~all));
  }
}

int main(void) {
  return harness_run("base-span", (HarnessCase[]){{"a cover grows by what is new", a_cover_grows_by_what_is_new},
                                                  {"spans are sets", spans_are_sets},
                                                  {NULL, NULL}});
}
