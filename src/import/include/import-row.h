/* SPDX-License-Identifier: MIT */
/* One row of nccl-tests' table, whatever its version's columns.
 *
 *   bytes count type [redop] [root]  time algbw busbw wrong  time algbw busbw wrong
 *   1024    256 float  sum      -1  17.05  0.06  0.11     0  16.93  0.06  0.11   0        since 2.0.0 (root, #wrong)
 *   1024    256 float  sum          17.05  0.06  0.11 2e-07  16.93  0.06  0.11 1e-07      before (no root, an error)
 *
 *   ImportRow row;
 *   switch (import_row_read(words, &row)) {
 *   case IMPORT_ROW_WHOLE: …; case IMPORT_ROW_PART: …; case IMPORT_ROW_NONE: …
 *   }
 *
 * The reduction may be "none" or blank, an error or a whole in-place half "N/A". Rates in bytes/s, times in SimTime.
 * Cost: the words. */
#pragma once

#include "base-quantity.h"

typedef struct {
  SimTime time; /* SIM_TIME_NEVER: not measured */
  double algorithm_bandwidth, bus_bandwidth;
  double wrong; /* how many values, or before 2.0.0 the largest error; -1: not checked */
} ImportTiming;

typedef struct {
  guint line;
  guint64 bytes, count;
  char type[16], reduction[16]; /* "float", "sum"; "" where it is blank */
  ImportTiming out_of_place, in_place;
} ImportRow;

typedef enum { IMPORT_ROW_NONE, IMPORT_ROW_PART, IMPORT_ROW_WHOLE } ImportRowKind;

/* Of words between blanks, NULL-terminated. Writes bytes, count, type and reduction for a part, all but the line for a
 * whole row. */
ImportRowKind import_row_read(char **words, ImportRow *ret);
/* Whether it begins as a row does: bytes, count, type. */
gboolean import_row_begins(char **words);
/* Numbers and N/A alone, as the later parts of a torn row are. */
gboolean import_row_is_tail(char **words);
/* Bytes of an element; 0: unknown. */
guint import_row_type_size(const char *type);
