/* SPDX-License-Identifier: MIT */
/* One step under the rungs of ZeRO, and under other layouts, side by side. */
#include <string.h>

#include "study-layout.h"
#include "study-trial.h"
#include "study-walk.h"

#define BEST 4 /* of the layouts that were found */

/* What was played and what was not, while it grows. */
typedef struct {
  const Study *study;
  const StudyOptions *options;
  StudyCache *cache;
  GPtrArray *reports, *titles, *left_out;
} Rungs;

static RunReport *run_stage(const Rungs *rungs, int stage, GError **error) {
  Study mine = {rungs->study->workload, conf_settings_copy(rungs->study->settings)};
  g_autofree char *assignment = g_strdup_printf("parallel.zero_stage=%d", stage);
  RunReport *report = conf_settings_set(mine.settings, assignment, error)
                          ? study_run_judged(&mine, rungs->options, rungs->cache, NULL, NULL, error)
                          : NULL;
  conf_settings_free(mine.settings);
  return report;
}

static Study *lay_out(const Rungs *rungs, const char *layout, GError **error) {
  const RunReport *base = rungs->reports->len > 0 ? rungs->reports->pdata[0] : NULL;
  return study_lay_out(rungs->study, layout, base != NULL ? &base->identity : NULL, error);
}

static RunReport *run_laid(const Rungs *rungs, Study *laid, GError **error) {
  return study_run_judged(laid, rungs->options, rungs->cache, NULL, NULL, error);
}

static void keep(Rungs *rungs, RunReport *report, char *title) {
  g_ptr_array_add(rungs->reports, report);
  g_ptr_array_add(rungs->titles, title);
}

static void run_stages(Rungs *rungs, StudyStages *ret, GError **first) {
  for (int stage = 0; stage < STUDY_STAGES; stage++) {
    GError *refusal = NULL;
    RunReport *report = run_stage(rungs, stage, &refusal);
    if (report != NULL) {
      keep(rungs, report, g_strdup_printf("ZeRO-%d", stage));
      continue;
    }
    ret->refused[stage] = g_strdup(refusal->message);
    if (*first == NULL)
      *first = refusal;
    else
      g_error_free(refusal);
  }
}

/* Fitting ones first, then by tokens per second. */
static gint compare_reports(gconstpointer a, gconstpointer b) {
  const RunReport *first = *(RunReport *const *)a, *second = *(RunReport *const *)b;
  if (first->verdict != second->verdict)
    return first->verdict < second->verdict ? -1 : 1;
  if (first->verdict == RUN_OOM)
    return (run_report_tightest(first)->short_by > run_report_tightest(second)->short_by) -
           (run_report_tightest(first)->short_by < run_report_tightest(second)->short_by);
  return (first->tokens_per_second < second->tokens_per_second) -
         (first->tokens_per_second > second->tokens_per_second);
}

typedef struct {
  RunReport *report; /* first: for compare_reports */
  char *title;
} Found;

static gint compare_found(gconstpointer a, gconstpointer b) {
  const Found *first = a, *second = b;
  return compare_reports(&first->report, &second->report);
}

/* The best of those that can be played; what cannot is not told. */
static void run_best(Rungs *rungs) {
  if (rungs->reports->len == 0)
    return;
  g_auto(GStrv) layouts = study_layouts(rungs->reports->pdata[0]);
  g_autoptr(GArray) found = g_array_new(FALSE, FALSE, sizeof(Found));
  for (char **layout = layouts; *layout != NULL; layout++) {
    g_autoptr(Study) laid = lay_out(rungs, *layout, NULL);
    Found one = {laid != NULL ? run_laid(rungs, laid, NULL) : NULL, *layout};
    if (one.report != NULL)
      g_array_append_val(found, one);
  }
  g_array_sort(found, compare_found);
  for (guint i = 0; i < found->len; i++) {
    Found *one = &g_array_index(found, Found, i);
    if (i < BEST)
      keep(rungs, one->report, g_strdup(one->title));
    else
      run_report_free(one->report);
  }
}

/* FALSE: a layout that is none. What cannot be played is left out. */
static gboolean run_layouts(Rungs *rungs, const char *const *layouts, GError **first, GError **error) {
  for (; layouts != NULL && *layouts != NULL; layouts++) {
    if (strcmp(*layouts, STUDY_LAYOUT_AUTO) == 0) {
      run_best(rungs);
      continue;
    }
    g_autoptr(Study) laid = lay_out(rungs, *layouts, error);
    if (laid == NULL)
      return FALSE;
    GError *refusal = NULL;
    RunReport *report = run_laid(rungs, laid, &refusal);
    if (report != NULL) {
      keep(rungs, report, g_strdup(*layouts));
      continue;
    }
    g_ptr_array_add(rungs->left_out, g_strdup_printf("%s is left out: %s", *layouts, refusal->message));
    if (*first == NULL)
      *first = refusal;
    else
      g_error_free(refusal);
  }
  return TRUE;
}

gboolean study_run_stages(Study *study, const char *const *layouts, const StudyOptions *options, StudyStages *ret,
                          GError **error) {
  if (!study_trials_check(study, error))
    return FALSE;
  g_autoptr(StudyCache) cache = study_cache_new();
  g_autoptr(GError) first = NULL;
  StudyStages stages = {.n = 0};
  Rungs rungs = {study, options, cache, g_ptr_array_new(), g_ptr_array_new(), g_ptr_array_new()};
  run_stages(&rungs, &stages, &first);
  gboolean good = run_layouts(&rungs, layouts, &first, error);
  stages.n = rungs.reports->len;
  g_ptr_array_add(rungs.titles, NULL);
  g_ptr_array_add(rungs.left_out, NULL);
  stages.reports = (RunReport **)g_ptr_array_free(rungs.reports, FALSE);
  stages.titles = (char **)g_ptr_array_free(rungs.titles, FALSE);
  stages.left_out = (char **)g_ptr_array_free(rungs.left_out, FALSE);
  if (!good || stages.n == 0) {
    if (good)
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
  g_free(stages->reports);
  g_strfreev(stages->titles);
  g_strfreev(stages->left_out);
  for (int stage = 0; stage < STUDY_STAGES; stage++)
    g_free(stages->refused[stage]);
  *stages = (StudyStages){.n = 0};
}
