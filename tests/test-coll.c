/* SPDX-License-Identifier: MIT */
/* Rings over known machines, and what NCCL's tuner says of calls on them. */
#include "cluster.h"
#include "group.h"
#include "harness.h"

/* Parts of a call are whole multiples of 16 bytes: latencies are as derived, and some nanoseconds for what rounding
 * adds. */
#define NEARLY(time, expected) CU_ASSERT_TRUE(ABS((time) - (expected)) < 20 * SIM_NANOSECOND)

static guint32 coefficient(const CollGroup *group, guint32 link) {
  for (guint32 i = 0; i < group->routes[COLL_RING].n; i++)
    if (group->routes[COLL_RING].links[i] == link)
      return group->routes[COLL_RING].coefficients[i];
  return 0;
}

static void one_node(void) {
  TestCluster built = cluster_new("dgx-h100", 1, NULL);
  g_autoptr(CollGroup) group = group_of_first(built.cluster, 8);
  /* 8 x H100 NVSwitch: 12 rings found, doubled to 24 channels; every GPU's way in and out carries all 12. */
  CU_ASSERT_EQUAL(group->rings, 12);
  CU_ASSERT_EQUAL(group->channels, 24);
  CU_ASSERT_EQUAL(group->routes[COLL_RING].n, 16);
  CU_ASSERT_EQUAL(coefficient(group, hw_cluster_gpu_out(built.cluster, 3)), 12);
  CU_ASSERT_DOUBLE_EQUAL(group->rates[COLL_RING] * 12, built.cluster->intra_bandwidth, 1);
  /* 256 MiB all-gather: Simple; a channel's part of a shard, 1.3 MiB, is one chunk: 13.5 + 7 x 4.2 = 42.9 us. Each rank
   * sends 7/8 of the payload, none between nodes. */
  CollPlan plan;
  coll_plan(group, &(CollCall){COLL_ALL_GATHER, 1 << 28}, &plan);
  CU_ASSERT_EQUAL(plan.protocol, COLL_SIMPLE);
  NEARLY(plan.latency, 42900 * SIM_NANOSECOND);
  CU_ASSERT_EQUAL(plan.sent_intra, (1 << 28) / 8 * 7);
  /* 1 GiB: 5.3 MiB in chunks of 2 MiB are three loops, whose later hops hide behind a chunk's other slice. */
  coll_plan(group, &(CollCall){COLL_ALL_GATHER, 1 << 30}, &plan);
  NEARLY(plan.latency, 42900 * SIM_NANOSECOND);
  CU_ASSERT_EQUAL(plan.sent_inter, 0);
  /* 8 bytes all-reduce: LL, 5.3 + 14 x 0.75 = 15.8 us, and 14 times 16 bytes on one channel of 141 / 24 = 5.9 GB/s, 38
   * ns: measured 15.7 us (ai-dynamo/aiconfigurator). */
  coll_plan(group, &(CollCall){COLL_ALL_REDUCE, 8}, &plan);
  CU_ASSERT_EQUAL(plan.protocol, COLL_LL);
  NEARLY(plan.latency, 15838 * SIM_NANOSECOND);
  cluster_clear(&built);
}

