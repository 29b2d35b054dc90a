/* SPDX-License-Identifier: MIT */
/* The timeline as boxes: what a rank class ran, row by row, and why compute stood still.
 *
 *   rows   2  compute         ▇▇▇▇▇▇   ▇▇▇▇▇      kind: phase
 *          1  communication    ▒▒▒▒▒▒▒▒▒          kind: operation
 *          0  exposed               ░░░           kind: cause
 *
 *   g_autoptr(ReportBoxes) boxes = report_boxes_new(&scene);
 *   g_autoptr(GArray) shares = report_shares(boxes, scene.from, scene.to, 940);      // what is drawn
 *
 * Boxes are cut to the scene's window; sorted by row, then by start; those of one row do not overlap where the stream's
 * tasks do not. */
#pragma once

#include "report-scene.h"

typedef struct {
  SimTime start, end;
  guint row;        /* 0: lowest */
  gint32 layer;     /* -1: none or several */
  const char *kind; /* phase, operation, cause or "issuing"; owned by the report */
  const char *name; /* of the task; NULL: several */
  gint32 micro;     /* of a pass of a pipeline; else -1 */
} ReportBox;

typedef struct {
  GArray *boxes;    /* ReportBox */
  GPtrArray *rows;  /* names, from below */
  guint n_gap_rows; /* the lowest rows: idle and exposed */
} ReportBoxes;

/* Borrows the texts of the scene's report. */
ReportBoxes *report_boxes_new(const ReportScene *scene);
void report_boxes_free(ReportBoxes *boxes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReportBoxes, report_boxes_free)

/* For labels alone, since gaps are covered: neighbours in a row of one kind and layer, at most `gap` apart and each
 * narrower than `narrow`, become one that has no name. */
void report_boxes_merge(ReportBoxes *boxes, SimTime gap, SimTime narrow);
