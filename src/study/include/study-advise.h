/* SPDX-License-Identifier: MIT */
/* Which layout to train with: every one that the framework allows is bounded, the promising ones are played, the best
 * are returned.
 *
 *   StudyAdvise ask = {.study = study, .options = options, .top = 5};
 *   StudyAdvice advice;
 *   if (!study_advise(&ask, &advice, error)) return FALSE;
 *   … advice.best[0].change, advice.best[0].report …
 *   study_advice_clear(&advice);
 *
 * Varied: ZeRO stage, shard group, tensor, context, expert and pipeline ranks, model chunks of a pipeline rank and its
 * schedule, micro-batch at the workload's global batch, recomputation, buckets (their size, and whether they go beside
 * compute), offload; clusters and their nodes where
 * several are asked for. What the command line sets stays (accumulation only says what the global batch is), and what
 * the framework refuses is left out.
 *
 * The result is that of the full search. On one cluster of a number of nodes all have the same tokens to a step, so the
 * best is the shortest step that fits, by whatever is asked (days, price); there a candidate is left out only if
 * study-bound.h proves it longer than `top` others that were played, or larger than the device. `everything` plays all,
 * for tests.
 *
 * Cost: some 0.5 ms a candidate to bound, then a summary-only run for each that is played. */
#pragma once

#include "study-mpi.h"
#include "study.h"

typedef struct {
  const char *topology; /* NULL: the workload's */
  guint32 nodes, gpus;  /* how many; both 0: as the workload has it, one of them: the other follows */
} StudyPlace;

typedef struct {
  const Study *study;
  StudyOptions options;
  const StudyPlace *places; /* NULL: the workload's alone */
  guint n_places;
  guint top;             /* that are returned of each place; at least 1 */
  guint threads;         /* 0: one for each core */
  gboolean everything;   /* nothing is left out by bounds */
  const char *database;  /* what is played is kept there, and what it has not played again; NULL: none */
  guint64 shard, shards; /* only this share of the layouts, counted from 0; shards 0: all */
  const StudyMpi *mpi;   /* processes that share them; NULL: this one. But for the first, none gets advice */
  gboolean (*stop)(gpointer stop_user); /* asked before a layout is begun; NULL: never */
  gpointer stop_user;
  void (*progress)(guint64 done, guint64 all, gpointer user); /* of all places; NULL: nobody looks */
  gpointer user;
} StudyAdvise;

typedef struct {
  guint place;
  char *change; /* against the workload: "parallel.tensor=2 training.micro_batch=4", each setting once; "": none */
  RunReport *report;
} StudyAdvised;

typedef struct {
  StudyAdvised *best; /* by place, then by step */
  guint n;
  RunReport *own;                         /* the workload as it is */
  guint64 candidates, refused, too_large; /* of these; the rest was played or proven slower */
  guint64 played;                         /* depends on how fast threads are, unlike all else */
  gboolean stopped;                       /* not all were looked at */
} StudyAdvice;

/* Errors: the workload itself cannot run; GPUs that do not fill nodes. A place where nothing fits has no row. */
gboolean study_advise(const StudyAdvise *ask, StudyAdvice *ret, GError **error);
void study_advice_clear(StudyAdvice *advice);
void study_advised_clear(StudyAdvised *advised);

/* The differences between the workload's and an advised recipe, one at a time over the workload at its global batch:
 * which one alone brings most. Of StudyAdvised, the shortest step first; those that do not run or fit, and those that
 * bring nothing, are left out. For an advised recipe on the workload's own cluster and nodes. Caller unrefs. */
GPtrArray *study_advice_alone(const StudyAdvise *ask, const StudyAdvice *advice, const StudyAdvised *advised);
