/* SPDX-License-Identifier: MIT */
/* SIGINT and SIGTERM, held for all threads and taken when asked. */
#include "cli-stop.h"

#include <time.h>

void cli_stop_begin(CliStop *stop) {
  *stop = (CliStop){.asked = FALSE};
  sigemptyset(&stop->signals);
  sigaddset(&stop->signals, SIGINT);
  sigaddset(&stop->signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &stop->signals, &stop->before);
}

gboolean cli_stop_asked(gpointer user) {
  CliStop *stop = user;
  static const struct timespec at_once = {0, 0};
  if (!stop->asked && sigtimedwait(&stop->signals, NULL, &at_once) > 0) {
    stop->asked = TRUE;
    cli_stop_end(stop);
  }
  return stop->asked;
}

void cli_stop_end(CliStop *stop) {
  pthread_sigmask(SIG_SETMASK, &stop->before, NULL);
}
