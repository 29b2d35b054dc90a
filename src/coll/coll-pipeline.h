/* Time of the uncontended chunk pipeline: what `flow` fidelity's latency is made of.
 *
 *   SimTime time = coll_pipeline_ring(group, &steps);     // O(1), or O(steps × GPUs of a node) where slots bind
 *   SimTime tree = coll_pipeline_tree(group, &steps);     // O(1), or O(loops × hops) where slots bind
 *   SimTime same = coll_pipeline_walk(schedule);          // O(transfers): the plain twin
 *
 * Both include the base. Private to this floor and its tests. */
#pragma once

#include "coll-schedule.h"
#include "coll-steps.h"

SimTime coll_pipeline_ring(const CollGroup *group, const CollSteps *steps);
SimTime coll_pipeline_tree(const CollGroup *group, const CollSteps *steps);
SimTime coll_pipeline_walk(const CollSchedule *schedule);
