/* SPDX-License-Identifier: MIT */
/* The event queue: what happens next. A 4-ary indexed heap of keys, with the events embedded in their owners; of very
 * many pending events only the next thousands are in the heap.
 *
 * One 128-bit key orders everything: time in its high half; the named phase of that instant, then the owner's identity
 * in its low half. So the order never depends on who scheduled first. Within a phase order must not matter to results;
 * EventTie permutes it to prove that.
 *
 *   EventQueue *queue = event_queue_new(EVENT_TIE_FORWARD, 0);
 *   event_init(&task->event, task_ended, task, EVENT_PHASE_COMPLETIONS, task->identity);
 *   event_schedule(queue, &task->event, start + duration);      // moves it where it is pending
 *   event_cancel(queue, &task->event);                          // nothing where it is not
 *   while (event_queue_step(queue)) {}
 *
 * Times are picoseconds of simulated time. Scheduling before event_now, or at SIM_TIME_NEVER, is a broken contract. An
 * event scheduled for the present instant in a phase that is over starts another round of that instant, its phases in
 * order again. An event is not pending while its callback runs: the callback may schedule it again, free its owner, or
 * cancel others.
 *
 * Cost: schedule, move, cancel and step O(log n) amortised, the next time O(1); no allocation per event (arrays
 * double). Ownership: an event belongs to its owner and stays where it is while pending; the queue frees none. Not
 * thread-safe: one queue a run. */
#pragma once

#include <glib.h>

#include "base-quantity.h"
#include "base-trace.h"

/* Phases of one instant, in their order. */
typedef enum {
  EVENT_PHASE_COMPLETIONS,
  EVENT_PHASE_FREES,
  EVENT_PHASE_HOST,
  EVENT_PHASE_STARTS,
  EVENT_PHASE_SETTLE,
  EVENT_PHASE_SAMPLES,
} EventPhase;

/* Order of identities within one phase of one instant: ascending, descending, or shuffled by a seed. */
typedef enum { EVENT_TIE_FORWARD, EVENT_TIE_REVERSE, EVENT_TIE_SHUFFLE } EventTie;

typedef struct Event Event;
typedef void (*EventCallback)(Event *event, gpointer owner);

/* Embedded in its owner; the fields are the queue's own. */
struct Event {
  EventCallback callback;
  gpointer owner;
  guint64 low;      /* phase and identity, before EventTie */
  guint32 position; /* in the heap or in its bucket; 0 when not pending */
  guint32 bucket;   /* 0: in the heap */
};

typedef struct EventQueue EventQueue;

/* `seed` is for EVENT_TIE_SHUFFLE alone. */
EventQueue *event_queue_new(EventTie tie, guint64 seed);
/* Pending events are forgotten; their owners must not hand them to a queue again before event_init. */
void event_queue_free(EventQueue *queue);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(EventQueue, event_queue_free)

/* `identity`: below 2^60, unique within a queue and phase, the same in every run of the same input. */
void event_init(Event *event, EventCallback callback, gpointer owner, EventPhase phase, guint64 identity);
void event_schedule(EventQueue *queue, Event *event, SimTime at);
void event_cancel(EventQueue *queue, Event *event);
static inline gboolean event_is_pending(const Event *event) {
  return event->position != 0;
}

/* Time of the event being played, or of the last one; 0 at first. */
SimTime event_now(const EventQueue *queue);
/* Plays the next event; FALSE where none is pending. */
gboolean event_queue_step(EventQueue *queue);
/* Time of the next event, SIM_TIME_NEVER where none. */
SimTime event_queue_next(const EventQueue *queue);
/* In place of an event that would be the very next, and is the caller's own: time goes on to `at`, no earlier than
 * now, and one event counts as played. FALSE, and nothing happens: another is pending up to `at`, or is to be traced.
 * From within a callback, as the last thing that it does at the present instant. */
gboolean event_queue_pass(EventQueue *queue, SimTime at);
/* Trace points, by name: each event that is scheduled, and each that is played. The trace outlives the queue; NULL:
 * none. */
typedef enum { EVENT_TRACE_SCHEDULE, EVENT_TRACE_FIRE } EventTracePoint;
extern const char *const event_trace_names[];
void event_queue_trace(EventQueue *queue, const BaseTrace *trace);
/* Events played so far, and events pending. */
guint64 event_queue_played(const EventQueue *queue);
guint32 event_queue_pending(const EventQueue *queue);
