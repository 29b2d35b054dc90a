/* SPDX-License-Identifier: MIT */
/* Exporters of single tools, each in a file of its own, and what they share. Private to this floor. */
#pragma once

#include "recipe-export.h"
#include "recipe-out.h"

void recipe_export_deepspeed(const RecipeExport *what, RecipeOut *out);
void recipe_export_accelerate(const RecipeExport *what, RecipeOut *out);
void recipe_export_trainer(const RecipeExport *what, RecipeOut *out);
void recipe_export_torchtitan(const RecipeExport *what, RecipeOut *out);
void recipe_export_megatron(const RecipeExport *what, RecipeOut *out);

/* fsdp_config of accelerate and of the Trainer, whose keys begin with `prefix`. */
void recipe_export_fsdp(RecipeOut *out, const char *prefix);
