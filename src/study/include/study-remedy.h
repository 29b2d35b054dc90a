/* SPDX-License-Identifier: MIT */
/* What would make a run fit: single changes tried one by one, each with what it costs.
 *
 *   g_autoptr(GPtrArray) remedies = study_remedies(study, report, &options);      // of StudyRemedy
 *
 * Tried, where they are another setting than the run's: higher stages (of DDP: FSDP's), smaller micro-batches with more
 * accumulation (the global batch stays), recomputing more, a fused loss, expandable segments, smaller DeepSpeed
 * buckets, less prefetch, offload, tensor ranks (with sequence parallelism), pipeline stages and context ranks, doubled
 * until it fits, stages over tensor ranks, twice the nodes and again up to 16 times. Where none of them fits, the one
 * that needs least and the next of the others together, until they do. What the framework or the workload refuses is
 * left out, and so is what needs no less. Cost: a summary-only run each. */
#pragma once

#include "study-trial.h"

typedef StudyTrial StudyRemedy; /* fits or not */

GPtrArray *study_remedies(const Study *study, const RunReport *report, const StudyOptions *options);
