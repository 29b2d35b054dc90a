/* SPDX-License-Identifier: MIT */
/* Knobs alone, then a forward selection from each of a few starts, on the runner. */
#include "study-faster.h"

#include <stdlib.h>
#include <string.h>

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

/* Changes played together, by the sorted text of them: several starts grow to the same. */
typedef struct {
  RunReport *report; /* NULL: refused */
  gboolean done;     /* else a thread is at it */
} Together;

typedef struct {
  const Study *study;
  const RunReport *report;
  const StudyOptions *options;
  StudyWatch *watch;
  GMutex lock; /* of what follows, and of `watch` while starts grow */
  GCond played;
  GHashTable *together;
} Search;

/* What a start has grown to. */
typedef struct {
  char *change;
  const RunReport *report; /* of `together`; NULL: it is the start itself */
} Grown;

static void together_free(gpointer data) {
  Together *together = data;
  run_report_free(together->report);
  g_free(together);
}

static gint by_text(gconstpointer a, gconstpointer b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Caller frees. */
static char *sorted_text(const char *change) {
  g_auto(GStrv) each = g_strsplit(change, " ", -1);
  qsort(each, g_strv_length(each), sizeof *each, by_text);
  return g_strjoinv(" ", each);
}

/* Played by the first thread that asks, for which the others wait. NULL: refused. */
static const RunReport *play_together(Search *search, const char *change, StudyCache *cache) {
  char *key = sorted_text(change);
  g_mutex_lock(&search->lock);
  Together *together = g_hash_table_lookup(search->together, key);
  if (together == NULL) {
    together = g_new0(Together, 1);
    g_hash_table_insert(search->together, key, together);
    g_mutex_unlock(&search->lock);
    RunReport *report = study_trial_run(search->study, change, search->options, cache);
    g_mutex_lock(&search->lock);
    together->report = report;
    together->done = TRUE;
    g_cond_broadcast(&search->played);
  } else {
    g_free(key);
    while (!together->done)
      g_cond_wait(&search->played, &search->lock);
  }
  g_mutex_unlock(&search->lock);
  return together->report;
}

static RunReport *take_together(Search *search, const char *change) {
  g_autofree char *key = sorted_text(change);
  Together *together = g_hash_table_lookup(search->together, key);
  return g_steal_pointer(&together->report);
}

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
static void extend(Search *search, Grown *best, const RunReport *start, const StudyTrial *next, StudyCache *cache) {
  if (study_changes_clash(best->change, next->change))
    return;
  g_autofree char *both = g_strdup_printf("%s %s", best->change, next->change);
  const RunReport *report = play_together(search, both, cache);
  if (report == NULL || !study_may_advise(search->report, report) ||
      study_gain(best->report != NULL ? best->report : start, report) < LEAST_GAIN)
    return;
  g_free(best->change);
  best->change = g_steal_pointer(&both);
  best->report = report;
}

static void tell(Search *search) {
  g_mutex_lock(&search->lock);
  study_watch_done(search->watch);
  g_mutex_unlock(&search->lock);
}

/* From one change on, each of the others in turn. */
static void grow(Search *search, const GPtrArray *pay, guint first, Grown *best, StudyCache *cache) {
  const StudyTrial *start = g_ptr_array_index(pay, first);
  *best = (Grown){g_strdup(start->change), NULL};
  for (guint i = 0; i < pay->len; i++)
    if (i != first) {
      extend(search, best, start->report, g_ptr_array_index(pay, i), cache);
      tell(search);
    }
}

/* What each of the best starts grows to: one item of the runner each. */
typedef struct {
  Search *search;
  const GPtrArray *pay;
  Grown grown[STARTS];
  guint n, next;
} Starts;

static gpointer next_start(gpointer user) {
  Starts *starts = user;
  return starts->next < starts->n ? &starts->grown[starts->next++] : NULL;
}

static void grow_start(gpointer item, gpointer thread, gpointer user) {
  const Starts *starts = user;
  Grown *grown = item;
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
static const Grown *best_of(const Starts *starts) {
  const Grown *best = NULL;
  for (guint i = 0; i < starts->n; i++) {
    const Grown *grown = &starts->grown[i];
    if (grown->report != NULL && (best == NULL || study_gain(best->report, grown->report) > 0))
      best = grown;
  }
  return best;
}

static void try_together(Search *search, GPtrArray *trials) {
  g_autoptr(GPtrArray) pay = those_that_pay(search, trials);
  Starts starts = {.search = search, .pay = pay, .n = MIN(pay->len, STARTS)};
  StudyRunner runner = {.next = next_start,
                        .work = grow_start,
                        .deliver = has_grown,
                        .user = &starts,
                        .thread_new = cache_new,
                        .thread_free = cache_free};
  if (starts.n > 0)
    study_watch_expect(search->watch, starts.n * (pay->len - 1));
  study_runner_run(&runner, NULL, NULL);
  const Grown *best = best_of(&starts);
  if (best != NULL) {
    study_trials_add(trials, best->change);
    ((StudyTrial *)g_ptr_array_index(trials, trials->len - 1))->report = take_together(search, best->change);
  }
  for (guint i = 0; i < starts.n; i++)
    g_free(starts.grown[i].change);
}

GPtrArray *study_faster(const Study *study, const RunReport *report, const StudyOptions *options, StudyWatch *watch) {
  Search search = {.study = study, .report = report, .options = options, .watch = watch};
  GPtrArray *trials = study_trials_new();
  study_knobs(report, trials);
  study_trials_play(study, trials, options, watch);
  g_mutex_init(&search.lock);
  g_cond_init(&search.played);
  search.together = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, together_free);
  try_together(&search, trials);
  g_hash_table_unref(search.together);
  g_cond_clear(&search.played);
  g_mutex_clear(&search.lock);
  return trials;
}
