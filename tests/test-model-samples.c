/* SPDX-License-Identifier: MIT */
/* Packed and padded samples: lengths against samples drawn one by one, attention's pairs, and what is refused. */
#include <math.h>

#include "harness.h"
#include "kernel-op.h"
#include "model-samples.h"
#include "model-unit.h"

#define SEQUENCE 8192

static ModelRecipe recipe_of(int packing, guint64 mean, guint64 longest) {
  return (ModelRecipe){.sequence_length = SEQUENCE, .packing = packing, .sample_mean = mean, .sample_longest = longest};
}

/* Lengths x (1 - (1 - u)^(m / (x - m))) for u at the middle of 100 000 equal steps are the beta distribution's, by the
 * inverse of its cumulated form 1 - (1 - l / x)^(x / m - 1). Their mean is m; the mean over tokens is what
 * model_samples_length says, to its rounding and the sum's. */
static void lengths_are_as_drawn(void) {
  static const struct {
    guint64 mean, longest;
  } cases[] = {{200, 8192}, {512, 2048}, {1024, 2048}, {3000, 4096}, {8000, 8192}};
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    double m = (double)cases[i].mean, x = (double)cases[i].longest, sum = 0, squares = 0;
    const int n = 100000;
    for (int k = 0; k < n; k++) {
      double length = x * (1 - pow(1 - (k + 0.5) / n, m / (x - m)));
      sum += length;
      squares += length * length;
    }
    ModelRecipe recipe = recipe_of(MODEL_PACKING_PACKED, cases[i].mean, cases[i].longest);
    CU_ASSERT_DOUBLE_EQUAL(sum / n, m, 1e-3 * m);
    CU_ASSERT_DOUBLE_EQUAL(model_samples_length(&recipe), squares / sum, 0.5 + 1e-3 * m);
  }
}

/* All alike where the mean is the longest; the longest is the sequence where none is stated: 2 · 1024 · 8192 / 9216 =
 * 1820.4; full sequences are one sample. */
static void ends_of_the_range(void) {
  ModelRecipe alike = recipe_of(MODEL_PACKING_PACKED, 2048, 2048), open = recipe_of(MODEL_PACKING_PACKED, 1024, 0),
              full = recipe_of(MODEL_PACKING_FULL, 0, 0), padded = recipe_of(MODEL_PACKING_PADDED, 1024, 0);
  CU_ASSERT_EQUAL(model_samples_length(&alike), 2048);
  CU_ASSERT_EQUAL(model_samples_length(&open), 1820);
  CU_ASSERT_EQUAL(model_samples_length(&full), SEQUENCE);
  CU_ASSERT_EQUAL(model_samples_share(&open), 1);
  CU_ASSERT_EQUAL(model_samples_share(&padded), 1.0 / 8);
}

static const ModelShape small = {.family = MODEL_LLAMA,
                                 .layers = 2,
                                 .hidden_size = 256,
                                 .heads = 4,
                                 .kv_heads = 4,
                                 .head_dim = 64,
                                 .intermediate_size = 64,
                                 .vocab_size = 10};

static ModelUnit *layer_of(ModelRecipe recipe, int attention, guint64 window) {
  ModelShape shape = small;
  shape.sliding_window = window;
  recipe.attention = attention;
  return model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
}

static const ModelOp *op_named(const ModelUnit *unit, const char *name) {
  for (guint i = 0; i < unit->n_forward; i++)
    if (g_strcmp0(unit->forward[i].name, name) == 0)
      return &unit->forward[i];
  g_error("no operation %s", name);
}

/* Four samples of 2 048 in a sequence of 8 192: q · kᵀ and p · v of 4 · 2048² / 2 pairs, 2 · 256 each, by one kernel of
 * 4 heads · 4 samples; the model's are twice that. A window w within a sample lets w - w² / (2 · 2048) keys through,
 * one that is longer than the sample nothing else than the sample. Eager attention multiplies all pairs. */
