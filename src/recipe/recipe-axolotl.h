/* SPDX-License-Identifier: MIT */
/* What axolotl's two tables of keys share. Private to this floor.
 *
 *   .shared = &recipe_axolotl_rest */
#pragma once

#include "recipe-map.h"

extern const RecipeRows recipe_axolotl_rest; /* and those of the Trainer */
