/* SPDX-License-Identifier: MIT */
/* A 4-ary heap of keys whose events know their place in it: part of the event queue.
 *
 *   slot 0 1 2 | 3 | 4 5 6 7 | 8 9 10 11 | 12 …      the root is slot 3; the children of slot i are 4 (i - 2) and the
 * next not used   root  its four  children of 4           three, so that groups of four begin on multiples of four
 *
 * Cost: put, remove and move O(log n), order O(n). */
#pragma once

#include "event-queue.h"

typedef struct {
  SimTime time; /* high half of the key; never negative */
  guint64 low;
  Event *event;
} EventSlot;

#define EVENT_HEAP_ROOT 3u

typedef struct {
  EventSlot *slots;
  guint32 end;  /* one past the last slot in use */
  guint32 size; /* slots allocated */
} EventHeap;

void event_heap_init(EventHeap *heap);
void event_heap_clear(EventHeap *heap);
void event_heap_put(EventHeap *heap, EventSlot slot);
/* Takes the slot out; its event's position is the caller's to clear. */
void event_heap_remove(EventHeap *heap, guint32 at);
/* Puts another key in a slot in use. */
void event_heap_move(EventHeap *heap, guint32 at, EventSlot slot);
/* Puts a slot at the end without regard to order, until event_heap_order. */
void event_heap_append(EventHeap *heap, EventSlot slot);
/* Touches only events that must move: the root may be a hole, whose event is gone. */
void event_heap_order(EventHeap *heap);
