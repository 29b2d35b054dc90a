/* SPDX-License-Identifier: MIT */
/* Random networks: what is fair, what cannot matter, and that both solvers say the same to the bit. */
#include <string.h>

#include "harness.h"
#include "net-play.h"

#define MOST_LINKS 24
#define MOST_FLOWS 60
#define SYSTEMS    150

typedef struct {
  double capacities[MOST_LINKS];
  PlayFlow flows[MOST_FLOWS];
  PlayChange changes[8];
  PlayScript script;
} Random;

/* Round numbers make ties, others make every bit count. */
static double random_rate(GRand *random, gboolean round) {
  return round ? 4 * g_rand_int_range(random, 1, 5) : g_rand_double_range(random, 1, 20);
}

static void random_route(GRand *random, PlayFlow *flow, guint32 n_links, guint32 longest) {
  flow->n = (guint32)g_rand_int_range(random, 1, (gint32)MIN(longest, n_links) + 1);
  for (guint32 i = 0; i < flow->n;) {
    guint32 link = (guint32)g_rand_int_range(random, 0, (gint32)n_links);
    gboolean taken = FALSE;
    for (guint32 k = 0; k < i; k++)
      taken |= flow->links[k] == link;
    if (taken)
      continue;
    flow->links[i] = link;
    flow->coefficients[i++] = g_rand_int_range(random, 0, 4) > 0 ? 1 : 3;
  }
}

static void random_flow(GRand *random, PlayFlow *flow, guint32 n_links, gboolean round) {
  *flow = (PlayFlow){.cap = G_MAXDOUBLE, .weight = 1, .count = 1};
  random_route(random, flow, n_links, 4);
  flow->start = round ? g_rand_int_range(random, 0, 5) * SIM_SECOND
                      : (SimTime)g_rand_double_range(random, 0, 5e12) * g_rand_int_range(random, 0, 2);
  flow->volume = round ? g_rand_int_range(random, 0, 20) : g_rand_double_range(random, 0.1, 20);
  if (g_rand_int_range(random, 0, 3) == 0)
    flow->weight = (guint32)g_rand_int_range(random, 1, 5);
  if (g_rand_int_range(random, 0, 3) == 0)
    flow->count = (guint32)g_rand_int_range(random, 1, 4);
  if (g_rand_int_range(random, 0, 3) == 0)
    flow->cap = random_rate(random, round) / 4;
  if (g_rand_int_range(random, 0, 10) == 0)
    flow->cancel = flow->start + (SimTime)g_rand_double_range(random, 1, 5e12);
  flow->gone = g_rand_int_range(random, 0, 12) == 0;
}

static void randomise(Random *system, GRand *random) {
  gboolean round = g_rand_boolean(random);
  PlayScript *script = &system->script;
  script->n_links = (guint32)g_rand_int_range(random, 1, MOST_LINKS + 1);
  script->n_flows = (guint32)g_rand_int_range(random, 1, MOST_FLOWS + 1);
  script->n_changes = (guint32)g_rand_int_range(random, 0, 4);
  script->capacities = system->capacities;
  script->flows = system->flows;
  script->changes = system->changes;
  for (guint32 i = 0; i < script->n_links; i++) /* one in three with much room, like the trunks of a network */
    system->capacities[i] = random_rate(random, round) * (g_rand_int_range(random, 0, 3) == 0 ? 16 : 1);
  for (guint32 i = 0; i < script->n_flows; i++)
    random_flow(random, &system->flows[i], script->n_links, round);
  for (guint32 i = 0; i < script->n_changes; i++)
    system->changes[i] =
        (PlayChange){g_rand_int_range(random, 1, 8) * SIM_SECOND,
                     (guint32)g_rand_int_range(random, 0, (gint32)script->n_links), random_rate(random, round)};
}

static void for_each_system(void (*check)(Random *system)) {
  g_autoptr(GRand) random = harness_random();
  g_autofree Random *system = g_new0(Random, 1);
  for (guint i = 0; i < SYSTEMS; i++) {
    randomise(system, random);
    check(system);
  }
}

static void check_solvers(Random *system) {
  g_autoptr(PlayResult) lazy = play(&system->script, NET_SOLVER_LAZY);
  g_autoptr(PlayResult) full = play(&system->script, NET_SOLVER_FULL);
  CU_ASSERT_TRUE(play_results_equal(&system->script, lazy, full));
  CU_ASSERT_EQUAL(lazy->events, full->events);
}

static void lazy_equals_full(void) {
  for_each_system(check_solvers);
}

/* A start that is taken back at once, and made anew, leaves no trace: not in the network, nor in what was set aside for
 * the settle. */
static void check_undone(Random *system) {
  for (int solver = NET_SOLVER_LAZY; solver <= NET_SOLVER_FULL; solver++) {
    g_autoptr(PlayResult) once = play(&system->script, (NetSolver)solver);
    for (guint32 i = 0; i < system->script.n_flows; i++)
      system->flows[i].again = i % 3 > 0;
    g_autoptr(PlayResult) again = play(&system->script, (NetSolver)solver);
    CU_ASSERT_TRUE(play_results_equal(&system->script, once, again));
    for (guint32 i = 0; i < system->script.n_flows; i++)
      system->flows[i].again = FALSE;
  }
}

