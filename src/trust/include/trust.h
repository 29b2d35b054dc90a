/* SPDX-License-Identifier: MIT */
/* How far off a prediction may be: an interval around its step time, and whether anything like it was ever validated.
 *
 *   g_autoptr(Trust) trust = trust_load(error);            // the catalogue's residuals.ini and .csv, margins.csv
 *   TrustCase one;
 *   trust_read(trust, report, &one);
 *   TrustVerdict verdict;
 *   trust_judge(trust, &one, step, NULL, &verdict);         // verdict.low, verdict.high, verdict.envelope
 *   trust_verdict_clear(&verdict);
 *
 * residuals.csv holds published steps of tiers A and B that were played: what each is like, and measured / predicted.
 *
 * Alike: a row with the same words, the same options and each number within the factor that residuals.ini gives it.
 *
 * The interval is that of the narrowest class with a row, of rows bound by the same, with c10d's checks
 * (parallel.distributed_debug) or without; of them, of the same kind (over data, tensor or pipeline ranks, with
 * offload); of the same framework; of the same architecture. Each leans on the class around it as far as its own rows
 * are few (trust-span.h). Where no row is alike, it is widened so as to hold that of all frameworks and architectures
 * for the kind and what binds: how wrong predictions are for somebody of whom only that is known.
 *
 * Threads may share it: nothing of it changes but the classes that were asked for, under a lock. Cost: some
 * 11 million instructions to load; a pass over the rows a verdict, and for a new class one for each level. */
#pragma once

#include "base-error.h"
#include "trust-case.h"
#include "trust-margin.h"

typedef struct Trust Trust;

/* Errors: the files, with place. */
Trust *trust_load(GError **error);
/* From memory, the three files' texts. */
Trust *trust_parse(const char *settings, const char *rows, const char *margins, GError **error);
/* As if the source had never been there: what its rows are judged by independently. Borrows from `trust`. */
Trust *trust_without(const Trust *trust, const char *source);
void trust_free(Trust *trust);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(Trust, trust_free)

/* MD5 of the files, which nobody forges: part of run keys. */
const char *trust_sum(const Trust *trust);
/* Nominal, in per cent. */
guint trust_coverage(const Trust *trust);
/* Whether the row with that id and source is among those that the intervals rest on. */
gboolean trust_has(const Trust *trust, const char *source, const char *id);

/* trust_case_read with the file's own limit. */
void trust_read(const Trust *trust, const RunReport *report, TrustCase *ret);

/* How far off a peak of reserved memory may be. */
const TrustMargin *trust_margin(const Trust *trust, const TrustCase *one);

typedef struct {
  SimTime low, high; /* 0: not known, there are too few rows */
  guint alike;       /* rows like it */
  char *envelope;    /* "validated: …" or "beyond what was validated: …", and which rows the interval rests on */
} TrustVerdict;

/* `unlike`: what makes it unlike all rows whatever its features, in words; NULL: nothing. */
void trust_judge(const Trust *trust, const TrustCase *one, SimTime step, const char *unlike, TrustVerdict *ret);
void trust_verdict_clear(TrustVerdict *verdict);
