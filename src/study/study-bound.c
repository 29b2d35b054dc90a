/* SPDX-License-Identifier: MIT */
/* Kernels added up, and elements. */
#include "study-bound.h"

#include "kernel-time.h"
#include "model-unit.h"

static SimTime ops_time(const HwGpu *gpu, const ModelOp *ops, guint n) {
  SimTime time = 0;
  for (guint i = 0; i < n; i++)
    if (ops[i].exchange.kind == MODEL_EXCHANGE_NONE)
      time += kernel_time(gpu, ops[i].kernel) * MAX(ops[i].pieces, 1);
  return time;
}

/* Of one micro-batch; backward only where every parameter has a gradient, since else part of it is not run. */
static SimTime unit_time(const StudyWalk *walk, const ModelUnit *unit) {
  gboolean all = !walk->recipe.trainable.part && walk->recipe.trainable.lora.rank == 0;
  return ops_time(walk->cluster->gpu, unit->forward, unit->n_forward) +
         (all ? ops_time(walk->cluster->gpu, unit->backward, unit->n_backward) : 0);
}

static guint64 trained_elements(const ModelUnit *unit) {
  guint64 elements = 0;
  for (guint i = 0; i < unit->n_parameters; i++)
    if (!unit->parameters[i].shared && !unit->parameters[i].frozen)
      elements += unit->parameters[i].elements;
  return elements;
}

static guint32 element_bytes(const StudyWalk *walk) {
  static const guint32 bytes[] = {
      [MODEL_BF16] = 2, [MODEL_FP16] = 2, [MODEL_FP32] = 4, [MODEL_TF32] = 4, [MODEL_FP8] = 1};
  return bytes[walk->model_recipe.precision];
}

/* Of the optimizer's moments, an element: in fp32, or quantised. */
static guint64 moment_bytes(const StudyWalk *walk) {
  const char *optimizer = conf_settings_get(walk->settings, "training.optimizer");
  return g_strcmp0(optimizer, "adamw") == 0 || g_strcmp0(optimizer, "adam") == 0 ? 8
         : g_strcmp0(optimizer, "adam8bit") == 0                                 ? 2
                                                                                 : 0;
}

static guint64 state_bytes(const StudyWalk *walk, guint64 elements) {
  const PlanRecipe *recipe = &walk->recipe;
  gboolean shards = recipe->zero_stage == 3 || recipe->framework == PLAN_FSDP1 || recipe->framework == PLAN_FSDP2;
  guint64 ranks = MAX(recipe->ranks, 1);
  guint64 parameters = recipe->offload_parameters ? 0 : elements * element_bytes(walk) / (shards ? ranks : 1);
  guint64 states = recipe->offload_optimizer ? 0 : elements * moment_bytes(walk) / ranks;
  return parameters + states;
}

/* W of the header to L: (2) where it holds, else (1). */
static SimTime step_time(const StudyWalk *walk, SimTime micro_batch, guint32 stages) {
  const LayoutRecipe *axes = &walk->recipe.axes;
  double m = (double)walk->recipe.gradient_accumulation, idle = 1;
  gboolean plain =
      axes->chunks <= 1 && (axes->schedule == LAYOUT_SCHEDULE_1F1B || axes->schedule == LAYOUT_SCHEDULE_GPIPE);
  if (stages == 1 || !plain)
    return micro_batch / stages * (SimTime)walk->recipe.gradient_accumulation;
  for (guint32 s = 0; s < stages; s++)
    idle *= 1 - 1 / m;
  return (SimTime)((double)micro_batch / (1 - idle));
}

StudyBound study_bound(const StudyWalk *walk) {
  guint32 stages = MAX(walk->recipe.axes.layout.ranks > 0 ? walk->recipe.axes.layout.degree[LAYOUT_PIPELINE] : 1, 1);
  guint64 count[MODEL_UNIT_VARIANTS] = {[MODEL_UNIT_EMBEDDING] = 1, [MODEL_UNIT_HEAD] = 1}, elements = 0;
  SimTime micro_batch = 0;
  for (guint64 i = 0; i < walk->shape.layers + walk->shape.mtp_layers; i++)
    count[model_unit_kind_of(&walk->shape, i + 1)]++;
  for (ModelUnitKind kind = 0; kind < MODEL_UNIT_VARIANTS; kind++) {
    if (count[kind] == 0)
      continue;
    g_autoptr(ModelUnit) unit = model_unit_new(&walk->shape, &walk->model_recipe, walk->recipe.micro_batch, kind);
    micro_batch += (SimTime)count[kind] * unit_time(walk, unit);
    elements += count[kind] * trained_elements(unit);
  }
  gboolean timed = walk->shape.profile == NULL;
  return (StudyBound){timed ? step_time(walk, micro_batch, stages) : 0, state_bytes(walk, elements) / stages};
}
