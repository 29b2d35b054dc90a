/* Lanes: CUDA streams as frameworks use them, waiting for each other.
 *
 *   plan_lane_follow(&zero->reduce, &zero->compute);                   // reduce.wait_stream(compute)
 *   plan_lane_pass(&zero->reduce, "divide bucket", op);
 *   plan_lane_collective(&zero->reduce, comm, "reduce gradients", slot, call, PROGRAM_HINT_BUCKET);
 *
 * A collective that is called on a lane runs on NCCL's stream after all that the lane holds, and the lane's next row
 * waits for it. Private to this floor. */
#pragma once

#include "plan-walk.h"

typedef struct {
  PlanWalk *walk;
  guint32 stream;
  guint32 last;  /* own last row in this section; of the compute lane the walk's */
  GArray *waits; /* guint32: rows for the next one; of the compute lane the walk's */
} PlanLane;

void plan_lane_init(PlanLane *lane, PlanWalk *walk, guint32 stream);
void plan_lane_clear(PlanLane *lane);
/* Call it when the walk's section changes. */
void plan_lane_section(PlanLane *lane);
void plan_lane_need(PlanLane *lane, guint32 row);
/* What `lane` does next waits for all that `other` holds now. */
void plan_lane_follow(PlanLane *lane, const PlanLane *other);
guint32 plan_lane_pass(PlanLane *lane, const char *name, guint32 op);
guint32 plan_lane_copy(PlanLane *lane, const char *name, guint64 bytes, ProgramPath path);
guint32 plan_lane_collective(PlanLane *lane, guint32 comm, const char *name, guint32 slot, CollCall call,
                             ProgramHint hint);
/* The host row just added waits for all that the lane holds. */
void plan_lane_block(const PlanLane *lane);
