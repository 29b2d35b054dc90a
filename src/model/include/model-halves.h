/* SPDX-License-Identifier: MIT */
/* A unit's backward in two passes, as zero-bubble schedules play it: gradients of inputs, which the stage before waits
 * for, and gradients of weights, at any time after.
 *
 *   ModelHalves *halves = model_halves_new(&shape, &recipe, micro_batch, layer);
 *   … halves->inputs[0 … n_inputs − 1] …     // what is left of backward where nobody wants a weight's gradient
 *   … halves->weights[0 … n_weights − 1] …   // the rest: wgrads, and of ops that do both (norms) their sums
 *   model_halves_free(split);
 *
 *   backward   d_down  up.wgrad  up.dgrad  norm (d_x and d_weight)      inputs    d_down  up.dgrad  norm (d_x)
 *                                                                       weights   up.wgrad  norm (d_weight)
 *
 * Both are in backward's order and together cost what backward costs, to the byte and the launch. Tensors are the
 * unit's; what weights read of them must outlive the pass for inputs. Source of the cut: PyTorch,
 * torch/distributed/pipelining/_backward.py (stage_backward_input, stage_backward_weight). */
#pragma once

#include "model-unit.h"

typedef struct {
  ModelOp *inputs, *weights; /* own, their kernels too */
  guint n_inputs, n_weights;
  struct KernelOp *kernels; /* inputs', then weights' */
} ModelHalves;

/* `unit`: made of the same shape, recipe and micro-batch, all of it trained. Cost: as the unit. */
ModelHalves *model_halves_new(const ModelShape *shape, const ModelRecipe *recipe, guint64 micro_batch,
                              const ModelUnit *unit);
void model_halves_free(ModelHalves *halves);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ModelHalves, model_halves_free)
