/* SPDX-License-Identifier: MIT */
/* Parents, labels and depth of the double binary tree, by bits of the label. */
#include "coll-tree.h"

guint32 coll_tree_parent(guint32 nodes, guint32 label) {
  if (label == 0)
    return COLL_TREE_ROOT;
  guint32 bit = label & -label;
  guint32 parent = (label ^ bit) | bit << 1;
  return parent < nodes ? parent : label ^ bit;
}

guint32 coll_tree_node(guint32 nodes, guint32 tree, guint32 label) {
  if (tree == 0)
    return label;
  return nodes % 2 == 1 ? (label + 1) % nodes : nodes - 1 - label;
}

guint32 coll_tree_depth(guint32 nodes) {
  guint32 most = 0;
  for (guint32 label = 1; label < nodes; label++) {
    guint32 depth = 0;
    for (guint32 at = label; at != 0; at = coll_tree_parent(nodes, at))
      depth++;
    most = MAX(most, depth);
  }
  return most;
}