static void two_nodes(void) {
  TestCluster built = cluster_new("dgx-h100", 2, NULL);
  g_autoptr(CollGroup) group = group_of_first(built.cluster, 16);
  /* One ring per NIC: 8, 16 channels. A GPU sends 7 rings to its neighbour and one to its NIC. */
  CU_ASSERT_EQUAL(group->rings, 8);
  CU_ASSERT_EQUAL(group->channels, 16);
  CU_ASSERT_EQUAL(coefficient(group, hw_cluster_gpu_out(built.cluster, 9)), 7);
  CU_ASSERT_EQUAL(coefficient(group, hw_cluster_gpu_in(built.cluster, 9)), 7);
  CU_ASSERT_EQUAL(coefficient(group, hw_cluster_nic_out(built.cluster, 1, 5)), 1);
  CU_ASSERT_EQUAL(group->rates[COLL_RING], MIN(built.cluster->nic_bandwidth, built.cluster->intra_bandwidth / 7));
  /* Simple all-gather of one loop: 15 steps, two of them over the network for the shards that start behind it (NCCL's
   * tuner counts one): 13.5 + 13 x 4.2 + 2 x 14 = 96.1 us. */
  CollPlan plan;
  coll_plan(group, &(CollCall){COLL_ALL_GATHER, 1 << 28}, &plan);
  NEARLY(plan.latency, 96100 * SIM_NANOSECOND);
  /* 2 of 16 hops cross: an eighth of what a rank sends, on average. */
  CU_ASSERT_EQUAL(plan.sent_inter * 8, plan.sent_inter + plan.sent_intra);
  /* All-reduce of 256 MiB, 16 MiB a channel in one loop of 16 chunks: twice the steps, four over the network: 13.5 +
   * 26 x 4.2 + 4 x 14 = 178.7 us. The tuner's factor of 1.4 is part of its choice, not of the time. */
  coll_plan_forced(group, &(CollCall){COLL_ALL_REDUCE, 1 << 28}, COLL_RING, &plan);
  NEARLY(plan.latency, 178700 * SIM_NANOSECOND);
  cluster_clear(&built);
}

static guint32 tree_coefficient(const CollGroup *group, guint32 link) {
  for (guint32 i = 0; i < group->routes[COLL_TREE].n; i++)
    if (group->routes[COLL_TREE].links[i] == link)
      return group->routes[COLL_TREE].coefficients[i];
  return 0;
}

/* Tree 0 of four nodes is 0 ─ 2 ─ {1, 3}, tree 1 its mirror 3 ─ 1 ─ {2, 0}. A node's NIC sends to each neighbour in
 * both: node 0 has one in each, node 1 one and three. A GPU sends to both neighbours in eight chains, twice (two
 * trees), but for the chain that begins at it and the one that ends: 2 x (16 − 2). */
static void trees_of_four_nodes(void) {
  TestCluster built = cluster_new("dgx-h100", 4, NULL);
  g_autoptr(CollGroup) group = group_of_first(built.cluster, 32);
  static const guint32 neighbours[] = {2, 4, 4, 2};
  for (guint32 node = 0; node < 4; node++)
    for (guint32 nic = 0; nic < 8; nic++) {
      CU_ASSERT_EQUAL(tree_coefficient(group, hw_cluster_nic_out(built.cluster, node, nic)), neighbours[node]);
      CU_ASSERT_EQUAL(tree_coefficient(group, hw_cluster_nic_in(built.cluster, node, nic)), neighbours[node]);
      CU_ASSERT_EQUAL(tree_coefficient(group, hw_cluster_gpu_out(built.cluster, node * 8 + nic)), 28);
    }
  CU_ASSERT_EQUAL(group->tree_depth, 2);
  CU_ASSERT_EQUAL(group->rates[COLL_TREE], built.cluster->nic_bandwidth / 4);
  /* 8 bytes, LL: 5.3 + 2 x (7 x 0.75 + 2 x 5.0) = 35.8 us, and 18 hops of 16 bytes at half of what a channel of LL
   * reaches, 141 GB/s / 24 / 2: 0.1 us. Measured: 37.1 us (nccl-tests, 4 x 8 H100 over InfiniBand). */
  CollPlan plan;
  coll_plan(group, &(CollCall){COLL_ALL_REDUCE, 8}, &plan);
  CU_ASSERT_EQUAL(plan.algorithm, COLL_TREE);
  CU_ASSERT_EQUAL(plan.protocol, COLL_LL);
  NEARLY(plan.latency + sim_time_of_amount(plan.volume, plan.cap), 35898 * SIM_NANOSECOND);
  /* Every GPU but one a node sends up and is sent to inside its node: 2 x 7/8; 2 x 3 times over 32 between nodes. */
  coll_plan_forced(group, &(CollCall){COLL_ALL_REDUCE, 1 << 20}, COLL_TREE, &plan);
  CU_ASSERT_EQUAL(plan.sent_intra, (1 << 20) / 8 * 14);
  CU_ASSERT_EQUAL(plan.sent_inter, (1 << 20) / 32 * 6);
  /* A gibibyte goes in rings, and nothing but all-reduce in trees. */
  coll_plan(group, &(CollCall){COLL_ALL_REDUCE, 1 << 30}, &plan);
  CU_ASSERT_EQUAL(plan.algorithm, COLL_RING);
  coll_plan(group, &(CollCall){COLL_ALL_GATHER, 8}, &plan);
  CU_ASSERT_EQUAL(plan.algorithm, COLL_RING);
  cluster_clear(&built);
}

