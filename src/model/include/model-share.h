/* SPDX-License-Identifier: MIT */
/* Which part of the model one rank computes: the degrees by which units are split, and how the ranks exchange what the
 * split cuts through.
 *
 *   recipe.share = (ModelShare){.tensor = 8, .sequence_parallel = TRUE, .async_gradient = TRUE, .gathers_again = TRUE};
 *   if (!model_share_check(&shape, &recipe, settings, error)) return FALSE;
 *   ModelUnit *layer = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);      // one rank's part of a layer
 *
 * Tensor parallelism (arXiv 1909.08053): q, k, v, gate and up by columns, o and down by rows, so that a branch needs
 * one sum over the ranks, where it ends; backward one, where it begins. Sequence parallelism (arXiv 2205.05198):
 * between branches each rank holds its part of the tokens; a branch gathers them where it begins and scatters the sums
 * where it ends, backward the other way round.
 *
 *   plain       x ─ norm ─┬─ column ─ … ─ row ─ all-reduce ─ + ─       x and all between branches: whole on each rank
 *   sequence    x ─ norm ─ all-gather ─ column ─ … ─ row ─ reduce-scatter ─ + ─        x: tokens / tensor
 *
 * Context parallelism splits every sequence over ranks; only attention looks beyond a rank's own tokens.
 * All zero is one rank with all of the model. */
#pragma once

#include "conf-settings.h"
#include "model-shape.h"

struct ModelRecipe;

/* Where there are fewer key and value heads than tensor ranks: refused (nanotron, torchtitan: sizes must divide); ranks
 * that share a head hold copies of its weights; or the joined projection is split evenly, its output gathered, and each
 * rank takes its group (Megatron-LM, transformer/attention.py, num_query_groups below the tensor parallel size),
 * separate projections being copied. */
typedef enum { MODEL_KEYS_DIVIDED, MODEL_KEYS_COPIED, MODEL_KEYS_GATHERED } ModelKeys;

/* How the exchange beside a layer's matmul and the matmul hide each other, in forward and in a row layer's backward:
 *   own     a column layer multiplies its own tokens while the others' are gathered (nanotron,
 *           tensor_parallel/functional.py, _ColumnLinearAsyncCommunication)
 *   chunks  chunk by chunk, one chunk per rank: Transformer Engine's tp_comm_overlap, torchtitan's async tensor
 *           parallelism. Needs sequence parallelism
 * Not in fp8, whose casts stand between. */
typedef enum { MODEL_OVERLAP_NONE, MODEL_OVERLAP_OWN, MODEL_OVERLAP_CHUNKS } ModelOverlap;

/* How attention sees other ranks' keys and values: model-context.c. */
typedef enum { MODEL_CONTEXT_RING, MODEL_CONTEXT_GATHER, MODEL_CONTEXT_ULYSSES } ModelContext;

/* How rows come to the ranks that hold their experts, model-experts-move.c: each row alone to where it is worked on; or
 * all tokens to all ranks, of which each works on its experts' rows, and the sums of what they made; or each token once
 * to each rank that has experts of it, over the network once to each node, and the sums back (DeepEP). */
typedef enum { MODEL_DISPATCH_ALL_TO_ALL, MODEL_DISPATCH_GATHER, MODEL_DISPATCH_FLEX } ModelDispatch;

typedef struct {
  guint32 tensor, context; /* degrees; 0 counts as 1 */
  guint32 expert;          /* ranks that share a layer's experts, each holding some whole; 0 counts as 1 */
  guint32 expert_tensor; /* ranks that split each expert, as they split other layers: all of a tensor group, or 1 (0) */
  gboolean sequence_parallel;
  int dispatch;         /* ModelDispatch */
  guint32 expert_nodes; /* that the ranks which share experts stand in; 0 counts as 1. Of FLEX */
  int overlap;          /* ModelOverlap */
  int keys;             /* ModelKeys */
  int context_kind;     /* ModelContext */

  /* Ring and gather: a rank has one early and one late piece of each sequence, so that causal work is even; else the
   * rank with the last tokens decides, and is the one that is built. */
  gboolean zigzag;
  /* Embedding and head are copied to every tensor rank (DeepSpeed AutoTP); else they are split by rows of the
   * vocabulary. Not with sequence_parallel. */
  gboolean whole_vocabulary;
  /* Logits are gathered, and each rank computes the loss of all (torchtitan without loss parallel); else the loss is of
   * the ranks together. */
  gboolean whole_logits;
  /* A joined column layer's input gradient is reduced beside its weight gradient (Megatron-LM,
   * tensor_parallel/layers.py, LinearWithGradAccumulationAndAsyncCommunication; DeepSpeed's tp_overlap_comm). */
  gboolean async_gradient;
  /* Sequence parallelism: backward gathers the column layers' input again, beside their input gradient, and keeps this
   * rank's tokens alone (Megatron-LM; nanotron's tp_recompute_allgather). Not in fp8: the cast input is kept whole. */
  gboolean gathers_again;
  /* What is gathered for a column layer, and again for its weight gradient, lies in one buffer of the process; what a
   * row layer gathers backward, with MODEL_OVERLAP_OWN, in another (nanotron's MemoryBuffer, parallel/utils.py).
   * Neither is a unit's. With gathers_again. */
  gboolean gathers_to_buffers;
  /* Without sequence parallelism: of the input that a layer under full recompute keeps, each tensor rank keeps a part
   * (Megatron-LM's distribute_saved_activations, tensor_parallel/random.py, CheckpointFunction). */
  gboolean distributes_saved;
  /* Without sequence parallelism: each column layer reduces its own input gradient, also where several share an input
   * (DeepSpeed, module_inject/layers.py, ColumnParallel). */
  gboolean reduces_each;
  /* With sequence parallelism, of column layers that share an input: each gathers the tokens for itself; each scatters
   * its own input gradient, and the sums are of this rank's tokens (torch.distributed.tensor.parallel, style.py,
   * ColwiseParallel with input_layouts = Shard(1)). torch.compile makes one gather of equal ones (_functorch,
   * compile_utils.py, fx_graph_cse) and leaves the scatters, which are not equal. Not in fp8, not chunk by chunk, not
   * of latent attention or experts. */
  gboolean gathers_each, scatters_each;
  /* With sequence parallelism: tokens lie sequence by sequence, so that parts of several sequences are put beside each
   * other by a copy after each gather, and apart before each scatter (torch/distributed/_functional_collectives.py,
   * all_gather_tensor and reduce_scatter_tensor along another dimension than the first; the copy after the gather of
   * one sequence is a view). Not chunk by chunk. */
  gboolean batch_first;
  /* The vocabulary is padded to a multiple of this times the tensor degree (make_vocab_size_divisible_by of Megatron-LM
   * and nanotron); 0: it is not, and the first ranks have one row more. */
  guint64 vocabulary_multiple;
} ModelShare;

static inline guint32 model_share_tensor(const ModelShare *share) {
  return MAX(share->tensor, 1);
}
static inline guint32 model_share_context(const ModelShare *share) {
  return MAX(share->context, 1);
}

/* Whether the model can be split so. Errors: SIM_ERROR_INPUT at parallel.tensor or parallel.context, with the number
 * that does not divide and the nearest degree that would do; adapters under tensor parallelism, eager attention under a
 * ring or gathered keys, or
 * of a split sequence in fp8, which are not modelled. */
gboolean model_share_check(const ModelShape *shape, const struct ModelRecipe *recipe, const ConfSettings *settings,
                           GError **error);

/* Rows of the vocabulary that a rank holds at most. */
guint64 model_share_vocabulary(const ModelShare *share, guint64 vocabulary);
