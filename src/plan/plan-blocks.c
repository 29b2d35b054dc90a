/* SPDX-License-Identifier: MIT */
/* Tensors that stand for one parameter each. */
#include "plan-blocks.h"

#include "base-error.h"

static guint64 up_to(guint64 whole, guint64 weight, guint64 all) {
  return weight == all ? whole : (guint64)((double)whole * ((double)weight / (double)all));
}

PlanBlocks plan_blocks_cut(PlanWalk *walk, const PlanBlocksWhole *whole, const char *const *names,
                           const guint64 *weights, guint32 n, guint32 copies) {
  guint64 all = 0, before = 0;
  for (guint32 i = 0; i < n; i++)
    all += weights[i];
  sim_require(all > 0 || whole->bytes == 0, 0, NULL, "%s.%s: bytes of no parameter", whole->unit, whole->what);
  PlanBlocks blocks = {0};
  for (guint32 i = 0; i < n; i++)
    for (guint32 k = 0; k < copies; k++) {
      guint64 parts = all * copies, from = before * copies + k * weights[i], to = from + weights[i];
      if (to == from)
        continue;
      g_autofree char *name = g_strconcat(whole->unit, ".", names[i], ".", whole->what, NULL);
      guint64 bytes = up_to(whole->bytes, to, parts) - up_to(whole->bytes, from, parts);
      guint64 unique = up_to(whole->unique, to, parts) - up_to(whole->unique, from, parts);
      guint32 tensor = program_builder_tensor(walk->builder, name, whole->tenant, bytes, MIN(unique, bytes));
      blocks.first = blocks.n++ == 0 ? tensor : blocks.first;
      before += k + 1 == copies ? weights[i] : 0;
    }
  return blocks;
}

void plan_blocks_take(PlanWalk *walk, const PlanBlocks *blocks) {
  for (guint32 i = 0; i < blocks->n; i++)
    plan_walk_take(walk, blocks->first + i);
}

void plan_blocks_take_once(PlanWalk *walk, const PlanBlocks *blocks) {
  for (guint32 i = 0; i < blocks->n; i++)
    plan_walk_take_once(walk, blocks->first + i);
}

void plan_blocks_give(PlanWalk *walk, const PlanBlocks *blocks, guint32 stream) {
  for (guint32 i = 0; i < blocks->n; i++)
    plan_walk_give(walk, blocks->first + i, stream);
}
