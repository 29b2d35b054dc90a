/* SPDX-License-Identifier: MIT */
/* What a step takes at least, known before anything is played: private to this floor.
 *
 *   StudyBound bound;
 *   if (study_bound(&walk, &bound)) …           // a walk that was read (study_walk_read)
 *
 * Both are bounds, not estimates: no play of the walk ends below them.
 *
 * Time. Let w_r be the time of all kernels of rank r of a pipeline of p for one micro-batch, forward, backward and
 * what runs again in backward (model-recompute.h), each kernel alone on the device. A rank's kernels share one stream,
 * so one runs after the other, and none is faster than alone (kernel_time_shared never falls with less to share). So
 * the m micro-batches keep rank r for at least m w_r, and without a pipeline the step L is no shorter:
 *
 *   (1)  L >= m w
 *
 * The first chunk of rank q is stage q of the pipeline; let f_q and b_q be its forward and backward without what runs
 * again, which may be done while gradients are on their way. Whatever stage rank r plays first, a micro-batch has gone
 * forward through the stages 0 to r - 1 before. Its last pass is a backward, whatever stage that is of, and goes back
 * through these stages then; where a schedule makes gradients of weights apart, the last pass may be of these, and
 * nothing need follow. So for every r:
 *
 *   (2)  L >= f_0 + … + f_{r-1} + m w_r   (+ b_0 + … + b_{r-1} where backward is whole)
 *
 * What is left out can only add: the optimizer, copies, communication, waiting.
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
