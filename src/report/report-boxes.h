/* SPDX-License-Identifier: MIT */
/* The timeline as boxes: what a rank class ran, row by row, and why compute stood still.
 *
 *   rows   2  compute         ▇▇▇▇▇▇   ▇▇▇▇▇      kind: phase
 *          1  communication    ▒▒▒▒▒▒▒▒▒          kind: operation
 *          0  exposed               ░░░           kind: cause
 *
 *   g_autoptr(ReportBoxes) boxes = report_boxes_new(&scene);
 *   report_boxes_merge(boxes, 4000, pixel, 10 * pixel);
 *
 * Boxes are cut to the scene's window; sorted by row, then by start; those of one row do not overlap where the stream's
 * tasks do not. */
#pragma once

#include "report-scene.h"

typedef struct {
  SimTime start, end;
  guint row;        /* 0: lowest */
  gint32 layer;     /* -1: none or several */
  const char *kind; /* phase, operation or cause; owned by the report */
  const char *name; /* of the task; NULL: several */
} ReportBox;

typedef struct {
  GArray *boxes;    /* ReportBox */
  GPtrArray *rows;  /* names, from below */
  guint n_gap_rows; /* the lowest rows: idle and exposed */
  gboolean merged;
} ReportBoxes;

/* Borrows the texts of the scene's report. */
ReportBoxes *report_boxes_new(const ReportScene *scene);
void report_boxes_free(ReportBoxes *boxes);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReportBoxes, report_boxes_free)

/* Neighbours in a row of one kind and layer become one: those that touch and are narrower than `narrow`; where more
 * than `most` boxes are left (`merged` says so), all that are at most `gap` apart; if there are still more, whatever
 * their layer.
 */
void report_boxes_merge(ReportBoxes *boxes, guint most, SimTime gap, SimTime narrow);
