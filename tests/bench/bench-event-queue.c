/* SPDX-License-Identifier: MIT */
/* Hold model: N events are pending; each one played schedules itself again after a random time. The event queue beside
 * a bare 4-ary heap of 24-byte entries, which knows nothing of owners, moving or cancelling.
 *
 * Target: 1.5 of the bare heap.
 *
 * usage: bench-event-queue [PENDING]: the queue alone, with so many pending */
#include "bench.h"
#include "event-queue.h"

#define HOLDS   4000000u
#define REPEATS 3 /* the fastest counts */

typedef struct {
  SimTime time;
  guint64 low;
  gpointer payload;
} Entry;

typedef struct {
  Entry *entries;
  guint32 n;
} BareHeap;

static SimTime draw(guint64 *random) {
  return (SimTime)(bench_random(random) >> 34) + 1; /* up to 2^30 ps */
}

static inline gboolean earlier(const Entry *a, const Entry *b) {
  return a->time < b->time || (a->time == b->time && a->low < b->low);
}

static void bare_push(BareHeap *heap, Entry entry) {
  guint32 at = heap->n++;
  for (; at > 0 && earlier(&entry, &heap->entries[(at - 1) / 4]); at = (at - 1) / 4)
    heap->entries[at] = heap->entries[(at - 1) / 4];
  heap->entries[at] = entry;
}

static Entry bare_pop(BareHeap *heap) {
  Entry top = heap->entries[0], last = heap->entries[--heap->n];
  guint32 at = 0;
  for (guint32 child = 1; child < heap->n; child = 4 * at + 1) {
    guint32 least = child, end = MIN(child + 4, heap->n);
    for (guint32 other = child + 1; other < end; other++)
      if (earlier(&heap->entries[other], &heap->entries[least]))
        least = other;
    if (!earlier(&heap->entries[least], &last))
      break;
    heap->entries[at] = heap->entries[least];
    at = least;
  }
  heap->entries[at] = last;
  return top;
}

static double hold_bare(guint32 n) {
  guint64 random = 1;
  BareHeap heap = {.entries = g_new(Entry, n + 1)};
  for (guint32 i = 0; i < n; i++)
    bare_push(&heap, (Entry){.time = draw(&random), .low = i});
  double begin = bench_seconds();
  for (guint32 i = 0; i < HOLDS; i++) {
    Entry entry = bare_pop(&heap);
    entry.time += draw(&random);
    bare_push(&heap, entry);
  }
  double seconds = bench_seconds() - begin;
  g_free(heap.entries);
  return HOLDS / seconds;
}

typedef struct {
  EventQueue *queue;
  guint64 random;
} Hold;

static void hold_again(Event *event, gpointer owner) {
  Hold *hold = owner;
  event_schedule(hold->queue, event, event_now(hold->queue) + draw(&hold->random));
}

static double hold_queue(guint32 n) {
  g_autoptr(EventQueue) queue = event_queue_new(EVENT_TIE_FORWARD, 0);
  Hold hold = {queue, 1};
  g_autofree Event *events = g_new(Event, n);
  for (guint32 i = 0; i < n; i++) {
    event_init(&events[i], hold_again, &hold, EVENT_PHASE_COMPLETIONS, i);
    event_schedule(queue, &events[i], draw(&hold.random));
  }
  double begin = bench_seconds();
  for (guint32 i = 0; i < HOLDS; i++)
    event_queue_step(queue);
  return HOLDS / (bench_seconds() - begin);
}

int main(int argc, char **argv) {
  bench_head("event queue, hold model");
  if (argc > 1) {
    printf("  %s pending: %5.1f million/s\n", argv[1], hold_queue((guint32)g_ascii_strtoull(argv[1], NULL, 10)) / 1e6);
    return 0;
  }
  static const guint32 pending[] = {1000, 100000, 1000000};
  for (guint i = 0; i < G_N_ELEMENTS(pending); i++) {
    double bare = 0, queue = 0;
    for (int repeat = 0; repeat < REPEATS; repeat++) {
      bare = MAX(bare, hold_bare(pending[i]));
      queue = MAX(queue, hold_queue(pending[i]));
    }
    printf("  %7u pending: %5.1f million/s, bare heap %5.1f million/s, ratio %.2f\n", pending[i], queue / 1e6,
           bare / 1e6, queue / bare);
  }
  return 0;
}
