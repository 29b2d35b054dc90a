/* SPDX-License-Identifier: MIT */
/* Changes that were tried, as remedies, advice and what would make it faster show them alike. Private to this floor. */
#pragma once

#include "base-json.h"
#include "study-trial.h"

/* "nodes=4 micro_batch=2": settings without their groups, and without the global batch, which follows. Those of the
 * group `left_out` ("cluster.") are left out too; NULL: none are. Caller frees. */
char *report_trial_change(const char *change, const char *left_out);
/* GPU time per token over that of `from`, less one: below 0 where it is faster. */
double report_trial_cost(const RunReport *from, const RunReport *to);
/* Members of an open map: "change", "verdict", "step_ps", "tokens_per_second_per_gpu", "device_used_bytes",
 * "short_by_bytes". */
void report_trial_json(const StudyTrial *trial, BaseJson *json);
