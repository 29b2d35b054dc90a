/* SPDX-License-Identifier: MIT */
/* Communicators of a composed layout: tensor 8 x pipeline 16 x data 128 on 16 384 GPUs, so 2 048 tensor groups, 128
 * data groups, and a pair of neighbouring stages for each rank, way and parity: some 35 000, built and folded.
 *
 * Printed for half, one and twice the data ranks: what grows with them is to grow in step. */
#include <sys/resource.h>

#include "bench.h"
#include "coll-library.h"
#include "conf-settings.h"
#include "fold.h"
#include "kernel-op.h"
#include "layout.h"

#define TENSOR   8
#define PIPELINE 16
#define TIMES    3

typedef enum { DOWN, UP, WAYS } Way;

typedef struct {
  double program, groups, fold; /* seconds, the least of TIMES */
  guint32 communicators, classes;
} Result;

static HwCluster *build_cluster(const HwCatalog *catalog, guint32 nodes) {
  ConfSchema schemas[] = {hw_cluster_schema, hw_topology_schema};
  g_autoptr(ConfSettings) settings = conf_settings_new(schemas, G_N_ELEMENTS(schemas));
  g_autofree char *count = g_strdup_printf("cluster.nodes=%u", nodes);
  GError *error = NULL;
  if (!conf_settings_set(settings, "cluster.topology=dgx-h100", &error) || !conf_settings_set(settings, count, &error))
    g_error("%s", error->message);
  HwCluster *cluster = hw_cluster_build(settings, catalog, &error);
  if (cluster == NULL)
    g_error("%s", error->message);
  return cluster;
}

/* Pairs of stages (0 1) (2 3) … where `odd` is 0, (1 2) (3 4) … (last 0) where it is 1. */
static guint32 pairs(ProgramBuilder *builder, const Layout *layout, const char *name, guint32 odd) {
  g_autofree guint32 *of_rank = g_new(guint32, layout->ranks);
  guint32 lanes = layout->ranks / PIPELINE;
  for (guint32 rank = 0; rank < layout->ranks; rank++) {
    guint32 stage = layout_coordinate(layout, rank, LAYOUT_PIPELINE);
    guint32 pair = (stage + PIPELINE - odd) % PIPELINE / 2;
    of_rank[rank] = pair * lanes + layout_group(layout, LAYOUT_BIT(LAYOUT_PIPELINE), rank);
  }
  return program_builder_communicators(builder, name, of_rank, layout->ranks);
}

static guint32 axis(ProgramBuilder *builder, const Layout *layout, const char *name, LayoutSet set) {
  g_autofree guint32 *of_rank = g_new(guint32, layout->ranks);
  layout_of_rank(layout, set, of_rank);
  return program_builder_communicators(builder, name, of_rank, layout->ranks);
}

