/* SPDX-License-Identifier: MIT */
/* torchtitan's axes of parallelism and the batch they share, which several of its keys say together. Private to this
 * floor. */
#pragma once

#include "recipe-map.h"

/* After the rows were read: takes or leaves each key that they left for later. */
gboolean recipe_torchtitan_axes(RecipeReading *reading, GError **error);

static inline gboolean recipe_torchtitan_has(const RecipeReading *reading, const char *path) {
  return conf_tree_given(reading->tree, path) != NULL;
}
