/* SPDX-License-Identifier: MIT */
/* Pipeline schedules: every pass once, nothing blocks for ever, published bubbles and activations in flight. */
#include <string.h>

#include "harness.h"
#include "schedule/plan-schedule.h"

#define UNKNOWN G_MAXUINT64

typedef struct {
  guint64 of[PLAN_PASS_KINDS];
} Durations;

/* A play of all ranks with passes of given durations and no communication. */
typedef struct {
  PlanScheduleShape shape;
  PlanSchedulePass **passes;
  guint32 n;       /* passes of a rank */
  guint64 *ends;   /* kind, chunk, micro, rank */
  guint64 *starts; /* of a rank's first pass */
  guint64 makespan, *spans;
  gboolean complete; /* every pass was played */
} Play;

static guint64 *end_of(Play *play, guint32 rank, PlanSchedulePass pass) {
  const PlanScheduleShape *shape = &play->shape;
  gsize at = (((gsize)pass.kind * shape->chunks) + pass.chunk) * shape->micros + pass.micro;
  return &play->ends[(at * shape->ranks) + rank];
}

static gboolean ended(Play *play, guint32 rank, PlanPassKind kind, PlanSchedulePass pass, guint64 *start) {
  pass.kind = kind;
  guint64 end = *end_of(play, rank, pass);
  if (end != UNKNOWN)
    *start = MAX(*start, end);
  return end != UNKNOWN;
}

/* Whether all that a pass needs has ended; then `start` is at least the last of it. */
static gboolean ready(Play *play, guint32 rank, PlanSchedulePass pass, guint64 *start) {
  guint32 other;
  PlanSchedulePass before;
  if (plan_schedule_before(&play->shape, rank, pass, &other, &before) &&
      !ended(play, other, before.kind, before, start))
    return FALSE;
  if (pass.kind == PLAN_PASS_FORWARD)
    return TRUE;
  PlanPassKind needs = pass.kind == PLAN_PASS_BACKWARD_WEIGHT ? PLAN_PASS_BACKWARD_INPUT : PLAN_PASS_FORWARD;
  return ended(play, rank, needs, pass, start);
}

static void play_all(Play *play, const Durations *durations) {
  g_autofree guint32 *next = g_new0(guint32, play->shape.ranks);
  g_autofree guint64 *clock = g_new0(guint64, play->shape.ranks);
  for (gboolean moved = TRUE; moved;) {
    moved = FALSE;
    for (guint32 rank = 0; rank < play->shape.ranks; rank++)
      for (guint64 start; next[rank] < play->n; next[rank]++, moved = TRUE) {
        PlanSchedulePass pass = play->passes[rank][next[rank]];
        start = clock[rank];
        if (!ready(play, rank, pass, &start))
          break;
        CU_ASSERT_EQUAL(*end_of(play, rank, pass), UNKNOWN); /* once */
        if (next[rank] == 0)
          play->starts[rank] = start;
        clock[rank] = *end_of(play, rank, pass) = start + durations->of[pass.kind];
      }
  }
  play->complete = TRUE;
  for (guint32 rank = 0; rank < play->shape.ranks; rank++) {
    play->complete &= next[rank] == play->n;
    play->spans[rank] = clock[rank] - play->starts[rank];
    play->makespan = MAX(play->makespan, clock[rank]);
  }
}

static Play *play_new(PlanScheduleShape shape, Durations durations) {
  Play *play = g_new0(Play, 1);
  play->shape = shape;
  g_autoptr(GError) error = NULL;
  CU_ASSERT_TRUE_FATAL(plan_schedule_check(&shape, &error));
  gsize cells = (gsize)PLAN_PASS_KINDS * shape.chunks * shape.micros * shape.ranks;
  play->ends = g_new(guint64, cells);
  memset(play->ends, 0xff, cells * sizeof *play->ends);
  play->starts = g_new0(guint64, shape.ranks);
  play->spans = g_new0(guint64, shape.ranks);
  play->passes = g_new0(PlanSchedulePass *, shape.ranks);
  guint32 expected = shape.chunks * shape.micros * (plan_schedule_splits(shape.schedule) ? 3 : 2);
  for (guint32 rank = 0; rank < shape.ranks; rank++) {
    play->passes[rank] = plan_schedule_passes(&shape, rank, &play->n);
    CU_ASSERT_EQUAL_FATAL(play->n, expected);
  }
  play_all(play, &durations);
  CU_ASSERT_TRUE(play->complete);
  return play;
}

