/* SPDX-License-Identifier: MIT */
/* Changes over a study, on the runner. */
#include "study-trial.h"

#include <string.h>

#include "conf-settings.h"
#include "study-runner.h"
#include "study-size.h"
#include "study-walk.h"

void study_watch_expect(StudyWatch *watch, guint64 plays) {
  if (watch != NULL)
    watch->all += plays;
}

void study_watch_done(StudyWatch *watch) {
  if (watch == NULL)
    return;
  watch->done++;
  if (watch->progress != NULL)
    watch->progress(watch->done, watch->all, watch->user);
}

gboolean study_trials_check(const Study *study, GError **error) {
  StudyWalk walk = {.settings = conf_settings_copy(study->settings), .fidelity = "flow", .contention = TRUE};
  gboolean good = !study_walk_read(&walk, NULL) || study_size_check_again(&walk, error);
  study_walk_clear(&walk);
  return good;
}

static void trial_free(gpointer data) {
  StudyTrial *trial = data;
  g_free(trial->change);
  run_report_free(trial->report);
  g_free(trial);
}

GPtrArray *study_trials_new(void) {
  return g_ptr_array_new_with_free_func(trial_free);
}

void study_trials_add(GPtrArray *trials, const char *change) {
  StudyTrial *trial = g_new0(StudyTrial, 1);
  trial->change = g_strdup(change);
  g_ptr_array_add(trials, trial);
}

static RunReport *run(const Study *study, const char *const *changes, const StudyOptions *options, StudyCache *cache,
                      GError **error) {
  g_autoptr(ConfSettings) settings = conf_settings_copy(study->settings);
  for (gsize i = 0; changes[i] != NULL; i++)
    if (!conf_settings_set(settings, changes[i], error))
      return NULL;
  return study_run_settings(study->workload, g_steal_pointer(&settings), options, cache, NULL, NULL, error);
}

RunReport *study_try(const Study *study, const char *const *changes, const StudyOptions *options, GError **error) {
  return run(study, changes, options, NULL, error);
}

RunReport *study_trial_run(const Study *study, const char *change, const StudyOptions *options, StudyCache *cache) {
  g_auto(GStrv) each = g_strsplit(change, " ", -1);
  StudyOptions summary = *options;
  summary.timeline = FALSE;
  return run(study, (const char *const *)each, &summary, cache, NULL);
}

typedef struct {
  const Study *study;
  const StudyOptions *options;
  GPtrArray *trials;
  StudyWatch *watch;
  guint next;
} Players;

static gpointer next(gpointer user) {
  Players *players = user;
  while (players->next < players->trials->len) {
    StudyTrial *trial = g_ptr_array_index(players->trials, players->next++);
    if (trial->report == NULL)
      return trial;
  }
  return NULL;
}

static void work(gpointer item, gpointer thread, gpointer user) {
  const Players *players = user;
  StudyTrial *trial = item;
  trial->report = study_trial_run(players->study, trial->change, players->options, thread);
}

static gboolean deliver(G_GNUC_UNUSED gpointer item, gpointer user, G_GNUC_UNUSED GError **error) {
  const Players *players = user;
  study_watch_done(players->watch);
  return TRUE;
}

static gpointer begin(G_GNUC_UNUSED gpointer user) {
  return study_cache_new();
}

static void end(gpointer thread) {
  study_cache_free(thread);
}

void study_trials_play(const Study *study, GPtrArray *trials, const StudyOptions *options, StudyWatch *watch) {
  Players players = {study, options, trials, watch, 0};
  for (guint i = 0; i < trials->len; i++)
    study_watch_expect(watch, ((const StudyTrial *)g_ptr_array_index(trials, i))->report == NULL);
  StudyRunner runner = {
      .next = next, .work = work, .deliver = deliver, .user = &players, .thread_new = begin, .thread_free = end};
  study_runner_run(&runner, NULL, NULL);
  for (guint i = trials->len; i-- > 0;)
    if (((const StudyTrial *)g_ptr_array_index(trials, i))->report == NULL)
      g_ptr_array_remove_index(trials, i);
}

gboolean study_changes_clash(const char *a, const char *b) {
  g_auto(GStrv) all = g_strsplit(a, " ", -1), each = g_strsplit(b, " ", -1);
  for (guint i = 0; all[i] != NULL; i++)
    for (guint j = 0; each[j] != NULL; j++) {
      gsize name = strcspn(each[j], "=") + 1;
      if (strncmp(all[i], each[j], name) == 0)
        return TRUE;
    }
  return FALSE;
}
