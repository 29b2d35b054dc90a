/* Streams that wait for each other, as needs of rows. */
#include "plan-lane.h"

static gboolean is_compute(const PlanLane *lane) {
  return lane->stream == lane->walk->stream;
}

static guint32 last_of(const PlanLane *lane) {
  return is_compute(lane) ? lane->walk->last : lane->last;
}

static GArray *waits_of(const PlanLane *lane) {
  return is_compute(lane) ? lane->walk->needs : lane->waits;
}

void plan_lane_init(PlanLane *lane, PlanWalk *walk, guint32 stream) {
  *lane = (PlanLane){walk, stream, PROGRAM_NONE, g_array_new(FALSE, FALSE, sizeof(guint32))};
}

void plan_lane_clear(PlanLane *lane) {
  if (lane->waits != NULL)
    g_array_unref(lane->waits);
}

void plan_lane_section(PlanLane *lane) {
  lane->last = PROGRAM_NONE;
  g_array_set_size(lane->waits, 0);
}

void plan_lane_need(PlanLane *lane, guint32 row) {
  GArray *waits = waits_of(lane);
  for (guint i = 0; i < waits->len; i++)
    if (g_array_index(waits, guint32, i) == row)
      return;
  if (row != PROGRAM_NONE)
    g_array_append_val(waits, row);
}

void plan_lane_follow(PlanLane *lane, const PlanLane *other) {
  if (lane->stream == other->stream)
    return;
  plan_lane_need(lane, last_of(other));
  const GArray *waits = waits_of(other);
  for (guint i = 0; i < waits->len; i++)
    plan_lane_need(lane, g_array_index(waits, guint32, i));
}

void plan_lane_block(const PlanLane *lane) {
  program_builder_need(lane->walk->builder, last_of(lane));
  const GArray *waits = waits_of(lane);
  for (guint i = 0; i < waits->len; i++)
    program_builder_need(lane->walk->builder, g_array_index(waits, guint32, i));
}

static guint32 added(PlanLane *lane, guint32 row) {
  if (is_compute(lane))
    return row;
  for (guint i = 0; i < lane->waits->len; i++)
    program_builder_need(lane->walk->builder, g_array_index(lane->waits, guint32, i));
  g_array_set_size(lane->waits, 0);
  return lane->last = row;
}

guint32 plan_lane_pass(PlanLane *lane, const char *name, guint32 op) {
  return added(lane, plan_walk_pass(lane->walk, lane->stream, name, op));
}

guint32 plan_lane_copy(PlanLane *lane, const char *name, guint64 bytes, ProgramPath path) {
  return added(lane, plan_walk_copy(lane->walk, lane->stream, name, bytes, path));
}

guint32 plan_lane_collective(PlanLane *lane, guint32 comm, const char *name, guint32 slot, CollCall call,
                             ProgramHint hint) {
  guint32 row = plan_walk_collective(lane->walk, comm, name, slot, call, hint);
  plan_lane_block(lane);
  GArray *waits = waits_of(lane);
  g_array_set_size(waits, 0);
  plan_lane_need(lane, row);
  return row;
}
