/* SPDX-License-Identifier: MIT */
/* Plays the two runs of a fact and compares their metrics. */
#include "facts.h"

static RunReport *facts_play(const FactsRun *run) {
  GError *error = NULL;
  StudyOptions options = {.fold = TRUE};
  g_autoptr(Study) study = study_open(run->workload, &error);
  gboolean good = study != NULL;
  for (gsize i = 0; good && i < FACTS_SETS && run->sets[i] != NULL; i++)
    good = study_set(study, run->sets[i], &error);
  RunReport *report = good ? study_run(study, &options, &error) : NULL;
  if (report == NULL) {
    printf("\n    %s: %s\n", run->workload, error->message);
    g_clear_error(&error);
  }
  return report;
}

static double facts_read(const RunReport *report, const char *name) {
  const StoreMetric *metric = store_metric_find(name);
  if (metric == NULL || metric->unit == STORE_TEXT)
    g_error("%s is no metric with a number", name);
  RunValue value = store_metric_get(metric, report);
  return value.kind == RUN_REAL ? value.real : (double)value.integer;
}

static void facts_check(const Fact *fact) {
  g_autoptr(RunReport) a = facts_play(&fact->a);
  g_autoptr(RunReport) b = facts_play(fact->b.workload != NULL ? &fact->b : &fact->a);
  CU_ASSERT_PTR_NOT_NULL(a);
  CU_ASSERT_PTR_NOT_NULL(b);
  if (a == NULL || b == NULL) {
    printf("    %s: not played\n", fact->says);
    return;
  }
  double left = facts_read(a, fact->metric),
         right = facts_read(b, fact->against != NULL ? fact->against : fact->metric),
         found = fact->relation == FACTS_RATIO ? left / right : left - right;
  gboolean holds = found >= fact->least && found <= fact->most; /* not for 0 / 0 */
  CU_ASSERT_TRUE(holds);
  if (!holds || g_getenv("FORETRAIN_FACTS") != NULL)
    printf("\n    %s %s: %s %g against %g is %g; expected %g to %g", holds ? "holds:" : "FALSE:", fact->says,
           fact->metric, left, right, found, fact->least, fact->most);
}

void facts_check_all(const Fact *facts, gsize n) {
  for (gsize i = 0; i < n; i++)
    facts_check(&facts[i]);
}
