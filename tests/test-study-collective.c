/* SPDX-License-Identifier: MIT */
/* Collectives by themselves: sizes, counts and bandwidths as nccl-tests has them, and what is refused. */
#include <string.h>

#include "harness.h"
#include "study-collective.h"

static StudyCollective *open_on(const char *operation, const char *dtype, const char *nodes) {
  g_autoptr(StudyCollective) collective = study_collective_new();
  const char *const settings[][2] = {{"cluster.topology", "dgx-h100"},
                                     {"cluster.nodes", nodes},
                                     {"collective.operation", operation},
                                     {"collective.dtype", dtype}};
  GError *error = NULL;
  for (gsize i = 0; i < G_N_ELEMENTS(settings); i++)
    if (!study_collective_put(collective, settings[i][0], settings[i][1], NULL, &error))
      g_error("%s", error->message);
  if (!study_collective_build(collective, &error))
    g_error("%s", error->message);
  return g_steal_pointer(&collective);
}

/* nccl-tests' doc/PERFORMANCE.md: algbw = S/t; busbw = algbw × 2(n-1)/n for all-reduce, × (n-1)/n for all-gather and
 * reduce-scatter, of which S counts all ranks and count is one rank's. n = 16. */
static void columns_are_nccl_tests(void) {
  const struct {
    const char *operation, *redop;
    double bus;
    guint64 elements; /* of 64 MiB in floats of 4 bytes */
  } cases[] = {{"all-reduce", "sum", 2 * 15.0 / 16, (64 << 20) / 4},
               {"all-gather", "none", 15.0 / 16, (64 << 20) / 4 / 16},
               {"reduce-scatter", "sum", 15.0 / 16, (64 << 20) / 4 / 16}};
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(StudyCollective) collective = open_on(cases[i].operation, "float", "2");
    StudyCollectiveCall call;
    CU_ASSERT_EQUAL(study_collective_ranks(collective), 16);
    CU_ASSERT_TRUE(study_collective_call(collective, 64 << 20, &call));
    CU_ASSERT_EQUAL(call.bytes, 64 << 20);
    CU_ASSERT_EQUAL(call.elements, cases[i].elements);
    CU_ASSERT_STRING_EQUAL(call.redop, cases[i].redop);
    CU_ASSERT_EQUAL(call.root, -1);
    double seconds = sim_time_to_seconds(call.time);
    CU_ASSERT_DOUBLE_EQUAL(call.algorithm_bandwidth, (64 << 20) / seconds, 1);
    CU_ASSERT_DOUBLE_EQUAL(call.bus_bandwidth, cases[i].bus * (64 << 20) / seconds, 1);
  }
}

/* 16 ranks of 8 bytes share 128 bytes; 1000 is 7 such units and a rest. */
static void sizes_are_whole_elements(void) {
  g_autoptr(StudyCollective) gather = open_on("all-gather", "double", "2");
  StudyCollectiveCall call;
  CU_ASSERT_FALSE(study_collective_call(gather, 127, &call));
  CU_ASSERT_TRUE(study_collective_call(gather, 1000, &call));
  CU_ASSERT_EQUAL(call.bytes, 7 * 128);
  CU_ASSERT_EQUAL(call.elements, 7);
  CU_ASSERT_STRING_EQUAL(call.dtype, "double");
}

static void larger_takes_no_less(void) {
  g_autoptr(StudyCollective) reduce = open_on("all-reduce", "float", "4");
  StudyCollectiveCall small, large;
  CU_ASSERT_TRUE(study_collective_call(reduce, 1 << 30, &small));
  CU_ASSERT_TRUE(study_collective_call(reduce, (guint64)1 << 33, &large));
  CU_ASSERT_TRUE(large.time > small.time);
}

static StudyPoint *point_of(const char *operation, const char *algorithm, const char *nodes, const char *bytes) {
  StudyPoint *point = study_point_new("t.csv");
  study_point_add(point, "cluster.topology", "dgx-h100", 2, 1);
  study_point_add(point, "cluster.nodes", nodes, 2, 10);
  study_point_add(point, "collective.operation", operation, 2, 20);
  study_point_add(point, "collective.bytes", bytes, 2, 30);
  if (algorithm != NULL)
    study_point_add(point, "collective.algorithm", algorithm, 2, 40);
  return point;
}

static void points_say_why_not(void) {
  StudyCollectiveCall call, forced, alone;
  g_autoptr(StudyCache) cache = study_cache_new();
  g_autoptr(StudyCache) fresh = study_cache_new();
  g_autoptr(StudyPoint) good = point_of("all-reduce", NULL, "2", "1024");
  g_autoptr(StudyPoint) ring = point_of("all-reduce", "ring", "2", "1024");
  CU_ASSERT_TRUE(study_collective_run_point(good, cache, &call));
  CU_ASSERT_EQUAL(good->reasons->len, 0);
  CU_ASSERT_TRUE(study_collective_run_point(ring, cache, &forced));
  CU_ASSERT_STRING_EQUAL(forced.algorithm, "ring");
  CU_ASSERT_TRUE(forced.time >= call.time); /* the tuner's choice is the quickest it sees: 16 ranks, 1 KiB: a tree */

  /* What the cache holds of the first changes nothing of the second. */
  g_autoptr(StudyPoint) same = point_of("all-reduce", "ring", "2", "1024");
  CU_ASSERT_TRUE(study_collective_run_point(same, fresh, &alone));
  CU_ASSERT_EQUAL(alone.time, forced.time);
  CU_ASSERT_EQUAL(alone.channels, forced.channels);

  g_autoptr(StudyPoint) tree = point_of("all-gather", "tree", "2", "1024");
  CU_ASSERT_FALSE(study_collective_run_point(tree, cache, &call));
  CU_ASSERT_EQUAL(tree->reasons->len, 1);
  CU_ASSERT_STRING_EQUAL((char *)tree->reasons->pdata[0], "collective.algorithm: NCCL has no tree for all-gather here");

  g_autoptr(StudyPoint) twice = point_of("all-everything", NULL, "none", "1024");
  CU_ASSERT_FALSE(study_collective_run_point(twice, cache, &call));
  CU_ASSERT_EQUAL(twice->reasons->len, 2);
  CU_ASSERT_TRUE(g_str_has_prefix(twice->reasons->pdata[0], "cluster.nodes: expected a whole number"));
  CU_ASSERT_TRUE(g_str_has_prefix(twice->reasons->pdata[1], "collective.operation: expected one of"));

  g_autoptr(StudyPoint) little = point_of("all-gather", NULL, "2", "8");
  CU_ASSERT_FALSE(study_collective_run_point(little, cache, &call));
  CU_ASSERT_STRING_EQUAL((char *)little->reasons->pdata[0], "collective.bytes: 8 bytes hold no element for each rank");
}

int main(void) {
  return harness_run("collectives", (HarnessCase[]){{"nccl-tests' columns", columns_are_nccl_tests},
                                                    {"whole elements", sizes_are_whole_elements},
                                                    {"larger takes longer", larger_takes_no_less},
                                                    {"points and their reasons", points_say_why_not},
                                                    {NULL, NULL}});
}
