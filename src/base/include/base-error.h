/* SPDX-License-Identifier: MIT */
/* Errors: bad input is a GError with a place and advice; a broken contract stops the program.
 *
 *   base_error_set_at(error, &place, "no such key; did you mean \"%s\"?", nearest);
 *   // workloads/a.ini:12:1: training.micro_bach: no such key; did you mean "micro_batch"?
 *
 *   sim_require(rank < n, now, run_key, "rank %u of %u", rank, n);   // prints both, the time and the run, and aborts
 *
 * SIM_ERROR_INPUT: the person's files or options are at fault (exit status 2). SIM_ERROR_SYSTEM: the machine refused
 * (a disk, a database; exit status 3). */
#pragma once

#include <glib.h>

#include "base-quantity.h"

#define SIM_ERROR (sim_error_quark())
GQuark sim_error_quark(void);

typedef enum { SIM_ERROR_INPUT, SIM_ERROR_SYSTEM } SimErrorCode;

/* Where in a person's input something stands. Borrowed strings; any may be NULL, line and column 0 when unknown. */
typedef struct {
  const char *file;
  guint line;      /* from 1 */
  guint column;    /* from 1 */
  const char *key; /* "group.key" */
} BasePlace;

/* Sets SIM_ERROR_INPUT as "file:line:column: key: message". A message of more than 1 200 characters is cut in its
 * middle, so that what it quotes may be of any length. */
void base_error_set_at(GError **error, const BasePlace *place, const char *format, ...) G_GNUC_PRINTF(3, 4);

/* Puts a place in front of an error that lacks one (as from base_quantity_parse). */
void base_error_prefix_at(GError **error, const BasePlace *place);

/* A contract between our own rooms, never a check of input: says when (simulated), in which run (its key, or NULL where
 * none is known, which also fixes any seed) and why, then aborts. Stays on in release builds. */
#define sim_require(condition, now, run_key, ...)                                                                      \
  do {                                                                                                                 \
    if (G_UNLIKELY(!(condition)))                                                                                      \
      sim_require_failed(__FILE__, __LINE__, #condition, (now), (run_key), __VA_ARGS__);                               \
  } while (0)

G_NORETURN void sim_require_failed(const char *file, int line, const char *condition, SimTime now, const char *run_key,
                                   const char *format, ...) G_GNUC_PRINTF(6, 7);
