/* Does it fit, and who holds what: private to this floor, part of a run's summary. */
#pragma once

#include "run-report.h"

/* FITS or OUT OF MEMORY; the request that failed, what was held then; a warning where little is to spare. */
void report_verdict(const RunReport *report, GString *text);
/* Memory per GPU by tenant at its peak, the allocator's four numbers, what stays between steps. */
void report_memory_table(const RunReport *report, GString *text);
/* Less to spare than 5 % of the capacity. */
gboolean report_is_near_miss(guint64 capacity, guint64 used);