static void many_nodes_are_latency(void) {
  TestCluster built = cluster_new("dgx-h100", 64, NULL);
  g_autoptr(CollGroup) group = group_of_first(built.cluster, 512);
  /* 511 steps, 64 over the network: 13.5 + 447 x 4.2 + 64 x 14 = 2786.9 us, before any byte. */
  CollPlan plan;
  coll_plan(group, &(CollCall){COLL_ALL_GATHER, (guint64)4 << 30}, &plan);
  CU_ASSERT_EQUAL(plan.protocol, COLL_SIMPLE);
  NEARLY(plan.latency, 2786900 * SIM_NANOSECOND);
  cluster_clear(&built);
}

static void fewer_nics_than_gpus(void) {
  TestCluster built = cluster_new("aws-p4d", 2, NULL);
  g_autoptr(CollGroup) group = group_of_first(built.cluster, 16);
  /* 4 NICs for 8 GPUs: 4 rings, 8 channels; every second GPU sends one of its rings to a NIC. */
  CU_ASSERT_EQUAL(group->rings, 4);
  CU_ASSERT_EQUAL(group->channels, 8);
  guint32 through = 0;
  for (guint32 rank = 0; rank < 8; rank++)
    through += coefficient(group, hw_cluster_gpu_out(built.cluster, rank));
  CU_ASSERT_EQUAL(through, 8 * 4 - 4);
  cluster_clear(&built);
}

static void uncontended_bus_bandwidth(void) {
  TestCluster built = cluster_new("dgx-h100", 2, NULL);
  g_autoptr(CollGroup) group = group_of_first(built.cluster, 16);
  for (CollOperation operation = COLL_ALL_GATHER; operation <= COLL_REDUCE_SCATTER; operation++) {
    CollCall call = {operation, (guint64)8 << 30};
    CollPlan plan;
    coll_plan(group, &call, &plan);
    /* Without its latency a long call runs at all rings' rate in nccl-tests' bus bandwidth, but for the last of a
     * loop's 16 receives, which sends nothing: it takes 0.42 of a send's time at the node's own rate. */
    double pace = 1 / (1 / group->rates[COLL_RING] + 0.42 / 15 / (built.cluster->intra_bandwidth / 8));
    double bandwidth = coll_bus_bandwidth(group, &call, sim_time_of_amount(plan.volume, plan.cap));
    CU_ASSERT_DOUBLE_EQUAL(bandwidth / (pace * 8), 1, 1e-9);
  }
  cluster_clear(&built);
}

static void a_gpu_has_its_own_nics(void) {
  /* One GPU of each DGX H100: its ring leaves by the one NIC beside it, not by all eight; fast enough to be two. */
  TestCluster built = cluster_new("dgx-h100", 2, "cluster.gpus_per_node=1", NULL);
  g_autoptr(CollGroup) group = group_of_first(built.cluster, 2);
  CU_ASSERT_EQUAL(group->rings, 2);
  CU_ASSERT_EQUAL(group->rates[COLL_RING], built.cluster->nic_bandwidth / 2);
  cluster_clear(&built);
}

/* Polaris: four GPUs, each joined to each other by 4 of its 12 NVLinks. A ring of all four takes every wire, one of two
 * those between them: a third (measured there: 0.26 to 0.30 of what twelve links carry), as does a send to the next. */
