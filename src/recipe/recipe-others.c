/* SPDX-License-Identifier: MIT */
/* Files that people will try, of tools whose recipes are known and not read: better told by name than key by key. */
#include "recipe-map.h"

static const char *const factory_marks[] = {"model_class", "dist_config", NULL};
const RecipeTable recipe_llama_factory_v1 = {
    .tool = "LLaMA-Factory's new trainer (v1)",
    .marks = factory_marks,
    .refused = "its keys are not those of LLaMA-Factory's files so far; write them as such (finetuning_type, "
               "per_device_train_batch_size, deepspeed or fsdp_config), or a workload"};
