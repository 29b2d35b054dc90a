/* SPDX-License-Identifier: MIT */
/* Every layout worth asking a framework about, as points over a study: private to this floor.
 *
 *   g_autoptr(GPtrArray) points = study_candidates(study, base, &size, NULL, nodes, 8);      // StudyPoint
 *
 * Degrees are powers of two that divide the GPUs of a node (tensor, context) or the layers (pipeline); micro-batches
 * are powers of two that leave a whole number of them to the global batch. A setting from the command line has that
 * value alone, but for the accumulation, which follows. A pipeline has all schedules of the framework. Beside each
 * layout stand those of other buckets, and those that keep states in the host's memory. Which of them the framework
 * takes is for it to say. */
#pragma once

#include "study-point.h"

typedef struct {
  guint64 layers, experts; /* experts of a layer; 0: none */
} StudySize;

/* `base`: the identity of the workload as it runs on the place's cluster; `size`: its model's. A point's `tag` is NULL,
 * or one more than the number of the point that is the same but for what this one keeps in the host's memory. */
GPtrArray *study_candidates(const Study *study, const RunIdentity *base, const StudySize *size, const char *topology,
                            guint32 nodes, guint32 gpus_per_node);