static void a_pair_uses_its_own_wires(void) {
  TestCluster built = cluster_new("polaris", 1, NULL);
  double all = built.cluster->intra_bandwidth;
  g_autoptr(CollGroup) four = group_of_first(built.cluster, 4);
  coll_group_connect(four, COLL_RING);
  coll_group_connect(four, COLL_P2P);
  CU_ASSERT_DOUBLE_EQUAL(four->rates[COLL_RING] * four->rings, all, 1);
  CU_ASSERT_DOUBLE_EQUAL(four->rates[COLL_P2P], all / 3, 1);
  g_autoptr(CollGroup) two = group_of_first(built.cluster, 2);
  coll_group_connect(two, COLL_RING);
  CU_ASSERT_DOUBLE_EQUAL(two->rates[COLL_RING] * two->rings, all / 3, 1);
  CU_ASSERT_DOUBLE_EQUAL(two->node_rate, two->rates[COLL_RING], 1);
  cluster_clear(&built);
}

/* What one rank sends to another goes by the network, all of it, or not at all. */
static void a_pair_sends_one_way(void) {
  TestCluster built = cluster_new("dgx-h100", 2, NULL);
  static const guint32 pairs[][2] = {{0, 8}, {0, 1}};
  for (gsize i = 0; i < G_N_ELEMENTS(pairs); i++) {
    g_autoptr(CollGroup) pair = group_new(built.cluster, pairs[i], 2, NULL);
    CollCall call = {COLL_SEND_RECV, 1 << 20};
    CollPlan plan;
    coll_group_prepare(pair, &call);
    coll_plan(pair, &call, &plan);
    CU_ASSERT_EQUAL(plan.sent_inter, i == 0 ? call.bytes : 0);
    CU_ASSERT_EQUAL(plan.sent_intra, call.bytes - plan.sent_inter);
  }
  cluster_clear(&built);
}

static void uneven_groups_are_refused(void) {
  TestCluster built = cluster_new("dgx-h100", 2, NULL);
  CollTuning tuning;
  const guint32 ranks[] = {0, 1, 8};
  GError *error = NULL;
  HARNESS_FAILS(group_new(built.cluster, ranks, 3, &error), error, "as many in each of its nodes");
  HARNESS_FAILS(coll_tuning_load("nccl-2.30", "cdna3", &tuning, NULL, &error), error, "cdna3");
  cluster_clear(&built);
}

/* A scalar's tree loads nothing; the same tree does once a call of 64 KiB is on it: 4 nodes, and on each of 8 NICs both
 * trees' hops in and out. */
static void scalars_load_no_link(void) {
  TestCluster built = cluster_new("dgx-h100", 4, NULL);
  CollKnobs knobs;
  coll_knobs_init(&knobs);
  g_autoptr(CollLibrary) library = coll_library_new(built.cluster, &knobs, NULL);
  guint32 ranks[32];
  for (guint32 i = 0; i < G_N_ELEMENTS(ranks); i++)
    ranks[i] = i;
  g_autoptr(CollGroup) group = coll_group_new(library, ranks, G_N_ELEMENTS(ranks), NULL);
  CollCall scalar = {COLL_ALL_REDUCE, COLL_SCALAR_BYTES}, larger = {COLL_ALL_REDUCE, 1 << 16};
  CollPlan plan, same;
  coll_group_prepare(group, &scalar);
  coll_plan(group, &scalar, &plan);
  CU_ASSERT_EQUAL(plan.algorithm, COLL_TREE);
  CU_ASSERT_EQUAL(coll_group_route(group, COLL_TREE)->n, 0);
  coll_group_prepare(group, &larger);
  coll_plan(group, &larger, &same);
  CU_ASSERT_EQUAL(same.algorithm, COLL_TREE);
  CU_ASSERT_TRUE(coll_group_route(group, COLL_TREE)->n >= 4 * 8 * 2);
  coll_group_prepare(group, &scalar);
  CU_ASSERT_TRUE(coll_group_route(group, COLL_TREE)->n > 0);
  coll_plan(group, &scalar, &same);
  CU_ASSERT_EQUAL(same.latency, plan.latency);
  CU_ASSERT_EQUAL(same.cap, plan.cap);
  cluster_clear(&built);
}

