/* SPDX-License-Identifier: MIT */
/* torchtitan's float8 linear layers: when they are on, and which of torchao's recipes is ours.
 *
 * Ours are one dynamic scale per tensor and one per row, the head in 16 bits, and of fp8 all-gathers the one whose
 * scales are found after the step. Versions have the options in [float8] or, since 2025, [quantize.linear.float8];
 * mxfp8 is a converter of its own. Source: torchtitan/components/quantization/float8.py, mx.py and
 * config/job_config.py; before 2025 torchtitan/float8.py, which leaves the head out by itself. */
#include "recipe-float8.h"

#include <string.h>

static const char *const sections[] = {"float8", "quantize.linear.float8"};
static const char *const options[] = {"enable_fsdp_float8_all_gather", "precompute_float8_dynamic_scale_for_fsdp",
                                      "recipe_name", "filter_fqns", "emulate"};
#define HEAD      "output"
#define LATE_HEAD "lm_head" /* its name since 2026 */

static const ConfTreeNode *option_of(const RecipeReading *reading, const char *section, const char *option) {
  g_autofree char *path = g_strdup_printf("%s.%s", section, option);
  return conf_tree_given(reading->tree, path);
}

/* The first element of a list, then the next; NULL behind the last. */
static const ConfTreeNode *element(const RecipeReading *reading, const ConfTreeNode *list, guint index) {
  g_autofree char *path = g_strdup_printf("%s.%u", list->path, index);
  return conf_tree_find(reading->tree, path);
}

static gboolean turn_on(RecipeReading *reading, const ConfTreeNode *node, GError **error) {
  return recipe_give(reading, node, "training.precision", "fp8", "float8 linear layers", error);
}

gboolean recipe_take_converters(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                GError **error) {
  const ConfTreeNode *converter;
  (void)row;
  if (node->text != NULL)
    return *node->text == '\0' || conf_tree_fail(reading->tree, node, error, "expected a list of names");
  for (guint i = 0; (converter = element(reading, node, i)) != NULL; i++) {
    const char *name = converter->text != NULL ? converter->text : "";
    gboolean mx = strcmp(name, "mx") == 0 || strcmp(name, "quantize.linear.mx") == 0;
    if (!mx && strcmp(name, "float8") != 0 && strcmp(name, "quantize.linear.float8") != 0)
      return conf_tree_fail(reading->tree, converter, error, "converter \"%s\" is not modelled; float8 and mx are",
                            name);
    if (!turn_on(reading, node, error) ||
        (mx && !recipe_give(reading, node, "training.fp8_scaling", "mxfp8", "torchao's mx linear layers", error)))
      return FALSE;
  }
  return TRUE;
}

gboolean recipe_take_float8_switch(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                   GError **error) {
  gboolean on;
  (void)row;
  return conf_tree_flag(reading->tree, node, &on, error) && (!on || turn_on(reading, node, error));
}

/* Of 2024: "", "dynamic" or "delayed". */
gboolean recipe_take_float8_scaling(RecipeReading *reading, const RecipeRow *row, const ConfTreeNode *node,
                                    GError **error) {
  (void)row;
  if (node->text == NULL || (*node->text != '\0' && strcmp(node->text, "dynamic") != 0))
    return conf_tree_fail(reading->tree, node, error, "expected \"\" or \"dynamic\"; delayed scaling is not modelled");
  return *node->text == '\0' || turn_on(reading, node, error);
}

/* Layers that stay in 16 bits: the head, and it alone. */
static gboolean check_filter(RecipeReading *reading, const ConfTreeNode *node, GError **error) {
  gboolean head = FALSE;
  const ConfTreeNode *name;
  for (guint i = 0; (name = element(reading, node, i)) != NULL; i++) {
    gboolean is_head = g_strcmp0(name->text, HEAD) == 0 || g_strcmp0(name->text, LATE_HEAD) == 0;
    head |= is_head;
    if (!is_head)
      return conf_tree_fail(reading->tree, name, error, "layers in 16 bits beside the head are not modelled");
  }
  if (head)
    recipe_leave(reading, node, "the head stays in 16 bits");
  return head || conf_tree_fail(reading->tree, node, error, "a head in fp8 is not modelled; add \"" HEAD "\"");
}

static gboolean check_gather(RecipeReading *reading, const char *section, GError **error) {
  const ConfTreeNode *gather = option_of(reading, section, options[0]),
                     *scales = option_of(reading, section, options[1]);
  gboolean on = FALSE, early = FALSE;
  if ((gather != NULL && !conf_tree_flag(reading->tree, gather, &on, error)) ||
      (scales != NULL && !conf_tree_flag(reading->tree, scales, &early, error)))
    return FALSE;
  if (on && !early)
    return conf_tree_fail(
        reading->tree, gather, error,
        "without precompute_float8_dynamic_scale_for_fsdp, with an all-reduce for each weight, it is not modelled");
  if (scales != NULL)
    recipe_leave(reading, scales, on ? "goes with the fp8 all-gather" : "of the fp8 all-gather, which is not on");
  return gather == NULL || recipe_give(reading, gather, "fsdp.float8_all_gather", on ? "yes" : "no", NULL, error);
}

gboolean recipe_float8_section(RecipeReading *reading, const char *section, GError **error) {
  const ConfTreeNode *name = option_of(reading, section, "recipe_name"),
                     *filter = option_of(reading, section, "filter_fqns"),
                     *emulate = option_of(reading, section, "emulate");
  gboolean emulates = FALSE;
  gboolean rows = name != NULL && g_strcmp0(name->text, "rowwise") == 0;
  if (name != NULL && !rows && g_strcmp0(name->text, "tensorwise") != 0)
    return conf_tree_fail(reading->tree, name, error, "\"%s\" is not modelled; tensorwise and rowwise are",
                          name->text != NULL ? name->text : "");
  if (name != NULL && !recipe_give(reading, name, "training.fp8_scaling", rows ? "rowwise" : "tensorwise", NULL, error))
    return FALSE;
  if (emulate != NULL && (!conf_tree_flag(reading->tree, emulate, &emulates, error) || emulates))
    return emulates && conf_tree_fail(reading->tree, emulate, error, "emulated fp8 is not modelled");
  if (filter != NULL && !check_filter(reading, filter, error))
    return FALSE;
  return check_gather(reading, section, error);
}

gboolean recipe_float8_finish(RecipeReading *reading, GError **error) {
  gboolean on = recipe_gives(reading, "training.precision", "fp8");
  for (gsize s = 0; s < G_N_ELEMENTS(sections); s++) {
    if (on && !recipe_float8_section(reading, sections[s], error))
      return FALSE;
    for (gsize o = 0; o < G_N_ELEMENTS(options) && !on; o++) {
      const ConfTreeNode *node = option_of(reading, sections[s], options[o]);
      if (node != NULL)
        recipe_leave(reading, node, "of fp8, which model.converters would switch on");
    }
  }
  return TRUE;
}
