/* SPDX-License-Identifier: MIT */
/* The search among one place's layouts: private to this floor.
 *
 *   StudySearch search = {.ask = ask, .advice = &advice, .all = n};
 *   good = study_search_begin(&search, error) && study_search_place(&search, points, error);
 *   study_search_end(&search);
 *
 *   bound all ─► sort by time ─► play, shortest first, as a batch: what the database has is read from it, the processes
 *                                of an MPI job share the rest; what is proven slower when its turn comes is left out
 *             ─► the same of layouts that keep states in the host's memory, where they do not fit without
 *
 * A layout that fits is no faster for copying its states to the host and back, so the second round is needed for the
 * others alone. */
#pragma once

#include "store-db.h"
#include "study-advise.h"

typedef struct {
  const StudyAdvise *ask;
  StudyAdvice *advice;
  guint place;
  guint64 done, all;  /* of all places, for progress */
  StoreDb *db;        /* NULL: none */
  GArray *candidates; /* of one place, by number */
  GArray *order;      /* guint: their numbers by bound */
  guint next;         /* in `order` */
  gboolean offloads;  /* the second round */
  GMutex lock;
  GArray *steps; /* SimTime, of those that fit: the `top` shortest, ascending */
} StudySearch;

/* Opens the database. */
gboolean study_search_begin(StudySearch *search, GError **error);
/* Appends the best of the points (of study_candidates) to the advice. On processes of an MPI job but the first: only
 * plays what that hands out. Errors: of the database. */
gboolean study_search_place(StudySearch *search, const GPtrArray *points, GError **error);
void study_search_end(StudySearch *search);
