/* SPDX-License-Identifier: MIT */
/* Facts of public record as tests: run A against run B, one metric of the store's table, how far apart they must be.
 *
 *   {"stage 3 moves as much as stage 1",
 *    .a = {"llama2-7b", {"parallel.framework=deepspeed", "parallel.zero_stage=3"}},
 *    .b = {"llama2-7b", {"parallel.framework=deepspeed", "parallel.zero_stage=1"}},
 *    .metric = "network_bytes_intra", .least = 0.99, .most = 1.01},
 *
 * A bound is derived in the comment above its row, from what the source says; it is never taken from our own output. A
 * row whose A and B are the same run compares two of its metrics (`against`). */
#pragma once

#include "harness.h"
#include "store-metric.h"
#include "study.h"

#define FACTS_SETS 14

typedef struct {
  const char *workload;
  const char *sets[FACTS_SETS]; /* "group.key=value", NULL-terminated */
} FactsRun;

/* RATIO: A's metric over B's. DIFFERENCE: A's less B's, in the metric's own unit (bytes, picoseconds). */
typedef enum { FACTS_RATIO, FACTS_DIFFERENCE } FactsRelation;

typedef struct {
  const char *says;
  FactsRun a, b;                /* b.workload NULL: the same run as a */
  const char *metric, *against; /* of a, of b; against NULL: the same */
  FactsRelation relation;
  double least, most;
} Fact;

void facts_check_all(const Fact *facts, gsize n);
