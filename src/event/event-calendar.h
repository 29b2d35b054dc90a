/* SPDX-License-Identifier: MIT */
/* Calendar: where events of the far future wait, unsorted, so that the heap stays small enough for the cache. Part of
 * the event queue.
 *
 *   now        horizon                                              end
 *    │  heap      │ bucket │ bucket │ bucket │  …  256 of one width …  │  beyond
 *                  next
 *
 * All in the buckets come at the horizon or after it, all in the heap before it. When the heap runs out the next bucket
 * is poured into it; after the last bucket, what lies beyond is spread over new buckets, at least half of it. So an
 * event is moved O(1) times on the way to the heap, in the mean; and where all times fall into one bucket the heap does
 * all the work.
 *
 * Cost: put and remove O(1); pour and spread O(events moved). Sums of times decide widths, never an order. */
#pragma once

#include "event-heap.h"

#define EVENT_BUCKETS 256u

typedef struct {
  EventSlot *slots;
  guint32 n, size;
} EventBucket;

typedef struct {
  EventBucket buckets[EVENT_BUCKETS + 1]; /* the last: beyond */
  SimTime begin;                          /* of bucket 0 */
  guint shift;                            /* the width is 2^shift picoseconds */
  guint32 next;                           /* the first that is not poured yet */
  guint32 n;                              /* events in all */
  SimTime horizon;                        /* SIM_TIME_NEVER: the buckets are not in use */
} EventCalendar;

void event_calendar_clear(EventCalendar *calendar);
/* At or after the horizon. */
void event_calendar_put(EventCalendar *calendar, EventSlot slot);
/* Takes out an event that it holds; its bucket and position are the caller's to clear. */
void event_calendar_remove(EventCalendar *calendar, const Event *event);
/* Pours the earliest events, at least one, into the heap (in order then), and moves the horizon. Where
 * no more than `few` are left beyond, all of them, and the buckets are out of use. */
void event_calendar_pour(EventCalendar *calendar, EventHeap *heap, guint32 few);
/* Puts all of the heap from slot `first` in the buckets, then pours the earliest back. */
void event_calendar_spread(EventCalendar *calendar, EventHeap *heap, guint32 first);
