/* SPDX-License-Identifier: MIT */
/* A model's config.json as a fuzz target, read as far as a study reads it before it looks at anything else: the shape,
 * whether it can be trained, its counts, and one unit of each kind. Without a study (target "model-study"), which reads
 * topologies and tables of kernels every time, so that libFuzzer tries a hundred times as many. */
#include "base-error.h"
#include "fuzz.h"
#include "model-recipe.h"
#include "model-unit.h"

/* Units of the shape as one rank computes them: those at either end, where kinds change, and one in the middle. */
static void make_units(const ModelShape *shape, const ModelRecipe *recipe) {
  guint64 units = model_units_of(shape, FALSE);
  const guint64 some[] = {0, 1, 2, 3, units / 2, units - 3, units - 2, units - 1};
  for (gsize i = 0; i < G_N_ELEMENTS(some); i++) {
    if (some[i] >= units)
      continue;
    ModelUnit *unit = model_unit_new(shape, recipe, 1, model_unit_kind_of(shape, some[i]));
    for (guint tensor = 0; tensor < unit->n_tensors; tensor++)
      sim_require(unit->tensors[tensor].bytes <= MODEL_TENSOR_MOST, 0, NULL, "a tensor beyond all devices");
    model_unit_free(unit);
  }
}

static gboolean read_model(ConfSettings *settings, const char *path, ModelShape *shape, GError **error) {
  g_autofree char *assignment = g_strconcat("model.config=", path, NULL);
  ModelRecipe recipe;
  if (!conf_settings_set(settings, "training.sequence_length=128", error) ||
      !conf_settings_set(settings, assignment, error) || !model_shape_load(settings, shape, error))
    return FALSE;
  guint64 parameters = model_shape_parameters(shape), active = model_shape_active_parameters(shape);
  sim_require(active <= parameters, 0, NULL, "more parameters work than there are");
  if (!model_shape_record(shape, settings, error) || !model_recipe_load(settings, &recipe, error))
    return FALSE;
  model_recipe_settle(shape, settings, &recipe);
  if (!model_recipe_check(shape, &recipe, settings, error) || !model_share_check(shape, &recipe, settings, error) ||
      !model_unit_check(shape, &recipe, settings, error))
    return FALSE;
  make_units(shape, &recipe);
  return TRUE;
}

void fuzz_model(const char *path) {
  const ConfSchema schemas[] = {model_shape_schema, model_recipe_schema};
  g_autoptr(ConfSettings) settings = conf_settings_new(schemas, G_N_ELEMENTS(schemas));
  GError *error = NULL;
  ModelShape shape = {0};
  gboolean good = read_model(settings, path, &shape, &error);
  fuzz_judge(good, error);
  model_shape_clear(&shape);
}
