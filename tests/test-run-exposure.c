/* SPDX-License-Identifier: MIT */
/* How the time without compute is cut into pieces, and which of them are one. */
#include "coll-group.h"
#include "hand.h"
#include "harness.h"

#define GB G_GUINT64_CONSTANT(1000000000)

/*  compute  A─►                               B─►
 *  comm     gather──────────────────────────►
 *  side         small►  small►
 * B waits for the gather alone: what comes and goes beside it, over other wires' share, cuts its time in pieces that
 * all have one cause, bandwidth, once its first bytes have moved. */
static void pieces_of_one_cause_are_one(void) {
  const guint32 ranks[HAND_RANKS] = {0, 1, 2, 3, 4, 5, 6, 7};
  Hand hand = hand_new();
  guint32 side = program_builder_stream(hand.builder, "side");
  guint32 others = program_builder_communicator(hand.builder, "others", ranks, HAND_RANKS);
  guint32 a = hand_op(&hand, SIM_MILLISECOND), b = hand_op(&hand, 2 * SIM_MILLISECOND);
  for (ProgramSectionKind kind = 0; kind < PROGRAM_SECTIONS; kind++) {
    program_builder_section(hand.builder, kind);
    program_builder_context(hand.builder, PROGRAM_FORWARD, 0, 0);
    guint32 gather = program_builder_collective(hand.builder, hand.comm, "gather", hand.all,
                                                (CollCall){COLL_ALL_GATHER, 4 * GB}, PROGRAM_HINT_NONE);
    guint32 first = program_builder_compute(hand.builder, hand.compute, "A", a);
    for (guint i = 0; i < 2; i++) {
      program_builder_collective(hand.builder, side, "small", others, (CollCall){COLL_ALL_GATHER, GB / 10},
                                 PROGRAM_HINT_NONE);
      program_builder_need(hand.builder, first);
    }
    guint32 last = program_builder_compute(hand.builder, hand.compute, "B", b);
    program_builder_need(hand.builder, gather);
    program_builder_host(hand.builder, "end");
    program_builder_need(hand.builder, last);
  }
  g_autoptr(RunReport) report = hand_play(&hand, &(RunOptions){.timeline = TRUE});
  const RunClass *all = &report->classes[0];
  CU_ASSERT_TRUE_FATAL(report->n_classes == 1 && all->n_collectives == 3);
  /* Both small ones begin and end within the gap. */
  for (guint32 i = 0; i < all->n_collectives; i++)
    if (all->collectives[i].row > 0)
      CU_ASSERT_TRUE(all->collectives[i].end < all->step - 2 * SIM_MILLISECOND);
  CU_ASSERT_EQUAL_FATAL(all->n_exposures, 1);
  CU_ASSERT_EQUAL(all->exposures[0].cause, RUN_CAUSE_BANDWIDTH);
  CU_ASSERT_EQUAL(all->exposures[0].row, 0);
  CU_ASSERT_EQUAL(all->exposures[0].start, SIM_MILLISECOND);
  CU_ASSERT_EQUAL(all->exposures[0].end, all->step - 2 * SIM_MILLISECOND);
  CU_ASSERT_EQUAL(all->by_cause[RUN_CAUSE_BANDWIDTH], all->step - 3 * SIM_MILLISECOND);
  hand_clear(&hand);
}

int main(void) {
  return harness_run("run-exposure",
                     (HarnessCase[]){{"pieces of one cause are one", pieces_of_one_cause_are_one}, {NULL, NULL}});
}