static void undone_is_nothing(void) {
  for_each_system(check_undone);
}

/* A capacity that is off by one unit in the last place must show, or the comparison above would prove nothing. */
static void comparison_can_fail(void) {
  g_autoptr(GRand) random = harness_random();
  g_autofree Random *system = g_new0(Random, 1);
  guint seen = 0;
  for (guint i = 0; i < SYSTEMS; i++) {
    randomise(system, random);
    g_autoptr(PlayResult) lazy = play(&system->script, NET_SOLVER_LAZY);
    for (guint32 l = 0; l < system->script.n_links; l++)
      system->capacities[l] *= 1 + 0x1p-52;
    g_autoptr(PlayResult) full = play(&system->script, NET_SOLVER_FULL);
    seen += !play_results_equal(&system->script, lazy, full);
  }
  CU_ASSERT_TRUE(seen > SYSTEMS / 2);
}

/* What active flows put on a link, and the highest level (rate / weight) among them. */
static void survey(const Play *play, double *loads, double *highest) {
  for (guint32 i = 0; i < play->script->n_flows; i++) {
    const PlayFlow *flow = &play->script->flows[i];
    if (!play->actors[i].active)
      continue;
    double rate = play->actors[i].flow.rate;
    CU_ASSERT_TRUE(rate > 0 && rate <= flow->cap);
    for (guint32 h = 0; h < flow->n; h++) {
      loads[flow->links[h]] += rate * flow->coefficients[h] * flow->count;
      highest[flow->links[h]] = MAX(highest[flow->links[h]], rate / flow->weight);
    }
  }
}

#define NEARLY (1 - 1e-12) /* of what is summed in another order here */

/* Feasible: no link above its capacity. Fair: every flow is at its cap, or has a full link on which none goes faster
 * for its weight (Bertsekas and Gallager, Data Networks, 6.5.2: the bottleneck condition, which only one allocation
 * meets). */
static void look_for_fairness(const Play *play) {
  double loads[MOST_LINKS] = {0}, highest[MOST_LINKS] = {0};
  survey(play, loads, highest);
  for (guint32 l = 0; l < play->script->n_links; l++)
    CU_ASSERT_TRUE(loads[l] * NEARLY <= play->capacities[l]);
  for (guint32 i = 0; i < play->script->n_flows; i++) {
    const PlayFlow *flow = &play->script->flows[i];
    if (!play->actors[i].active)
      continue;
    double rate = play->actors[i].flow.rate;
    gboolean stopped = rate == flow->cap;
    for (guint32 h = 0; h < flow->n; h++) {
      guint32 l = flow->links[h];
      stopped |= loads[l] >= play->capacities[l] * NEARLY && rate / flow->weight >= highest[l] * NEARLY;
    }
    CU_ASSERT_TRUE(stopped);
  }
}

static void check_fair(Random *system) {
  g_autoptr(PlayResult) lazy = play_looking(&system->script, NET_SOLVER_LAZY, FALSE, look_for_fairness);
  CU_ASSERT_TRUE(lazy->instants->len == 0);
  g_autoptr(PlayResult) full = play_looking(&system->script, NET_SOLVER_FULL, FALSE, look_for_fairness);
  CU_ASSERT_TRUE(play_results_equal(&system->script, lazy, full));
}

static void feasible_and_fair(void) {
  for_each_system(check_fair);
}

/* Link l becomes n - 1 - l, flow i becomes n - 1 - i, and the hops of a route turn round. */
static void renumber(const Random *from, Random *to) {
  *to = *from;
  PlayScript *script = &to->script;
  script->capacities = to->capacities;
  script->flows = to->flows;
  script->changes = to->changes;
  for (guint32 l = 0; l < script->n_links; l++)
    to->capacities[script->n_links - 1 - l] = from->capacities[l];
  for (guint32 i = 0; i < script->n_changes; i++)
    to->changes[i].link = script->n_links - 1 - from->changes[i].link;
  for (guint32 i = 0; i < script->n_flows; i++) {
    PlayFlow *flow = &to->flows[script->n_flows - 1 - i];
    *flow = from->flows[i];
    for (guint32 h = 0; h < flow->n; h++) {
      flow->links[h] = script->n_links - 1 - from->flows[i].links[flow->n - 1 - h];
      flow->coefficients[h] = from->flows[i].coefficients[flow->n - 1 - h];
    }
  }
}

/* Two changes of one link at one instant would be played in the order of their numbers. */
static void one_change_a_time(Random *system) {
  for (guint32 i = 0; i < system->script.n_changes; i++)
    system->changes[i].at += i;
}

