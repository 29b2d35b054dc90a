/* SPDX-License-Identifier: MIT */
/* Graphs over nodes: rails, where trees and heads enter, and what unlike nodes agree on. */
#include "coll-graph-nodes.h"
#include "graphs.h"

/* Channels in pairs come in by A and out by B, in by B and out by A. In odd nodes the two are swapped, so that ring 0
 * goes A ► B in node 0, over B's rail to node 1, B ► A there. */
static void rails_do_not_cross(void) {
  g_auto(World) world = {0};
  const CollGraphs *graphs = world_build(&world, NULL, "cluster.topology=dgx-h100;cluster.nodes=4", 8, 4, "2.30");
  const CollGraph *ring = &graphs->graph[COLL_GRAPH_RING];
  CU_ASSERT_EQUAL(ring->cross_nic, 2);
  for (guint32 channel = 0; channel < 16; channel++)
    for (guint32 node = 0; node < 4; node++) {
      CollRingNode here, next;
      coll_graph_ring_node(ring, node, ring->channels, channel, &here);
      coll_graph_ring_node(ring, (node + 1) % 4, ring->channels, channel, &next);
      CU_ASSERT_EQUAL(here.nic_out, next.nic_in);
      CU_ASSERT_EQUAL(here.own, channel % 8 ^ (node % 2));
      CU_ASSERT_EQUAL(ring->order[here.own * 8], here.first);
      CU_ASSERT_EQUAL(ring->order[here.own * 8 + 7], here.last);
    }
  /* By one rail in and out nothing is swapped. */
  g_auto(World) straight = {0};
  graphs = world_build(&straight, NULL, "cluster.topology=aws-p4d;cluster.nodes=2", 8, 2, "2.30");
  CollRingNode odd;
  coll_graph_ring_node(&graphs->graph[COLL_GRAPH_RING], 1, 4, 2, &odd);
  CU_ASSERT_EQUAL(odd.own, 2);
  CU_ASSERT_EQUAL(odd.nic_in, odd.nic_out);
}

/* Balanced: the parent and one child at the first GPU, the other child at the second. Plain: all at the first. Eight
 * heads, each its own GPU's. */
static void entries_of_trees(void) {
  g_auto(World) balanced = {0}, plain = {0};
  const CollGraphs *graphs = world_build(&balanced, NULL, "cluster.topology=aws-p4d;cluster.nodes=2", 8, 2, "2.30");
  const CollGraph *tree = &graphs->graph[COLL_GRAPH_TREE];
  guint32 parent, first, second, nic = 99;
  for (guint32 channel = 0; channel < 8; channel++) {
    coll_graph_tree_entry(tree, 4, channel, COLL_TREE_TO_PARENT, &parent, &nic);
    coll_graph_tree_entry(tree, 4, channel, COLL_TREE_TO_FIRST_CHILD, &first, NULL);
    coll_graph_tree_entry(tree, 4, channel, COLL_TREE_TO_SECOND_CHILD, &second, NULL);
    CU_ASSERT_EQUAL(parent, tree->order[channel % 4 * 8]);
    CU_ASSERT_EQUAL(first, tree->order[channel % 4 * 8 + 1]);
    CU_ASSERT_EQUAL(second, parent);
    CU_ASSERT_EQUAL(nic, tree->nics[channel % 4 * 2]);
    CU_ASSERT_EQUAL(first / 2, parent / 2); /* the pair under the NIC's switch */
  }
  graphs = world_build(&plain, NULL, "cluster.topology=dgx-h100;cluster.nodes=2", 8, 2, "2.30");
  coll_graph_tree_entry(&graphs->graph[COLL_GRAPH_TREE], 8, 3, COLL_TREE_TO_FIRST_CHILD, &first, &nic);
  CU_ASSERT_EQUAL(first, graphs->graph[COLL_GRAPH_TREE].order[3 * 8]);
  guint32 heads[8];
  CU_ASSERT_EQUAL(coll_graph_heads(&graphs->graph[COLL_GRAPH_NVLS], heads), 8);
  for (guint32 head = 0; head < 8; head++)
    CU_ASSERT_EQUAL(heads[head], graphs->graph[COLL_GRAPH_NVLS].nics[head * 2]);
}

/* Eight GPUs in one node, four in another: the least of channels (8 x 48, and four NICs' 48 halved to 8 x 24) and of
 * speeds, the worse types; the counts by it: 16. */
static void nodes_align(void) {
  g_auto(World) eight = {0}, four = {0};
  const CollGraphs *nodes[2] = {
      world_build(&eight, NULL, "cluster.topology=dgx-h100;cluster.nodes=2", 8, 2, "2.30"),
      world_build(&four, NULL, "cluster.topology=dgx-h100;cluster.nodes=2", 4, 2, "2.30"),
  };
  CollGraphs aligned;
  coll_graphs_align(nodes, 2, &aligned);
  const CollGraph *ring = &aligned.graph[COLL_GRAPH_RING];
  expect_speed("8 and 4", "ring", ring, (Speed){8, 24, 24});
  CU_ASSERT_EQUAL(ring->type_inter, COLL_PATH_PXN);
  CU_ASSERT_EQUAL(ring->cross_nic, 2);
  expect_speed("8 and 4", "nvls", &aligned.graph[COLL_GRAPH_NVLS], (Speed){4, 40, 48});
  CollCounts counts;
  coll_graphs_count(&aligned, &eight.rules, &(CollGraphRequest){eight.gpus, 8, 2, 12, 0, 0, 2, TRUE, TRUE}, &counts);
  CU_ASSERT_EQUAL(counts.coll, 16);
}

int main(void) {
  return harness_run("coll-nodes", (HarnessCase[]){{"rails do not cross", rails_do_not_cross},
                                                   {"entries of trees", entries_of_trees},
                                                   {"nodes align", nodes_align},
                                                   {NULL, NULL}});
}
