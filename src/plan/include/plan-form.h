/* SPDX-License-Identifier: MIT */
/* Programs of one form: of recipes that differ in how many tokens a micro-batch has, the rows are the same, and only
 * tensors' bytes and operations' sizes are not.
 *
 *   PlanForm *form;
 *   Program *program = plan_form_new(&shape, &model_recipe, &recipe, &form);
 *   …
 *   Program *other = form != NULL ? plan_form_program(form, &longer, &longer_recipe, &recipe) : NULL;
 *   if (other == NULL) … plan_program …
 *
 * What frameworks do in a step hangs on parameters, ranks and the order of operations. Units are built for each recipe
 * and must be alike in all of that, and as dear for the host. Plain twin: plan_program. */
#pragma once

#include "plan.h"

typedef struct PlanForm PlanForm;

/* As plan_program. *ret_form NULL: sizes stand in the rows too, of a pipeline's, tensor or context ranks, or of what a
 * step returns. Else the caller frees it; it holds the Program. */
Program *plan_form_new(const ModelShape *shape, const ModelRecipe *model_recipe, const PlanRecipe *recipe,
                       PlanForm **ret_form);
void plan_form_free(PlanForm *form);
/* As plan_program, of the recipe that the form is of but for what decides how many tokens a micro-batch has: sequence
 * length, sequences, how many in all. NULL: units are not alike. Cost: O(units × tensors), a tenth of plan_program. */
Program *plan_form_program(PlanForm *form, const ModelShape *shape, const ModelRecipe *model_recipe,
                           const PlanRecipe *recipe);