static void check_renumbered(Random *system) {
  one_change_a_time(system);
  g_autofree Random *other = g_new0(Random, 1);
  renumber(system, other);
  guint32 flows = system->script.n_flows, links = system->script.n_links;
  for (int solver = NET_SOLVER_LAZY; solver <= NET_SOLVER_FULL; solver++) {
    g_autoptr(PlayResult) a = play(&system->script, (NetSolver)solver);
    g_autoptr(PlayResult) b = play(&other->script, (NetSolver)solver);
    CU_ASSERT_EQUAL_FATAL(a->instants->len, b->instants->len);
    for (guint32 i = 0; i < flows; i++)
      CU_ASSERT_EQUAL(a->ends[i], b->ends[flows - 1 - i]);
    for (guint32 l = 0; l < links; l++) {
      CU_ASSERT_EQUAL(a->link_bytes[l], b->link_bytes[links - 1 - l]);
      CU_ASSERT_EQUAL(a->link_busy[l], b->link_busy[links - 1 - l]);
    }
    for (guint k = 0; k < a->rates->len; k++)
      CU_ASSERT_EQUAL(g_array_index(a->rates, double, k),
                      g_array_index(b->rates, double, k - k % flows + flows - 1 - k % flows));
  }
}

static void numbering_is_nothing(void) {
  for_each_system(check_renumbered);
}

/* Twice the capacities, caps and volumes: the same times, twice the rates. Powers of two cost no rounding. */
static void check_doubled(Random *system) {
  g_autoptr(PlayResult) once = play(&system->script, NET_SOLVER_LAZY);
  for (guint32 l = 0; l < system->script.n_links; l++)
    system->capacities[l] *= 2;
  for (guint32 i = 0; i < system->script.n_changes; i++)
    system->changes[i].capacity *= 2;
  for (guint32 i = 0; i < system->script.n_flows; i++) {
    system->flows[i].volume *= 2;
    if (system->flows[i].cap < G_MAXDOUBLE)
      system->flows[i].cap *= 2;
  }
  g_autoptr(PlayResult) twice = play(&system->script, NET_SOLVER_LAZY);
  CU_ASSERT_EQUAL_FATAL(once->rates->len, twice->rates->len);
  for (guint k = 0; k < once->rates->len; k++)
    CU_ASSERT_EQUAL(2 * g_array_index(once->rates, double, k), g_array_index(twice->rates, double, k));
  CU_ASSERT_TRUE(play_same_bits(once->ends, twice->ends, system->script.n_flows * sizeof(SimTime)));
  CU_ASSERT_TRUE(play_same_bits(once->link_busy, twice->link_busy, system->script.n_links * sizeof(SimTime)));
}

static void doubling_doubles(void) {
  for_each_system(check_doubled);
}

/* A class of `count` becomes so many flows of one. */
static void check_classes(Random *system) {
  g_autofree Random *other = g_memdup2(system, sizeof *system);
  PlayFlow *flows = g_new(PlayFlow, 3 * MOST_FLOWS);
  g_autofree guint32 *origins = g_new(guint32, 3 * MOST_FLOWS);
  other->script.flows = flows;
  other->script.n_flows = 0;
  for (guint32 i = 0; i < system->script.n_flows; i++)
    for (guint32 k = 0; k < system->flows[i].count; k++) {
      origins[other->script.n_flows] = i;
      flows[other->script.n_flows] = system->flows[i];
      flows[other->script.n_flows++].count = 1;
    }
  for (int solver = NET_SOLVER_LAZY; solver <= NET_SOLVER_FULL; solver++) {
    g_autoptr(PlayResult) classes = play(&system->script, (NetSolver)solver);
    g_autoptr(PlayResult) singles = play(&other->script, (NetSolver)solver);
    CU_ASSERT_EQUAL_FATAL(classes->instants->len, singles->instants->len);
    for (guint32 i = 0; i < other->script.n_flows; i++)
      CU_ASSERT_EQUAL(singles->ends[i], classes->ends[origins[i]]);
    for (guint at = 0; at < classes->instants->len; at++)
      for (guint32 i = 0; i < other->script.n_flows; i++)
        CU_ASSERT_EQUAL(g_array_index(singles->rates, double, at * other->script.n_flows + i),
                        g_array_index(classes->rates, double, at * system->script.n_flows + origins[i]));
    CU_ASSERT_TRUE(play_same_bits(classes->link_bytes, singles->link_bytes, system->script.n_links * sizeof(double)));
    CU_ASSERT_TRUE(play_same_bits(classes->link_busy, singles->link_busy, system->script.n_links * sizeof(SimTime)));
  }
  g_free(flows);
}

static void classes_equal_singles(void) {
  for_each_system(check_classes);
}

int main(void) {
  return harness_run("net-random", (HarnessCase[]){{"lazy equals full", lazy_equals_full},
                                                   {"undone is nothing", undone_is_nothing},
                                                   {"a planted fault is seen", comparison_can_fail},
                                                   {"feasible and fair", feasible_and_fair},
                                                   {"numbering is nothing", numbering_is_nothing},
                                                   {"doubling doubles", doubling_doubles},
                                                   {"classes equal single flows", classes_equal_singles},
                                                   {NULL, NULL}});
}
