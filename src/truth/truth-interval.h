/* SPDX-License-Identifier: MIT */
/* Whether intervals hold what they say: how many measured steps lie in theirs.
 *
 *   g_autoptr(GArray) covers = truth_interval_covers(result);     // TruthCover, by source and set
 *   … cover->inside of cover->n, cover->held_out of them without their source …
 *
 * Intervals rest on published rows. Of such a row its own interval says little, since the row had a part in it;
 * `held_out` counts the rows that lie in the interval which all other sources would have given: what somebody meets
 * whose machine is none of those. */
#pragma once

#include "truth-run.h"

typedef struct {
  const char *source, *set; /* borrowed from the result */
  guint n;                  /* rows with a measured step that ran */
  guint inside, held_out;
  guint beyond;  /* of them, like no row of other sources */
  guint resting; /* of them, among those that intervals rest on */
  double width;  /* median of high / low of the row's own interval; 0: none is known */
  double held_width;
  double by_source; /* of truth_interval_sum: mean over sources of their share that is held out and inside */
} TruthCover;

/* Fills what rows know of their intervals; `trust` borrowed. After all rows were played. */
void truth_intervals(TruthResult *result, const Trust *trust);
/* By source and set. */
GArray *truth_interval_covers(const TruthResult *result);
/* Of tiers A and B together; n 0: there is none. */
TruthCover truth_interval_sum(const TruthResult *result);
