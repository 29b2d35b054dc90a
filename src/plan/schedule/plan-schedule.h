/* SPDX-License-Identifier: MIT */
/* The order in which a pipeline rank plays its passes: pure functions of schedule, stages and micro-batches.
 *
 * A rank holds `chunks` runs of layers; chunk c of rank r is stage c·p + r of the model (loop), or under zbv stage r
 * and stage 2p − 1 − r (a V). A pass is one chunk's forward or backward for one micro-batch; where a schedule splits
 * backward, the pass for inputs and the pass for weights. p = 4, m = 8, time to the right, forward F of 1, backward B
 * of 2:
 *
 *   1f1b   rank 0  F F F F             B B F B B F B B F B B F B B   B B   B B   B B
 *          rank 1    F F F         B B F B B F B B F B B F B B F B B   B B   B B
 *          rank 2      F F     B B F B B F ...
 *          rank 3        F B B F B B F B B F ...
 *
 *   PlanScheduleShape shape = {.schedule = LAYOUT_SCHEDULE_1F1B, .ranks = 4, .chunks = 1, .micros = 8};
 *   if (!plan_schedule_check(&shape, error)) ...
 *   g_autofree PlanSchedulePass *passes = plan_schedule_passes(&shape, rank, &n);
 *
 * n is 2 · chunks · micros, or 3 · where backward is split. The passes of all ranks, each rank in its order and each
 * pass after the one it needs (plan_schedule_before), never block each other for ever; tests hold their bubble and
 * their activations in flight to the published ones. */
#pragma once

#include <glib.h>

#include "layout-load.h"

typedef enum {
  PLAN_PASS_FORWARD,
  PLAN_PASS_BACKWARD,
  PLAN_PASS_BACKWARD_INPUT,  /* gradients of inputs, which the stage before waits for */
  PLAN_PASS_BACKWARD_WEIGHT, /* gradients of weights, at any time after; frees what forward saved */
  PLAN_PASS_KINDS
} PlanPassKind;

typedef struct {
  PlanPassKind kind;
  guint32 chunk; /* of this rank */
  guint32 micro;
} PlanSchedulePass;

typedef struct {
  LayoutSchedule schedule; /* not DEFAULT */
  guint32 ranks;           /* of the pipeline */
  guint32 chunks;          /* per rank: 2 of zbv, any of interleaved and zb-h1, else 1 */
  guint32 micros;
  guint32 group;  /* of several chunks in a loop: micro-batches that each plays in a row (plan_schedule_group_...) */
  gboolean early; /* what a pass receives is there from the pass of its kind before on (plan-transfer.h) */
} PlanScheduleShape;

/* Errors: chunks that the schedule does not have; of several in a loop no group. */
gboolean plan_schedule_check(const PlanScheduleShape *shape, GError **error);

/* The group of the interleaved schedule. Megatron-Core (pipeline_parallel/schedules.py): `asked`
 * (microbatch_group_size_per_vp_stage, 0: as many as ranks) from ranks to micros, and a last group that is not shorter
 * than the ranks. PyTorch (ScheduleInterleaved1F1B): micros over max(1, micros / ranks) rounds, which must divide.
 * Errors name the nearest counts of micro-batches that do. */
gboolean plan_schedule_group_megatron(guint32 ranks, guint32 micros, guint32 asked, guint32 *ret, GError **error);
gboolean plan_schedule_group_torch(guint32 ranks, guint32 micros, guint32 *ret, GError **error);

/* All passes of a rank in order. Caller frees. The shape has passed plan_schedule_check. */
PlanSchedulePass *plan_schedule_passes(const PlanScheduleShape *shape, guint32 rank, guint32 *ret_n);
/* Whether backward is two passes. */
gboolean plan_schedule_splits(LayoutSchedule schedule);

/* The stage of a rank's chunk, from 0 to plan_schedule_stages − 1; and back. */
guint32 plan_schedule_stages(const PlanScheduleShape *shape);
guint32 plan_schedule_stage(const PlanScheduleShape *shape, guint32 rank, guint32 chunk);
void plan_schedule_of_stage(const PlanScheduleShape *shape, guint32 stage, guint32 *ret_rank, guint32 *ret_chunk);

/* The pass of another chunk that must have ended, and on which rank: forward needs the stage before, backward (of
 * inputs) the stage after. FALSE: none (forward of the first stage, backward of the last, and weights). Within a chunk
 * backward follows forward and weights follow inputs, which each rank's own order grants. */
gboolean plan_schedule_before(const PlanScheduleShape *shape, guint32 rank, PlanSchedulePass pass, guint32 *ret_rank,
                              PlanSchedulePass *ret_pass);
