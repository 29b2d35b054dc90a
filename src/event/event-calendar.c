/* SPDX-License-Identifier: MIT */
/* Putting into buckets, pouring and spreading. An event's `bucket` is the number of the one that holds it + 1, its
 * `position` its index there + 1. */
#include "event-calendar.h"

#define BEYOND EVENT_BUCKETS

void event_calendar_clear(EventCalendar *calendar) {
  for (guint32 i = 0; i <= BEYOND; i++)
    g_free(calendar->buckets[i].slots);
}

static void place(EventCalendar *calendar, guint32 number, guint32 index, EventSlot slot) {
  calendar->buckets[number].slots[index] = slot;
  slot.event->bucket = number + 1;
  slot.event->position = index + 1;
}

static void put_in(EventCalendar *calendar, guint32 number, EventSlot slot) {
  EventBucket *bucket = &calendar->buckets[number];
  if (bucket->n == bucket->size) {
    bucket->size = bucket->size == 0 ? 16 : 2 * bucket->size;
    bucket->slots = g_renew(EventSlot, bucket->slots, bucket->size);
  }
  place(calendar, number, bucket->n++, slot);
  calendar->n++;
}

void event_calendar_put(EventCalendar *calendar, EventSlot slot) {
  guint64 number = (guint64)(slot.time - calendar->begin) >> calendar->shift;
  put_in(calendar, (guint32)CLAMP(number, calendar->next, BEYOND), slot);
}

void event_calendar_remove(EventCalendar *calendar, const Event *event) {
  guint32 number = event->bucket - 1, index = event->position - 1;
  EventBucket *bucket = &calendar->buckets[number];
  calendar->n--;
  if (index != --bucket->n)
    place(calendar, number, index, bucket->slots[bucket->n]);
}

static void pour_bucket(EventCalendar *calendar, guint32 number, EventHeap *heap) {
  EventBucket *bucket = &calendar->buckets[number];
  for (guint32 i = 0; i < bucket->n; i++) {
    bucket->slots[i].event->bucket = 0;
    event_heap_append(heap, bucket->slots[i]);
  }
  calendar->n -= bucket->n;
  bucket->n = 0;
}

/* From beyond into new buckets. These reach twice as far as the events do in the mean, so that few lone ones far ahead
 * cannot make them wide; at most half of the events are farther, and stay beyond. */
static void spread_beyond(EventCalendar *calendar) {
  EventBucket beyond = calendar->buckets[BEYOND];
  SimTime first = SIM_TIME_NEVER;
  for (guint32 i = 0; i < beyond.n; i++)
    first = MIN(first, beyond.slots[i].time);
  double ahead = 0;
  for (guint32 i = 0; i < beyond.n; i++)
    ahead += (double)(beyond.slots[i].time - first);
  guint64 reach = (guint64)(2 * ahead / beyond.n);
  calendar->begin = first;
  calendar->next = 0;
  for (calendar->shift = 0; reach >> calendar->shift >= EVENT_BUCKETS;)
    calendar->shift++;
  calendar->buckets[BEYOND] = (EventBucket){0};
  calendar->n -= beyond.n;
  for (guint32 i = 0; i < beyond.n; i++)
    event_calendar_put(calendar, beyond.slots[i]);
  g_free(beyond.slots);
}

static void move_horizon(EventCalendar *calendar) {
  guint64 horizon = (guint64)calendar->begin + ((guint64)calendar->next << calendar->shift);
  calendar->horizon = (SimTime)MIN(horizon, (guint64)SIM_TIME_NEVER - 1);
}

void event_calendar_pour(EventCalendar *calendar, EventHeap *heap, guint32 few) {
  guint32 before = calendar->n;
  while (calendar->n == before && calendar->next < EVENT_BUCKETS)
    pour_bucket(calendar, calendar->next++, heap);
  if (calendar->n < before) {
    move_horizon(calendar);
  } else if (calendar->n <= few) {
    pour_bucket(calendar, BEYOND, heap);
    calendar->horizon = SIM_TIME_NEVER;
  } else {
    spread_beyond(calendar);
    pour_bucket(calendar, calendar->next++, heap);
    move_horizon(calendar);
  }
  event_heap_order(heap);
}

void event_calendar_spread(EventCalendar *calendar, EventHeap *heap, guint32 first) {
  for (guint32 at = first; at < heap->end; at++)
    put_in(calendar, BEYOND, heap->slots[at]);
  heap->end = first;
  calendar->next = EVENT_BUCKETS;
  event_calendar_pour(calendar, heap, 0);
}
