/* SPDX-License-Identifier: MIT */
/* What `best` and the pictures of many runs are asked for: objectives and a condition. */
#pragma once

#include "cli.h"
#include "store-best.h"

typedef struct {
  const char *const *minimise, *const *maximise; /* NULL: none */
  const char *subject;
} CliObjectives;
extern const CliOption cli_objectives_options[];
extern const CliOption cli_subject_options[]; /* --subject alone, of the same struct */

/* --minimise, then --maximise, each in order; *ret_n is set. Errors: SIM_ERROR_INPUT: no such metric of numbers, too
 * many. */
gboolean cli_objectives(const CliObjectives *asked, StoreObjective ret[STORE_OBJECTIVES_MOST], guint *ret_n,
                        GError **error);
/* --subject, and that a run fits unless it speaks of verdicts itself. */
StoreExpression *cli_subject(const CliObjectives *asked, GError **error);
