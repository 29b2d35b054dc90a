/* SPDX-License-Identifier: MIT */
/* What a framework's policy does in a step: hooks that the step (plan-step.h) and the walk (plan-walk.h) call, each
 * with the policy's state. Any but set_up and clear may be NULL.
 *
 *   set_up
 *   section ─ load (first) ─ step_begins
 *     received ─ micro_batch ─ before_unit … before_op  op  gradient  after_op … after_unit ─ forward_ended or
 *     backward_ended ─ sending, sent
 *   optimizer ─ "end of step" ─ step_ended
 *   clear
 *
 * Private to this floor. */
#pragma once

#include "model-recipe.h"
#include "model-shape.h"
#include "model-unit.h"
#include "plan-recipe.h"

typedef struct PlanWalk PlanWalk;

/* What a Program is made of. */
typedef struct {
  const ModelShape *shape;
  const ModelRecipe *model;
  const PlanRecipe *recipe;
  gboolean every_section; /* is walked, be it like another or not */
} PlanCase;

/* Backward where a schedule splits it: of inputs, then, some passes later, of weights. */
typedef enum { PLAN_FORWARD, PLAN_RECOMPUTE, PLAN_BACKWARD, PLAN_BACKWARD_INPUTS, PLAN_BACKWARD_WEIGHTS } PlanPass;

/* One that an operation has just completed; of a tied matrix the head's part comes first, then the embedding's. */
typedef struct {
  guint32 unit; /* whose operation it is, and which of its parameters */
  guint index;
  guint parameter;     /* in the walk's parameters: of a tied matrix the embedding's */
  gboolean first_part; /* of two */
  guint32 row;
} PlanGradient;

typedef struct {
  gsize size; /* of the policy's state: zeroed before set_up, freed after clear */
  /* Streams, communicators, tensors and operations: the walk has its units and its compute stream. */
  void (*set_up)(gpointer policy, PlanWalk *walk, const PlanCase *what);
  void (*clear)(gpointer policy);
  /* Whether each step issues the same rows, of which the first takes more with plan_walk_take_once; NULL: not so. */
  gboolean (*repeats)(gconstpointer policy);
  void (*section)(gpointer policy);     /* rows of the section before no longer count */
  void (*load)(gpointer policy);        /* first section: takes what lasts, on the row "load the model" */
  void (*step_begins)(gpointer policy); /* before the first pass */
  void (*micro_batch)(gpointer policy); /* before its first forward pass on this rank */
  /* Around the forward or backward (or each of its two passes) of a unit, be there anything to do in it or not. */
  void (*before_unit)(gpointer policy, guint32 unit, PlanPass pass);
  void (*after_unit)(gpointer policy, guint32 unit, PlanPass pass);
  /* Its row has not been added: what it shall wait for can be said with plan_walk_need. */
  void (*before_op)(gpointer policy, guint32 unit, const ModelOp *op, PlanPass pass);
  /* The row that completes it was added, and may still be given takes if the hook adds no row before. */
  void (*gradient)(gpointer policy, const PlanGradient *gradient);
  void (*after_op)(gpointer policy, guint32 unit, const ModelOp *op, PlanPass pass);
  /* What crosses between stages, at a boundary of a unit: compute has the one before it and waits for this one; it is
   * about to be sent, or was. */
  void (*received)(gpointer policy, guint32 unit, ModelTensorRole role);
  void (*sending)(gpointer policy, guint32 unit, ModelTensorRole role);
  void (*sent)(gpointer policy, guint32 unit, ModelTensorRole role);
  void (*forward_ended)(gpointer policy); /* of a chunk, for one micro-batch */
  void (*inputs_ended)(gpointer policy);  /* of a backward in two passes; backward_ended comes after its weights */
  void (*backward_ended)(gpointer policy);
  void (*optimizer)(gpointer policy);
  void (*step_ended)(
      gpointer policy); /* after the row "end of step", which waits for compute: adds what else it waits for */
} PlanHooks;
