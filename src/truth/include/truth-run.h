/* SPDX-License-Identifier: MIT */
/* Every row of validation tables, played: what was predicted beside what was measured.
 *
 *   TruthOptions options = {.base = study_new("validation"), .study = STUDY_OPTIONS_DEFAULT};
 *   g_autoptr(TruthResult) result = truth_run(paths, &options, error);
 *   for (guint i = 0; i < result->rows->len; i++) … truth_row(result, i)->predicted[STORE_MEASURE_STEP_TIME] …
 *
 * Rows come in the order of the tables, whatever the number of threads. A row that cannot be expressed has its reasons
 * in place of predictions: it is a result, never an error. Errors: the tables themselves. Memory: some hundred bytes a
 * row. */
#pragma once

#include "study-runner.h"
#include "trust.h"
#include "truth-table.h"

typedef struct {
  const Study *base; /* what is laid under every row; its settings from the command line stay above */
  StudyOptions study;
  guint threads;                        /* 0: one for each core */
  gboolean (*stop)(gpointer stop_user); /* as of StudyRunner */
  gpointer stop_user;
} TruthOptions;

/* Where a step's time and memory went. */
typedef struct {
  SimTime step, compute, exposed, idle;
  SimTime by_cause[RUN_CAUSES];
  guint64 held[RUN_TENANTS]; /* at the peak of the tightest class */
  guint64 device_used, capacity;
} TruthBreakdown;

/* Around a step: what the run said of it, and what it would have said had its source never been published. */
typedef struct {
  TrustCase like;
  SimTime low, high, held_low, held_high; /* 0: not known */
  guint held_alike;                       /* rows of other sources that are like it */
  gboolean resting;                       /* it is one of the rows that intervals rest on */
  char *envelope;                         /* NULL: no step was played */
} TruthInterval;

typedef struct {
  const TruthTable *table;
  guint row;
  const char *id, *source, *set; /* borrowed from the table */
  gboolean ran;
  char **reasons; /* why not; NULL where it ran */
  double measured[STORE_MEASURES], predicted[STORE_MEASURES];
  char *run_key; /* NULL: a collective, or it did not run */
  TruthBreakdown breakdown;
  TruthInterval interval;
  const char *algorithm, *protocol; /* of a collective; else NULL */
  guint64 bytes;
} TruthRow;

/* What rows left unsaid, and what they got. */
typedef struct {
  char *name, *value; /* value "": the topology's, the framework's or NCCL's own */
  guint rows;
} TruthDefault;

typedef struct {
  GPtrArray *tables; /* TruthTable */
  GArray *rows;      /* TruthRow */
  GArray *defaults;  /* TruthDefault, by name and value */
  guint coverage;    /* nominal, of intervals, in per cent */
  gboolean stopped;  /* `stop` ended it: rows are those that were finished */
} TruthResult;

TruthResult *truth_run(char *const *paths, const TruthOptions *options, GError **error);
void truth_result_free(TruthResult *result);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(TruthResult, truth_result_free)

static inline const TruthRow *truth_row(const TruthResult *result, guint index) {
  return &g_array_index(result->rows, TruthRow, index);
}
/* Reasons joined by "; ", or "ran". Caller frees. */
char *truth_row_status(const TruthRow *row);
/* predicted / measured - 1. FALSE where either is unknown. */
gboolean truth_row_error(const TruthRow *row, StoreMeasureKind kind, double *ret);
/* Into the database, as one validation. */
gboolean truth_keep(const TruthResult *result, StoreDb *db, GError **error);
