/* Facts of public record as tests: run A against run B, one metric of the store's table, how far apart they must be.
 *
 *   {"stage 3 moves as much as stage 1",
 *    .a = {"llama2-7b", {"parallel.framework=deepspeed", "parallel.zero_stage=3"}},
 *    .b = {"llama2-7b", {"parallel.framework=deepspeed", "parallel.zero_stage=1"}},
 *    .metric = "network_bytes_intra", .least = 0.99, .most = 1.01},
 *
 * A bound is derived in the comment above its row, from what the source says; it is never taken from our own output. A
 * row whose A and B are the same run compares two of its metrics (`against`). */
#pragma once

#include "harness.h"
#include "store-metric.h"
#include "study.h"

#define FACTS_SETS 14

typedef struct {
  const char *workload;
  const char *sets[FACTS_SETS]; /* "group.key=value", NULL-terminated */
} FactsRun;

/* RATIO: A's metric over B's. DIFFERENCE: A's less B's, in the metric's own unit (bytes, picoseconds). */
typedef enum { FACTS_RATIO, FACTS_DIFFERENCE } FactsRelation;

typedef struct {
  const char *says;
  FactsRun a, b;                /* b.workload NULL: the same run as a */
  const char *metric, *against; /* of a, of b; against NULL: the same */
  FactsRelation relation;
  double least, most;
} Fact;

static inline RunReport *facts_play(const FactsRun *run) {
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

static inline double facts_read(const RunReport *report, const char *name) {
  const StoreMetric *metric = store_metric_find(name);
  if (metric == NULL || metric->unit == STORE_TEXT)
    g_error("%s is no metric with a number", name);
  RunValue value = store_metric_get(metric, report);
  return value.kind == RUN_REAL ? value.real : (double)value.integer;
}

static inline void facts_check(const Fact *fact) {
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

static inline void facts_check_all(const Fact *facts, gsize n) {
  for (gsize i = 0; i < n; i++)
    facts_check(&facts[i]);
}
