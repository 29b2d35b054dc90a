/* SPDX-License-Identifier: MIT */
/* NCCL's tuner against the table that it prints itself; versions, knobs, and what follows at scale. */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>

#include "cluster.h"
#include "coll-knobs.h"
#include "coll-matrix.h"
#include "coll-steps.h"
#include "coll-tuner.h"
#include "conf-settings.h"
#include "group.h"
#include "harness.h"

static CollGroup *group_with(const HwCluster *cluster, CollKnobs *knobs, guint32 n, GError **error) {
  g_autoptr(CollLibrary) library = coll_library_new(cluster, knobs, error);
  g_autofree guint32 *ranks = g_new(guint32, n);
  for (guint32 i = 0; i < n; i++)
    ranks[i] = i;
  return library != NULL ? coll_group_new(library, ranks, n, error) : NULL;
}

typedef struct {
  double latency, bandwidth;
} Cell;

/* Six H100 behind NVSwitch, NCCL 2.29.2: the TUNING table of a public nccl-tests log (xxrjun/nccl-tests-cluster), in us
 * and GB/s. By call, algorithm, then LL, LL128, Simple; what is not named is 0 / 0 there. */
static const struct {
  CollOperation operation;
  CollAlgorithm algorithm;
  Cell cells[COLL_PROTOCOLS];
} printed[] = {
    {COLL_BROADCAST, COLL_RING, {{7.2, 141.0}, {15.9, 331.2}, {11.8, 360.0}}},
    {COLL_REDUCE, COLL_RING, {{7.2, 141.0}, {15.9, 331.2}, {11.8, 360.0}}},
    {COLL_ALL_GATHER, COLL_RING, {{9.6, 169.2}, {23.5, 397.4}, {25.4, 432.0}}},
    {COLL_REDUCE_SCATTER, COLL_RING, {{9.6, 169.2}, {23.5, 397.4}, {25.4, 432.0}}},
    {COLL_ALL_REDUCE, COLL_RING, {{12.6, 84.6}, {33.0, 198.7}, {42.4, 216.0}}},
    {COLL_ALL_REDUCE, COLL_TREE, {{12.8, 43.6}, {26.5, 128.8}, {48.4, 165.6}}},
    {COLL_ALL_GATHER, COLL_COLLNET_DIRECT, {{4.0, 0}, {4.0, 0}, {42.4, 0}}},
    {COLL_REDUCE_SCATTER, COLL_COLLNET_DIRECT, {{4.0, 0}, {4.0, 0}, {42.4, 0}}},
    {COLL_ALL_REDUCE, COLL_COLLNET_DIRECT, {{4.0, 0}, {4.0, 0}, {42.4, 0}}},
    {COLL_ALL_REDUCE, COLL_COLLNET_CHAIN, {{0, 0}, {0, 0}, {58.0, 0}}},
    {COLL_ALL_GATHER, COLL_NVLS, {{0, 0}, {0, 0}, {25.0, 177.1}}},
    {COLL_REDUCE_SCATTER, COLL_NVLS, {{0, 0}, {0, 0}, {25.0, 177.1}}},
    {COLL_ALL_REDUCE, COLL_NVLS, {{0, 0}, {0, 0}, {25.0, 216.0}}},
    {COLL_ALL_REDUCE, COLL_NVLS_TREE, {{0, 0}, {0, 0}, {25.0, 0}}},
};

static Cell printed_cell(CollOperation operation, CollAlgorithm algorithm, CollProtocol protocol) {
  for (gsize i = 0; i < G_N_ELEMENTS(printed); i++)
    if (printed[i].operation == operation && printed[i].algorithm == algorithm)
      return printed[i].cells[protocol];
  return (Cell){0, 0};
}

