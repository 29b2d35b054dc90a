/* SPDX-License-Identifier: MIT */
/* The batch identity. */
#include "plan-batch.h"

/* "64 or 72 are": the multiples of `of` around a number that is none. */
static char *multiples_around(guint64 number, guint64 of) {
  guint64 below = number / of * of;
  if (below == 0)
    return g_strdup_printf("%" G_GUINT64_FORMAT " is", of);
  return g_strdup_printf("%" G_GUINT64_FORMAT " or %" G_GUINT64_FORMAT " are", below, below + of);
}

static gboolean check_product(const ConfSettings *settings, const PlanRecipe *recipe, guint32 ranks, const char *are,
                              GError **error) {
  guint64 each = recipe->micro_batch * ranks, product = each * recipe->gradient_accumulation;
  if (product == recipe->global_batch)
    return TRUE;
  g_autofree char *around = recipe->global_batch % each != 0 ? multiples_around(recipe->global_batch, each) : NULL;
  return conf_settings_fail(settings, "training.global_batch", error,
                            "%" G_GUINT64_FORMAT " is not micro_batch %" G_GUINT64_FORMAT
                            " x gradient_accumulation %" G_GUINT64_FORMAT " x %u %s = %" G_GUINT64_FORMAT "; %s%s",
                            recipe->global_batch, recipe->micro_batch, recipe->gradient_accumulation, ranks, are,
                            product, around != NULL ? around : "leave one of the three out and it follows",
                            around != NULL ? " multiples of what a micro-batch takes" : "");
}

gboolean plan_batch_complete(const ConfSettings *settings, PlanRecipe *recipe, GError **error) {
  guint32 ranks = layout_data(&recipe->axes.layout);
  const char *are = ranks == recipe->axes.layout.ranks ? "GPUs" : "data ranks";
  gboolean micro = conf_settings_given(settings, "training.micro_batch");
  gboolean accumulation = conf_settings_given(settings, "training.gradient_accumulation");
  gboolean global = conf_settings_given(settings, "training.global_batch");
  if (!micro && (!global || !accumulation))
    recipe->micro_batch = 1, micro = TRUE;
  if (!accumulation && !global)
    recipe->gradient_accumulation = 1, accumulation = TRUE;
  if (!global) {
    recipe->global_batch = recipe->micro_batch * recipe->gradient_accumulation * ranks;
    return TRUE;
  }
  if (micro && accumulation)
    return check_product(settings, recipe, ranks, are, error);
  guint64 *missing = micro ? &recipe->gradient_accumulation : &recipe->micro_batch;
  guint64 known = micro ? recipe->micro_batch : recipe->gradient_accumulation;
  *missing = recipe->global_batch / (known * ranks);
  if (*missing * known * ranks == recipe->global_batch)
    return TRUE;
  g_autofree char *around = multiples_around(recipe->global_batch, known * ranks);
  return conf_settings_fail(
      settings, "training.global_batch", error,
      "%" G_GUINT64_FORMAT " is not a multiple of %s %" G_GUINT64_FORMAT " x %u %s = %" G_GUINT64_FORMAT "; %s",
      recipe->global_batch, micro ? "micro_batch" : "gradient_accumulation", known, ranks, are, known * ranks, around);
}
