/* Recipes of a text or of tests/data/recipe, and what they became, as one line. */
#pragma once

#include <glib/gstdio.h>
#include <string.h>

#include "harness.h"
#include "recipe.h"

/* Reads `text` as a file of that name. */
static inline Recipe *recipe_of_text(const char *name, const char *text, GError **error) {
  g_autofree char *folder = g_dir_make_tmp("foretrain-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, name, NULL);
  g_file_set_contents(path, text, -1, NULL);
  Recipe *recipe = recipe_load(path, error);
  g_remove(path);
  g_rmdir(folder);
  return recipe;
}

static inline Recipe *recipe_of_data(const char *name) {
  g_autofree char *relative = g_build_filename("tests/data/recipe", name, NULL);
  g_autofree char *path = harness_path(relative);
  g_autoptr(GError) error = NULL;
  Recipe *recipe = recipe_load(path, &error);
  if (recipe == NULL)
    printf("\n    %s\n", error->message);
  return recipe;
}

/* Value of a setting: "?" where it waits, NULL where the recipe does not say it. */
static inline const char *recipe_value(const Recipe *recipe, const char *setting) {
  for (guint i = 0; i < recipe->taken->len; i++) {
    const RecipeTaken *taken = g_ptr_array_index(recipe->taken, i);
    if (strcmp(taken->setting, setting) == 0)
      return taken->value != NULL ? taken->value : "?";
  }
  return NULL;
}

static inline const char *recipe_reason(const Recipe *recipe, const char *key) {
  for (guint i = 0; i < recipe->left->len; i++) {
    const RecipeLeft *left = g_ptr_array_index(recipe->left, i);
    if (strcmp(left->key, key) == 0)
      return left->reason;
  }
  return NULL;
}

#define RECIPE_SAYS(recipe, setting, expected)                                                                         \
  do {                                                                                                                 \
    const char *says_ = recipe_value((recipe), (setting));                                                             \
    if (g_strcmp0(says_, (expected)) != 0)                                                                             \
      printf("\n    %s is %s\n", (setting), says_ != NULL ? says_ : "not said");                                       \
    CU_ASSERT_TRUE(g_strcmp0(says_, (expected)) == 0);                                                                 \
  } while (0)
