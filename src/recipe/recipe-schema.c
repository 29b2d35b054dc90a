/* SPDX-License-Identifier: MIT */
/* [parallel] recipe. */
#include "recipe.h"

static const BaseField keys[] = {
    BASE_ROW("parallel", "recipe", BASE_PATH, RecipeKeys, file,
             .help = "another tool's file, below the keys of this one: DeepSpeed's JSON, accelerate, Trainer, "
                     "torchtitan, llm-foundry, axolotl, LLaMA-Factory, TRL, torchtune, GPT-NeoX, NeMo, Megatron-LM"),
};
const ConfSchema recipe_schema = {keys, G_N_ELEMENTS(keys)};
