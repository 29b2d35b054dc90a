/* SPDX-License-Identifier: MIT */
/* What units are put together from: tensors, operations, and the two layers that all of them share. For this room
 * alone.
 *
 *   ModelBuild build;
 *   model_build_begin(&build, &shape, &recipe, micro_batch, MODEL_UNIT_LAYER);
 *   ModelSet x = model_build_tensor(&build, "x", MODEL_TENSOR_INPUT, build.t * build.h * build.e);   // one bit
 *   ModelLinear q = model_linear(&build, &q_names, MODEL_COLUMNS, build.h, build.q, FALSE);           // q_proj.weight
 *   model_linear_forward(&build, &q, x, y);
 *   return model_build_end(&build);
 *
 * Sizes are doubles, exact below 2^53, so that no shape overflows. */
#pragma once

#include "kernel-op.h"
#include "model-unit.h"

#define MODEL_BYTES_FP32      4.0                  /* of an element of what half-precision arithmetic is copied to */
#define MODEL_OPS_MOST        (MODEL_SET_MOST - 1) /* so that a set of all is one less than the next bit */
#define MODEL_TRAFFIC_MOST    ((guint64)1 << 53)   /* bytes of one op; larger is no shape that anybody trains */
#define MODEL_PARAMETERS_MOST 32

/* What one operation is in kernels: of which kind, how many, and how many bytes per element they move. */
typedef struct {
  KernelKind kind;
  guint32 launches;
  double bytes;
} ModelPasses;

/* Keeping: around a second run, ModelUnit.keeping. */
typedef enum { MODEL_FORWARD, MODEL_BACKWARD, MODEL_KEEPING, MODEL_DIRECTIONS } ModelDirection;

/* One tensor made of another. */
typedef struct {
  ModelSet from, to;
} ModelMade;

typedef struct {
  const ModelShape *shape;
  const ModelRecipe *recipe;
  ModelTraits traits;                           /* of this unit's kind */
  gboolean mixes;                               /* its MLP is experts */
  double window;                                /* tokens that attention looks back, or a chunk's; 0: all */
  KernelDtype dtype;                            /* of matmuls; those that model-fp8.c makes apart */
  gboolean fused_norm, fused, fused_activation; /* norms, rotary embedding, the activation: one kernel each */
  gboolean fused_masks;                         /* masked softmax, dropout with its residual, capped logits: likewise */
  gboolean in_place; /* the first three write where their operands lie, as Liger-Kernel's do: its
                                                   ops/rms_norm.py, rope.py and swiglu.py */
  gboolean half;     /* stored in two bytes, so that fp32 arithmetic needs copies */
  double e;          /* bytes of an element */
  double w;          /* of the residual stream's: e, or under autocast fp32's */
  /* Of this rank: */
  double b, s, t;          /* sequences, tokens of each, all tokens */
  double between;          /* tokens outside tensor-parallel regions: t, or t / tensor */
  double keys;             /* tokens of a sequence that attention sees, those of other ranks included */
  double encoded;          /* tokens of a sequence of the encoder beside a decoder */
  double h, a, d;          /* hidden, heads, head_dim */
  double q, kv;            /* widths of the queries, and of the keys, that attention reads */
  double q_made, kv_made;  /* that the projections make: others where keys are gathered */
  double c, values;        /* widths of the context, and of the values: q and kv but in latent attention */
  double f, v;             /* MLP width, vocabulary */
  double tensor, context;  /* degrees */
  const ModelShare *share; /* the recipe's */
  gboolean sequence;       /* sequence parallelism is in force */
  ModelMade gathered;      /* the last column region's input: this rank's tokens, and all of them */
  ModelMade copied;        /* a linear layer's input that backward copies again, as fp8 need not */
  ModelSet wide;           /* tensors of w bytes an element, where that is not e: model-autocast.h */
  ModelMade narrowed;      /* the last of these that was cast, and its copy */
  gboolean in_chunks;      /* nobody has read gathered.to yet, so that the first who does goes with the gather */

  gboolean fp8;                   /* linear layers of this unit multiply in fp8 */
  ModelMade fp8_cast, fp8_turned; /* the last input that was cast for them, turned for them */
  ModelSet fp8_kept;              /* of that cast, what backward reads */
  ModelSet fp8_gathered;          /* engine: the last tensor that tensor ranks gathered in fp8 */

  ModelUnitKind kind;
  ModelParameter parameters[MODEL_PARAMETERS_MOST];
  guint n_parameters;
  ModelTensor tensors[MODEL_TENSORS_MOST];
  guint n_tensors;
  ModelOp ops[MODEL_DIRECTIONS][MODEL_OPS_MOST];
  KernelOp kernels[MODEL_DIRECTIONS][MODEL_OPS_MOST];
  guint n_ops[MODEL_DIRECTIONS];
  const char *too_many; /* the first tensor or operation for which there was no room; NULL: there was for all */
} ModelBuild;

