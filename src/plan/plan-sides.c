/* SPDX-License-Identifier: MIT */
/* Makers and readers of sides, from the last unit to the first. */
#include "plan-sides.h"

#include "base-error.h"
#include "plan-lives.h"

#define NONE G_MAXUINT

static guint find(const ModelUnit *unit, ModelTensorRole role, ModelSide side) {
  for (guint t = 0; t < unit->n_tensors; t++)
    if (unit->tensors[t].role == role && unit->tensors[t].side == side)
      return t;
  return NONE;
}

static gboolean writes(const ModelUnit *unit, guint tensor) {
  ModelSet written = 0;
  for (guint i = 0; i < unit->n_forward; i++)
    written |= unit->forward[i].writes;
  return model_set_has(written, tensor);
}

static gboolean makes(const ModelUnit *unit, ModelSide side) {
  guint tensor = find(unit, MODEL_TENSOR_SIDE, side);
  return tensor != NONE && writes(unit, tensor);
}

gboolean plan_sides_is_read(const ModelUnit *unit, guint tensor) {
  ModelTensorRole role = unit->tensors[tensor].role;
  return (role == MODEL_TENSOR_SIDE || role == MODEL_TENSOR_GRAD_SIDE) && !makes(unit, unit->tensors[tensor].side);
}

gboolean plan_sides_is_first(const PlanWalk *walk, guint32 unit, const ModelOp *op) {
  ModelSet reads = op->reads;
  guint32 one = *plan_walk_tensor(walk, unit, model_set_first(reads));
  return one == *plan_walk_tensor(walk, unit, model_set_first(model_set_rest(reads)));
}

/* The reader's tensors are the maker's. */
static void link_to(const PlanWalk *walk, guint32 maker, guint32 reader, ModelTensorRole role, ModelSide side) {
  guint own = find(walk->units[maker].unit, role, side), other = find(walk->units[reader].unit, role, side);
  if (other == NONE || maker == reader)
    return;
  sim_require(own != NONE, 0, NULL, "unit %u reads a gradient that unit %u has not", reader, maker);
  *plan_walk_tensor(walk, reader, other) = *plan_walk_tensor(walk, maker, own);
}

/* The part that comes first in backward, of the last unit that has one. */
static void link_part(const PlanWalk *walk, guint32 reader, guint gradient) {
  const ModelUnit *unit = walk->units[reader].unit;
  for (guint i = 0; i < unit->n_backward; i++) {
    const ModelOp *op = &unit->backward[i];
    if (!op->joins || !model_set_has(op->reads, gradient))
      continue;
    guint part = model_set_first(op->reads & ~model_set_of(gradient));
    *plan_walk_tensor(walk, reader, part) = *plan_walk_tensor(walk, reader, gradient);
    return;
  }
}

/* Units from the maker up to, but not with, the next maker. */
static void link_side(PlanWalk *walk, guint32 maker, ModelSide side) {
  guint32 last = maker, last_gradient = PROGRAM_NONE;
  gboolean wanted = FALSE;
  for (guint32 u = maker; u < walk->n_units && (u == maker || !makes(walk->units[u].unit, side)); u++) {
    const PlanUnit *unit = &walk->units[u];
    guint tensor = find(unit->unit, MODEL_TENSOR_SIDE, side);
    if (tensor == NONE)
      continue;
    link_to(walk, maker, u, MODEL_TENSOR_SIDE, side);
    link_to(walk, maker, u, MODEL_TENSOR_GRAD_SIDE, side);
    last = u;
    wanted |= u != maker && model_set_has(plan_lives_wanted(unit->unit, unit->lives), tensor);
    if (find(unit->unit, MODEL_TENSOR_GRAD_SIDE, side) != NONE)
      last_gradient = u;
  }
  if (last_gradient != PROGRAM_NONE)
    link_part(walk, last_gradient, find(walk->units[last_gradient].unit, MODEL_TENSOR_GRAD_SIDE, side));
  PlanUnit *ends = &walk->units[wanted ? maker : last];
  ModelSet *set = wanted ? &ends->kept : &ends->read_last;
  *set |= model_set_of(find(ends->unit, MODEL_TENSOR_SIDE, side));
}

void plan_sides_link(PlanWalk *walk) {
  for (guint32 u = 0; u < walk->n_units; u++)
    for (ModelSide side = MODEL_SIDE_NONE + 1; side < MODEL_SIDES; side++)
      if (makes(walk->units[u].unit, side))
        link_side(walk, u, side);
}
