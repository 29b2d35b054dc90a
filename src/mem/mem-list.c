/* SPDX-License-Identifier: MIT */
/* Sorted pages of spans. */
#include "mem-list.h"

#include <string.h>

#include "base-wide.h"

static inline gboolean is_below(const MemSpan *span, guint64 size, guint64 address) {
  return ((BaseWide)span->size << 64 | span->address) < ((BaseWide)size << 64 | address);
}

#define FEW 8 /* entries that are counted one by one: their comparisons do not wait for each other */

/* Where from `first` on entries begin that are not below. Halves what is left without a branch on what is compared,
 * which no processor could foretell, then counts within FEW entries up to the end of what is left or before: those
 * before `first` are below. */
static guint find_within(const MemSpan *spans, guint first, guint end, guint64 size, guint64 address) {
  guint left = end - first, below = 0;
  for (; left > FEW; left -= left / 2)
    first += left / 2 & -(guint)is_below(&spans[first + left / 2 - 1], size, address);
  if (end < FEW) {
    for (guint i = 0; i < left; i++)
      below += (guint)is_below(&spans[first + i], size, address);
    return first + below;
  }
  first = MIN(first, end - FEW);
  for (guint i = 0; i < FEW; i++)
    below += (guint)is_below(&spans[first + i], size, address);
  return first + below;
}

/* The same by sizes alone. */
static guint fit_within(const MemSpan *spans, guint n, guint64 size) {
  guint first = 0, left = n, below = 0;
  for (; left > FEW; left -= left / 2)
    first += left / 2 & -(guint)(spans[first + left / 2 - 1].size < size);
  if (n < FEW) {
    for (guint i = 0; i < n; i++)
      below += spans[i].size < size;
    return below;
  }
  first = MIN(first, n - FEW);
  for (guint i = 0; i < FEW; i++)
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
    return mem_place(page, 0);
  const BaseVector *spans = page_of(list, page);
  return mem_place(page, find_within(spans->data, 0, spans->n, size, address));
}

/* No address is below 0. */
MemPlace mem_list_fit(const MemList *list, guint64 size) {
  guint32 page = find_page(list, size, 0);
  if (page == list->pages.n)
    return mem_place(page, 0);
  const BaseVector *spans = page_of(list, page);
  return mem_place(page, fit_within(spans->data, spans->n, size));
}

MemPlace mem_list_last(const MemList *list) {
  return mem_place(list->pages.n - 1, page_of(list, list->pages.n - 1)->n - 1);
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

/* Member by member: stores that are read back in one piece would be waited for. */
static inline void set_span(MemSpan *span, guint64 size, guint64 address, guint32 block) {
  span->size = size;
  span->address = address;
  span->block = block;
}

void mem_list_add(MemList *list, guint64 size, guint64 address, guint32 block) {
  guint32 page = MIN(find_page(list, size, address), MAX(list->pages.n, 1) - 1);
  if (list->pages.n == 0)
    insert_page(list, 0);
  if (page_of(list, page)->n == MEM_PAGE) {
    halve_page(list, page);
    page += is_below(last_of(list, page), size, address);
  }
  BaseVector *into = page_of(list, page);
  guint at = find_within(into->data, 0, into->n, size, address), n = into->n;
  base_vector_next(into, sizeof(MemSpan));
  MemSpan *spans = into->data;
  memmove(&spans[at + 1], &spans[at], (n - at) * sizeof *spans);
  set_span(&spans[at], size, address, block);
  list->n++;
}

static void remove_page(MemList *list, guint32 page) {
  BaseVector *removed = page_of(list, page);
  g_free(removed->data);
  list->pages.n--;
  memmove(removed, removed + 1, (list->pages.n - page) * sizeof *removed);
}

MemPlace mem_list_remove(MemList *list, MemPlace place) {
  guint32 number = mem_place_page(place), at = mem_place_at(place);
  BaseVector *page = page_of(list, number);
  MemSpan *spans = page->data;
  page->n--;
  list->n--;
  memmove(&spans[at], &spans[at + 1], (page->n - at) * sizeof *spans);
  if (page->n == 0)
    remove_page(list, number);
  else if (at == page->n)
    return mem_place(number + 1, 0);
  return place;
}

void mem_list_clear(MemList *list) {
  for (guint32 i = 0; i < list->pages.n; i++)
    g_free(page_of(list, i)->data);
  g_free(list->pages.data);
  *list = (MemList){0};
}