void model_build_begin(ModelBuild *build, const ModelShape *shape, const ModelRecipe *recipe, guint64 micro_batch,
                       ModelUnitKind kind);
ModelUnit *model_build_end(const ModelBuild *build);

/* How the ranks of a tensor group split a linear layer. */
typedef enum { MODEL_UNSPLIT, MODEL_COLUMNS, MODEL_ROWS } ModelSplit;

/* rows × columns of this rank, as PyTorch stores it. Returns the index. */
int model_build_parameter(ModelBuild *build, const char *name, double rows, double columns);
/* Says of a parameter how the ranks hold it, and how many elements the model has of it. */
void model_build_place(ModelBuild *build, int parameter, ModelPlace place, double whole);
/* Says of a parameter that autocast leaves it in fp32: norms, tables, sinks. */
void model_build_uncast(ModelBuild *build, int parameter);
/* Returns the mask. */
ModelSet model_build_tensor(ModelBuild *build, const char *name, ModelTensorRole role, double bytes);
ModelSet model_build_inner(ModelBuild *build, const char *name, double bytes);
/* What a unit made for several, or makes; and its gradient. */
ModelSet model_build_side(ModelBuild *build, const char *name, ModelSide side, double bytes);
ModelSet model_build_grad_side(ModelBuild *build, const char *name, ModelSide side, double bytes);
/* Working memory of the next op, which must read and write it. */
ModelSet model_build_scratch(ModelBuild *build, const char *name, double bytes);

/* Each adds an op of the direction and returns it, valid until the build ends, for what its arguments do not say. */
ModelOp *model_build_matmul(ModelBuild *build, ModelDirection direction, const char *name, double batch, double m,
                            double n, double k, ModelSet reads, ModelSet writes);
/* A backward matmul that makes the gradient of a weight. */
ModelOp *model_build_wgrad(ModelBuild *build, const char *name, double m, double n, double k, ModelSet reads);
/* The matmul just added is one. */
void model_build_is_wgrad(ModelBuild *build);
/* Elementwise: one kernel, or as many as `launches` says. */
ModelOp *model_build_memory(ModelBuild *build, ModelDirection direction, const char *name, double bytes, ModelSet reads,
                            ModelSet writes);
/* Any other kind that goes by bytes. */
ModelOp *model_build_kernels(ModelBuild *build, ModelDirection direction, const char *name, KernelKind kind,
                             guint32 launches, double bytes, ModelSet reads, ModelSet writes);
/* One kernel over queries and keys of every head. */
typedef struct {
  double queries, keys; /* of a sequence, or of a sample in it */
  gboolean causal;
  double samples; /* of a sequence, side by side; 0 counts as 1 */
} ModelPairs;
ModelOp *model_build_attention(ModelBuild *build, ModelDirection direction, const char *name, ModelPairs pairs,
                               double flops, double nominal_flops, double bytes, ModelSet reads, ModelSet writes);
/* What crosses ranks. In place where nothing is written. */
ModelOp *model_build_exchange(ModelBuild *build, ModelDirection direction, const char *name, ModelExchangeKind kind,
                              ModelAxis axis, double bytes, ModelSet reads, ModelSet writes);
/* Backward: adds `part`, which nobody reads later, to a side's gradient. */
void model_build_join(ModelBuild *build, const char *name, double bytes, ModelSet part, ModelSet gradient);
/* The operation added last takes more kernels, of so many bytes. */
void model_build_adds(ModelBuild *build, ModelDirection direction, guint32 launches, double bytes);
/* The operation added last reads, or writes, a tensor more, of so many bytes. */
void model_build_reads(ModelBuild *build, ModelDirection direction, ModelSet tensor, double bytes);
void model_build_writes(ModelBuild *build, ModelDirection direction, ModelSet tensor, double bytes);
/* One kernel in place of the last two operations, named as the second, of the first's kind; `spared`: bytes that the
 * second read of what the first wrote. */
void model_build_merge(ModelBuild *build, ModelDirection direction, double spared);
/* Cuts the matmul that was added last into equal pieces by its rows. */
void model_build_in_pieces(ModelBuild *build, ModelDirection direction, guint32 pieces);

