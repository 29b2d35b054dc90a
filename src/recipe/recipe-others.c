/* SPDX-License-Identifier: MIT */
/* Files that people will try, of tools whose recipes are known and not read: better told by name than key by key. */
#include "recipe-map.h"

static const char *const factory_marks[] = {"model_class", "dist_config", NULL};
const RecipeTable recipe_llama_factory_v1 = {
    .tool = "LLaMA-Factory's new trainer (v1)",
    .marks = factory_marks,
    .refused = "its keys are not those of LLaMA-Factory's files so far; write them as such (finetuning_type, "
               "per_device_train_batch_size, deepspeed or fsdp_config), or a workload"};

static const char *const nanotron_marks[] = {"general.project", "model.ddp_bucket_cap_mb", "parallelism.pp_engine",
                                             NULL};
const RecipeTable recipe_nanotron = {
    .tool = "nanotron",
    .marks = nanotron_marks,
    .refused = "its keys are not read; write a workload with framework = nanotron, which is its schedule"};

static const char *const generation_marks[] = {"enable_kv_cache", NULL};
const RecipeTable recipe_generation = {.tool = "torchtune's generation or evaluation",
                                       .marks = generation_marks,
                                       .refused = "it trains nothing, so it has no step"};

static const char *const grpo_marks[] = {"grpo_samples", "ppo_epochs", "reward_and_value_model", NULL};
const RecipeTable recipe_reinforcement = {
    .tool = "torchtune's reinforcement learning",
    .marks = grpo_marks,
    .refused = "it runs several models and generates text, which is not modelled; its supervised recipes are read"};
