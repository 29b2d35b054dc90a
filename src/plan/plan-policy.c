/* SPDX-License-Identifier: MIT */
/* The table of frameworks, and what goes by it. */
#include "plan-policy.h"

#include "base-names.h"
#include "base-version.h"
#include "plan-step.h"

/* bias_swiglu_fusion, apply_rope_fusion (megatron/training/arguments.py) and fused norms (gpt_layer_specs.py) are
 * Megatron-LM's defaults; nanotron has Triton's norm and flash-attention's rotary embedding, and a plain activation
 * (models/llama.py). Both have one matmul for q, k and v (linear_qkv, qkv_proj) and one for gate and up (linear_fc1,
 * gate_up_proj). */
static const PlanSetting megatron_defaults[] = {
    {"training.fused_kernels", "yes"}, {"training.projections", "joined"}, {NULL, NULL}};
static const PlanSetting nanotron_defaults[] = {
    {"training.fused_kernels", "norms"}, {"training.projections", "copied"}, {NULL, NULL}};

/* torchtitan's Llama: models/llama3/model/model.py, apply_rotary_emb. */
static const PlanSetting fsdp2_defaults[] = {{"training.rotary", "complex"}, {NULL, NULL}};

static const PlanSetting deepspeed_remedies[] = {{"deepspeed.reduce_bucket_size", "50000000"},
                                                 {"parallel.offload_optimizer", "cpu"},
                                                 {"parallel.offload_parameters", "cpu"},
                                                 {NULL, NULL}};
static const PlanSetting fsdp1_remedies[] = {
    {"fsdp.backward_prefetch", "none"}, {"fsdp.cpu_offload", "yes"}, {NULL, NULL}};
static const PlanSetting fsdp2_remedies[] = {{"fsdp.cpu_offload", "yes"}, {NULL, NULL}};
/* FSDP is where PyTorch shards. */
static const char *const ddp_elsewhere[] = {"parallel.framework=fsdp2 parallel.zero_stage=2",
                                            "parallel.framework=fsdp2 parallel.zero_stage=3", NULL};

const PlanPolicy plan_policies[PLAN_FRAMEWORKS] = {
    [PLAN_PAPER] = {.name = "paper",
                    .selective = PLAN_CHECKPOINT_ATTENTION,
                    .resolve = plan_paper_resolve,
                    .hooks = &plan_paper_hooks,
                    .hostless = TRUE},
    [PLAN_DDP] = {.name = "ddp",
                  .schema = &plan_ddp_schema,
                  .options = G_STRUCT_OFFSET(PlanRecipe, ddp),
                  .selective = PLAN_CHECKPOINT_ATTENTION,
                  .stops = PLAN_STOPS_ASKED,
                  .resolve = plan_ddp_resolve,
                  .hooks = &plan_ddp_hooks,
                  .elsewhere = ddp_elsewhere,
                  .note = plan_ddp_note},
    [PLAN_DEEPSPEED] = {.name = "deepspeed",
                        .schema = &plan_deepspeed_schema,
                        .options = G_STRUCT_OFFSET(PlanRecipe, deepspeed),
                        .selective = PLAN_CHECKPOINT_ATTENTION,
                        .stops = PLAN_STOPS_ASKED,
                        .resolve = plan_deepspeed_resolve,
                        .hooks = &plan_deepspeed_hooks,
                        .axes = LAYOUT_BIT(LAYOUT_TENSOR) | LAYOUT_BIT(LAYOUT_CONTEXT) | LAYOUT_BIT(LAYOUT_PIPELINE) |
                                LAYOUT_BIT(LAYOUT_EXPERT),
                        .schedules = 1U << LAYOUT_SCHEDULE_1F1B,
                        .spread = plan_deepspeed_spread,
                        .offloads = TRUE,
                        .remedies = deepspeed_remedies,
                        .note = plan_deepspeed_note},
    [PLAN_FSDP1] = {.name = "fsdp1",
                    .schema = &plan_fsdp_schema,
                    .options = G_STRUCT_OFFSET(PlanRecipe, fsdp),
                    .selective = PLAN_CHECKPOINT_EVERY_2ND_MATMUL,
                    .stops = PLAN_STOPS,
                    .resolve = plan_fsdp1_resolve,
                    .remedies = fsdp1_remedies,
                    .hooks = &plan_fsdp_hooks,
                    .note = plan_fsdp_note},
    [PLAN_FSDP2] = {.name = "fsdp2",
                    .defaults = fsdp2_defaults,
                    .schema = &plan_fsdp_schema,
                    .options = G_STRUCT_OFFSET(PlanRecipe, fsdp),
                    .selective = PLAN_CHECKPOINT_EVERY_2ND_MATMUL,
                    .stops = PLAN_STOPS,
                    .resolve = plan_fsdp2_resolve,
                    .axes = LAYOUT_BIT(LAYOUT_TENSOR) | LAYOUT_BIT(LAYOUT_CONTEXT) | LAYOUT_BIT(LAYOUT_PIPELINE) |
                            LAYOUT_BIT(LAYOUT_EXPERT),
                    .schedules = 1U << LAYOUT_SCHEDULE_GPIPE | 1U << LAYOUT_SCHEDULE_1F1B |
                                 1U << LAYOUT_SCHEDULE_INTERLEAVED | 1U << LAYOUT_SCHEDULE_ZB_H1 |
                                 1U << LAYOUT_SCHEDULE_ZBV,
                    .sequence_parallel = TRUE,
                    .spread = plan_fsdp2_spread,
                    .remedies = fsdp2_remedies,
                    .hooks = &plan_fsdp_hooks,
                    .note = plan_fsdp_note},
    [PLAN_MEGATRON] = {.name = "megatron",
                       .defaults = megatron_defaults,
                       .schema = &plan_megatron_schema,
                       .options = G_STRUCT_OFFSET(PlanRecipe, megatron),
                       .selective = PLAN_CHECKPOINT_ATTENTION,
                       .resolve = plan_megatron_resolve,
                       .hooks = &plan_megatron_hooks,
                       .axes = LAYOUT_BIT(LAYOUT_TENSOR) | LAYOUT_BIT(LAYOUT_CONTEXT) | LAYOUT_BIT(LAYOUT_PIPELINE) |
                               LAYOUT_BIT(LAYOUT_EXPERT),
                       .schedules = 1U << LAYOUT_SCHEDULE_1F1B | 1U << LAYOUT_SCHEDULE_INTERLEAVED,
                       .sequence_parallel = TRUE,
                       .spread = plan_megatron_spread,
                       .loss = MODEL_LOSS_IN_PLACE,
                       .note = plan_megatron_note},
    [PLAN_NANOTRON] = {.name = "nanotron",
                       .defaults = nanotron_defaults,
                       .schema = &plan_nanotron_schema,
                       .options = G_STRUCT_OFFSET(PlanRecipe, nanotron),
                       .selective = PLAN_CHECKPOINT_ATTENTION,
                       .resolve = plan_nanotron_resolve,
                       .hooks = &plan_nanotron_hooks,
                       .axes = LAYOUT_BIT(LAYOUT_TENSOR) | LAYOUT_BIT(LAYOUT_PIPELINE),
                       .schedules = 1U << LAYOUT_SCHEDULE_1F1B | 1U << LAYOUT_SCHEDULE_GPIPE,
                       .sequence_parallel = TRUE,
                       .spread = plan_nanotron_spread,
                       .idles = TRUE,
                       .loss = MODEL_LOSS_VOCAB_PARALLEL,
                       .note = plan_nanotron_note},
};

