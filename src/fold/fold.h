/* Fold: equal ranks become one with a count, equal links too; the smaller system plays to the same report.
 *
 *   FoldSystem *system = fold_new(program, cluster, groups, TRUE);      // FALSE: the identity, every count is one
 *   … run_play over system->program, ->links, ->groups …
 *   fold_free(system);
 *
 * Ranks are equal when they play the same role in the same communicators; links when they are of one class and capacity
 * and every communicator's route loads them with the same coefficient. All GPUs of a cluster being one model, no rank
 * of such a class can ever differ from another, nor a link: each sees the same events at the same times. */
#pragma once

#include "coll-group.h"
#include "hw-cluster.h"
#include "program.h"

typedef struct {
  Program
      program; /* shares everything but ranks and communicators with the one it was made of, which must outlive it */
  HwClusterLink *links;
  guint32 n_links;
  CollGroup **groups; /* routes over `links`; owned */
} FoldSystem;

/* Groups are copied. Cost: O(ranks + links × communicators). */
FoldSystem *fold_new(const Program *program, const HwCluster *cluster, CollGroup *const *groups, gboolean fold);
void fold_free(FoldSystem *system);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(FoldSystem, fold_free)