static guint32 connections(const char *version, guint32 nodes, guint32 per_node) {
  g_autofree char *gpus = g_strdup_printf("cluster.gpus_per_node=%u", per_node);
  TestCluster built = cluster_new("dgx-h100", nodes, gpus, NULL);
  CollKnobs knobs;
  coll_knobs_init(&knobs);
  knobs.version = (char *)(gpointer)version;
  g_autoptr(CollLibrary) library = coll_library_new(built.cluster, &knobs, NULL);
  g_autofree guint32 *ranks = g_new(guint32, nodes * per_node);
  for (guint32 i = 0; i < nodes * per_node; i++)
    ranks[i] = i;
  g_autoptr(CollGroup) group = coll_group_new(library, ranks, nodes * per_node, NULL);
  guint32 n = group->net_connections;
  cluster_clear(&built);
  return n;
}

/* Rules follow the release that is asked for, though 2.29 shares its tuning table with 2.28: from 2.29 on a
 * connection for each 14 GB/s of a NIC of 50, the next power of two, 4, if 8 operations a channel leave room for it
 * in 32 channels: 80 ranks are 10 such batches, and 40 channels too many. Before it 2 whatever the NIC. */
static void rules_are_of_the_release(void) {
  CU_ASSERT_EQUAL(connections("2.28", 10, 1), 2);
  CU_ASSERT_EQUAL(connections("2.29.2", 10, 1), 4);
  CU_ASSERT_EQUAL(connections("2.29.2", 10, 2), 4);
  CU_ASSERT_EQUAL(connections("2.29.2", 10, 8), 2);
  CU_ASSERT_EQUAL(connections("2.30", 10, 1), 4);
}

/* PAT over five nodes of one GPU: rounds of 1, 2 and 4 nodes away, in which a rank sends one, two and one of the five
 * shards, four in all, each of which crosses its NIC once. Before the first byte the tuner's own latency of it. */
static void rounds_of_doubling_distance(void) {
  TestCluster built = cluster_new("dgx-h100", 5, "cluster.gpus_per_node=1", NULL);
  g_autoptr(CollGroup) group = group_of_first(built.cluster, 5);
  for (guint32 node = 0; node < 5; node++)
    for (guint32 i = 0; i < group->routes[COLL_PAT].n; i++)
      if (group->routes[COLL_PAT].links[i] == hw_cluster_nic_out(built.cluster, node, 0) ||
          group->routes[COLL_PAT].links[i] == hw_cluster_nic_in(built.cluster, node, 0))
        CU_ASSERT_EQUAL(group->routes[COLL_PAT].coefficients[i], 4);
  for (CollOperation operation = COLL_ALL_GATHER; operation <= COLL_REDUCE_SCATTER; operation++) {
    CollPlan plan;
    CU_ASSERT_TRUE_FATAL(coll_plan_forced(group, &(CollCall){operation, 5 << 20}, COLL_PAT, &plan));
    CU_ASSERT_EQUAL(plan.volume, 1 << 20);
    CU_ASSERT_EQUAL(plan.sent_inter, 4 << 20);
    CU_ASSERT_EQUAL(plan.sent_intra, 0);
    CU_ASSERT_DOUBLE_EQUAL(plan.cap, built.cluster->nic_bandwidth / 4, 1);
    /* A shard that is no whole number of bytes is rounded up. */
    CU_ASSERT_TRUE_FATAL(coll_plan_forced(group, &(CollCall){operation, (5 << 20) + 1}, COLL_PAT, &plan));
    CU_ASSERT_EQUAL(plan.volume, (1 << 20) + 1);
    CU_ASSERT_EQUAL(plan.sent_inter, 4 * ((1 << 20) + 1));
  }
  cluster_clear(&built);
}

/* 2^60 bytes over one node, 2 x 7/8 of them at some 350 GB/s: two months, of which chunks are nothing. Only what comes
 * before the first byte is left of the latency: NCCL's base of rings in Simple, 13.5 us. */
