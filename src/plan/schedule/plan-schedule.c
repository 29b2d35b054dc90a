/* SPDX-License-Identifier: MIT */
/* The table of schedules, and where chunks stand in the model. */
#include "plan-schedule.h"
#include "base-error.h"
#include "plan-passes.h"

typedef struct {
  void (*passes)(const PlanScheduleShape *shape, guint32 rank, GArray *passes);
  guint32 chunks; /* 0: any from `least` */
  guint32 least;
  gboolean splits; /* backward */
  gboolean v;      /* the second chunk runs back */
} Schedule;

static const Schedule schedules[LAYOUT_SCHEDULES] = {
    [LAYOUT_SCHEDULE_SINGLE] = {plan_single_passes, 1, 1, FALSE, FALSE},
    [LAYOUT_SCHEDULE_GPIPE] = {plan_gpipe_passes, 1, 1, FALSE, FALSE},
    [LAYOUT_SCHEDULE_1F1B] = {plan_1f1b_passes, 1, 1, FALSE, FALSE},
    [LAYOUT_SCHEDULE_INTERLEAVED] = {plan_interleaved_passes, 0, 2, FALSE, FALSE},
    [LAYOUT_SCHEDULE_ZB_H1] = {plan_zb_h1_passes, 0, 1, TRUE, FALSE},
    [LAYOUT_SCHEDULE_ZBV] = {plan_zbv_passes, 2, 2, TRUE, TRUE},
};

static const Schedule *of(const PlanScheduleShape *shape) {
  sim_require(shape->schedule > LAYOUT_SCHEDULE_DEFAULT && shape->schedule < LAYOUT_SCHEDULES, 0, NULL,
              "no schedule %d", (int)shape->schedule);
  return &schedules[shape->schedule];
}

gboolean plan_schedule_check(const PlanScheduleShape *shape, GError **error) {
  const Schedule *schedule = of(shape);
  const char *name = layout_schedule_names[shape->schedule];
  gboolean chunks = schedule->chunks == 0 ? shape->chunks >= schedule->least : shape->chunks == schedule->chunks;
  if (!chunks)
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s has %s%u chunk%s per pipeline rank, not %u", name,
                schedule->chunks == 0 ? "at least " : "", schedule->least, schedule->least == 1 ? "" : "s",
                shape->chunks);
  else if (shape->ranks == 0 || shape->micros == 0)
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s needs ranks and micro-batches", name);
  else if (shape->schedule == LAYOUT_SCHEDULE_SINGLE && shape->ranks > 1)
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "single has no pipeline, not %u ranks", shape->ranks);
  else if (schedule->chunks == 0 && shape->chunks > 1 && shape->group == 0)
    g_set_error(error, SIM_ERROR, SIM_ERROR_INPUT, "%s needs a group of micro-batches", name);
  else
    return TRUE;
  return FALSE;
}

PlanSchedulePass *plan_schedule_passes(const PlanScheduleShape *shape, guint32 rank, guint32 *ret_n) {
  sim_require(rank < shape->ranks, 0, NULL, "pipeline rank %u of %u", rank, shape->ranks);
  GArray *passes = g_array_new(FALSE, FALSE, sizeof(PlanSchedulePass));
  of(shape)->passes(shape, rank, passes);
  *ret_n = passes->len;
  return (PlanSchedulePass *)(gpointer)g_array_free(passes, FALSE);
}

gboolean plan_schedule_splits(LayoutSchedule schedule) {
  return schedules[schedule].splits;
}

guint32 plan_schedule_stages(const PlanScheduleShape *shape) {
  return shape->ranks * shape->chunks;
}

guint32 plan_schedule_stage(const PlanScheduleShape *shape, guint32 rank, guint32 chunk) {
  return of(shape)->v && chunk == 1 ? (2 * shape->ranks) - 1 - rank : (chunk * shape->ranks) + rank;
}

void plan_schedule_of_stage(const PlanScheduleShape *shape, guint32 stage, guint32 *ret_rank, guint32 *ret_chunk) {
  guint32 chunk = stage / shape->ranks, place = stage % shape->ranks;
  *ret_rank = of(shape)->v && chunk == 1 ? shape->ranks - 1 - place : place;
  *ret_chunk = chunk;
}

gboolean plan_schedule_before(const PlanScheduleShape *shape, guint32 rank, PlanSchedulePass pass, guint32 *ret_rank,
                              PlanSchedulePass *ret_pass) {
  guint32 stage = plan_schedule_stage(shape, rank, pass.chunk);
  gboolean forward = pass.kind == PLAN_PASS_FORWARD;
  if (pass.kind == PLAN_PASS_BACKWARD_WEIGHT || stage == (forward ? 0 : plan_schedule_stages(shape) - 1))
    return FALSE;
  plan_schedule_of_stage(shape, forward ? stage - 1 : stage + 1, ret_rank, &pass.chunk);
  *ret_pass = pass;
  return TRUE;
}
