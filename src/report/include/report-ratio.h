/* SPDX-License-Identifier: MIT */
/* What is known of how much longer one step takes than another, in words. */
#pragma once

#include <glib.h>

typedef struct {
  char from, to;              /* labels */
  double foretold, low, high; /* step of `to` over that of `from`: as foretold, and the limits of its interval */
  guint coverage;             /* per cent */
  guint pairs, sources;       /* that the limits rest on */
} ReportRatio;

/* Appends a sentence, and another where the interval does not tell which is faster. */
void report_ratio(const ReportRatio *ratio, GString *text);
