/* SPDX-License-Identifier: MIT */
/* Recipes of a text or of tests/data/recipe, and what they became, as one line. */
#pragma once

#include "harness.h"
#include "recipe.h"

/* Reads `text` as a file of that name. */
Recipe *recipe_of_text(const char *name, const char *text, GError **error);

Recipe *recipe_of_data(const char *name);

/* Value of a setting: "?" where it waits, NULL where the recipe does not say it. */
const char *recipe_value(const Recipe *recipe, const char *setting);

const char *recipe_reason(const Recipe *recipe, const char *key);

gboolean recipe_reason_has(const Recipe *recipe, const char *key, const char *words);

#define RECIPE_SAYS(recipe, setting, expected)                                                                         \
  do {                                                                                                                 \
    const char *says_ = recipe_value((recipe), (setting));                                                             \
    if (g_strcmp0(says_, (expected)) != 0)                                                                             \
      printf("\n    %s is %s\n", (setting), says_ != NULL ? says_ : "not said");                                       \
    CU_ASSERT_TRUE(g_strcmp0(says_, (expected)) == 0);                                                                 \
  } while (0)
