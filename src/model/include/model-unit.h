/* SPDX-License-Identifier: MIT */
/* A unit of the model (embedding, one layer, head) as parameters, tensors and operations, forward and backward.
 *
 *   ModelUnit *layer = model_unit_new(&shape, &recipe, micro_batch, MODEL_UNIT_LAYER);
 *   for (guint i = 0; i < layer->n_forward; i++) … layer->forward[i].kernel, .writes, .saves …
 *   model_unit_free(layer);
 *
 *      input ─►[forward ops]─► output                 one boundary each way between units
 *      grad_input ◄─[backward ops]◄─ grad_output
 *
 * Tensors are numbered within the unit; sets of them are bit masks. Who frees what follows from the masks:
 *   - forward, gradients wanted: a tensor dies after its last forward reader, unless some op `saves` it; saved
 *     tensors die after their last backward reader;
 *   - forward without gradients (under recompute): a tensor dies after its last forward reader;
 *   - backward: a gradient tensor dies after its last backward reader.
 * Every tensor that is not the unit's INPUT or GRAD_OUTPUT is written by exactly one op. An op that works in place only
 * reads what it changes; working memory that one op alone needs is both written and read by it. What backward reads of
 * forward's tensors is what forward saved.
 *
 * INPUT belongs to the unit before (kept for backward if some op saves it), OUTPUT passes to the unit after;
 * GRAD_OUTPUT comes from the unit after, GRAD_INPUT passes to the unit before. The embedding has no INPUT tensor but
 * its token ids, and no GRAD_INPUT; the head, or its last part, has no OUTPUT and no GRAD_OUTPUT: its loss starts the
 * backward. Weights
 * and their gradients are parameters, not tensors. A tensor's bytes stop at MODEL_TENSOR_MOST, more than any device
 * holds.
 *
 * Beside that one stream some units read what an earlier one made for all of them (an encoder's output, a bias on
 * scores): SIDE tensors, each of a kind, of which the nearest unit before that writes it is the maker. Their gradients
 * are summed in the maker's GRAD_SIDE by operations that join them: op->joins.
 *
 *      maker ─► SIDE ─► reader, reader, …       maker ◄─ GRAD_SIDE ◄─ + ◄─ reader's part, + ◄─ reader's part …
 *
 * A unit is one rank's share (recipe->share). What crosses ranks within it is an op with an exchange:
 *
 *   if (op->exchange.kind != MODEL_EXCHANGE_NONE) … a collective along op->exchange.axis; its kernel is empty …
 *   if (op->pieces > 1) … its kernel is one piece, and runs that many times, one after the other …
 *
 * An exchange stands among the ops where it is issued. It waits for what is before it; what is after it waits for it,
 * but for an asynchronous one, for which only `awaited_by` waits (and by that op all later ones). */
#pragma once

#include "base-wide.h"
#include "model-recipe.h"
#include "model-shape.h"

struct KernelOp;

/* The kinds that every model has; then layers that differ from MODEL_UNIT_LAYER in models whose layers are not all
 * alike: an MLP where that has experts, attention to all tokens where that has a window; and the layer behind them that
 * foretells a further token, whose OUTPUT has two streams, the head's INPUT then. Of an encoder and a decoder the
 * encoder's layers are MODEL_UNIT_LAYER, the first of a stack makes the bias that its other layers read, and what
 * stands between both stacks ends the one and embeds the other's tokens. And the head in parts, where somebody cuts it:
 * final norm, output layer, cast of the logits to fp32, loss. */
typedef enum {
  MODEL_UNIT_EMBEDDING,
  MODEL_UNIT_LAYER,
  MODEL_UNIT_HEAD,
  MODEL_UNIT_KINDS,
  MODEL_UNIT_LAYER_DENSE = MODEL_UNIT_KINDS,
  MODEL_UNIT_LAYER_FULL,
  MODEL_UNIT_LAYER_DENSE_FULL,
  MODEL_UNIT_LAYER_FURTHER,
  MODEL_UNIT_LAYER_FIRST,
  MODEL_UNIT_DECODER,
  MODEL_UNIT_DECODER_FIRST,
  MODEL_UNIT_BETWEEN,
  MODEL_UNIT_NORM,
  MODEL_UNIT_OUTPUT,
  MODEL_UNIT_CAST,
  MODEL_UNIT_LOSS,
  MODEL_UNIT_VARIANTS
} ModelUnitKind;
#define MODEL_HEAD_PARTS 4
extern const char *const model_unit_names[]; /* "embedding", "layer", "head", "dense layer", … */

