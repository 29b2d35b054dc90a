/* SPDX-License-Identifier: MIT */
/* Two reports that must be equal in every byte, but for how long the answers took.
 *
 *   const char *differs = report_differs(a, b);     // "step", "held": the first member that differs; NULL: none does
 */
#pragma once

#include "run-report.h"

/* Sets wall_seconds of both to 0. */
const char *report_differs(RunReport *a, RunReport *b);
