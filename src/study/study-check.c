/* SPDX-License-Identifier: MIT */
/* The files that settings name, looked at though the settings are at fault, so that all is told at once. */
#include <string.h>

#include "study-walk.h"

/* Whether a key that begins so is at fault already (every message names its key): what is read by it would only tell
 * the consequence. */
static gboolean is_at_fault(const BaseErrors *errors, const char *key) {
  g_autofree char *named = g_strconcat(": ", key, NULL);
  return errors->text != NULL && strstr(errors->text->str, named) != NULL;
}

void study_check_files(const Study *study, BaseErrors *errors) {
  gboolean recipe = !is_at_fault(errors, "parallel.recipe"), model = !is_at_fault(errors, "model."),
           machine = !is_at_fault(errors, "cluster.") && !is_at_fault(errors, "node.");
  StudyWalk walk = {.settings = conf_settings_copy(study->settings)};
  GError *cause = NULL;
  study_walk_need_cache(&walk);
  const HwCatalog *catalog = study_cache_catalog(walk.cache, &cause);
  base_errors_add(errors, g_steal_pointer(&cause));
  if (catalog != NULL && recipe)
    walk.tool_recipe = study_recipe_apply(walk.settings, catalog, errors);
  if (catalog != NULL && machine && study_cache_machine(walk.cache, walk.settings, &cause) == NULL)
    base_errors_add(errors, g_steal_pointer(&cause));
  if (model && study_cache_model(walk.cache, walk.settings, &cause) == NULL)
    base_errors_add(errors, g_steal_pointer(&cause));
  study_walk_clear(&walk);
}
