/* SPDX-License-Identifier: MIT */
/* Which operations a layer runs again in backward, under each way of activation checkpointing.
 *
 *   ModelRecomputed redone;
 *   model_recompute(layer, MODEL_RECOMPUTE_ATTENTION, &redone);
 *   if (model_set_has(redone.again, op)) … forward[op] runs a second time …
 *
 * Of the operations of `region` autograd keeps nothing; those of `again` run a second time before backward needs them,
 * from the outputs of the others, which are kept. Sources: full, PyTorch's checkpoint over a layer; attention,
 * Megatron-LM's selective recompute (core_attention.py, arXiv 2205.05198); every 2nd matmul, torchtitan's selective
 * option "op" (activation_checkpoint.py): outputs of flash attention, of the odd linear layers and of reduce-scatters
 * are kept.
 *
 * Stopped, the two of whole layers end with the last value that backward wants: what comes after the operation that
 * makes it (a last linear layer, whose input alone is kept, its reduce-scatter, the residual's sum) does not run again.
 * PyTorch's checkpoints that are not reentrant do so since 2.1 (torch/utils/checkpoint.py, set_checkpoint_early_stop:
 * the second run is left by an exception once as many tensors were packed as in the first), and so does a compiler,
 * which drops what nobody reads. */
#pragma once

#include "model-unit.h"

typedef enum {
  MODEL_RECOMPUTE_NONE,
  MODEL_RECOMPUTE_ALL,
  MODEL_RECOMPUTE_ATTENTION,
  MODEL_RECOMPUTE_EVERY_2ND_MATMUL,
  MODEL_RECOMPUTE_ALL_STOPPED,
  MODEL_RECOMPUTE_EVERY_2ND_MATMUL_STOPPED,
  MODEL_RECOMPUTES
} ModelRecompute;

/* Masks of forward operations, `again` within `region`. */
typedef struct {
  ModelSet region, again;
} ModelRecomputed;

void model_recompute(const ModelUnit *unit, ModelRecompute how, ModelRecomputed *ret);
/* Of a layer only the input is kept; its second run stopped or not. */
gboolean model_recompute_is_whole(ModelRecompute how);
