/* SPDX-License-Identifier: MIT */
/* Megatron-LM's arguments that change no step, and those that are not modelled, for its table. Private to this
 * floor. */
#pragma once

#include "recipe-map.h"

extern const RecipeRows recipe_megatron_rest;

/* Of what is there or not. Errors: a value follows it. */
gboolean recipe_megatron_check_switch(const RecipeReading *reading, const ConfTreeNode *node, GError **error);
/* Full recompute of the first layers of each stage: their share of all, of which more than 1 is all. */
gboolean recipe_megatron_give_blocks(RecipeReading *reading, const ConfTreeNode *node, double share, GError **error);

/* Arguments of fp8, and --bf16, which is beside it. */
gboolean recipe_megatron_take_bf16(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
gboolean recipe_megatron_take_fp8(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
gboolean recipe_megatron_take_fp8_recipe(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
gboolean recipe_megatron_take_fp8_flag(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
