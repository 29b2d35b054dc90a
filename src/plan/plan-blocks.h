/* SPDX-License-Identifier: MIT */
/* What a framework allocates parameter by parameter, taken and given as one: tensors that were made one after another.
 *
 *   PlanBlocksWhole whole = {"layer0", "optimizer states", MEM_OPTIMIZER, bytes, unique};
 *   PlanBlocks states = plan_blocks_cut(walk, &whole, names, elements, n, 2);
 *   plan_blocks_take_once(walk, &states);
 *
 * How large the requests are decides where the caching allocator puts them: below 10 MiB two or more share a segment of
 * 20 MiB, above each has its own (c10/cuda/CUDACachingAllocator.h). Private to this floor. */
#pragma once

#include "plan-walk.h"

typedef struct {
  guint32 first, n; /* tensors */
} PlanBlocks;

typedef struct {
  const char *unit, *what; /* "layer0", "unsharded": of names, before and behind the parameter's */
  guint8 tenant;           /* MemTenant */
  guint64 bytes, unique;   /* of all blocks together */
} PlanBlocksWhole;

/* Cuts a whole by weights (elements), in order: the parts add up to it exactly, and what is unique but for a
 * byte each. `names`: of parameters, "q_proj.weight".
 * Of each part `copies` in a row, as Adam asks for a parameter's two momenta; at least one part. */
PlanBlocks plan_blocks_cut(PlanWalk *walk, const PlanBlocksWhole *whole, const char *const *names,
                           const guint64 *weights, guint32 n, guint32 copies);

void plan_blocks_take(PlanWalk *walk, const PlanBlocks *blocks);
void plan_blocks_take_once(PlanWalk *walk, const PlanBlocks *blocks);
/* As plan_walk_give. */
void plan_blocks_give(PlanWalk *walk, const PlanBlocks *blocks, guint32 stream);
