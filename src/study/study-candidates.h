/* SPDX-License-Identifier: MIT */
/* Every layout worth asking a framework about, as points over a study: private to this floor.
 *
 *   g_autoptr(GPtrArray) points = study_candidates(study, base, nodes);      // StudyPoint
 *
 * Degrees are powers of two that divide the GPUs of a node (tensor, context) or the layers (pipeline); micro-batches
 * are powers of two that leave a whole number of them to the global batch. A setting from the command line has that
 * value alone, but for the accumulation, which follows. Which of them the framework takes is for it to say. */
#pragma once

#include "study-point.h"

/* `base`: the identity of the workload as it runs on the place's cluster, layers its model's. */
GPtrArray *study_candidates(const Study *study, const RunIdentity *base, guint64 layers, const char *topology,
                            guint32 nodes, guint32 gpus_per_node);
