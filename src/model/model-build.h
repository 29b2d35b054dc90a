/* What units are put together from: tensors, operations, and the two layers that all of them share. For this room
 * alone.
 *
 *   ModelBuild build;
 *   model_build_begin(&build, &shape, &recipe, micro_batch, MODEL_UNIT_LAYER);
 *   guint64 x = model_build_tensor(&build, "x", MODEL_TENSOR_INPUT, build.t * build.h * build.e);   // its mask, one
 * bit ModelLinear q = model_linear(&build, &q_names, build.h, build.q, FALSE);                        // defines
 * q_proj.weight model_linear_forward(&build, &q, x, y); return model_build_end(&build);
 *
 * Sizes are doubles, exact below 2^53, so that no shape overflows. */
#pragma once

#include "kernel-op.h"
#include "model-unit.h"

#define MODEL_BYTES_FP32      4.0 /* of an element of what half-precision arithmetic is copied to */
#define MODEL_OPS_MOST        64
#define MODEL_TRAFFIC_MOST    ((guint64)1 << 53) /* bytes of one op; larger is no shape that anybody trains */
#define MODEL_PARAMETERS_MOST 32

typedef enum { MODEL_FORWARD, MODEL_BACKWARD, MODEL_DIRECTIONS } ModelDirection;

typedef struct {
  const ModelShape *shape;
  const ModelRecipe *recipe;
  KernelDtype dtype;           /* of matmuls */
  gboolean half;               /* stored in two bytes, so that fp32 arithmetic needs copies */
  double e;                    /* bytes of an element */
  double b, s, t;              /* sequences, tokens of each, all tokens */
  double h, a, d, q, kv, f, v; /* hidden, heads, head_dim, query and key widths, MLP width, vocabulary */

  ModelUnitKind kind;
  ModelParameter parameters[MODEL_PARAMETERS_MOST];
  guint n_parameters;
  ModelTensor tensors[MODEL_TENSORS_MOST];
  guint n_tensors;
  ModelOp ops[MODEL_DIRECTIONS][MODEL_OPS_MOST];
  KernelOp kernels[MODEL_DIRECTIONS][MODEL_OPS_MOST];
  guint n_ops[MODEL_DIRECTIONS];
} ModelBuild;

void model_build_begin(ModelBuild *build, const ModelShape *shape, const ModelRecipe *recipe, guint64 micro_batch,
                       ModelUnitKind kind);
ModelUnit *model_build_end(const ModelBuild *build);

/* rows × columns, as PyTorch stores it. Returns the index. */
int model_build_parameter(ModelBuild *build, const char *name, double rows, double columns);
/* Returns the mask. */
guint64 model_build_tensor(ModelBuild *build, const char *name, ModelTensorRole role, double bytes);
guint64 model_build_inner(ModelBuild *build, const char *name, double bytes);
/* Working memory of the next op, which must read and write it. */
guint64 model_build_scratch(ModelBuild *build, const char *name, double bytes);

/* Each adds an op of the direction and returns it, valid until the build ends, for what its arguments do not say. */
ModelOp *model_build_matmul(ModelBuild *build, ModelDirection direction, const char *name, double batch, double m,
                            double n, double k, guint64 reads, guint64 writes);
ModelOp *model_build_memory(ModelBuild *build, ModelDirection direction, const char *name, double bytes, guint64 reads,
                            guint64 writes);
/* One kernel over all queries and keys of every head. */
ModelOp *model_build_attention(ModelBuild *build, ModelDirection direction, const char *name, double flops,
                               double nominal_flops, double bytes, guint64 reads, guint64 writes);

/* y = x W (+ bias): a matmul forward; dgrad and wgrad (which brings the bias's gradient) backward. */
typedef struct {
  const char *forward, *dgrad, *wgrad, *weight, *bias;
} ModelLinearNames;
#define MODEL_LINEAR_NAMES(name)                                                                                       \
  { name, name ".dgrad", name ".wgrad", name ".weight", name ".bias" }

typedef struct {
  const ModelLinearNames *names;
  double in, out;
  int weight, bias; /* -1: none */
} ModelLinear;

ModelLinear model_linear(ModelBuild *build, const ModelLinearNames *names, double in, double out, gboolean bias);
void model_linear_forward(ModelBuild *build, const ModelLinear *linear, guint64 x, guint64 y);
void model_linear_backward(ModelBuild *build, const ModelLinear *linear, guint64 x, guint64 d_y, guint64 d_x);

/* RMSNorm (llama) or LayerNorm (gpt) over the hidden width. It keeps its input alone; its statistics, 4 or 8 bytes per
 * token, are not counted. */
typedef struct {
  const char *forward, *backward, *weight, *bias, *copy, *d_copy;
} ModelNormNames;
#define MODEL_NORM_NAMES(name)                                                                                         \
  { name, name ".backward", name ".weight", name ".bias", name "_fp32", "d_" name "_fp32" }

typedef struct {
  const ModelNormNames *names;
  int weight, bias; /* -1: none */
} ModelNorm;

ModelNorm model_norm(ModelBuild *build, const ModelNormNames *names);
void model_norm_forward(ModelBuild *build, const ModelNorm *norm, guint64 x, guint64 y);
void model_norm_backward(ModelBuild *build, const ModelNorm *norm, guint64 x, guint64 d_y, guint64 d_x);

/* y = dropout(x), keeping a mask of one byte per element. For recipes that have dropout. */
void model_dropout_forward(ModelBuild *build, const char *name, double elements, guint64 x, guint64 y, guint64 mask);
void model_dropout_backward(ModelBuild *build, const char *name, double elements, guint64 mask, guint64 d_y,
                            guint64 d_x);

/* The units; each file its own. */
void model_layer_build(ModelBuild *build);
void model_embedding_build(ModelBuild *build);
void model_head_build(ModelBuild *build);
