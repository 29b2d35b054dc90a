/* SPDX-License-Identifier: MIT */
/* An indexed heap of doubles: the least key first, keys of numbered things, which may be changed or taken out.
 *
 *   net_heap_reserve(&heap, n);                     // ids are below n
 *   net_heap_put(&heap, id, key);                   // in, or moved
 *   net_heap_remove(&heap, id);                     // nothing where it is not in
 *   while (net_heap_least(&heap) == level) id = net_heap_pop(&heap);
 *
 * Cost: O(log n), the least O(1). */
#pragma once

#include <glib.h>
#include <math.h>

typedef struct {
  double key;
  guint32 id;
} NetHeapEntry;

typedef struct {
  NetHeapEntry *entries; /* children of i: 4 i + 1 to 4 i + 4 */
  guint32 *places;       /* of an id; G_MAXUINT32 where it is not in */
  guint32 n, size;
} NetHeap;

void net_heap_clear(NetHeap *heap);
void net_heap_reserve(NetHeap *heap, guint32 n);
void net_heap_put(NetHeap *heap, guint32 id, double key);
void net_heap_remove(NetHeap *heap, guint32 id);
guint32 net_heap_pop(NetHeap *heap);
/* Infinite where nothing is in. */
static inline double net_heap_least(const NetHeap *heap) {
  return heap->n > 0 ? heap->entries[0].key : INFINITY;
}
