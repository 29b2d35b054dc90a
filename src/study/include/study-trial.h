/* SPDX-License-Identifier: MIT */
/* Trials: a study with a few settings changed, played for their summary; many of them at once, on all cores.
 *
 *   g_autoptr(GPtrArray) trials = study_trials_new();
 *   study_trials_add(trials, "parallel.zero_stage=2");
 *   study_trials_play(study, trials, &options);          // those that are refused are gone
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

/* Of StudyTrial, which it frees. */
GPtrArray *study_trials_new(void);
void study_trials_add(GPtrArray *trials, const char *change);
/* Plays what is not played yet. */
void study_trials_play(const Study *study, GPtrArray *trials, const StudyOptions *options);
/* One, here and now; NULL: refused. `cache`: NULL: none. */
RunReport *study_trial_run(const Study *study, const char *change, const StudyOptions *options, StudyCache *cache);
/* Whether two changes give a value to the same setting. */
gboolean study_changes_clash(const char *a, const char *b);

/* The study with changes ("group.key=value", NULL-terminated) over it, above all else that was said. Error: refused. */
RunReport *study_try(const Study *study, const char *const *changes, const StudyOptions *options, GError **error);
