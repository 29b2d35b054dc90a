/* SPDX-License-Identifier: MIT */
/* Linear layers that multiply in fp8, by torchao or by Transformer Engine (model-fp8.h).
 *
 *   TURN       forward    x ─ cast ─ x8 ─┐                      x8 is kept for backward, one byte an element; layers
 *                         W ─ cast ─ w8 ─┴─ matmul ─ y          that share x share x8 (W arrives cast where it is
 *              backward   d_y ─ cast ─ d_y8,  W ─ turned w8:    dgrad                          gathered so)
 *                         d_y8 ─ turned,  x8 ─ turned:          wgrad
 *
 *   AGAIN      the same forward, x kept as it is; backward casts d_y and W along outputs: dgrad; d_y and x along
 *              tokens: wgrad
 *   ENGINE     x ─ pair: its rows multiplied now, its columns kept; d_y ─ pair: dgrad and wgrad
 *
 * A GPU that wants both operands with the summed dimension innermost needs what backward uses the other way turned: a
 * copy, one byte in, one out. Under TURN W is cast anew for backward, turned on the way. A cast by the tensor's largest
 * value reads it for that, then reads it again and writes one byte: two kernels where they are fused (torch.compile, or
 * the engine's). Eager: the absolute value (in, out), its largest (in), the tensor in fp32 (in, 4 out), scaled, clamped
 * (4 in, 4 out each) and cast (4 in, 1 out): six. Scales of rows, of 32 elements, or delayed: one kernel. The engine's
 * norms write 16 bits here, and its casts read them: that it fuses the two under delayed scaling is left out. */
#include "model-fp8.h"

#include <math.h>

#include "model-region.h"

#define FP8      1.0        /* bytes of an element */
#define MX_SCALE (1.0 / 32) /* a byte for each 32 */
#define MULTIPLE 16.0       /* of widths */

static guint64 weight_mask(const ModelLinear *linear) {
  return (guint64)1 << linear->weight;
}

double model_fp8_element(const ModelRecipe *recipe) {
  return recipe->fp8_scaling == MODEL_FP8_MX ? FP8 + MX_SCALE : FP8;
}

static double element(const ModelBuild *build) {
  return model_fp8_element(build->recipe);
}

static gboolean by_largest(const ModelBuild *build) {
  int scaling = build->recipe->fp8_scaling;
  return scaling == MODEL_FP8_DEFAULT || scaling == MODEL_FP8_TENSORWISE;
}

static gboolean is_eager(const ModelBuild *build) {
  return !build->fused && !model_fp8_by_engine(build);
}

/* `out`: bytes written for each element. */
static ModelPasses cast_passes(const ModelBuild *build, double out) {
  double e = build->e, w = MODEL_BYTES_FP32;
  if (is_eager(build))
    return (ModelPasses){KERNEL_MEMORY, 6, (e + e) + e + (e + w) + (w + w) + (w + w) + (w + out)};
  return by_largest(build) ? (ModelPasses){KERNEL_MEMORY, 2, e + e + out} : (ModelPasses){KERNEL_MEMORY, 1, e + out};
}

static ModelOp *add_cast(ModelBuild *build, ModelDirection direction, const char *name, double elements, double out,
                         ModelSet reads, ModelSet writes) {
  ModelPasses passes = cast_passes(build, out);
  return model_build_kernels(build, direction, name, passes.kind, passes.launches, passes.bytes * elements, reads,
                             writes);
}

/* From `from` (none: a weight) to a new fp8 tensor. */
static ModelSet cast(ModelBuild *build, ModelDirection direction, const ModelFp8Made *names, double elements,
                     ModelSet from, guint64 uses) {
  ModelSet to = model_build_inner(build, names->tensor, element(build) * elements);
  ModelSet wide = is_eager(build) ? model_build_scratch(build, names->wide, 2 * MODEL_BYTES_FP32 * elements) : 0;
  add_cast(build, direction, names->operation, elements, element(build), from | wide, to | wide)->uses = uses;
  return to;
}

static ModelSet turn(ModelBuild *build, const ModelFp8Made *names, double elements, ModelSet from, guint64 uses) {
  ModelSet to = model_build_inner(build, names->tensor, FP8 * elements);
  model_build_memory(build, MODEL_BACKWARD, names->operation, 2 * FP8 * elements, from, to)->uses = uses;
  return to;
}

