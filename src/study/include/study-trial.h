/* SPDX-License-Identifier: MIT */
/* Trials: a study with a few settings changed, played for their summary; many of them at once, on all cores.
 *
 *   g_autoptr(GPtrArray) trials = study_trials_new();
 *   study_trials_add(trials, "parallel.zero_stage=2");
 *   study_trials_play(study, trials, &options, NULL);    // those that are refused are gone
 *
 * A change is "group.key=value", or several with spaces between; it stands above all else that was said. Order and
 * results do not depend on the number of threads. Cost: a summary-only run each. */
#pragma once

#include "study-cache.h"
#include "study.h"

typedef struct {
  char *change;
  RunReport *report; /* NULL: not played yet */
} StudyTrial;

/* Who looks on while many are played: told after each, one thread at a time. `all` grows as more come into sight. */
typedef struct {
  void (*progress)(guint64 done, guint64 all, gpointer user);
  gpointer user;
  guint64 done, all; /* plays so far, and how many there may be */
} StudyWatch;
/* NULL: nobody looks. */
void study_watch_expect(StudyWatch *watch, guint64 plays);
void study_watch_done(StudyWatch *watch);

/* FALSE with advice where the step is too large to be played again and again (study-size.h), as explain, advise, fit,
 * stages, plot tornado, and of what is not a kept run compare and a run's page do. Nothing is played for it; what
 * cannot be played at all passes, for a play says why. */
gboolean study_trials_check(const Study *study, GError **error);

/* Of StudyTrial, which it frees. */
GPtrArray *study_trials_new(void);
void study_trials_add(GPtrArray *trials, const char *change);
/* Plays what is not played yet. */
void study_trials_play(const Study *study, GPtrArray *trials, const StudyOptions *options, StudyWatch *watch);
/* One, here and now; NULL: refused. `cache`: NULL: none. */
RunReport *study_trial_run(const Study *study, const char *change, const StudyOptions *options, StudyCache *cache);
/* Whether two changes give a value to the same setting. */
gboolean study_changes_clash(const char *a, const char *b);

/* The study with changes ("group.key=value", NULL-terminated) over it, above all else that was said. Error: refused. */
RunReport *study_try(const Study *study, const char *const *changes, const StudyOptions *options, GError **error);
