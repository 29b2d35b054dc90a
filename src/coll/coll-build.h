/* SPDX-License-Identifier: MIT */
/* Writers of schedules: private to this floor. */
#pragma once

#include "coll-schedule.h"
#include "coll-steps.h"

/* Fill transfers, needs, connections and members of a schedule that has its lanes. */
void coll_build_ring(const CollGroup *group, const CollCall *call, const CollSteps *steps, CollSchedule *schedule);
void coll_build_tree(const CollGroup *group, const CollSteps *steps, CollSchedule *schedule);

/* Chunks that a connection holds: over the network sender and receiver have a buffer each. */
static inline guint32 coll_build_depth(const CollSteps *steps, const CollConnection *connection) {
  return connection->network ? 2 * steps->depth : steps->depth;
}

/* Needs of the transfer being written: arrivals first. */
static inline void coll_build_arrival(CollSchedule *schedule, CollTransfer *transfer, guint32 need) {
  g_array_append_val(schedule->needs, need);
  transfer->n_arrivals++;
}
static inline void coll_build_end(CollSchedule *schedule, CollTransfer *transfer, guint32 need) {
  g_array_append_val(schedule->needs, need);
  transfer->n_ends++;
}
