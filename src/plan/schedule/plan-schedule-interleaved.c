/* SPDX-License-Identifier: MIT */
/* The interleaved schedule: several chunks per rank, each played for a group of micro-batches in turn.
 *
 *   p = 2, 2 chunks, m = 4, group 2; a rank's forwards, chunk:micro-batch:  0:0 0:1 1:0 1:1  0:2 0:3 1:2 1:3
 *   backward the same with the chunks from the last to the first:           1:0 1:1 0:0 0:1  1:2 1:3 0:2 0:3
 *
 * Rank r plays (chunks − 1)·group + 2·(p − r − 1) forwards first, then pairs. Megatron-Core (get_schedule_table,
 * get_pp_rank_microbatches) and PyTorch (ScheduleInterleaved1F1B) differ only in the group. */
#include "base-error.h"
#include "plan-passes.h"

/* The last group may be another size; with one chunk there are none. */
static PlanSchedulePass forward_of(const PlanScheduleShape *shape, guint32 k) {
  if (shape->chunks == 1)
    return (PlanSchedulePass){PLAN_PASS_FORWARD, 0, k};
  guint32 group = MIN(shape->group, shape->micros);
  guint32 first = k / (group * shape->chunks) * group;
  guint32 size = MIN(group, shape->micros - first);
  guint32 within = k - (first * shape->chunks);
  return (PlanSchedulePass){PLAN_PASS_FORWARD, within / size, first + (within % size)};
}

void plan_pass_add_forward(const PlanScheduleShape *shape, guint32 k, GArray *passes) {
  PlanSchedulePass pass = forward_of(shape, k);
  g_array_append_val(passes, pass);
}

void plan_pass_add_backward(const PlanScheduleShape *shape, PlanPassKind kind, guint32 k, GArray *passes) {
  PlanSchedulePass pass = forward_of(shape, k);
  plan_pass_add(passes, kind, shape->chunks - 1 - pass.chunk, pass.micro);
}

void plan_interleaved_passes(const PlanScheduleShape *shape, guint32 rank, GArray *passes) {
  guint32 all = shape->micros * shape->chunks;
  guint32 group = MIN(shape->group, shape->micros);
  guint32 warm = MIN(all, ((shape->chunks - 1) * group) + (2 * (shape->ranks - rank - 1)));
  for (guint32 k = 0; k < warm; k++)
    plan_pass_add_forward(shape, k, passes);
  for (guint32 k = 0; k < all; k++) {
    if (k + warm < all)
      plan_pass_add_forward(shape, k + warm, passes);
    plan_pass_add_backward(shape, PLAN_PASS_BACKWARD, k, passes);
  }
}

gboolean plan_schedule_group_megatron(guint32 ranks, guint32 micros, guint32 asked, guint32 *ret, GError **error) {
  guint32 group = asked > 0 ? asked : ranks;
  if (group < ranks || group > micros) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "the interleaved schedule plays %u micro-batches of a chunk in a row, which must lie between the %u "
                "pipeline ranks and the %u micro-batches; %s %u",
                group, ranks, micros, micros < ranks ? "the least number of micro-batches is" : "the nearest is",
                micros < ranks ? ranks : CLAMP(group, ranks, micros));
    return FALSE;
  }
  guint32 last = micros % group;
  if (last > 0 && last < ranks) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "%u micro-batches in groups of %u leave %u, fewer than the %u pipeline ranks; %u or %u do not", micros,
                group, last, ranks, micros - last, micros - last + ranks);
    return FALSE;
  }
  *ret = group;
  return TRUE;
}

gboolean plan_schedule_group_torch(guint32 ranks, guint32 micros, guint32 *ret, GError **error) {
  guint32 rounds = MAX(1, micros / ranks);
  if (micros % rounds != 0) {
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT,
                "%u micro-batches are not a multiple of the %u rounds of %u pipeline ranks; %u is", micros, rounds,
                ranks, rounds * ranks);
    return FALSE;
  }
  *ret = micros / rounds;
  return TRUE;
}
