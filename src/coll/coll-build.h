/* Writers of schedules: private to this floor. */
#pragma once

#include "coll-schedule.h"
#include "coll-steps.h"

/* Fill transfers, needs, connections and members of a schedule that has its lanes. */
void coll_build_ring(const CollGroup *group, const CollCall *call, const CollSteps *steps, CollSchedule *schedule);

/* Needs of the transfer being written: arrivals first. */
static inline void coll_build_arrival(CollSchedule *schedule, CollTransfer *transfer, guint32 need) {
  g_array_append_val(schedule->needs, need);
  transfer->n_arrivals++;
}
static inline void coll_build_end(CollSchedule *schedule, CollTransfer *transfer, guint32 need) {
  g_array_append_val(schedule->needs, need);
  transfer->n_ends++;
}
