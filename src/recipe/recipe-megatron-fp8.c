/* SPDX-License-Identifier: MIT */
/* Megatron-LM's fp8: --fp8-format switches it on beside --bf16, the others say how. Source:
 * megatron/training/arguments.py and core/transformer/transformer_config.py (fp8_recipe), core 0.12 to 0.15. */
#include <string.h>

#include "recipe-megatron.h"

#define SWITCH "--fp8-format"

static gboolean is_on(const RecipeReading *reading) {
  return conf_tree_given(reading->tree, SWITCH) != NULL;
}

gboolean recipe_megatron_take_bf16(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                   GError **error) {
  gboolean on = is_on(reading);
  return recipe_megatron_check_switch(reading, node, error) &&
         recipe_give(reading, node, row->setting, on ? "fp8" : "bf16", on ? "with " SWITCH : NULL, error);
}

gboolean recipe_megatron_take_fp8(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                  GError **error) {
  static const char *const formats[] = {"hybrid", "e4m3", NULL};
  (void)row;
  if (node->text == NULL || !g_strv_contains(formats, node->text))
    return conf_tree_fail(reading->tree, node, error, "expected hybrid or e4m3");
  if (conf_tree_given(reading->tree, "--bf16") == NULL)
    return conf_tree_fail(reading->tree, node, error, "beside what is not fp8 it needs --bf16 here");
  recipe_leave(reading, node, "linear layers multiply in fp8; of which format their gradients are costs nothing");
  return TRUE;
}

gboolean recipe_megatron_take_fp8_recipe(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                         GError **error) {
  static const char *const scalings[] = {"delayed", "tensorwise", "mxfp8", NULL};
  if (!is_on(reading)) {
    recipe_leave(reading, node, "of fp8, which " SWITCH " switches on");
    return TRUE;
  }
  if (node->text == NULL || !g_strv_contains(scalings, node->text))
    return conf_tree_fail(reading->tree, node, error, "\"%s\" is not modelled; delayed, tensorwise and mxfp8 are",
                          node->text != NULL ? node->text : "");
  return recipe_give(reading, node, row->setting, node->text, NULL, error);
}

gboolean recipe_megatron_take_fp8_flag(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                       GError **error) {
  if (!recipe_megatron_check_switch(reading, node, error))
    return FALSE;
  if (is_on(reading))
    return recipe_give(reading, node, row->setting, "yes", NULL, error);
  recipe_leave(reading, node, "of fp8, which " SWITCH " switches on");
  return TRUE;
}
