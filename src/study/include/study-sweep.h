/* SPDX-License-Identifier: MIT */
/* A sweep: a grid over one workload, into the database.
 *
 *   StudySweep sweep = {.base = study, .grid = grid, .database = "foretrain.db", .options = options};
 *   StudySweepResult result;
 *   if (!study_sweep_run(&sweep, &result, error)) return FALSE;      // result.played, result.known, result.refused
 *
 * Rows come in the order of the grid for any number of threads. A point whose run the database has is not played again,
 * so a sweep that was stopped goes on where it was. A point that makes no sense is a row with its reason. */
#pragma once

#include "store-expression.h"
#include "study-grid.h"

typedef struct {
  guint64 points;                           /* of this share of the grid */
  guint64 played, known, refused, unwanted; /* delivered so far, by what became of them */
  gint64 sweep_id;                          /* in the database */
} StudySweepResult;

typedef struct {
  const Study *base;
  const StudyGrid *grid;
  const char *database;
  const StoreExpression *where; /* of what is known before a run; NULL: all */
  StudyOptions options;         /* timeline: everything of a run is kept, not its summary alone */
  guint threads;                /* 0: one for each core; of each process: one */
  const struct StudyMpi *mpi;   /* processes that share it; NULL: this one alone */
  guint64 shard, shards;        /* points whose number is shard modulo shards; shards 0: all */
  gboolean (*stop)(gpointer stop_user);
  gpointer stop_user;
  void (*progress)(const StudySweepResult *so_far, gpointer progress_user); /* after each point; NULL: nobody looks */
  gpointer progress_user;
} StudySweep;

/* Errors: the database. *ret_stopped: `stop` ended it; what was begun is finished and kept. */
gboolean study_sweep_run(const StudySweep *sweep, StudySweepResult *ret, gboolean *ret_stopped, GError **error);
