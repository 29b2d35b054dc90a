/* SPDX-License-Identifier: MIT */
/* Losses that never hold all logits: the head's matmuls and its loss, chunk of tokens by chunk. For this room alone.
 *
 *   if (model_chunks_of(build, &chunks)) {
 *     model_chunks_forward(build, &chunks, &head, normed);            // the loss, of some kinds the gradients too
 *     ModelSet d_normed = model_chunks_backward(build, &chunks, &head, normed);
 *   }
 *
 * An op stands for all chunks: its kernel is one chunk's, and runs as often as there are chunks. Its tensors are one
 * chunk's too, as each replaces the one before. */
#pragma once

#include "model-build.h"

typedef struct {
  int loss;          /* ModelLoss */
  guint32 n;         /* chunks */
  double tokens;     /* of one: a mean, rounded up */
  double most;       /* of the largest */
  gboolean trains;   /* the head's weight */
  ModelSet d_normed; /* made in forward, or in backward */
  ModelSet d_weight; /* added up over chunks in forward; 0: none */
  ModelSet lse;      /* a number per token, of the loss that is cut */
} ModelHeadChunks;

/* FALSE: the recipe's loss is over all logits. */
gboolean model_chunks_of(const ModelBuild *build, const ModelLinear *head, ModelHeadChunks *ret);
void model_chunks_forward(ModelBuild *build, ModelHeadChunks *chunks, const ModelLinear *head, ModelSet normed);
/* Returns the gradient of `normed`. */
ModelSet model_chunks_backward(ModelBuild *build, ModelHeadChunks *chunks, const ModelLinear *head, ModelSet normed);
