/* SPDX-License-Identifier: MIT */
/* Counting micro-batches: a step with many is played as three with few, wherever that gives the same Report
 * (run-count.h).
 *
 *   RunReport *report = NULL;
 *   if (!study_count(walk, options, &report, error)) return NULL;      // an error
 *   if (report == NULL) … all are to be played …
 *
 * Cost: that of a dozen micro-batches, whatever the accumulation; of a pipeline, of a hundred. Of a pipeline times are
 * exact, while levels of the allocator may be a segment or two off, and the busiest link of a class another: both can
 * settle later than what is played. Private to this floor. */
#pragma once

#include "study-walk.h"

/* *ret NULL: they are few, or not alike, or the options want all played; the walk is then as before, but for its
 * communicators. */
gboolean study_count(StudyWalk *walk, const StudyOptions *options, RunReport **ret, GError **error);
