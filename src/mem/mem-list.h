/* SPDX-License-Identifier: MIT */
/* Many free blocks of one bin, in order of size, then address: private to this floor.
 *
 *   MemList list = {0};
 *   mem_list_add(&list, size, address, block);
 *   MemPlace at = mem_list_fit(&list, size);               // the first of at least that size
 *   const MemSpan *span = mem_list_at(&list, at);          // NULL: there is none
 *   mem_list_clear(&list);
 *
 * A list of pages, each a sorted array; a page that is full is halved, one that is empty goes:
 *
 *   pages   [ 512 B … 4 KiB ] [ 4 KiB … 4 KiB ] [ 6 KiB … 1 MiB ]
 *
 * In one array of all, the shifts of the 10^5 free blocks that a model of 10 000 layers leaves took two thirds of its
 * time.
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

/* A page and where in it, as one number: a struct of both is put together in memory, and waited for, at every call. */
typedef guint64 MemPlace;

static inline MemPlace mem_place(guint32 page, guint32 at) {
  return (guint64)page << 32 | at;
}
static inline guint32 mem_place_page(MemPlace place) {
  return (guint32)(place >> 32);
}
static inline guint32 mem_place_at(MemPlace place) {
  return (guint32)place;
}

void mem_list_clear(MemList *list);

void mem_list_add(MemList *list, guint64 size, guint64 address, guint32 block);
/* Returns the place of the one after it. */
MemPlace mem_list_remove(MemList *list, MemPlace place);

/* The first of at least `size`. */
MemPlace mem_list_fit(const MemList *list, guint64 size);
/* The first that is not below (size, address). */
MemPlace mem_list_find(const MemList *list, guint64 size, guint64 address);
MemPlace mem_list_last(const MemList *list);

static inline const BaseVector *mem_list_page(const MemList *list, guint32 page) {
  return &((const BaseVector *)list->pages.data)[page];
}

/* Of a place that is not the end. */
static inline MemSpan *mem_list_span(const MemList *list, MemPlace place) {
  return &((MemSpan *)mem_list_page(list, mem_place_page(place))->data)[mem_place_at(place)];
}
/* NULL: the place is the end. */
static inline MemSpan *mem_list_at(const MemList *list, MemPlace place) {
  return mem_place_page(place) < list->pages.n ? mem_list_span(list, place) : NULL;
}

static inline MemPlace mem_list_first(void) {
  return 0;
}

static inline MemPlace mem_list_next(const MemList *list, MemPlace place) {
  gboolean within = mem_place_at(place) + 1 < mem_list_page(list, mem_place_page(place))->n;
  return within ? place + 1 : mem_place(mem_place_page(place) + 1, 0);
}
