/* SPDX-License-Identifier: MIT */
/* Megatron-LM's arguments that change no step, and those that are not modelled, for its table. Private to this
 * floor. */
#pragma once

#include "recipe-map.h"

extern const RecipeRows recipe_megatron_rest;

/* Arguments of fp8, and --bf16, which is beside it. */
gboolean recipe_megatron_take_bf16(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
gboolean recipe_megatron_take_fp8(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
gboolean recipe_megatron_take_fp8_recipe(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
gboolean recipe_megatron_take_fp8_flag(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
