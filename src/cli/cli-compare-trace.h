/* SPDX-License-Identifier: MIT */
/* compare RUN TRACE…: a prediction beside a profiler's timeline. Private to this floor. */
#pragma once

#include "cli.h"
#include "import-kineto-profile.h"

/* Behind the first word all are profilers' files. */
gboolean cli_compare_is_trace(const char *const *words);
/* Prints the run beside one rank's trace, or all ranks', of which the one with the longest step is taken, its
 * collectives without their waits for peers. */
CliExit cli_compare_trace(const ImportKinetoSet *set, const char *database, gint64 run_id, gboolean json,
                          GError **error);
