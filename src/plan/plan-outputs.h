/* SPDX-License-Identifier: MIT */
/* Outputs of the model that a training loop holds until the next forward returns: keys and values of each layer, which
 * Transformers' models return unless told not to, and the logits (training.use_cache); or the logits alone
 * (training.loss = half-kept).
 *
 *   outputs = model(batch)     the old ones are there until the new ones are returned
 *   loss.backward()            and the new ones through backward, the optimizer and the next forward
 *
 *   forward    layer 0 … layer n ┤ returns
 *   old        ──────────────────┘
 *   new          ├───┴───┴───────────────────► backward, next forward
 *
 * Of a layer that runs again nothing else keeps keys and values, so the new ones come with its forward. Where backward
 * wants them, they outlive it. Old and new are of one size: those that are there from layer to layer are given back as
 * forward returns, in place of the old ones.
 *
 * Source: Transformers' modeling_llama.py (use_cache is config's, True, and taken back by its own gradient
 * checkpointing alone). Private to this floor. */
#pragma once

#include "plan-policy.h"
#include "plan-walk.h"

typedef struct {
  PlanWalk *walk;   /* NULL: nothing is held */
  guint32 *fresh;   /* own: by unit: Program tensors of layers that run again; PROGRAM_NONE: none */
  guint32 *held;    /* own: by unit: those that stay; of the head its logits */
  gboolean *stands; /* own: by unit: `held` is there */
  gboolean kept;    /* the loss keeps logits until backward is over */
} PlanOutputs;

/* Errors, at training.use_cache or training.loss: frameworks with models of their own; axes other than data; models
 * whose cache is none of keys and values. */
gboolean plan_outputs_check(const PlanGiven *given, const PlanRecipe *recipe, GError **error);

/* Of a walk with its units. */
void plan_outputs_init(PlanOutputs *outputs, PlanWalk *walk, const PlanCase *what);
void plan_outputs_clear(PlanOutputs *outputs);
/* After the unit's pass, on its last row. */
void plan_outputs_forward(PlanOutputs *outputs, guint32 unit);
void plan_outputs_backward(PlanOutputs *outputs, guint32 unit);
/* After the last unit's. */
void plan_outputs_returned(PlanOutputs *outputs);
