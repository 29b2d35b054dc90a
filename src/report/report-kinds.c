/* SPDX-License-Identifier: MIT */
/* A cover of the compute tasks by start. */
#include "report-kinds.h"

#include <string.h>

#include "base-span.h"

void report_kinds(const RunClass *rank_class, gint64 ret[REPORT_COMPUTES]) {
  memset(ret, 0, REPORT_COMPUTES * sizeof *ret);
  g_autoptr(GPtrArray) tasks = run_class_by_start(rank_class);
  BaseCover cover = base_cover((BaseSpan){0, rank_class->step});
  for (guint i = 0; i < tasks->len; i++) {
    const RunTask *task = g_ptr_array_index(tasks, i);
    if (strcmp(task->kind, "compute") != 0)
      continue;
    SimTime added = base_span_length(base_cover_add(&cover, (BaseSpan){task->start, task->end}));
    ret[report_operation(task)] += added * task->repeats;
  }
}

SimTime report_perfect_overlap(const RunClass *rank_class) {
  return MAX(rank_class->communication, rank_class->compute + rank_class->idle);
}
