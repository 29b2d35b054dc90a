/* SPDX-License-Identifier: MIT */
/* The one table of metrics: what a run is judged by. JSON, best, check, fit, compare, validate and plots read it here.
 *
 *   const StoreMetric *metric = store_metric_find("step");   // column step_ps, unit time, less is better
 *   gint64 step = store_metric_get(metric, report).integer;
 *
 * Its rows are the columns of table run, in their order. */
#pragma once

#include "run-record.h"

/* TIME: picoseconds. BYTES: bytes. SHARE: 0 … 1. RATE: per second. MONEY: USD. */
typedef enum { STORE_TIME, STORE_BYTES, STORE_SHARE, STORE_RATE, STORE_MONEY, STORE_NUMBER, STORE_TEXT } StoreUnit;
typedef enum { STORE_NEITHER, STORE_LESS, STORE_MORE } StoreBetter;

typedef enum { STORE_OF_RUN, STORE_OF_SLOWEST, STORE_OF_TIGHTEST, STORE_MADE } StoreFrom;

typedef struct {
  const char *name;   /* the column without _ps or _bytes */
  const char *column; /* of table run */
  StoreUnit unit;
  StoreBetter better;
  StoreFrom from;
  const RunField *field; /* of the report, or of that class */
  RunValue (*make)(const RunReport *report);
  const char *help;
  gboolean per_class; /* also a column of table rank_class */
} StoreMetric;

extern const StoreMetric store_metrics[];
extern const gsize store_n_metrics;

/* By name or by column; NULL where there is none. */
const StoreMetric *store_metric_find(const char *name);

/* RUN_NULL: not known; NULL in the database, null in JSON. */
RunValue store_metric_get(const StoreMetric *metric, const RunReport *report);
/* A value as a query on the database prints it: of numbers that are not whole 15 digits, with a point. NULL of
 * RUN_NULL. Caller frees. */
char *store_value_text(RunValue value);
/* Whether its values are whole numbers. */
gboolean store_metric_is_whole(const StoreMetric *metric);

/* A value of its column for people: "1.234 s", "73.2 GiB", "12.3 %". NULL and text are themselves. Caller frees. */
char *store_metric_shown(const StoreMetric *metric, const char *value);

/* Whether it says what was asked, known before anything is played: the first rows of the table, up to `tokens`. */
gboolean store_metric_is_asked(const StoreMetric *metric);

/* The report as one class sees it: metrics that are per_class, read from the result, are that class's. Borrows from
 * `report`, never to be freed. */
RunReport store_metric_class_view(const RunReport *report, guint32 rank_class);
