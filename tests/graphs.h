/* Graphs of the first GPUs of each node of a machine, for tests.
 *
 *   g_auto(World) world = {0};
 *   const CollGraphs *graphs = world_build(&world, NULL, "cluster.topology=dgx-h100;cluster.nodes=2", 8, 2, "2.30");
 */
#pragma once

#include "coll-graph.h"
#include "machine.h"

typedef struct {
  Machine machine;
  CollSearchRules rules;
  guint32 gpus[64];
  CollGraphRequest request;
  CollGraphs *graphs;
} World;

static inline void world_clear(World *world) {
  coll_graphs_free(world->graphs);
  machine_clear(&world->machine);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(World, world_clear)

/* `text` NULL: `more` names a topology. */
static inline const CollGraphs *world_build(World *ret, const char *text, const char *more, guint32 n, guint32 nodes,
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

/* Channels, GB/s inside, GB/s outside. */
typedef struct {
  guint32 channels;
  double intra, inter; /* GB/s */
} Speed;

static inline void expect_speed(const char *name, const char *graph, const CollGraph *found, Speed speed) {
  if (found->channels != speed.channels || found->intra != speed.intra * 1e9 || found->inter != speed.inter * 1e9)
    printf("\n    %s, %s: %u x %g/%g\n", name, graph, found->channels, found->intra / 1e9, found->inter / 1e9);
  CU_ASSERT_EQUAL(found->channels, speed.channels);
  CU_ASSERT_EQUAL(found->intra, speed.intra * 1e9);
  CU_ASSERT_EQUAL(found->inter, speed.inter * 1e9);
}
