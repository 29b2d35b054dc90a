/* SPDX-License-Identifier: MIT */
/* Recipes of a text or of a data file, and what was taken from them. */
#include "recipe-harness.h"

#include <glib/gstdio.h>
#include <string.h>

Recipe *recipe_of_text(const char *name, const char *text, GError **error) {
  g_autofree char *folder = g_dir_make_tmp("foretrain-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, name, NULL);
  g_file_set_contents(path, text, -1, NULL);
  Recipe *recipe = recipe_load(path, error);
  g_remove(path);
  g_rmdir(folder);
  return recipe;
}

Recipe *recipe_of_data(const char *name) {
  g_autofree char *relative = g_build_filename("tests/data/recipe", name, NULL);
  g_autofree char *path = harness_path(relative);
  g_autoptr(GError) error = NULL;
  Recipe *recipe = recipe_load(path, &error);
  if (recipe == NULL)
    printf("\n    %s\n", error->message);
  return recipe;
}

const char *recipe_value(const Recipe *recipe, const char *setting) {
  for (guint i = 0; i < recipe->taken->len; i++) {
    const RecipeTaken *taken = g_ptr_array_index(recipe->taken, i);
    if (strcmp(taken->setting, setting) == 0)
      return taken->value != NULL ? taken->value : "?";
  }
  return NULL;
}

const char *recipe_reason(const Recipe *recipe, const char *key) {
  for (guint i = 0; i < recipe->left->len; i++) {
    const RecipeLeft *left = g_ptr_array_index(recipe->left, i);
    if (strcmp(left->key, key) == 0)
      return left->reason;
  }
  return NULL;
}

gboolean recipe_reason_has(const Recipe *recipe, const char *key, const char *words) {
  const char *reason = recipe_reason(recipe, key);
  return reason != NULL && strstr(reason, words) != NULL;
}
