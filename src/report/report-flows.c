/* SPDX-License-Identifier: MIT */
/* Awaited collectives and who waits for them, in one walk over time. */
#include "report-flows.h"

#include <string.h>

GArray *report_flows(const RunClass *rank_class) {
  GArray *flows = g_array_new(FALSE, FALSE, sizeof(ReportFlow));
  g_autoptr(GPtrArray) tasks = run_class_by_start(rank_class);
  guint next = 0;
  for (guint32 i = 0; i < rank_class->n_exposures; i++) {
    const RunExposure *piece = &rank_class->exposures[i];
    const RunTask *from = run_class_task(rank_class, piece->row);
    while (next < tasks->len && (((const RunTask *)tasks->pdata[next])->start < piece->end ||
                                 strcmp(((const RunTask *)tasks->pdata[next])->kind, "compute") != 0))
      next++;
    if (from == NULL || next == tasks->len || ((const RunTask *)tasks->pdata[next])->start < from->end)
      continue;
    ReportFlow flow = {from, tasks->pdata[next]};
    const ReportFlow *last = flows->len > 0 ? &g_array_index(flows, ReportFlow, flows->len - 1) : NULL;
    if (last == NULL || last->from != flow.from || last->to != flow.to)
      g_array_append_val(flows, flow);
  }
  return flows;
}
