/* SPDX-License-Identifier: MIT */
/* The indexed heap of doubles. */
#include "net-heap.h"

#include <string.h>

static inline void place(NetHeap *heap, guint32 at, NetHeapEntry entry) {
  heap->entries[at] = entry;
  heap->places[entry.id] = at;
}

static void sift_up(NetHeap *heap, guint32 at, NetHeapEntry entry) {
  for (; at > 0 && entry.key < heap->entries[(at - 1) / 4].key; at = (at - 1) / 4)
    place(heap, at, heap->entries[(at - 1) / 4]);
  place(heap, at, entry);
}

static void sift_down(NetHeap *heap, guint32 at, NetHeapEntry entry) {
  const NetHeapEntry *entries = heap->entries;
  for (guint32 child = 4 * at + 1; child < heap->n; child = 4 * at + 1) {
    guint32 least = child, end = MIN(child + 4, heap->n);
    for (guint32 other = child + 1; other < end; other++)
      least = entries[other].key < entries[least].key ? other : least;
    if (!(entries[least].key < entry.key))
      break;
    place(heap, at, entries[least]);
    at = least;
  }
  place(heap, at, entry);
}

static void resettle(NetHeap *heap, guint32 at, NetHeapEntry entry) {
  if (at > 0 && entry.key < heap->entries[(at - 1) / 4].key)
    sift_up(heap, at, entry);
  else
    sift_down(heap, at, entry);
}

void net_heap_clear(NetHeap *heap) {
  g_free(heap->entries);
  g_free(heap->places);
  *heap = (NetHeap){0};
}

void net_heap_reserve(NetHeap *heap, guint32 n) {
  if (n <= heap->size)
    return;
  guint32 size = MAX(n, 2 * heap->size);
  heap->entries = g_renew(NetHeapEntry, heap->entries, size);
  heap->places = g_renew(guint32, heap->places, size);
  memset(heap->places + heap->size, 0xff, (size - heap->size) * sizeof(guint32)); /* G_MAXUINT32 each */
  heap->size = size;
}

void net_heap_put(NetHeap *heap, guint32 id, double key) {
  guint32 at = heap->places[id];
  if (at == G_MAXUINT32)
    sift_up(heap, heap->n++, (NetHeapEntry){key, id});
  else
    resettle(heap, at, (NetHeapEntry){key, id});
}

void net_heap_remove(NetHeap *heap, guint32 id) {
  guint32 at = heap->places[id];
  if (at == G_MAXUINT32)
    return;
  heap->places[id] = G_MAXUINT32;
  NetHeapEntry last = heap->entries[--heap->n];
  if (at < heap->n)
    resettle(heap, at, last);
}

guint32 net_heap_pop(NetHeap *heap) {
  guint32 id = heap->entries[0].id;
  net_heap_remove(heap, id);
  return id;
}
