/* SPDX-License-Identifier: MIT */
/* torchtitan's axes of parallelism and the batch they share, which several of its keys say together. Private to this
 * floor. */
#pragma once

#include "recipe-map.h"

/* After the rows were read: takes or leaves each key that they left for later. */
gboolean recipe_torchtitan_axes(RecipeReading *reading, GError **error);

/* Batches that a Python file counts in tokens, once it has such a key. Errors: no whole sequences. */
gboolean recipe_torchtitan_tokens(RecipeReading *reading, gboolean pipeline, GError **error);

extern const RecipeRows recipe_torchtitan_rows; /* of its TOML files */

static inline gboolean recipe_torchtitan_is_python(const RecipeReading *reading) {
  return conf_tree_root_call(reading->tree) != NULL;
}

static inline gboolean recipe_torchtitan_has(const RecipeReading *reading, const char *path) {
  return conf_tree_given(reading->tree, path) != NULL;
}

/* By keys that came with [parallelism], at the end of 2024, or after: a file of FSDP alone may leave the block out. */
static inline gboolean recipe_torchtitan_is_late(const RecipeReading *reading) {
  return recipe_torchtitan_has(reading, "parallelism") || recipe_torchtitan_has(reading, "compile") ||
         recipe_torchtitan_has(reading, "training.local_batch_size");
}
