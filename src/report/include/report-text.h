/* SPDX-License-Identifier: MIT */
/* What people read: a run's summary, stages side by side, JSON.
 *
 *   g_autoptr(GString) text = g_string_new(NULL);
 *   report_summary(report, text);
 *   fputs(text->str, stdout);
 *
 * Plain text without colour, at most 100 columns; everything appends to a GString. A summary says what was asked, the
 * verdict, step time, compute, communication and how much of it is exposed (by cause), bytes sent per GPU inside the
 * node and between nodes, tokens/s, MFU, peak memory by tenant against capacity, the assumptions; on OOM the first
 * request that failed, how much is missing and the step time "(if it fitted)". Parts are rounded so that they add up to
 * what is printed as their sum. */
#pragma once

#include "run-report.h"

/* "json_version" of every object printed; rises when a key changes its meaning or goes. */
#define REPORT_JSON_VERSION 1

void report_summary(const RunReport *report, GString *text);

/* The table of stages (and other layouts) and one sentence each: what the rung bought and what it cost against the one
 * before (a layout: the last stage); last, which of them to take. `n` > 0 reports, in the order in which they are to
 * stand, under their titles (NULL: ZeRO-0 …). */
void report_stages(const char *const *titles, RunReport *const *reports, guint n, GString *text);

/* Which ranks and links were played as one, and what kept the others apart; reports that say the same say it once.
 * After a summary or a table of stages. */
void report_explain(RunReport *const *reports, guint n, GString *text);

/* One object per report, ended by a line feed; `stages` gives an array. Keys of the object are the columns of the
 * database's table run (times _ps, sizes _bytes; null: not known), then
 *   "title"           of stages alone: "ZeRO-1", or the layout as it was asked for
 *   "json_version"    1; rises when a key changes its meaning or goes
 *   "causes_ps"       {"tail": …, "host": …, …}: every cause; bubble and host-idle are idle time, all others exposed
 *   "memory_at_peak"  {"parameters": {"bytes": …, "unique_bytes": …}, …}: every tenant, of the tightest rank class
 *   "peak"            {"at_ps", "step", "task_name", "layer", "phase", "place"} of that moment; layer null: of no
 *                     layer; place: where in a step that is, in words
 *   "oom"             the first request that could not be met, keys as the columns of table oom, and
 *                     "held_bytes" by tenant at that moment; null where all fits
 *   "remedies"        on OOM, of foretrain run alone: as report-remedies.h says
 *   "rank_classes"    [{"rank_class", "ranks", "first_rank", "members" ("0-16,18-63"), "apart" (what keeps
 *                     them from other classes, or null), "role" ("stage 1: layers 8-15", or null), and the columns
 *                     of table rank_class}]
 *   "links"           [{"link_class", "links", "bytes", "busy_ps", "utilisation", "apart" (which of them differ, or
 *                     null)}]
 *   "settings"        {"group.key": {"value", "origin"}, …}
 *   "notes"           [text, …] */
void report_json(const RunReport *report, GString *text);
/* `remedies`: of StudyRemedy; NULL: without the member. */
void report_json_with(const RunReport *report, const GPtrArray *remedies, GString *text);
void report_stages_json(const char *const *titles, RunReport *const *reports, guint n, GString *text);
