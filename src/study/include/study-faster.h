/* SPDX-License-Identifier: MIT */
/* What would make a step faster: each knob of the recipe at its neighbours' values, alone, and the ones that pay
 * together.
 *
 *   g_autoptr(GPtrArray) faster = study_faster(study, report, &options, NULL);  // of StudyTrial
 *   double gain = study_gain(report, trial->report);                      // 0.31: as many tokens for 0.76 of the time
 *
 * Every change that could be played is there, those that lose too (what a knob does is as good to know), in the order
 * in which they were tried; last, where at least two of them pay together, the best that was found so: from each of
 * the three that gain most and fit, each of the others in order of what it gains alone, kept where it gains on top.
 * Fits: a verdict no worse than the run's own. All at the same global batch. Cost: some 30 to 60 summary-only
 * runs: changes that several starts grow to are played once. */
#pragma once

#include "study-trial.h"

GPtrArray *study_faster(const Study *study, const RunReport *report, const StudyOptions *options, StudyWatch *watch);
/* Tokens per second and GPU, of the run's own, less 1: what a change gains. */
double study_gain(const RunReport *from, const RunReport *to);
/* Whether a change may be advised: its verdict is no worse. */
gboolean study_may_advise(const RunReport *from, const RunReport *to);
