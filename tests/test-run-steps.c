/* SPDX-License-Identifier: MIT */
/* Which steps are played, which are taken as copies of the first, and how many there were. One event is the end of one
 * operation: they tell what was played. */
#include "coll-group.h"
#include "hand.h"
#include "harness.h"

#define MS SIM_MILLISECOND

typedef enum { WAITS_FOR_A, WAITS_FOR_B, WAITS_FOR_NOTHING } Wait;

/*  compute  A─►            1 ms
 *  comm     B──►           2 ms
 *  side       C────►       4 ms, after A, B or nothing
 * Then the host waits for C and B. What the first section has beside that: */
typedef struct {
  Wait first, steady;
  gboolean loads;     /* a host row that waits for nothing, at its front */
  SimTime loading;    /* what that costs */
  gboolean warms;     /* a compute at its front */
  SimTime cost;       /* that its host pays before C */
  gboolean other_ops; /* operations of its own that take as long */
  guint events;       /* of what must be played */
  SimTime step;
} Case;

static Hand written(const Case *of) {
  Hand hand = hand_new();
  guint32 side = program_builder_stream(hand.builder, "side");
  const guint32 ops[2][3] = {{hand_op(&hand, MS), hand_op(&hand, 2 * MS), hand_op(&hand, 4 * MS)},
                             {hand_op(&hand, MS), hand_op(&hand, 2 * MS), hand_op(&hand, 4 * MS)}};
  guint32 warm = hand_op(&hand, MS);
  for (ProgramSectionKind kind = 0; kind < PROGRAM_SECTIONS; kind++) {
    gboolean first = kind == PROGRAM_FIRST;
    const guint32 *op = ops[first && of->other_ops];
    program_builder_section(hand.builder, kind);
    program_builder_context(hand.builder, PROGRAM_FORWARD, 0, 0);
    if (first && of->loads)
      program_builder_host(hand.builder, "load");
    if (first && of->loading > 0)
      program_builder_cost(hand.builder, of->loading);
    if (first && of->warms)
      program_builder_compute(hand.builder, hand.compute, "warm up", warm);
    guint32 a = program_builder_compute(hand.builder, hand.compute, "A", op[0]);
    guint32 b = program_builder_compute(hand.builder, hand.comm, "B", op[1]);
    guint32 c = program_builder_compute(hand.builder, side, "C", op[2]);
    if (first)
      program_builder_cost(hand.builder, of->cost);
    Wait wait = first ? of->first : of->steady;
    program_builder_need(hand.builder, wait == WAITS_FOR_A ? a : wait == WAITS_FOR_B ? b : PROGRAM_NONE);
    program_builder_host(hand.builder, "end");
    program_builder_need(hand.builder, c);
    program_builder_need(hand.builder, b);
  }
  return hand;
}

/* A step ends 4 ms after what C waits for. Where the first is like those after it, or has but a row more that takes no
 * time, its three events are all; where it differs in what a row does, costs or waits for, or in a row that takes time,
 * its own (and one more for that row, and for that cost) and three. The third step, like the second, is never played,
 * but when every one is. */
static void only_steps_like_the_first_are_copies_of_it(void) {
  const Case cases[] = {
      {.events = 3, .step = 5 * MS},
      {.first = WAITS_FOR_B, .steady = WAITS_FOR_B, .events = 3, .step = 6 * MS},
      {.first = WAITS_FOR_NOTHING, .steady = WAITS_FOR_NOTHING, .events = 3, .step = 4 * MS},
      {.first = WAITS_FOR_NOTHING, .events = 6, .step = 5 * MS},
      {.steady = WAITS_FOR_NOTHING, .events = 6, .step = 4 * MS},
      {.loads = TRUE, .events = 3, .step = 5 * MS},
      {.first = WAITS_FOR_B, .events = 6, .step = 5 * MS},
      {.steady = WAITS_FOR_B, .events = 6, .step = 6 * MS},
      {.loads = TRUE, .loading = 2 * MS, .events = 7, .step = 5 * MS},
      {.warms = TRUE, .events = 7, .step = 5 * MS},
      {.cost = 3 * MS, .events = 7, .step = 5 * MS},
      {.other_ops = TRUE, .events = 6, .step = 5 * MS},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    Hand hand = written(&cases[i]);
    g_autoptr(RunReport) report = hand_play(&hand, &(RunOptions){0});
    g_autoptr(RunReport) plain = hand_play(&hand, &(RunOptions){.every_step = TRUE});
    if (report->events != cases[i].events)
      printf("\n    case %zu: %" G_GUINT64_FORMAT " events", i, report->events);
    CU_ASSERT_EQUAL(report->classes[0].step, cases[i].step);
    CU_ASSERT_EQUAL(plain->classes[0].step, cases[i].step);
    CU_ASSERT_EQUAL(report->events, cases[i].events);
    CU_ASSERT_EQUAL(plain->events, MAX(cases[i].events, 6) + 3);
    CU_ASSERT_TRUE(report->repeats && plain->repeats);
    CU_ASSERT_TRUE(report->steps_played == 2 && plain->steps_played == 2);
    hand_clear(&hand);
  }
}

/* The steady section is the first's rows but the one at its front. Where that is a host's, which takes no time, one
 * step of A, 1 ms, is all that is played; where it is a compute of 3 ms, the first step takes 4, and the steady one is
 * played for itself. */
static void rows_ahead_that_take_time_are_no_copy(void) {
  for (guint silent = 0; silent < 2; silent++) {
    Hand hand = hand_new();
    guint32 op = hand_op(&hand, MS), warm = hand_op(&hand, 3 * MS);
    program_builder_section(hand.builder, PROGRAM_FIRST);
    program_builder_context(hand.builder, PROGRAM_FORWARD, 0, 0);
    if (silent)
      program_builder_host(hand.builder, "load");
    else
      program_builder_compute(hand.builder, hand.compute, "warm up", warm);
    guint32 row = program_builder_compute(hand.builder, hand.compute, "A", op);
    program_builder_host(hand.builder, "end");
    program_builder_need(hand.builder, row);
    program_builder_repeat(hand.builder, 1);
    g_autoptr(RunReport) report = hand_play(&hand, &(RunOptions){0});
    g_autoptr(RunReport) plain = hand_play(&hand, &(RunOptions){.every_step = TRUE});
    CU_ASSERT_EQUAL(report->classes[0].step, MS);
    CU_ASSERT_EQUAL(plain->classes[0].step, MS);
    CU_ASSERT_EQUAL(report->events, silent ? 1 : 3);
    CU_ASSERT_EQUAL(plain->events, silent ? 3 : 4);
    hand_clear(&hand);
  }
}

int main(void) {
  return harness_run("run-steps", (HarnessCase[]){{"copies of the first", only_steps_like_the_first_are_copies_of_it},
                                                  {"rows ahead", rows_ahead_that_take_time_are_no_copy},
                                                  {NULL, NULL}});
}
