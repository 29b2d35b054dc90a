/* SPDX-License-Identifier: MIT */
/* The knobs of a recipe, each at its neighbours' values: what is worth a try where a step is to be faster. Private to
 * this floor.
 *
 *   study_knobs(report, trials);        // "deepspeed.overlap_comm=yes", "parallel.zero_stage=2", …
 *
 * The framework's own (plan_knobs), ZeRO stages and hybrid sharding, recomputation, compilation, micro-batch against
 * accumulation and layouts of axes at the same global batch, NCCL's. Values that the run has already are left out;
 * what the framework or the workload refuses is not known here. */
#pragma once

#include "run-report.h"

/* Appends trials. `report`: with its identity and settings. */
void study_knobs(const RunReport *report, GPtrArray *trials);
