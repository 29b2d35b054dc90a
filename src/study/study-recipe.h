/* Another tool's recipe as a workload file.
 *
 *   g_autoptr(GString) text = g_string_new(NULL);
 *   if (!study_import_recipe("ds_config.json", "models/llama-2-7b.json", text, error)) return FALSE;
 */
#pragma once

#include <glib.h>

/* `model`: a Hugging Face config.json, for values that depend on it; NULL: none, and such values are errors
 * (SIM_ERROR_INPUT at their key). Appends. */
gboolean study_import_recipe(const char *path, const char *model, GString *text, GError **error);
