/* SPDX-License-Identifier: MIT */
/* What is known of how much longer one step takes than another: for compare. Private to this floor. */
#pragma once

#include "report-ratio.h"
#include "run-report.h"

/* One for each report, against the first: the ratio that is foretold, and the interval that pairs of published steps
 * give it. Nothing is known of steps that are equal, or of which there are too few pairs. Caller frees. Errors: the
 * catalogue's files. */
ReportRatio *cli_ratios(RunReport *const *reports, guint n, GError **error);
