/* SPDX-License-Identifier: MIT */
/* From a model, a recipe and a ZeRO stage to a Program. Knows layers and collectives; never link speeds or simulated
 * time.
 *
 *   g_autoptr(Program) program = plan_program(&shape, &model_recipe, &recipe);
 */
#pragma once

#include "model-recipe.h"
#include "model-shape.h"
#include "plan-recipe.h"
#include "program.h"

/* A role for each pipeline rank. Cost: O(rows) = layers × operations × micro-batches, twice (first and steady); once
 * where the framework says that its steps issue the same rows: those of the first are repeated. */
Program *plan_program(const ModelShape *shape, const ModelRecipe *model_recipe, const PlanRecipe *recipe);
/* The same, both sections walked: the plain twin. */
Program *plan_program_of_all(const ModelShape *shape, const ModelRecipe *model_recipe, const PlanRecipe *recipe);
/* What a rank holds that not all ranks do: "stage 1: layers 8-15", "stage 0: embedding, layers 0-1, 4-5"; NULL: all
 * hold the same. `rank`: of the recipe's layout. Caller frees. */
char *plan_rank_text(const ModelShape *shape, const PlanRecipe *recipe, guint32 rank);

/* How many units the model is spread in: it may be cut within its head. */
guint32 plan_units(const ModelShape *shape, const PlanRecipe *recipe);
/* The units that a pipeline rank's chunk holds, numbered as model_unit_kind_among does: from `first` to before `end`.
 * FALSE: they cannot be spread. */
gboolean plan_chunk_units(const ModelShape *shape, const PlanRecipe *recipe, guint32 at, guint32 chunk,
                          guint32 *ret_first, guint32 *ret_end);
/* Whether its schedule makes gradients of weights apart from those of inputs. */
gboolean plan_splits_backward(const PlanRecipe *recipe);
/* Host memory that a rank's offload keeps: states, without buffers and what loading takes. 0: none. */
guint64 plan_host_bytes(const ModelShape *shape, const ModelRecipe *model_recipe, const PlanRecipe *recipe);
/* Adds lines about what the framework's policy assumes and resolved; the array frees them. */
void plan_notes(const PlanRecipe *recipe, GPtrArray *notes);
