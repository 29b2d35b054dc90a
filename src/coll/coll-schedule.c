/* SPDX-License-Identifier: MIT */
/* From a plan to its schedule; links of a lane's connections. */
#include "coll-schedule.h"

#include "coll-build.h"
#include "coll-layout.h"

G_STATIC_ASSERT(COLL_SCHEDULE_MOST_LINKS == COLL_MOST_LINKS);

gboolean coll_schedule_has(const CollCall *call, const CollPlan *plan) {
  return plan->algorithm == COLL_TREE || (plan->algorithm == COLL_RING && call->operation <= COLL_REDUCE_SCATTER);
}

CollSchedule *coll_schedule_new(const CollGroup *group, const CollCall *call, const CollPlan *plan) {
  CollSteps steps;
  if (!coll_schedule_has(call, plan))
    return NULL;
  coll_steps(group, call, plan, &steps);
  CollSchedule *schedule = g_new0(CollSchedule, 1);
  schedule->needs = g_array_new(FALSE, FALSE, sizeof(guint32));
  schedule->lanes = steps.lanes;
  schedule->alike = steps.alike;
  schedule->kinds = steps.kinds;
  schedule->base = plan->base;
  schedule->rate = steps.rate;
  schedule->layout = g_rc_box_acquire(group->layout);
  schedule->rings = g_new(guint32, steps.lanes);
  for (guint32 lane = 0; lane < steps.lanes; lane++)
    schedule->rings[lane] = lane % group->rings;
  if (plan->algorithm == COLL_RING)
    coll_build_ring(group, call, &steps, schedule);
  else
    coll_build_tree(group, &steps, schedule);
  return schedule;
}

void coll_schedule_free(CollSchedule *schedule) {
  if (schedule == NULL)
    return;
  g_free(schedule->transfers);
  g_free(schedule->connections);
  g_free(schedule->members);
  g_free(schedule->rings);
  g_array_unref(schedule->needs);
  coll_layout_unref(schedule->layout);
  g_free(schedule);
}

guint32 coll_schedule_links(const CollSchedule *schedule, guint32 lane, guint32 connection,
                            guint32 ret_links[COLL_SCHEDULE_MOST_LINKS]) {
  const CollConnection *between = &schedule->connections[connection];
  const guint32 *members = schedule->members + (gsize)lane * schedule->places;
  return coll_layout_links(schedule->layout, schedule->rings[lane], members[between->from], members[between->to],
                           ret_links);
}
