/* SPDX-License-Identifier: MIT */
/* One step explained: where its time goes, what that hangs on, and what would make it faster.
 *
 *   g_autoptr(GPtrArray) faster = study_faster(study, report, &options, NULL);
 *   g_autoptr(StudyTornado) tornado = study_tornado(study, &options, NULL);
 *   report_explained(report, faster, tornado, text);        // or report_explained_json
 *
 * The step as a budget that adds up (compute by kind of operation, exposed communication and idle time by cause), its
 * critical path with the five kinds of tasks that take most of it, the step if overlap were perfect and if links had no
 * end, figures of the cluster a tenth smaller and larger, and every knob of the recipe at its neighbours' values, the
 * ones that pay first, by what they gain a token, each with the memory that it costs. `report` with its timeline. */
#pragma once

#include "run-report.h"
#include "study-tornado.h"

void report_explained(const RunReport *report, const GPtrArray *faster, const StudyTornado *tornado, GString *text);
/* One object:
 *   "json_version", columns of table run,
 *   "compute" {kind of operation: ps}, "causes_ps" {cause: ps},
 *   "critical_path" [{"name", "phase" (null, both: no task), "kind" (compute, collective, host, peers), "tasks",
 *                     "time_ps"}], the longest first, adding up to step_ps,
 *   "perfect_overlap_ps", "endless_links_ps" (null: not played),
 *   "tornado" [{"figure", "low" {"factor", "step_ps", "verdict"}, "high" {…}}],
 *   "changes" [as report_faster_json says] */
void report_explained_json(const RunReport *report, const GPtrArray *faster, const StudyTornado *tornado,
                           GString *text);

/* "What would make it faster" alone: at most `most` rows that pay, those that may be advised. Nothing where none does.
 */
void report_faster(const RunReport *report, const GPtrArray *faster, guint most, GString *text);
/* The two lines under a run whose step is exposed for more than a tenth: the best single change, and the best
 * together. `faster` NULL: who can tell, where it was not looked for. */
void report_faster_hint(const RunReport *report, const GPtrArray *faster, GString *text);
