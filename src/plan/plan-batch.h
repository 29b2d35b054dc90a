/* SPDX-License-Identifier: MIT */
/* micro_batch × gradient_accumulation × ranks = global_batch: completes what is left out, refuses what does not agree.
 * Private to this floor. */
#pragma once

#include "plan-recipe.h"

gboolean plan_batch_complete(const ConfSettings *settings, PlanRecipe *recipe, GError **error);
