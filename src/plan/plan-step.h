/* The step: a schedule of passes over chunks of units, the same for all frameworks; their policies fill its hooks.
 *
 *   Program *program = plan_step_program(&(PlanCase){shape, model_recipe, recipe}, policy->hooks);
 *
 *   chunk   a run of units (embedding, layers, head) that one pipeline rank holds
 *   pass    forward or backward of one chunk for one micro-batch
 *   role    a pipeline rank: its chunks, and its passes in the order in which its host issues them
 *
 *   first, steady:   step begins ─ pass ─ pass ─ … ─ optimizer ─ end of step
 *   a pass:          micro-batch begins ─ unit ─ unit ─ … ─ pass ended        (backward: units from last to first)
 *
 * Pure data parallelism is the schedule `single`: one chunk holds all units, and each micro-batch goes forward and then
 * backward. An activation that comes from another rank, or goes there, belongs at the two ends of a pass, around its
 * run of units. Private to this floor. */
#pragma once

#include "plan-walk.h"

typedef struct {
  guint32 first, last; /* units, both within */
} PlanChunk;

typedef enum { PLAN_PASS_FORWARD, PLAN_PASS_BACKWARD } PlanPassKind;

typedef struct {
  PlanPassKind kind;
  guint32 chunk, micro;
} PlanPassStep;

/* Cost: O(rows) = layers × operations × micro-batches, twice. */
Program *plan_step_program(const PlanCase *what, const PlanHooks *hooks);

/* The host's row at which a micro-batch begins: it gets its data and goes through the loop. */
void plan_step_micro_batch(PlanWalk *walk, ProgramPhase phase);
