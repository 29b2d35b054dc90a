/* SPDX-License-Identifier: MIT */
/* The timeline of a run for Perfetto (ui.perfetto.dev) and chrome://tracing: the Trace Event Format's JSON.
 *
 *   report_chrome(db, run_id, text, error);
 *
 * A process per rank class; its threads are streams (compute by phase, collectives with algorithm and bytes in `args`)
 * and "exposed", every interval without compute by its cause; counters hold memory by tenant. Times are microseconds
 * with six decimals, so nothing is rounded. Format: "Trace Event Format", Google, 2016, duration events X, metadata
 * M, counters C. */
#pragma once

#include "store-db.h"

/* Appends. Errors: SIM_ERROR_INPUT for a run without a timeline. */
gboolean report_chrome(StoreDb *db, gint64 run_id, GString *text, GError **error);
