/* SPDX-License-Identifier: MIT */
/* Kernels added up, and elements. */
#include "study-bound.h"

#include "kernel-time.h"
#include "model-recompute.h"
#include "plan.h"

/* Of those of a set. */
static SimTime ops_time(const HwGpu *gpu, const ModelOp *ops, guint n, ModelSet of) {
  SimTime time = 0;
  for (guint i = 0; i < n; i++)
    if (model_set_has(of, i) && ops[i].exchange.kind == MODEL_EXCHANGE_NONE)
      time += kernel_time(gpu, ops[i].kernel) * MAX(ops[i].pieces, 1);
  return time;
}

/* Of one micro-batch through some units: forward, backward, and what runs again before it. */
typedef struct {
  SimTime forward, backward, again;
} Passes;

static SimTime sum(const Passes *passes) {
  return passes->forward + passes->backward + passes->again;
}

static void add(Passes *to, const Passes *passes) {
  to->forward += passes->forward;
  to->backward += passes->backward;
  to->again += passes->again;
}

/* Backward only where every parameter has a gradient, since else part of it is not run. */
static Passes unit_passes(const StudyWalk *walk, const ModelUnit *unit, ModelRecompute how) {
  const HwGpu *gpu = walk->cluster->gpu;
  gboolean all = !walk->recipe.trainable.part && walk->recipe.trainable.lora.rank == 0;
  ModelRecomputed redone;
  Passes passes = {.forward = ops_time(gpu, unit->forward, unit->n_forward, ~(ModelSet)0)};
  if (!all)
    return passes;
  model_recompute(unit, how, &redone);
  passes.backward = ops_time(gpu, unit->backward, unit->n_backward, ~(ModelSet)0);
  passes.again = ops_time(gpu, unit->forward, unit->n_forward, redone.again);
  return passes;
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
  guint64 states = recipe->offload_optimizer || recipe->paged ? 0 : elements * moment_bytes(walk) / ranks;
  return parameters + states;
}

/* What runs again in a unit numbered as model_unit_kind_among does; of layers that foretell further tokens the
 * least. */
static ModelRecompute way_of(const StudyWalk *walk, guint64 unit) {
  gint64 layer = model_unit_layer_of(&walk->shape, unit);
  gboolean further = model_unit_kind_of(&walk->shape, unit) == MODEL_UNIT_LAYER_FURTHER;
  return layer < 0 || further ? MODEL_RECOMPUTE_NONE
                              : plan_checkpointing_of(&walk->recipe.checkpointing, (guint32)layer);
}

/* Units that are alike are known once. */
typedef struct {
  guint32 units; /* of the model */
  gboolean known[MODEL_UNIT_VARIANTS][MODEL_RECOMPUTES];
  Passes passes[MODEL_UNIT_VARIANTS][MODEL_RECOMPUTES];
  guint64 elements[MODEL_UNIT_VARIANTS];
} Kinds;

static void know(const StudyWalk *walk, Kinds *kinds, ModelUnitKind kind, ModelRecompute how) {
  if (kinds->known[kind][how])
    return;
  g_autoptr(ModelUnit) unit = model_unit_new(&walk->shape, &walk->model_recipe, walk->recipe.micro_batch, kind);
  kinds->known[kind][how] = TRUE;
  kinds->passes[kind][how] = unit_passes(walk, unit, how);
  kinds->elements[kind] = trained_elements(unit);
}

static Passes passes_of(const StudyWalk *walk, const Kinds *kinds, guint32 first, guint32 end) {
  Passes all = {0};
  for (guint32 u = first; u < end; u++)
    add(&all, &kinds->passes[model_unit_kind_among(&walk->shape, u, kinds->units)][way_of(walk, u)]);
  return all;
}

static Passes chunk_passes(const StudyWalk *walk, const Kinds *kinds, guint32 rank, guint32 chunk) {
  guint32 first = 0, end = 0;
  plan_chunk_units(&walk->shape, &walk->recipe, rank, chunk, &first, &end);
  return passes_of(walk, kinds, first, end);
}

/* The largest of (2) over the ranks of a pipeline. */
static SimTime pipeline_time(const StudyWalk *walk, const Kinds *kinds, guint32 ranks) {
  gboolean drains = !plan_splits_backward(&walk->recipe);
  SimTime before = 0, longest = 0;
  for (guint32 rank = 0; rank < ranks; rank++) {
    Passes first = chunk_passes(walk, kinds, rank, 0), all = first;
    for (guint32 chunk = 1; chunk < walk->recipe.axes.chunks; chunk++) {
      Passes passes = chunk_passes(walk, kinds, rank, chunk);
      add(&all, &passes);
    }
    longest = MAX(longest, before + (SimTime)walk->recipe.gradient_accumulation * sum(&all));
    before += first.forward + (drains ? first.backward : 0);
  }
  return longest;
}

StudyBound study_bound(const StudyWalk *walk) {
  guint32 stages = MAX(walk->recipe.axes.layout.ranks > 0 ? walk->recipe.axes.layout.degree[LAYOUT_PIPELINE] : 1, 1);
  Kinds kinds = {.units = stages > 1 ? plan_units(&walk->shape, &walk->recipe)
                                     : (guint32)model_units_of(&walk->shape, FALSE)};
  guint64 elements = 0;
  for (guint32 u = 0; u < kinds.units; u++) {
    ModelUnitKind kind = model_unit_kind_among(&walk->shape, u, kinds.units);
    know(walk, &kinds, kind, way_of(walk, u));
    elements += kinds.elements[kind];
  }
  Passes all = passes_of(walk, &kinds, 0, kinds.units);
  SimTime time =
      stages > 1 ? pipeline_time(walk, &kinds, stages) : sum(&all) * (SimTime)walk->recipe.gradient_accumulation;
  return (StudyBound){walk->shape.profile == NULL ? time : 0, state_bytes(walk, elements) / stages};
}
