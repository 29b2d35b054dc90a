/* The table of frameworks, and what goes by it. */
#include "plan-policy.h"

const PlanPolicy plan_policies[PLAN_FRAMEWORKS] = {
    [PLAN_PAPER] = {.name = "paper", .selective = PLAN_CHECKPOINT_ATTENTION, .build = plan_paper},
};

Program *plan_program(const ModelShape *shape, const ModelRecipe *model_recipe, const PlanRecipe *recipe) {
  return plan_policies[recipe->framework].build(&(PlanCase){shape, model_recipe, recipe});
}

void plan_notes(const PlanRecipe *recipe, GPtrArray *notes) {
  const PlanPolicy *policy = &plan_policies[recipe->framework];
  if (policy->note != NULL)
    policy->note(recipe, notes);
}
