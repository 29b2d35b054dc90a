/* SPDX-License-Identifier: MIT */
/* Compute time by kind of operation, and what perfect overlap would leave: private to this floor. Kinds of plot are in
 * report-plot.h. */
#pragma once

#include "report-purpose.h"

/* Adds up to the class's compute time, where it has a timeline: where computes overlap, an instant is the one's that
 * began first. */
void report_kinds(const RunClass *rank_class, gint64 ret[REPORT_COMPUTES]);
/* The least that overlap alone can reach: communication, or compute and idle time, whichever is longer. */
SimTime report_perfect_overlap(const RunClass *rank_class);
