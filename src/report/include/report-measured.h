/* SPDX-License-Identifier: MIT */
/* A run beside a step that was measured: where the prediction and a profiler's timeline differ.
 *
 *   ReportMeasured trace = {.file = "rank0.json", .step = …};
 *   report_measured(db, run_id, &trace, text, error);          // or report_measured_json
 *
 * Both are the step of one rank taken apart in the same way: time in which something computes, in which only
 * collectives run (exposed), in which neither does (idle); the three add up to the step. Collectives by operation.
 * Where the trace has them, layers and collectives stand side by side too: where the two part first, and which figure
 * of the catalogue would explain it. Predicted is the slowest rank class; a run without a timeline has no collectives
 * by operation. */
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

/* Kernels of compute, added up. */
typedef struct {
  SimTime forward, recompute, backward;
} ReportLayer;

typedef struct {
  ReportOperation operation;
  guint64 bytes; /* 0: not known */
  SimTime time;
} ReportCall;

typedef struct {
  const char *file;
  guint steps, taken; /* how many the profiler marked (0: none), which this is, from 1 on */
  SimTime step, compute, communication, exposed, idle;
  ReportTraffic of[REPORT_OPERATIONS];
  const ReportLayer *layers; /* NULL: no layers are known */
  guint n_layers;
  const ReportCall *calls; /* collectives in order of start; NULL: none is known */
  guint n_calls;
} ReportMeasured;

/* Errors: of the database. */
gboolean report_measured(StoreDb *db, gint64 run_id, const ReportMeasured *trace, GString *text, GError **error);

/* One object: "json_version", "run_id", "trace" {"file", "steps", "taken"}, and "predicted" and "measured", each
 * {"step_ps", "compute_ps", "communication_ps", "exposed_ps", "idle_ps", "operations" {"all-reduce": {"calls",
 * "busy_ps", "exposed_ps"}, …}, "layers" [{"forward_ps", "recompute_ps", "backward_ps"}, …], "collectives"
 * [{"operation", "bytes", "time_ps"}, …]}; the lists are empty where nothing of the kind is known. */
gboolean report_measured_json(StoreDb *db, gint64 run_id, const ReportMeasured *trace, GString *text, GError **error);
