/* SPDX-License-Identifier: MIT */
/* What a task is for, in words that are the same under every framework and stage, so that steps of different ones can
 * be held against each other: private to this floor.
 *
 *   report_purpose(task)     // "gradients": a bucket's copy, its reduction, its cast back
 *   report_operation(task)   // "matmuls"
 *
 * Frameworks call the same thing by other names ("gather parameters", "all-gather parameters, int8"); phases, and the
 * names of the few rows that shard, tell what it is. */
#pragma once

#include "run-report.h"

typedef enum {
  REPORT_FORWARD,
  REPORT_RECOMPUTATION,
  REPORT_BACKWARD,
  REPORT_GRADIENTS,  /* reduced, copied, cast, accumulated */
  REPORT_PARAMETERS, /* gathered, copied out, cast */
  REPORT_OPTIMIZER,  /* its step, norms and what goes with them */
  REPORT_TENSOR,     /* activations between tensor ranks */
  REPORT_CONTEXT,    /* keys and values between context ranks */
  REPORT_EXPERTS,    /* tokens between expert ranks */
  REPORT_PIPELINE,   /* activations and gradients between stages */
  REPORT_PURPOSES
} ReportPurpose;
extern const char *const report_purpose_names[]; /* "forward", …, "parameter gathers", … */

ReportPurpose report_purpose(const RunTask *task);

typedef enum {
  REPORT_MATMULS,
  REPORT_ATTENTION,
  REPORT_LOSS,
  REPORT_MEMORY_BOUND, /* norms, activation functions, residuals and the like */
  REPORT_SHARDING,     /* copies and casts of gradients and parameters */
  REPORT_STEP,         /* the optimizer's */
  REPORT_COMPUTES
} ReportCompute;
extern const char *const report_compute_names[]; /* "matmuls", "attention", … */

/* Of a compute task. */
ReportCompute report_operation(const RunTask *task);
