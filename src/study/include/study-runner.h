/* SPDX-License-Identifier: MIT */
/* The runner: many items on all cores, delivered one by one in their order by whoever called. It knows neither what an
 * item is nor what is done to it.
 *
 *   StudyRunner runner = {.threads = 0, .next = next, .work = work, .deliver = deliver, .user = &mine};
 *   if (!study_runner_run(&runner, NULL, error)) return FALSE;
 *
 *   caller:   next ─► ┌──────── window ────────┐ ─► deliver 0, deliver 1, …
 *   threads:          │ work  work  work  work │
 *                     └────────────────────────┘
 *
 * `next` and `deliver` are called on the caller's thread alone, `work` on any, at once for several items: it may write
 * to its item only and must be a function of it, so that what is delivered is the same for any number of threads. At
 * most a window of items exists at a time, however many there are in all. One thread: everything on the caller's. */
#pragma once

#include <glib.h>

typedef gpointer (*StudyRunnerNext)(gpointer user); /* the next item; NULL: there are no more */
/* `thread`: what thread_new made for the thread that works. */
typedef void (*StudyRunnerWork)(gpointer item, gpointer thread, gpointer user);
/* Takes the item. FALSE: `error` is set and nothing more is delivered. */
typedef gboolean (*StudyRunnerDeliver)(gpointer item, gpointer user, GError **error);

typedef struct {
  guint threads; /* 0: one for each core */
  StudyRunnerNext next;
  /* Whether `next` would answer at once; FALSE while items are under way: one of them is delivered first. NULL: it
   * does. */
  gboolean (*ready)(gpointer user);
  StudyRunnerWork work;
  StudyRunnerDeliver deliver;
  GDestroyNotify drop; /* of items that are not delivered, after an error */
  gpointer user;
  /* What each thread keeps for itself, such as files it has read: made on it, freed when it ends. NULL: nothing. */
  gpointer (*thread_new)(gpointer user);
  GDestroyNotify thread_free;
  /* Asked before each `next`; TRUE: no more are taken, those begun are finished and delivered. NULL: never. */
  gboolean (*stop)(gpointer stop_user);
  gpointer stop_user;
} StudyRunner;

/* FALSE where `deliver` failed. *ret_stopped (may be NULL): whether `stop` ended it. */
gboolean study_runner_run(const StudyRunner *runner, gboolean *ret_stopped, GError **error);
