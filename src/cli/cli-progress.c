/* SPDX-License-Identifier: MIT */
/* One line, overwritten. */
#include "cli-progress.h"

#include <stdio.h>
#include <unistd.h>

#define SHOW_EVERY_US 100000

void cli_progress_begin(CliProgress *progress, const char *what, gboolean quiet) {
  *progress = (CliProgress){.what = what, .on = !quiet && isatty(STDERR_FILENO), .begun_at = g_get_monotonic_time()};
}

void cli_progress_show(CliProgress *progress, guint64 done, guint64 fast, guint64 all) {
  gint64 now = progress->on ? g_get_monotonic_time() : 0;
  if (!progress->on || now - progress->shown_at < SHOW_EVERY_US)
    return;
  progress->shown_at = now;
  progress->drawn = TRUE;
  double seconds = (double)(now - progress->begun_at) / G_USEC_PER_SEC, rate = (double)(done - fast) / seconds;
  fprintf(stderr, "\r\033[K%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " %s, %.0f/s", done, all, progress->what, rate);
  if (rate > 0)
    fprintf(stderr, ", %.0f s left", (double)(all - done) / rate);
}

void cli_progress_end(CliProgress *progress) {
  if (progress->drawn)
    fputs("\r\033[K", stderr);
}