/* To the digit that is printed: 50 ns, 50 MB/s. */
static void the_table_that_nccl_prints(void) {
  TestCluster built = cluster_new("dgx-h100", 1, "cluster.gpus_per_node=6", NULL);
  CollKnobs knobs;
  coll_knobs_init(&knobs);
  knobs.version = "2.29.2";
  g_autoptr(CollGroup) group = group_with(built.cluster, &knobs, 6, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(group);
  CU_ASSERT_EQUAL(group->channels, 24);
  CU_ASSERT_EQUAL(group->nvls_channels, 16);
  CU_ASSERT_EQUAL(group->p2p_channels, 32);
  for (CollOperation operation = 0; operation <= COLL_REDUCE; operation++)
    for (CollAlgorithm algorithm = 0; algorithm <= COLL_PAT; algorithm++)
      for (CollProtocol protocol = 0; protocol < COLL_PROTOCOLS; protocol++) {
        Cell cell = printed_cell(operation, algorithm, protocol);
        CollTunerCell ours = coll_tuner_cell(group, operation, algorithm, protocol);
        CU_ASSERT_DOUBLE_EQUAL(base_in_us(ours.latency), cell.latency, 0.0501);
        CU_ASSERT_DOUBLE_EQUAL(base_in_gb(ours.bandwidth), cell.bandwidth, 0.0501);
        CU_ASSERT_EQUAL(coll_tuner_enabled(group, operation, algorithm, protocol), cell.bandwidth > 0);
      }
  /* The same log: all-reduce of 256 MiB and more went by NVLS, on 16 channels. */
  CollCall call = {COLL_ALL_REDUCE, 256 << 20};
  CollPlan plan;
  coll_group_prepare(group, &call);
  coll_plan(group, &call, &plan);
  CU_ASSERT_EQUAL(plan.algorithm, COLL_NVLS);
  CU_ASSERT_EQUAL(plan.channels, 16);
  /* It also says what NVLS' buffers take: 201 326 592 bytes, 6 heads x 16 channels x 2 x 1 MiB. */
  CU_ASSERT_EQUAL(group->buffer_bytes, 201326592);
  cluster_clear(&built);
}

/* A send over the network counts on more of a host's CPU where that is AMD's: dgx-a100 has EPYCs, aws-p4d Xeons. */
static void processors_differ(void) {
  static const struct {
    const char *topology;
    CollCpu cpu;
  } cases[] = {{"dgx-a100", COLL_CPU_AMD}, {"aws-p4d", COLL_CPU_INTEL}};
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    TestCluster built = cluster_new(cases[i].topology, 2, NULL);
    g_autoptr(CollGroup) group = group_of_first(built.cluster, 16);
    CU_ASSERT_EQUAL(group->cpu, cases[i].cpu);
    cluster_clear(&built);
  }
}

/* What the network plugin gives for a NIC comes on top of each hop over the network: once in LL and LL128, twice in
 * Simple. Two nodes of one GPU pass a broadcast on over one hop, which NCCL takes from its tree's row. */
static void nics_have_latencies(void) {
  static const struct {
    const char *topology;
    double nic_us;
  } cases[] = {{"aws-p4d", 75}, {"dgx-h100", 0}};
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    TestCluster built = cluster_new(cases[i].topology, 2, "cluster.gpus_per_node=1", NULL);
    g_autoptr(CollGroup) group = group_of_first(built.cluster, 2);
    CU_ASSERT_PTR_NOT_NULL_FATAL(group);
    CU_ASSERT_DOUBLE_EQUAL(base_in_us(group->nic_latency), cases[i].nic_us, 1e-9);
    for (CollProtocol protocol = 0; protocol < COLL_PROTOCOLS; protocol++) {
      SimTime base = group->tuning->base[COLL_RING][protocol],
              hop = group->tuning->hop[COLL_TREE][COLL_HOP_NET][protocol];
      SimTime nic = (protocol == COLL_SIMPLE ? 2 : 1) * group->nic_latency;
      CU_ASSERT_EQUAL(coll_tuner_cell(group, COLL_BROADCAST, COLL_RING, protocol).latency, base + hop + nic);
    }
    cluster_clear(&built);
  }
}

