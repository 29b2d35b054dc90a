/* SPDX-License-Identifier: MIT */
/* Which states are paged, and the row that moves them. */
#include "plan-paged.h"

#include "mem-tenant.h"
#include "plan-optimizer.h"

#define LEAST_PAGED 100000 /* elements: bitsandbytes' get_state_buffer */

guint64 plan_paged_bytes(const PlanRecipe *recipe, guint64 elements) {
  return recipe->paged && elements >= LEAST_PAGED ? plan_optimizer_paged_bytes(recipe->optimizer, elements) : 0;
}

void plan_paged_init(PlanPaged *paged, PlanWalk *walk, guint64 bytes, guint64 copies) {
  guint64 resident = walk->recipe->pages_move ? MIN(bytes, walk->recipe->pages_room) : bytes;
  *paged = (PlanPaged){.bytes = bytes, .tensor = PROGRAM_NONE};
  if (resident == 0)
    return;
  paged->tensor = plan_states_tensor(walk, "paged optimizer states", MEM_OPTIMIZER, resident, copies);
  program_builder_manage(walk->builder, paged->tensor);
}

void plan_paged_move(const PlanPaged *paged, PlanWalk *walk) {
  if (paged->bytes > 0 && walk->recipe->pages_move)
    plan_walk_copy(walk, walk->stream, "move paged states", paged->bytes, PROGRAM_MANAGED);
}

void plan_paged_take(const PlanPaged *paged, PlanWalk *walk) {
  if (paged->tensor != PROGRAM_NONE)
    program_builder_take_once(walk->builder, paged->tensor);
}
