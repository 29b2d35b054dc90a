/* SPDX-License-Identifier: MIT */
/* What lasts from step to step, and the optimizer: what it keeps per parameter, and its step as rows on the compute
 * stream.
 *
 *   guint32 states = plan_states_tensor(walk, "optimizer states", MEM_OPTIMIZER, bytes, 1);
 *   PlanUpdate *update = plan_update_usual(walk, MODEL_OPTIMIZER_FUSED, (ModelOptimizer){.elements = shard, …});
 *   plan_update_norm(walk, update); …; plan_update_run(walk, update);
 *
 * adam and adamw keep two fp32 momenta, sgd and lion one, adam8bit two of one byte with an fp32 maximum per block of
 * 256, adam4bit two of half a byte and one per 128; muon and adafactor: plan-matrix-optimizer.h. Private to this
 * floor. */
#pragma once

#include "model-optimizer.h"
#include "plan-walk.h"

typedef enum {
  PLAN_ADAMW,
  PLAN_ADAM,
  PLAN_SGD,
  PLAN_LION,
  PLAN_ADAM8BIT,
  PLAN_ADAM4BIT,
  PLAN_ADAFACTOR,
  PLAN_MUON
} PlanOptimizer;
extern const char *const plan_optimizer_names[];

typedef enum { PLAN_STYLE_DEFAULT, PLAN_STYLE_FOREACH, PLAN_STYLE_FUSED, PLAN_STYLE_SINGLE } PlanOptimizerStyle;
extern const char *const plan_optimizer_style_names[];

/* Bytes of the states of so many elements whose momenta are of `element_bytes` (4, or 2 in pure 16-bit training);
 * `master`: with an fp32 copy of the parameters. */
guint64 plan_optimizer_bytes(int optimizer, guint64 elements, guint32 element_bytes, gboolean master);
/* The momenta alone, without the maxima that blocks of them share; of the framework's type: fp32. */
guint64 plan_optimizer_paged_bytes(int optimizer, guint64 elements);
/* How many momenta there are: torch asks for each by itself. */
guint plan_optimizer_momenta(int optimizer);
/* Of the recipe's choice, else the framework's. */
ModelOptimizerStyle plan_optimizer_style(const PlanRecipe *recipe, ModelOptimizerStyle usual);

/* A tensor of parameters, gradients or states that so many ranks hold alike: that part of it is unique. */
guint32 plan_states_tensor(PlanWalk *walk, const char *name, guint8 tenant, guint64 bytes, guint64 copies);

/* The same of a rank's elements under whatever optimizer, those that see matrices among them; no master. */
guint64 plan_optimizer_states(const PlanWalk *walk, guint64 elements, guint32 element_bytes);

typedef struct {
  const char *name; /* static */
  guint32 op;
  SimTime host;
  guint64 gathers; /* above 0: no operation, but an all-gather of so many bytes over those that share a shard */
} PlanUpdatePass;

typedef struct PlanUpdate PlanUpdate;

/* Registers the operations of one step of the recipe's optimizer. */
PlanUpdate *plan_update_new(PlanWalk *walk, const ModelOptimizer *what);
/* The same in the recipe's style, else the framework's, with norm and clipping in passes of their own if it clips. */
PlanUpdate *plan_update_usual(PlanWalk *walk, ModelOptimizerStyle usual, ModelOptimizer what);
/* Over whom an optimizer that needs whole matrices gathers them; needed where elements are shards. */
void plan_update_over(PlanUpdate *update, guint32 slot);
void plan_update_free(PlanUpdate *update);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(PlanUpdate, plan_update_free)
/* The pass that reads gradients for their norm: its row; PROGRAM_NONE where there is none. */
guint32 plan_update_norm(PlanWalk *walk, const PlanUpdate *update);
/* All other passes: the first row's index in *ret_first, returns the last. */
guint32 plan_update_run(PlanWalk *walk, const PlanUpdate *update, guint32 *ret_first);
