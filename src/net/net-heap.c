/* The indexed heap of doubles. */
#include "net-heap.h"

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
  heap->n = 0;
  if (n <= heap->size)
    return;
  heap->size = MAX(n, 2 * heap->size);
  heap->entries = g_renew(NetHeapEntry, heap->entries, heap->size);
  heap->places = g_renew(guint32, heap->places, heap->size);
}

void net_heap_append(NetHeap *heap, guint32 id, double key) {
  place(heap, heap->n++, (NetHeapEntry){key, id});
}

void net_heap_order(NetHeap *heap) {
  if (heap->n > 1)
    for (guint32 at = (heap->n - 2) / 4 + 1; at-- > 0;)
      sift_down(heap, at, heap->entries[at]);
}

static void remove_at(NetHeap *heap, guint32 at) {
  heap->places[heap->entries[at].id] = G_MAXUINT32;
  NetHeapEntry last = heap->entries[--heap->n];
  if (at < heap->n)
    resettle(heap, at, last);
}

guint32 net_heap_pop(NetHeap *heap) {
  guint32 id = heap->entries[0].id;
  remove_at(heap, 0);
  return id;
}

void net_heap_set(NetHeap *heap, guint32 id, double key) {
  resettle(heap, heap->places[id], (NetHeapEntry){key, id});
}

void net_heap_remove(NetHeap *heap, guint32 id) {
  remove_at(heap, heap->places[id]);
}
