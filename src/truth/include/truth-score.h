/* SPDX-License-Identifier: MIT */
/* How far off predictions are: by source and set, by measure.
 *
 *   g_autoptr(GArray) groups = truth_score_groups(result);          // TruthGroup
 *   g_autoptr(GArray) errors = truth_score_errors(result, group, STORE_MEASURE_STEP_TIME);
 *   TruthError error = truth_score_sum(errors);                     // mean, median, 90th percentile, worst, bias
 *
 * An error is predicted / measured - 1. A group is a source and a set; of collectives a topology, a set and a band of
 * sizes. Where a collective has a time, its bus bandwidth is not scored again: it is the same figure. Quantiles are by
 * nearest rank, the median of an even number is the mean of the middle two. */
#pragma once

#include "truth-run.h"

typedef enum { TRUTH_SMALL, TRUTH_MEDIUM, TRUTH_LARGE, TRUTH_BANDS } TruthBand;
extern const char *const truth_band_names[]; /* "< 1 MiB", "1 to 64 MiB", ">= 64 MiB" */

typedef struct {
  gboolean collectives;
  const char *source, *set; /* borrowed from the result; a collective's source is its topology */
  TruthBand band;
  guint rows, ran;
  guint verdicts[2][STORE_VERDICTS]; /* [measured][predicted] of rows with both, as StoreVerdict */
  guint hard, hard_right, hard_edge; /* of them: see truth_score_is_hard; right where the verdict is not edge */
} TruthGroup;

typedef struct {
  guint n;
  double mean, median, p90, worst; /* of absolute errors */
  double bias;                     /* mean of signed ones */
} TruthError;

/* Collectives last; by source, set and band. */
GArray *truth_score_groups(const TruthResult *result);
/* Signed errors (double) of the group's rows, in their order. */
GArray *truth_score_errors(const TruthResult *result, const TruthGroup *group, StoreMeasureKind kind);
TruthError truth_score_sum(const GArray *errors);

/* Whether a verdict is hard to get right: what parameters, gradients, optimizer and activations hold at the peak is
 * from 0.6 to 1.5 of the capacity, so that a plain sum of states and activations would not tell. */
gboolean truth_score_is_hard(const TruthRow *row);

/* The tier of trust that ends the set's name, 'A', 'B' or 'C'; 0: none. */
char truth_score_tier(const char *set);

/* Over sources, the median of each source's median absolute error, of tiers A and B of the sets that begin with
 * `family` ("data-parallel"); and all those rows together. */
typedef struct {
  char *family;
  guint sources;
  double median_of_medians, worst_bias;
  TruthError all;
} TruthHeadline;
/* One for each family with such rows, by name. */
GArray *truth_score_headlines(const TruthResult *result, StoreMeasureKind kind);

/* A reason and how many rows have it. Whole numbers in it stand as N, so that rows that differ in size count together.
 */
typedef struct {
  char *text;
  guint rows;
} TruthReason;
/* The most frequent first. A row may have several. */
GArray *truth_score_reasons(const TruthResult *result);
