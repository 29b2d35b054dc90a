/* SPDX-License-Identifier: MIT */
/* A step cut into forward, backward, reduction of gradients and optimizer, as timers cut it that wait for the device.
 *
 *   truth_parts(run_report_slowest(report), predicted);   // predicted[STORE_MEASURE_FORWARD] … , seconds
 *
 * A kernel belongs to its phase, and a wait to the kernel that waits; but what kernels behind backward wait for
 * gradients to be reduced is reduction. Parts and what gathers of parameters take apart from them add up to the step.
 * Needs the class's timeline. Cost: one pass, and one over the reductions. */
#pragma once

#include "run-report.h"
#include "store-validation.h"

void truth_parts(const RunClass *of, double predicted[STORE_MEASURES]);
