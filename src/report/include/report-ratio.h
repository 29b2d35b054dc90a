/* SPDX-License-Identifier: MIT */
/* What is known of how much longer one step takes than another, in words and as JSON. */
#pragma once

#include "base-json.h"

typedef struct {
  char from, to;              /* labels */
  double foretold, low, high; /* step of `to` over that of `from`: as foretold, and the limits of its interval */
  guint coverage;             /* per cent */
  guint pairs, sources;       /* that the limits rest on; 0: nothing is known */
} ReportRatio;

/* Appends a sentence, and another where the interval does not tell which is faster; nothing where nothing is known. */
void report_ratio(const ReportRatio *ratio, GString *text);
/* The member "step_ratio", as report-compare.h says. */
void report_ratio_json(const ReportRatio *ratio, BaseJson *json);
