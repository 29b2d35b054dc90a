/* SPDX-License-Identifier: MIT */
/* What a trace says of the GPU and of its host: how much faster or slower they are than the catalogue foretells.
 *
 *   ImportKinetoRates found;
 *   if (!import_kineto_rates(set, "dgx-h100", &found, error)) return FALSE;
 *   const ImportKinetoRate *matmuls = &found.of[IMPORT_KINETO_MATMULS];
 *   if (matmuls->fitted) … matmuls->rate …                     // 0.93, for [node] matmul_rate of an overlay
 *
 * Three rates, one rule: that with which half of the samples are foretold slower than measured, by the kernel model
 * with its floors. It is not taken where it ends at a limit (IMPORT_KINETO_RATE_LEAST, the GPU's data sheet, or
 * IMPORT_KINETO_RATE_MOST: the trace is of another machine, or something else than the rate is amiss), nor where the
 * sum of relative errors does not fall. Steps are never looked at. The samples:
 *
 * - matmuls: PyTorch's, of at least IMPORT_KINETO_MATMUL FLOP, whose shapes the profiler noted (record_shapes=True) and
 *   all kernels of which are in the file; a call's time is that of its kernels together. On a GPU that has TF32,
 *   operands of 32 bits count by what their kernels' names say, fp32 or TF32, a factor of eight apart; where these say
 *   neither they are left out.
 * - streams: likewise elementwise operations and norms whose tensors together are larger than the GPU's L2: what they
 *   read once and write once, over the bandwidth. An elementwise operation counts if its tensors have the same sides
 *   and, where they are noted, strides: one that is stretched over another is read at less.
 * - issues: on a thread, IMPORT_KINETO_STRETCH launches of kernels one after another, all in operations that autograd
 *   numbers and all forward or all backward, nothing else asked of the device between. The profiler's own time is in
 *   it. Where it recorded Python's calls (with_stack=True), which takes longer than what is measured, none are looked
 *   at.
 *
 * Cost: some fifty clusters. */
#pragma once

#include "import-kineto-program.h"

#define IMPORT_KINETO_MATMUL     1e9
#define IMPORT_KINETO_STRETCH    16
#define IMPORT_KINETO_RATE_LEAST 0.25
#define IMPORT_KINETO_RATE_MOST  4.0 /* of the host, which no data sheet bounds */

typedef enum {
  IMPORT_KINETO_MATMULS,
  IMPORT_KINETO_STREAMS,
  IMPORT_KINETO_ISSUES,
  IMPORT_KINETO_RATES
} ImportKinetoRateKind;
extern const char *const import_kineto_rate_keys[]; /* "node.matmul_rate", …: settings of a topology */

typedef struct {
  guint calls; /* looked at */
  gboolean fitted, at_limit;
  double rate;          /* of the catalogue's */
  double before, after; /* median of |foretold / measured - 1| */
} ImportKinetoRate;

typedef struct {
  ImportKinetoRate of[IMPORT_KINETO_RATES];
  guint wide;       /* matmuls of 32-bit operands, left out */
  gboolean stacked; /* a file has Python's calls: no issues are looked at */
  guint64 l2;       /* bytes that streams exceed */
} ImportKinetoRates;

/* Errors: the topology's. A kind of which there are none: calls is 0. */
gboolean import_kineto_rates(const ImportKinetoSet *set, const char *topology, ImportKinetoRates *ret, GError **error);
/* Appended to the text of an overlay: what was found in comments, and the fitted rates as keys under [node]. */
void import_kineto_rates_write(const ImportKinetoRates *rates, GString *text);
