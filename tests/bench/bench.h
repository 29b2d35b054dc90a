/* SPDX-License-Identifier: MIT */
/* What every speed program shares: the machine's name, a clock, and random numbers that cost next to nothing. */
#pragma once

#include <glib.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base-pages.h"

/* Says what is measured, and on which processor; memory is as in foretrain itself. */
static inline void bench_head(const char *what) {
  g_autofree char *text = NULL;
  const char *name = "an unknown processor";
  base_pages_begin();
  if (g_file_get_contents("/proc/cpuinfo", &text, NULL, NULL)) {
    char *found = strstr(text, "model name");
    if (found != NULL && (found = strchr(found, ':')) != NULL) {
      *strchrnul(found, '\n') = '\0';
      name = found + 2;
    }
  }
  printf("%s, on %s\n", what, name);
}

/* Of processor time, all threads: other work on the machine is not measured, though it is felt in the caches. */
static inline double bench_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* xorshift64* (Vigna 2016); the state must not be 0. */
static inline guint64 bench_random(guint64 *state) {
  *state ^= *state >> 12;
  *state ^= *state << 25;
  *state ^= *state >> 27;
  return *state * G_GUINT64_CONSTANT(0x2545f4914f6cdd1d);
}
