/* SPDX-License-Identifier: MIT */
/* A pool's free blocks, in order of size, then address: private to this floor.
 *
 *   MemList list = {0};
 *   mem_list_add(&list, (MemSpan){size, address, block});
 *   MemPlace at = mem_list_fit(&list, size);               // the first of at least that size
 *   const MemSpan *span = mem_list_at(&list, at);          // NULL: there is none
 *   mem_list_clear(&list);
 *
 * A list of pages, each a sorted array; a page that is full is halved, one that is empty goes:
 *
 *   pages   [ 512 B … 4 KiB ] [ 4 KiB … 4 KiB ] [ 6 KiB … 1 MiB ]
 *
 * Nearly every list is one page, and is searched and shifted as one array is. In one array of all, the shifts of the
 * 10^5 free blocks that a model of 10 000 layers leaves took two thirds of its time.
 *
 * Cost: finding is O(log n) comparisons, changing that and a shift within a page; n / MEM_PAGE pages are shifted where
 * one comes or goes. A change makes all places but its own invalid. */
#pragma once

#include "base-vector.h"

#define MEM_PAGE 512 /* spans: 12 KiB */

typedef struct {
  guint64 size, address;
  guint32 block;
} MemSpan;

typedef struct {
  BaseVector pages; /* BaseVector of MemSpan; none is empty */
  guint n;          /* spans in all */
} MemList;

typedef struct {
  guint32 page, at;
} MemPlace;

void mem_list_clear(MemList *list);

void mem_list_add(MemList *list, MemSpan span);
/* *place becomes that of the one after it. */
void mem_list_remove(MemList *list, MemPlace *place);
/* The span there becomes another: within a page only those between its old place and its new one are moved. */
void mem_list_replace(MemList *list, MemPlace place, MemSpan span);

/* The first of at least `size`. */
MemPlace mem_list_fit(const MemList *list, guint64 size);
/* The first that is not below (size, address). */
MemPlace mem_list_find(const MemList *list, guint64 size, guint64 address);
MemPlace mem_list_last(const MemList *list);

static inline const BaseVector *mem_list_page(const MemList *list, guint32 page) {
  return &((const BaseVector *)list->pages.data)[page];
}

/* Of a place that is not the end. */
static inline const MemSpan *mem_list_span(const MemList *list, MemPlace place) {
  return &((const MemSpan *)mem_list_page(list, place.page)->data)[place.at];
}
/* NULL: the place is the end. */
static inline const MemSpan *mem_list_at(const MemList *list, MemPlace place) {
  return place.page < list->pages.n ? mem_list_span(list, place) : NULL;
}

static inline MemPlace mem_list_first(void) {
  return (MemPlace){0, 0};
}

static inline MemPlace mem_list_next(const MemList *list, MemPlace place) {
  gboolean within = place.at + 1 < mem_list_page(list, place.page)->n;
  return within ? (MemPlace){place.page, place.at + 1} : (MemPlace){place.page + 1, 0};
}
