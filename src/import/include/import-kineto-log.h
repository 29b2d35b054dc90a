/* SPDX-License-Identifier: MIT */
/* A trace's collectives as a log of nccl-tests would have them, for import-fit.h: a trace teaches the catalogue.
 *
 *   g_autoptr(ImportLog) log = import_kineto_log(set, nodes, error);
 *   import_fit_run(log, &(ImportFitOptions){.topology = "dgx-a100", .small = …, .large = …}, &fit, error)
 *
 * A kernel of a collective runs from when its own rank is ready until all are done, so it holds the wait for the
 * slowest one. Where every rank's file is there, a call's time is that of its fastest kernel: of the rank that came
 * last and waited for nobody. With one file it is that of the fastest of all calls of its operation, group and size.
 * Calls of one operation and group of ranks are a run, one row per size. Steps are never looked at. */
#pragma once

#include "import-kineto-program.h"
#include "import-nccl-tests.h"

/* Which calls of traces decide a latency, and which a bandwidth: training sends fewer sizes than nccl-tests does. */
#define IMPORT_KINETO_SMALL ((guint64)32 << 10)
#define IMPORT_KINETO_LARGE ((guint64)16 << 20)

/* nodes: over which the world was spread; a group of neighbours may be on fewer. Errors (SIM_ERROR_INPUT): no
 * collective says what it sends; the ranks do not fill so many nodes. */
ImportLog *import_kineto_log(const ImportKinetoSet *set, guint nodes, GError **error);