/* LL128 crosses nodes where GPUs reach their NICs through PCI switches alone (NCCL's graph/tuning.cc: typeInter at most
 * PXB). On these machines every GPU has a NIC below its own switch: the search must end with those, the fewest hops
 * away, and not with others of the same rate behind the processors. */
static void ways_to_nics_are_short(void) {
  static const char *const topologies[] = {"dgx-a100", "oci-a100", "azure-ndv4"};
  for (gsize i = 0; i < G_N_ELEMENTS(topologies); i++) {
    TestCluster built = cluster_new(topologies[i], 2, NULL);
    g_autoptr(CollGroup) group = group_of_first(built.cluster, 16);
    CU_ASSERT_PTR_NOT_NULL_FATAL(group);
    CU_ASSERT_TRUE(coll_tuner_enabled(group, COLL_ALL_REDUCE, COLL_RING, COLL_LL128));
    cluster_clear(&built);
  }
}

static char *table_of(const char *version, gboolean *ret_exact, GError **error) {
  g_autofree char *path = coll_tuning_find(version, ret_exact, error);
  return path != NULL ? g_path_get_basename(path) : NULL;
}

static void nearest_older_table(void) {
  gboolean exact;
  GError *error = NULL;
  g_autofree char *older = table_of("2.22.3", &exact, &error);
  CU_ASSERT_STRING_EQUAL(older, "nccl-2.21.ini");
  CU_ASSERT_FALSE(exact);
  g_autofree char *own = table_of("2.21.5", &exact, &error);
  CU_ASSERT_STRING_EQUAL(own, "nccl-2.21.ini");
  CU_ASSERT_TRUE(exact);
  g_autofree char *newest = table_of(NULL, &exact, &error);
  g_autofree char *later = table_of("2.99", &exact, &error);
  CU_ASSERT_STRING_EQUAL(newest, later);
  CU_ASSERT_FALSE(exact);
  HARNESS_FAILS(table_of("2.12", &exact, &error), error, "older than the oldest");
  HARNESS_FAILS(table_of("latest", &exact, &error), error, "not a version");
}

/* A table of one's own, based on 2.30 but for the group that is given. */
static gboolean load_table(const char *group, GError **error) {
  g_autofree char *folder = g_dir_make_tmp("foretrain-tuning-XXXXXX", NULL);
  g_autofree char *path = g_build_filename(folder, "own.ini", NULL);
  g_autofree char *text = g_strconcat("[table]\nbased_on = nccl-2.30\n", group, NULL);
  CollTuning tuning;
  CU_ASSERT_TRUE_FATAL(g_file_set_contents(path, text, -1, NULL));
  gboolean loaded = coll_tuning_load(path, "hopper", &tuning, NULL, error);
  g_unlink(path);
  g_rmdir(folder);
  return loaded;
}

static void tables_are_checked(void) {
  GError *error = NULL;
  CU_ASSERT_TRUE(load_table("[steps]\nslots = 8\nsource = here\ntrust = derived\n", &error));
  HARNESS_FAILS(load_table("[steps]\nslots = 8\n", &error), error, "the group has no source: every row needs one");
  HARNESS_FAILS(load_table("[steps]\nslots = 1\nsource = here\n", &error), error,
                "a connection must hold two chunks of a ring");
  HARNESS_FAILS(load_table("[tree]\ncorrection_ll = 1 2 3\nsource = here\n", &error), error, "numbers");
  HARNESS_FAILS(load_table("[steps]\nslot = 8\nsource = here\n", &error), error, "did you mean");
}

