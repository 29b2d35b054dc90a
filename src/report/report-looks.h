/* SPDX-License-Identifier: MIT */
/* How the kinds of boxes of a timeline look: one table for pictures and pages.
 *
 *   const ReportLook *look = report_look("forward");      // never NULL: a kind that has no row is "other"
 *
 * Rows stand in the order of the key, by group. Within a row of a timeline neighbours differ in lightness, so that a
 * grey print tells them apart. Private to this floor. */
#pragma once

#include "run-report.h"

typedef enum {
  REPORT_LOOK_HOST,
  REPORT_LOOK_COMPUTE,
  REPORT_LOOK_COMMUNICATION,
  REPORT_LOOK_EXPOSED,
  REPORT_LOOK_IDLE,
  REPORT_LOOK_ELSE
} ReportLookGroup;

typedef struct {
  ReportLookGroup group;
  const char *kind;   /* phase, operation or cause */
  const char *colour; /* "#rrggbb" */
  gboolean dark;      /* labels on it are white */
} ReportLook;

extern const ReportLook report_looks[];
extern const guint report_n_looks;
extern const char *const report_look_headings[]; /* by group */

const ReportLook *report_look(const char *kind);
static inline guint report_look_index(const ReportLook *look) {
  return (guint)(look - report_looks);
}

/* Colours that a dark ground would swallow, or that would shine on it, have another one there, on which labels are
 * black; the rest stays. */
gboolean report_colour_has_other(const char *colour);
const char *report_colour_on_dark(const char *colour);

/* Lines and points of a picture that compares: lightness and shape differ between neighbours. */
#define REPORT_SERIES 10
typedef struct {
  const char *colour;
  int shape; /* of gnuplot's points */
} ReportSeriesLook;
extern const ReportSeriesLook report_series_looks[REPORT_SERIES];

/* Tenants of memory as a stack, from below: what stays, then what comes and goes; last what the allocator holds beyond
 * them. */
typedef struct {
  const char *tenant, *colour;
} ReportTenantLook;
extern const ReportTenantLook report_tenant_looks[RUN_TENANTS + 1];
/* Which tenant's bytes a layer of the stack shows; layer < RUN_TENANTS. */
guint report_tenant_of(guint layer);
