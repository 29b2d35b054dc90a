/* SPDX-License-Identifier: MIT */
/* What one pipeline rank holds: chunks of units that stand side by side in the model, and how many micro-batches are
 * under way on it at once.
 *
 *   g_autoptr(PlanHolding) holding = plan_holding_new(&shape, bounds, rank);     // of a schedule's shape
 *   holding->chunks[c].unit, holding->passes[i] …
 *
 *   the model's units    0 1 2 3 4 5 6 7 8 9       bounds 0 3 5 8 10, two chunks a rank, two ranks
 *   rank 0               0 1 2 │     5 6 7
 *   its own numbers      0 1 2 │     3 4 5         chunk 0: unit 0, first 0, last 2; chunk 1: unit 5, first 3, last 5
 *
 * A micro-batch has a place from its first pass on the rank to its last one, with early receives from the forward pass
 * before its first; the lowest free place is the next one's.
 * Private to this floor. */
#pragma once

#include "plan-schedule.h"

typedef struct {
  guint32 stage;
  guint32 unit;        /* its first, among the model's */
  guint32 first, last; /* among the rank's, both within; without sense of a chunk that holds none */
  guint32 n;
} PlanChunk;

typedef struct {
  guint32 rank; /* of the pipeline */
  PlanChunk *chunks;
  guint32 n_chunks, n_units;
  guint32 model_units;      /* of the model, as in plan-stages.h */
  PlanSchedulePass *passes; /* in the order of the host */
  guint32 n_passes;
  guint32 *places; /* by pass: of its micro-batch */
  guint32 n_places;
} PlanHolding;

/* `bounds`: of plan_schedule_stages(shape) stages, as in plan-stages.h; the last ones may hold no unit. */
PlanHolding *plan_holding_new(const PlanScheduleShape *shape, const guint32 *bounds, guint32 rank);
void plan_holding_free(PlanHolding *holding);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PlanHolding, plan_holding_free)
