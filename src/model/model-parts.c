/* SPDX-License-Identifier: MIT */
/* The parts that units share: linear layers, norms, dropout.
 *
 * Bytes of memory-bound ops are those of the kernels that PyTorch launches for them without fusion, each reading its
 * operands once and writing its result once; the norms' weights and the statistics per row are too small to count. */
#include "model-autocast.h"
#include "model-region.h"

#include <math.h>

#define FP8_MULTIPLE                                                                                                   \
  16.0 /* of both widths of a layer that multiplies in fp8: torch._scaled_mm's, and torchao's filter */

static int split_parameter(ModelBuild *build, const char *name, ModelSplit split, double rows, double columns) {
  int parameter = model_build_parameter(build, name, rows, columns);
  if (split != MODEL_UNSPLIT)
    model_build_place(build, parameter, MODEL_PLACE_SPLIT, build->tensor * rows * columns);
  return parameter;
}

/* A row layer's bias is added to the sum, by each rank to the tokens that it has of it. */
static int bias_of(ModelBuild *build, const char *name, ModelSplit split, double out) {
  int bias = split_parameter(build, name, split == MODEL_COLUMNS ? MODEL_COLUMNS : MODEL_UNSPLIT, out, 1);
  if (split == MODEL_ROWS && build->sequence)
    model_build_place(build, bias, MODEL_PLACE_SUMMED, out);
  return bias;
}

ModelLinear model_linear(ModelBuild *build, const ModelLinearNames *names, ModelSplit split, double in, double out,
                         gboolean bias) {
  ModelLinear linear = {.names = names, .split = split, .in = in, .out = out, .useful = out, .bias = -1};
  gboolean fits = fmod(in, FP8_MULTIPLE) == 0 && fmod(out, FP8_MULTIPLE) == 0;
  linear.weight = split_parameter(build, names->weight, split, out, in);
  if (bias)
    linear.bias = bias_of(build, names->bias, split, out);
  if (build->fp8 && fits) {
    linear.fp8.names = &names->fp8;
    build->parameters[linear.weight].fp8 = TRUE;
  }
  if (build->recipe->base != MODEL_BASE_FULL && model_unit_is_layer(build->kind))
    model_packed(build, &linear);
  if (model_lora_adapts(&build->recipe->lora, names->forward))
    linear.adapter = model_adapter(build, &names->adapter, in, out);
  return linear;
}

void model_linear_of(ModelBuild *build, ModelLinear *linear, double outputs, guint32 copies) {
  linear->useful = outputs / build->tensor;
  build->parameters[linear->weight].whole = (guint64)(outputs * linear->in);
  build->parameters[linear->weight].copies = copies;
  if (linear->bias < 0)
    return;
  build->parameters[linear->bias].whole = (guint64)outputs;
  build->parameters[linear->bias].copies = copies;
}

static guint64 parameter_mask(int weight, int bias) {
  return (weight >= 0 ? (guint64)1 << weight : 0) | (bias >= 0 ? (guint64)1 << bias : 0);
}

static ModelOp *last_op(ModelBuild *build, ModelDirection direction) {
  return &build->ops[direction][build->n_ops[direction] - 1];
}

/* Compiled layers have no Python left. */
static gboolean is_function(const ModelBuild *build) {
  return build->recipe->layer_functions && !build->recipe->compiled;
}

static gboolean has_adapter(const ModelLinear *linear) {
  return linear->adapter.names != NULL;
}

void model_linear_useful(const ModelLinear *linear, ModelOp *op) {
  if (linear->useful != linear->out)
    op->nominal_flops *= linear->useful / linear->out;
}

static void plain_forward(ModelBuild *build, ModelLinear *linear, ModelSet x, ModelSet y) {
  ModelOp *op = linear->packed ? model_packed_forward(build, linear, x, y) : model_column_matmul(build, linear, x, y);
  op->saves = model_region_kept(build, x);
  op->uses = parameter_mask(linear->weight, linear->bias);
  op->in_function = is_function(build);
}

static void fp8_forward(ModelBuild *build, ModelLinear *linear, ModelSet x, ModelSet y) {
  model_fp8_forward(build, linear, x, y);
  model_linear_useful(linear, last_op(build, MODEL_FORWARD));
  last_op(build, MODEL_FORWARD)->in_function = is_function(build);
}

