/* SPDX-License-Identifier: MIT */
/* Why steps differ: runs of one database side by side, and the differences to the first of them.
 *
 *   gint64 ids[] = {12, 13};
 *   report_compare(db, ids, 2, text, error);          // or report_compare_json
 *
 * The step of the slowest rank class is taken apart into leaves: compute by phase, exposed communication by the
 * collective that compute waited for and the cause, idle time by cause. What they are for has the same name under every
 * framework and stage, by which a page adds them up. Where computes overlap, an instant is the one's
 * that began first. Leaves add up to the step to the picosecond, so the differences of leaves add up to the difference
 * of steps, and what is printed is rounded so that it does too. A run without a timeline has three leaves. */
#pragma once

#include "report-ratio.h"
#include "store-db.h"
#include "study-quote.h"

/* `n` >= 2. Appends the settings that differ, a table, and in words what makes the difference. Errors: of the database.
 */
gboolean report_compare(StoreDb *db, const gint64 *run_ids, guint n, GString *text, GError **error);

/* One object:
 *   "json_version", "runs" [{"label" ("A"), "run_id", columns of table run, "parts" [{"kind" (compute, exposed, idle),
 *   "what" (phase or collective; null), "purpose" (null where "what" is), "cause" (null for compute), "time_ps"}],
 *   "memory_at_peak" {tenant: bytes}}],
 *   "differences" [{"from" ("A"), "to" ("B"), "parts" [as above, of both, "time_ps" to − from], "memory_at_peak",
 *   columns of table run that are numbers (to − from; null where one is not known), "settings" {name: [from, to]},
 *   "words", "step_ratio" (null: not known) {"foretold", "low", "high", "coverage" (per cent), "pairs", "sources"}}],
 *   and where they are offers "quotes", as report-quotes.h has it */
gboolean report_compare_json(StoreDb *db, const gint64 *run_ids, guint n, GString *text, GError **error);

/* What stands beside the steps, of each of them; NULL: not asked. */
typedef struct {
  const StudyOffer *offers;  /* what each is offered for, weighed (report-quotes.h) */
  const ReportRatio *ratios; /* to the first; the first's own is not read */
} ReportBeside;

/* The same of reports, each with its timeline, which they take: what the database did not keep can be played again.
 * `run_ids`: of each, as printed. */
void report_compared(RunReport *const *reports, const gint64 *run_ids, const ReportBeside *beside, guint n,
                     GString *text);
void report_compared_json(RunReport *const *reports, const gint64 *run_ids, const ReportBeside *beside, guint n,
                          GString *text);
