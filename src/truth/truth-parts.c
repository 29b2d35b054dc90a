/* SPDX-License-Identifier: MIT */
/* A walk along the kernels; the wait before each is shared out between it and the reductions that run meanwhile. */
#include "truth-parts.h"

#include <string.h>

#include "base-span.h"

typedef struct {
  const RunClass *of;
  SimTime done; /* everything before it is told */
  StoreMeasureKind last;
  SimTime parts[STORE_MEASURES + 1]; /* the last: of no part */
} Walk;

static StoreMeasureKind part_of(const char *phase) {
  static const struct {
    const char *phase;
    StoreMeasureKind kind;
  } parts[] = {{"forward", STORE_MEASURE_FORWARD},
               {"backward", STORE_MEASURE_BACKWARD},
               {"recompute", STORE_MEASURE_BACKWARD},
               {"reduce", STORE_MEASURE_REDUCTION},
               {"optimizer", STORE_MEASURE_OPTIMIZER}};
  for (gsize i = 0; i < G_N_ELEMENTS(parts); i++)
    if (strcmp(phase, parts[i].phase) == 0)
      return parts[i].kind;
  return STORE_MEASURES;
}

static gboolean is_kernel(const RunTask *task) {
  return strcmp(task->kind, "compute") == 0;
}

/* How long gradients are reduced from walk->done to `end`. Reductions in the order of their starts. */
static SimTime reduced(const Walk *walk, SimTime end) {
  BaseCover cover = base_cover((BaseSpan){walk->done, end});
  for (guint32 i = 0; i < walk->of->n_tasks && walk->of->tasks[i].start < end; i++) {
    const RunTask *task = &walk->of->tasks[i];
    if (!is_kernel(task) && part_of(task->phase) == STORE_MEASURE_REDUCTION)
      base_cover_add(&cover, (BaseSpan){task->start, task->end});
  }
  return cover.length;
}

static void wait_until(Walk *walk, StoreMeasureKind kind, SimTime end) {
  gboolean behind = kind != STORE_MEASURE_FORWARD && kind != STORE_MEASURE_BACKWARD;
  SimTime reducing = behind && end > walk->done ? reduced(walk, end) : 0;
  walk->parts[STORE_MEASURE_REDUCTION] += reducing;
  walk->parts[kind] += end - walk->done - reducing;
  walk->done = end;
}

void truth_parts(const RunClass *of, double predicted[STORE_MEASURES]) {
  Walk walk = {.of = of, .last = STORE_MEASURES};
  for (guint32 i = 0; i < of->n_tasks; i++) {
    const RunTask *task = &of->tasks[i];
    if (!is_kernel(task) || task->end <= walk.done)
      continue;
    walk.last = part_of(task->phase);
    wait_until(&walk, walk.last, MAX(task->start, walk.done));
    walk.parts[walk.last] += task->end - walk.done;
    walk.done = task->end;
  }
  wait_until(&walk, walk.last == STORE_MEASURE_BACKWARD ? STORE_MEASURES : walk.last, MAX(of->step, walk.done));
  for (StoreMeasureKind kind = STORE_MEASURES_KEPT; kind < STORE_MEASURES; kind++)
    predicted[kind] = sim_time_to_seconds(walk.parts[kind]);
}