/* What it multiplies: its input, or a copy of its own. */
static ModelSet cast_input(ModelBuild *build, ModelLinear *linear, ModelSet x) {
  ModelSet read =
      model_narrow(build, MODEL_FORWARD, linear->names->cast, linear->names->copy, build->t * linear->in, x);
  linear->cast = read != x ? read : 0;
  return read;
}

void model_linear_forward(ModelBuild *build, ModelLinear *linear, ModelSet x, ModelSet y) {
  const ModelAdapterNames *adapter = linear->adapter.names;
  ModelSet read = cast_input(build, linear, x);
  ModelSet partial = model_row_partial(build, linear, y);
  ModelSet plain =
      adapter != NULL ? model_build_inner(build, adapter->plain, build->e * build->t * linear->out) : partial;
  if (linear->fp8.names != NULL)
    fp8_forward(build, linear, read, plain);
  else
    plain_forward(build, linear, read, plain);
  if (adapter != NULL)
    model_adapter_forward(build, &linear->adapter, read, plain, partial);
  model_row_reduce(build, linear, partial, y);
}

ModelSet model_linear_dgrad(ModelBuild *build, const ModelLinear *linear, ModelSet d_y, ModelSet d_x) {
  ModelSet read = d_y;
  if (linear->fp8.names != NULL) {
    read = model_fp8_dgrad(build, linear, d_y, d_x);
  } else {
    ModelSet weight = linear->packed ? model_packed_weight(build, linear, MODEL_BACKWARD) : 0;
    ModelOp *dgrad = model_build_matmul(build, MODEL_BACKWARD, linear->names->dgrad, 1, build->t, linear->in,
                                        linear->out, d_y | weight, d_x);
    dgrad->uses = parameter_mask(linear->weight, -1);
  }
  model_linear_useful(linear, last_op(build, MODEL_BACKWARD));
  last_op(build, MODEL_BACKWARD)->in_function = is_function(build);
  return read;
}

void model_linear_wgrad(ModelBuild *build, const ModelLinear *linear, ModelSet x, ModelSet read_of_d_y) {
  if (linear->fp8.names != NULL)
    model_fp8_wgrad(build, linear, x, read_of_d_y);
  else
    model_build_wgrad(build, linear->names->wgrad, linear->out, linear->in, build->t, read_of_d_y | x)->gradient_of =
        linear->weight;
  model_linear_useful(linear, last_op(build, MODEL_BACKWARD));
}

void model_linear_bgrad(ModelBuild *build, const ModelLinear *linear, ModelSet d_y) {
  double tokens = linear->split == MODEL_ROWS ? build->between : build->t;
  if (linear->bias >= 0)
    model_build_kernels(build, MODEL_BACKWARD, linear->names->bgrad, KERNEL_REDUCTION, 1,
                        build->e * tokens * linear->out, d_y, 0)
        ->gradient_of = linear->bias;
}

/* As autograd does: the reduction of this layer's part of d_x comes after both gradients. */
static void reduce_own(ModelBuild *build, const ModelLinear *linear, ModelSet d_x) {
  if (build->tensor == 1 || linear->split != MODEL_COLUMNS || !build->share->reduces_each || build->sequence)
    return;
  model_build_exchange(build, MODEL_BACKWARD, linear->names->d_reduce, MODEL_EXCHANGE_ALL_REDUCE, MODEL_AXIS_TENSOR,
                       build->e * build->t * linear->in, d_x, 0);
}

void model_linear_backward(ModelBuild *build, const ModelLinear *linear, ModelSet x, ModelSet d_y, ModelSet d_x) {
  gboolean cast = linear->cast != 0;
  double elements = build->t * linear->in;
  ModelSet read = cast ? linear->cast : x;
  ModelSet part = has_adapter(linear) ? model_adapter_backward(build, &linear->adapter, read, d_y) : 0;
  ModelSet d_whole = model_row_gather(build, linear, d_y);
  ModelSet d_read = cast ? model_build_inner(build, linear->names->d_copy, build->e * elements) : d_x;
  ModelSet read_of_d_y = model_linear_dgrad(build, linear, d_whole, d_read);
  if (d_whole != d_y)
    model_row_in_chunks(build);
  model_linear_wgrad(build, linear, read, read_of_d_y);
  model_linear_bgrad(build, linear, d_y);
  if (has_adapter(linear))
    model_adapter_sum(build, &linear->adapter, part, d_read);
  model_widen(build, linear->names->cast_backward, elements, d_read, d_x);
  reduce_own(build, linear, d_x);
}

