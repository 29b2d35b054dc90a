/* SPDX-License-Identifier: MIT */
/* Colour refinement: the coarsest equitable partition of a graph with labelled edges that refines a given one.
 *
 *   start      ● ● ● ● ○          round 1     ● ● ● ◐ ○          round 2     ● ● ◑ ◐ ○
 *              └─┴─┴─┴─┘                      └─┴─┴─┴─┘                      └─┴─┴─┴─┘
 *
 * A node's signature is its own colour and those of its neighbours with the labels of the edges, as a multiset. A round
 * splits every colour whose nodes differ in signature; the partition is equitable when a round splits none: then nodes
 * of one colour cannot be told apart by anything that happens along edges. Only nodes next to one that changed are
 * looked at again, so a fault costs what it touches.
 *
 *   guint32 rounds = fold_refine(&graph, colours, G_MAXUINT32);
 *
 * Private to this floor. Cost: O(edges log degree) the first round, then O(edges of the touched). The same graph gives
 * the same colours: numbers of the colours that stay stay, new ones follow in the order of nodes. */
#pragma once

#include <glib.h>

typedef struct {
  guint32 node, label;
} FoldEdge;

/* Every edge stands with both of its nodes; the two labels may differ. */
typedef struct {
  guint32 n_nodes;
  guint32 *offsets; /* n_nodes + 1, into edges */
  FoldEdge *edges;
} FoldGraph;

/* `colours` of the nodes, below n_nodes, are refined in place, for at most so many rounds. Returns the rounds that
 * split something. */
guint32 fold_refine(const FoldGraph *graph, guint32 *colours, guint32 most_rounds);