/* As NCCL prints it under NCCL_DEBUG=INFO: the cells of the log above, three algorithms to a block. */
static void the_table_as_text(void) {
  TestCluster built = cluster_new("dgx-h100", 1, "cluster.gpus_per_node=6", NULL);
  CollKnobs knobs;
  coll_knobs_init(&knobs);
  knobs.version = "2.29.2";
  g_autoptr(CollGroup) group = group_with(built.cluster, &knobs, 6, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(group);
  g_autoptr(GString) text = g_string_new(NULL);
  coll_matrix_print(group, text);
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "\n    AllGather |"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "    9.6/ 169.2 |   23.5/ 397.4 |   25.4/ 432.0 |"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "   12.6/  84.6 |   33.0/ 198.7 |   42.4/ 216.0 |"));
  CU_ASSERT_PTR_NOT_NULL(strstr(text->str, "24 coll channels, 16 nvls channels, 32 p2p channels\n"));
  CollCall call = {COLL_ALL_REDUCE, 256 << 20};
  g_string_truncate(text, 0);
  coll_matrix_print_call(group, &call, text);
  CU_ASSERT_TRUE(g_str_has_prefix(text->str, "all-reduce of 268435456 bytes\n"));
  cluster_clear(&built);
}

/* Each table differs from the one it is based on where its history says: a tree's hop in Simple, LL's share, PAT. */
static void versions_differ(void) {
  static const struct {
    const char *version;
    double tree_hop_us, ll_share;
    gboolean pat;
  } expected[] = {{"2.18", 4, 0.25, FALSE}, {"2.19", 28, 0.25, FALSE}, {"2.21", 28, 0.5, FALSE},
                  {"2.23", 4, 0.5, TRUE},   {"2.27", 4, 0.5, TRUE},    {"2.30", 4, 0.5, TRUE}};
  for (gsize i = 0; i < G_N_ELEMENTS(expected); i++) {
    gboolean exact;
    g_autofree char *path = coll_tuning_find(expected[i].version, &exact, NULL);
    CollTuning tuning;
    CU_ASSERT_TRUE_FATAL(coll_tuning_load(path, "hopper", &tuning, NULL, NULL));
    CU_ASSERT_DOUBLE_EQUAL(base_in_us(tuning.hop[COLL_TREE][COLL_HOP_NVLINK][COLL_SIMPLE]), expected[i].tree_hop_us,
                           1e-9);
    CU_ASSERT_EQUAL(tuning.ll_share_reducing, expected[i].ll_share);
    CU_ASSERT_EQUAL(tuning.pat_available, expected[i].pat);
  }
}

/* When chunks of a tree are halved, and lines (NCCL src/enqueue.cc, src/device/prims_ll.h, prims_ll128.h). */
static void trees_are_cut(void) {
  static const guint64 simple[] = {8, 4, 1}, ll128[] = {64, 16}, lines[] = {4096, 38400, 0};
  gboolean exact;
  g_autofree char *path = coll_tuning_find("2.30", &exact, NULL);
  CollTuning tuning;
  CU_ASSERT_TRUE_FATAL(coll_tuning_load(path, "hopper", &tuning, NULL, NULL));
  CU_ASSERT_EQUAL(memcmp(tuning.tree.simple_cut, simple, sizeof simple), 0);
  CU_ASSERT_EQUAL(memcmp(tuning.tree.ll128_cut, ll128, sizeof ll128), 0);
  CU_ASSERT_EQUAL(memcmp(tuning.tree.lines, lines, sizeof lines), 0);
}

static ConfSettings *settings_of(const char *assignment) {
  ConfSettings *settings = conf_settings_new(&coll_knobs_schema, 1);
  CU_ASSERT_TRUE_FATAL(assignment == NULL || conf_settings_set(settings, assignment, NULL));
  return settings;
}

