/* SPDX-License-Identifier: MIT */
/* Knobs alone, then a forward selection. */
#include "study-faster.h"

#include "study-knobs.h"

#define LEAST_GAIN 0.002 /* of what is tried together with others */
#define STARTS     3     /* the best changes, from each of which others are added */

double study_gain(const RunReport *from, const RunReport *to) {
  return to->tokens_per_second_per_gpu / from->tokens_per_second_per_gpu - 1;
}

gboolean study_may_advise(const RunReport *from, const RunReport *to) {
  return to->verdict <= from->verdict;
}

typedef struct {
  const Study *study;
  const RunReport *report;
  const StudyOptions *options;
} Search;

static gint by_gain(gconstpointer a, gconstpointer b, gpointer user) {
  const RunReport *from = user;
  double left = study_gain(from, (*(StudyTrial *const *)a)->report),
         right = study_gain(from, (*(StudyTrial *const *)b)->report);
  return (left < right) - (left > right);
}

/* Those that pay and may be advised, the best first; of equals the first tried. Caller unrefs. */
static GPtrArray *those_that_pay(const Search *search, const GPtrArray *trials) {
  GPtrArray *pay = g_ptr_array_new();
  for (guint i = 0; i < trials->len; i++) {
    StudyTrial *trial = g_ptr_array_index(trials, i);
    if (study_may_advise(search->report, trial->report) && study_gain(search->report, trial->report) >= LEAST_GAIN)
      g_ptr_array_add(pay, trial);
  }
  g_ptr_array_sort_with_data(pay, by_gain, (gpointer)search->report);
  return pay;
}

/* Takes `next` into `best` where that gains on top of it; else leaves it. `start`: of what `best` began with. */
static void extend(const Search *search, StudyTrial *best, const RunReport *start, const StudyTrial *next,
                   StudyCache *cache) {
  if (study_changes_clash(best->change, next->change))
    return;
  g_autofree char *both = g_strdup_printf("%s %s", best->change, next->change);
  RunReport *report = study_trial_run(search->study, both, search->options, cache);
  if (report == NULL || !study_may_advise(search->report, report) ||
      study_gain(best->report != NULL ? best->report : start, report) < LEAST_GAIN) {
    run_report_free(report);
    return;
  }
  g_free(best->change);
  best->change = g_steal_pointer(&both);
  run_report_free(best->report);
  best->report = report;
}

/* From one change on, each of the others in turn. */
static void grow(const Search *search, const GPtrArray *pay, guint first, StudyTrial *best, StudyCache *cache) {
  const StudyTrial *start = g_ptr_array_index(pay, first);
  *best = (StudyTrial){g_strdup(start->change), NULL};
  for (guint i = 0; i < pay->len; i++)
    if (i != first)
      extend(search, best, start->report, g_ptr_array_index(pay, i), cache);
}

static void drop(StudyTrial *trial) {
  g_free(trial->change);
  run_report_free(trial->report);
}

static void try_together(const Search *search, GPtrArray *trials) {
  g_autoptr(GPtrArray) pay = those_that_pay(search, trials);
  StudyTrial best = {NULL, NULL};
  StudyCache *cache = study_cache_new();
  for (guint i = 0; i < MIN(pay->len, STARTS); i++) {
    StudyTrial grown;
    grow(search, pay, i, &grown, cache);
    gboolean better = grown.report != NULL && (best.report == NULL || study_gain(best.report, grown.report) > 0);
    StudyTrial worse = better ? best : grown;
    best = better ? grown : best;
    drop(&worse);
  }
  study_cache_free(cache);
  if (best.report != NULL) {
    study_trials_add(trials, best.change);
    ((StudyTrial *)g_ptr_array_index(trials, trials->len - 1))->report = g_steal_pointer(&best.report);
  }
  drop(&best);
}

GPtrArray *study_faster(const Study *study, const RunReport *report, const StudyOptions *options) {
  const Search search = {study, report, options};
  GPtrArray *trials = study_trials_new();
  study_knobs(report, trials);
  study_trials_play(study, trials, options);
  try_together(&search, trials);
  return trials;
}
