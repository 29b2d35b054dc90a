/* SPDX-License-Identifier: MIT */
/* Parts of a run's summary that other pages have too: what was asked, whether it fits, who holds what. Private to this
 * floor. */
#pragma once

#include "run-report.h"

/* FITS, AT THE EDGE (and why) or OUT OF MEMORY; the request that failed, what was held then. */
void report_verdict(const RunReport *report, GString *text);
/* Memory per GPU by tenant at its peak, the allocator's four numbers, what stays between steps. */
void report_memory_table(const RunReport *report, GString *text);
/* "fits", "edge", "OOM": a cell of a table. */
const char *report_verdict_word(RunVerdict verdict);
/* Model, framework, cluster and batch: two or three lines. */
void report_title(const RunIdentity *identity, GString *text);
/* What each cause means to who wants the time back. */
extern const char *const report_cause_meanings[RUN_CAUSES];
