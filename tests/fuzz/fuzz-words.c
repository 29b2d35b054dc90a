/* SPDX-License-Identifier: MIT */
/* Small texts that settings take, as fuzz targets: quantities, counts, versions, rank lists, and the little languages
 * of training.trainable and training.activation_checkpointing. */
#include <math.h>

#include "base-count.h"
#include "base-error.h"
#include "base-quantity.h"
#include "base-version.h"
#include "fuzz.h"
#include "plan-checkpoint.h"
#include "plan-trainable.h"
#include "program-ranks.h"

void fuzz_quantity(const char *data, gsize length) {
  g_autofree char *text = g_strndup(data, length);
  guint32 version;
  base_version_parse(text, &version);
  for (BaseUnit unit = 0; unit <= BASE_UNIT_MONEY; unit++) {
    GError *error = NULL;
    double value = 0;
    gboolean good = base_quantity_parse(text, unit, &value, &error);
    fuzz_judge(good, error);
    sim_require(!isnan(value), 0, NULL, "%s is no number", text);
  }
}

/* FALSE comes with a fault in words, TRUE with none. */
static void judge_fault(gboolean good, char **fault) {
  sim_require(good == (*fault == NULL), 0, NULL, "a value and a fault, or neither");
  sim_require(*fault == NULL || **fault != '\0', 0, NULL, "a fault without words");
  g_clear_pointer(fault, g_free);
}

void fuzz_words(const char *data, gsize length) {
  g_autofree char *text = g_strndup(data, length);
  char *fault = NULL;
  PlanTrainable trainable = {0};
  gboolean good = plan_trainable_parse(text, &trainable, &fault);
  judge_fault(good, &fault);
  PlanCheckpointing checkpointing = {0};
  good = plan_checkpointing_parse(text, PLAN_CHECKPOINT_FULL, &checkpointing, &fault);
  judge_fault(good, &fault);
}

void fuzz_ranks(const char *data, gsize length) {
  g_autofree char *text = g_strndup(data, length);
  GError *error = NULL;
  g_autoptr(GArray) ranks = program_ranks_parse(text, &error);
  fuzz_judge(ranks != NULL, error);
  guint64 count;
  error = NULL;
  gboolean good = base_count_parse(text, TRUE, NULL, &count, &error);
  fuzz_judge(good, error);
}
