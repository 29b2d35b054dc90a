/* SPDX-License-Identifier: MIT */
/* A run beside a step that was measured: where the prediction and a profiler's timeline differ.
 *
 *   ReportMeasured trace = {.file = "rank0.json", .step = …};
 *   report_measured(db, run_id, &trace, text, error);          // or report_measured_json
 *
 * Both are the step of one rank taken apart in the same way: time in which something computes, in which only
 * collectives run (exposed), in which neither does (idle); the three add up to the step. Collectives by operation.
 * Predicted is the slowest rank class; a run without a timeline has no collectives by operation. */
#pragma once

#include "store-db.h"

typedef enum {
  REPORT_ALL_REDUCE,
  REPORT_ALL_GATHER,
  REPORT_REDUCE_SCATTER,
  REPORT_OTHER,
  REPORT_OPERATIONS
} ReportOperation;
extern const char *const report_operation_names[]; /* "all-reduce", … "other" */

typedef struct {
  guint calls;
  SimTime busy, exposed; /* times of the calls, added up; those in which nothing computes */
} ReportTraffic;

typedef struct {
  const char *file;
  guint steps, taken; /* how many the profiler marked (0: none), which this is, from 1 on */
  SimTime step, compute, communication, exposed, idle;
  ReportTraffic of[REPORT_OPERATIONS];
} ReportMeasured;

/* Errors: of the database. */
gboolean report_measured(StoreDb *db, gint64 run_id, const ReportMeasured *trace, GString *text, GError **error);

/* One object: "json_version", "run_id", "trace" {"file", "steps", "taken"}, and "predicted" and "measured", each
 * {"step_ps", "compute_ps", "communication_ps", "exposed_ps", "idle_ps", "operations" {"all-reduce": {"calls",
 * "busy_ps", "exposed_ps"}, …}}. */
gboolean report_measured_json(StoreDb *db, gint64 run_id, const ReportMeasured *trace, GString *text, GError **error);
