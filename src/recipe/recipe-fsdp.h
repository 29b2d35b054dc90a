/* SPDX-License-Identifier: MIT */
/* What the tools around PyTorch's FSDP share. Private to this floor.
 *
 *   .shared = &recipe_fsdp_rows, .normal = recipe_fsdp_normal
 *   return recipe_fsdp_finish(reading, "none", "pre", error);
 */
#pragma once

#include "recipe-map.h"

/* Whether fsdp_version is 2. */
gboolean recipe_fsdp_second(const RecipeReading *reading);
/* "fsdp_config.fsdp_x" is "fsdp_config.x". Caller frees. */
char *recipe_fsdp_normal(const char *path);
/* Framework, stage and what the tool does where no key says it. */
gboolean recipe_fsdp_finish(RecipeReading *reading, const char *wrap, const char *prefetch, GError **error);

gboolean recipe_take_first_flag(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
gboolean recipe_take_backward_prefetch(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
gboolean recipe_take_forward_prefetch(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
gboolean recipe_take_fsdp_words(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
gboolean recipe_take_fsdp_offload(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
