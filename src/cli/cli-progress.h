/* SPDX-License-Identifier: MIT */
/* A line of progress on a terminal: how many, at what rate, how long still. Nothing where stderr is none.
 *
 *   CliProgress progress;
 *   cli_progress_begin(&progress, "points", quiet);
 *   cli_progress_show(&progress, done, fast, all);      // as often as you like; drawn ten times a second
 *   cli_progress_end(&progress);                        // wipes the line
 */
#pragma once

#include <glib.h>

typedef struct {
  const char *what;
  gboolean drawn, on;
  gint64 begun_at, shown_at;
} CliProgress;

void cli_progress_begin(CliProgress *progress, const char *what, gboolean quiet);
/* `fast`: of those done, so many cost next to nothing and say nothing about the rest. */
void cli_progress_show(CliProgress *progress, guint64 done, guint64 fast, guint64 all);
void cli_progress_end(CliProgress *progress);
