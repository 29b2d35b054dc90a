/* SPDX-License-Identifier: MIT */
/* A section of a Program as text, one line per row: what tests of schedules compare.
 *
 *   3 unshard: all-gather parameters(layer0) <- 1     the third row, on the stream "unshard", waits for the first
 *   4 compute: forward(layer0) <- 3                   operations of one visit of a unit are one line
 *   5 host: limit all-gathers <- 4                    host rows that wait; others are left out
 *
 * Order on a stream, and of collectives on a communicator, goes without saying. */
#pragma once

#include "plan.h"

/* Caller frees. */
char *picture_of(const Program *program, ProgramSectionKind kind);
