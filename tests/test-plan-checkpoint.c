/* SPDX-License-Identifier: MIT */
/* Which layers are recomputed: how it is written, what is refused, and what each way chooses. */
#include "plan-checkpoint.h"

#include <string.h>

#include "harness.h"

/* "*" for a layer that is recomputed whole, of eight. */
static char *chosen(const PlanCheckpointing *checkpointing) {
  GString *layers = g_string_new(NULL);
  for (guint32 layer = 0; layer < 8; layer++)
    g_string_append_c(layers, plan_checkpointing_of(checkpointing, layer) == MODEL_RECOMPUTE_ALL ? '*' : '.');
  return g_string_free(layers, FALSE);
}

/* fms-fsdp's rule (fms_fsdp/policies/ac_handler.py): a block when the share of the blocks so far passes the next half:
 * of 8 with 1/2 the 1st, 3rd, 5th and 7th; with 1/4 the 2nd and 6th. */
static void layers_are_chosen(void) {
  static const char *const ways[][2] = {
      {"none", "........"},       {"full", "********"},         {"layers:3", "..*..*.."},
      {"layers:1", "********"},   {"fraction:0.5", "*.*.*.*."}, {"fraction:0.25", ".*...*.."},
      {"fraction:0", "........"}, {"fraction:1", "********"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(ways); i++) {
    PlanCheckpointing checkpointing;
    g_autofree char *fault = NULL;
    CU_ASSERT_TRUE_FATAL(plan_checkpointing_parse(ways[i][0], PLAN_CHECKPOINT_ATTENTION, &checkpointing, &fault));
    g_autofree char *layers = chosen(&checkpointing), *text = plan_checkpointing_text(&checkpointing);
    CU_ASSERT_STRING_EQUAL(layers, ways[i][1]);
    CU_ASSERT_STRING_EQUAL(text, ways[i][0]);
  }
}

/* Of n layers a share f is n · f, rounded. */
static void shares_are_kept(void) {
  for (guint tenths = 0; tenths <= 10; tenths++)
    for (guint32 n = 1; n < 100; n++) {
      PlanCheckpointing checkpointing = {.kind = PLAN_CHECKPOINT_FRACTION, .fraction = tenths / 10.0};
      guint found = 0;
      for (guint32 layer = 0; layer < n; layer++)
        found += plan_checkpointing_whole(&checkpointing, layer);
      CU_ASSERT_EQUAL(found, (guint)((double)n * checkpointing.fraction + 0.5));
    }
}

static void others_are_refused(void) {
  static const char *const wrong[][2] = {
      {"layers:0", "not a whole number of layers"},
      {"layers:x", "not a whole number of layers"},
      {"layers:", "not a whole number of layers"},
      {"fraction:1.5", "not a share from 0 to 1"},
      {"fraction:nan", "not a share from 0 to 1"},
      {"fraction:-0.1", "not a share from 0 to 1"},
      {"fraction:0.5x", "not a share from 0 to 1"},
      {"fraction:", "not a share from 0 to 1"},
      {"ful", "did you mean \"full\"?"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
    PlanCheckpointing checkpointing;
    g_autofree char *fault = NULL;
    CU_ASSERT_FALSE(plan_checkpointing_parse(wrong[i][0], PLAN_CHECKPOINT_ATTENTION, &checkpointing, &fault));
    CU_ASSERT_TRUE(fault != NULL && strstr(fault, wrong[i][1]) != NULL);
  }
}

int main(void) {
  return harness_run("plan-checkpoint", (HarnessCase[]){{"layers are chosen", layers_are_chosen},
                                                        {"shares are kept", shares_are_kept},
                                                        {"others are refused", others_are_refused},
                                                        {NULL, NULL}});
}