static inline gboolean model_unit_is_layer(ModelUnitKind kind) {
  return kind != MODEL_UNIT_EMBEDDING && kind != MODEL_UNIT_HEAD && kind < MODEL_UNIT_BETWEEN;
}
/* Whether the unit multiplies by the table of the vocabulary that a tied embedding shares. */
static inline gboolean model_unit_makes_logits(ModelUnitKind kind) {
  return kind == MODEL_UNIT_HEAD || kind == MODEL_UNIT_OUTPUT;
}
/* Of embedding, layers (those that foretell further tokens are last) and head, numbered from 0 on in this order; with
 * an encoder its layers, and what is between, come before the decoder's. */
ModelUnitKind model_unit_kind_of(const ModelShape *shape, guint64 unit);
/* The same in a chain of `units`, which may end in the head's parts in its place. */
ModelUnitKind model_unit_kind_among(const ModelShape *shape, guint64 unit, guint64 units);
/* Embedding, layers and head, or the head's parts in its place. */
guint64 model_units_of(const ModelShape *shape, gboolean head_apart);
/* Whether a head in parts is modelled: a final norm, the output, a cast to fp32 and the loss of ranks together. */
gboolean model_head_comes_apart(const ModelShape *shape, const ModelRecipe *recipe);
/* Layers, numbered from 0 on whatever stack they are of, by their units. -1: another unit. */
gint64 model_unit_layer_of(const ModelShape *shape, guint64 unit);
guint64 model_unit_of_layer(const ModelShape *shape, guint64 layer);

/* How the ranks of a tensor group hold a parameter. */
typedef enum {
  MODEL_PLACE_WHOLE,  /* all hold the same, and make the same gradient */
  MODEL_PLACE_SUMMED, /* all hold the same; each makes the gradient of its own tokens, which are to be summed over the
                         group (sequence parallelism: norms, biases after the sum of a row layer) */
  MODEL_PLACE_SPLIT   /* each holds a part */
} ModelPlace;

typedef struct {
  const char *name; /* "q_proj.weight"; static */
  guint64 elements; /* that one rank holds */
  guint64 rows;     /* its first dimension, as PyTorch stores it: a linear layer's outputs, a table's entries */
  gboolean shared;  /* the head's use of the tied embedding: counted (and sharded, reduced) with the embedding */
  gboolean frozen;  /* not trained: no gradient, no optimizer states */
  gboolean fp8;     /* of a linear layer whose matmuls run in fp8 */
  int place;        /* ModelPlace */
  guint64 whole;    /* elements of it in the model, whatever the share; padding of the vocabulary not counted */
  gboolean
      expert;     /* of experts, which the ranks of MODEL_AXIS_EXPERT share: gradients are to be summed over those ranks
                       alone that hold the same ones */
  guint32 copies; /* SPLIT: tensor ranks that hold the same part, whose gradients are to be summed over them; else 1.
                      In a joined projection only its keys and values are copies */
  gboolean packed;   /* kept in 4 or 8 bits: `elements` are those of its storage, `whole` what they stand for */
  guint64 constants; /* bytes beside it that every rank holds: maxima of its blocks or rows */
  gboolean uncast;   /* under autocast it is read, and its gradient made, in fp32: norms, tables */
} ModelParameter;

typedef enum {
  MODEL_TENSOR_INNER,
  MODEL_TENSOR_INPUT,
  MODEL_TENSOR_OUTPUT,
  MODEL_TENSOR_GRAD_OUTPUT,
  MODEL_TENSOR_GRAD_INPUT,
  MODEL_TENSOR_SIDE,
  MODEL_TENSOR_GRAD_SIDE
} ModelTensorRole;

