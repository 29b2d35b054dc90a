/* The one table of metrics: what a run is judged by. JSON, best, check, fit, compare, validate and plots read it here.
 *
 *   const StoreMetric *metric = store_metric_find("step");   // column step_ps, unit time, less is better
 *   gint64 step = metric->integer(report);
 *
 * Its rows are the columns of table run, in their order. Exactly one of `integer`, `number` and `text` is set. */
#pragma once

#include "run-report.h"

/* TIME: picoseconds. BYTES: bytes. SHARE: 0 … 1. RATE: per second. MONEY: USD. */
typedef enum { STORE_TIME, STORE_BYTES, STORE_SHARE, STORE_RATE, STORE_MONEY, STORE_NUMBER, STORE_TEXT } StoreUnit;
typedef enum { STORE_NEITHER, STORE_LESS, STORE_MORE } StoreBetter;

typedef struct {
  const char *name;   /* the column without _ps or _bytes */
  const char *column; /* of table run */
  StoreUnit unit;
  StoreBetter better;
  /* One of these reads it from a report. */
  gint64 (*integer)(const RunReport *report);
  double (*number)(const RunReport *report);
  const char *(*text)(const RunReport *report);
  const char *help;
  gboolean per_class; /* also a column of table rank_class */
  gboolean optional;  /* 0 (of texts NULL) means "not known": NULL in the database, null in JSON */
} StoreMetric;

extern const StoreMetric store_metrics[];
extern const gsize store_n_metrics;

/* By name or by column; NULL where there is none. */
const StoreMetric *store_metric_find(const char *name);

/* A value of its column for people: "1.234 s", "73.2 GiB", "12.3 %". NULL and text are themselves. Caller frees. */
char *store_metric_shown(const StoreMetric *metric, const char *value);

/* Whether it says what was asked, known before anything is played: the first rows of the table, up to `tokens`. */
gboolean store_metric_is_asked(const StoreMetric *metric);

/* The report as one class sees it: metrics that are per_class, read from the result, are that class's. Borrows from
 * `report`, never to be freed. */
RunReport store_metric_class_view(const RunReport *report, guint32 rank_class);
