/* SPDX-License-Identifier: MIT */
/* Layer by layer and collective by collective: a run beside a step that was measured. Private to this floor. */
#pragma once

#include "report-measured.h"
#include "run-report.h"

/* What a rank class computes in each layer, and its collectives in order. The lists live until the second. */
void report_measured_take(const RunClass *of, ReportMeasured *ret);
void report_measured_release(ReportMeasured *side);

/* Tables, where they part first, and what would explain it. Nothing where the trace knows neither. */
void report_measured_parts(const ReportMeasured *predicted, const ReportMeasured *measured, GString *text);
