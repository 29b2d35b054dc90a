/* SPDX-License-Identifier: MIT */
/* What of two reports differs first. */
#include "report-differs.h"

#include "run-record.h"

static const char *lists_differ(const RunRecord *record, gconstpointer a, guint32 n, gconstpointer b, guint32 m) {
  const char *differs = n == m ? NULL : "how many";
  for (guint32 i = 0; differs == NULL && i < n; i++)
    differs = run_record_differs(record, (const char *)a + i * record->size, (const char *)b + i * record->size);
  return differs;
}

static const char *classes_differ(const RunClass *a, const RunClass *b) {
  const char *differs = run_record_differs(&run_record_class, a, b);
  if (differs == NULL && a->has_oom)
    differs = run_record_differs(&run_record_oom, &a->oom, &b->oom);
  if (differs == NULL)
    differs = lists_differ(&run_record_task, a->tasks, a->n_tasks, b->tasks, b->n_tasks);
  if (differs == NULL)
    differs = lists_differ(&run_record_collective, a->collectives, a->n_collectives, b->collectives, b->n_collectives);
  if (differs == NULL)
    differs = lists_differ(&run_record_exposure, a->exposures, a->n_exposures, b->exposures, b->n_exposures);
  if (differs == NULL)
    differs = lists_differ(&run_record_sample, a->samples, a->n_samples, b->samples, b->n_samples);
  return differs;
}

const char *report_differs(RunReport *a, RunReport *b) {
  a->wall_seconds = b->wall_seconds = 0;
  const char *differs = run_record_differs(&run_record_report, a, b);
  if (differs == NULL)
    differs = lists_differ(&run_record_link, a->links, a->n_links, b->links, b->n_links);
  if (differs == NULL && a->n_classes != b->n_classes)
    differs = "how many classes";
  for (guint32 i = 0; differs == NULL && i < a->n_classes; i++)
    differs = classes_differ(&a->classes[i], &b->classes[i]);
  return differs;
}
