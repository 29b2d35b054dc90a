/* SPDX-License-Identifier: MIT */
/* Adapters by the names that Hugging Face's peft gives its tools. Private to this floor.
 *
 *   const RecipeLora lora = {"lora_r", 8, "lora_target_modules", "lora_target_linear", NULL, NULL};
 *   return recipe_give_lora(reading, &lora, error);
 */
#pragma once

#include "recipe-map.h"

typedef struct {
  const char *rank; /* path of their rank */
  guint usual_rank; /* the tool's where nothing says it */
  const char *targets;
  const char *linear;        /* path of a flag: all linear layers; NULL: the tool has none */
  const char *usual;         /* layers where nothing says them; NULL: peft's choice, queries and values */
  const char *usual_dropout; /* the tool's where lora_dropout does not say it; NULL: none */
} RecipeLora;

/* Paths of bitsandbytes' switches; NULL: the tool has none. */
typedef struct {
  const char *on;    /* weights in 4 bits */
  const char *eight; /* in 8 */
  const char *twice; /* their maxima in 8 bits */
  gboolean usual;    /* whether they are where nothing says it */
  const char *kind;  /* nf4, fp4 */
} RecipeBase;

/* Notes training.base_weights where weights in 4 or 8 bits are on. Errors: they are fp4. */
gboolean recipe_give_base(RecipeReading *reading, const RecipeBase *base, GError **error);

/* Notes training.lora_dropout, from the key `path` or, where nothing says it, as `usual` (NULL: none). */
gboolean recipe_give_lora_dropout(RecipeReading *reading, const char *path, const char *usual, GError **error);
/* Notes training.trainable and training.lora_dropout. Errors: targets by a pattern, a rank that is no number. */
gboolean recipe_give_lora(RecipeReading *reading, const RecipeLora *lora, GError **error);
