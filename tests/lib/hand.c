/* SPDX-License-Identifier: MIT */
/* Programs written by hand, played. */
#include "hand.h"

#include "fold.h"
#include "group.h"
#include "kernel-op.h"

enum { MOST_COMMUNICATORS = 8 };

Hand hand_new(void) {
  const guint32 ranks[HAND_RANKS] = {0, 1, 2, 3, 4, 5, 6, 7};
  Hand hand = {.built = cluster_new("dgx-h100", 1, NULL), .builder = program_builder_new()};
  hand.gpu = *hand.built.cluster->gpu;
  hand.compute = program_builder_stream(hand.builder, "compute");
  hand.comm = program_builder_stream(hand.builder, "comm");
  hand.all = program_builder_communicator(hand.builder, "all", ranks, HAND_RANKS);
  program_builder_role(hand.builder, "rank", HAND_RANKS);
  program_builder_facts(hand.builder, 1000, 1e12, 1e12, KERNEL_BF16);
  return hand;
}

void hand_clear(Hand *hand) {
  if (hand->program != NULL)
    program_free(hand->program);
  else
    program_builder_free(hand->builder);
  cluster_clear(&hand->built);
}

guint32 hand_op(const Hand *hand, SimTime time) {
  KernelOp op = {.kind = KERNEL_MEMORY, .dtype = KERNEL_FP32, .batch = 0};
  return program_builder_timed_op(hand->builder, &op, time);
}

RunReport *hand_play(Hand *hand, const RunOptions *options) {
  if (hand->program == NULL)
    hand->program = program_builder_end(hand->builder);
  const Program *program = hand->program;
  CollGroup *groups[MOST_COMMUNICATORS];
  g_assert(program->n_communicators <= MOST_COMMUNICATORS);
  for (guint32 g = 0; g < program->n_communicators; g++)
    groups[g] =
        group_new(hand->built.cluster, program->communicators[g].ranks, program->communicators[g].n_ranks, NULL);
  g_autoptr(FoldSystem) folded = fold_new(program, hand->built.cluster, groups, TRUE);
  RunSystem system = {&folded->program, &hand->gpu, folded->links, folded->n_links, folded->groups};
  RunReport *report = run_play(&system, options, "test", NULL);
  for (guint32 g = 0; g < program->n_communicators; g++)
    coll_group_free(groups[g]);
  return report;
}
