/* SPDX-License-Identifier: MIT */
/* Counting micro-batches: a step with many is played as one or three with few, wherever that gives the same Report: of
 * one stage three plays that lie on a line (run-count.h), of a pipeline one, in which two windows are alike
 * (run-window.h).
 *
 *   RunReport *report = NULL;
 *   if (!study_count(walk, options, &report, error)) return NULL;      // an error
 *   if (report == NULL) … all are to be played …
 *
 * Cost: that of a dozen micro-batches, whatever the accumulation; of a pipeline, of a few for each stage. Of a pipeline
 * step, bytes and verdict are exact; parts of the step may be off by a hundredth where its stages are still settling
 * (RunReport.settled). Memory is exact to the byte, of one stage as of a pipeline (run-window-memory.c); but where it
 * has run out, what is reserved beyond it may be off by a few hundredths. A step whose allocator gives its cache back
 * in micro-batch after micro-batch is not counted: it is played. Private to this floor. */
#pragma once

#include "study-walk.h"

/* *ret NULL: they are few, or not alike, or the options want all played; the walk is then as before, but for its
 * communicators. */
gboolean study_count(StudyWalk *walk, const StudyOptions *options, RunReport **ret, GError **error);