static void long_calls_are_bytes(void) {
  TestCluster built = cluster_new("dgx-h100", 1, NULL);
  g_autoptr(CollGroup) group = group_of_first(built.cluster, 8);
  CollPlan plan;
  CU_ASSERT_TRUE_FATAL(
      coll_plan_forced(group, &(CollCall){COLL_ALL_REDUCE, G_GUINT64_CONSTANT(1) << 60}, COLL_RING, &plan));
  CU_ASSERT_EQUAL(plan.protocol, COLL_SIMPLE);
  CU_ASSERT_TRUE(sim_time_of_amount(plan.volume, plan.cap) / SIM_SECOND > 30 * 86400);
  CU_ASSERT_EQUAL(plan.latency, 13500 * SIM_NANOSECOND);
  CU_ASSERT_EQUAL(plan.base, plan.latency);
  cluster_clear(&built);
}

static guint32 load_of(const CollRoute *route, guint32 link) {
  for (guint32 i = 0; i < route->n; i++)
    if (route->links[i] == link)
      return route->coefficients[i];
  return 0;
}

/* SHARP over two nodes: each of eight NICs takes an eighth up once and brings it down once. In the node by chains an
 * eighth goes up to the NIC's GPU and comes down again: to both neighbours, but for the chain's ends, in all 2 x 8 - 2;
 * directly, 7/8 are scattered to the heads and gathered from them, 2 x 7 of eight eighths. Either way a rank sends
 * 2 x 7/8 inside, on average. */
static void network_reduces(void) {
  TestCluster built = cluster_new("dgx-h100", 2, NULL);
  CollKnobs knobs;
  coll_knobs_init(&knobs);
  knobs.collnet_enable = TRUE;
  g_autoptr(CollLibrary) library = coll_library_new(built.cluster, &knobs, NULL);
  CU_ASSERT_PTR_NOT_NULL_FATAL(library);
  const guint32 ranks[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
  g_autoptr(CollGroup) group = coll_group_new(library, ranks, 16, NULL);
  for (CollAlgorithm algorithm = COLL_COLLNET_DIRECT; algorithm <= COLL_COLLNET_CHAIN; algorithm++) {
    coll_group_connect(group, algorithm);
    const CollRoute *route = &group->routes[algorithm];
    for (guint32 gpu = 0; gpu < 16; gpu++) {
      CU_ASSERT_EQUAL(load_of(route, hw_cluster_gpu_out(built.cluster, gpu)), 14);
      CU_ASSERT_EQUAL(load_of(route, hw_cluster_gpu_in(built.cluster, gpu)), 14);
      CU_ASSERT_EQUAL(load_of(route, hw_cluster_nic_out(built.cluster, gpu / 8, gpu % 8)), 1);
      CU_ASSERT_EQUAL(load_of(route, hw_cluster_nic_in(built.cluster, gpu / 8, gpu % 8)), 1);
    }
    CU_ASSERT_EQUAL(group->rates[algorithm], MIN(built.cluster->nic_bandwidth, built.cluster->intra_bandwidth / 14));
    CollPlan plan;
    coll_plan_as(group, &(CollCall){COLL_ALL_REDUCE, 8 << 20}, algorithm, COLL_SIMPLE, &plan);
    CU_ASSERT_EQUAL(plan.volume, 1 << 20);
    CU_ASSERT_EQUAL(plan.sent_inter, 1 << 20);
    CU_ASSERT_EQUAL(plan.sent_intra, 14 << 20);
  }
  cluster_clear(&built);
}

int main(void) {
  return harness_run("coll", (HarnessCase[]){{"one node", one_node},
                                             {"two nodes", two_nodes},
                                             {"trees of four nodes", trees_of_four_nodes},
                                             {"many nodes are latency", many_nodes_are_latency},
                                             {"fewer NICs than GPUs", fewer_nics_than_gpus},
                                             {"uncontended bus bandwidth", uncontended_bus_bandwidth},
                                             {"a GPU has its own NICs", a_gpu_has_its_own_nics},
                                             {"scalars load no link", scalars_load_no_link},
                                             {"rules are of the release", rules_are_of_the_release},
                                             {"a pair uses its own wires", a_pair_uses_its_own_wires},
                                             {"a pair sends one way", a_pair_sends_one_way},
                                             {"rounds of doubling distance", rounds_of_doubling_distance},
                                             {"the network reduces", network_reduces},
                                             {"long calls are bytes", long_calls_are_bytes},
                                             {"uneven groups are refused", uneven_groups_are_refused},
                                             {NULL, NULL}});
}
