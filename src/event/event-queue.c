/* SPDX-License-Identifier: MIT */
/* The event queue: keys and ties, the play of one event, and what is in the heap and what waits in the calendar.
 *
 * While an event plays, the root of the heap is a hole below every key: the first event that its callback puts into the
 * heap fills it with one walk down, where a removal and an insertion would be two walks. */
#include "event-queue.h"

#include "base-error.h"
#include "event-calendar.h"
#include "event-heap.h"

#define ROOT          EVENT_HEAP_ROOT
#define PHASE_SHIFT   60
#define IDENTITY_MASK ((G_GUINT64_CONSTANT(1) << PHASE_SHIFT) - 1)
/* Above this the heap is spread over buckets: slots and the events' own lines then fill about half a mebibyte, well
 * inside a processor's second cache. */
#define HEAP_MOST 8192u

struct EventQueue {
  EventHeap heap;
  EventCalendar calendar;
  gboolean hole; /* the root's event is playing and nothing has taken its place */
  EventTie tie;
  guint32 traced; /* bits of EventTracePoint */
  guint64 seed;
  SimTime now;
  guint64 played;
  const BaseTrace *trace;
};

const char *const event_trace_names[] = {"event.schedule", "event.fire", NULL};

void event_queue_trace(EventQueue *queue, const BaseTrace *trace) {
  queue->trace = trace;
  queue->traced = base_trace_points(trace, event_trace_names);
}

static void BASE_TRACE_COLD trace(const EventQueue *queue, EventTracePoint point, const Event *event, SimTime at) {
  static const char *const phases[] = {"completions", "frees", "host", "starts", "settle", "samples"};
  base_trace_line(queue->trace, event_trace_names[point], queue->now,
                  "at=%" G_GINT64_FORMAT " phase=%s identity=%" G_GUINT64_FORMAT, at, phases[event->low >> PHASE_SHIFT],
                  event->low & IDENTITY_MASK);
}

/* A bijection of 60 bits: each step, an addition, a product with an odd number or a shift folded in, can be undone. */
static guint64 shuffled(guint64 identity, guint64 seed) {
  guint64 x = identity + seed;
  for (int round = 0; round < 2; round++) {
    x = (x * G_GUINT64_CONSTANT(0x9e3779b97f4a7c15)) & IDENTITY_MASK;
    x ^= x >> 31;
    x = (x + (seed >> 4)) & IDENTITY_MASK;
  }
  return x;
}

static guint64 tied(const EventQueue *queue, guint64 low) {
  if (queue->tie == EVENT_TIE_FORWARD)
    return low;
  if (queue->tie == EVENT_TIE_REVERSE)
    return low ^ IDENTITY_MASK;
  return (low & ~IDENTITY_MASK) | shuffled(low & IDENTITY_MASK, queue->seed);
}

EventQueue *event_queue_new(EventTie tie, guint64 seed) {
  EventQueue *queue = g_new0(EventQueue, 1);
  queue->tie = tie;
  queue->seed = seed;
  queue->calendar.horizon = SIM_TIME_NEVER;
  event_heap_init(&queue->heap);
  return queue;
}

void event_queue_free(EventQueue *queue) {
  if (queue == NULL)
    return;
  event_heap_clear(&queue->heap);
  event_calendar_clear(&queue->calendar);
  g_free(queue);
}

void event_init(Event *event, EventCallback callback, gpointer owner, EventPhase phase, guint64 identity) {
  sim_require(identity <= IDENTITY_MASK, 0, NULL, "identity %" G_GUINT64_FORMAT " of an event needs over 60 bits",
              identity);
  *event = (Event){.callback = callback, .owner = owner, .low = ((guint64)phase << PHASE_SHIFT) | identity};
}

/* Events in the heap, the hole apart. */
static guint32 heap_count(const EventQueue *queue) {
  return queue->heap.end - ROOT - queue->hole;
}

/* The next event is always in the heap. */
static void keep_next_in_heap(EventQueue *queue) {
  if (heap_count(queue) == 0 && queue->calendar.n > 0)
    event_calendar_pour(&queue->calendar, &queue->heap, HEAP_MOST);
}

static void put(EventQueue *queue, EventSlot slot) {
  if (slot.time >= queue->calendar.horizon) {
    event_calendar_put(&queue->calendar, slot);
    keep_next_in_heap(queue);
  } else if (queue->hole) {
    queue->hole = FALSE;
    event_heap_move(&queue->heap, ROOT, slot);
  } else {
    event_heap_put(&queue->heap, slot);
    if (heap_count(queue) > HEAP_MOST && queue->calendar.horizon == SIM_TIME_NEVER)
      event_calendar_spread(&queue->calendar, &queue->heap, ROOT);
  }
}

void event_schedule(EventQueue *queue, Event *event, SimTime at) {
  sim_require(at >= queue->now && at < SIM_TIME_NEVER, queue->now, NULL, "an event for %" G_GINT64_FORMAT " ps", at);
  if (BASE_TRACED(queue->traced, EVENT_TRACE_SCHEDULE))
    trace(queue, EVENT_TRACE_SCHEDULE, event, at);
  EventSlot slot = {.time = at, .low = tied(queue, event->low), .event = event};
  if (event->position != 0 && event->bucket == 0 && at < queue->calendar.horizon) {
    event_heap_move(&queue->heap, event->position, slot);
  } else {
    event_cancel(queue, event);
    put(queue, slot);
  }
}

void event_cancel(EventQueue *queue, Event *event) {
  if (event->position == 0)
    return;
  if (event->bucket != 0)
    event_calendar_remove(&queue->calendar, event);
  else
    event_heap_remove(&queue->heap, event->position);
  event->position = event->bucket = 0;
  keep_next_in_heap(queue);
}

SimTime event_now(const EventQueue *queue) {
  return queue->now;
}

static void close_hole(EventQueue *queue) {
  if (!queue->hole)
    return;
  queue->hole = FALSE;
  event_heap_remove(&queue->heap, ROOT);
}

gboolean event_queue_step(EventQueue *queue) {
  close_hole(queue);
  if (queue->heap.end == ROOT)
    return FALSE;
  EventSlot *root = &queue->heap.slots[ROOT];
  Event *event = root->event;
  queue->now = root->time;
  queue->played++;
  queue->hole = TRUE;
  root->time = 0;
  root->low = 0;
  event->position = 0;
  keep_next_in_heap(queue);
  if (BASE_TRACED(queue->traced, EVENT_TRACE_FIRE))
    trace(queue, EVENT_TRACE_FIRE, event, queue->now);
  event->callback(event, event->owner);
  close_hole(queue);
  return TRUE;
}

SimTime event_queue_next(const EventQueue *queue) {
  const EventHeap *heap = &queue->heap;
  if (heap_count(queue) == 0)
    return SIM_TIME_NEVER;
  if (!queue->hole)
    return heap->slots[ROOT].time;
  SimTime next = SIM_TIME_NEVER;
  for (guint32 child = ROOT + 1; child < MIN(ROOT + 5, heap->end); child++)
    next = MIN(next, heap->slots[child].time);
  return next;
}

gboolean event_queue_pass(EventQueue *queue, SimTime at) {
  if (queue->traced != 0 || event_queue_next(queue) <= at)
    return FALSE;
  queue->now = at;
  queue->played++;
  return TRUE;
}

guint64 event_queue_played(const EventQueue *queue) {
  return queue->played;
}

guint32 event_queue_pending(const EventQueue *queue) {
  return heap_count(queue) + queue->calendar.n;
}
