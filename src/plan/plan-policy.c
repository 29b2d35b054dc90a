/* The table of frameworks, and what goes by it. */
#include "plan-policy.h"

#include "base-names.h"
#include "plan-deepspeed-engine.h"
#include "plan-step.h"

/* bias_swiglu_fusion, apply_rope_fusion (megatron/training/arguments.py) and fused norms (gpt_layer_specs.py) are Megatron-LM's
 * defaults; nanotron has Triton's norm and flash-attention's rotary embedding, and a plain activation (models/llama.py). Both
 * have one matmul for q, k and v (linear_qkv, qkv_proj) and one for gate and up (linear_fc1, gate_up_proj). */
static const PlanDefault megatron_defaults[] = {
    {"training.fused_kernels", "yes"}, {"training.projections", "joined"}, {NULL, NULL}};
static const PlanDefault nanotron_defaults[] = {
    {"training.fused_kernels", "norms"}, {"training.projections", "copied"}, {NULL, NULL}};

const PlanPolicy plan_policies[PLAN_FRAMEWORKS] = {
    [PLAN_PAPER] = {.name = "paper",
                    .selective = PLAN_CHECKPOINT_ATTENTION,
                    .resolve = plan_paper_resolve,
                    .hooks = &plan_paper_hooks},
    [PLAN_DDP] = {.name = "ddp",
                  .schema = &plan_ddp_schema,
                  .options = G_STRUCT_OFFSET(PlanRecipe, ddp),
                  .selective = PLAN_CHECKPOINT_ATTENTION,
                  .resolve = plan_ddp_resolve,
                  .hooks = &plan_ddp_hooks,
                  .note = plan_ddp_note},
    [PLAN_DEEPSPEED] = {.name = "deepspeed",
                        .schema = &plan_deepspeed_schema,
                        .options = G_STRUCT_OFFSET(PlanRecipe, deepspeed),
                        .selective = PLAN_CHECKPOINT_ATTENTION,
                        .resolve = plan_deepspeed_resolve,
                        .hooks = &plan_deepspeed_hooks,
                        .note = plan_deepspeed_note},
    [PLAN_FSDP1] = {.name = "fsdp1",
                    .schema = &plan_fsdp_schema,
                    .options = G_STRUCT_OFFSET(PlanRecipe, fsdp),
                    .selective = PLAN_CHECKPOINT_EVERY_2ND_MATMUL,
                    .resolve = plan_fsdp1_resolve,
                    .hooks = &plan_fsdp_hooks,
                    .note = plan_fsdp_note},
    [PLAN_FSDP2] = {.name = "fsdp2",
                    .schema = &plan_fsdp_schema,
                    .options = G_STRUCT_OFFSET(PlanRecipe, fsdp),
                    .selective = PLAN_CHECKPOINT_EVERY_2ND_MATMUL,
                    .resolve = plan_fsdp2_resolve,
                    .hooks = &plan_fsdp_hooks,
                    .note = plan_fsdp_note},
    [PLAN_MEGATRON] = {.name = "megatron",
                       .defaults = megatron_defaults,
                       .schema = &plan_megatron_schema,
                       .options = G_STRUCT_OFFSET(PlanRecipe, megatron),
                       .selective = PLAN_CHECKPOINT_ATTENTION,
                       .resolve = plan_megatron_resolve,
                       .hooks = &plan_megatron_hooks,
                       .note = plan_megatron_note},
    [PLAN_NANOTRON] = {.name = "nanotron",
                       .defaults = nanotron_defaults,
                       .selective = PLAN_CHECKPOINT_ATTENTION,
                       .resolve = plan_nanotron_resolve,
                       .hooks = &plan_nanotron_hooks,
                       .note = plan_nanotron_note},
};

gboolean plan_put_defaults(ConfSettings *settings, GError **error) {
  const char *framework = conf_settings_get(settings, "parallel.framework");
  int index = framework != NULL ? base_names_find(plan_framework_names, framework) : -1;
  const PlanDefault *own = index >= 0 ? plan_policies[index].defaults : NULL;
  for (; own != NULL && own->name != NULL; own++)
    if (!conf_settings_given(settings, own->name) &&
        !conf_settings_put(settings, own->name, own->value, CONF_ORIGIN_DEFAULT, NULL, error))
      return FALSE;
  return TRUE;
}

gboolean plan_policy_refuse_offload(const ConfSettings *settings, const PlanRecipe *recipe, GError **error) {
  const char *why = "offloads nothing here; deepspeed does";
  return (recipe->offload_optimizer == PLAN_OFFLOAD_NO ||
          plan_policy_refuse(settings, "parallel.offload_optimizer", recipe, why, error)) &&
         (recipe->offload_parameters == PLAN_OFFLOAD_NO ||
          plan_policy_refuse(settings, "parallel.offload_parameters", recipe, why, error));
}

gboolean plan_policy_refuse(const ConfSettings *settings, const char *name, const PlanRecipe *recipe, const char *why,
                            GError **error) {
  return !conf_settings_given(settings, name) ||
         conf_settings_fail(settings, name, error, "framework %s %s", plan_policies[recipe->framework].name, why);
}

Program *plan_program(const ModelShape *shape, const ModelRecipe *model_recipe, const PlanRecipe *recipe) {
  return plan_step_program(&(PlanCase){shape, model_recipe, recipe}, plan_policies[recipe->framework].hooks);
}

void plan_notes(const PlanRecipe *recipe, GPtrArray *notes) {
  const PlanPolicy *policy = &plan_policies[recipe->framework];
  if (policy->note != NULL)
    policy->note(recipe, notes);
}
