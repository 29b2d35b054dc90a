/* SPDX-License-Identifier: MIT */
/* [nanotron], and what follows from it. Defaults: nanotron/config/parallelism_config.py, config/config.py. */
#include "model-unit.h"
#include "plan-axes.h"
#include "plan-nanotron.h"
#include "plan-policy.h"
#include "plan-stages.h"

#define FP32           4
#define USUAL_CLIPPING 1.0

static const BaseField keys[] = {
    BASE_ROW("nanotron", "tp_linear_async_communication", BASE_FLAG, PlanNanotron, async, .initial = "no",
             .help =
                 "a column layer's gather hides behind the rank's own tokens, its gradient's sum behind the weight's"),
    BASE_ROW("nanotron", "tp_recompute_allgather", BASE_FLAG, PlanNanotron, regains, .initial = "yes",
             .help = "under sequence parallelism backward gathers a column layer's input again, and does not keep it"),
};
const ConfSchema plan_nanotron_schema = {keys, G_N_ELEMENTS(keys)};

/* parallel/tensor_parallel/functional.py; make_vocab_size_divisible_by is 1. */
static void fill_share(const PlanNanotron *options, ModelShare *share) {
  share->keys = MODEL_KEYS_DIVIDED;
  share->overlap = options->async && share->sequence_parallel ? MODEL_OVERLAP_OWN : MODEL_OVERLAP_NONE;
  share->async_gradient = options->async;
  share->gathers_again = options->regains;
  share->gathers_to_buffers = TRUE;
  share->vocabulary_multiple = 1;
}

/* parallel/pipeline_parallel/p2p.py and state.py: one tensor after the other, activations before gradients, each after
 * two messages about its shape, which both ends' hosts read; a gradient goes when the next activation has come. What is
 * sent is referred to by the message alone. */
static const PlanPipeline pipeline = {
    .batches = TRUE, .in_turn = TRUE, .waits_for_sends = TRUE, .blocks = TRUE, .headers = 2};

/* engine.py asserts it. */
static gboolean check_micro_batches(const ConfSettings *settings, const PlanRecipe *recipe, GError **error) {
  guint32 stages = recipe->axes.layout.degree[LAYOUT_PIPELINE];
  return recipe->axes.schedule != LAYOUT_SCHEDULE_1F1B || recipe->gradient_accumulation + 1 >= stages ||
         conf_settings_fail(settings, "training.gradient_accumulation", error,
                            "nanotron's 1f1b needs at least %u micro-batches for %u stages, not %" G_GUINT64_FORMAT,
                            stages - 1, stages, recipe->gradient_accumulation);
}

static gboolean check_dtypes(const ConfSettings *settings, const PlanRecipe *recipe, GError **error) {
  if (plan_dtype_bytes(recipe->accumulation_dtype, FP32) != FP32)
    return conf_settings_fail(settings, "training.gradient_accumulation_dtype", error,
                              "nanotron's gradients are modelled as it accumulates them by default: in fp32");
  return plan_dtype_bytes(recipe->communication_dtype, FP32) == FP32 ||
         conf_settings_fail(settings, "training.gradient_communication_dtype", error,
                            "nanotron reduces its fp32 gradients");
}

gboolean plan_nanotron_resolve(const PlanGiven *given, PlanRecipe *recipe, GError **error) {
  const ConfSettings *settings = given->settings;
  if (recipe->zero_stage > 1)
    return conf_settings_fail(settings, "parallel.zero_stage", error,
                              "nanotron shards the optimizer (1) or nothing (0)");
  if (!conf_settings_given(settings, "training.gradient_clipping"))
    recipe->gradient_clipping = USUAL_CLIPPING;
  recipe->pipeline = pipeline;
  given->model->layer_functions = TRUE;
  fill_share(&recipe->nanotron, &given->model->share);
  return check_dtypes(settings, recipe, error) && check_micro_batches(settings, recipe, error) &&
         plan_policy_refuse(settings, "parallel.framework_version", recipe, "is modelled without versions", error) &&
         (recipe->shard_ranks == recipe->ranks ||
          plan_policy_refuse(settings, "parallel.shard_group", recipe, "shards over all ranks", error));
}

gboolean plan_nanotron_spread(const ModelShape *shape, const PlanRecipe *recipe, guint32 *ret_bounds,
                              G_GNUC_UNUSED GError **error) {
  guint32 layers = (guint32)shape->layers, n_blocks = layers + 1 + MODEL_HEAD_PARTS;
  PlanScheduleShape schedule = plan_axes_schedule(recipe);
  guint32 stages = plan_schedule_stages(&schedule);
  g_autofree double *costs = g_new(double, n_blocks);
  plan_stages_nanotron_costs(layers, shape->hidden_size, shape->heads, shape->head_dim, shape->intermediate_size,
                             shape->vocab_size, costs);
  plan_stages_nanotron(costs, n_blocks, stages, ret_bounds);
  plan_stages_whole_head(layers, stages, ret_bounds);
  return TRUE;
}

void plan_nanotron_note(const PlanRecipe *recipe, GPtrArray *notes) {
  g_ptr_array_add(notes,
                  g_strdup_printf("nanotron: gradients are accumulated and reduced in fp32, norms clipped at %g%s",
                                  recipe->gradient_clipping,
                                  recipe->zero_stage == 1 ? "; parameters are gathered after the step" : ""));
  if (recipe->axes.layout.degree[LAYOUT_PIPELINE] > 1)
    g_ptr_array_add(notes,
                    g_strdup("nanotron: layers are spread over stages by its costs of blocks; each tensor between "
                             "stages follows two messages about its shape, which hosts wait for"));
}
