/* SPDX-License-Identifier: MIT */
/* The timeline of a run for Perfetto (ui.perfetto.dev) and chrome://tracing: the Trace Event Format's JSON.
 *
 *   report_chrome(db, run_id, text, error);
 *
 * A process per rank class; its threads are "host" (what the host spent on each task), "exposed" and "idle" (every
 * interval without compute by its cause) and its streams (compute by phase, collectives with algorithm and bytes in
 * `args`). Arrows lead from each collective that compute waited for to the task that waited. Counters hold memory by
 * tenant, on the clock of the GPU. Times are microseconds with six decimals, so nothing is rounded. Format: "Trace
 * Event Format", Google, 2016: duration events X, metadata M, counters C, flows s and f. */
#pragma once

#include "store-db.h"

/* Appends. Errors: SIM_ERROR_INPUT for a run without a timeline. */
gboolean report_chrome(StoreDb *db, gint64 run_id, GString *text, GError **error);
