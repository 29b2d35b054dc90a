/* SPDX-License-Identifier: MIT */
/* What NCCL's tuner predicts for each algorithm and protocol: the numbers that it prints at INFO level under TUNING.
 *
 *   CollTunerCell cell = coll_tuner_cell(group, COLL_ALL_REDUCE, COLL_RING, COLL_SIMPLE);   // 42.4 us, 216 GB/s
 *   SimTime time = coll_tuner_time(group, &call, COLL_RING, COLL_SIMPLE);            // what it compares
 *
 * The tuner chooses by these; time is the chunk pipeline's. Formulas: NCCL v2.30 src/graph/tuning.cc, ncclTopoTuneModel
 * and ncclTopoGetAlgoTime. Private to this floor. O(1). */
#pragma once

#include "coll-group.h"

typedef struct {
  SimTime latency;
  double bandwidth; /* bytes/s of the call's bytes; 0: not to be had */
} CollTunerCell;

CollTunerCell coll_tuner_cell(const CollGroup *group, CollOperation operation, CollAlgorithm algorithm,
                              CollProtocol protocol);
/* Whether the tuner may take it: it has a bandwidth, the machine allows the protocol, [nccl] algo and proto allow
 * it. */
gboolean coll_tuner_enabled(const CollGroup *group, CollOperation operation, CollAlgorithm algorithm,
                            CollProtocol protocol);
SimTime coll_tuner_time(const CollGroup *group, const CollCall *call, CollAlgorithm algorithm, CollProtocol protocol);

/* What the tuner takes: the least time among those enabled. */
typedef struct {
  CollAlgorithm algorithm;
  CollProtocol protocol;
} CollChoice;
CollChoice coll_choice(const CollGroup *group, const CollCall *call);
/* Among the algorithms of a mask; FALSE where none is enabled. */
gboolean coll_choice_among(const CollGroup *group, const CollCall *call, guint32 algorithms, CollChoice *ret);

/* Ring steps of an operation: 2(n − 1), n − 1; of a chain the n that the tuner divides by. */
guint32 coll_ring_steps(const CollGroup *group, CollOperation operation);