/* Fills in what waits for, and what is followed by, asynchronous exchanges. */
void model_ops_await(ModelOp *ops, guint n);

/* Makes the matmul that was added last one of fp8 operands. */
void model_build_in_fp8(ModelBuild *build, ModelDirection direction);

/* A low-rank adapter beside a linear layer, model-adapter.c. */
typedef struct {
  const char *a, *b, *join, *a_weight, *b_weight;                        /* operations, parameters */
  const char *a_dgrad, *a_wgrad, *b_dgrad, *b_wgrad, *d_join, *sum;      /* backward */
  const char *plain, *narrow, *wide, *scaled, *d_wide, *d_narrow, *d_in; /* tensors */
  const char *dropout, *dropout_backward, *dropped, *mask, *d_dropped;   /* of dropout before lora_A */
} ModelAdapterNames;
#define MODEL_ADAPTER_NAMES(name)                                                                                      \
  {                                                                                                                    \
    .a = name ".lora_A", .b = name ".lora_B", .join = name ".lora_add", .a_weight = name ".lora_A.weight",             \
    .b_weight = name ".lora_B.weight", .a_dgrad = name ".lora_A.dgrad", .a_wgrad = name ".lora_A.wgrad",               \
    .b_dgrad = name ".lora_B.dgrad", .b_wgrad = name ".lora_B.wgrad", .d_join = name ".lora_add.backward",             \
    .sum = name ".lora_A.sum", .plain = name ".base", .narrow = name ".lora_narrow", .wide = name ".lora_wide",        \
    .scaled = name ".lora_scaled", .d_wide = "d_" name ".lora_wide", .d_narrow = "d_" name ".lora_narrow",             \
    .d_in = "d_" name ".lora_in", .dropout = name ".lora_dropout", .dropout_backward = name ".lora_dropout.backward",  \
    .dropped = name ".lora_dropped", .mask = name ".lora_mask", .d_dropped = "d_" name ".lora_dropped"                 \
  }

typedef struct {
  const ModelAdapterNames *names; /* NULL: no adapter here */
  int a, b;                       /* parameters */
  double in, out, rank;
  ModelSet narrow;        /* what lora_A makes: set by forward */
  ModelSet dropped, mask; /* of dropout: lora_A's input, and a byte an element: set by forward */
} ModelAdapter;

/* Defines the adapter's two parameters, and freezes what it stands beside. */
ModelAdapter model_adapter(ModelBuild *build, const ModelAdapterNames *names, double in, double out);
/* What lora_A reads, and backward keeps: x, or after dropout of its `elements` numbers a copy of this adapter's own,
 * with a mask (peft's lora_dropout). */
ModelSet model_adapter_drop(ModelBuild *build, ModelAdapter *adapter, double elements, ModelSet x);
/* Back from lora_A's input to x. */
ModelSet model_adapter_undrop(ModelBuild *build, const ModelAdapter *adapter, double elements, ModelSet d_in);
/* x, and `plain`, the layer's own output, to y. */
void model_adapter_forward(ModelBuild *build, ModelAdapter *adapter, ModelSet x, ModelSet plain, ModelSet y);
/* Adapter's gradients; returns its part of x's gradient, which model_adapter_sum adds to the layer's. */
ModelSet model_adapter_backward(ModelBuild *build, const ModelAdapter *adapter, ModelSet x, ModelSet d_y);
void model_adapter_sum(ModelBuild *build, const ModelAdapter *adapter, ModelSet part, ModelSet d_x);

/* What a linear layer in fp8 adds around its matmuls, model-fp8.c. */
typedef struct {
  const char *operation, *tensor, *wide;
} ModelFp8Made;
typedef struct {
  ModelFp8Made x, w, d_y, x_turned, w_turned, d_y_turned;
} ModelFp8Names;
#define MODEL_FP8_MADE(name, what)                                                                                     \
  { name ".cast_" what, name "." what "_fp8", name "." what "_fp32" }
#define MODEL_FP8_NAMES(name)                                                                                          \
  {                                                                                                                    \
    .x = MODEL_FP8_MADE(name, "input"), .w = MODEL_FP8_MADE(name, "weight"), .d_y = MODEL_FP8_MADE(name, "gradient"),  \
    .x_turned = MODEL_FP8_MADE(name, "input_turned"), .w_turned = MODEL_FP8_MADE(name, "weight_turned"),               \
    .d_y_turned = MODEL_FP8_MADE(name, "gradient_turned")                                                              \
  }

