/* SPDX-License-Identifier: MIT */
/* The double binary tree over nodes, as numbers: private to this floor.
 *
 *   tree 0 of 7 nodes, by label:           4            tree 1 has its labels shifted by a node (an even number of
 * nodes: 0 ──────┤             mirrored), so that who is inside one is a leaf of the other: 2     6          each
 * carries half the data 1 3   5
 *
 * NCCL v2.30 src/graph/trees.cc, ncclGetBtree and ncclGetDtree. */
#pragma once

#include <glib.h>

#define COLL_TREE_ROOT G_MAXUINT32

/* Label of the parent; COLL_TREE_ROOT of label 0. */
guint32 coll_tree_parent(guint32 nodes, guint32 label);
/* Which node has a label in tree 0 or 1. */
guint32 coll_tree_node(guint32 nodes, guint32 tree, guint32 label);
/* Hops from the root to the furthest label. O(nodes × depth). */
guint32 coll_tree_depth(guint32 nodes);
/* The tuner's depth of a tree: log2 of the nodes, rounded down. */
static inline guint32 coll_tree_rounds(guint32 nodes) {
  guint32 rounds = 0;
  for (; nodes > 1; nodes >>= 1)
    rounds++;
  return rounds;
}