static int norm_parameter(ModelBuild *build, const char *name, double width) {
  int parameter = model_build_parameter(build, name, width, 1);
  model_build_uncast(build, parameter);
  return parameter;
}

ModelNorm model_norm(ModelBuild *build, const ModelNormNames *names) {
  ModelNorm norm = {.names = names, .elements = build->between * build->h, .weight = -1, .bias = -1};
  if (model_build_has(build, MODEL_NORM_PLAIN))
    return norm;
  ModelPlace place = build->sequence ? MODEL_PLACE_SUMMED : MODEL_PLACE_WHOLE;
  norm.weight = norm_parameter(build, names->weight, build->h);
  model_build_place(build, norm.weight, place, build->h);
  if (!model_build_has(build, MODEL_NORM_BIAS))
    return norm;
  norm.bias = norm_parameter(build, names->bias, build->h);
  model_build_place(build, norm.bias, place, build->h);
  return norm;
}

ModelNorm model_head_norm(ModelBuild *build, const ModelNormNames *names, double width) {
  ModelNorm norm = {.names = names, .elements = build->t * width, .weight = -1, .bias = -1};
  if (model_build_has(build, MODEL_QK_NORM_PLAIN))
    return norm;
  norm.weight = norm_parameter(build, names->weight, build->d);
  model_build_place(build, norm.weight, MODEL_PLACE_SUMMED, build->d);
  return norm;
}

ModelNorm model_wide_norm(ModelBuild *build, const ModelNormNames *names, double tokens, double width) {
  ModelNorm norm = {.names = names, .elements = tokens * width, .bias = -1};
  norm.weight = norm_parameter(build, names->weight, width);
  return norm;
}

static gboolean is_eager_rms(const ModelBuild *build) {
  return !model_build_has(build, MODEL_LAYER_NORM) && !build->fused_norm;
}

/* Bytes of an element of what a norm reads and of what it makes. Under autocast they differ where a norm reads 16 bits
 * and its weight is fp32, or where it is compiled with the cast of what it makes. */
typedef struct {
  double in, out;
} Widths;

static gboolean is_half(Widths widths) {
  return widths.in < MODEL_BYTES_FP32;
}

/* LayerNorm, and a fused RMSNorm, is one kernel: x in, y out. Eager RMSNorm (transformers' LlamaRMSNorm): x to fp32,
 * its square, the mean, plus epsilon, root, x scaled, cast back, times the weight: eight kernels, two of them on a
 * number per row. In fp32 the casts are no kernels. */
static ModelPasses norm_forward_passes(const ModelBuild *build, Widths widths) {
  double in = widths.in, out = widths.out, w = MODEL_BYTES_FP32;
  if (!is_eager_rms(build))
    return (ModelPasses){build->fused_norm ? KERNEL_MEMORY : KERNEL_NORM, 1, in + out};
  double casts = is_half(widths) ? (in + w) + (w + in) : 0;
  return (ModelPasses){KERNEL_NORM, is_half(widths) ? 8 : 6, casts + 2 * w + w + 2 * w + in + out};
}

/* LayerNorm: d_x of d_y and x, and the weight's and bias's sums of d_y and x, in two kernels. Eager RMSNorm, by
 * autograd: times the weight (2), times the normed x and summed over rows (3 + 1), cast to fp32, the product's two
 * gradients (2 and 3, summed: 1), those of the root and the mean (three on a number per row, expanded: 1), the
 * square's (three kernels: 2, 2 and 3), the sum of both (3) and the cast back; the counts are elements moved, fp32
 * between the casts. */
static ModelPasses norm_backward_passes(const ModelBuild *build, Widths widths) {
  double in = widths.in, out = widths.out, w = MODEL_BYTES_FP32;
  if (!is_eager_rms(build))
    return (ModelPasses){KERNEL_NORM, 3, (out + 2 * in) + (out + in)};
  double casts = is_half(widths) ? (in + w) + (w + in) : 0;
  double outside = (out + in) + (out + in + out) + out, inside = (2 + 3 + 1 + 1 + 7 + 3) * w;
  return (ModelPasses){KERNEL_NORM, is_half(widths) ? 19 : 17, outside + casts + inside};
}

/* What of it makes the weight's (and bias's) gradient. */
static ModelPasses norm_gradient_passes(const ModelBuild *build, Widths widths) {
  double in = widths.in, out = widths.out;
  if (!is_eager_rms(build))
    return (ModelPasses){KERNEL_NORM, 2, out + in};
  return (ModelPasses){KERNEL_NORM, 2, (out + in + out) + out};
}

