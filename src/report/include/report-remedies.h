/* SPDX-License-Identifier: MIT */
/* What would make a run fit, and what each change costs.
 *
 *   report_remedies(report, remedies, text);          // after a summary that says OUT OF MEMORY */
#pragma once

#include "base-json.h"
#include "run-report.h"

/* `remedies`: of StudyRemedy. Those that fit, the fastest per token first; then what is missing with the others. */
void report_remedies(const RunReport *report, const GPtrArray *remedies, GString *text);
/* As the member "remedies": an array of {"change", "verdict", "step_ps", "tokens_per_second_per_gpu",
 * "device_used_bytes", "short_by_bytes"}, in the same order. */
void report_remedies_json(const GPtrArray *remedies, BaseJson *json);
