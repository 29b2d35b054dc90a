/* SPDX-License-Identifier: MIT */
/* Fold: equal ranks become one with a count, equal communicators and links too; the smaller system plays to the same
 * report, to the picosecond and the byte.
 *
 *   g_autoptr(FoldSystem) system = fold_new(program, cluster, groups, TRUE);      // FALSE: the identity, counts of one
 *   … run_play over system->program, ->links, ->groups …
 *   g_autofree char *members = fold_members(system, 0);                           // "0-16,18-63"
 *
 *   ranks  ●●●● ○ ●●● (○: slower)           ●×7  ○
 *          └──┬─────┘                ─►      └─┬─┘         the collective waits for both; its size stays 8
 *        communicator of 8                communicator
 *
 * The first of each colour (fold-colour.h) is played. A communicator keeps its own CollGroup, so its size, latency and
 * rate; among its members stands each colour once. Its route holds each colour of links once, with the sum of the
 * coefficients with which all communicators of its colour load one such link: so a link that eight equal communicators
 * share is as full as before.
 *
 * Assumed of the Program: where rows name communicators outright, ranks in different ones have different roles; roles
 * that differ in nothing but which communicators (and equal tensors) they name are one (fold-role.h). */
#pragma once

#include "coll-group.h"
#include "hw-cluster.h"
#include "program.h"

typedef struct FoldColouring FoldColouring;

typedef struct {
  Program program; /* shares tensors, operations, streams, names, and rows where it can, with the one it was made of */
  HwClusterLink *links;
  guint32 n_links;
  CollGroup **groups; /* routes over `links`; owned */
  /* What it was made of, all of which must outlive it, and by which colours: for this floor and for tests. */
  const Program *whole;
  const HwCluster *cluster;
  CollGroup *const *whole_groups;
  FoldColouring *colouring;
  gboolean folded;
  guint32 usual; /* the largest class of ranks, the first of those: others are apart from it */
} FoldSystem;

/* Groups are copied. Cost: O((ranks + routes) log) a round, of which there are few: see fold-refine.h. */
FoldSystem *fold_new(const Program *program, const HwCluster *cluster, CollGroup *const *groups, gboolean fold);
/* The same with refinement stopped after so many rounds: wrong where more are needed, so that tests can be seen to
 * notice. */
FoldSystem *fold_new_stopped(const Program *program, const HwCluster *cluster, CollGroup *const *groups,
                             guint32 rounds);
/* The same of a Program with the same rows (program_like): all of it but tensors, operations and facts stays. */
void fold_turn(FoldSystem *system, const Program *program);
void fold_free(FoldSystem *system);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FoldSystem, fold_free)

/* Class that a rank of the whole Program is played by. */
guint32 fold_class_of(const FoldSystem *system, guint32 rank);
/* Ranks of a class as the cluster numbers them: "0-16,18-63". Caller frees. */
char *fold_members(const FoldSystem *system, guint32 rank_class);
/* Why a class is apart from the others: "its GPU runs at 0.8 of its speed". NULL: nothing sets it apart, or
 * folding is off. Caller frees. */
char *fold_apart(const FoldSystem *system, guint32 rank_class);
/* Which links of a class differ from the others of it, and how many are alike: NULL where all are, or folding is
 * off. Caller frees. */
char *fold_links_apart(const FoldSystem *system, HwLinkClass link_class);
