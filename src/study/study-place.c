/* SPDX-License-Identifier: MIT */
/* Where a point's settings stand: by themselves, in its workload, in the recipe that one of them names. */
#include "study-walk.h"

gboolean study_point_place(StudyPoint *point, const Study *study, const char *name, char **ret_file, guint *ret_line) {
  g_autoptr(ConfSettings) settings = conf_settings_copy(study->settings);
  study_point_lay(point, settings);
  g_autoptr(HwCatalog) catalog = hw_catalog_load(NULL);
  BaseErrors errors = {0};
  GError *ignored = NULL;
  Recipe *recipe = catalog != NULL ? study_recipe_apply(settings, catalog, &errors) : NULL;
  recipe_free(recipe);
  base_errors_end(&errors, &ignored);
  g_clear_error(&ignored);
  if (!conf_settings_knows(settings, name) || !conf_settings_given(settings, name))
    return FALSE;
  BasePlace place;
  conf_settings_place(settings, name, &place);
  if (place.file == NULL || place.line == 0)
    return FALSE;
  *ret_file = g_strdup(place.file);
  *ret_line = place.line;
  return TRUE;
}
