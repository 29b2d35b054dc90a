/* SPDX-License-Identifier: MIT */
/* [training]: defaults, names that are known but not modelled, and what a shape forbids. */
#include <string.h>

#include "harness.h"
#include "kernel-op.h"
#include "model-recipe.h"

static ConfSettings *settings_with(const char *const *assignments) {
  const ConfSchema schemas[] = {model_shape_schema, model_recipe_schema};
  ConfSettings *settings = conf_settings_new(schemas, G_N_ELEMENTS(schemas));
  for (; *assignments != NULL; assignments++)
    CU_ASSERT_TRUE(conf_settings_set(settings, *assignments, NULL));
  return settings;
}

static void loads(void) {
  g_autoptr(ConfSettings) plain = settings_with((const char *const[]){"training.sequence_length=4096", NULL});
  ModelRecipe recipe;
  CU_ASSERT_TRUE(model_recipe_load(plain, &recipe, NULL));
  CU_ASSERT_EQUAL(recipe.sequence_length, 4096);
  CU_ASSERT_EQUAL(recipe.precision, MODEL_BF16);
  CU_ASSERT_EQUAL(recipe.attention, MODEL_ATTENTION_FLASH);
  CU_ASSERT_EQUAL(recipe.dropout, 0);
  CU_ASSERT_EQUAL(recipe.loss, MODEL_LOSS_DEFAULT);
  CU_ASSERT_EQUAL(recipe.kernels, MODEL_KERNELS_EAGER);
  CU_ASSERT_FALSE(recipe.compiled);

  g_autoptr(ConfSettings) full = settings_with(
      (const char *const[]){"training.sequence_length=8k", "training.precision=FP16", "training.attention=eager",
                            "training.dropout=10 %", "training.loss=eager", "training.compile=no", NULL});
  CU_ASSERT_TRUE(model_recipe_load(full, &recipe, NULL));
  CU_ASSERT_EQUAL(recipe.sequence_length, 8000);
  CU_ASSERT_EQUAL(recipe.precision, MODEL_FP16);
  CU_ASSERT_EQUAL(recipe.attention, MODEL_ATTENTION_EAGER);
  CU_ASSERT_EQUAL(recipe.dropout, 0.1);
}

/* Compiling fuses; kernels can be fused without it. */
static void fusion(void) {
  const char *const assignments[][2] = {{"training.compile=yes", NULL}, {"training.fused_kernels=yes", NULL}};
  for (int i = 0; i < 2; i++) {
    g_autoptr(ConfSettings) settings = settings_with(
        (const char *const[]){"training.sequence_length=4096", "training.loss=fused", assignments[i][0], NULL});
    ModelRecipe recipe;
    CU_ASSERT_TRUE(model_recipe_load(settings, &recipe, NULL));
    CU_ASSERT_EQUAL(recipe.kernels, MODEL_KERNELS_FUSED);
    CU_ASSERT_EQUAL(recipe.compiled, i == 0);
    CU_ASSERT_EQUAL(recipe.loss, MODEL_LOSS_FUSED);
  }
  g_autoptr(ConfSettings) norms =
      settings_with((const char *const[]){"training.sequence_length=4096", "training.fused_kernels=norms", NULL});
  ModelRecipe recipe;
  CU_ASSERT_TRUE(model_recipe_load(norms, &recipe, NULL));
  CU_ASSERT_EQUAL(recipe.kernels, MODEL_KERNELS_NORMS);
}

static void refuses(void) {
  static const char *const refused[][2] = {
      {"training.precision=fp4", "fp8"},
      {"training.compile=perhaps", "training.compile"},
      {"training.attention=flsh", "flash"},
      {"training.dropout=1.5", "training.dropout"},
      {"training.sequence_length=0", "training.sequence_length"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(refused); i++) {
    g_autoptr(ConfSettings) settings = settings_with((const char *const[]){NULL});
    GError *error = NULL;
    HARNESS_FAILS(conf_settings_set(settings, refused[i][0], &error), error, refused[i][1]);
  }
  g_autoptr(ConfSettings) settings = settings_with((const char *const[]){NULL});
  ModelRecipe recipe = {.sequence_length = 7};
  GError *error = NULL;
  HARNESS_FAILS(model_recipe_load(settings, &recipe, &error), error, "training.sequence_length");
  CU_ASSERT_EQUAL(recipe.sequence_length, 7);
}

static void checks_against_the_shape(void) {
  g_autoptr(ConfSettings) settings = settings_with((const char *const[]){"training.sequence_length=1025", NULL});
  ModelRecipe recipe;
  CU_ASSERT_TRUE(model_recipe_load(settings, &recipe, NULL));
  char name[] = "some-model";
  ModelShape shape = {.family = MODEL_GPT, .max_positions = 1024, .name = name};
  GError *error = NULL;
  HARNESS_FAILS(model_recipe_check(&shape, &recipe, settings, &error), error, "1024 learned positions");
  shape.max_positions = 1025;
  CU_ASSERT_TRUE(model_recipe_check(&shape, &recipe, settings, NULL));
  /* Rotary positions have no end. */
  shape = (ModelShape){.family = MODEL_LLAMA, .max_positions = 1024, .name = name};
  CU_ASSERT_TRUE(model_recipe_check(&shape, &recipe, settings, NULL));
  shape.sliding_window = 1024; /* what is beyond it is not seen */
  CU_ASSERT_TRUE(model_recipe_check(&shape, &recipe, settings, NULL));
  recipe.precision = MODEL_FP8;
  CU_ASSERT_TRUE(model_recipe_check(&shape, &recipe, settings, NULL));
  shape.experts = 8;
  HARNESS_FAILS(model_recipe_check(&shape, &recipe, settings, &error), error, "fp8 by separate kernels");
}

static void knows_precisions(void) {
  CU_ASSERT_EQUAL(model_precision_bytes(MODEL_BF16), 2);
  CU_ASSERT_EQUAL(model_precision_bytes(MODEL_FP16), 2);
  CU_ASSERT_EQUAL(model_precision_bytes(MODEL_FP32), 4);
  CU_ASSERT_EQUAL(model_precision_bytes(MODEL_TF32), 4);
  CU_ASSERT_EQUAL(model_precision_bytes(MODEL_FP8), 2);
  for (int i = 0; i <= MODEL_FP8; i++)
    CU_ASSERT_STRING_EQUAL(kernel_dtype_names[model_precision_dtype(i)], model_precision_names[i]);
}

int main(void) {
  return harness_run("model-recipe", (HarnessCase[]){{"loads", loads},
                                                     {"fusion", fusion},
                                                     {"refuses", refuses},
                                                     {"checks against the shape", checks_against_the_shape},
                                                     {"knows precisions", knows_precisions},
                                                     {NULL, NULL}});
}
