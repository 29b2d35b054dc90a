/* SPDX-License-Identifier: MIT */
/* Bodies of micro-batches in the middle of a step that are counted, and the same step played in full: Programs written
 * by hand, whose micro-batches take tensors of drawn sizes and give them some micro-batches later. */
#include "coll-group.h"
#include "hand.h"
#include "harness.h"
#include "mem-tenant.h"

#define MIB (G_GUINT64_CONSTANT(1) << 20)

#define PASS SIM_MILLISECOND

enum { DEPTH = 8, MOST_TENSORS = 6, BODY = 4, FIRST = 10, PLAYED = 24, MORE = 60, DRAWS = 60 };

/* A tensor of each micro-batch: given so many micro-batches later. */
typedef struct {
  guint n;
  guint64 bytes[MOST_TENSORS];
  gint32 later[MOST_TENSORS];
  gboolean timeline;
  guint64 state;     /* bytes that the end of the step takes */
  SimTime host, end; /* of the host: for each pass, and for the end of the step */
} Draw;

static Draw draw(GRand *random) {
  Draw draw = {.n = (guint)g_rand_int_range(random, 2, MOST_TENSORS + 1)};
  for (guint i = 0; i < draw.n; i++) {
    draw.bytes[i] = (guint64)g_rand_int_range(random, 100000, 10 * (gint32)MIB);
    draw.later[i] = g_rand_int_range(random, 1, DEPTH);
  }
  draw.state = (guint64)g_rand_int_range(random, 20, 200) * MIB;
  draw.host = g_rand_int_range(random, 0, 5) * PASS / 4;
  draw.end = g_rand_int_range(random, 0, 3) * 30 * PASS;
  return draw;
}

static void section(Hand *hand, const Draw *draw, gint32 micros, guint32 op, guint32 tensors[][DEPTH], guint32 state) {
  ProgramBuilder *builder = hand->builder;
  guint32 row = PROGRAM_NONE;
  for (gint32 m = 0; m < micros + DEPTH; m++) {
    program_builder_context(builder, PROGRAM_FORWARD, 0, m < micros ? m : micros);
    for (guint i = 0; i < draw->n; i++) {
      row = program_builder_compute(builder, hand->compute, "pass", op);
      program_builder_cost(builder, draw->host);
      if (m >= draw->later[i] && m - draw->later[i] < micros)
        program_builder_give(builder, tensors[i][(m - draw->later[i]) % DEPTH], PROGRAM_NONE);
      if (m < micros)
        program_builder_take(builder, tensors[i][m % DEPTH]);
    }
  }
  program_builder_context(builder, PROGRAM_OPTIMIZER, -1, micros);
  row = program_builder_compute(builder, hand->compute, "optimizer", op);
  program_builder_cost(builder, draw->end);
  program_builder_take(builder, state);
  program_builder_host(builder, "end");
  program_builder_need(builder, row);
  program_builder_give(builder, state, PROGRAM_NONE);
}

/* With windows: all that the step has. Without: each of its micro-batches is played. */
static RunReport *play(const Draw *draw, gboolean counted, guint64 room) {
  RunWindows windows = {.first = FIRST, .body = BODY, .more = MORE / BODY};
  gint32 micros = counted ? PLAYED : PLAYED + MORE;
  Hand hand = hand_new();
  guint32 op = hand_op(&hand, PASS), tensors[MOST_TENSORS][DEPTH];
  for (guint i = 0; i < draw->n; i++)
    for (guint k = 0; k < DEPTH; k++)
      tensors[i][k] = program_builder_tensor(hand.builder, "x", MEM_ACTIVATIONS, draw->bytes[i], draw->bytes[i]);
  guint32 state = program_builder_tensor(hand.builder, "state", MEM_OPTIMIZER, draw->state, draw->state);
  for (ProgramSectionKind kind = 0; kind < PROGRAM_SECTIONS; kind++) {
    program_builder_section(hand.builder, kind);
    section(&hand, draw, micros, op, tensors, state);
  }
  hand.gpu.memory_usable = room;
  hand.gpu.context_bytes = 0;
  hand.gpu.workspace_bytes = 0;
  RunReport *report = hand_play(&hand, &(RunOptions){.windows = counted ? windows : (RunWindows){0},
                                                     .every_step = !counted,
                                                     .timeline = draw->timeline});
  hand_clear(&hand);
  return report;
}

/* Whole steps, what memory is in them, and when. */
static gboolean equal(const RunClass *a, const RunClass *b) {
  return a->step == b->step && a->compute == b->compute && a->idle == b->idle && a->host == b->host &&
         memcmp(a->by_cause, b->by_cause, sizeof a->by_cause) == 0 && a->steady_allocated == b->steady_allocated &&
         a->peak_allocated == b->peak_allocated && a->peak_reserved == b->peak_reserved && a->peak_at == b->peak_at &&
         a->peak_step == b->peak_step && a->has_oom == b->has_oom && a->oom.at == b->oom.at &&
         a->oom.step == b->oom.step && a->oom.row == b->oom.row && a->oom.requested == b->oom.requested &&
         a->oom.free == b->oom.free && a->oom.allocated == b->oom.allocated && a->oom.reserved == b->oom.reserved;
}

