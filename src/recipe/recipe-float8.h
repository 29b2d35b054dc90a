/* SPDX-License-Identifier: MIT */
/* torchtitan's float8, for its table. Private to this floor.
 *
 *   TAKE("model.converters", NULL, recipe_take_converters, NULL), RECIPE_FLOAT8_ROWS("float8"),
 *   … in finish: if (!recipe_float8_finish(reading, error)) return FALSE;
 */
#pragma once

#include "recipe-map.h"

gboolean recipe_take_converters(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
gboolean recipe_take_float8_switch(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
gboolean recipe_take_float8_scaling(RecipeReading *, const RecipeRow *, const ConfTreeNode *, GError **error);
/* What follows from the section's options, once all keys are read. Errors: another of torchao's recipes. */
gboolean recipe_float8_finish(RecipeReading *reading, GError **error);

/* The same for the options at one path, where fp8 is on. */
gboolean recipe_float8_section(RecipeReading *reading, const char *section, GError **error);

/* Options that the above reads; the rest of the section. */
#define RECIPE_FLOAT8_LATER(path)                                                                                      \
  { path, RECIPE_TAKE, NULL, recipe_take_later, NULL, NULL }
#define RECIPE_FLOAT8_ROWS(section)                                                                                    \
  RECIPE_FLOAT8_LATER(section ".enable_fsdp_float8_all_gather"),                                                       \
      RECIPE_FLOAT8_LATER(section ".precompute_float8_dynamic_scale_for_fsdp"),                                        \
      RECIPE_FLOAT8_LATER(section ".recipe_name"), RECIPE_FLOAT8_LATER(section ".filter_fqns"),                        \
      RECIPE_FLOAT8_LATER(section ".emulate"), {                                                                       \
    section ".*", RECIPE_SAFE, NULL, NULL, NULL, "of fp8: weights are cast anew for backward, whatever it says"        \
  }
