/* SPDX-License-Identifier: MIT */
/* Packed and padded samples: their length as attention sees it, and checks of the keys. */
#include "model-samples.h"

#include <math.h>

static double longest_of(const ModelRecipe *recipe) {
  return (double)(recipe->sample_longest > 0 ? recipe->sample_longest : recipe->sequence_length);
}

double model_samples_length(const ModelRecipe *recipe) {
  double mean = (double)recipe->sample_mean, longest = longest_of(recipe);
  if (recipe->packing == MODEL_PACKING_FULL)
    return (double)recipe->sequence_length;
  return floor(2 * mean * longest / (mean + longest) + 0.5);
}

double model_samples_share(const ModelRecipe *recipe) {
  return recipe->packing == MODEL_PACKING_PADDED ? (double)recipe->sample_mean / (double)recipe->sequence_length : 1;
}

static gboolean check_lengths(const ModelRecipe *recipe, const ConfSettings *settings, GError **error) {
  if (recipe->sample_mean == 0)
    return conf_settings_fail(settings, "training.sample_mean", error,
                              "is required where training.packing is not full: tokens of a sample, on average");
  if (recipe->sample_longest > recipe->sequence_length)
    return conf_settings_fail(settings, "training.sample_longest", error,
                              "%" G_GUINT64_FORMAT " is more than the %" G_GUINT64_FORMAT
                              " tokens of a sequence, at which samples are cut",
                              recipe->sample_longest, recipe->sequence_length);
  if ((double)recipe->sample_mean > longest_of(recipe))
    return conf_settings_fail(settings, "training.sample_mean", error,
                              "%" G_GUINT64_FORMAT " is more than the %.0f tokens of the longest sample",
                              recipe->sample_mean, longest_of(recipe));
  return TRUE;
}

static gboolean check_unused(const ModelRecipe *recipe, const ConfSettings *settings, GError **error) {
  const char *key = recipe->sample_mean > 0 ? "training.sample_mean" : "training.sample_longest";
  return (recipe->sample_mean == 0 && recipe->sample_longest == 0) ||
         conf_settings_fail(settings, key, error,
                            "changes nothing where sequences are full; set training.packing to packed or padded");
}

gboolean model_samples_check(const ModelShape *shape, const ModelRecipe *recipe, const ConfSettings *settings,
                             GError **error) {
  if (recipe->packing == MODEL_PACKING_FULL)
    return check_unused(recipe, settings, error);
  if (model_has(model_shape_traits(shape), MODEL_PATCHES))
    return conf_settings_fail(settings, "training.packing", error, "images of %s are all alike; set it to full",
                              shape->name);
  if (model_has(model_shape_traits(shape), MODEL_ONE_TOKEN))
    return conf_settings_fail(settings, "training.packing", error,
                              "the head of %s reads one token of each sequence, which is one text; set it to full",
                              shape->name);
  return check_lengths(recipe, settings, error);
}

char *model_samples_note(const ModelRecipe *recipe) {
  double length = model_samples_length(recipe), longest = longest_of(recipe);
  if (recipe->packing == MODEL_PACKING_FULL)
    return NULL;
  if (recipe->packing == MODEL_PACKING_PADDED)
    return g_strdup_printf("%.1f %% of the tokens worked on are padding; throughput and MFU count the others",
                           100 * (1 - model_samples_share(recipe)));
  return g_strdup_printf("samples of %" G_GUINT64_FORMAT
                         " tokens on average and %.0f at most are packed: attention is played as if all had %.0f, the "
                         "mean over tokens (exponential lengths, bounded)",
                         recipe->sample_mean, longest, length);
}