/* ---- The engine ---- */

ModelFp8Pair model_fp8_pair(ModelBuild *build, ModelDirection direction, const ModelFp8Made *rows,
                            const ModelFp8Made *columns, double elements, ModelSet from) {
  double bytes = element(build) * elements;
  gboolean pairs =
      model_fp8_pairs(build) && build->recipe->lora.rank == 0; /* no gradient of a frozen weight reads it */
  ModelSet row = model_build_inner(build, rows->tensor, bytes),
           column = pairs ? model_build_inner(build, columns->tensor, bytes) : row;
  add_cast(build, direction, rows->operation, elements, pairs ? 2 * element(build) : element(build), from,
           row | column);
  return (ModelFp8Pair){row, column};
}

gboolean model_fp8_gathers(const ModelBuild *build, double width) {
  return build->fp8 && model_fp8_way(build->recipe) != MODEL_FP8_AGAIN && build->sequence && fmod(width, MULTIPLE) == 0;
}

/* One scale: what was gathered can be turned. Of 32: each way is gathered by itself. */
ModelFp8Pair model_fp8_own(ModelBuild *build, ModelDirection direction, const ModelFp8Made *rows,
                           const ModelFp8Made *columns, double width, ModelSet own) {
  double elements = build->between * width;
  if (build->recipe->fp8_scaling == MODEL_FP8_MX)
    return model_fp8_pair(build, direction, rows, columns, elements, own);
  ModelSet to = model_build_inner(build, rows->tensor, element(build) * elements);
  add_cast(build, direction, rows->operation, elements, element(build), own, to);
  return (ModelFp8Pair){to, to};
}

/* What was gathered cast: turned where that is wanted. */
static ModelSet gathered_columns(ModelBuild *build, const ModelFp8Made *names, double elements, ModelSet gathered) {
  gboolean turns = build->recipe->fp8_turns && build->recipe->fp8_scaling != MODEL_FP8_MX;
  return turns ? turn(build, names, elements, gathered, 0) : gathered;
}

/* ---- Inputs: layers that share one come one after the other, and share its casts ---- */

static ModelSet input_cast(ModelBuild *build, const ModelLinear *linear, ModelSet x) {
  const ModelFp8Names *names = linear->fp8.names;
  double elements = build->t * linear->in;
  if (build->fp8_cast.from == x)
    return build->fp8_cast.to;
  if (model_fp8_by_engine(build) || x == build->fp8_gathered) {
    ModelFp8Pair pair = x == build->fp8_gathered
                            ? (ModelFp8Pair){x, model_region_kept(build, x)}
                            : model_fp8_pair(build, MODEL_FORWARD, &names->x, &names->x_turned, elements, x);
    build->fp8_cast = (ModelMade){x, pair.rows};
    build->fp8_kept = pair.columns;
    return pair.rows;
  }
  build->fp8_cast = (ModelMade){x, cast(build, MODEL_FORWARD, &names->x, elements, x, 0)};
  build->fp8_kept = model_fp8_way(build->recipe) == MODEL_FP8_AGAIN ? model_region_kept(build, x) : build->fp8_cast.to;
  return build->fp8_cast.to;
}

/* For the gradient of the weight. `x`: as backward has it, where it was gathered again, or kept in 16 bits. */
static ModelSet input_turned(ModelBuild *build, const ModelLinear *linear, ModelSet x) {
  const ModelFp8Made *names = &linear->fp8.names->x_turned;
  double elements = build->t * linear->in;
  ModelFp8Way way = model_fp8_way(build->recipe);
  if (way == MODEL_FP8_ENGINE && !linear->fp8.gathered)
    return linear->fp8.x;
  ModelSet from = way == MODEL_FP8_TURN ? linear->fp8.x : x;
  if (build->fp8_turned.from != from)
    build->fp8_turned =
        (ModelMade){from, way == MODEL_FP8_ENGINE  ? gathered_columns(build, names, elements, from)
                          : way == MODEL_FP8_AGAIN ? cast(build, MODEL_BACKWARD, names, elements, from, 0)
                                                   : turn(build, names, elements, from, 0)};
  return build->fp8_turned.to;
}