static void play_free(Play *play) {
  for (guint32 rank = 0; rank < play->shape.ranks; rank++)
    g_free(play->passes[rank]);
  g_free(play->passes);
  g_free(play->ends);
  g_free(play->starts);
  g_free(play->spans);
  g_free(play);
}
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Play, play_free)

/* The most forwards of a rank whose activations are still needed: until backward, or backward of weights. */
static guint32 in_flight(const Play *play, guint32 rank) {
  guint32 now = 0, most = 0;
  for (guint32 i = 0; i < play->n; i++) {
    PlanPassKind kind = play->passes[rank][i].kind;
    if (kind == PLAN_PASS_FORWARD)
      now++;
    else if (kind != PLAN_PASS_BACKWARD_INPUT)
      now--;
    most = MAX(most, now);
  }
  CU_ASSERT_EQUAL(now, 0);
  return most;
}

/* Forward 1, backward 2, or 1 and 1 where it is split. */
static const Durations one = {{1, 2, 1, 1}};

/* GPipe and 1F1B idle for p − 1 micro-batches of m + p − 1 (Narayanan et al., arXiv 2104.04473, §2.2): the step takes
 * (m + p − 1)(F + B). GPipe holds m micro-batches, 1F1B min(m, p − r). */
static void plain_pipelines(void) {
  for (guint32 p = 1; p <= 6; p++)
    for (guint32 m = 1; m <= 14; m++) {
      g_autoptr(Play) gpipe = play_new((PlanScheduleShape){LAYOUT_SCHEDULE_GPIPE, p, 1, m, 0}, one);
      g_autoptr(Play) pairs = play_new((PlanScheduleShape){LAYOUT_SCHEDULE_1F1B, p, 1, m, 0}, one);
      CU_ASSERT_EQUAL(gpipe->makespan, (guint64)(m + p - 1) * 3);
      CU_ASSERT_EQUAL(pairs->makespan, (guint64)(m + p - 1) * 3);
      for (guint32 rank = 0; rank < p; rank++) {
        CU_ASSERT_EQUAL(in_flight(gpipe, rank), m);
        CU_ASSERT_EQUAL(in_flight(pairs, rank), MIN(m, p - rank));
      }
    }
}

static void single_is_forward_backward(void) {
  g_autoptr(Play) play = play_new((PlanScheduleShape){LAYOUT_SCHEDULE_SINGLE, 1, 1, 5, 0}, one);
  CU_ASSERT_EQUAL(play->makespan, 15);
  CU_ASSERT_EQUAL(in_flight(play, 0), 1);
}

/* Interleaved with v chunks and m a multiple of p: the bubble falls to (p − 1)/v micro-batches (arXiv 2104.04473,
 * §2.2.2), here in passes of a chunk: (m·v + p − 1)(F + B). Rank r starts (v − 1)·p + 2(p − r − 1) forwards and one
 * more before its first backward: the activations in flight, on rank 0 a factor 1 + (p − 1)/(p·v) of the p of 1F1B. */
static void interleaved_bubble_and_memory(void) {
  for (guint32 p = 2; p <= 5; p++)
    for (guint32 v = 2; v <= 4; v++)
      for (guint32 m = 2 * p; m <= 6 * p; m += p) {
        g_autoptr(Play) play = play_new((PlanScheduleShape){LAYOUT_SCHEDULE_INTERLEAVED, p, v, m, p}, one);
        CU_ASSERT_EQUAL(play->makespan, (guint64)(m * v + p - 1) * 3);
        for (guint32 rank = 0; rank < p; rank++)
          CU_ASSERT_EQUAL(in_flight(play, rank), MIN(m * v, (v - 1) * p + 2 * (p - rank - 1) + 1));
      }
}

/* The table in the documentation of Megatron-Core's get_schedule_table: p = 2, m = 5, 2 chunks, groups of 3:
 * micro-batches 0 1 2 0 1 2 3 4 3 4, chunks 0 0 0 1 1 1 0 0 1 1. */
static void interleaved_uneven_group(void) {
  static const guint32 micros[] = {0, 1, 2, 0, 1, 2, 3, 4, 3, 4}, chunks[] = {0, 0, 0, 1, 1, 1, 0, 0, 1, 1};
  g_autoptr(Play) play = play_new((PlanScheduleShape){LAYOUT_SCHEDULE_INTERLEAVED, 2, 2, 5, 3}, one);
  for (guint32 i = 0, k = 0; i < play->n; i++) {
    PlanSchedulePass pass = play->passes[1][i];
    if (pass.kind != PLAN_PASS_FORWARD)
      continue;
    CU_ASSERT_TRUE_FATAL(k < G_N_ELEMENTS(micros));
    CU_ASSERT_EQUAL(pass.micro, micros[k]);
    CU_ASSERT_EQUAL(pass.chunk, chunks[k++]);
  }
}