/* With room for all, and with less than that: then the cache has to go back, or memory runs out, at the end of the step
 * in some. */
static void what_is_counted_is_as_played(void) {
  g_autoptr(GRand) random = harness_random();
  guint counted[2] = {0}, ran_out = 0, at_the_end = 0;
  for (guint i = 0; i < DRAWS; i++) {
    Draw of = draw(random);
    guint64 room = G_MAXUINT64 / 4;
    for (guint less = 0; less < 2; less++) {
      g_autoptr(RunReport) plain = play(&of, FALSE, room), fast = play(&of, TRUE, room);
      const RunClass *all = &plain->classes[0];
      room = g_rand_boolean(random) ? all->peak_reserved - MIB
                                    : all->peak_allocated - (guint64)g_rand_int_range(random, 1, 20) * MIB;
      if (fast->settled == RUN_UNSETTLED)
        continue;
      gboolean same = equal(all, &fast->classes[0]);
      CU_ASSERT_TRUE(same);
      if (!same)
        printf("\n    draw %u: step %" G_GINT64_FORMAT ", counted %" G_GINT64_FORMAT, i, all->step,
               fast->classes[0].step);
      counted[less]++;
      ran_out += all->has_oom;
      at_the_end += all->has_oom && all->oom.row >= FIRST * of.n;
      fast->classes[0].oom.at++; /* the comparison can fail */
      CU_ASSERT_FALSE(equal(all, &fast->classes[0]));
    }
  }
  printf(" (of %d counted %u with room, %u without, of which %u ran out, %u of these after the first micro-batches) ",
         DRAWS, counted[0], counted[1], ran_out, at_the_end);
  CU_ASSERT_TRUE(counted[0] > DRAWS / 2 && ran_out > DRAWS / 4 && at_the_end > 0);
}

/* One tensor, 24 micro-batches of a pass of 1 ms. A host that needs a quarter of that is 18 ms ahead when it comes to
 * the end of the step, and 63 ms with 60 micro-batches more: what takes it 30 ms there is waited for in the play, and
 * would not be in the whole step; 10 ms never are. A host that needs 1 ms is not ahead, however many there are; of one
 * that needs 2 the step is known by its own time. */
static void a_host_that_gets_ahead_is_not_waited_for_later(void) {
  static const struct {
    SimTime host, end;
    gboolean counted;
  } cases[] = {
      {PASS / 4, 30 * PASS, FALSE}, {PASS / 4, 10 * PASS, TRUE}, {PASS, 30 * PASS, TRUE}, {2 * PASS, 30 * PASS, TRUE}};
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    Draw of = {.n = 1, .bytes = {MIB}, .later = {1}, .state = MIB, .host = cases[i].host, .end = cases[i].end};
    g_autoptr(RunReport) plain = play(&of, FALSE, G_MAXUINT64 / 4), fast = play(&of, TRUE, G_MAXUINT64 / 4);
    CU_ASSERT_EQUAL(fast->settled, cases[i].counted ? RUN_SETTLED : RUN_UNSETTLED);
    CU_ASSERT_TRUE(!cases[i].counted || equal(&plain->classes[0], &fast->classes[0]));
  }
}

/* The end of the step is issued a quarter of a millisecond a pass after the last, and its memory taken then, for the
 * host has not waited; what is given after the wait, as late as the step. */
static void the_host_is_ahead_until_it_waits(void) {
  Draw of = {.n = 1, .bytes = {MIB}, .later = {1}, .state = 64 * MIB, .host = PASS / 4, .timeline = TRUE};
  g_autoptr(RunReport) plain = play(&of, FALSE, G_MAXUINT64 / 4), fast = play(&of, TRUE, G_MAXUINT64 / 4);
  const RunClass *all = &plain->classes[0], *few = &fast->classes[0];
  CU_ASSERT_EQUAL_FATAL(fast->settled, RUN_SETTLED);
  CU_ASSERT_TRUE(equal(all, few) && few->peak_at == all->tasks[all->n_tasks - 1].issued);
  CU_ASSERT_EQUAL(few->tasks[few->n_tasks - 1].issued, all->tasks[all->n_tasks - 1].issued);
  CU_ASSERT_EQUAL(few->samples[few->n_samples - 1].at, all->samples[all->n_samples - 1].at);
  CU_ASSERT_EQUAL(few->samples[few->n_samples - 1].at, all->step);
}

int main(void) {
  return harness_run("run-window", (HarnessCase[]){{"as played", what_is_counted_is_as_played},
                                                   {"late hosts", a_host_that_gets_ahead_is_not_waited_for_later},
                                                   {"ahead", the_host_is_ahead_until_it_waits},
                                                   {NULL, NULL}});
}
