/* SPDX-License-Identifier: MIT */
/* Graphs over nodes: what all nodes agree on, and where rings, trees and heads enter and leave each node.
 *
 *   CollRingNode at;
 *   coll_graph_ring_node(ring, node, aligned.graph[COLL_GRAPH_RING].channels, channel, &at);
 *   at.last ─► at.nic_out ═► (node + 1) nic_in ─► first
 *
 *   ring c:  node 0: f ► … ► l ═► node 1: f ► … ► l ═► … ═► node 0       nodes in order of first appearance
 *   cross_nic 2: channels 2i and 2i+1 come in and go out by swapped NICs; odd nodes swap the two, which keeps rails:
 *            node 0, ring 0: A ► … ► B ═► node 1, ring 0 is its own channel 1: B ► … ► A ═►
 *   tree c:  in each node a chain; to the parent from its first GPU, children at the first or second by the pattern
 *   heads:   head h of every node is joined to head h of the others
 *
 * GPUs are indices among the node's own, NICs among the machine's. Source: NCCL v2.30.7 src/graph/connect.cc,
 * init.cc. */
#pragma once

#include "coll-graph.h"

/* The least over nodes of channels and speeds, the worst of types, and so on: what the cost model and the counts go by.
 * *ret holds no orders (order and nics are NULL; nothing to free). */
void coll_graphs_align(const CollGraphs *const *nodes, guint32 n, CollGraphs *ret);

typedef struct {
  guint32 own; /* the node's own channel that is part of the ring */
  guint32 first, last, nic_in, nic_out;
} CollRingNode;

/* `channels`: aligned search channels; `channel` may be any of the communicator's. */
void coll_graph_ring_node(const CollGraph *ring, guint32 node, guint32 channels, guint32 channel, CollRingNode *ret);

typedef enum { COLL_TREE_TO_PARENT, COLL_TREE_TO_FIRST_CHILD, COLL_TREE_TO_SECOND_CHILD } CollTreeSide;
/* The GPU and NIC of a node that talk to another node's. *ret_nic (may be NULL) is only set over nodes. */
void coll_graph_tree_entry(const CollGraph *tree, guint32 channels, guint32 channel, CollTreeSide side,
                           guint32 *ret_gpu, guint32 *ret_nic);

/* Heads of a multicast, each GPU once, by channel. `ret` has room for all GPUs. Returns how many. */
guint32 coll_graph_heads(const CollGraph *nvls, guint32 *ret);
