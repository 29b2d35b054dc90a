/* The heap behind the event queue.
 *
 *   slot 0 1 2 | 3 | 4 5 6 7 | 8 9 10 11 | 12 …        the root is slot 3, the children of slot i are 4 (i - 2) and the next
 *   not used   root  its four  children of 4             three: groups of four begin on multiples of four
 *
 * While an event plays, the root is a hole below every key: the first event that its callback schedules fills it with one
 * walk down, where a removal and an insertion would be two walks. */
#include "event-queue.h"

#include <stdlib.h>
#include <string.h>

#include "base-error.h"

#define ROOT          3u
#define PHASE_SHIFT   60
#define IDENTITY_MASK ((G_GUINT64_CONSTANT(1) << PHASE_SHIFT) - 1)
#define LINE          64 /* bytes of a cache line: where the groups of four begin */

typedef struct {
  SimTime time; /* high half of the key */
  guint64 low;
  Event *event;
} Slot;

struct EventQueue {
  Slot *slots;
  guint32 end;  /* one past the last slot in use */
  guint32 size; /* slots allocated */
  gboolean hole; /* the root's event is playing and nothing has taken its place */
  EventTie tie;
  guint64 seed;
  SimTime now;
  guint64 played;
};

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

static inline gboolean before(const Slot *a, const Slot *b) {
  __extension__ typedef unsigned __int128 Key; /* times are never negative */
  return (((Key)(guint64)a->time << 64) | a->low) < (((Key)(guint64)b->time << 64) | b->low);
}

static inline void place(Slot *slots, guint32 at, Slot slot) {
  slots[at] = slot;
  slot.event->position = at;
}

static void sift_up(EventQueue *queue, guint32 at, Slot slot) {
  Slot *slots = queue->slots;
  while (at > ROOT) {
    guint32 parent = at / 4 + 2;
    if (!before(&slot, &slots[parent]))
      break;
    place(slots, at, slots[parent]);
    at = parent;
  }
  place(slots, at, slot);
}

static void sift_down(EventQueue *queue, guint32 at, Slot slot) {
  Slot *slots = queue->slots;
  for (;;) {
    guint32 child = 4 * (at - 2);
    if (child >= queue->end)
      break;
    guint32 least = child;
    if (child + 4 <= queue->end) {
      guint32 left = child + before(&slots[child + 1], &slots[child]);
      guint32 right = child + 2 + before(&slots[child + 3], &slots[child + 2]);
      least = before(&slots[right], &slots[left]) ? right : left;
    } else {
      for (guint32 other = child + 1; other < queue->end; other++)
        if (before(&slots[other], &slots[least]))
          least = other;
    }
    if (!before(&slots[least], &slot))
      break;
    place(slots, at, slots[least]);
    at = least;
  }
  place(slots, at, slot);
}

static void resettle(EventQueue *queue, guint32 at, Slot slot) {
  if (at > ROOT && before(&slot, &queue->slots[at / 4 + 2]))
    sift_up(queue, at, slot);
  else
    sift_down(queue, at, slot);
}

/* Takes the slot out; its event's position is the caller's to clear. */
static void remove_at(EventQueue *queue, guint32 at) {
  Slot last = queue->slots[--queue->end];
  if (at < queue->end)
    resettle(queue, at, last);
}

static void close_hole(EventQueue *queue) {
  if (queue->hole) {
    queue->hole = FALSE;
    remove_at(queue, ROOT);
  }
}

static void grow(EventQueue *queue) {
  guint32 size = queue->size == 0 ? 64 : 2 * queue->size;
  Slot *slots = aligned_alloc(LINE, (gsize)size * sizeof(Slot));
  sim_require(slots != NULL && size > queue->size, queue->now, NULL, "no memory for %u events", size);
  if (queue->size > 0)
    memcpy(slots, queue->slots, queue->end * sizeof(Slot));
  free(queue->slots);
  queue->slots = slots;
  queue->size = size;
}

EventQueue *event_queue_new(EventTie tie, guint64 seed) {
  EventQueue *queue = g_new0(EventQueue, 1);
  queue->tie = tie;
  queue->seed = seed;
  queue->end = ROOT;
  grow(queue);
  return queue;
}

void event_queue_free(EventQueue *queue) {
  if (queue == NULL)
    return;
  free(queue->slots);
  g_free(queue);
}

void event_init(Event *event, EventCallback callback, gpointer owner, EventPhase phase, guint64 identity) {
  sim_require(identity <= IDENTITY_MASK, 0, NULL, "identity %" G_GUINT64_FORMAT " of an event needs over 60 bits",
              identity);
  *event = (Event){.callback = callback, .owner = owner, .low = ((guint64)phase << PHASE_SHIFT) | identity};
}

void event_schedule(EventQueue *queue, Event *event, SimTime at) {
  sim_require(at >= queue->now && at < SIM_TIME_NEVER, queue->now, NULL, "an event for %" G_GINT64_FORMAT " ps", at);
  Slot slot = {.time = at, .low = tied(queue, event->low), .event = event};
  if (event->position != 0) {
    resettle(queue, event->position, slot);
  } else if (queue->hole) {
    queue->hole = FALSE;
    sift_down(queue, ROOT, slot);
  } else {
    if (queue->end == queue->size)
      grow(queue);
    sift_up(queue, queue->end++, slot);
  }
}

void event_cancel(EventQueue *queue, Event *event) {
  if (event->position == 0)
    return;
  remove_at(queue, event->position);
  event->position = 0;
}

SimTime event_now(const EventQueue *queue) {
  return queue->now;
}

gboolean event_queue_step(EventQueue *queue) {
  close_hole(queue);
  if (queue->end == ROOT)
    return FALSE;
  Slot *root = &queue->slots[ROOT];
  Event *event = root->event;
  queue->now = root->time;
  queue->played++;
  queue->hole = TRUE;
  root->time = 0;
  root->low = 0;
  event->position = 0;
  event->callback(event, event->owner);
  close_hole(queue);
  return TRUE;
}

SimTime event_queue_next(const EventQueue *queue) {
  if (queue->end == ROOT)
    return SIM_TIME_NEVER;
  if (!queue->hole)
    return queue->slots[ROOT].time;
  SimTime next = SIM_TIME_NEVER;
  for (guint32 child = ROOT + 1; child < MIN(ROOT + 5, queue->end); child++)
    next = MIN(next, queue->slots[child].time);
  return next;
}

guint64 event_queue_played(const EventQueue *queue) {
  return queue->played;
}

guint32 event_queue_pending(const EventQueue *queue) {
  return queue->end - ROOT - queue->hole;
}
