/* SPDX-License-Identifier: MIT */
/* Zero-bubble schedules: backward of inputs (I) as soon as it can, backward of weights (W) where nothing else can be
 * done (Qi et al., arXiv 2401.10241). */
#include "plan-passes.h"

/* ZB-H1: 1f1b with W put off by as many micro-batches as the rank's number, so that every rank holds what rank 0 does,
 * min(m, p), and the bubble falls from (p − 1)(F + I + W) to (p − 1)(F + I − W). p = 4:
 *
 *   rank 0  F F F F       I W F I W F I W F ...        rank 3        F I F I F I F I W F I W F ...
 *
 * With several chunks per rank it is PyTorch's ScheduleInterleavedZeroBubble: the interleaved order, but that a rank
 * plays one forward more, not two, for each rank behind it. */
void plan_zb_h1_passes(const PlanScheduleShape *shape, guint32 rank, GArray *passes) {
  guint32 all = shape->micros * shape->chunks, group = MIN(shape->group, shape->micros);
  guint32 warm = MIN(all, ((shape->chunks - 1) * group) + (shape->ranks - rank - 1)), late = MIN(rank, all);
  for (guint32 k = 0; k < warm; k++)
    plan_pass_add_forward(shape, k, passes);
  for (guint32 k = 0; k < all; k++) {
    if (k + warm < all)
      plan_pass_add_forward(shape, k + warm, passes);
    plan_pass_add_backward(shape, PLAN_PASS_BACKWARD_INPUT, k, passes);
    if (k >= late)
      plan_pass_add_backward(shape, PLAN_PASS_BACKWARD_WEIGHT, k - late, passes);
  }
  for (guint32 k = all - late; k < all; k++)
    plan_pass_add_backward(shape, PLAN_PASS_BACKWARD_WEIGHT, k, passes);
}

/* Passes of a rank with two chunks: how many of each kind and chunk stand so far. The schedule is written for at least
 * 2p − 1 micro-batches; those that are not there are left out. */
typedef struct {
  GArray *passes;
  guint32 micros;
  guint32 done[PLAN_PASS_KINDS][2];
} Writer;

static void next(Writer *writer, PlanPassKind kind, guint32 chunk) {
  guint32 micro = writer->done[kind][chunk]++;
  if (micro < writer->micros)
    plan_pass_add(writer->passes, kind, chunk, micro);
}

static void both_backwards(Writer *writer, guint32 chunk) {
  next(writer, PLAN_PASS_BACKWARD_INPUT, chunk);
  next(writer, PLAN_PASS_BACKWARD_WEIGHT, chunk);
}

static void warm_up(Writer *writer, guint32 ranks, guint32 rank) {
  for (guint32 i = 0; i < (2 * (ranks - rank)) - 1; i++)
    next(writer, PLAN_PASS_FORWARD, 0);
  for (guint32 i = 0; i < rank; i++) {
    next(writer, PLAN_PASS_FORWARD, 1);
    next(writer, PLAN_PASS_FORWARD, 0);
  }
  for (guint32 i = 0; i < ranks - rank; i++) {
    next(writer, PLAN_PASS_FORWARD, 1);
    both_backwards(writer, 1);
  }
}

static void cool_down(Writer *writer, guint32 ranks, guint32 rank) {
  for (guint32 i = 0; i < rank; i++) {
    next(writer, PLAN_PASS_BACKWARD_INPUT, 0);
    next(writer, PLAN_PASS_BACKWARD_INPUT, 1);
  }
  for (guint32 i = 0; i < ranks - rank; i++) {
    next(writer, PLAN_PASS_BACKWARD_INPUT, 0);
    next(writer, PLAN_PASS_BACKWARD_WEIGHT, 0);
  }
  for (guint32 chunk = 2; chunk-- > 0;)
    while (writer->done[PLAN_PASS_BACKWARD_WEIGHT][chunk] < writer->done[PLAN_PASS_BACKWARD_INPUT][chunk])
      next(writer, PLAN_PASS_BACKWARD_WEIGHT, chunk);
}

/* ZBV (Qi et al., arXiv 2405.15362): the second chunk runs back from the last rank to the first, so that the loss
 * stands on rank 0 and no rank waits where F, I and W take the same time. The order is that of PyTorch's
 * ScheduleZBVZeroBubble: warm-up, a round of F I W of both chunks while there are forwards, then I before W. */
void plan_zbv_passes(const PlanScheduleShape *shape, guint32 rank, GArray *passes) {
  Writer writer = {.passes = passes, .micros = shape->micros};
  guint32 micros = MAX((2 * shape->ranks) - 1, shape->micros);
  const guint32 *forwards = writer.done[PLAN_PASS_FORWARD];
  warm_up(&writer, shape->ranks, rank);
  while (forwards[1] < forwards[0] || forwards[0] < micros) {
    if (forwards[0] < micros)
      next(&writer, PLAN_PASS_FORWARD, 0);
    both_backwards(&writer, 0);
    next(&writer, PLAN_PASS_FORWARD, 1);
    both_backwards(&writer, 1);
  }
  cool_down(&writer, shape->ranks, rank);
}
