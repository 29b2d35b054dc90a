/* SPDX-License-Identifier: MIT */
/* Ctrl-C while many points run: what was begun is finished and kept, nothing more is begun. A second one ends at once.
 *
 *   CliStop stop;
 *   cli_stop_begin(&stop);                      // before threads are started
 *   … .stop = cli_stop_asked, .stop_user = &stop …
 *   cli_stop_end(&stop);
 *
 * Signals are held and looked for, so that no handler and no global is needed. */
#pragma once

#include <glib.h>
#include <signal.h>

typedef struct {
  sigset_t signals, before;
  gboolean asked;
} CliStop;

void cli_stop_begin(CliStop *stop);
/* On the thread that began. */
gboolean cli_stop_asked(gpointer stop);
void cli_stop_end(CliStop *stop);
