/* SPDX-License-Identifier: MIT */
/* The axes of parallelism that a recipe lays ranks along, as far as its framework has them. Private to this floor. */
#pragma once

#include "plan-policy.h"
#include "plan-schedule.h"

/* Reads the layout, splits its data ranks into shard groups (as parallel.shard_group says) and refuses by key what the
 * framework does not have. */
gboolean plan_axes_load(const PlanGiven *given, guint32 ranks, const char *shard_group, PlanRecipe *recipe,
                        GError **error);
/* What settings say of an axis by its key, whether or not ranks can be laid so; 0: nothing. */
guint64 plan_axes_degree(const ConfSettings *settings, const char *key);
/* Adds a line for each axis that settings give and the recipe's framework does not have. */
void plan_axes_gather(const ConfSettings *settings, const PlanRecipe *recipe, BaseErrors *errors);
/* Degrees of a rank's share of a unit; what else the framework's share is, its policy says. */
void plan_axes_share(const PlanRecipe *recipe, ModelShare *share);
/* Whether the model can be split so, and its layers spread over the stages. */
gboolean plan_axes_check(const PlanGiven *given, const PlanRecipe *recipe, GError **error);

/* The divisor nearest to a number that is none, the smaller of two. */
guint64 plan_axes_divisor(guint64 of, guint64 number);

/* The schedule that a recipe plays. */
PlanScheduleShape plan_axes_schedule(const PlanRecipe *recipe);
/* Which units each of its stages holds, as in plan-stages.h: of a recipe without a pipeline all. Caller frees; NULL and
 * an error where they cannot be spread. */
guint32 *plan_axes_bounds(const ModelShape *shape, const PlanRecipe *recipe, GError **error);
/* The pipeline rank that makes the logits. */
guint32 plan_axes_output(const ModelShape *shape, const PlanRecipe *recipe);
