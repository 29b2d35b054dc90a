/* SPDX-License-Identifier: MIT */
/* The rungs of ZeRO as rows of a table: what is sharded, which collective when, when gathered copies die.
 *
 *   stage  sharded                             gradients                       parameters
 *   0      nothing                             all-reduce, last micro-batch    everywhere
 *   1      optimizer                           reduce-scatter, last            gathered after the step
 *   2      optimizer, gradients                reduce-scatter, every           gathered after the step
 *   3      optimizer, gradients, parameters    reduce-scatter, every           gathered for each use
 *
 * Elements sent per rank and step, ring factor (n−1)/n left out, k micro-batches: 2ψ, 2ψ, (k+1)ψ, 3kψ.
 * Source: Rajbhandari et al., "ZeRO" (arXiv 1910.02054), sections 5 and 7. */
#pragma once

#include "coll-call.h"

typedef struct {
  gboolean shards_optimizer, shards_gradients, shards_parameters;
  CollOperation reduce;
  gboolean reduce_every_micro_batch; /* else the last one's backward only */
  gboolean gather_after_step;
  gboolean gather_for_use; /* before forward and again before backward; freed when the unit has passed */
} PlanStage;

#define PLAN_STAGES 4
extern const PlanStage plan_stages[PLAN_STAGES];

/* Model states of one rank, bytes; the largest shard where ψ does not divide. Sources as above: in mixed precision 2 +
 * 2 + 12 bytes per parameter (16-bit parameters and gradients; fp32 master, momentum, variance), in fp32 4 + 4 + 8. */
typedef struct {
  guint64 parameters, gradients, optimizer;
} PlanStates;

/* `elements`: of each unit that is sharded by itself (stage 3 pads unit by unit). `element_bytes`: 2 or 4. */
void plan_states(const PlanStage *stage, const guint64 *elements, guint n_units, guint32 element_bytes, guint32 ranks,
                 PlanStates *ret);
/* Elements of one rank's optimizer shard: what it updates each step. */
guint64 plan_shard(const PlanStage *stage, const guint64 *elements, guint n_units, guint32 ranks);
