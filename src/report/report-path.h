/* SPDX-License-Identifier: MIT */
/* The critical path of a step: the chain of tasks, each of which began when the one before it ended, from the step's
 * end back to its beginning. Shortening a task that is not on it gains nothing. Private to this floor.
 *
 *   g_autoptr(GArray) path = report_path(rank_class);          // ReportHop, the longest first
 *
 *   compute  ▇▇▇▇▇▇▇▇▇┐           ┌▇▇▇▇      read from the end: what ended when this one began?
 *   comm              └▇▇▇▇▇▇▇▇▇▇▇┘
 *
 * Read off the class's timeline: where no task ends at the instant at which one begins, the collective that compute
 * waited for there goes before it, and what lies between is the host's (or, of a collective that was queued earlier,
 * its peers'). Hops of one name and phase are one; what micro-batches repeat counts as often as it comes, so hops add
 * up to the step, to the picosecond. Without a timeline there is none. Cost: a sort of the tasks, then a bisection a
 * hop. */
#pragma once

#include "run-report.h"

typedef struct {
  const char *name, *phase; /* of the tasks, borrowed; NULL: not a task, see `host` */
  gboolean collective;
  gboolean host; /* of no task: the host's launches; FALSE: peers that had not come */
  guint64 tasks;
  SimTime time;
} ReportHop;

GArray *report_path(const RunClass *rank_class);
