/* SPDX-License-Identifier: MIT */
/* Folding a large cluster: building it, its rings, and the colours, for one communicator of all and for hybrid
 * sharding.
 *
 * Hybrid: a communicator per node and one per GPU number over all nodes, the Program of one row on each: what
 * refinement has to look through is the same as for a whole model. */
#include "bench.h"
#include "coll-library.h"
#include "conf-settings.h"
#include "fold.h"
#include "kernel-op.h"

#define TIMES 5

typedef struct {
  double cluster, groups, fold; /* seconds, the least of TIMES */
  guint32 classes, communicators, links;
} Result;

static HwCluster *build_cluster(const HwCatalog *catalog, guint32 nodes, const char *more) {
  ConfSchema schemas[] = {hw_cluster_schema, hw_topology_schema};
  g_autoptr(ConfSettings) settings = conf_settings_new(schemas, G_N_ELEMENTS(schemas));
  g_autofree char *count = g_strdup_printf("cluster.nodes=%u", nodes);
  const char *const sets[] = {"cluster.topology=dgx-h100", count, more};
  GError *error = NULL;
  for (gsize i = 0; i < G_N_ELEMENTS(sets); i++)
    if (sets[i] != NULL && !conf_settings_set(settings, sets[i], &error))
      g_error("%s", error->message);
  HwCluster *cluster = hw_cluster_build(settings, catalog, &error);
  if (cluster == NULL)
    g_error("%s", error->message);
  return cluster;
}

static void rows(ProgramBuilder *builder, guint32 stream, guint32 first, guint32 second) {
  for (int kind = PROGRAM_FIRST; kind < PROGRAM_SECTIONS; kind++) {
    program_builder_section(builder, (ProgramSectionKind)kind);
    program_builder_collective(builder, stream, "gather", first, (CollCall){COLL_ALL_GATHER, 1 << 30},
                               PROGRAM_HINT_NONE);
    if (second != PROGRAM_NONE)
      program_builder_collective(builder, stream, "reduce", second, (CollCall){COLL_ALL_REDUCE, 1 << 30},
                                 PROGRAM_HINT_NONE);
  }
}

static Program *one_communicator(const HwCluster *cluster) {
  ProgramBuilder *builder = program_builder_new();
  guint32 n = hw_cluster_gpus(cluster), stream = program_builder_stream(builder, "comm");
  g_autofree guint32 *ranks = g_new(guint32, n);
  for (guint32 i = 0; i < n; i++)
    ranks[i] = i;
  program_builder_role(builder, "rank", n);
  rows(builder, stream, program_builder_communicator(builder, "all", ranks, n), PROGRAM_NONE);
  return program_builder_end(builder);
}

static Program *hybrid(const HwCluster *cluster) {
  ProgramBuilder *builder = program_builder_new();
  guint32 stream = program_builder_stream(builder, "comm"), width = cluster->gpus_per_node, nodes = cluster->nodes;
  g_autofree guint32 *ranks = g_new(guint32, MAX(nodes, width));
  for (guint32 node = 0; node < nodes; node++) {
    for (guint32 i = 0; i < width; i++)
      ranks[i] = node * width + i;
    program_builder_communicator(builder, "shard", ranks, width);
  }
  for (guint32 gpu = 0; gpu < width; gpu++) {
    for (guint32 i = 0; i < nodes; i++)
      ranks[i] = i * width + gpu;
    program_builder_communicator(builder, "replicas", ranks, nodes);
  }
  for (guint32 rank = 0; rank < nodes * width; rank++) {
    program_builder_role(builder, "rank", 1);
    rows(builder, stream, rank / width, nodes + rank % width);
  }
  return program_builder_end(builder);
}

static void measure(const HwCatalog *catalog, guint32 nodes, gboolean many, const char *more, Result *ret) {
  CollKnobs knobs;
  coll_knobs_init(&knobs);
  GError *error = NULL;
  double start = bench_seconds();
  g_autoptr(HwCluster) cluster = build_cluster(catalog, nodes, more);
  ret->cluster = MIN(ret->cluster, bench_seconds() - start);
  g_autoptr(Program) program = (many ? hybrid : one_communicator)(cluster);
  g_autofree CollGroup **groups = g_new0(CollGroup *, program->n_communicators);
  g_autoptr(CollLibrary) library = coll_library_new(cluster, &knobs, &error);
  if (library == NULL)
    g_error("%s", error->message);
  start = bench_seconds();
  for (guint32 c = 0; c < program->n_communicators; c++)
    groups[c] = coll_group_new(library, program->communicators[c].ranks, program->communicators[c].n_ranks, NULL);
  for (guint32 c = 0; c < program->n_communicators; c++)
    coll_group_connect(groups[c], COLL_RING);
  ret->groups = MIN(ret->groups, bench_seconds() - start);
  start = bench_seconds();
  g_autoptr(FoldSystem) system = fold_new(program, cluster, groups, TRUE);
  ret->fold = MIN(ret->fold, bench_seconds() - start);
  ret->classes = system->program.n_ranks;
  ret->communicators = system->program.n_communicators;
  ret->links = system->n_links;
  for (guint32 c = 0; c < program->n_communicators; c++)
    coll_group_free(groups[c]);
}

int main(void) {
  static const struct {
    const char *name;
    guint32 nodes;
    gboolean many;
    const char *more;
  } cases[] = {
      {"one communicator, 1 024 GPUs", 128, FALSE, NULL},
      {"one communicator, 16 384 GPUs", 2048, FALSE, NULL},
      {"the same, one GPU slower", 2048, FALSE, "cluster.slow_gpus=17: 0.8"},
      {"the same, a fat tree", 2048, FALSE, "fabric.kind=fat-tree"},
      {"the same, a leaf per node", 2048, FALSE, "fabric.nodes_per_leaf=1"},
      {"hybrid, 16 384 GPUs", 2048, TRUE, NULL},
      {"hybrid, one GPU slower", 2048, TRUE, "cluster.slow_gpus=17: 0.8"},
  };
  g_autoptr(HwCatalog) catalog = hw_catalog_load(NULL);
  bench_head("fold: colours of a cluster");
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    Result best = {1e9, 1e9, 1e9, 0, 0, 0};
    for (int time = 0; time < TIMES; time++)
      measure(catalog, cases[i].nodes, cases[i].many, cases[i].more, &best);
    printf("  %-30s cluster %5.2f ms, rings %5.2f ms, fold %5.2f ms, in all %5.2f ms: %u ranks, %u communicators, %u "
           "links\n",
           cases[i].name, best.cluster * 1e3, best.groups * 1e3, best.fold * 1e3,
           (best.cluster + best.groups + best.fold) * 1e3, best.classes, best.communicators, best.links);
  }
  return 0;
}
