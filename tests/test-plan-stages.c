/* SPDX-License-Identifier: MIT */
/* The spread of layers over pipeline stages, against each framework's rule worked by hand. */
#include <string.h>

#include "harness.h"
#include "schedule/plan-stages.h"

#define MAX_STAGES 40

static void bounds_are(const guint32 *got, const guint32 *expected, guint32 stages) {
  gboolean equal = memcmp(got, expected, (stages + 1) * sizeof *got) == 0;
  CU_ASSERT_TRUE(equal);
  for (guint32 i = 0; !equal && i <= stages; i++)
    printf(" %u/%u", got[i], expected[i]);
}

/* The example in Megatron-Core's get_num_layers_to_build: 8 layers, 2 stages, 2 virtual stages give [0 1] [4 5] and [2
 * 3] [6 7]; unit 0 is the embedding, unit 9 the head. */
static void megatron_chunks(void) {
  guint32 bounds[MAX_STAGES];
  g_autoptr(GError) error = NULL;
  CU_ASSERT_TRUE(plan_stages_megatron(8, &(PlanStagesMegatron){.ranks = 2, .chunks = 2}, bounds, &error));
  bounds_are(bounds, (guint32[]){0, 3, 5, 7, 10}, 4);
}

/* Llama-3-405B: 126 layers on 16 stages, 7 on the first and the last and 8 between (The Llama 3 Herd of Models,
 * §3.3.2), by either way to say it. */
static void megatron_ends(void) {
  guint32 given[MAX_STAGES], counted[MAX_STAGES];
  g_autoptr(GError) error = NULL;
  PlanStagesMegatron ends = {.ranks = 16, .chunks = 1, .first = 7, .last = 7};
  PlanStagesMegatron counts = {.ranks = 16, .chunks = 1, .count_embedding = TRUE, .count_loss = TRUE};
  CU_ASSERT_TRUE(plan_stages_megatron(126, &ends, given, &error));
  CU_ASSERT_TRUE(plan_stages_megatron(126, &counts, counted, &error));
  bounds_are(given, counted, 16);
  CU_ASSERT_EQUAL(given[1], 8);
  CU_ASSERT_EQUAL(given[2], 16);
  CU_ASSERT_EQUAL(given[15], 120);
  CU_ASSERT_EQUAL(given[16], 128);
  CU_ASSERT_TRUE(
      plan_stages_megatron(5, &(PlanStagesMegatron){.ranks = 2, .chunks = 1, .first = 2, .last = 3}, given, &error));
  bounds_are(given, (guint32[]){0, 3, 7}, 2);
}

static void megatron_refuses(void) {
  guint32 bounds[MAX_STAGES];
  g_autoptr(GError) error = NULL;
  PlanStagesMegatron options = {.ranks = 4, .chunks = 1};
  HARNESS_FAILS(plan_stages_megatron(30, &options, bounds, &error), error,
                "30 layers do not divide into 4 parts; 28 or 32 do, or 3 or 5 parts");
  options.chunks = 3;
  HARNESS_FAILS(plan_stages_megatron(32, &options, bounds, &error), error,
                "8 layers of a pipeline rank do not divide into 3 parts; 6 or 9 do, or 2 or 4 parts");
  options = (PlanStagesMegatron){.ranks = 8, .chunks = 1};
  HARNESS_FAILS(plan_stages_megatron(6, &options, bounds, &error), error,
                "6 layers do not divide into 8 parts; 8 do, or 6 parts");
  options = (PlanStagesMegatron){.ranks = 4, .chunks = 1, .first = 3};
  HARNESS_FAILS(plan_stages_megatron(32, &options, bounds, &error), error,
                "29 layers between the first and the last stage do not divide into 3 parts; 27 or 30 do, or 29 parts");
  options.count_loss = TRUE;
  HARNESS_FAILS(plan_stages_megatron(32, &options, bounds, &error), error, "one or the other");
  options = (PlanStagesMegatron){.ranks = 2, .chunks = 1, .first = 3, .last = 3};
  HARNESS_FAILS(plan_stages_megatron(8, &options, bounds, &error), error, "hold 6 layers, and the model has 8");
}

/* The example of generate_llm_fqn_per_model_part: 2 stages, 3 layers, embedding and head as 2 each: 7 parts, 4 and 3,
 * so 2 layers and 1. And 32 layers on 4 stages, 1 each: 34 parts, 9 9 8 8, so 8 9 8 7 layers. */