gboolean plan_put_defaults(ConfSettings *settings, GError **error) {
  const char *framework = conf_settings_get(settings, "parallel.framework");
  int index = framework != NULL ? base_names_find(plan_framework_names, framework) : -1;
  const PlanSetting *own = index >= 0 ? plan_policies[index].defaults : NULL;
  for (; own != NULL && own->name != NULL; own++)
    if (!conf_settings_given(settings, own->name) &&
        !conf_settings_put(settings, own->name, own->value, CONF_ORIGIN_DEFAULT, NULL, error))
      return FALSE;
  return TRUE;
}

const PlanSetting *plan_remedies(int framework) {
  static const PlanSetting none = {NULL, NULL};
  return plan_policies[framework].remedies != NULL ? plan_policies[framework].remedies : &none;
}

LayoutSet plan_framework_axes(int framework) {
  return plan_policies[framework].axes;
}

gboolean plan_framework_sequence_parallel(int framework) {
  return plan_policies[framework].sequence_parallel;
}

guint plan_framework_schedules(int framework) {
  return plan_policies[framework].schedules;
}

const char *const *plan_elsewhere(int framework) {
  static const char *const nowhere[] = {NULL};
  return plan_policies[framework].elsewhere != NULL ? plan_policies[framework].elsewhere : nowhere;
}

gboolean plan_policy_refuse(const ConfSettings *settings, const char *name, const PlanRecipe *recipe, const char *why,
                            GError **error) {
  return !conf_settings_given(settings, name) ||
         conf_settings_fail(settings, name, error, "framework %s %s", plan_policies[recipe->framework].name, why);
}

void plan_policy_oldest(PlanRecipe *recipe, guint32 oldest) {
  if (recipe->version == 0 || recipe->version >= oldest)
    return;
  recipe->version_asked = recipe->version;
  recipe->version = oldest;
}

Program *plan_program(const ModelShape *shape, const ModelRecipe *model_recipe, const PlanRecipe *recipe) {
  return plan_step_program(&(PlanCase){shape, model_recipe, recipe, FALSE}, plan_policies[recipe->framework].hooks);
}

Program *plan_program_of_all(const ModelShape *shape, const ModelRecipe *model_recipe, const PlanRecipe *recipe) {
  return plan_step_program(&(PlanCase){shape, model_recipe, recipe, TRUE}, plan_policies[recipe->framework].hooks);
}

static void note_version(const PlanRecipe *recipe, GPtrArray *notes) {
  g_autofree char *asked = base_version_text(recipe->version_asked), *played = base_version_text(recipe->version);
  g_ptr_array_add(notes, g_strdup_printf("%s: version %s is older than what is modelled; it is played as %s",
                                         plan_policies[recipe->framework].name, asked, played));
}

void plan_notes(const PlanRecipe *recipe, GPtrArray *notes) {
  const PlanPolicy *policy = &plan_policies[recipe->framework];
  if (recipe->version_asked > 0)
    note_version(recipe, notes);
  if (policy->note != NULL)
    policy->note(recipe, notes);
}
