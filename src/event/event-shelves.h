/* Shelves: where events of the far future wait, unsorted, so that the heap stays small enough for the cache. Part of
 * the event queue.
 *
 *   now        horizon                                              end
 *    │  heap      │ shelf │ shelf │ shelf │  …  256 of one width …  │  beyond
 *                  next
 *
 * All on the shelves come at the horizon or after it, all in the heap before it. When the heap runs out the next shelf
 * is poured into it; after the last shelf, what lies beyond is spread over new shelves, at least half of it. So an
 * event is moved O(1) times on the way to the heap, in the mean; and where all times fall on one shelf the heap does
 * all the work.
 *
 * Cost: put and remove O(1); pour and spread O(events moved). Sums of times decide widths, never an order. */
#pragma once

#include "event-heap.h"

#define EVENT_SHELVES 256u

typedef struct {
  EventSlot *slots;
  guint32 n, size;
} EventShelf;

typedef struct {
  EventShelf shelves[EVENT_SHELVES + 1]; /* the last: beyond */
  SimTime begin;                         /* of shelf 0 */
  guint shift;                           /* the width is 2^shift picoseconds */
  guint32 next;                          /* the first that is not poured yet */
  guint32 n;                             /* events on all */
  SimTime horizon;                       /* SIM_TIME_NEVER: the shelves are not in use */
} EventShelves;

void event_shelves_clear(EventShelves *shelves);
/* At or after the horizon. */
void event_shelves_put(EventShelves *shelves, EventSlot slot);
/* Takes a shelved event out; its shelf and position are the caller's to clear. */
void event_shelves_remove(EventShelves *shelves, const Event *event);
/* Pours the earliest events, at least one of those shelved, into the heap (in order then), and moves the horizon. Where
 * no more than `few` are left beyond, all of them, and the shelves are out of use. */
void event_shelves_pour(EventShelves *shelves, EventHeap *heap, guint32 few);
/* Puts all of the heap from slot `first` on the shelves, then pours the earliest back. */
void event_shelves_spread(EventShelves *shelves, EventHeap *heap, guint32 first);
