/* SPDX-License-Identifier: MIT */
/* FSDP2 beside other axes, as torchtitan lays them: what a rank's share of a layer is, which layers a stage of the
 * pipeline holds, and what its schedules send when.
 *
 * Source: torch/distributed/tensor/parallel/style.py (PrepareModuleInput, ColwiseParallel);
 * torchtitan/models/llama3/infra/parallelize.py, torchtitan/distributed/pipeline_parallel.py (2025);
 * torch/distributed/pipelining/schedules.py and stage.py: Schedule1F1B sends and receives between two passes in one
 * batch, the other schedules each by itself, and none waits for what it sends before the end of the step. */
#include <string.h>

#include "plan-fsdp.h"
#include "plan-schedule.h"
#include "plan-stages.h"

static guint32 degree(const PlanRecipe *recipe, LayoutAxis axis) {
  return recipe->axes.layout.degree[axis];
}

/* ---- Tensor and context ---- */

/* Without sequence parallelism a layer's input is whole, and each sums its own gradient over the ranks. */
static gboolean inputs(const PlanGiven *given, const PlanRecipe *recipe, GError **error) {
  const PlanFsdpKeys *keys = &recipe->fsdp;
  ModelShare *share = &given->model->share;
  const char *key = "fsdp.tensor_inputs";
  if (keys->tensor_inputs == PLAN_INPUTS_BLOCK)
    return TRUE;
  if (degree(recipe, LAYOUT_TENSOR) == 1)
    return conf_settings_fail(given->settings, key, error, "is of tensor ranks; set parallel.tensor");
  if (keys->async_tensor_parallel || given->model->precision == MODEL_FP8 || given->shape->experts > 0 ||
      given->shape->kv_rank > 0)
    return conf_settings_fail(given->settings, key, error,
                              "layer is not modelled of fp8, of matmuls that hide exchanges chunk by chunk, of experts "
                              "and of latent attention; block");
  share->reduces_each = !recipe->axes.sequence_parallel;
  share->scatters_each = recipe->axes.sequence_parallel;
  share->gathers_each = recipe->axes.sequence_parallel && !given->model->compiled;
  return TRUE;
}

static gboolean share(const PlanGiven *given, PlanRecipe *recipe, GError **error) {
  const PlanFsdpKeys *keys = &recipe->fsdp;
  ModelShare *share_ = &given->model->share;
  gboolean tensor = degree(recipe, LAYOUT_TENSOR) > 1, context = degree(recipe, LAYOUT_CONTEXT) > 1;
  if (tensor && !conf_settings_given(given->settings, "parallel.sequence_parallel"))
    recipe->axes.sequence_parallel = share_->sequence_parallel = TRUE;
  gboolean chunks = tensor && keys->async_tensor_parallel;
  if (chunks && !given->model->compiled)
    return conf_settings_fail(given->settings, "fsdp.async_tensor_parallel", error,
                              "is what torch.compile makes of the layers; set training.compile=yes");
  if (chunks && !recipe->axes.sequence_parallel)
    return conf_settings_fail(given->settings, "fsdp.async_tensor_parallel", error,
                              "hides gathers and scatters, which are of sequence parallelism; set "
                              "parallel.sequence_parallel=yes");
  share_->overlap = chunks ? MODEL_OVERLAP_CHUNKS : MODEL_OVERLAP_NONE;
  share_->batch_first = TRUE;
  share_->whole_logits = tensor && !keys->loss_parallel;
  share_->context_kind = keys->context_rotate == PLAN_ROTATE_ALLTOALL ? MODEL_CONTEXT_RING : MODEL_CONTEXT_GATHER;
  share_->zigzag = context;
  return inputs(given, recipe, error);
}

/* ---- Experts ---- */

