/* SPDX-License-Identifier: MIT */
/* Plays that a cache remembers: points that differ in nothing but prices are played once.
 *
 *   g_autofree char *key = study_played_key(walk, options);
 *   RunReport *report = study_played_find(walk, key);
 *   if (report == NULL) … play …, study_played_keep(walk, key, report);
 *
 * Found again is a play only by all settings that it was made of and the options that it was played with; what follows
 * from prices, and who it was, is filled in by the caller either way. Of runs with a cache of their own, of timelines
 * and of traces nothing is kept. Memory: some megabytes at most. Private to this floor. */
#pragma once

#include "study-walk.h"

/* All that decides a play; caller frees. NULL: it is not remembered. */
char *study_played_key(const StudyWalk *walk, const StudyOptions *options);
/* A report with an empty identity but for its notes, as study_walk_play's; NULL: there is none. Caller frees. */
RunReport *study_played_find(const StudyWalk *walk, const char *key);
/* Keeps a copy of such a report, before anything else is filled in. */
void study_played_keep(const StudyWalk *walk, const char *key, const RunReport *report);
