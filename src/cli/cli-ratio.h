/* SPDX-License-Identifier: MIT */
/* What is known of how much longer one step takes than another: sentences for compare. Private to this floor. */
#pragma once

#include "run-report.h"

/* One line for each report after the first, against the first: the ratio that is foretold, the interval that pairs of
 * published steps give it, and whether the difference can be told at all. Nothing for steps that are equal, or of which
 * there are too few pairs. Errors: the catalogue's files. */
gboolean cli_ratios(RunReport *const *reports, guint n, GString *text, GError **error);
