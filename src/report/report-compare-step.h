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
  const char *what;    /* phase, or the collective that compute waited for; NULL: neither */
  const char *purpose; /* what that is for, see report-purpose.h; NULL where `what` is */
  const char *cause;   /* NULL: compute */
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

/* Takes the report. */
ReportStep *report_step_new(RunReport *report, gint64 run_id, guint number);
void report_step_free(ReportStep *step);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReportStep, report_step_free)
/* A metric by its name, as the database has it; NULL: not known. */
const char *report_step_metric(const ReportStep *step, const char *name);

/* Steps of reports, which they take, labelled A, B, … Caller unrefs. */
GPtrArray *report_steps(RunReport *const *reports, const gint64 *run_ids, guint n);
/* Reports of the database with their timelines; NULL: an error of it. The array is the caller's, so are its reports. */
RunReport **report_compare_load(StoreDb *db, const gint64 *run_ids, guint n, GError **error);
/* The value of a setting; NULL: it has none, or the database kept no defaults. */
const char *report_setting(const ReportStep *step, const char *name);
/* Values are not the same; where one side kept no defaults, what it lacks is the other's default. */
gboolean report_setting_differs(const ReportStep *from, const ReportStep *to, const char *name);

/* What one value of a step is in all of them. */
typedef struct {
  const char *what, *purpose, *cause; /* of a part; each may be NULL */
  ReportKind kind;
  SimTime *times; /* by step; 0 where a step has none */
} ReportRow;

typedef enum {
  REPORT_BY_PURPOSE, /* parts of one kind, in the order of purposes */
  REPORT_BY_CAUSE,   /* parts of one kind, in the order of causes */
  REPORT_BY_BOTH,    /* by purpose and cause */
  REPORT_BY_LEAF,
} ReportView;

/* Rows in the order in which the steps first have them. Caller unrefs. `kind`: REPORT_KINDS is all. */
GPtrArray *report_rows(ReportStep *const *steps, guint n, ReportKind kind, ReportView view);

/* What makes the difference between two steps, in sentences. Caller frees. */
char *report_difference_words(const ReportStep *from, const ReportStep *to);
