/* SPDX-License-Identifier: MIT */
/* Megatron-LM's arguments that change no step, and those that are not modelled, for its table. Private to this
 * floor. */
#pragma once

#include "recipe-map.h"

extern const RecipeRows recipe_megatron_rest;
