/* SPDX-License-Identifier: MIT */
/* What of a section stands for micro-batches that are not played: the end of body 1 that is like what stands before it
 * in both bodies (run-window.h), a micro-batch or a group of them, or all of body 1. Private to this floor.
 *
 *   body 0 │ body 1        rows    u u u u │ u u u u        the last u is the unit
 *   takes    in the order of the section, numbered; what a unit gives was taken so many takes before it, at most
 *            `reach` before the end
 *
 * Cost: O(rows up to the end of body 1) for each size of unit that is tried. */
#pragma once

#include "run-step.h"

/* Of a section. */
typedef struct {
  const guint32 *watched;
  guint32 row, micros;    /* of the unit: its first row, and how many */
  guint32 takes, of_unit; /* before the first copy; in a unit */
  guint32 reach;          /* most takes since what is given was taken */
  guint32 *tensors;       /* by number of the take */
  guint32 *last;          /* by tensor: number of its last take */
  guint32 *taken;         /* of the unit's gives, in order: number of the take */
  gboolean *waited;       /* by stream: something is given that must wait for it */
  gboolean waits;         /* there is such a stream */
} RunUnit;

/* Of bodies of so many micro-batches. FALSE: what body 1 gives is not what body 0 gives, a body later. Cleared in any
 * case. */
gboolean run_unit_init(RunUnit *unit, const RunTable *table, const Program *program, guint32 of_body);
void run_unit_clear(RunUnit *unit);
