/* SPDX-License-Identifier: MIT */
/* Sends, receives and all-to-all against what nccl-tests measured, and how they grow with the peers. */
#include "cluster.h"
#include "group.h"
#include "harness.h"

/* Microseconds of a call over all ranks of H100 nodes, of so many GPUs each. */
static double call_us(guint32 nodes, const char *gpus, CollCall call, CollPlan *ret) {
  TestCluster built = cluster_new("dgx-h100", nodes, gpus, NULL);
  g_autoptr(CollGroup) group = group_of_first(built.cluster, nodes * built.cluster->gpus_per_node);
  coll_plan(group, &call, ret);
  double us = sim_time_to_seconds(ret->latency + sim_time_of_amount(ret->volume, ret->cap)) * 1e6;
  cluster_clear(&built);
  return us;
}

/* ai-dynamo/aiconfigurator, all-to-all over 2 and 8 H100: 4 KiB 7 and 10 us (8 KiB: 8), in LL; 1 MiB 15 and 16 us and
 * 2 MiB 16 and 19 us, in Simple. */
static void exchanges_in_a_node(void) {
  static const struct {
    const char *gpus;
    guint64 bytes;
    double us;
    CollProtocol protocol;
  } rows[] = {
      {"cluster.gpus_per_node=2", 4 << 10, 7, COLL_LL},      {"cluster.gpus_per_node=8", 8 << 10, 8, COLL_LL},
      {"cluster.gpus_per_node=2", 1 << 20, 15, COLL_SIMPLE}, {"cluster.gpus_per_node=8", 1 << 20, 16, COLL_SIMPLE},
      {"cluster.gpus_per_node=2", 2 << 20, 16, COLL_SIMPLE}, {"cluster.gpus_per_node=8", 2 << 20, 19, COLL_SIMPLE}};
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    CollPlan plan;
    double us = call_us(1, rows[i].gpus, (CollCall){COLL_ALL_TO_ALL, rows[i].bytes}, &plan);
    CU_ASSERT_DOUBLE_EQUAL(us / rows[i].us, 1, 0.12);
    CU_ASSERT_EQUAL(plan.protocol, rows[i].protocol);
  }
}

/* NCCL 2.30 gives a peer over a NIC of 400 Gb/s 4 connections of 6.8 GB/s, and 2 where 80 ranks share 32 channels:
 * 64 MiB at 27.2 and 13.6 GB/s; measured 25 and 14.8 (xxrjun/nccl-tests-cluster). */
static void a_peer_over_the_network(void) {
  CollPlan plan;
  CollCall call = {COLL_SEND_RECV, 64 << 20};
  CU_ASSERT_DOUBLE_EQUAL(call_us(10, "cluster.gpus_per_node=1", call, &plan), (64 << 20) / 27.2e3, 60);
  CU_ASSERT_DOUBLE_EQUAL(plan.cap, 27.2e9, 1);
  CU_ASSERT_DOUBLE_EQUAL(call_us(10, "cluster.gpus_per_node=8", call, &plan), (64 << 20) / 13.6e3, 60);
  CU_ASSERT_DOUBLE_EQUAL(plan.cap, 13.6e9, 1);
}

/* Each further peer over the network costs its proxy 3.6 us: 10 nodes have 8 more than 2. */
static void peers_over_the_network_add_up(void) {
  CollPlan few, many;
  call_us(2, "cluster.gpus_per_node=1", (CollCall){COLL_ALL_TO_ALL, 1 << 10}, &few);
  call_us(10, "cluster.gpus_per_node=1", (CollCall){COLL_ALL_TO_ALL, 1 << 10}, &many);
  CU_ASSERT_DOUBLE_EQUAL(sim_time_to_seconds(many.base - few.base) * 1e6, 8 * 3.6, 0.01);
}

int main(void) {
  return harness_run("coll-point", (HarnessCase[]){{"exchanges in a node", exchanges_in_a_node},
                                                   {"a peer over the network", a_peer_over_the_network},
                                                   {"peers over the network add up", peers_over_the_network_add_up},
                                                   {NULL, NULL}});
}