static void knobs_as_nccl_reads_them(void) {
  static const struct {
    const char *assignment;
    CollOperation operation;
    guint32 algorithms;
  } lists[] = {{"nccl.algo=Ring,Tree", COLL_ALL_REDUCE, 1u << COLL_RING | 1u << COLL_TREE},
               {"nccl.algo=^NVLS,NVLSTree", COLL_ALL_REDUCE, ~(1u << COLL_NVLS | 1u << COLL_NVLS_TREE)},
               {"nccl.algo=allreduce:tree;allgather:ring", COLL_ALL_GATHER, 1u << COLL_RING},
               {"nccl.algo=allreduce:tree;allgather:ring", COLL_REDUCE_SCATTER, G_MAXUINT32}};
  for (gsize i = 0; i < G_N_ELEMENTS(lists); i++) {
    g_autoptr(ConfSettings) settings = settings_of(lists[i].assignment);
    CollKnobs knobs;
    CU_ASSERT_TRUE_FATAL(coll_knobs_load(settings, &knobs, NULL));
    CU_ASSERT_EQUAL(knobs.algorithms[lists[i].operation], lists[i].algorithms);
    coll_knobs_clear(&knobs);
  }
  static const char *const wrong[][2] = {{"nccl.algo=rings", "did you mean \"ring\""},
                                         {"nccl.proto=ll256", "is not one of NCCL's"},
                                         {"nccl.algo=gather:ring", "is not a call of NCCL"},
                                         {"nccl.min_nchannels=63", NULL},
                                         {"nccl.version=2.4", "older than the oldest"}};
  for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
    g_autoptr(ConfSettings) settings = settings_of(wrong[i][0]);
    CollKnobs knobs;
    GError *error = NULL;
    if (wrong[i][1] != NULL)
      HARNESS_FAILS(coll_knobs_load(settings, &knobs, &error), error, wrong[i][1]);
  }
}

static SimTime time_of(CollGroup *group, const CollCall *call, CollPlan *ret) {
  coll_group_prepare(group, call);
  coll_plan(group, call, ret);
  return sim_time_add(ret->latency, sim_time_of_amount(ret->volume, ret->cap));
}

