/* SPDX-License-Identifier: MIT */
/* Knobs alone, then a forward selection from each of a few starts, on the runner. */
#include "study-faster.h"

#include "study-knobs.h"
#include "study-runner.h"

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

/* What each of the best starts grows to: one item of the runner each. */
typedef struct {
  const Search *search;
  const GPtrArray *pay;
  StudyTrial grown[STARTS];
  guint n, next;
} Starts;

static gpointer next_start(gpointer user) {
  Starts *starts = user;
  return starts->next < starts->n ? &starts->grown[starts->next++] : NULL;
}

static void grow_start(gpointer item, gpointer thread, gpointer user) {
  const Starts *starts = user;
  StudyTrial *grown = item;
  grow(starts->search, starts->pay, (guint)(grown - starts->grown), grown, thread);
}

static gboolean has_grown(G_GNUC_UNUSED gpointer item, G_GNUC_UNUSED gpointer user, G_GNUC_UNUSED GError **error) {
  return TRUE;
}

static gpointer cache_new(G_GNUC_UNUSED gpointer user) {
  return study_cache_new();
}

static void cache_free(gpointer cache) {
  study_cache_free(cache);
}

/* Of equals the first. NULL: none has grown. */
static StudyTrial *best_of(Starts *starts) {
  StudyTrial *best = NULL;
  for (guint i = 0; i < starts->n; i++) {
    StudyTrial *grown = &starts->grown[i];
    if (grown->report != NULL && (best == NULL || study_gain(best->report, grown->report) > 0))
      best = grown;
  }
  return best;
}

static void try_together(const Search *search, GPtrArray *trials) {
  g_autoptr(GPtrArray) pay = those_that_pay(search, trials);
  Starts starts = {.search = search, .pay = pay, .n = MIN(pay->len, STARTS)};
  StudyRunner runner = {.next = next_start,
                        .work = grow_start,
                        .deliver = has_grown,
                        .user = &starts,
                        .thread_new = cache_new,
                        .thread_free = cache_free};
  study_runner_run(&runner, NULL, NULL);
  StudyTrial *best = best_of(&starts);
  if (best != NULL) {
    study_trials_add(trials, best->change);
    ((StudyTrial *)g_ptr_array_index(trials, trials->len - 1))->report = g_steal_pointer(&best->report);
  }
  for (guint i = 0; i < starts.n; i++) {
    g_free(starts.grown[i].change);
    run_report_free(starts.grown[i].report);
  }
}

GPtrArray *study_faster(const Study *study, const RunReport *report, const StudyOptions *options) {
  const Search search = {study, report, options};
  GPtrArray *trials = study_trials_new();
  study_knobs(report, trials);
  study_trials_play(study, trials, options);
  try_together(&search, trials);
  return trials;
}
