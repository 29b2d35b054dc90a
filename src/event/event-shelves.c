/* Putting on shelves, pouring and spreading. A shelved event's `shelf` is the shelf's number + 1, its `position` its
 * index
 * + 1. */
#include "event-shelves.h"

#define BEYOND EVENT_SHELVES

void event_shelves_clear(EventShelves *shelves) {
  for (guint32 i = 0; i <= BEYOND; i++)
    g_free(shelves->shelves[i].slots);
}

static void place(EventShelves *shelves, guint32 number, guint32 index, EventSlot slot) {
  shelves->shelves[number].slots[index] = slot;
  slot.event->shelf = number + 1;
  slot.event->position = index + 1;
}

static void put_on(EventShelves *shelves, guint32 number, EventSlot slot) {
  EventShelf *shelf = &shelves->shelves[number];
  if (shelf->n == shelf->size) {
    shelf->size = shelf->size == 0 ? 16 : 2 * shelf->size;
    shelf->slots = g_renew(EventSlot, shelf->slots, shelf->size);
  }
  place(shelves, number, shelf->n++, slot);
  shelves->n++;
}

void event_shelves_put(EventShelves *shelves, EventSlot slot) {
  guint64 number = (guint64)(slot.time - shelves->begin) >> shelves->shift;
  put_on(shelves, (guint32)CLAMP(number, shelves->next, BEYOND), slot);
}

void event_shelves_remove(EventShelves *shelves, const Event *event) {
  guint32 number = event->shelf - 1, index = event->position - 1;
  EventShelf *shelf = &shelves->shelves[number];
  shelves->n--;
  if (index != --shelf->n)
    place(shelves, number, index, shelf->slots[shelf->n]);
}

static void pour_shelf(EventShelves *shelves, guint32 number, EventHeap *heap) {
  EventShelf *shelf = &shelves->shelves[number];
  for (guint32 i = 0; i < shelf->n; i++) {
    shelf->slots[i].event->shelf = 0;
    event_heap_append(heap, shelf->slots[i]);
  }
  shelves->n -= shelf->n;
  shelf->n = 0;
}

/* From beyond onto new shelves. These reach twice as far as the events do in the mean, so that few lone ones far ahead
 * cannot make them wide; at most half of the events are farther, and stay beyond. */
static void spread_beyond(EventShelves *shelves) {
  EventShelf beyond = shelves->shelves[BEYOND];
  SimTime first = SIM_TIME_NEVER;
  for (guint32 i = 0; i < beyond.n; i++)
    first = MIN(first, beyond.slots[i].time);
  double ahead = 0;
  for (guint32 i = 0; i < beyond.n; i++)
    ahead += (double)(beyond.slots[i].time - first);
  guint64 reach = (guint64)(2 * ahead / beyond.n);
  shelves->begin = first;
  shelves->next = 0;
  for (shelves->shift = 0; reach >> shelves->shift >= EVENT_SHELVES;)
    shelves->shift++;
  shelves->shelves[BEYOND] = (EventShelf){0};
  shelves->n -= beyond.n;
  for (guint32 i = 0; i < beyond.n; i++)
    event_shelves_put(shelves, beyond.slots[i]);
  g_free(beyond.slots);
}

static void move_horizon(EventShelves *shelves) {
  guint64 horizon = (guint64)shelves->begin + ((guint64)shelves->next << shelves->shift);
  shelves->horizon = (SimTime)MIN(horizon, (guint64)SIM_TIME_NEVER - 1);
}

void event_shelves_pour(EventShelves *shelves, EventHeap *heap, guint32 few) {
  guint32 before = shelves->n;
  while (shelves->n == before && shelves->next < EVENT_SHELVES)
    pour_shelf(shelves, shelves->next++, heap);
  if (shelves->n < before) {
    move_horizon(shelves);
  } else if (shelves->n <= few) {
    pour_shelf(shelves, BEYOND, heap);
    shelves->horizon = SIM_TIME_NEVER;
  } else {
    spread_beyond(shelves);
    pour_shelf(shelves, shelves->next++, heap);
    move_horizon(shelves);
  }
  event_heap_order(heap);
}

void event_shelves_spread(EventShelves *shelves, EventHeap *heap, guint32 first) {
  for (guint32 at = first; at < heap->end; at++)
    put_on(shelves, BEYOND, heap->slots[at]);
  heap->end = first;
  shelves->next = EVENT_SHELVES;
  event_shelves_pour(shelves, heap, 0);
}
