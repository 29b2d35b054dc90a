/* SPDX-License-Identifier: MIT */
/* The batch identity. */
#include "plan-batch.h"

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
  if (micro && accumulation) {
    guint64 product = recipe->micro_batch * recipe->gradient_accumulation * ranks;
    return product == recipe->global_batch ||
           conf_settings_fail(settings, "training.global_batch", error,
                              "%" G_GUINT64_FORMAT " is not micro_batch %" G_GUINT64_FORMAT
                              " x gradient_accumulation %" G_GUINT64_FORMAT " x %u %s = %" G_GUINT64_FORMAT
                              "; leave one of the three out and it follows",
                              recipe->global_batch, recipe->micro_batch, recipe->gradient_accumulation, ranks, are,
                              product);
  }
  guint64 *missing = micro ? &recipe->gradient_accumulation : &recipe->micro_batch;
  guint64 known = micro ? recipe->micro_batch : recipe->gradient_accumulation;
  *missing = recipe->global_batch / (known * ranks);
  return *missing * known * ranks == recipe->global_batch ||
         conf_settings_fail(
             settings, "training.global_batch", error,
             "%" G_GUINT64_FORMAT " is not a multiple of %s %" G_GUINT64_FORMAT " x %u %s = %" G_GUINT64_FORMAT,
             recipe->global_batch, micro ? "micro_batch" : "gradient_accumulation", known, ranks, are, known * ranks);
}
