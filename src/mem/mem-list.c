/* SPDX-License-Identifier: MIT */
/* Sorted pages of spans. */
#include "mem-list.h"

#include <string.h>

#include "base-wide.h"

static inline gboolean is_below(const MemSpan *span, guint64 size, guint64 address) {
  return ((BaseWide)span->size << 64 | span->address) < ((BaseWide)size << 64 | address);
}

#define FEW 16 /* entries that are counted one by one: their comparisons do not wait for each other */

/* Both halve what is left, then count, without a branch on what is compared, which no processor could foretell. */
static guint find_within(const MemSpan *spans, guint first, guint end, guint64 size, guint64 address) {
  guint left = end - first;
  for (; left > FEW; left -= left / 2)
    first += left / 2 & -(guint)is_below(&spans[first + left / 2 - 1], size, address);
  guint below = 0;
  for (guint i = 0; i < left; i++)
    below += (guint)is_below(&spans[first + i], size, address);
  return first + below;
}

static guint fit_within(const MemSpan *spans, guint n, guint64 size) {
  guint first = 0, left = n;
  for (; left > FEW; left -= left / 2)
    first += left / 2 & -(guint)(spans[first + left / 2 - 1].size < size);
  guint below = 0;
  for (guint i = 0; i < left; i++)
    below += spans[first + i].size < size;
  return first + below;
}

static BaseVector *page_of(const MemList *list, guint32 page) {
  return &((BaseVector *)list->pages.data)[page];
}

static const MemSpan *last_of(const MemList *list, guint32 page) {
  const BaseVector *spans = page_of(list, page);
  return &((const MemSpan *)spans->data)[spans->n - 1];
}

/* The first page whose last span is not below; pages.n: none. */
static guint32 find_page(const MemList *list, guint64 size, guint64 address) {
  guint32 first = 0;
  for (guint32 end = list->pages.n; first < end;) {
    guint32 middle = first + (end - first) / 2;
    if (is_below(last_of(list, middle), size, address))
      first = middle + 1;
    else
      end = middle;
  }
  return first;
}

MemPlace mem_list_find(const MemList *list, guint64 size, guint64 address) {
  guint32 page = find_page(list, size, address);
  if (page == list->pages.n)
    return (MemPlace){page, 0};
  const BaseVector *spans = page_of(list, page);
  return (MemPlace){page, find_within(spans->data, 0, spans->n, size, address)};
}

/* No address is below 0. */
MemPlace mem_list_fit(const MemList *list, guint64 size) {
  guint32 page = find_page(list, size, 0);
  if (page == list->pages.n)
    return (MemPlace){page, 0};
  const BaseVector *spans = page_of(list, page);
  return (MemPlace){page, fit_within(spans->data, spans->n, size)};
}

MemPlace mem_list_last(const MemList *list) {
  return (MemPlace){list->pages.n - 1, page_of(list, list->pages.n - 1)->n - 1};
}

static BaseVector *insert_page(MemList *list, guint32 page) {
  base_vector_next(&list->pages, sizeof(BaseVector));
  BaseVector *added = page_of(list, page);
  memmove(added + 1, added, (list->pages.n - 1 - page) * sizeof *added);
  *added = (BaseVector){0};
  return added;
}

/* The upper half goes into a page after it. */
static void halve_page(MemList *list, guint32 page) {
  BaseVector *upper = insert_page(list, page + 1), *lower = page_of(list, page);
  guint32 kept = lower->n / 2;
  base_vector_reserve(upper, MEM_PAGE, sizeof(MemSpan));
  upper->n = lower->n - kept;
  memcpy(upper->data, (const MemSpan *)lower->data + kept, upper->n * sizeof(MemSpan));
  lower->n = kept;
}

void mem_list_add(MemList *list, MemSpan span) {
  guint32 page = MIN(find_page(list, span.size, span.address), MAX(list->pages.n, 1) - 1);
  if (list->pages.n == 0)
    insert_page(list, 0);
  if (page_of(list, page)->n == MEM_PAGE) {
    halve_page(list, page);
    page += is_below(last_of(list, page), span.size, span.address);
  }
  BaseVector *into = page_of(list, page);
  guint at = find_within(into->data, 0, into->n, span.size, span.address), n = into->n;
  base_vector_next(into, sizeof(MemSpan));
  MemSpan *spans = into->data;
  memmove(&spans[at + 1], &spans[at], (n - at) * sizeof *spans);
  spans[at] = span;
  list->n++;
}

static void remove_page(MemList *list, guint32 page) {
  BaseVector *removed = page_of(list, page);
  g_free(removed->data);
  list->pages.n--;
  memmove(removed, removed + 1, (list->pages.n - page) * sizeof *removed);
}

void mem_list_remove(MemList *list, MemPlace *place) {
  BaseVector *page = page_of(list, place->page);
  MemSpan *spans = page->data;
  page->n--;
  list->n--;
  memmove(&spans[place->at], &spans[place->at + 1], (page->n - place->at) * sizeof *spans);
  if (page->n == 0)
    remove_page(list, place->page);
  else if (place->at == page->n)
    *place = (MemPlace){place->page + 1, 0};
}

static void replace_within(BaseVector *page, guint at, MemSpan span) {
  MemSpan *spans = page->data;
  gboolean rises = is_below(&spans[at], span.size, span.address);
  guint to = rises ? find_within(spans, at + 1, page->n, span.size, span.address) - 1
                   : find_within(spans, 0, at, span.size, span.address);
  if (rises) {
    memmove(&spans[at], &spans[at + 1], (to - at) * sizeof *spans);
  } else {
    memmove(&spans[to + 1], &spans[to], (at - to) * sizeof *spans);
  }
  spans[to] = span;
}

void mem_list_replace(MemList *list, MemPlace place, MemSpan span) {
  if (list->pages.n == 1 || find_page(list, span.size, span.address) == place.page) {
    replace_within(page_of(list, place.page), place.at, span);
  } else {
    mem_list_remove(list, &place);
    mem_list_add(list, span);
  }
}

void mem_list_clear(MemList *list) {
  for (guint32 i = 0; i < list->pages.n; i++)
    g_free(page_of(list, i)->data);
  g_free(list->pages.data);
  *list = (MemList){0};
}
