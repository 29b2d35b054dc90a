/* SPDX-License-Identifier: MIT */
/* Linear layers that multiply in fp8, each operand with one scale that is taken when it is cast (torchao's tensorwise
 * recipe).
 *
 *   forward    x ─ cast ─ x8 ─┐                      x8 is kept for backward, one byte an element; layers that share x
 *              W ─ cast ─ w8 ─┴─ matmul ─ y          share x8 (W arrives cast where it is gathered so)
 *   backward   d_y ─ cast ─ d_y8,  W ─ turned w8:    dgrad
 *              d_y8 ─ turned,  x8 ─ turned:          wgrad
 *
 * The hardware wants both operands with the summed dimension innermost, so each that backward uses the other way is
 * turned: a copy, one byte in, one out. W is cast anew for backward, turned on the way. A cast reads its tensor for the
 * largest value, then reads it again and writes one byte: two kernels where they are fused (torch.compile). Eager: the
 * absolute value (in, out), its largest (in), the tensor in fp32 (in, 4 out), scaled, clamped (4 in, 4 out each) and
 * cast (4 in, 1 out): six. Scales are too small to count. Source: torchao/float8/float8_linear.py,
 * float8_scaling_utils.py and float8_ops.py. */
#include "model-build.h"

#define FP8 1.0 /* bytes of an element */

static guint64 weight_mask(const ModelLinear *linear) {
  return (guint64)1 << linear->weight;
}

static ModelPasses cast_passes(const ModelBuild *build) {
  double e = build->e, w = MODEL_BYTES_FP32;
  if (build->fused)
    return (ModelPasses){KERNEL_MEMORY, 2, e + e + FP8};
  return (ModelPasses){KERNEL_MEMORY, 6, (e + e) + e + (e + w) + (w + w) + (w + w) + (w + FP8)};
}

/* From `from` (none: a weight) to a new fp8 tensor. */
static ModelSet cast(ModelBuild *build, ModelDirection direction, const ModelFp8Made *names, double elements,
                     ModelSet from, guint64 uses) {
  ModelPasses passes = cast_passes(build);
  ModelSet to = model_build_inner(build, names->tensor, FP8 * elements);
  ModelSet wide = build->fused ? 0 : model_build_scratch(build, names->wide, 2 * MODEL_BYTES_FP32 * elements);
  model_build_kernels(build, direction, names->operation, passes.kind, passes.launches, passes.bytes * elements,
                      from | wide, to | wide)
      ->uses = uses;
  return to;
}

static ModelSet turn(ModelBuild *build, const ModelFp8Made *names, double elements, ModelSet from, guint64 uses) {
  ModelSet to = model_build_inner(build, names->tensor, FP8 * elements);
  model_build_memory(build, MODEL_BACKWARD, names->operation, 2 * FP8 * elements, from, to)->uses = uses;
  return to;
}

/* Layers that share an input come one after the other: the first casts it, in backward the first turns it. */
static ModelSet input_cast(ModelBuild *build, const ModelLinear *linear, ModelSet x) {
  if (build->fp8_cast.from != x)
    build->fp8_cast = (ModelMade){x, cast(build, MODEL_FORWARD, &linear->fp8.names->x, build->t * linear->in, x, 0)};
  return build->fp8_cast.to;
}

static ModelSet input_turned(ModelBuild *build, const ModelLinear *linear) {
  ModelSet x8 = linear->fp8.x;
  if (build->fp8_turned.from != x8)
    build->fp8_turned = (ModelMade){x8, turn(build, &linear->fp8.names->x_turned, build->t * linear->in, x8, 0)};
  return build->fp8_turned.to;
}

void model_fp8_forward(ModelBuild *build, ModelLinear *linear, ModelSet x, ModelSet y) {
  const ModelFp8Names *names = linear->fp8.names;
  gboolean arrives = build->recipe->fp8_weights;
  double elements = linear->in * linear->out;
  linear->fp8.x = input_cast(build, linear, x);
  ModelSet weight = arrives ? 0 : cast(build, MODEL_FORWARD, &names->w, elements, 0, weight_mask(linear));
  ModelOp *op = model_build_matmul(build, MODEL_FORWARD, linear->names->forward, 1, build->t, linear->out, linear->in,
                                   linear->fp8.x | weight, y);
  op->saves = linear->fp8.x;
  op->uses = weight_mask(linear) | (linear->bias >= 0 ? (guint64)1 << linear->bias : 0);
  model_build_in_fp8(build, MODEL_FORWARD);
}

ModelSet model_fp8_dgrad(ModelBuild *build, const ModelLinear *linear, ModelSet d_y, ModelSet d_x) {
  const ModelFp8Names *names = linear->fp8.names;
  double weight = linear->in * linear->out, output = build->t * linear->out;
  ModelSet d_y8 = cast(build, MODEL_BACKWARD, &names->d_y, output, d_y, 0);
  ModelSet w8 = build->recipe->fp8_weights
                    ? turn(build, &names->w_turned, weight, 0, weight_mask(linear))
                    : cast(build, MODEL_BACKWARD, &names->w_turned, weight, 0, weight_mask(linear));
  model_build_matmul(build, MODEL_BACKWARD, linear->names->dgrad, 1, build->t, linear->in, linear->out, d_y8 | w8, d_x)
      ->uses = weight_mask(linear);
  model_build_in_fp8(build, MODEL_BACKWARD);
  return d_y8;
}

void model_fp8_wgrad(ModelBuild *build, const ModelLinear *linear, ModelSet d_y8) {
  double output = build->t * linear->out;
  ModelSet d_y8_turned = turn(build, &linear->fp8.names->d_y_turned, output, d_y8, 0);
  ModelSet x8_turned = input_turned(build, linear);
  model_build_wgrad(build, linear->names->wgrad, linear->out, linear->in, build->t, d_y8_turned | x8_turned)
      ->gradient_of = linear->weight;
  model_build_in_fp8(build, MODEL_BACKWARD);
}
