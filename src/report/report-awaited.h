/* SPDX-License-Identifier: MIT */
/* Which collective each cause is mostly about: of the exposed intervals of one cause, the name awaited for longest.
 *
 *   g_autoptr(ReportAwaited) awaited = report_awaited_new(rank_class);
 *   const char *name = report_awaited_most(awaited, RUN_CAUSE_BOUNDARY);    // "all-gather parameters", or NULL
 *
 * Names are the report's. Without a timeline nothing is known of any cause. O(tasks + intervals x names). Private to
 * this floor. */
#pragma once

#include "run-report.h"

typedef struct ReportAwaited ReportAwaited;

ReportAwaited *report_awaited_new(const RunClass *rank_class);
void report_awaited_free(ReportAwaited *awaited);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ReportAwaited, report_awaited_free)

/* NULL: its intervals name none, or there is no timeline. */
const char *report_awaited_most(const ReportAwaited *awaited, RunCause cause);
