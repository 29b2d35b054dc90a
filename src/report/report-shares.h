/* SPDX-License-Identifier: MIT */
/* Boxes as columns a pixel wide: what is thinner than a pixel is drawn by its share of it.
 *
 *   boxes    ▇▇▇▇▇▇▇ ▇ ▇▇ ▇         time
 *   columns  |   |   |   |
 *   shares   full full ▄  ▂          height of each kind: its time in the column, of the column's width
 *
 *   g_autoptr(GArray) shares = report_shares(boxes, from, to, 940);      // ReportShare
 *
 * Nothing is lost, stretched or covered: times of the shares of a row and kind add up to those of its boxes in the
 * window, to the picosecond. Columns that one kind fills are one share. Cost: O(boxes + columns × rows × kinds).
 * Private to this floor. */
#pragma once

#include "report-boxes.h"
#include "report-looks.h"

typedef struct {
  SimTime start, end; /* of the column or columns */
  SimTime time;       /* that the kind takes of it */
  guint row, look;
  double bottom, top; /* 0 … 1 of the row's height */
} ReportShare;

/* `columns` >= 1; where the window has fewer picoseconds than columns, a column for each. Sorted by row, start,
 * look. */
GArray *report_shares(const ReportBoxes *boxes, SimTime from, SimTime to, guint columns);