static gboolean experts(const PlanGiven *given, const PlanRecipe *recipe, GError **error) {
  const PlanFsdpKeys *keys = &recipe->fsdp;
  if (!recipe->experts_apart)
    return TRUE;
  if (keys->wrap != PLAN_WRAP_BLOCK && keys->wrap != PLAN_WRAP_ENDS)
    return conf_settings_fail(given->settings, "fsdp.wrap", error,
                              "experts that ranks share are a unit inside each block; fsdp.wrap = block or ends");
  if (keys->reshard == PLAN_RESHARD_SMALLER)
    return conf_settings_fail(given->settings, "fsdp.reshard_after_forward", error,
                              "a smaller shard of experts that ranks share is not modelled; yes or no");
  return !keys->offloads || conf_settings_fail(given->settings, "fsdp.cpu_offload", error,
                                               "beside ranks that share experts it is not modelled");
}

/* ---- Pipeline ---- */

/* "of 32" behind the layers: what the split was written for; TRUE where `word` is no such end. */
static gboolean read_split_layers(const ConfSettings *settings, char **word, PlanFsdpKeys *keys, gboolean *ret_ends,
                                  GError **error) {
  guint64 layers;
  *ret_ends = g_strcmp0(*word, "of") == 0;
  if (!*ret_ends)
    return TRUE;
  if (word[1] == NULL || word[2] != NULL || !g_ascii_string_to_unsigned(word[1], 10, 1, G_MAXUINT16, &layers, NULL))
    return conf_settings_fail(settings, "fsdp.pipeline_split", error,
                              "behind \"of\" stands the number of the model's layers, and nothing else");
  keys->split_layers = (guint32)layers;
  return TRUE;
}

static gboolean read_split(const ConfSettings *settings, PlanFsdpKeys *keys, GError **error) {
  g_auto(GStrv) words = g_strsplit_set(keys->split_text != NULL ? keys->split_text : "", " ,", -1);
  guint64 before = 0, layer;
  gboolean ends = FALSE;
  for (char **word = words; *word != NULL && !ends; word++) {
    if (**word == '\0')
      continue;
    if (!read_split_layers(settings, word, keys, &ends, error))
      return FALSE;
    if (ends)
      continue;
    if (keys->n_split == PLAN_SPLIT_MOST || !g_ascii_string_to_unsigned(*word, 10, 0, G_MAXUINT16, &layer, NULL) ||
        (keys->n_split > 0 && layer <= before))
      return conf_settings_fail(settings, "fsdp.pipeline_split", error,
                                "\"%s\" is not the number of a layer after the one before it", *word);
    keys->split[keys->n_split++] = (guint16)(before = layer);
  }
  return TRUE;
}

static gboolean check_split(const PlanGiven *given, const PlanRecipe *recipe, GError **error) {
  guint32 n = recipe->fsdp.n_split, stages = degree(recipe, LAYOUT_PIPELINE) * MAX(recipe->axes.chunks, 1);
  if (n > 0 && n + 1 != stages)
    return conf_settings_fail(given->settings, "fsdp.pipeline_split", error,
                              "makes %u stages, and parallel.pipeline and interleave make %u", n + 1, stages);
  if (recipe->fsdp.split_layers > 0 && recipe->fsdp.split_layers != given->shape->layers)
    return conf_settings_fail(given->settings, "fsdp.pipeline_split", error,
                              "is a split of %u layers, and the model has %" G_GUINT64_FORMAT,
                              recipe->fsdp.split_layers, given->shape->layers);
  return n == 0 || recipe->fsdp.split[n - 1] < given->shape->layers ||
         conf_settings_fail(given->settings, "fsdp.pipeline_split", error,
                            "the model has %" G_GUINT64_FORMAT " layers, from 0 on", given->shape->layers);
}

static gboolean check_runs(const ConfSettings *settings, const PlanRecipe *recipe, GError **error) {
  guint64 run = recipe->fsdp.pipeline_microbatches, all = recipe->gradient_accumulation;
  return degree(recipe, LAYOUT_PIPELINE) == 1 || run == 0 || run == all ||
         conf_settings_fail(settings, "fsdp.pipeline_microbatches", error,
                            "a step has %" G_GUINT64_FORMAT " micro-batches, and a pipeline that is drained and filled "
                            "again in between is not modelled; make global_batch = local batch × data ranks",
                            all);
}

