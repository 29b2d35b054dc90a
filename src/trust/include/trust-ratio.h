/* SPDX-License-Identifier: MIT */
/* How far off the ratio of two predicted steps may be. What both share of an error (a cluster, a GPU's clock, a
 * framework's host) cancels in it, so it is known better than either step.
 *
 *   TrustRatio ratio;
 *   if (trust_ratio(trust, &from, &to, &ratio)) … to / from is from ratio.low to ratio.high times what is predicted …
 *
 * It rests on pairs of published rows of one source, one of each run's class (trust.h): on how far measured / predicted
 * of the one is from that of the other. Classes are the narrowest of which there are pairs enough. */
#pragma once

#include "trust.h"

typedef struct {
  double low, high; /* of measured over predicted ratio; low <= 1 <= high */
  guint pairs, sources;
} TrustRatio;

/* FALSE, *ret untouched: there are too few pairs. Cost: the square of a class's rows of one source, some 10 ms. */
gboolean trust_ratio(const Trust *trust, const TrustCase *from, const TrustCase *to, TrustRatio *ret);
