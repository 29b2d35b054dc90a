/* SPDX-License-Identifier: MIT */
/* A ring of slots between one producer and consumer, the caller, and the workers. */
#include "study-runner.h"

#include "base-error.h"
#include "base-pages.h"

#define WINDOW_PER_THREAD 16 /* items: one that takes long does not hold up the others until so many are done */

typedef struct {
  gpointer item;
  gboolean done;
} Slot;

typedef struct {
  const StudyRunner *runner;
  GMutex lock;
  GCond work_there, item_done;
  Slot *slots;
  guint n_slots;
  guint64 taken, begun, delivered; /* so many items so far; of the taken ones, `begun` have a worker */
  gboolean closed;                 /* nothing more will be taken */
} Ring;

static gpointer thread_begin(const StudyRunner *runner) {
  return runner->thread_new != NULL ? runner->thread_new(runner->user) : NULL;
}

static void thread_end(const StudyRunner *runner, gpointer mine) {
  if (runner->thread_free != NULL && mine != NULL)
    runner->thread_free(mine);
}

static gpointer worker(gpointer data) {
  Ring *ring = data;
  gpointer mine = thread_begin(ring->runner);
  g_mutex_lock(&ring->lock);
  for (;;) {
    while (ring->begun == ring->taken && !ring->closed)
      g_cond_wait(&ring->work_there, &ring->lock);
    if (ring->begun == ring->taken)
      break;
    Slot *slot = &ring->slots[ring->begun++ % ring->n_slots];
    g_mutex_unlock(&ring->lock);
    ring->runner->work(slot->item, mine, ring->runner->user);
    g_mutex_lock(&ring->lock);
    slot->done = TRUE;
    g_cond_signal(&ring->item_done);
  }
  g_mutex_unlock(&ring->lock);
  thread_end(ring->runner, mine);
  return NULL;
}

/* Takes items until the window is full or there are no more. */
static void fill(Ring *ring, gboolean *ret_stopped) {
  const StudyRunner *runner = ring->runner;
  while (!ring->closed && ring->taken - ring->delivered < ring->n_slots &&
         (runner->ready == NULL || ring->taken == ring->delivered || runner->ready(runner->user))) {
    *ret_stopped = runner->stop != NULL && runner->stop(runner->stop_user);
    gpointer item = *ret_stopped ? NULL : runner->next(runner->user);
    g_mutex_lock(&ring->lock);
    if (item != NULL)
      ring->slots[ring->taken++ % ring->n_slots] = (Slot){item, FALSE};
    else
      ring->closed = TRUE;
    g_cond_broadcast(&ring->work_there);
    g_mutex_unlock(&ring->lock);
  }
}

static gpointer wait_for_oldest(Ring *ring) {
  Slot *slot = &ring->slots[ring->delivered % ring->n_slots];
  g_mutex_lock(&ring->lock);
  while (!slot->done)
    g_cond_wait(&ring->item_done, &ring->lock);
  ring->delivered++;
  g_mutex_unlock(&ring->lock);
  return slot->item;
}

/* What nobody has begun yet is dropped undone. */
static void abandon(Ring *ring, GThread **threads, guint n_threads) {
  g_mutex_lock(&ring->lock);
  guint64 begun = ring->begun, taken = ring->taken;
  ring->taken = begun;
  ring->closed = TRUE;
  g_cond_broadcast(&ring->work_there);
  g_mutex_unlock(&ring->lock);
  for (guint i = 0; i < n_threads; i++)
    g_thread_join(threads[i]);
  for (guint64 i = ring->delivered; i < taken; i++)
    if (ring->runner->drop != NULL)
      ring->runner->drop(ring->slots[i % ring->n_slots].item);
}

/* As many as the machine gives; error: not one. */
static guint start_threads(GThread **threads, guint n_threads, Ring *ring, GError **error) {
  g_autoptr(GError) cause = NULL;
  guint started = 0;
  while (started < n_threads && (threads[started] = g_thread_try_new("study", worker, ring, &cause)) != NULL)
    started++;
  if (started == 0)
    g_set_error(error, SIM_ERROR, SIM_ERROR_SYSTEM, "no thread can be started: %s",
                cause != NULL ? cause->message : "none was asked for");
  return started;
}

static gboolean run_threads(const StudyRunner *runner, guint n_threads, gboolean *ret_stopped, GError **error) {
  Ring ring = {.runner = runner, .n_slots = n_threads * WINDOW_PER_THREAD};
  g_mutex_init(&ring.lock);
  g_cond_init(&ring.work_there);
  g_cond_init(&ring.item_done);
  ring.slots = g_new0(Slot, ring.n_slots);
  g_autofree GThread **threads = g_new0(GThread *, n_threads);
  base_pages_share(n_threads);
  guint started = start_threads(threads, n_threads, &ring, error);
  gboolean good = started > 0;
  if (good)
    fill(&ring, ret_stopped);
  while (good && ring.delivered < ring.taken) {
    good = runner->deliver(wait_for_oldest(&ring), runner->user, error);
    if (good)
      fill(&ring, ret_stopped);
  }
  abandon(&ring, threads, started);
  g_free(ring.slots);
  g_cond_clear(&ring.item_done);
  g_cond_clear(&ring.work_there);
  g_mutex_clear(&ring.lock);
  return good;
}

static gboolean run_here(const StudyRunner *runner, gboolean *ret_stopped, GError **error) {
  gpointer mine = thread_begin(runner);
  gboolean good = TRUE;
  while (good) {
    *ret_stopped = runner->stop != NULL && runner->stop(runner->stop_user);
    gpointer item = *ret_stopped ? NULL : runner->next(runner->user);
    if (item == NULL)
      break;
    runner->work(item, mine, runner->user);
    good = runner->deliver(item, runner->user, error);
  }
  thread_end(runner, mine);
  return good;
}

gboolean study_runner_run(const StudyRunner *runner, gboolean *ret_stopped, GError **error) {
  gboolean stopped = FALSE;
  guint threads = runner->threads != 0 ? runner->threads : g_get_num_processors();
  gboolean good = threads == 1 ? run_here(runner, &stopped, error) : run_threads(runner, threads, &stopped, error);
  if (good && ret_stopped != NULL)
    *ret_stopped = stopped;
  return good;
}