typedef struct {
  const ModelFp8Names *names; /* NULL: the layer multiplies in the model's precision */
  ModelSet x;                 /* of its input, what is kept for backward: set by forward */
  gboolean gathered;          /* tensor ranks gathered it cast */
} ModelFp8;

/* What a linear layer adds whose weight is kept in 4 or 8 bits, model-packed.c. */
typedef struct {
  const char *unpack, *unpack_again, *weight, *weight_again;
  const char *quantise, *input, *dequantise, *output; /* int8's forward */
} ModelPackedNames;
#define MODEL_PACKED_NAMES(name)                                                                                       \
  {                                                                                                                    \
    name ".dequantise", name ".dequantise.backward", name ".weight_16bit", name ".weight_16bit_again",                 \
        name ".quantise_input", name ".input_int8", name ".dequantise_output", name ".output_int32"                    \
  }

/* y = x W (+ bias): a matmul forward; dgrad, wgrad and the sum that is the bias's gradient backward. Where the recipe
 * has an adapter for it, also that. */
typedef struct {
  const char *forward, *dgrad, *wgrad, *bgrad, *weight, *bias;
  const char *own, *partial, *reduce, *d_whole, *gather, *d_reduce; /* what a split layer adds, model-region.c */
  const char *cast, *cast_backward, *copy, *d_copy;                 /* what autocast adds, model-autocast.h */
  ModelAdapterNames adapter;
  ModelFp8Names fp8;
  ModelPackedNames packed;
} ModelLinearNames;
#define MODEL_LINEAR_NAMES(name)                                                                                       \
  {                                                                                                                    \
    name, name ".dgrad", name ".wgrad", name ".bgrad", name ".weight", name ".bias", name ".own", name "_partial",     \
        name ".reduce", "d_" name "_whole", name ".gather.backward", name ".reduce.backward", name ".autocast",        \
        name ".autocast.backward", name ".input_16bit", "d_" name ".input_16bit", MODEL_ADAPTER_NAMES(name),           \
        MODEL_FP8_NAMES(name), MODEL_PACKED_NAMES(name)                                                                \
  }

typedef struct {
  const ModelLinearNames *names;
  ModelSplit split;
  double in, out;   /* of this rank */
  double useful;    /* outputs that are neither another rank's too nor padding: what nominal FLOPs count */
  int weight, bias; /* -1: none */
  ModelAdapter adapter;
  ModelFp8 fp8;
  ModelSet cast;   /* of its input, the 16-bit copy that it multiplies: set by forward; 0: none */
  gboolean packed; /* its weight is kept in 4 or 8 bits */
} ModelLinear;

/* `in` and `out` of this rank: columns split `out` over the tensor ranks, rows `in`. */
ModelLinear model_linear(ModelBuild *build, const ModelLinearNames *names, ModelSplit split, double in, double out,
                         gboolean bias);
/* Of columns that are not the model's by division, because some are copies or padding: how many the model has. */
void model_linear_of(ModelBuild *build, ModelLinear *linear, double outputs, guint32 copies);
/* A column layer reads, and makes the gradient of, all tokens; a row layer ends with the sum over the ranks, and begins
 * backward with what that asks for. */
void model_linear_forward(ModelBuild *build, ModelLinear *linear, ModelSet x, ModelSet y);
void model_linear_backward(ModelBuild *build, const ModelLinear *linear, ModelSet x, ModelSet d_y, ModelSet d_x);

/* Parts of a linear layer's directions, between model-parts.c and model-region.c. */
void model_linear_useful(const ModelLinear *linear, ModelOp *op); /* its nominal FLOPs without copies and padding */
/* Returns what the weight's gradient reads of d_y: d_y, or its cast. */
ModelSet model_linear_dgrad(ModelBuild *build, const ModelLinear *linear, ModelSet d_y, ModelSet d_x);
void model_linear_wgrad(ModelBuild *build, const ModelLinear *linear, ModelSet x, ModelSet read_of_d_y);
void model_linear_bgrad(ModelBuild *build, const ModelLinear *linear, ModelSet d_y);

/* The layer's matmuls over cast operands, with the casts: where linear->fp8.names is set. */
void model_fp8_forward(ModelBuild *build, ModelLinear *linear, ModelSet x, ModelSet y);
ModelSet model_fp8_dgrad(ModelBuild *build, const ModelLinear *linear, ModelSet d_y, ModelSet d_x);
/* x: the layer's input, as far as it is not kept cast. */
void model_fp8_wgrad(ModelBuild *build, const ModelLinear *linear, ModelSet x, ModelSet d_y);

