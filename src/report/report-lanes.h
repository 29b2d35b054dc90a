/* SPDX-License-Identifier: MIT */
/* A pipeline as boxes: for each stage a lane of its passes, and one of its collectives.
 *
 *   stage 0   ▇0▇▇1▇▇2▇▇3▇░░░░░░░░░▓▓0▓▓░░▓▓1▓▓      kind: phase; label: micro-batch; ░ idle by bubble, host, …
 *             ▒                             ▒▒       kind: operation
 *   stage 1   ░░░▇0▇▇1▇▇2▇░▓▓0▓▓ …
 *
 *   g_autoptr(ReportBoxes) boxes = report_lanes_new(&scene);         // kernels, waits, collectives
 *   g_autoptr(ReportBoxes) passes = report_lanes_passes(&scene);     // in the same rows: a box for each pass
 *
 * What runs again is of backward; where backward is two passes, the one of weights has a kind of its own ("weights").
 * Private to this floor. */
#pragma once

#include "report-boxes.h"

/* Whether the scene's run has stages to draw. */
gboolean report_lanes_has(const ReportScene *scene);
/* Borrows the texts of the scene's report. */
ReportBoxes *report_lanes_new(const ReportScene *scene);
ReportBoxes *report_lanes_passes(const ReportScene *scene);
