/* The table of frameworks, and what goes by it. */
#include "plan-policy.h"

const PlanPolicy plan_policies[PLAN_FRAMEWORKS] = {
    [PLAN_PAPER] = {.name = "paper", .selective = PLAN_CHECKPOINT_ATTENTION, .build = plan_paper},
    [PLAN_FSDP1] = {.name = "fsdp1",
                    .schema = &plan_fsdp_schema,
                    .options = G_STRUCT_OFFSET(PlanRecipe, fsdp),
                    .selective = PLAN_CHECKPOINT_EVERY_2ND_MATMUL,
                    .resolve = plan_fsdp1_resolve,
                    .build = plan_fsdp1},
    [PLAN_FSDP2] = {.name = "fsdp2",
                    .schema = &plan_fsdp_schema,
                    .options = G_STRUCT_OFFSET(PlanRecipe, fsdp),
                    .selective = PLAN_CHECKPOINT_EVERY_2ND_MATMUL,
                    .resolve = plan_fsdp2_resolve,
                    .build = plan_fsdp2},
};

Program *plan_program(const ModelShape *shape, const ModelRecipe *model_recipe, const PlanRecipe *recipe) {
  return plan_policies[recipe->framework].build(&(PlanCase){shape, model_recipe, recipe});
}

void plan_notes(const PlanRecipe *recipe, GPtrArray *notes) {
  const PlanPolicy *policy = &plan_policies[recipe->framework];
  if (policy->note != NULL)
    policy->note(recipe, notes);
}
