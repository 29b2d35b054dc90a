/* SPDX-License-Identifier: MIT */
/* Our settings as the recipe file of another tool, with comments on what it cannot say.
 *
 *   RecipeExport what = {RECIPE_EXPORT_DEEPSPEED, settings, blank, facts, gpus_per_node, nodes};
 *   if (!recipe_export(&what, text, error)) return FALSE;
 *
 * What is written is read back by the tool's own table and compared with the settings, so that a comment names every
 * one that the file does not say, or that the tool would take otherwise. A workload of these and of `[parallel] recipe`
 * is the same step. */
#pragma once

#include "recipe.h"

typedef enum {
  RECIPE_EXPORT_DEEPSPEED,
  RECIPE_EXPORT_ACCELERATE,
  RECIPE_EXPORT_TRAINER,
  RECIPE_EXPORT_TORCHTITAN,
  RECIPE_EXPORT_MEGATRON
} RecipeExportTool;
extern const char *const recipe_export_names[]; /* "deepspeed", … */
/* What its file's name ends in: ".json". */
const char *recipe_export_ending(int tool);

typedef struct {
  int tool;                     /* RecipeExportTool */
  const ConfSettings *settings; /* with what a recipe of their own gives, and the model's shape */
  const ConfSettings *blank;    /* the same keys, defaults alone */
  RecipeFacts facts;
  guint64 nodes, gpus_per_node;
} RecipeExport;

/* Appends. Errors: SIM_ERROR_INPUT, a framework that the tool does not run. */
gboolean recipe_export(const RecipeExport *what, GString *text, GError **error);
