/* An indexed heap of doubles: the least key first, keys of numbered things, which may be changed or taken out.
 *
 *   net_heap_reserve(&heap, n);                     // ids are below n; empties the heap
 *   net_heap_append(&heap, id, key); … net_heap_order(&heap);
 *   while (heap.n > 0 && net_heap_least(&heap) == level) id = net_heap_pop(&heap);
 *
 * Cost: append O(1), order O(n), pop, set and remove O(log n). */
#pragma once

#include <glib.h>

typedef struct {
  double key;
  guint32 id;
} NetHeapEntry;

typedef struct {
  NetHeapEntry *entries; /* children of i: 4 i + 1 to 4 i + 4 */
  guint32 *places;       /* of an id; G_MAXUINT32 once it has left */
  guint32 n, size;
} NetHeap;

void net_heap_clear(NetHeap *heap);
void net_heap_reserve(NetHeap *heap, guint32 n);
/* Without regard to order, until net_heap_order. */
void net_heap_append(NetHeap *heap, guint32 id, double key);
void net_heap_order(NetHeap *heap);
guint32 net_heap_pop(NetHeap *heap);
/* Whether an id that was appended since net_heap_reserve is still there. */
static inline gboolean net_heap_has(const NetHeap *heap, guint32 id) {
  return heap->places[id] != G_MAXUINT32;
}
/* The id is in the heap. */
void net_heap_set(NetHeap *heap, guint32 id, double key);
void net_heap_remove(NetHeap *heap, guint32 id);

static inline double net_heap_least(const NetHeap *heap) {
  return heap->entries[0].key;
}
