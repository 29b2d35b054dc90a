/* Which part of the model one rank computes: the degrees by which units are split, and how the ranks exchange what the split
 * cuts through.
 *
 *   recipe.share = (ModelShare){.tensor = 8, .sequence_parallel = TRUE, .async_gradient = TRUE, .gathers_again = TRUE};
 *   if (!model_share_check(&shape, &recipe, settings, error)) return FALSE;
 *   ModelUnit *layer = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);      // one rank's part of a layer
 *
 * Tensor parallelism (arXiv 1909.08053): q, k, v, gate and up by columns, o and down by rows, so that a branch needs one
 * sum over the ranks, where it ends; backward one, where it begins. Sequence parallelism (arXiv 2205.05198): between
 * branches each rank holds its part of the tokens; a branch gathers them where it begins and scatters the sums where it ends,
 * backward the other way round.
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

/* Where there are fewer key and value heads than tensor ranks. */
typedef enum {
  MODEL_KEYS_DIVIDED,  /* refused (nanotron, torchtitan: their sizes must divide) */
  MODEL_KEYS_COPIED,   /* ranks that share a head hold copies of its weights */
  MODEL_KEYS_GATHERED, /* the joined projection is split evenly, its output gathered, and each rank takes its group
                          (Megatron-LM, transformer/attention.py: num_query_groups < tensor parallel size). Separate
                          projections are copied */
} ModelKeys;

/* How the exchange beside a layer's matmul and the matmul hide each other, in forward and in a row layer's backward. */
typedef enum {
  MODEL_OVERLAP_NONE,
  MODEL_OVERLAP_OWN, /* a column layer multiplies its own tokens while the others' are gathered (nanotron,
                          tensor_parallel/functional.py, _ColumnLinearAsyncCommunication) */
  MODEL_OVERLAP_CHUNKS /* chunk by chunk, one chunk per rank: Transformer Engine's tp_comm_overlap, torchtitan's async tensor
                          parallelism. Needs sequence parallelism; not in fp8, whose casts stand between */
} ModelOverlap;

typedef enum {
  MODEL_CONTEXT_RING, /* keys and values go around, attention by pieces, merged (arXiv 2310.01889; Transformer Engine's
                           cp_comm_type p2p) */
  MODEL_CONTEXT_GATHER, /* keys and values are gathered before attention, and again in backward (arXiv 2407.21783) */
  MODEL_CONTEXT_ULYSSES /* all-to-all from tokens to heads and back (arXiv 2309.14509) */
} ModelContext;

typedef struct {
  guint32 tensor, context;    /* degrees; 0 counts as 1 */
  gboolean sequence_parallel; /* with tensor */
  gboolean whole_vocabulary;  /* embedding and head are copied to every tensor rank (DeepSpeed AutoTP); else split by
                                  rows of the vocabulary. Not with sequence_parallel */
  gboolean whole_logits; /* logits are gathered, each rank computes the loss of all (torchtitan without loss parallel);
                                  else the loss is of the ranks together */
  gboolean async_gradient; /* a joined column layer's input gradient is reduced beside its weight gradient (Megatron-LM,
                                  tensor_parallel/layers.py, LinearWithGradAccumulationAndAsyncCommunication) */
  gboolean gathers_again;  /* sequence_parallel: backward gathers the column layers' input again, beside their input
                                  gradient, and keeps this rank's tokens alone (Megatron-LM; nanotron's tp_recompute_allgather).
                                  Not in fp8: the cast input is kept whole */
  gboolean reduces_each;   /* without sequence_parallel: each column layer reduces its own input gradient, also where
                                  several share an input (DeepSpeed, module_inject/layers.py, ColumnParallel) */
  int overlap;             /* ModelOverlap */
  int keys;                /* ModelKeys */
  int context_kind;        /* ModelContext */
  gboolean zigzag; /* ring and gather: a rank has one early and one late piece of each sequence, so that causal work is
                                  even; else the rank with the last tokens decides, and is the one that is built */
  guint64
      vocabulary_multiple; /* the vocabulary is padded to a multiple of this times the tensor degree (Megatron-LM's and
                                  nanotron's make_vocab_size_divisible_by); 0: not padded, the first ranks have one row more */
} ModelShare;

static inline guint32 model_share_tensor(const ModelShare *share) {
  return MAX(share->tensor, 1);
}
static inline guint32 model_share_context(const ModelShare *share) {
  return MAX(share->context, 1);
}

/* Whether the model can be split so. Errors: SIM_ERROR_INPUT at parallel.tensor or parallel.context, with the number that
 * does not divide and the nearest degree that would do; adapters under tensor parallelism, eager attention under a ring or
 * gathered keys, which are not modelled. */
gboolean model_share_check(const ModelShape *shape, const struct ModelRecipe *recipe, const ConfSettings *settings,
                           GError **error);

/* Rows of the vocabulary that a rank holds at most. */
guint64 model_share_vocabulary(const ModelShare *share, guint64 vocabulary);
