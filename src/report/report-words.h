/* SPDX-License-Identifier: MIT */
/* Wording shared by the texts of this room: numbers for people, parts that add up, lines that wrap.
 *
 *   gint64 parts[] = {1, 1, 1}, shares[3];
 *   report_split(parts, 3, 1000, shares);     // 334, 333, 333: tenths of a per cent */
#pragma once

#include "run-report.h"

/* Columns of a page. */
#define REPORT_WIDTH 100

/* Rounds each part × units / sum of the parts so that they add up to `units` (largest remainders first, ties to the
 * first part). All zero where the parts are. Parts and units below zero, which only a damaged database has, count as
 * zero. */
void report_split(const gint64 *parts, guint n, gint64 units, gint64 *ret);

/* "adamw (layer 3, optimizer)": a row of the program, layer -1 left out. Caller frees. */
char *report_row(const char *name, gint32 layer, const char *phase);
/* Where in a step a row stands: "the loss", "the optimizer's step", … */
const char *report_place(const char *name, gint32 layer, const char *phase);
/* "in the first step", "in steady step 2". Caller frees. */
char *report_step(guint32 step);

/* Who holds the device at its peak, in hundredths of a GiB that add up to what it must hold: by tenant, and last what
 * rounding and the allocator's cache put on top. */
#define REPORT_LEVELS (RUN_TENANTS + 1)
const char *report_level_name(guint level);
void report_split_memory(const guint64 held[RUN_TENANTS], guint64 used, gint64 ret[REPORT_LEVELS]);
void report_memory_levels(const RunClass *rank_class, gint64 ret[REPORT_LEVELS]);

/* Hundredths of a millisecond and of a GiB, to nearest: what tables show two decimals of. */
gint64 report_centi_ms(SimTime time);
gint64 report_centi_gib(guint64 bytes);

/* "539 to 1557", in ms: an interval around a step: three digits tell all that it knows; NULL where it is not known
 * (`low` 0). Caller frees. */
char *report_interval(SimTime low, SimTime high);
/* Below a page of several steps: for each envelope the labels of those that have it, and what it says. Labels and
 * envelopes (NULL: none) are n each. */
void report_envelopes(const char *const *labels, const char *const *envelopes, guint n, GString *text);

/* Appends words broken into lines: the first begins with `first`, the others with as many spaces. A number keeps what
 * follows it (its unit) on its line. */
void report_wrap(GString *text, const char *first, const char *words);