static void interleaved_groups(void) {
  guint32 group = 0;
  g_autoptr(GError) error = NULL;
  CU_ASSERT_TRUE(plan_schedule_group_megatron(4, 8, 0, &group, &error));
  CU_ASSERT_EQUAL(group, 4);
  CU_ASSERT_TRUE(plan_schedule_group_megatron(4, 13, 8, &group, &error)); /* 8 and 5 */
  CU_ASSERT_EQUAL(group, 8);
  HARNESS_FAILS(plan_schedule_group_megatron(4, 10, 0, &group, &error), error, "leave 2, fewer than the 4");
  HARNESS_FAILS(plan_schedule_group_megatron(4, 10, 0, &group, &error), error, "8 or 12 do not");
  HARNESS_FAILS(plan_schedule_group_megatron(4, 2, 0, &group, &error), error, "between the 4 pipeline ranks and the 2");
  HARNESS_FAILS(plan_schedule_group_megatron(4, 8, 3, &group, &error), error, "plays 3 micro-batches");
  CU_ASSERT_TRUE(plan_schedule_group_torch(4, 6, &group, &error)); /* one round of 6 */
  CU_ASSERT_EQUAL(group, 6);
  CU_ASSERT_TRUE(plan_schedule_group_torch(4, 10, &group, &error)); /* two of 5 */
  CU_ASSERT_EQUAL(group, 5);
  CU_ASSERT_TRUE(plan_schedule_group_torch(4, 2, &group, &error));
  CU_ASSERT_EQUAL(group, 2);
  HARNESS_FAILS(plan_schedule_group_torch(4, 9, &group, &error), error, "9 micro-batches are not a multiple of the 2");
}

/* ZB-H1 (arXiv 2401.10241, table 1): bubble (p − 1)(F + I − W), activations of p micro-batches on every rank. */
static void zb_h1_bubble_and_memory(void) {
  static const Durations some[] = {{{1, 0, 1, 1}}, {{2, 0, 2, 1}}, {{3, 0, 3, 2}}};
  for (gsize i = 0; i < G_N_ELEMENTS(some); i++)
    for (guint32 p = 1; p <= 6; p++)
      for (guint32 m = 2 * p; m <= 4 * p; m++) {
        const guint64 *of = some[i].of;
        guint64 work = of[PLAN_PASS_FORWARD] + of[PLAN_PASS_BACKWARD_INPUT] + of[PLAN_PASS_BACKWARD_WEIGHT];
        guint64 bubble = (p - 1) * (work - (2 * of[PLAN_PASS_BACKWARD_WEIGHT]));
        g_autoptr(Play) play = play_new((PlanScheduleShape){LAYOUT_SCHEDULE_ZB_H1, p, 1, m, 0}, some[i]);
        CU_ASSERT_EQUAL(play->makespan, (m * work) + bubble);
        for (guint32 rank = 0; rank < p; rank++)
          CU_ASSERT_EQUAL(in_flight(play, rank), p);
      }
}

/* The same in chunks, with groups of p micro-batches: bubble (p − 1)(F + I − W) of one chunk, and p chunks more in
 * flight than the (v − 1)p that a group is played ahead. */
static void zb_h1_in_chunks(void) {
  for (guint32 p = 2; p <= 5; p++)
    for (guint32 v = 2; v <= 4; v++)
      for (guint32 rounds = 2; rounds <= 4; rounds++) {
        PlanScheduleShape shape = {LAYOUT_SCHEDULE_ZB_H1, p, v, rounds * p, p};
        g_autoptr(Play) play = play_new(shape, one);
        CU_ASSERT_EQUAL(play->makespan, (3 * (guint64)v * rounds * p) + (p - 1));
        for (guint32 rank = 0; rank < p; rank++)
          CU_ASSERT_EQUAL(in_flight(play, rank), v * p);
      }
}

/* ZBV (arXiv 2405.15362, table 1): no bubble between a rank's first and last pass where F, I and W are equal and m is
 * at least 2p − 1; activations of 2p chunks, the p micro-batches of 1F1B's first rank, on every rank. */
static void zbv_bubble_and_memory(void) {
  for (guint32 p = 2; p <= 6; p++)
    for (guint32 m = (2 * p) - 1; m <= 5 * p; m++) {
      g_autoptr(Play) play = play_new((PlanScheduleShape){LAYOUT_SCHEDULE_ZBV, p, 2, m, 0}, one);
      for (guint32 rank = 0; rank < p; rank++) {
        CU_ASSERT_EQUAL(play->spans[rank], 6 * m);
        CU_ASSERT_EQUAL(in_flight(play, rank), 2 * p);
      }
    }
}

