/* SPDX-License-Identifier: MIT */
/* Sums over the ranks of one copy of the model, at the end of a step: gradients of what tensor ranks hold alike, of a
 * matrix that first and last stage both hold, and the norm of all gradients.
 *
 *   plan_sum_over_tensor(walk, FP32);                  // norms and biases under sequence parallelism, copied heads
 *   plan_sum_tied(walk, what, FP32);                   // embedding and head of one matrix
 *   row = plan_sum_norm(walk);                         // over tensor and pipeline ranks
 *
 * Each is a collective on a stream of its own, for which compute waits; nothing where nobody else has a part. Private
 * to this floor. */
#pragma once

#include "plan-walk.h"

/* Elements of the walk's trained parameters whose gradients tensor ranks have to sum. */
guint64 plan_summed_elements(const PlanWalk *walk);

/* The row, PROGRAM_NONE: none. `element_bytes`: of gradients. */
guint32 plan_sum_over_tensor(PlanWalk *walk, guint32 element_bytes);
guint32 plan_sum_tied(PlanWalk *walk, const PlanCase *what, guint32 element_bytes);
guint32 plan_sum_norm(PlanWalk *walk);
