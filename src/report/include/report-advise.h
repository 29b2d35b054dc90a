/* SPDX-License-Identifier: MIT */
/* The few best layouts, what each costs, and why each beats the next.
 *
 *   ReportAdvise page = {.advice = &advice, .workload = "llama3-70b", .top = 5, .days = 60};
 *   if (!report_advise(&page, text, error)) …          // or report_advise_json
 *
 * Among rows of several clusters or numbers of nodes those count that end within `days` and cost no more than `budget`,
 * failures included where these are asked for.
 * With `days` the cheapest is first, else the fastest. */
#pragma once

#include "study-advise.h"
#include "study-saving.h"

typedef struct {
  const StudyAdvice *advice;
  const GPtrArray *alone; /* of StudyAdvised: what to change first; NULL: not asked */
  const char *workload;
  const char *const *sets;             /* that the workload was given; NULL: none */
  const StudyReliability *reliability; /* days as they will be; NULL: not asked */
  const StudySaving *saving;           /* a checkpoint of the first row's; NULL: not asked */
  guint top;
  double days, budget; /* USD; 0: no limit */
  guint32 by, today;   /* days as GDate counts: the last for a cluster that is delivered after today; by 0: none */
} ReportAdvise;

/* Rows (StudyAdvised, borrowed) in the order in which they are advised. Caller unrefs. */
GPtrArray *report_advise_order(const ReportAdvise *page);
void report_advise(const ReportAdvise *page, GString *text);
/* {"json_version", "candidates", "refused", "too_large", "own": run, "advised": [{"change", "why" (it beats the next,
 * or null), run}], "first": [{"change", "step_ps", "verdict"}]}; a run: "topology", "nodes", "gpus", "verdict",
 * "step_ps", "step_low_ps", "step_high_ps", "device_used_bytes", "capacity_bytes", "model_flops_utilisation",
 * "tokens_per_second", "days_to_train", "price_to_train", "price_per_million_tokens" (null: not known), and where a
 * training's length is known "goodput", "days", "days_low", "days_high", "failures", "checkpoint_interval_s"; also
 * "gpu_power_watts", "energy_per_step_kwh", "energy_to_train_kwh", "energy_cost_to_train". Where they are offers,
 * "quotes" (report-quotes.h); where a training's length is known, "checkpoint": "bytes", "node_bytes", "write_s",
 * "staged_bytes", "step_beside_ps" (0: of its own network). */
void report_advise_json(const ReportAdvise *page, GString *text);
