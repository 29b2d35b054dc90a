/* SPDX-License-Identifier: MIT */
/* Another tool's recipe, explained, and as a workload file.
 *
 *   g_autoptr(GString) text = g_string_new(NULL);
 *   if (!study_import_recipe("ds_config.json", "models/llama-2-7b.json", text, error)) return FALSE;
 */
#pragma once

#include "study.h"

/* What became of each key of the recipe that the study's settings name; nothing where they name none. Appends. Errors:
 * SIM_ERROR_INPUT, as those of a run. */
gboolean study_print_recipe(const Study *study, GString *text, GError **error);

/* `model`: a Hugging Face config.json, for values that depend on it; NULL: none, and such values are errors
 * (SIM_ERROR_INPUT at their key). Appends. */
gboolean study_import_recipe(const char *path, const char *model, GString *text, GError **error);

/* What the study's settings give beyond defaults, as the file of a workload. Files that they name are named from
 * `folder`, where it is to lie. What only a topology may say stands there as a comment. Appends. Errors: a path that is
 * no text. */
gboolean study_print_workload(const Study *study, const char *folder, GString *text, GError **error);

/* The step's recipe as the file of another tool (RecipeExportTool), recipe-export.h. Appends. Errors: SIM_ERROR_INPUT,
 * as those of a run, and a framework that the tool does not run. */
gboolean study_export(const Study *study, int tool, GString *text, GError **error);
