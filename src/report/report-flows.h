/* SPDX-License-Identifier: MIT */
/* From each collective that compute waited for to the task that waited.
 *
 *   g_autoptr(GArray) flows = report_flows(rank_class);     // ReportFlow, by the time of the wait
 *
 * Exposed intervals say which collective is awaited; who waits is the first task of compute from their end on, unless
 * it began before the collective ended. A collective is told once for each task that waited for it. Cost: O((intervals
 * + tasks) log tasks). Private to this floor. */
#pragma once

#include "run-report.h"

typedef struct {
  const RunTask *from, *to;
} ReportFlow;

GArray *report_flows(const RunClass *rank_class);