/* What units make for several later ones. */
typedef enum {
  MODEL_SIDE_NONE,
  MODEL_SIDE_MEMORY,       /* the encoder's output, which the decoder's layers attend to */
  MODEL_SIDE_ENCODER_BIAS, /* on scores, by distance and mask */
  MODEL_SIDE_DECODER_BIAS,
  MODEL_SIDE_CROSS_BIAS, /* the mask alone; it has no gradient */
  MODEL_SIDES
} ModelSide;

/* Sets of a unit's tensors, or of its operations, as bit masks. A layer with adapters on every projection has more than
 * 64. */
typedef BaseWide ModelSet;
#define MODEL_SET_MOST 128

static inline ModelSet model_set_of(guint index) {
  return (ModelSet)1 << index;
}
static inline gboolean model_set_has(ModelSet set, guint index) {
  return (set >> index & 1) != 0;
}
/* The least member of a set that has any. */
static inline guint model_set_first(ModelSet set) {
  guint64 low = (guint64)set;
  return low != 0 ? (guint)__builtin_ctzll(low) : 64 + (guint)__builtin_ctzll((guint64)(set >> 64));
}
/* for (ModelSet left = set; left != 0; left = model_set_rest(left)) … model_set_first(left) … */
static inline ModelSet model_set_rest(ModelSet set) {
  return set & (set - 1);
}

#define MODEL_TENSORS_MOST MODEL_SET_MOST
#define MODEL_TENSOR_MOST  ((guint64)1 << 48)

typedef struct {
  const char *name; /* "gate", "d_gate"; static */
  ModelTensorRole role;
  ModelSide side;   /* of SIDE and GRAD_SIDE */
  gboolean scratch; /* working memory of the ops that read it (fp32 copies, partial sums): tenant temporary even in
                       forward */
  guint64 bytes;
} ModelTensor;

typedef enum {
  MODEL_AXIS_TENSOR,
  MODEL_AXIS_CONTEXT,
  MODEL_AXIS_EXPERT,
  MODEL_AXIS_EXPERT_TENSOR,
  MODEL_AXIS_EXPERT_BOTH, /* ranks of a layer's experts, whole or split: all that work on one token group */
  MODEL_AXES
} ModelAxis;

typedef enum {
  MODEL_EXCHANGE_NONE,
  MODEL_EXCHANGE_ALL_REDUCE,
  MODEL_EXCHANGE_ALL_GATHER,
  MODEL_EXCHANGE_REDUCE_SCATTER,
  MODEL_EXCHANGE_ALL_TO_ALL,
  MODEL_EXCHANGE_RING /* `steps` times: every member sends to the next and receives from the one before */
} ModelExchangeKind;

/* How an exchange and a matmul (or attention) go through it piece by piece. */
typedef enum {
  MODEL_CHUNKS_NONE,
  MODEL_CHUNKS_BEFORE, /* of the op that waits for it, the last `steps` pieces each wait for one step */
  MODEL_CHUNKS_AFTER   /* of the op `follows`, each of the first `steps` pieces is followed by one step */
} ModelChunks;

/* Payload: all-reduce, the buffer; all-gather and reduce-scatter, the whole of all members; all-to-all, all that one
 * member sends, itself included; ring, what one member sends in a step. */
typedef struct {
  int kind, axis; /* ModelExchangeKind, ModelAxis */
  guint64 bytes;
  guint64 far_bytes;     /* all-to-all: above 0, what goes to other nodes goes there once and is handed on inside, where
                            `bytes` count; all that one member sends to nodes, its own included */
  guint32 steps;         /* of a ring, else 1 */
  gboolean asynchronous; /* compute goes on */
  int chunks;            /* ModelChunks: with RING only, which is asynchronous then */
  /* Asynchronous: index of the op of the same direction that waits for it; their number: whatever comes after them.
   * Where a second run leaves that op out, whatever comes after that run. */
  guint awaited_by;
  guint follows; /* MODEL_CHUNKS_AFTER */
} ModelExchange;