/* Keeps the layer's weight in few bits, frozen. Forward returns its matmul; backward wants the whole weight, which the
 * matmul must read. */
void model_packed(ModelBuild *build, ModelLinear *linear);
ModelOp *model_packed_forward(ModelBuild *build, const ModelLinear *linear, ModelSet x, ModelSet y);
ModelSet model_packed_weight(ModelBuild *build, const ModelLinear *linear, ModelDirection direction);

/* RMSNorm (llama) or LayerNorm (gpt), of each token over the hidden width or of each head over its own. LayerNorm, and
 * RMSNorm as one kernel, keeps its input alone; its statistics, 4 or 8 bytes per token, are not counted. Eager RMSNorm
 * keeps the input in fp32 and what it multiplies by the weight, in the model's precision. */
typedef struct {
  const char *forward, *backward, *weight, *bias, *wide, *scaled, *square, *d_wide;
} ModelNormNames;
#define MODEL_NORM_NAMES(name)                                                                                         \
  {                                                                                                                    \
    name, name ".backward", name ".weight", name ".bias", name "_fp32", name "_scaled", name "_square",                \
        "d_" name "_fp32"                                                                                              \
  }

typedef struct {
  const ModelNormNames *names;
  double elements;       /* of what is normed */
  int weight, bias;      /* -1: none. No weight at all: a norm that learns nothing */
  ModelSet wide, scaled; /* what eager RMSNorm keeps: set by its forward */
} ModelNorm;

ModelNorm model_norm(ModelBuild *build, const ModelNormNames *names);
/* Of the heads in `width`, all with one weight: each tensor rank makes its heads' part of the gradient. */
ModelNorm model_head_norm(ModelBuild *build, const ModelNormNames *names, double width);
/* Of `width` numbers of each of `tokens`, all with weights of their own. */
ModelNorm model_wide_norm(ModelBuild *build, const ModelNormNames *names, double tokens, double width);
void model_norm_forward(ModelBuild *build, ModelNorm *norm, ModelSet x, ModelSet y);
/* d_x 0: it is left where d_y was, which model_norm_in_place allows. */
void model_norm_backward(ModelBuild *build, const ModelNorm *norm, ModelSet x, ModelSet d_y, ModelSet d_x);
gboolean model_norm_in_place(const ModelBuild *build, ModelSet x, ModelSet d_y);

/* y = dropout(x), keeping a mask of one byte per element. For recipes that have dropout. */
void model_dropout_forward(ModelBuild *build, const char *name, double elements, ModelSet x, ModelSet y, ModelSet mask);
void model_dropout_backward(ModelBuild *build, const char *name, double elements, ModelSet mask, ModelSet d_y,
                            ModelSet d_x);

static inline gboolean model_build_has(const ModelBuild *build, ModelTraits trait) {
  return model_has(build->traits, trait);
}

/* The units; each file its own. */
void model_layer_build(ModelBuild *build);
void model_embedding_build(ModelBuild *build);
void model_head_build(ModelBuild *build);
/* Of a head that comes apart, model-head-parts.c. */
void model_head_norm_build(ModelBuild *build);
void model_head_output_build(ModelBuild *build);
void model_head_cast_build(ModelBuild *build);
void model_head_loss_build(ModelBuild *build);
void model_between_build(ModelBuild *build);
/* A table of words that tensor ranks may share, read and differentiated. Rows of all tokens become sums over the ranks:
 * in place, or, where `own` is given, of this rank's tokens; and gradients of this rank's tokens those of all, zero for
 * rows of others. On ranks that hold the whole table, and of all tokens, nothing is to be done. */
typedef struct {
  const char *mask, *reduce, *gather, *mask_backward; /* operations */
  const char *d_whole, *d_masked;                     /* tensors */
} ModelTableNames;
gboolean model_table_is_shared(const ModelBuild *build);
void model_table_sum(ModelBuild *build, const ModelTableNames *names, ModelSet rows, ModelSet own);
ModelSet model_table_gather(ModelBuild *build, const ModelTableNames *names, ModelSet d_own);
ModelSet model_table_mask(ModelBuild *build, const ModelTableNames *names, ModelSet d_rows);
/* The embedding's dense gradient from those of its tokens' rows. */
ModelOp *model_table_gradient(ModelBuild *build, const char *name, ModelSet d_rows, ModelSet writes);
