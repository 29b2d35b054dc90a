/* The parts that units share: linear layers, norms, dropout.
 *
 * Bytes of memory-bound ops are those of the kernels that PyTorch launches for them without fusion, each reading its
 * operands once and writing its result once; the norms' weights and the statistics per row are too small to count. */
#include "model-build.h"

ModelLinear model_linear(ModelBuild *build, const ModelLinearNames *names, double in, double out, gboolean bias) {
  ModelLinear linear = {.names = names, .in = in, .out = out, .bias = -1};
  linear.weight = model_build_parameter(build, names->weight, out, in);
  if (bias)
    linear.bias = model_build_parameter(build, names->bias, out, 1);
  return linear;
}

static guint64 parameter_mask(int weight, int bias) {
  return (guint64)1 << weight | (bias >= 0 ? (guint64)1 << bias : 0);
}

void model_linear_forward(ModelBuild *build, const ModelLinear *linear, guint64 x, guint64 y) {
  ModelOp *op =
      model_build_matmul(build, MODEL_FORWARD, linear->names->forward, 1, build->t, linear->out, linear->in, x, y);
  op->saves = x;
  op->uses = parameter_mask(linear->weight, linear->bias);
}

void model_linear_backward(ModelBuild *build, const ModelLinear *linear, guint64 x, guint64 d_y, guint64 d_x) {
  ModelOp *dgrad =
      model_build_matmul(build, MODEL_BACKWARD, linear->names->dgrad, 1, build->t, linear->in, linear->out, d_y, d_x);
  dgrad->uses = parameter_mask(linear->weight, -1);
  ModelOp *wgrad =
      model_build_matmul(build, MODEL_BACKWARD, linear->names->wgrad, 1, linear->out, linear->in, build->t, d_y | x, 0);
  wgrad->gradient_of = linear->weight;
  wgrad->also_gradient_of = linear->bias;
}

ModelNorm model_norm(ModelBuild *build, const ModelNormNames *names) {
  ModelNorm norm = {.names = names, .bias = -1};
  norm.weight = model_build_parameter(build, names->weight, build->h, 1);
  if (build->shape->family == MODEL_GPT)
    norm.bias = model_build_parameter(build, names->bias, build->h, 1);
  return norm;
}

/* LayerNorm is one kernel: x in, y out. RMSNorm is x to fp32, the mean of squares, x scaled and cast back, times the
 * weight. */
static double norm_forward_bytes(const ModelBuild *build) {
  double e = build->e, wide = MODEL_BYTES_FP32, per_element = 2 * e;
  if (build->shape->family == MODEL_LLAMA)
    per_element = (build->half ? (e + wide) + wide + (wide + e) : e + 2 * e) + 2 * e;
  return build->t * build->h * per_element;
}

/* LayerNorm: d_x of d_y and x, and the weight's and bias's sums of d_y and x. RMSNorm: x to fp32, then from d_y and x
 * the sum per row, d_x, and the weight's sum. */
static double norm_backward_bytes(const ModelBuild *build) {
  double e = build->e, x = build->half ? MODEL_BYTES_FP32 : e, per_element = 3 * e + 2 * e;
  if (build->shape->family == MODEL_LLAMA)
    per_element = (build->half ? e + x : 0) + (e + x) + (e + x + e) + (e + x);
  return build->t * build->h * per_element;
}

static guint64 norm_copy(ModelBuild *build, const char *name) {
  if (build->shape->family != MODEL_LLAMA || !build->half)
    return 0;
  return model_build_scratch(build, name, MODEL_BYTES_FP32 * build->t * build->h);
}

void model_norm_forward(ModelBuild *build, const ModelNorm *norm, guint64 x, guint64 y) {
  guint64 copy = norm_copy(build, norm->names->copy);
  ModelOp *op =
      model_build_memory(build, MODEL_FORWARD, norm->names->forward, norm_forward_bytes(build), x | copy, y | copy);
  op->saves = x;
  op->uses = parameter_mask(norm->weight, norm->bias);
}

void model_norm_backward(ModelBuild *build, const ModelNorm *norm, guint64 x, guint64 d_y, guint64 d_x) {
  guint64 copy = norm_copy(build, norm->names->d_copy);
  ModelOp *op = model_build_memory(build, MODEL_BACKWARD, norm->names->backward, norm_backward_bytes(build),
                                   x | d_y | copy, d_x | copy);
  op->uses = parameter_mask(norm->weight, -1);
  op->gradient_of = norm->weight;
  op->also_gradient_of = norm->bias;
}

void model_dropout_forward(ModelBuild *build, const char *name, double elements, guint64 x, guint64 y, guint64 mask) {
  model_build_memory(build, MODEL_FORWARD, name, elements * (2 * build->e + 1), x, y | mask)->saves = mask;
}

void model_dropout_backward(ModelBuild *build, const char *name, double elements, guint64 mask, guint64 d_y,
                            guint64 d_x) {
  model_build_memory(build, MODEL_BACKWARD, name, elements * (2 * build->e + 1), mask | d_y, d_x);
}
