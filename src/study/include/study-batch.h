/* SPDX-License-Identifier: MIT */
/* A batch: points without end, played on all cores unless the database has them already, delivered in their order.
 * Sweeps and budgets are batches; neither order, nor resuming, nor threads are theirs to think of.
 *
 *   StudyBatch batch = {.next = next, .deliver = deliver, .user = &mine, .database = "foretrain.db"};
 *   if (!study_batch_run(&batch, &stopped, error)) return FALSE;
 *
 * What `deliver` gets: point->report of a point that was played; only point->run_key of one that the database has;
 * point->reasons of one that cannot run; neither, with point->unwanted, of one that `wanted` refused. */
#pragma once

#include "study-point.h"
#include "study-runner.h"

typedef struct {
  StudyPoint *(*next)(gpointer user);                  /* with its `base`; NULL: there are no more */
  gboolean (*ready)(gpointer user);                    /* as in study-runner.h */
  StudyPoint *(*again)(guint64 number, gpointer user); /* the point that had this number, in another process */
  /* Asked on any thread of a point before it is played, with a report that holds its identity alone. NULL: all are. */
  gboolean (*wanted)(const RunReport *identity, gpointer user);
  /* Asked on any thread of this process before anything of a point is read: TRUE leaves it, unwanted. NULL: none is. */
  gboolean (*skip)(const StudyPoint *point, gpointer user);
  gboolean (*deliver)(StudyPoint *point, gpointer user, GError **error); /* the point stays the batch's */
  gpointer user;
  const char *database; /* runs that stand there are not played again; NULL: all are. It must exist */
  GHashTable *known;    /* instead of a database: the keys of runs that are not played again; read by all threads */
  StudyOptions options;
  guint threads; /* 0: one for each core */
  gboolean (*stop)(gpointer stop_user);
  gpointer stop_user;
} StudyBatch;

/* Errors: what `deliver` says. */
gboolean study_batch_run(const StudyBatch *batch, gboolean *ret_stopped, GError **error);
/* A worker of a batch that others lead: plays what `more` gives until that is NULL, each as study_batch_run would, and
 * hands it to `played`. To be called on a thread of its own. */
void study_batch_work(const StudyBatch *batch, StudyPoint *(*more)(gpointer queue),
                      void (*played)(StudyPoint *point, gpointer queue), gpointer queue);
