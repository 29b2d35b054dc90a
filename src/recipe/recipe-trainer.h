/* SPDX-License-Identifier: MIT */
/* Arguments of Hugging Face's Trainer, which other tools take too. Private to this floor.
 *
 *   .shared = &recipe_trainer_rows, .normal = recipe_fsdp_normal
 *   return recipe_trainer_finish(reading, error);
 */
#pragma once

#include "recipe-map.h"

extern const RecipeRows recipe_trainer_rows; /* and those of FSDP */

/* A flag: Liger's kernels, as the Trainer applies them. */
gboolean recipe_take_liger(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);

/* Framework, clipping and precision where no key says them. */
gboolean recipe_trainer_finish(RecipeReading *reading, GError **error);