static void torchtitan_spread(void) {
  guint32 bounds[MAX_STAGES], stages = 0;
  g_autoptr(GError) error = NULL;
  CU_ASSERT_TRUE(plan_stages_torchtitan(3, 2, 2, 2, bounds, &error));
  bounds_are(bounds, (guint32[]){0, 3, 5}, 2);
  CU_ASSERT_TRUE(plan_stages_torchtitan(32, 4, 1, 1, bounds, &error));
  bounds_are(bounds, (guint32[]){0, 9, 18, 26, 34}, 4);
  CU_ASSERT_TRUE(plan_stages_torchtitan(5, 1, 1, 1, bounds, &error));
  bounds_are(bounds, (guint32[]){0, 7}, 1);
  HARNESS_FAILS(plan_stages_torchtitan(2, 4, 2, 2, bounds, &error), error, "1 each");
  HARNESS_FAILS(plan_stages_torchtitan(8, 8, 2, 1, bounds, &error), error, "counted as 2 and 1");
  HARNESS_FAILS(plan_stages_torchtitan_count(32, 4, 5, 1, 1, &stages, &error), error, "make 7 stages");
  CU_ASSERT_TRUE(plan_stages_torchtitan_count(30, 4, 4, 1, 1, &stages, &error)); /* 32 / 4 */
  CU_ASSERT_EQUAL(stages, 8);
}

/* nanotron: 10 layers of 1 and a head of 2 on 3 stages: 12 in all, shares end at 4, 8 and 12. A stage is left once the
 * sum is *over* its share: after layer 5 (5 > 4) and layer 9 (9 > 8). */
static void nanotron_thresholds(void) {
  double costs[12] = {0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2};
  guint32 bounds[MAX_STAGES];
  plan_stages_nanotron(costs, 12, 3, bounds);
  bounds_are(bounds, (guint32[]){0, 6, 10, 12}, 3);
}

/* A layer and a head of the same cost: shares of eight stages end at each quarter. The layer fills the first, the norm,
 * with 1 so far over 1/2, the second, the output layer the third; cast and loss have one each, and nobody the rest. */
static void nanotron_idle_stages(void) {
  double costs[6] = {0, 1, 0, 1, 0, 0};
  guint32 bounds[MAX_STAGES];
  plan_stages_nanotron(costs, 6, 8, bounds);
  bounds_are(bounds, (guint32[]){0, 2, 3, 4, 5, 6, 6, 6, 6}, 8);
  plan_stages_whole_head(1, 8, bounds);
  bounds_are(bounds, (guint32[]){0, 2, 3, 4, 5, 6, 6, 6, 6}, 8);
}

/* Llama-2-7B: a layer 4 · 32 · 128 · 4096 + 3 · 11008 · 4096, the head 32000 · 4096: whole 6 607 077 376. Of 4 stages
 * the first is left when 9 layers (9 · 202 375 168) pass a quarter (1 651 769 344), and so on: 9, 8, 8, 7 layers, and
 * the head whole. */
static void nanotron_llama(void) {
  double costs[37];
  guint32 bounds[MAX_STAGES];
  plan_stages_nanotron_costs(32, 4096, 32, 128, 11008, 32000, costs);
  CU_ASSERT_EQUAL(costs[0], 0);
  CU_ASSERT_EQUAL(costs[1], 202375168);
  CU_ASSERT_EQUAL(costs[33], 0);
  CU_ASSERT_EQUAL(costs[34], 131072000);
  CU_ASSERT_EQUAL(costs[35] + costs[36], 0);
  plan_stages_nanotron(costs, 37, 4, bounds);
  bounds_are(bounds, (guint32[]){0, 10, 18, 26, 37}, 4);
  plan_stages_whole_head(32, 4, bounds);
  bounds_are(bounds, (guint32[]){0, 10, 18, 26, 34}, 4);
}

/* 16 layers of 4 · 2048² + 3 · 8192 · 2048 = 67 108 864, a head of 131072 · 2048, four times that: 20 in all, and of
 * eight stages each has 2.5. Left after layers 3, 6, 8, 11, 13 and 16; final norm and output layer are the seventh
 * stage's, which 20 > 17.5 leaves, and cast and loss the last one's. */
static void nanotron_cuts_the_head(void) {
  double costs[21];
  guint32 bounds[MAX_STAGES], cut[] = {0, 4, 7, 9, 12, 14, 17, 19, 21};
  plan_stages_nanotron_costs(16, 2048, 32, 64, 8192, 131072, costs);
  plan_stages_nanotron(costs, 21, 8, bounds);
  bounds_are(bounds, cut, 8);
  plan_stages_whole_head(16, 8, bounds);
  bounds_are(bounds, cut, 8);
}

