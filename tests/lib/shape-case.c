/* SPDX-License-Identifier: MIT */
/* A config.json in a folder of its own, read and gone. */
#include "shape-case.h"

#include <glib/gstdio.h>

#include "harness.h"
#include "model-recipe.h"

ConfSettings *shape_case_settings(const char *const *assignments) {
  const ConfSchema schemas[] = {model_shape_schema, model_recipe_schema};
  ConfSettings *settings = conf_settings_new(schemas, G_N_ELEMENTS(schemas));
  for (; assignments != NULL && *assignments != NULL; assignments++) {
    GError *error = NULL;
    if (!conf_settings_set(settings, *assignments, &error)) {
      printf("\n    %s\n", error->message);
      CU_FAIL("a setting that should be taken");
      g_clear_error(&error);
    }
  }
  return settings;
}

gboolean shape_case_try(const char *text, const char *const *assignments, ModelShape *ret, GError **error) {
  g_autofree char *json = g_strdelimit(g_strdup(text), "'", '"');
  g_autofree char *folder = g_dir_make_tmp("foretrain-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "some-model.json", NULL);
  CU_ASSERT_TRUE(g_file_set_contents(path, json, -1, NULL));
  g_autoptr(ConfSettings) settings = shape_case_settings(assignments);
  g_autofree char *config = g_strconcat("model.config=", path, NULL);
  CU_ASSERT_TRUE(conf_settings_set(settings, config, NULL));
  gboolean loaded = model_shape_load(settings, ret, error);
  g_unlink(path);
  g_rmdir(folder);
  return loaded;
}

ModelShape shape_case_load(const char *text, const char *const *assignments) {
  ModelShape shape = {0};
  GError *error = NULL;
  if (!shape_case_try(text, assignments, &shape, &error)) {
    printf("\n    %s\n", error->message);
    CU_FAIL("a config.json that should be taken");
    g_clear_error(&error);
  }
  return shape;
}
