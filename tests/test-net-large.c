/* SPDX-License-Identifier: MIT */
/* A large network under both solvers: 20 000 flows on 20 000 links, as a two-level tree of hosts whose leaves are too
 * thin would have them, started and ended one after the other. */
#include "harness.h"
#include "net-play.h"

#define LEAVES   200
#define PER_LEAF 49 /* with 2 links a host and 2 a leaf: 200 × (49 × 2 + 2) = 20 000 links */
#define HOSTS    (LEAVES * PER_LEAF)
#define FLOWS    20000
#define WAVES    3

static void route_between(PlayFlow *flow, guint32 from, guint32 to) {
  flow->n = 2;
  flow->links[0] = 2 * from;
  flow->links[1] = 2 * to + 1;
  if (from / PER_LEAF != to / PER_LEAF) {
    flow->n = 4;
    flow->links[2] = 2 * (HOSTS + from / PER_LEAF);
    flow->links[3] = 2 * (HOSTS + to / PER_LEAF) + 1;
  }
  for (guint32 h = 0; h < flow->n; h++)
    flow->coefficients[h] = 1;
}

/* The full solver fills everything at each instant, so there are few: flows start in waves and are cancelled in waves.
 */
static PlayFlow *random_flows(GRand *random) {
  PlayFlow *flows = g_new0(PlayFlow, FLOWS);
  for (guint32 i = 0; i < FLOWS; i++) {
    guint32 from = (guint32)g_rand_int_range(random, 0, HOSTS);
    route_between(&flows[i], from, (from + (guint32)g_rand_int_range(random, 1, HOSTS)) % HOSTS);
    flows[i].start = (SimTime)(i % WAVES) * SIM_MICROSECOND;
    flows[i].volume = 1e9;
    flows[i].cap = i % 5 == 0 ? 1e9 : G_MAXDOUBLE;
    flows[i].weight = i % 7 == 0 ? 2 : 1;
    flows[i].count = 1;
    flows[i].cancel = (SimTime)(WAVES + i % WAVES) * SIM_MICROSECOND;
  }
  return flows;
}

/* No two links alike, so that there are thousands of levels; leaves carry about a quarter of what their hosts could. */
static double *tree_capacities(GRand *random) {
  double *capacities = g_new(double, 2 * (HOSTS + LEAVES));
  for (guint32 i = 0; i < 2 * (HOSTS + LEAVES); i++)
    capacities[i] = g_rand_double_range(random, 25e9, 50e9) * (i < 2 * HOSTS ? 1 : PER_LEAF / 4.0);
  return capacities;
}

static void lazy_equals_full(void) {
  g_autoptr(GRand) random = harness_random();
  g_autofree PlayFlow *flows = random_flows(random);
  g_autofree double *capacities = tree_capacities(random);
  PlayScript script = {.n_links = 2 * (HOSTS + LEAVES), .capacities = capacities, .n_flows = FLOWS, .flows = flows};
  CU_ASSERT_EQUAL(script.n_links, 20000);
  g_autoptr(PlayResult) lazy = play(&script, NET_SOLVER_LAZY);
  g_autoptr(PlayResult) full = play(&script, NET_SOLVER_FULL);
  CU_ASSERT_EQUAL(lazy->instants->len,
                  2 * WAVES); /* the waves of starts and of cancels: 1e9 bytes take 20 ms at least */
  CU_ASSERT_TRUE(play_results_equal(&script, lazy, full));
}

int main(void) {
  return harness_run("net-large", (HarnessCase[]){{"lazy equals full", lazy_equals_full}, {NULL, NULL}});
}
