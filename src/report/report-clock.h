/* SPDX-License-Identifier: MIT */
/* From the host's clock to the GPU's: a host that runs ahead takes and gives memory long before the kernels run that it
 * is for.
 *
 *   g_autoptr(ReportClock) clock = report_clock_new(rank_class);
 *   SimTime at = report_clock_gpu(clock, sample->at);     // when compute came to the row that was issued then
 *
 *   host     issue a  issue b  issue c
 *   compute           a ▇▇▇▇▇▇▇▇▇▇ b ▇▇▇▇▇▇▇▇▇ c ▇▇▇▇
 *
 * The stream of compute with the most tasks is the GPU's clock: it runs them in the order in which they were issued, so
 * that no two moments change places. Cost: O(tasks), then a bisection each. Private to this floor. */
#pragma once

#include "run-report.h"

typedef struct ReportClock ReportClock;

ReportClock *report_clock_new(const RunClass *rank_class);
void report_clock_free(ReportClock *clock);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReportClock, report_clock_free)

/* The start of the first task that was issued no earlier; the step's end where there is none. The start of the step, 0,
 * stays where it is. */
SimTime report_clock_gpu(const ReportClock *clock, SimTime host);