/* ---- Directions ---- */

static gboolean arrives_cast(const ModelBuild *build) {
  return build->recipe->fp8_weights || model_fp8_by_engine(build);
}

void model_fp8_forward(ModelBuild *build, ModelLinear *linear, ModelSet x, ModelSet y) {
  const ModelFp8Names *names = linear->fp8.names;
  double elements = linear->in * linear->out;
  ModelSet x8 = input_cast(build, linear, x);
  linear->fp8.x = build->fp8_kept;
  linear->fp8.gathered = x == build->fp8_gathered;
  ModelSet weight = arrives_cast(build) ? 0 : cast(build, MODEL_FORWARD, &names->w, elements, 0, weight_mask(linear));
  gboolean pieces = linear->fp8.gathered && model_region_takes_pieces(build, x);
  ModelOp *op = model_build_matmul(build, MODEL_FORWARD, linear->names->forward, 1, build->t, linear->out, linear->in,
                                   x8 | weight, y);
  op->saves = linear->fp8.x;
  op->uses = weight_mask(linear) | (linear->bias >= 0 ? (guint64)1 << linear->bias : 0);
  model_build_in_fp8(build, MODEL_FORWARD);
  if (pieces)
    model_build_in_pieces(build, MODEL_FORWARD, (guint32)build->tensor);
}

/* What each of the two gradients reads of d_y: rows now, and what is returned for the weight's. */
static ModelFp8Pair gradient_cast(ModelBuild *build, const ModelLinear *linear, ModelSet d_y) {
  const ModelFp8Names *names = linear->fp8.names;
  double elements = build->t * linear->out;
  if (d_y == build->fp8_gathered)
    return (ModelFp8Pair){d_y, d_y};
  if (!model_fp8_by_engine(build)) {
    ModelSet d_y8 = cast(build, MODEL_BACKWARD, &names->d_y, elements, d_y, 0);
    return (ModelFp8Pair){d_y8, model_fp8_way(build->recipe) == MODEL_FP8_AGAIN ? d_y : d_y8};
  }
  return model_fp8_pair(build, MODEL_BACKWARD, &names->d_y, &names->d_y_turned, elements, d_y);
}

static ModelSet weight_turned(ModelBuild *build, const ModelLinear *linear) {
  const ModelFp8Made *names = &linear->fp8.names->w_turned;
  double elements = linear->in * linear->out;
  if (model_fp8_by_engine(build))
    return 0;
  return build->recipe->fp8_weights ? turn(build, names, elements, 0, weight_mask(linear))
                                    : cast(build, MODEL_BACKWARD, names, elements, 0, weight_mask(linear));
}

ModelSet model_fp8_dgrad(ModelBuild *build, const ModelLinear *linear, ModelSet d_y, ModelSet d_x) {
  ModelFp8Pair d_y8 = gradient_cast(build, linear, d_y);
  ModelSet w8 = weight_turned(build, linear);
  model_build_matmul(build, MODEL_BACKWARD, linear->names->dgrad, 1, build->t, linear->in, linear->out, d_y8.rows | w8,
                     d_x)
      ->uses = weight_mask(linear);
  model_build_in_fp8(build, MODEL_BACKWARD);
  return d_y8.columns;
}

void model_fp8_wgrad(ModelBuild *build, const ModelLinear *linear, ModelSet x, ModelSet d_y) {
  const ModelFp8Made *names = &linear->fp8.names->d_y_turned;
  double output = build->t * linear->out;
  ModelFp8Way way = model_fp8_way(build->recipe);
  ModelSet d_y8 = way == MODEL_FP8_AGAIN       ? cast(build, MODEL_BACKWARD, names, output, d_y, 0)
                  : way == MODEL_FP8_TURN      ? turn(build, names, output, d_y, 0)
                  : d_y == build->fp8_gathered ? gathered_columns(build, names, output, d_y)
                                               : d_y;
  ModelSet x8 = input_turned(build, linear, x);
  model_build_wgrad(build, linear->names->wgrad, linear->out, linear->in, build->t, d_y8 | x8)->gradient_of =
      linear->weight;
  model_build_in_fp8(build, MODEL_BACKWARD);
}
