/* SPDX-License-Identifier: MIT */
/* The step: a schedule of passes over chunks of units, the same for all frameworks; their policies fill its hooks.
 *
 *   Program *program = plan_step_program(&(PlanCase){shape, model_recipe, recipe}, policy->hooks);
 *
 *   chunk   a run of units (embedding, layers, head) that one pipeline rank holds: plan-chunk.h
 *   pass    forward or backward of one chunk for one micro-batch: plan-schedule.h
 *   role    a pipeline rank: its chunks, and its passes in the order in which its host issues them
 *
 *   first, steady:   step begins ─ pass ─ pass ─ … ─ optimizer ─ end of step
 *   a pass:          micro-batch begins ─ unit ─ unit ─ … ─ pass ended        (backward: units from last to first)
 *
 * Pure data parallelism is the schedule `single`: one chunk holds all units, and each micro-batch goes forward and then
 * backward. What comes from another stage, or goes there, stands at the two ends of a pass (plan-transfer.h). Private
 * to this floor. */
#pragma once

#include "plan-form.h"
#include "plan-walk.h"

/* Cost: O(rows) = layers × operations × micro-batches, twice. */
Program *plan_step_program(const PlanCase *what, const PlanHooks *hooks);
/* The same, and its form; *ret_form NULL: it has none. */
Program *plan_step_formed(const PlanCase *what, const PlanHooks *hooks, PlanForm **ret_form);
/* plan-form.c: the form of a Program of one role, that has still to hold it; takes the walk over. NULL: it has none. */
PlanForm *plan_form_of_walk(PlanWalk *walk);
/* Fills in what results are made of; FLOPs: of one micro-batch, as plan_walk_flops, summed over all roles. */
void plan_step_facts(const PlanCase *what, double model_flops, double hardware_flops, Program *program);

/* The host's row at which a micro-batch begins: it gets its data and goes through the loop. */
void plan_step_micro_batch(PlanWalk *walk, ProgramPhase phase);
