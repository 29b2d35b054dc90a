/* SPDX-License-Identifier: MIT */
/* Predicted against measured: the figures that a validation table may hold, and its rows in the database.
 *
 *   const StoreMeasure *measure = &store_measures[STORE_MEASURE_STEP_TIME];     // "step_time_s"
 *   double seconds;
 *   if (!store_measure_parse(measure, "15.4783", &seconds, error)) return FALSE;
 *   store_measure_predicted(measure, report);                                   // the same of a Report
 *
 * Values are SI (seconds, bytes, per second, bytes/s), verdicts StoreVerdict; STORE_UNKNOWN is none. */
#pragma once

#include "run-record.h"
#include "store-db.h"

typedef enum {
  STORE_MEASURE_STEP_TIME,
  STORE_MEASURE_TOKENS,
  STORE_MEASURE_RESERVED,
  STORE_MEASURE_ALLOCATED,
  STORE_MEASURE_STEADY,
  STORE_MEASURE_FITS,
  STORE_MEASURE_TIME, /* of a collective; so is the next */
  STORE_MEASURE_BANDWIDTH,
  STORE_MEASURES_KEPT,                         /* those before have columns in table validation */
  STORE_MEASURE_FORWARD = STORE_MEASURES_KEPT, /* parts of a step, found in its timeline (truth-parts.h) */
  STORE_MEASURE_BACKWARD,
  STORE_MEASURE_REDUCTION,
  STORE_MEASURE_OPTIMIZER,
  STORE_MEASURES
} StoreMeasureKind;

#define STORE_UNKNOWN (-1.0)

/* Whether it fits: values of STORE_MEASURE_FITS. What was measured is never at the edge. */
typedef enum { STORE_VERDICT_OOM, STORE_VERDICT_FITS, STORE_VERDICT_EDGE, STORE_VERDICTS } StoreVerdict;

typedef struct {
  const char *name;   /* in tables, behind "measured." or "predicted." */
  const char *column; /* of table validation, behind "measured_" or "predicted_"; its end says what it holds */
  const char *unit;   /* that a bare number in a table has; "": it carries its own, or has none */
  const char *title, *shown_unit;
  const char *metric; /* of a Report (store-metric.h); NULL: of a collective, or of a timeline */
} StoreMeasure;

extern const StoreMeasure store_measures[STORE_MEASURES];
extern const char *const store_measure_names[STORE_MEASURES + 1]; /* NULL-terminated */

/* Empty or "unknown" is STORE_UNKNOWN, and so is a bandwidth of 0, which nccl-tests prints of small calls. Errors
 * (SIM_ERROR_INPUT, without place): not a positive number, a bandwidth without unit, a verdict other than yes and no.
 * */
gboolean store_measure_parse(StoreMeasureKind kind, const char *text, double *ret, GError **error);
/* STORE_UNKNOWN where runs have no such metric. */
double store_measure_predicted(StoreMeasureKind kind, const RunReport *report);
/* A value as table validation has it, to SI. */
double store_measure_read(StoreMeasureKind kind, const char *value);
/* In the unit people read: s, GiB, us, GB/s; ms of parts. */
double store_measure_shown(StoreMeasureKind kind, double value);

typedef struct {
  const char *table, *id, *source, *set;
  const char *status;  /* "ran", or why not */
  const char *run_key; /* NULL: no run */
  double measured[STORE_MEASURES], predicted[STORE_MEASURES];
} StoreValidation;
extern const RunRecord store_record_validation; /* its texts */

/* A row that has both figures, in SI. */
typedef void (*StoreValidated)(const char *source, double measured, double predicted, gpointer user);
/* Of the newest validation, by source, table and id. */
gboolean store_db_validated(StoreDb *db, StoreMeasureKind kind, StoreValidated row, gpointer user, GError **error);

/* A number for the rows of one validation, above all that are there. Begins a transaction, which must be ended by
 * store_db_end_validation: all rows or none. */
gboolean store_db_begin_validation(StoreDb *db, gint64 *ret_validation_id, GError **error);
gboolean store_db_write_validation(StoreDb *db, gint64 validation_id, const StoreValidation *row, GError **error);
/* `keep` FALSE takes all back; then nothing fails. */
gboolean store_db_end_validation(StoreDb *db, gboolean keep, GError **error);