static Program *composed(guint32 data) {
  Layout layout;
  LayoutDegrees degrees = {.tensor = TENSOR, .pipeline = PIPELINE};
  GError *error = NULL;
  if (!layout_init(&layout, &degrees, TENSOR * PIPELINE * data, layout_default_order("megatron", FALSE), &error))
    g_error("%s", error->message);
  ProgramBuilder *builder = program_builder_new();
  guint32 stream = program_builder_stream(builder, "comm");
  guint32 tensor = axis(builder, &layout, "tensor", LAYOUT_BIT(LAYOUT_TENSOR));
  guint32 shard = axis(builder, &layout, "data", LAYOUT_DATA);
  guint32 neighbours[WAYS][2];
  for (Way way = DOWN; way < WAYS; way++)
    for (guint32 odd = 0; odd < 2; odd++)
      neighbours[way][odd] = pairs(builder, &layout, way == DOWN ? "down" : "up", odd);
  g_autofree guint32 *ranks = g_new(guint32, layout.ranks);
  for (guint32 stage = 0; stage < PIPELINE; stage++) {
    guint32 n = 0;
    for (guint32 rank = 0; rank < layout.ranks; rank++)
      if (layout_coordinate(&layout, rank, LAYOUT_PIPELINE) == stage)
        ranks[n++] = rank;
    program_builder_role_of(builder, "stage", ranks, n);
    for (int kind = PROGRAM_FIRST; kind < PROGRAM_SECTIONS; kind++) {
      program_builder_section(builder, (ProgramSectionKind)kind);
      program_builder_collective(builder, stream, "gather", shard, (CollCall){COLL_ALL_GATHER, 1 << 28},
                                 PROGRAM_HINT_NONE);
      program_builder_cost(builder, stage); /* no two stages do the same */
      program_builder_collective(builder, stream, "reduce", tensor, (CollCall){COLL_ALL_REDUCE, 1 << 26},
                                 PROGRAM_HINT_NONE);
      for (Way way = DOWN; way < WAYS; way++)
        for (guint32 odd = 0; odd < 2; odd++)
          program_builder_collective(builder, stream, "send", neighbours[way][(odd + stage) % 2],
                                     (CollCall){COLL_SEND_RECV, 1 << 26}, PROGRAM_HINT_PIPELINE);
    }
  }
  return program_builder_end(builder);
}

static CollCall call_of(const ProgramCommunicator *communicator) {
  if (communicator->n_ranks == 2)
    return (CollCall){COLL_SEND_RECV, 1 << 26};
  return communicator->n_ranks == TENSOR ? (CollCall){COLL_ALL_REDUCE, 1 << 26} : (CollCall){COLL_ALL_GATHER, 1 << 28};
}

static void measure(const HwCatalog *catalog, guint32 data, Result *ret) {
  CollKnobs knobs;
  coll_knobs_init(&knobs);
  GError *error = NULL;
  g_autoptr(HwCluster) cluster = build_cluster(catalog, PIPELINE * data);
  double start = bench_seconds();
  g_autoptr(Program) program = composed(data);
  ret->program = MIN(ret->program, bench_seconds() - start);
  g_autoptr(CollLibrary) library = coll_library_new(cluster, &knobs, &error);
  if (library == NULL)
    g_error("%s", error->message);
  g_autofree CollGroup **groups = g_new0(CollGroup *, program->n_communicators);
  start = bench_seconds();
  for (guint32 c = 0; c < program->n_communicators; c++) {
    const ProgramCommunicator *communicator = &program->communicators[c];
    CollCall call = call_of(communicator);
    groups[c] = coll_group_new(library, communicator->ranks, communicator->n_ranks, &error);
    if (groups[c] == NULL)
      g_error("%s", error->message);
    coll_group_prepare(groups[c], &call);
  }
  ret->groups = MIN(ret->groups, bench_seconds() - start);
  start = bench_seconds();
  g_autoptr(FoldSystem) system = fold_new(program, cluster, groups, TRUE);
  ret->fold = MIN(ret->fold, bench_seconds() - start);
  ret->communicators = program->n_communicators;
  ret->classes = system->program.n_ranks;
  for (guint32 c = 0; c < program->n_communicators; c++)
    coll_group_free(groups[c]);
}

int main(void) {
  static const guint32 data[] = {64, 128, 256};
  g_autoptr(HwCatalog) catalog = hw_catalog_load(NULL);
  bench_head("communicators of tensor 8 x pipeline 16 x data");
  for (gsize i = 0; i < G_N_ELEMENTS(data); i++) {
    Result best = {1e9, 1e9, 1e9, 0, 0};
    for (int time = 0; time < TIMES; time++)
      measure(catalog, data[i], &best);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("  %6u GPUs, %6u communicators: Program %5.0f ms, groups %5.0f ms, fold %5.0f ms, %4ld MB at most: %u ranks "
           "played\n",
           TENSOR * PIPELINE * data[i], best.communicators, best.program * 1e3, best.groups * 1e3, best.fold * 1e3,
           usage.ru_maxrss / 1024, best.classes);
  }
  return 0;
}