static CollGroup *must_group(const HwCluster *cluster, CollKnobs *knobs) {
  CollGroup *group = group_with(cluster, knobs, 8, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(group);
  return group;
}

/* Of an H100 node's 24 channels each ring's connection has 10 + 2 MiB of memory, each tree's two as much; 2.21 has both
 * from its first call on, and NVLS' heads, where 2.23 has what the call uses. Buffers of 1 MiB instead of 4 are 3 MiB
 * less beside what the other protocols take (10 - 4), in pages of 2 MiB: 7 MiB in 8. */
static void buffers_follow_version_and_size(void) {
  TestCluster built = cluster_new("dgx-h100", 1, NULL);
  const CollCall call = {COLL_ALL_REDUCE, 1 << 30};
  const guint64 mib = 1 << 20, ring = 24 * 12 * mib, tree = 2 * ring;
  CollKnobs knobs;
  CollPlan plan;
  coll_knobs_init(&knobs);
  knobs.nvls_enable = FALSE;
  knobs.version = (char *)"2.23";
  g_autoptr(CollGroup) lazy = must_group(built.cluster, &knobs);
  time_of(lazy, &call, &plan);
  CU_ASSERT_EQUAL(plan.algorithm, COLL_RING);
  CU_ASSERT_EQUAL(lazy->buffer_bytes, ring);
  knobs.version = (char *)"2.21";
  g_autoptr(CollGroup) eager = must_group(built.cluster, &knobs);
  time_of(eager, &call, &plan);
  CU_ASSERT_EQUAL(eager->buffer_bytes, ring + tree);
  knobs.version = (char *)"2.23";
  knobs.buffer_bytes = (double)mib;
  g_autoptr(CollGroup) small = must_group(built.cluster, &knobs);
  time_of(small, &call, &plan);
  CU_ASSERT_EQUAL(small->buffer_bytes, 24 * (8 + 2) * mib);
  cluster_clear(&built);
}

/* What each knob changes: which algorithm, how many channels, what the buffers take, the floor. */
static void knobs_act(void) {
  TestCluster built = cluster_new("dgx-h100", 1, NULL);
  const CollCall call = {COLL_ALL_REDUCE, 1 << 30};
  CollKnobs knobs;
  CollPlan plain, other;
  coll_knobs_init(&knobs);
  g_autoptr(CollGroup) group = must_group(built.cluster, &knobs);
  SimTime time = time_of(group, &call, &plain);
  CU_ASSERT_EQUAL(plain.algorithm, COLL_NVLS);
  knobs.nvls_enable = FALSE;
  g_autoptr(CollGroup) rings = must_group(built.cluster, &knobs);
  CU_ASSERT_TRUE(time_of(rings, &call, &other) > time);
  CU_ASSERT_EQUAL(other.algorithm, COLL_RING);
  CU_ASSERT_EQUAL(other.channels, 24);
  guint64 buffers = rings->buffer_bytes;
  knobs.max_channels = 8;
  g_autoptr(CollGroup) few = must_group(built.cluster, &knobs);
  CU_ASSERT_TRUE(time_of(few, &call, &other) > 0);
  CU_ASSERT_EQUAL(other.channels, 8);
  CU_ASSERT_EQUAL(few->buffer_bytes, buffers / 3);
  knobs.max_channels = 64;
  knobs.p2p_disable = TRUE;
  g_autoptr(CollGroup) host = must_group(built.cluster, &knobs);
  CU_ASSERT_TRUE(time_of(host, &call, &other) > 5 * time);
  knobs.p2p_disable = FALSE;
  knobs.cuda_graph = TRUE;
  g_autoptr(CollGroup) graph = must_group(built.cluster, &knobs);
  CU_ASSERT_EQUAL(time_of(graph, &(CollCall){COLL_ALL_GATHER, 8}, &other), built.cluster->platform->graph_floor);
  knobs.registration = TRUE;
  g_autoptr(CollGroup) windows = must_group(built.cluster, &knobs);
  CU_ASSERT_TRUE(time_of(windows, &(CollCall){COLL_ALL_REDUCE, 16 << 20}, &other) <
                 time_of(graph, &(CollCall){COLL_ALL_REDUCE, 16 << 20}, &plain));
  CU_ASSERT_EQUAL(other.algorithm, COLL_SYMMETRIC);
  cluster_clear(&built);
  TestCluster nodes = cluster_new("dgx-h100", 2, NULL);
  GError *error = NULL;
  HARNESS_FAILS(group_with(nodes.cluster, &knobs, 16, &error), error, "nccl.registration");
  cluster_clear(&nodes);
}

/* 202 million parameters in bf16, one layer of a 7B model, over 64 nodes of eight H100: 511 steps, 64 of them over the
 * network, 10 + 447 x 2.1 + 64 x 4 = 1205 us in LL128, against 405 MB at 8 x 36.7 GB/s. About half is latency, so that
 * twice the NICs gain less than a third. */
static void at_scale_latency_rules(void) {
  const CollCall layer = {COLL_ALL_GATHER, 404766720};
  TestCluster built = cluster_new("dgx-h100", 64, NULL);
  TestCluster twice = cluster_new("dgx-h100", 64, "cluster.nic_bandwidth=800 Gb/s", NULL);
  g_autoptr(CollGroup) group = group_of_first(built.cluster, 512), fast = group_of_first(twice.cluster, 512);
  CollPlan plan, faster;
  SimTime time = time_of(group, &layer, &plan), less = time_of(fast, &layer, &faster);
  CU_ASSERT_EQUAL(plan.algorithm, COLL_RING);
  printf(" (%g us, %g of it latency; with twice the NICs %g) ", base_in_us(time), base_in_us(plan.latency),
         base_in_us(less));
  CU_ASSERT_TRUE(plan.latency > time / 5 * 2);
  CU_ASSERT_TRUE(less <= time && less > time / 3 * 2);
  cluster_clear(&built);
  cluster_clear(&twice);
}

/* Small calls get few channels, and every operation has a time that grows with its bytes. */
static void every_operation(void) {
  static const guint32 shapes[][2] = {{1, 8}, {2, 8}, {4, 8}, {8, 1}};
  for (gsize s = 0; s < G_N_ELEMENTS(shapes); s++) {
    g_autofree char *gpus = g_strdup_printf("cluster.gpus_per_node=%u", shapes[s][1]);
    TestCluster built = cluster_new("dgx-h100", shapes[s][0], gpus, NULL);
    g_autoptr(CollGroup) group = group_of_first(built.cluster, shapes[s][0] * shapes[s][1]);
    for (CollOperation operation = 0; operation < COLL_OPERATIONS; operation++) {
      CollPlan small, large;
      SimTime eight = time_of(group, &(CollCall){operation, 8}, &small);
      SimTime gibibyte = time_of(group, &(CollCall){operation, 1 << 30}, &large);
      CU_ASSERT_TRUE(eight >= built.cluster->platform->launch_floor && gibibyte > 10 * eight);
      CU_ASSERT_TRUE(small.channels <= large.channels && large.channels > 0);
      /* No faster than all NICs, or a GPU's NVLinks three times over (NVLS sends once what rings send twice). */
      double bound = shapes[s][0] > 1 ? 2.2 * 8 * built.cluster->nic_bandwidth : 1.5 * built.cluster->intra_bandwidth;
      CU_ASSERT_TRUE(coll_bus_bandwidth(group, &(CollCall){operation, 1 << 30}, gibibyte) < bound);
    }
    cluster_clear(&built);
  }
}

/* A channel moves 32 KiB at the least, and an all-reduce moves its bytes twice: of 128 KiB in LL128, of which a block
 * of 640 threads reads 5 KiB at once, 8 channels and 4. */
static void channels_follow_traffic(void) {
  TestCluster built = cluster_new("dgx-h100", 1, NULL);
  CollKnobs knobs;
  coll_knobs_init(&knobs);
  for (int operation = 0; operation < COLL_OPERATIONS; operation++) {
    knobs.algorithms[operation] = 1U << COLL_RING;
    knobs.protocols[operation] = 1U << COLL_LL128;
  }
  g_autoptr(CollGroup) group = must_group(built.cluster, &knobs);
  CollPlan reduced, gathered;
  time_of(group, &(CollCall){COLL_ALL_REDUCE, 128 << 10}, &reduced);
  time_of(group, &(CollCall){COLL_ALL_GATHER, 128 << 10}, &gathered);
  CU_ASSERT_EQUAL(reduced.protocol, COLL_LL128);
  CU_ASSERT_EQUAL(reduced.channels, 8);
  CU_ASSERT_EQUAL(gathered.channels, 4);
  cluster_clear(&built);
}

static SimTime exchange(const char *platform, guint32 nodes, guint64 part) {
  g_autofree char *set = g_strconcat("environment.platform=", platform, NULL);
  TestCluster built = cluster_new("polaris", nodes, set, NULL);
  g_autoptr(CollGroup) group = group_of_first(built.cluster, 4 * nodes);
  CollPlan plan;
  SimTime time = time_of(group, &(CollCall){COLL_ALL_TO_ALL, part * 4 * nodes}, &plan);
  cluster_clear(&built);
  return time;
}

/* The proxy takes the peers of other nodes one after another, at the platform's pace, 4 × nodes − 4 of them and the
 * first hidden in the hop: over eight nodes of four 27 of 10.1 us on Slingshot, but of 22.6 us where fewer than 192
 * bytes go to each, 27 of NCCL's own 3.6 us on InfiniBand. Bytes of 128 and 256 a peer are next to nothing. */
static void proxies_take_peers_in_turn(void) {
  SimTime whole = exchange("slingshot", 8, 256), shorter = exchange("slingshot", 8, 128);
  SimTime infiniband = exchange("infiniband", 8, 256);
  CU_ASSERT_EQUAL(whole - infiniband, 27 * (SimTime)(6.5 * SIM_MICROSECOND));
  CU_ASSERT_TRUE(ABS(shorter - whole - 27 * (SimTime)(12.5 * SIM_MICROSECOND)) < SIM_MICROSECOND);
}

static guint64 head_chunk_of(const CollGroup *group, CollPlan *plan, guint64 bytes) {
  CollSteps steps;
  const CollCall call = {COLL_ALL_REDUCE, bytes};
  coll_plan(group, &call, plan);
  CU_ASSERT_EQUAL(plan->algorithm, COLL_NVLS_TREE);
  coll_steps(group, &call, plan, &steps);
  return steps.chunk / group->per_node;
}

/* The first chunk of every channel goes in and out of the switch, by two trees, and up and down on the NICs. */
static void heads_fill_their_trees(CollGroup *group, const CollCall *call, const CollPlan *plan) {
  CollSteps steps;
  coll_steps(group, call, plan, &steps);
  double first = (double)steps.chunk * plan->channels;
  CU_ASSERT_EQUAL(plan->algorithm, COLL_NVLS_TREE);
  CU_ASSERT_EQUAL(steps.fill, 2 * sim_time_of_amount(first, group->switch_rate * 2 * group->per_node) +
                                  2 * group->tree_depth * sim_time_of_amount(first, group->nic_rate));
}

/* Over two nodes each GPU carries the data of 8 + 1 heads twice, of 80.4 % of what a ring gets. A chunk of 512 KiB is
 * halved in turn. With C channels and heads at once, a call of 7 MiB times C is below 32 × 512 KiB × C, so 256 KiB, and
 * not below 16 × 256 KiB × C; one of 16 MiB times C is below neither. */
static void heads_over_two_nodes(void) {
  TestCluster built = cluster_new("dgx-h100", 2, NULL);
  g_autoptr(CollGroup) group = group_of_first(built.cluster, 16);
  CollPlan plan;
  const CollCall call = {COLL_ALL_REDUCE, 1 << 30};
  coll_group_prepare(group, &call);
  CU_ASSERT_DOUBLE_EQUAL(group->switch_rate, built.cluster->intra_bandwidth * 0.804 / 18, 1);
  CollTuning *own = group->tuning;
  CollTuning tuning = *own;
  tuning.nvls.chunk = 512 << 10;
  group->tuning = &tuning;
  coll_plan(group, &call, &plan);
  heads_fill_their_trees(group, &call, &plan);
  guint64 concurrent = (guint64)group->per_node * plan.channels;
  CU_ASSERT_EQUAL(head_chunk_of(group, &plan, (7 << 20) * concurrent), 256 << 10);
  CU_ASSERT_EQUAL(head_chunk_of(group, &plan, (16 << 20) * concurrent), 512 << 10);
  group->tuning = own;
  cluster_clear(&built);
}

int main(void) {
  return harness_run("coll-tuning", (HarnessCase[]){{"the table that NCCL prints", the_table_that_nccl_prints},
                                                    {"processors differ", processors_differ},
                                                    {"NICs have latencies", nics_have_latencies},
                                                    {"ways to NICs are short", ways_to_nics_are_short},
                                                    {"nearest older table", nearest_older_table},
                                                    {"tables are checked", tables_are_checked},
                                                    {"the table as text", the_table_as_text},
                                                    {"channels follow traffic", channels_follow_traffic},
                                                    {"trees are cut", trees_are_cut},
                                                    {"versions differ", versions_differ},
                                                    {"knobs as NCCL reads them", knobs_as_nccl_reads_them},
                                                    {"knobs act", knobs_act},
                                                    {"buffers", buffers_follow_version_and_size},
                                                    {"at scale latency rules", at_scale_latency_rules},
                                                    {"every operation", every_operation},
                                                    {"proxies take peers in turn", proxies_take_peers_in_turn},
                                                    {"heads over two nodes", heads_over_two_nodes},
                                                    {NULL, NULL}});
}
