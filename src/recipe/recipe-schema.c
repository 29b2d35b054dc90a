/* [parallel] recipe. */
#include "recipe.h"

static const ConfKey keys[] = {
    {.group = "parallel",
     .key = "recipe",
     .kind = CONF_PATH,
     .offset = G_STRUCT_OFFSET(RecipeKeys, file),
     .help = "another tool's file, below the keys of this one: DeepSpeed's JSON, accelerate, Trainer, torchtitan, "
             "llm-foundry, axolotl"},
};
const ConfSchema recipe_schema = {keys, G_N_ELEMENTS(keys)};