typedef struct {
  const char *name;              /* "gate_proj", "gate_proj.dgrad"; static */
  const struct KernelOp *kernel; /* owned by the unit */
  guint32 pieces;                /* the kernel runs as often; 0 counts as 1 */
  gboolean in_function;          /* issued by an autograd function that the framework wrote in Python */
  gboolean counted;              /* the host reads what the ops before it found (counts, say) before it can issue it */
  ModelExchange exchange;
  double nominal_flops;   /* of all pieces, what model FLOPs utilisation counts: attention in full, not causal, and
                                  * its backward as two forwards, whatever a flash kernel computes again; no copies */
  ModelSet reads, writes; /* of tensors */
  ModelSet saves;         /* forward only: tensors that autograd keeps because of this op */
  guint64 uses;           /* mask of the unit's parameters that the op reads */
  int gradient_of;        /* backward only: index of the parameter whose gradient this op completes, else -1 */
  int also_gradient_of;   /* a second one (weight and bias of one norm, bias of a wgrad), else -1 */
  gboolean joins;         /* backward only: adds a tensor, which it is the last to read, to the GRAD_SIDE that it reads
                             too; of the first that comes the tensor itself becomes GRAD_SIDE, without an operation */
  struct {
    ModelSet reads;
    guint64 bytes;
    guint32 launches;
  } for_gradient; /* backward only: what of it serves gradients of parameters alone, in an op that hands one down too */
} ModelOp;

typedef struct {
  ModelUnitKind kind;
  ModelParameter *parameters; /* in order of definition */
  guint n_parameters;
  ModelTensor *tensors;
  guint n_tensors;
  ModelOp *forward, *backward; /* in order of execution */
  guint n_forward, n_backward;
  /* Of a layer that runs again in full, where the share distributes what it keeps: after forward the first of two ops
   * copies this rank's part out of INPUT, which then dies; before the second run the other, an exchange, makes INPUT
   * whole again. Else none. */
  ModelOp *keeping;
  guint n_keeping;          /* 0 or 2 */
  struct KernelOp *kernels; /* forward's, then backward's, then keeping's */
} ModelUnit;

/* One unit at a micro-batch (sequences per GPU, 1 to MODEL_MICRO_BATCH_MOST) of a shape and a recipe that were loaded
 * and checked. Cost: a few allocations. */
#define MODEL_MICRO_BATCH_MOST ((guint64)1 << 32)
ModelUnit *model_unit_new(const ModelShape *shape, const ModelRecipe *recipe, guint64 micro_batch, ModelUnitKind kind);
/* Whether each kind of the shape's units has no more tensors and operations than a set holds, as model_unit_new
 * requires. Error: SIM_ERROR_INPUT. */
gboolean model_unit_check(const ModelShape *shape, const ModelRecipe *recipe, const ConfSettings *settings,
                          GError **error);
void model_unit_free(ModelUnit *unit);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(ModelUnit, model_unit_free)

/* Whether they differ in sizes alone: in their kernels, in bytes of tensors and exchanges, in FLOPs. */
gboolean model_unit_alike(const ModelUnit *a, const ModelUnit *b);

/* Elements of the unit's own parameters, shared ones left out. */
guint64 model_unit_elements(const ModelUnit *unit);
/* Elements that autocast over fp32 parameters casts, a tied table as the head's: of what is neither uncast nor packed.
 */
guint64 model_unit_cast_elements(const ModelUnit *unit);
/* Of these, what is frozen. */
guint64 model_unit_cast_frozen(const ModelUnit *unit);
/* Bytes of constants beside them. */
guint64 model_unit_constants(const ModelUnit *unit);
/* Bytes of a set of the unit's tensors. */
guint64 model_unit_bytes(const ModelUnit *unit, ModelSet tensors);
/* Bytes that autograd keeps from one forward of the unit: the masks' sum, INPUT included where it is saved. */
guint64 model_unit_saved_bytes(const ModelUnit *unit);
/* Of these, what the forward op of this index is the first to keep: over all ops they add up to the unit's. */
guint64 model_unit_op_saved_bytes(const ModelUnit *unit, guint op);

/* What the device is asked to do. */
typedef struct {
  double flops;         /* executed, MAC = 2 */
  double nominal_flops; /* as in ModelOp */
  double bytes;         /* to and from device memory */
} ModelCost;

/* Of all its pieces; an exchange costs nothing here. */
ModelCost model_op_cost(const ModelOp *op);
ModelCost model_unit_forward_cost(const ModelUnit *unit);
ModelCost model_unit_backward_cost(const ModelUnit *unit);
