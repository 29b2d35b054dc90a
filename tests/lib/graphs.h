/* SPDX-License-Identifier: MIT */
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

void world_clear(World *world);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(World, world_clear)

/* `text` NULL: `more` names a topology. */
const CollGraphs *world_build(World *ret, const char *text, const char *more, guint32 n, guint32 nodes,
                              const char *version);

/* Channels, GB/s inside, GB/s outside. */
typedef struct {
  guint32 channels;
  double intra, inter; /* GB/s */
} Speed;

void expect_speed(const char *name, const char *graph, const CollGraph *found, Speed speed);