/* Every schedule, fewer micro-batches than ranks too, random durations: plays to its end (play_new asserts it). */
static void nothing_blocks(void) {
  g_autoptr(GRand) random = harness_random();
  for (int round = 0; round < 400; round++) {
    PlanScheduleShape shape = {.schedule =
                                   (LayoutSchedule)g_rand_int_range(random, LAYOUT_SCHEDULE_GPIPE, LAYOUT_SCHEDULES),
                               .ranks = (guint32)g_rand_int_range(random, 1, 9),
                               .chunks = 1,
                               .micros = (guint32)g_rand_int_range(random, 1, 20)};
    if (shape.schedule == LAYOUT_SCHEDULE_ZBV)
      shape.chunks = 2;
    if (shape.schedule == LAYOUT_SCHEDULE_INTERLEAVED || shape.schedule == LAYOUT_SCHEDULE_ZB_H1) {
      shape.chunks = (guint32)g_rand_int_range(random, 2, 5);
      if (!plan_schedule_group_torch(shape.ranks, shape.micros, &shape.group, NULL))
        shape.group = shape.micros;
    }
    Durations durations;
    for (guint kind = 0; kind < PLAN_PASS_KINDS; kind++)
      durations.of[kind] = (guint64)g_rand_int_range(random, 1, 100);
    g_autoptr(Play) G_GNUC_UNUSED play = play_new(shape, durations);
    for (guint32 stage = 0; stage < plan_schedule_stages(&shape); stage++) {
      guint32 rank, chunk;
      plan_schedule_of_stage(&shape, stage, &rank, &chunk);
      CU_ASSERT_EQUAL(plan_schedule_stage(&shape, rank, chunk), stage);
    }
  }
}

/* The test can fail: two passes of one rank the other way round, and the ranks wait for each other. */
static void a_planted_fault_blocks(void) {
  g_autoptr(Play) play = play_new((PlanScheduleShape){LAYOUT_SCHEDULE_1F1B, 2, 1, 3, 0}, one);
  memset(play->ends, 0xff, (gsize)PLAN_PASS_KINDS * 3 * 2 * sizeof *play->ends);
  PlanSchedulePass first = play->passes[0][1]; /* rank 0: F0 F1 B0 ... */
  play->passes[0][1] = play->passes[0][0];
  play->passes[0][0] = play->passes[0][2];
  play->passes[0][2] = first;
  play_all(play, &one);
  CU_ASSERT_FALSE(play->complete);
}

static void shapes_that_are_none(void) {
  g_autoptr(GError) error = NULL;
  PlanScheduleShape shape = {LAYOUT_SCHEDULE_1F1B, 4, 2, 8, 0};
  HARNESS_FAILS(plan_schedule_check(&shape, &error), error, "1f1b has 1 chunk per pipeline rank, not 2");
  shape = (PlanScheduleShape){LAYOUT_SCHEDULE_ZBV, 4, 1, 8, 0};
  HARNESS_FAILS(plan_schedule_check(&shape, &error), error, "zbv has 2 chunks per pipeline rank, not 1");
  shape = (PlanScheduleShape){LAYOUT_SCHEDULE_INTERLEAVED, 4, 1, 8, 4};
  HARNESS_FAILS(plan_schedule_check(&shape, &error), error,
                "interleaved has at least 2 chunks per pipeline rank, not 1");
  shape = (PlanScheduleShape){LAYOUT_SCHEDULE_SINGLE, 4, 1, 8, 0};
  HARNESS_FAILS(plan_schedule_check(&shape, &error), error, "single has no pipeline, not 4 ranks");
}

int main(void) {
  return harness_run("plan-schedule",
                     (HarnessCase[]){{"gpipe and 1f1b: bubble and memory", plain_pipelines},
                                     {"single is forward, backward", single_is_forward_backward},
                                     {"interleaved: bubble and memory", interleaved_bubble_and_memory},
                                     {"interleaved: a last group of another size", interleaved_uneven_group},
                                     {"interleaved: groups", interleaved_groups},
                                     {"zb-h1: bubble and memory", zb_h1_bubble_and_memory},
                                     {"zb-h1: in chunks", zb_h1_in_chunks},
                                     {"zbv: bubble and memory", zbv_bubble_and_memory},
                                     {"nothing blocks", nothing_blocks},
                                     {"a planted fault blocks", a_planted_fault_blocks},
                                     {"shapes that are none", shapes_that_are_none},
                                     {NULL, NULL}});
}
