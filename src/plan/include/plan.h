/* From a model, a recipe and a ZeRO stage to a Program. Knows layers and collectives; never link speeds or simulated
 * time.
 *
 *   g_autoptr(Program) program = plan_program(&shape, &model_recipe, &recipe);
 */
#pragma once

#include "model-recipe.h"
#include "model-shape.h"
#include "plan-recipe.h"
#include "program.h"

/* One role for all ranks. Cost: O(rows) = layers × operations × micro-batches, twice (first and steady). */
Program *plan_program(const ModelShape *shape, const ModelRecipe *model_recipe, const PlanRecipe *recipe);
/* Adds lines about what the framework's policy assumes and resolved; the array frees them. */
void plan_notes(const PlanRecipe *recipe, GPtrArray *notes);
