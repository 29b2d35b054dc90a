/* SPDX-License-Identifier: MIT */
/* How far off peaks of reserved memory were, by framework and kind of run: margins.csv.
 *
 *   framework,kind,low,high,rows,sources,source
 *   nanotron,data-parallel,0.87,1.06,18,1,"ultrascale (fits.csv, data_parallel.csv)"
 *   all,all,0.83,1.19,24,2,"…"
 *
 * low and high are factors of what is foretold: between them measured peaks lie in the share of cases that trust-span.h
 * speaks of. Kinds are "data-parallel", "model-parallel" (pipeline, context or expert ranks), "tensor" (tensor ranks
 * within a node), "tensor-over-nodes", "offload", and "adapters" (over data ranks, adapters alone are trained): peaks
 * beside tensor ranks scatter most, and more over nodes (tests/truth/RESULTS.md); those of adapters are small, and say
 * nothing of others, so that no framework's "all" has them in it.
 * "all" stands for what has too few rows of its own; the row of all frameworks and all kinds must be there.
 * tests/truth/gate --accept writes the table. */
#pragma once

#include "base-error.h"
#include "trust-case.h"

typedef struct {
  double low, high;      /* 0 < low <= 1 <= high */
  guint64 rows, sources; /* it rests on */
  char *framework, *kind;
} TrustMargin;

/* Of TrustMargin. `name` stands for the file in messages. Errors: SIM_ERROR_INPUT with place. */
GArray *trust_margins_parse(const char *name, const char *text, GError **error);
/* The first that there is: of the framework and kind, of the framework (not for adapters), of the kind, of all. Never
 * NULL. */
const TrustMargin *trust_margins_find(const GArray *margins, const TrustCase *one);
/* What kind a run's memory is of, as above. */
const char *trust_margin_memory_kind(const TrustCase *one);
/* What kind its step is of: the same with all axes of the model together, "model-parallel". */
const char *trust_margin_kind(const TrustCase *one);
