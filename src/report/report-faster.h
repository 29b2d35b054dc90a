/* SPDX-License-Identifier: MIT */
/* Changes that were tried, in order of what they gain: private to this floor. */
#pragma once

#include "base-json.h"
#include "report-explained.h"

/* Below `report_faster`: what each of the others does, those that lose too. */
void report_knobs(const RunReport *report, const GPtrArray *faster, GString *text);
/* The list "changes", the best first: "change", "verdict", "step_ps", "tokens_per_second_per_gpu", "gain" (0.1: a tenth
 * more tokens a second), "device_used_bytes", "device_used_bytes_more", "short_by_bytes", "advised". */
void report_faster_json(const RunReport *report, const GPtrArray *faster, BaseJson *json);
