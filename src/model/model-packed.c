/* SPDX-License-Identifier: MIT */
/* Frozen linear layers whose weights are kept in 4 bits (QLoRA, arXiv 2305.14314; bitsandbytes' Params4bit) or in 8
 * (LLM.int8, arXiv 2208.07339; its Int8Params).
 *
 *   W, NF4 ─ dequantise ─ W ─┐                      the 16-bit weight lives as long as its matmul, forward and backward
 *   x ───────────────────────┴─ matmul ─ y
 *
 *   x ─ quantise ─ x8 ─┐                            int8, forward; backward as above, in two kernels
 *   W8 ────────────────┴─ matmul ─ y32 ─ dequantise ─ y
 *
 * Of NF4 two elements lie in a byte, and one fp32 maximum scales a block of 64. Double quantisation keeps a byte for
 * it, with an fp32 maximum for 256 of these, and makes it fp32 again first, in two kernels. As storage a weight is a
 * vector of the other parameters' type, as FSDP wants it to be (bnb_4bit_quant_storage): a quarter as many elements of
 * 16 bits.
 * int8 has an fp32 scale for each output. Maxima and scales are no parameters: every rank holds them all. int8's matmul
 * is played at the rate of 16 bits, whose outliers it multiplies apart; that is what it is known to reach at best.
 * Sources: bitsandbytes/autograd/_functions.py (MatMul4Bit, MatMul8bitLt), functional.py (dequantize_4bit),
 * nn/modules.py. */
#include "model-build.h"

#define BLOCK        64.0
#define BLOCK_BLOCKS 256.0
#define INT8         1.0 /* bytes of an element */
#define INT32        4.0

static gboolean is_int8(const ModelBuild *build) {
  return build->recipe->base == MODEL_BASE_INT8;
}

static double packed_bytes(const ModelBuild *build) {
  return is_int8(build) ? INT8 : 0.5;
}

static gboolean is_double(const ModelBuild *build) {
  return build->recipe->base == MODEL_BASE_NF4_DOUBLE;
}

static double maxima_bytes(const ModelBuild *build, const ModelLinear *linear) {
  double blocks = linear->in * linear->out / BLOCK;
  if (is_int8(build))
    return linear->out * MODEL_BYTES_FP32;
  return is_double(build) ? blocks + blocks / BLOCK_BLOCKS * MODEL_BYTES_FP32 : blocks * MODEL_BYTES_FP32;
}

void model_packed(ModelBuild *build, ModelLinear *linear) {
  ModelParameter *weight = &build->parameters[linear->weight];
  double storage = build->recipe->base_storage > 0 ? build->recipe->base_storage : build->e;
  double elements = linear->in * linear->out;
  linear->packed = TRUE;
  weight->packed = TRUE;
  weight->frozen = TRUE;
  weight->elements = weight->rows = MAX(1, (guint64)(elements * packed_bytes(build) / storage));
  weight->constants = (guint64)maxima_bytes(build, linear);
}

ModelSet model_packed_weight(ModelBuild *build, const ModelLinear *linear, ModelDirection direction) {
  const ModelPackedNames *names = &linear->names->packed;
  gboolean again = direction == MODEL_BACKWARD;
  double elements = linear->in * linear->out, blocks = elements / BLOCK;
  double bytes = (packed_bytes(build) + build->e) * elements + blocks * MODEL_BYTES_FP32;
  guint32 launches = is_double(build) ? 3 : is_int8(build) ? 2 : 1;
  if (is_int8(build)) /* cast, then scaled in place */
    bytes = (INT8 + 3 * build->e) * elements;
  if (is_double(build)) /* to fp32, then the mean added */
    bytes += maxima_bytes(build, linear) + blocks * MODEL_BYTES_FP32 + blocks * 2 * MODEL_BYTES_FP32;
  ModelSet whole = model_build_inner(build, again ? names->weight_again : names->weight, build->e * elements);
  model_build_kernels(build, direction, again ? names->unpack_again : names->unpack, KERNEL_MEMORY, launches, bytes, 0,
                      whole)
      ->uses = (guint64)1 << linear->weight;
  return whole;
}

static ModelOp *int8_forward(ModelBuild *build, const ModelLinear *linear, ModelSet x, ModelSet y) {
  const ModelPackedNames *names = &linear->names->packed;
  double input = build->t * linear->in, output = build->t * linear->out;
  ModelSet x8 = model_build_inner(build, names->input, INT8 * input);
  ModelSet y32 = model_build_inner(build, names->output, INT32 * output);
  model_build_memory(build, MODEL_FORWARD, names->quantise, (build->e + INT8) * input, x, x8);
  model_build_matmul(build, MODEL_FORWARD, linear->names->forward, 1, build->t, linear->out, linear->in, x8, y32)
      ->uses = (guint64)1 << linear->weight;
  return model_build_memory(build, MODEL_FORWARD, names->dequantise, (INT32 + build->e) * output, y32, y);
}

ModelOp *model_packed_forward(ModelBuild *build, const ModelLinear *linear, ModelSet x, ModelSet y) {
  if (is_int8(build))
    return int8_forward(build, linear, x, y);
  ModelSet weight = model_packed_weight(build, linear, MODEL_FORWARD);
  return model_build_matmul(build, MODEL_FORWARD, linear->names->forward, 1, build->t, linear->out, linear->in,
                            x | weight, y);
}