/* Backward in two passes is autograd's, on what it has kept of forward: what would run again for it, or what stands in
 * one function with both gradients, is not modelled. */
static gboolean check_two_passes(const PlanGiven *given, const PlanRecipe *recipe, GError **error) {
  LayoutSchedule schedule = recipe->axes.schedule;
  const char *name = layout_schedule_names[schedule];
  if (!plan_schedule_splits(schedule))
    return TRUE;
  if (schedule == LAYOUT_SCHEDULE_ZB_H1 && recipe->axes.chunks < 2)
    return conf_settings_fail(given->settings, "parallel.schedule", error,
                              "PyTorch's InterleavedZeroBubble has at least 2 chunks per rank; set "
                              "parallel.interleave=2");
  if (given->model->compiled)
    return conf_settings_fail(given->settings, "training.compile", error,
                              "PyTorch refuses compiled stages under %s; set training.compile=no", name);
  if (given->shape->profile != NULL)
    return conf_settings_fail(given->settings, "model.profile", error,
                              "has one time for a layer's backward, and %s plays it in two passes", name);
  if (given->model->precision == MODEL_FP8)
    return conf_settings_fail(given->settings, "training.precision", error,
                              "fp8 layers, whose backward is one function for inputs and weights, are not modelled "
                              "under %s",
                              name);
  return recipe->fsdp.wrap != PLAN_WRAP_SIZE ||
         conf_settings_fail(given->settings, "fsdp.wrap", error,
                            "units of the parts of a block are not modelled under %s; use block, ends or none", name);
}

static gboolean pipeline(const PlanGiven *given, PlanRecipe *recipe, GError **error) {
  guint32 ranks = degree(recipe, LAYOUT_PIPELINE);
  g_autoptr(GError) fault = NULL;
  if (ranks == 1)
    return TRUE;
  if (recipe->fsdp.offloads)
    return conf_settings_fail(given->settings, "fsdp.cpu_offload", error, "over a pipeline it is not modelled");
  if (given->shape->tied_embeddings)
    return conf_settings_fail(given->settings, "parallel.pipeline", error,
                              "tied embedding and head are one parameter, which torchtitan does not keep alike on two "
                              "stages; untie them");
  if (!check_split(given, recipe, error) || !check_runs(given->settings, recipe, error) ||
      !check_two_passes(given, recipe, error))
    return FALSE;
  if (layout_goes_around(&recipe->axes) &&
      !plan_schedule_group_torch(ranks, (guint32)recipe->gradient_accumulation, &recipe->pipeline.group, &fault))
    return conf_settings_fail(given->settings, "training.gradient_accumulation", error, "%s", fault->message);
  recipe->pipeline.batches = recipe->axes.schedule == LAYOUT_SCHEDULE_1F1B;
  recipe->pipeline.keeps_outputs = recipe->pipeline.buffers = TRUE;
  return TRUE;
}

gboolean plan_fsdp2_axes(const PlanGiven *given, PlanRecipe *recipe, GError **error) {
  return read_split(given->settings, &recipe->fsdp, error) && share(given, recipe, error) &&
         experts(given, recipe, error) && pipeline(given, recipe, error);
}

gboolean plan_fsdp2_spread(const ModelShape *shape, const PlanRecipe *recipe, guint32 *ret_bounds, GError **error) {
  const PlanFsdpKeys *keys = &recipe->fsdp;
  guint32 layers = (guint32)shape->layers, stages = degree(recipe, LAYOUT_PIPELINE) * MAX(recipe->axes.chunks, 1);
  if (keys->n_split == 0)
    return plan_stages_torchtitan(layers, stages, (guint32)keys->first_stage_less, (guint32)keys->last_stage_less,
                                  ret_bounds, error);
  ret_bounds[0] = 0;
  for (guint32 i = 0; i < keys->n_split; i++)
    ret_bounds[i + 1] = keys->split[i] + 1u;
  ret_bounds[stages] = layers + 2;
  return TRUE;
}
