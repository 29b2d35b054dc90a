/* SPDX-License-Identifier: MIT */
/* Model states per rank: Table 1 of the ZeRO paper, cell by cell, and the fp32 case. */
#include "harness.h"
#include "plan-stage.h"

static double states_gb(int stage, double parameters, guint32 ranks, guint32 element_bytes) {
  guint64 elements = (guint64)parameters;
  PlanStates states;
  plan_states(&plan_stages[stage], &elements, 1, element_bytes, ranks, &states);
  return (double)(states.parameters + states.gradients + states.optimizer) / 1e9;
}

typedef struct {
  guint32 ranks;
  double printed[9]; /* 7.5B, 128B, 1T: Pos, Pos+g, Pos+g+p */
  double unit[9];    /* of the last digit printed */
} Row;

/* arXiv 1910.02054, Table 1: per-device memory of model states in GB (1e9), 2 + 2 + 12 bytes per parameter. */
static const Row table_1[] = {
    {1, {120, 120, 120, 2048, 2048, 2048, 16000, 16000, 16000}, {1, 1, 1, 1, 1, 1, 1, 1, 1}},
    {4, {52.5, 41.3, 30, 896, 704, 512, 7000, 5500, 4000}, {.1, .1, 1, 1, 1, 1, 1, 1, 1}},
    {16, {35.6, 21.6, 7.5, 608, 368, 128, 4750, 2875, 1000}, {.1, .1, .1, 1, 1, 1, 1, 1, 1}},
    {64, {31.4, 16.6, 1.88, 536, 284, 32, 4187, 2218, 250}, {.1, .1, .01, 1, 1, 1, 1, 1, 1}},
    {256, {30.4, 15.4, 0.47, 518, 263, 8, 4046, 2054, 62.5}, {.1, .1, .01, 1, 1, 1, 1, 1, .1}},
    {1024, {30.1, 15.1, 0.12, 513, 257, 2, 4011, 2013, 15.6}, {.1, .1, .01, 1, 1, 1, 1, 1, .1}},
};

static void table_1_is_reproduced(void) {
  const double models[] = {7.5e9, 128e9, 1e12};
  for (gsize row = 0; row < G_N_ELEMENTS(table_1); row++)
    for (int cell = 0; cell < 9; cell++) {
      double got = states_gb(cell % 3 + 1, models[cell / 3], table_1[row].ranks, 2);
      CU_ASSERT_DOUBLE_EQUAL(got, table_1[row].printed[cell], table_1[row].unit[cell]);
    }
}

static void fp32_states(void) {
  /* 7e9 × (4 parameter + 4 gradient + 8 Adam) = 112 GB on every rank under DDP; an eighth of it under stage 3 over 8.
   */
  CU_ASSERT_DOUBLE_EQUAL(states_gb(0, 7e9, 8, 4), 112, 1e-9);
  CU_ASSERT_DOUBLE_EQUAL(states_gb(3, 7e9, 8, 4), 14, 1e-9);
}

static void shards_cover_everything(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 2000; i++) {
    guint64 units[5], whole = 0;
    guint n = (guint)g_rand_int_range(random, 1, 6);
    guint32 ranks = (guint32)g_rand_int_range(random, 1, 2000);
    for (guint u = 0; u < n; u++)
      whole += units[u] = (guint64)g_rand_int_range(random, 1, 1 << 30);
    for (int stage = 0; stage < PLAN_STAGES; stage++) {
      guint64 shard = plan_shard(&plan_stages[stage], units, n, ranks);
      if (stage == 0)
        CU_ASSERT_EQUAL(shard, whole);
      /* All shards hold all elements; padding is less than one element per unit and rank. */
      CU_ASSERT_TRUE(stage == 0 || (shard * ranks >= whole && shard * ranks < whole + (guint64)n * ranks));
    }
  }
}

int main(void) {
  return harness_run("plan-stage", (HarnessCase[]){{"Table 1 of the ZeRO paper", table_1_is_reproduced},
                                                   {"fp32 states", fp32_states},
                                                   {"shards cover everything", shards_cover_everything},
                                                   {NULL, NULL}});
}
