/* SPDX-License-Identifier: MIT */
/* Time of the uncontended chunk pipeline: what `flow` fidelity's latency is made of.
 *
 *   SimTime time = coll_pipeline(group, plan.algorithm, &steps);
 *   SimTime same = coll_pipeline_walk(schedule);                   // the plain twin of rings and trees
 *
 * Cost: O(GPUs of a node), where slots bind O(transfers of a ring's place, or of a tree's longest way); of the twin
 * O(transfers). Both include the base. Private to this floor and its tests. */
#pragma once

#include "coll-schedule.h"
#include "coll-steps.h"

SimTime coll_pipeline(const CollGroup *group, CollAlgorithm algorithm, const CollSteps *steps);
SimTime coll_pipeline_walk(const CollSchedule *schedule);
