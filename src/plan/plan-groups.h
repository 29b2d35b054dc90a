/* SPDX-License-Identifier: MIT */
/* Communicators over the layout: slots in which ranks that differ along some axes stand together.
 *
 *   data           all ranks that hold the same parameters: data ranks, and context ranks, which see other tokens
 *   side by side   of a data group, those that share one copy of what is sharded; alike: that hold the same shard of it
 *
 *   ranks 0 … 7, size 4:   side by side {0 1 2 3} {4 5 6 7}     alike {0 4} {1 5} {2 6} {3 7}
 *
 * Roles share a slot by its name. A recipe without a layout (of no ranks) is data parallelism alone. Private to this
 * floor. */
#pragma once

#include "plan-recipe.h"
#include "program.h"

/* Of the recipe. */
Layout plan_groups_layout(const PlanRecipe *recipe);

/* Nodes that the ranks which share experts stand in; 1 where a node's part of them is not the same in each. */
guint32 plan_groups_expert_nodes(const PlanRecipe *recipe);
/* Of these ranks, those of one node (`near`), or those of one place in each. */
guint32 plan_groups_experts(ProgramBuilder *builder, const PlanRecipe *recipe, gboolean near);

/* Of axes. */
guint32 plan_groups_of(ProgramBuilder *builder, const char *name, const PlanRecipe *recipe, LayoutSet set);
/* "data-parallel" */
guint32 plan_groups_everyone(ProgramBuilder *builder, const PlanRecipe *recipe);
guint32 plan_groups_beside(ProgramBuilder *builder, const char *name, const PlanRecipe *recipe, guint32 size);
guint32 plan_groups_alike(ProgramBuilder *builder, const char *name, const PlanRecipe *recipe, guint32 size);
/* Two pipeline ranks of the same tensor, context and data place: that of a stage, and that of the stage after. */
guint32 plan_groups_pair(ProgramBuilder *builder, const char *name, const PlanRecipe *recipe, guint32 before,
                         guint32 after);
/* The first pipeline rank and the one that makes logits, of the same other places. */
guint32 plan_groups_tied(ProgramBuilder *builder, const PlanRecipe *recipe, guint32 output);
/* All ranks of one copy of the model: tensor and pipeline, over which a norm is summed. */
guint32 plan_groups_model(ProgramBuilder *builder, const PlanRecipe *recipe);
