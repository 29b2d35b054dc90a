/* SPDX-License-Identifier: MIT */
/* Collectives over tensor ranks, over the ends of a pipeline, and over both axes. */
#include "plan-model-parallel.h"

#include "plan-axes.h"
#include "plan-groups.h"
#include "plan-parameters.h"

/* Of a joined projection that holds copies only keys and values are summed; it is counted whole. */
guint64 plan_summed_elements(const PlanWalk *walk) {
  guint64 elements = 0;
  for (guint p = 0; p < walk->parameters->n; p++) {
    const PlanParameter *parameter = &walk->parameters->list[p];
    const ModelParameter *shape = &walk->units[parameter->unit].unit->parameters[parameter->index];
    gboolean summed = !parameter->apart && (shape->place == MODEL_PLACE_SUMMED || shape->copies > 1);
    elements += summed ? shape->elements : 0;
  }
  return elements;
}

static guint32 sum(PlanWalk *walk, const char *stream, const char *name, guint32 slot, guint64 bytes,
                   ProgramHint hint) {
  guint32 id = program_builder_stream(walk->builder, stream);
  program_builder_pool(walk->builder, id, walk->stream);
  guint32 row = plan_walk_collective(walk, id, name, slot, (CollCall){COLL_ALL_REDUCE, bytes}, hint);
  plan_walk_follow(walk);
  plan_walk_need(walk, row);
  return row;
}

guint32 plan_sum_over_tensor(PlanWalk *walk, guint32 element_bytes) {
  guint64 elements = plan_summed_elements(walk);
  if (elements == 0 || plan_groups_layout(walk->recipe).degree[LAYOUT_TENSOR] == 1)
    return PROGRAM_NONE;
  guint32 slot = plan_groups_of(walk->builder, "tensor", walk->recipe, LAYOUT_BIT(LAYOUT_TENSOR));
  return sum(walk, "tensor", "all-reduce gradients of tensor ranks", slot, elements * element_bytes,
             PROGRAM_HINT_BOUNDARY);
}

static gboolean makes_logits(const PlanWalk *walk) {
  for (guint32 u = 0; u < walk->n_units; u++)
    if (model_unit_makes_logits(walk->units[u].unit->kind))
      return TRUE;
  return FALSE;
}

guint32 plan_sum_tied(PlanWalk *walk, const PlanCase *what, guint32 element_bytes) {
  guint32 stages = plan_groups_layout(walk->recipe).degree[LAYOUT_PIPELINE];
  gboolean first = walk->n_units > 0 && walk->units[0].unit->kind == MODEL_UNIT_EMBEDDING;
  gboolean last = makes_logits(walk);
  if (!what->shape->tied_embeddings || stages == 1 || first == last)
    return PROGRAM_NONE;
  guint32 slot = plan_groups_tied(walk->builder, walk->recipe, plan_axes_output(what->shape, walk->recipe));
  guint64 rows = model_share_vocabulary(&what->model->share, what->shape->vocab_size);
  return sum(walk, "embeddings", "all-reduce tied gradients", slot, rows * what->shape->hidden_size * element_bytes,
             PROGRAM_HINT_PIPELINE);
}

guint32 plan_sum_norm(PlanWalk *walk) {
  Layout layout = plan_groups_layout(walk->recipe);
  if (layout.degree[LAYOUT_TENSOR] * layout.degree[LAYOUT_PIPELINE] == 1)
    return PROGRAM_NONE;
  return sum(walk, "model-parallel", "all-reduce norm", plan_groups_model(walk->builder, walk->recipe), sizeof(float),
             layout.degree[LAYOUT_PIPELINE] > 1 ? PROGRAM_HINT_PIPELINE : PROGRAM_HINT_BOUNDARY);
}
