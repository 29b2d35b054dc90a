/* SPDX-License-Identifier: MIT */
/* Does it fit, and who holds what: private to this floor, part of a run's summary. */
#pragma once

#include "run-report.h"

/* FITS, AT THE EDGE (and why) or OUT OF MEMORY; the request that failed, what was held then. */
void report_verdict(const RunReport *report, GString *text);
/* Memory per GPU by tenant at its peak, the allocator's four numbers, what stays between steps. */
void report_memory_table(const RunReport *report, GString *text);
/* "fits", "edge", "OOM": a cell of a table. */
const char *report_verdict_word(RunVerdict verdict);