/* Eager RMSNorm in 16 bits: x in fp32, kept for the square and the product; the square, then the product, in fp32;
 * the product cast back, kept for the weight's gradient. In fp32 nothing is cast: x is kept as it is, and the
 * product. */
static void eager_rms_forward(ModelBuild *build, ModelNorm *norm, ModelSet x, ModelSet y) {
  double elements = norm->elements;
  Widths widths = {model_element(build, x), model_element(build, y)};
  gboolean half = is_half(widths);
  norm->wide = half ? model_build_inner(build, norm->names->wide, MODEL_BYTES_FP32 * elements) : x;
  norm->scaled = model_build_inner(build, norm->names->scaled, widths.in * elements);
  ModelSet square = model_build_scratch(build, norm->names->square, MODEL_BYTES_FP32 * elements);
  ModelPasses passes = norm_forward_passes(build, widths);
  ModelOp *op =
      model_build_kernels(build, MODEL_FORWARD, norm->names->forward, passes.kind, passes.launches,
                          elements * passes.bytes, x | square, y | norm->scaled | square | (half ? norm->wide : 0));
  op->saves = norm->wide | norm->scaled;
  op->uses = parameter_mask(norm->weight, norm->bias);
}

/* At its most the square's gradient is made: beside x's gradient through the product and the mean's there are twice x
 * and the result, four fp32 tensors. */
#define RMS_BACKWARD_TENSORS 4.0

void model_norm_forward(ModelBuild *build, ModelNorm *norm, ModelSet x, ModelSet y) {
  if (is_eager_rms(build)) {
    eager_rms_forward(build, norm, x, y);
    return;
  }
  ModelPasses passes = norm_forward_passes(build, (Widths){model_element(build, x), model_element(build, y)});
  ModelOp *op = model_build_kernels(build, MODEL_FORWARD, norm->names->forward, passes.kind, passes.launches,
                                    norm->elements * passes.bytes, x, y);
  op->saves = x;
  op->uses = parameter_mask(norm->weight, norm->bias);
}

/* Liger-Kernel's RMSNorm, but that of families whose gradients others read too (its in_place is off for gemma2, gemma3
 * and olmo2: transformers/rms_norm.py). */
gboolean model_norm_in_place(const ModelBuild *build, ModelSet x, ModelSet d_y) {
  return build->in_place && !model_build_has(build, MODEL_LAYER_NORM | MODEL_BRANCH_NORM) &&
         model_element(build, x) == model_element(build, d_y);
}

void model_norm_backward(ModelBuild *build, const ModelNorm *norm, ModelSet x, ModelSet d_y, ModelSet d_x) {
  double elements = norm->elements;
  Widths widths = {model_element(build, x), model_element(build, d_y)};
  ModelSet kept = x, scratch = 0;
  if (is_eager_rms(build)) {
    kept = norm->wide | norm->scaled;
    scratch = model_build_scratch(build, norm->names->d_wide, RMS_BACKWARD_TENSORS * MODEL_BYTES_FP32 * elements);
  }
  ModelPasses passes = norm_backward_passes(build, widths);
  ModelOp *op = model_build_kernels(build, MODEL_BACKWARD, norm->names->backward, passes.kind, passes.launches,
                                    elements * passes.bytes, kept | d_y | scratch, d_x | scratch);
  op->uses = parameter_mask(norm->weight, -1);
  op->gradient_of = norm->weight;
  op->also_gradient_of = norm->bias;
  if (norm->weight < 0)
    return;
  ModelPasses sums = norm_gradient_passes(build, widths);
  op->for_gradient.reads = is_eager_rms(build) ? norm->scaled : 0;
  op->for_gradient.bytes = (guint64)(elements * sums.bytes);
  op->for_gradient.launches = sums.launches;
}

void model_dropout_forward(ModelBuild *build, const char *name, double elements, ModelSet x, ModelSet y,
                           ModelSet mask) {
  double bytes = model_element(build, x) + model_element(build, y) + 1;
  model_build_memory(build, MODEL_FORWARD, name, elements * bytes, x, y | mask)->saves = mask;
}

void model_dropout_backward(ModelBuild *build, const char *name, double elements, ModelSet mask, ModelSet d_y,
                            ModelSet d_x) {
  double bytes = model_element(build, d_y) + model_element(build, d_x) + 1;
  model_build_memory(build, MODEL_BACKWARD, name, elements * bytes, mask | d_y, d_x);
}
