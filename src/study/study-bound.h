/* SPDX-License-Identifier: MIT */
/* What a step takes at least, known before anything is played: private to this floor.
 *
 *   StudyBound bound;
 *   if (study_bound(&walk, &bound)) …           // a walk that was read (study_walk_read)
 *
 * Both are bounds, not estimates: no play of the walk ends below them.
 *
 * Time. Let w_s be the time of all kernels of stage s of a pipeline of p, forward and backward, for one micro-batch on
 * one of its ranks, each kernel alone on the device; their sum W does not depend on how layers are spread over stages.
 * A stage's kernels share one stream, so one runs after the other, and none is faster than alone (kernel_time_shared
 * never falls with less to share). So the m micro-batches keep stage s for at least m w_s, and the step L is no
 * shorter:
 *
 *   (1)  L >= m max w_s >= m W / p
 *
 * Where each stage is one chunk of layers and backward is not split (gpipe, 1F1B), more holds. Stage s cannot begin
 * before the first micro-batch has gone forward through the stages before it, and when it ends, the backward of its
 * last micro-batch still has to go through these. So L >= w_1 + … + w_{s-1} + m w_s for every s. The w that keep all of
 * these below a given L and add up to most are those that reach each of them: w_s = L/m (1 - 1/m)^(s-1), L (1 - (1 -
 * 1/m)^p) in all (by induction over s). That must be W at least:
 *
 *   (2)  L >= W / (1 - (1 - 1/m)^p)
 *
 * which is m W for p = 1. What is left out can only add: recomputation, the optimizer, copies, communication, waiting.
 *
 * Memory. A rank holds the elements that are trained, in the dtype of the precision, and of Adam two moments in fp32,
 * or in one byte each of the quantised. Over the p stages these add up to the model's share, so one stage holds at
 * least a p-th. They are divided by all ranks that may share them; what is offloaded counts nothing. */
#pragma once

#include "study-walk.h"

typedef struct {
  SimTime time;  /* 0: nothing is known, as where layers take measured times */
  guint64 bytes; /* of device memory */
} StudyBound;

StudyBound study_bound(const StudyWalk *walk);
