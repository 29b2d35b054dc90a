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

/* Notes that parameters are loaded in 16 bits, which only DDP leaves them: under FSDP accelerate makes those that are
 * trained fp32, and DeepSpeed keeps its own. After precision and framework are noted. node may be NULL. */
gboolean recipe_give_half(RecipeReading *reading, const ConfTreeNode *node, const char *remark, GError **error);

/* Framework, clipping and precision where no key says them. */
gboolean recipe_trainer_finish(RecipeReading *reading, GError **error);
