/* SPDX-License-Identifier: MIT */
/* The axes' keys of [parallel]: defaults, schedules, and errors that name the key. */
#include <string.h>

#include "harness.h"
#include "layout-load.h"

/* `assignments`: "tensor=2 pipeline=4", keys of [parallel]. */
static gboolean load(const char *assignments, guint32 ranks, gboolean experts, LayoutRecipe *ret, GError **error) {
  g_autoptr(ConfSettings) settings = conf_settings_new(&layout_schema, 1);
  g_auto(GStrv) parts = g_strsplit(assignments, " ", -1);
  for (guint i = 0; parts[i] != NULL && parts[i][0] != '\0'; i++) {
    g_autofree char *assignment = g_strconcat("parallel.", parts[i], NULL);
    if (!conf_settings_set(settings, assignment, error))
      return FALSE;
  }
  return layout_load(settings, ranks, "megatron", experts, ret, error);
}

static LayoutRecipe loaded(const char *assignments, guint32 ranks, gboolean experts) {
  LayoutRecipe recipe = {0};
  g_autoptr(GError) error = NULL;
  gboolean good = load(assignments, ranks, experts, &recipe, &error);
  if (!good)
    printf("\n    %s\n", error->message);
  CU_ASSERT_TRUE(good);
  return recipe;
}

static void nothing_given_is_data_parallel(void) {
  LayoutRecipe recipe = loaded("", 8, FALSE);
  CU_ASSERT_EQUAL(layout_data(&recipe.layout), 8);
  CU_ASSERT_EQUAL(recipe.schedule, LAYOUT_SCHEDULE_SINGLE);
  CU_ASSERT_EQUAL(recipe.chunks, 1);
  CU_ASSERT_FALSE(recipe.sequence_parallel);
}

static void schedules_follow(void) {
  CU_ASSERT_EQUAL(loaded("pipeline=4", 8, FALSE).schedule, LAYOUT_SCHEDULE_1F1B);
  LayoutRecipe interleaved = loaded("pipeline=4 interleave=3", 8, FALSE);
  CU_ASSERT_EQUAL(interleaved.schedule, LAYOUT_SCHEDULE_INTERLEAVED);
  CU_ASSERT_EQUAL(interleaved.chunks, 3);
  CU_ASSERT_EQUAL(loaded("pipeline=4 schedule=zbv", 8, FALSE).chunks, 2);
  CU_ASSERT_EQUAL(loaded("pipeline=4 schedule=zb-h1", 8, FALSE).chunks, 1);
}

static void flags_and_orders(void) {
  CU_ASSERT_TRUE(loaded("tensor=2 sequence_parallel=yes", 8, FALSE).sequence_parallel);
  CU_ASSERT_FALSE(loaded("sequence_parallel=yes", 8, FALSE).sequence_parallel);
  LayoutRecipe recipe = loaded("tensor=2 pipeline=2 rank_order=tp-cp-ep-pp-dp", 8, FALSE);
  CU_ASSERT_EQUAL(recipe.layout.stride[LAYOUT_PIPELINE], 2);
  CU_ASSERT_EQUAL(loaded("tensor=2 expert=2", 8, TRUE).layout.degree[LAYOUT_EXPERT_TENSOR], 2);
  CU_ASSERT_EQUAL(loaded("tensor=2", 8, TRUE).layout.degree[LAYOUT_EXPERT_TENSOR], 2);
}

static void errors_name_the_key(void) {
  LayoutRecipe recipe;
  g_autoptr(GError) error = NULL;
  HARNESS_FAILS(load("pipeline=5", 96, FALSE, &recipe, &error), error, "parallel.pipeline: 96 GPUs are not a multiple");
  HARNESS_FAILS(load("tensor=2 rank_order=cp-dp-pp", 8, FALSE, &recipe, &error), error, "parallel.rank_order: ");
  HARNESS_FAILS(load("interleave=2", 8, FALSE, &recipe, &error), error, "no pipeline to interleave");
  HARNESS_FAILS(load("schedule=gpipe", 8, FALSE, &recipe, &error), error, "gpipe needs a pipeline");
  HARNESS_FAILS(load("pipeline=2 schedule=single", 8, FALSE, &recipe, &error), error, "single has no pipeline");
  HARNESS_FAILS(load("pipeline=2 schedule=interleaved", 8, FALSE, &recipe, &error), error, "interleave of at least 2");
  HARNESS_FAILS(load("pipeline=2 interleave=2 schedule=1f1b", 8, FALSE, &recipe, &error), error, "has one chunk");
  HARNESS_FAILS(load("pipeline=2 interleave=3 schedule=zbv", 8, FALSE, &recipe, &error), error, "zbv has 2 chunks");
  HARNESS_FAILS(load("expert=2", 8, FALSE, &recipe, &error), error, "the model has no experts");
  HARNESS_FAILS(load("schedule=dualpipe", 8, FALSE, &recipe, &error), error, "dualpipe");
}

int main(void) {
  return harness_run("layout-load", (HarnessCase[]){{"nothing given is data parallel", nothing_given_is_data_parallel},
                                                    {"schedules follow pipeline and interleave", schedules_follow},
                                                    {"flags and orders", flags_and_orders},
                                                    {"errors name the key", errors_name_the_key},
                                                    {NULL, NULL}});
}
