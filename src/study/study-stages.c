/* SPDX-License-Identifier: MIT */
/* One step under the rungs of ZeRO, side by side. */
#include "study-walk.h"

static RunReport *run_stage(const Study *study, int stage, const StudyOptions *options, StudyCache *cache,
                            GError **error) {
  Study mine = {study->workload, conf_settings_copy(study->settings)};
  g_autofree char *assignment = g_strdup_printf("parallel.zero_stage=%d", stage);
  RunReport *report = conf_settings_set(mine.settings, assignment, error)
                          ? study_run_judged(&mine, options, cache, NULL, NULL, error)
                          : NULL;
  conf_settings_free(mine.settings);
  return report;
}

gboolean study_run_stages(Study *study, const StudyOptions *options, StudyStages *ret, GError **error) {
  StudyStages stages = {.n = 0};
  g_autoptr(StudyCache) cache = study_cache_new();
  g_autoptr(GError) first = NULL;
  for (int stage = 0; stage < STUDY_STAGES; stage++) {
    GError *refusal = NULL;
    RunReport *report = run_stage(study, stage, options, cache, &refusal);
    if (report != NULL) {
      stages.reports[stages.n++] = report;
      continue;
    }
    stages.refused[stage] = g_strdup(refusal->message);
    if (first == NULL)
      first = refusal;
    else
      g_error_free(refusal);
  }
  if (stages.n == 0) {
    g_propagate_error(error, g_steal_pointer(&first));
    study_stages_clear(&stages);
    return FALSE;
  }
  *ret = stages;
  return TRUE;
}

void study_stages_clear(StudyStages *stages) {
  for (guint i = 0; i < stages->n; i++)
    run_report_free(stages->reports[i]);
  for (int stage = 0; stage < STUDY_STAGES; stage++)
    g_free(stages->refused[stage]);
  *stages = (StudyStages){.n = 0};
}