static void deepspeed_uniform(void) {
  guint32 bounds[MAX_STAGES];
  plan_stages_uniform(10, 4, bounds);
  bounds_are(bounds, (guint32[]){0, 3, 6, 8, 10}, 4);
  plan_stages_uniform(2, 4, bounds);
  bounds_are(bounds, (guint32[]){0, 1, 2, 2, 2}, 4);
}

static guint64 spread_of(const guint64 *weights, const guint32 *bounds, guint32 stages) {
  guint64 most = 0, least = G_MAXUINT64;
  for (guint32 stage = 0; stage < stages; stage++) {
    guint64 sum = 0;
    for (guint32 unit = bounds[stage]; unit < bounds[stage + 1]; unit++)
      sum += weights[unit];
    most = MAX(most, sum);
    least = MIN(least, sum);
  }
  return most - least;
}

/* DeepSpeed's partition_balanced keeps for every prefix only its best spread, so it is not the best of all; of two
 * stages it is. Against all cuts; and a worked tie: 1 1 1 over 2 is {1} {1 1} or {1 1} {1}, the later cut wins. */
static void deepspeed_balanced(void) {
  guint32 bounds[MAX_STAGES], all[3];
  plan_stages_balanced((guint64[]){1, 1, 1}, 3, 2, bounds);
  bounds_are(bounds, (guint32[]){0, 2, 3}, 2);
  plan_stages_balanced((guint64[]){0, 4, 4, 4, 4, 0}, 6, 4, bounds);
  CU_ASSERT_EQUAL(spread_of((guint64[]){0, 4, 4, 4, 4, 0}, bounds, 4), 0);
  /* No more units than stages: one each, and none for the last (runtime/utils.py, partition_balanced: as uniform). */
  plan_stages_balanced((guint64[]){5, 1, 9}, 3, 3, bounds);
  bounds_are(bounds, (guint32[]){0, 1, 2, 3}, 3);
  plan_stages_balanced((guint64[]){5, 1, 9}, 3, 5, bounds);
  bounds_are(bounds, (guint32[]){0, 1, 2, 3, 3, 3}, 5);
  g_autoptr(GRand) random = harness_random();
  for (int round = 0; round < 200; round++) {
    guint64 weights[12];
    guint32 n = (guint32)g_rand_int_range(random, 3, 13);
    for (guint32 unit = 0; unit < n; unit++)
      weights[unit] = (guint64)g_rand_int_range(random, 0, 50);
    plan_stages_balanced(weights, n, 2, bounds);
    guint64 least = G_MAXUINT64;
    for (guint32 cut = 1; cut < n; cut++) {
      memcpy(all, (guint32[]){0, cut, n}, sizeof all);
      least = MIN(least, spread_of(weights, all, 2));
    }
    CU_ASSERT_EQUAL(spread_of(weights, bounds, 2), least);
    CU_ASSERT_TRUE(bounds[0] == 0 && bounds[2] == n);
  }
}

static void listed(void) {
  guint32 bounds[MAX_STAGES];
  g_autoptr(GError) error = NULL;
  CU_ASSERT_TRUE(plan_stages_listed(5, (guint32[]){2, 0, 3}, 3, bounds, &error));
  bounds_are(bounds, (guint32[]){0, 3, 3, 7}, 3);
  HARNESS_FAILS(plan_stages_listed(6, (guint32[]){2, 0, 3}, 3, bounds, &error), error,
                "hold 5 layers, and the model has 6");
}

int main(void) {
  return harness_run("plan-stages", (HarnessCase[]){{"Megatron-Core: chunks", megatron_chunks},
                                                    {"Megatron-Core: first and last", megatron_ends},
                                                    {"Megatron-Core refuses", megatron_refuses},
                                                    {"torchtitan", torchtitan_spread},
                                                    {"nanotron: thresholds", nanotron_thresholds},
                                                    {"nanotron: idle stages", nanotron_idle_stages},
                                                    {"nanotron: Llama-2-7B", nanotron_llama},
                                                    {"nanotron: cuts the head", nanotron_cuts_the_head},
                                                    {"DeepSpeed: uniform", deepspeed_uniform},
                                                    {"DeepSpeed: balanced", deepspeed_balanced},
                                                    {"listed", listed},
                                                    {NULL, NULL}});
}
