/* SPDX-License-Identifier: MIT */
/* The pages of many free blocks, against one sorted array. */
#include "harness.h"
#include "mem-list.h"

#define MOST 6000 /* spans: a dozen pages */

typedef struct {
  MemSpan spans[MOST];
  guint n;
} Plain;

static int compare(const MemSpan *a, const MemSpan *b) {
  if (a->size != b->size)
    return a->size < b->size ? -1 : 1;
  return a->address < b->address ? -1 : a->address > b->address;
}

static guint plain_find(const Plain *plain, const MemSpan *span) {
  guint at = 0;
  while (at < plain->n && compare(&plain->spans[at], span) < 0)
    at++;
  return at;
}

static void plain_add(Plain *plain, MemSpan span) {
  guint at = plain_find(plain, &span);
  memmove(&plain->spans[at + 1], &plain->spans[at], (plain->n - at) * sizeof span);
  plain->spans[at] = span;
  plain->n++;
}

static void plain_remove(Plain *plain, guint at) {
  plain->n--;
  memmove(&plain->spans[at], &plain->spans[at + 1], (plain->n - at) * sizeof *plain->spans);
}

static gboolean are_equal(const MemList *list, const Plain *plain) {
  const MemSpan *span;
  guint n = 0;
  for (MemPlace at = mem_list_first(); (span = mem_list_at(list, at)) != NULL; at = mem_list_next(list, at), n++)
    if (n == plain->n || compare(span, &plain->spans[n]) != 0 || span->block != plain->spans[n].block)
      return FALSE;
  return n == plain->n && list->n == n;
}

/* Few sizes, so that many spans differ by their address alone, as those of equal layers do. */
static MemSpan draw(GRand *random) {
  return (MemSpan){512 * (guint64)g_rand_int_range(random, 1, 40), g_rand_int(random), g_rand_int(random)};
}

static MemPlace place_of(const MemList *list, const MemSpan *span) {
  return mem_list_find(list, span->size, span->address);
}

/* What stood after a span that goes is what its removal returns. */
static gboolean remove_both(MemList *list, Plain *plain, guint at) {
  MemPlace after = mem_list_remove(list, place_of(list, &plain->spans[at]));
  plain_remove(plain, at);
  const MemSpan *next = mem_list_at(list, after);
  return at == plain->n ? next == NULL : next != NULL && compare(next, &plain->spans[at]) == 0;
}

/* A span comes or goes. `growth`: out of 100, how many come. */
static gboolean step(MemList *list, Plain *plain, GRand *random, int growth) {
  if (plain->n == 0 || (g_rand_int_range(random, 0, 100) < growth && plain->n < MOST)) {
    MemSpan span = draw(random);
    mem_list_add(list, span.size, span.address, span.block);
    plain_add(plain, span);
    return TRUE;
  }
  return remove_both(list, plain, (guint)g_rand_int_range(random, 0, (gint32)plain->n));
}

static gboolean is_first_from(const Plain *plain, const MemSpan *least, const MemSpan *found) {
  guint at = plain_find(plain, least);
  return at == plain->n ? found == NULL : found != NULL && compare(found, &plain->spans[at]) == 0;
}

/* By size, and by size and address; at times beyond all that are there. */
static gboolean finds_the_same(const MemList *list, const Plain *plain, GRand *random) {
  MemSpan least = {.size = 512 * (guint64)g_rand_int_range(random, 0, 42)};
  if (!is_first_from(plain, &least, mem_list_at(list, mem_list_fit(list, least.size))))
    return FALSE;
  least.address = g_rand_int(random);
  return is_first_from(plain, &least, mem_list_at(list, place_of(list, &least)));
}

/* Grows to a dozen pages, shrinks to nothing, twice. */
static void agrees_with_an_array(void) {
  g_autoptr(GRand) random = harness_random();
  g_autofree Plain *plain = g_new0(Plain, 1);
  MemList list = {0};
  gboolean good = TRUE;
  guint most = 0;
  for (int i = 0; i < 24000 && good; i++) {
    good = step(&list, plain, random, i / 6000 % 2 == 0 ? 85 : 5);
    good = good && finds_the_same(&list, plain, random) && (i % 500 != 0 || are_equal(&list, plain));
    most = MAX(most, list.pages.n);
  }
  good = good && are_equal(&list, plain) &&
         (plain->n == 0 || compare(mem_list_at(&list, mem_list_last(&list)), &plain->spans[plain->n - 1]) == 0);
  CU_ASSERT_TRUE(good);
  CU_ASSERT_TRUE(most >= 8);
  mem_list_clear(&list);
}

static void a_planted_fault_is_seen(void) {
  g_autoptr(GRand) random = harness_random();
  g_autofree Plain *plain = g_new0(Plain, 1);
  MemList list = {0};
  MemSpan span = draw(random);
  mem_list_add(&list, span.size, span.address, span.block);
  plain_add(plain, span);
  CU_ASSERT_TRUE(are_equal(&list, plain));
  plain->spans[0].block++;
  CU_ASSERT_FALSE(are_equal(&list, plain));
  mem_list_clear(&list);
}

int main(void) {
  return harness_run("mem-list", (HarnessCase[]){{"agrees with an array", agrees_with_an_array},
                                                 {"a planted fault is seen", a_planted_fault_is_seen},
                                                 {NULL, NULL}});
}
