/* SPDX-License-Identifier: MIT */
/* Schedules of one chunk per rank with backward in one pass: single, gpipe, 1f1b. */
#include "plan-passes.h"

void plan_single_passes(const PlanScheduleShape *shape, G_GNUC_UNUSED guint32 rank, GArray *passes) {
  for (guint32 micro = 0; micro < shape->micros; micro++) {
    plan_pass_add(passes, PLAN_PASS_FORWARD, 0, micro);
    plan_pass_add(passes, PLAN_PASS_BACKWARD, 0, micro);
  }
}

/* Backward in the order of forward, as PyTorch's ScheduleGPipe; the GPipe paper draws it reversed. */
void plan_gpipe_passes(const PlanScheduleShape *shape, G_GNUC_UNUSED guint32 rank, GArray *passes) {
  for (guint32 micro = 0; micro < shape->micros; micro++)
    plan_pass_add(passes, PLAN_PASS_FORWARD, 0, micro);
  for (guint32 micro = 0; micro < shape->micros; micro++)
    plan_pass_add(passes, PLAN_PASS_BACKWARD, 0, micro);
}

/* Warm-up of ranks − rank − 1 forwards, then pairs, then what is left of backward: Megatron-Core's
 * forward_backward_pipelining_without_interleaving. PyTorch's Schedule1F1B and DeepSpeed's TrainSchedule give each rank
 * the same order; they count the first forward of the pairs to the warm-up. */
void plan_1f1b_passes(const PlanScheduleShape *shape, guint32 rank, GArray *passes) {
  guint32 warm = MIN(shape->micros, shape->ranks - rank - 1);
  for (guint32 micro = 0; micro < warm; micro++)
    plan_pass_add(passes, PLAN_PASS_FORWARD, 0, micro);
  for (guint32 micro = 0; micro < shape->micros; micro++) {
    if (micro + warm < shape->micros)
      plan_pass_add(passes, PLAN_PASS_FORWARD, 0, micro + warm);
    plan_pass_add(passes, PLAN_PASS_BACKWARD, 0, micro);
  }
}
