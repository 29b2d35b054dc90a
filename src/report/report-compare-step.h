/* SPDX-License-Identifier: MIT */
/* A step taken apart, for comparison: private to this floor. */
#pragma once

#include "store-db.h"
#include "store-metric.h"

typedef enum { REPORT_COMPUTE, REPORT_EXPOSED, REPORT_IDLE, REPORT_KINDS } ReportKind;
extern const char *const report_kind_names[]; /* "compute", "exposed", "idle" */

/* A leaf. Texts are the report's. */
typedef struct {
  ReportKind kind;
  const char *what;  /* phase, or the collective that compute waited for; NULL: neither */
  const char *cause; /* NULL: compute */
  SimTime time;
} ReportPart;

typedef struct {
  char label[8]; /* "A" */
  gint64 run_id;
  SimTime kinds[REPORT_KINDS], step;
  GArray *parts;          /* ReportPart */
  char **metrics;         /* by store_metrics, as text; NULL: not known */
  RunReport *report;      /* settings in order of name */
  const guint64 *tenants; /* who holds the memory at its peak */
} ReportStep;

ReportStep *report_step_load(StoreDb *db, gint64 run_id, guint number, GError **error);
void report_step_free(ReportStep *step);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReportStep, report_step_free)
/* A metric by its name, as the database has it; NULL: not known. */
const char *report_step_metric(const ReportStep *step, const char *name);

/* What one value of a step is in all of them. */
typedef struct {
  const char *what, *cause; /* of a part; either may be NULL */
  ReportKind kind;
  SimTime *times; /* by step; 0 where a step has none */
} ReportRow;

typedef enum {
  REPORT_BY_WHAT,  /* parts of one kind, by phase or collective */
  REPORT_BY_CAUSE, /* parts of one kind, by cause, in the order of causes */
  REPORT_BY_BOTH,  /* leaves */
} ReportView;

/* Rows in the order in which the steps first have them. Caller unrefs. `kind`: REPORT_KINDS is all. */
GPtrArray *report_rows(ReportStep *const *steps, guint n, ReportKind kind, ReportView view);

/* What makes the difference between two steps, in sentences. Caller frees. */
char *report_difference_words(const ReportStep *from, const ReportStep *to);
