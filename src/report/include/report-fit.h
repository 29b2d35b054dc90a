/* SPDX-License-Identifier: MIT */
/* How far a setting goes, stage by stage: for people, and as JSON.
 *
 *   report_fit(&fits, text); */
#pragma once

#include "study-fit.h"

void report_fit(const StudyFits *fits, GString *text);
/* An array: per stage that runs {"zero_stage", "key", "value" (null: none fits), "limit" (a refusal, or null: memory),
 * "step_ps", "tokens_per_second_per_gpu", "device_used_bytes"}; the last three null where none fits. "title": "ZeRO-1",
 * or a layout as it was asked for, whose "zero_stage" is null where none fits. */
void report_fit_json(const StudyFits *fits, GString *text);
