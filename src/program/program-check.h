/* SPDX-License-Identifier: MIT */
/* Whether a Program can be played to its end: the rules that rows must keep among each other.
 *
 *   if (!program_check(program, &places, error)) return FALSE;
 *   // a.trace.csv:17: task 12 (gather) of role rank, ranks 0-15: …
 *
 *   - a role has rows in both sections, and its ranks are members of every communicator its rows name;
 *   - all members of a communicator issue the same calls in the same order: operation and bytes, in each section;
 *   - tensors are taken when they are not held and given when they are; what `steady` begins with it ends with;
 *   - every wait ends. No decision of a Program depends on time, so one play without time shows whether it can: a wait
 *     that never ends is a circle within one step, and of two roles at least, for within one every wait looks up the
 *     rows. Ranks of a role that are in the same communicators stand or go on together, and are played once.
 *
 * Cost: O(rows) a role, and O(ranks) a communicator. */
#pragma once

#include "program.h"

typedef struct {
  guint line;       /* 0: not of a file */
  const char *task; /* its name in needs */
} ProgramPlace;

/* Where rows stand, for errors. */
typedef struct {
  const char *file;
  ProgramPlace **rows; /* [role × PROGRAM_SECTIONS + section][row]; NULL: rows are called by their index */
} ProgramPlaces;

gboolean program_check(const Program *program, const ProgramPlaces *places, GError **error);
