/* SPDX-License-Identifier: MIT */
/* Optimizers that see matrices, not elements: Muon and Adafactor.
 *
 *   if (plan_sees_matrices(recipe->optimizer)) bytes = plan_matrix_states(walk, elements, shards, 4);
 *   plan_matrix_passes(walk, &what, passes);                  // what.elements: left to Adam
 *
 * Muon (Newton-Schulz, five steps in bf16) moves the weights of the layers' linear parts and keeps one momentum for
 * them; embedding, head, norms and biases are AdamW's. Where shards of a matrix lie on several ranks, all of them
 * gather its update in bf16, orthogonalise the whole and keep their shard (Distributed Muon: Liu et al. 2025, arXiv
 * 2502.16982, algorithm 1). Adafactor keeps of a matrix the sums of rows and columns, of a vector all (Shazeer and
 * Stern 2018, arXiv 1804.04235, without a first moment). Passes: torch/optim/_muon.py and _adafactor.py. Private to
 * this floor. */
#pragma once

#include "plan-optimizer.h"

static inline gboolean plan_sees_matrices(int optimizer) {
  return optimizer == PLAN_MUON || optimizer == PLAN_ADAFACTOR;
}
/* Bytes of the states of so many of a rank's elements, of the model's mean mix of matrices and vectors. */
guint64 plan_matrix_states(const PlanWalk *walk, guint64 elements, guint32 element_bytes);
/* Adds the passes over matrices, and takes them out of `what`, which says what all ranks' elements are here. Returns
 * what one matrix needs beside it for the while, in bytes. */
guint64 plan_matrix_passes(PlanWalk *walk, ModelOptimizer *what, GArray *passes);
