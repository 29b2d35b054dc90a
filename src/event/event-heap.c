/* SPDX-License-Identifier: MIT */
/* The heap's walks. */
#include "event-heap.h"

#include <stdlib.h>
#include <string.h>

#include "base-error.h"
#include "base-wide.h"

#define ROOT EVENT_HEAP_ROOT
#define LINE 64 /* bytes of a cache line, on which the slots begin */

static inline gboolean before(const EventSlot *a, const EventSlot *b) {
  return (((BaseWide)(guint64)a->time << 64) | a->low) < (((BaseWide)(guint64)b->time << 64) | b->low);
}

static inline void place(EventSlot *slots, guint32 at, EventSlot slot) {
  slots[at] = slot;
  slot.event->position = at;
}

static inline guint32 parent_of(guint32 at) {
  return at / 4 + 2;
}

static void sift_up(EventHeap *heap, guint32 at, EventSlot slot) {
  EventSlot *slots = heap->slots;
  for (; at > ROOT && before(&slot, &slots[parent_of(at)]); at = parent_of(at))
    place(slots, at, slots[parent_of(at)]);
  place(slots, at, slot);
}

/* The least of the group of slots that begins at `child`. */
static inline guint32 least_of(const EventHeap *heap, guint32 child) {
  const EventSlot *slots = heap->slots;
  if (child + 4 <= heap->end) {
    guint32 left = child + before(&slots[child + 1], &slots[child]);
    guint32 right = child + 2 + before(&slots[child + 3], &slots[child + 2]);
    return before(&slots[right], &slots[left]) ? right : left;
  }
  guint32 least = child;
  for (guint32 other = child + 1; other < heap->end; other++)
    if (before(&slots[other], &slots[least]))
      least = other;
  return least;
}

static void sift_down(EventHeap *heap, guint32 at, EventSlot slot) {
  EventSlot *slots = heap->slots;
  for (guint32 child = 4 * (at - 2); child < heap->end; child = 4 * (at - 2)) {
    guint32 least = least_of(heap, child);
    if (!before(&slots[least], &slot))
      break;
    place(slots, at, slots[least]);
    at = least;
  }
  place(slots, at, slot);
}

void event_heap_init(EventHeap *heap) {
  *heap = (EventHeap){.end = ROOT};
}

void event_heap_clear(EventHeap *heap) {
  free(heap->slots);
}

static void grow(EventHeap *heap) {
  guint32 size = heap->size == 0 ? 64 : 2 * heap->size;
  EventSlot *slots = aligned_alloc(LINE, (gsize)size * sizeof(EventSlot));
  sim_require(slots != NULL && size > heap->size, 0, NULL, "no memory for %u events", size);
  if (heap->size > 0)
    memcpy(slots, heap->slots, heap->end * sizeof(EventSlot));
  free(heap->slots);
  heap->slots = slots;
  heap->size = size;
}

void event_heap_append(EventHeap *heap, EventSlot slot) {
  if (heap->end == heap->size || heap->size == 0)
    grow(heap);
  place(heap->slots, heap->end++, slot);
}

void event_heap_put(EventHeap *heap, EventSlot slot) {
  if (heap->end == heap->size || heap->size == 0)
    grow(heap);
  sift_up(heap, heap->end++, slot);
}

void event_heap_move(EventHeap *heap, guint32 at, EventSlot slot) {
  if (at > ROOT && before(&slot, &heap->slots[parent_of(at)]))
    sift_up(heap, at, slot);
  else
    sift_down(heap, at, slot);
}

void event_heap_remove(EventHeap *heap, guint32 at) {
  EventSlot last = heap->slots[--heap->end];
  if (at < heap->end)
    event_heap_move(heap, at, last);
}

void event_heap_order(EventHeap *heap) {
  if (heap->end <= ROOT + 1)
    return;
  for (guint32 at = parent_of(heap->end - 1); at >= ROOT; at--)
    if (before(&heap->slots[least_of(heap, 4 * (at - 2))], &heap->slots[at]))
      sift_down(heap, at, heap->slots[at]);
}
