/* SPDX-License-Identifier: MIT */
/* NCCL's graphs on a test machine, and their speeds against expected ones. */
#include "graphs.h"

void world_clear(World *world) {
  coll_graphs_free(world->graphs);
  machine_clear(&world->machine);
}

const CollGraphs *world_build(World *ret, const char *text, const char *more, guint32 n, guint32 nodes,
                              const char *version) {
  GError *error = NULL;
  machine_must(&ret->machine, text, more);
  if (!coll_search_rules_load(version, &ret->rules, &error))
    g_error("%s", error->message);
  for (guint32 i = 0; i < n; i++)
    ret->gpus[i] = i;
  ret->request = (CollGraphRequest){ret->gpus, n, nodes, n * nodes, 0, 0, 2, TRUE, TRUE};
  ret->graphs = coll_graphs_new(ret->machine.cluster->machine, &ret->rules, &ret->request, &error);
  if (ret->graphs == NULL)
    g_error("%s", error->message);
  return ret->graphs;
}

void expect_speed(const char *name, const char *graph, const CollGraph *found, Speed speed) {
  if (found->channels != speed.channels || found->intra != speed.intra * 1e9 || found->inter != speed.inter * 1e9)
    printf("\n    %s, %s: %u x %g/%g\n", name, graph, found->channels, found->intra / 1e9, found->inter / 1e9);
  CU_ASSERT_EQUAL(found->channels, speed.channels);
  CU_ASSERT_EQUAL(found->intra, speed.intra * 1e9);
  CU_ASSERT_EQUAL(found->inter, speed.inter * 1e9);
}