static void attention_stays_within_samples(void) {
  ModelRecipe recipe = recipe_of(MODEL_PACKING_PACKED, 2048, 2048);
  double l = 2048, pairs = 4 * l * l / 2, w = 512;
  g_autoptr(ModelUnit) plain = layer_of(recipe, MODEL_ATTENTION_FLASH, 0);
  const ModelOp *flash = op_named(plain, "attention");
  CU_ASSERT_EQUAL(flash->kernel->flops, 2 * 2 * 256 * pairs);
  CU_ASSERT_EQUAL(flash->nominal_flops, 2 * flash->kernel->flops);
  CU_ASSERT_EQUAL(flash->kernel->batch, 16);
  CU_ASSERT_EQUAL(flash->kernel->m, 2048);
  CU_ASSERT_EQUAL(flash->kernel->n, 2048);
  g_autoptr(ModelUnit) windowed = layer_of(recipe, MODEL_ATTENTION_FLASH, 512);
  CU_ASSERT_EQUAL(op_named(windowed, "attention")->kernel->flops, 2 * 2 * 256 * SEQUENCE * (w - w * w / (2 * l)));
  g_autoptr(ModelUnit) wide = layer_of(recipe, MODEL_ATTENTION_FLASH, 4096);
  CU_ASSERT_EQUAL(op_named(wide, "attention")->kernel->flops, flash->kernel->flops);
  g_autoptr(ModelUnit) eager = layer_of(recipe, MODEL_ATTENTION_EAGER, 0);
  CU_ASSERT_EQUAL(op_named(eager, "scores")->kernel->flops, 2.0 * 256 * SEQUENCE * SEQUENCE);
  CU_ASSERT_EQUAL(op_named(eager, "scores")->nominal_flops, 2.0 * 256 * SEQUENCE * l);
}

/* Padding is worked on as if it were tokens; what counts for the model is the sample's. */
static void padding_is_worked_on(void) {
  g_autoptr(ModelUnit) full = layer_of(recipe_of(MODEL_PACKING_FULL, 0, 0), MODEL_ATTENTION_FLASH, 0);
  g_autoptr(ModelUnit) padded = layer_of(recipe_of(MODEL_PACKING_PADDED, 2048, 2048), MODEL_ATTENTION_FLASH, 0);
  const ModelOp *all = op_named(full, "attention"), *some = op_named(padded, "attention");
  CU_ASSERT_EQUAL(some->kernel->flops, all->kernel->flops);
  CU_ASSERT_EQUAL(some->kernel->batch, all->kernel->batch);
  CU_ASSERT_EQUAL(4 * some->nominal_flops, all->nominal_flops);
}

static void refuses(void) {
  static const struct {
    const char *assignments[4], *fault;
  } cases[] = {{{"training.packing=packed"}, "sample_mean"},
               {{"training.sample_mean=64"}, "changes nothing"},
               {{"training.sample_longest=64"}, "changes nothing"},
               {{"training.packing=padded", "training.sample_mean=9000"}, "9000 is more than the 8192"},
               {{"training.packing=packed", "training.sample_mean=64", "training.sample_longest=8193"}, "8193"},
               {{"training.packing=packed", "training.sample_mean=64", "training.sample_longest=63"}, "longest"}};
  const ConfSchema schemas[] = {model_shape_schema, model_recipe_schema};
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(ConfSettings) settings = conf_settings_new(schemas, G_N_ELEMENTS(schemas));
    CU_ASSERT_TRUE(conf_settings_set(settings, "training.sequence_length=8192", NULL));
    for (gsize k = 0; cases[i].assignments[k] != NULL; k++)
      CU_ASSERT_TRUE(conf_settings_set(settings, cases[i].assignments[k], NULL));
    ModelRecipe recipe;
    GError *error = NULL;
    CU_ASSERT_TRUE(model_recipe_load(settings, &recipe, NULL));
    HARNESS_FAILS(model_recipe_check(&small, &recipe, settings, &error), error, cases[i].fault);
  }
}

int main(void) {
  return harness_run("model-samples",
                     (HarnessCase[]){{"lengths are as drawn", lengths_are_as_drawn},
                                     {"ends of the range", ends_of_the_range},
                                     {"attention stays within samples", attention_stays_within_samples},
                                     {"padding is worked on", padding_is_worked_on},
                                     {"refuses", refuses},
                                     {NULL, NULL}});
}
