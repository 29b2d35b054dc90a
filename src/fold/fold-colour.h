/* SPDX-License-Identifier: MIT */
/* Colours of ranks, communicators and links: who can be played as one.
 *
 *   rank ──slot── communicator ──coefficient── link
 *
 * A rank's colour begins as its role's shape and its GPU's speed, a communicator's as all that its CollGroup says
 * beside the route, a link's as class, capacity and what a fault leaves of it; then all are refined until equitable. On
 * top of that no rank may be in two communicators of one colour: the one that is played could not be both at once, so
 * such communicators get a colour each, and refinement goes on.
 *
 * Assumed: the routes are all of the network that a CollGroup loads. Private to
 * this floor. */
#pragma once

#include "coll-group.h"
#include "hw-cluster.h"
#include "program.h"

/* Numbered in order of first appearance. */
typedef struct {
  guint32 *of;     /* colour of each */
  guint32 *firsts; /* of each colour, the first that has it */
  guint32 n;       /* colours */
} FoldColours;

typedef struct FoldColouring {
  FoldColours ranks, communicators, links;
  guint32 *shapes; /* of roles: equal where they differ in nothing that can be told from outside; NULL: each its own */
} FoldColouring;

/* `most_rounds` 0: each its own colour; G_MAXUINT32: until equitable. Cost: see fold-refine.h. */
void fold_colouring_init(FoldColouring *colouring, const Program *program, const HwCluster *cluster,
                         CollGroup *const *groups, guint32 most_rounds);
void fold_colouring_clear(FoldColouring *colouring);
