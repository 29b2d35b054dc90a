/* SPDX-License-Identifier: MIT */
/* Frozen linear layers whose weights are kept in 4 bits (QLoRA, arXiv 2305.14314; bitsandbytes' Params4bit).
 *
 *   W, NF4 ─ dequantise ─ W ─┐                      the 16-bit weight lives as long as its matmul, forward and backward
 *   x ───────────────────────┴─ matmul ─ y
 *
 * Two elements lie in a byte, and one fp32 maximum scales a block of 64. Double quantisation keeps a byte for it, with
 * an fp32 maximum for 256 of these, and makes it fp32 again first, in two kernels. As storage a weight is a vector of
 * the other parameters' type, as FSDP wants it to be (bnb_4bit_quant_storage): a quarter as many elements of 16 bits.
 * The maxima are no parameters: every rank holds them all. Sources: bitsandbytes/autograd/_functions.py (MatMul4Bit),
 * functional.py (dequantize_4bit), nn/modules.py. */
#include "model-build.h"

#define BLOCK        64.0
#define BLOCK_BLOCKS 256.0
#define PACKED       0.5 /* bytes of an element */

static gboolean is_double(const ModelBuild *build) {
  return build->recipe->base == MODEL_BASE_NF4_DOUBLE;
}

static double maxima_bytes(const ModelBuild *build, double elements) {
  double blocks = elements / BLOCK;
  return is_double(build) ? blocks + blocks / BLOCK_BLOCKS * MODEL_BYTES_FP32 : blocks * MODEL_BYTES_FP32;
}

void model_packed(ModelBuild *build, ModelLinear *linear) {
  ModelParameter *weight = &build->parameters[linear->weight];
  double storage = build->recipe->base_storage > 0 ? build->recipe->base_storage : build->e;
  double elements = linear->in * linear->out;
  linear->packed = TRUE;
  weight->packed = TRUE;
  weight->frozen = TRUE;
  weight->elements = weight->rows = MAX(1, (guint64)(elements * PACKED / storage));
  weight->constants = (guint64)maxima_bytes(build, elements);
}

ModelSet model_packed_weight(ModelBuild *build, const ModelLinear *linear, ModelDirection direction) {
  const ModelPackedNames *names = &linear->names->packed;
  gboolean again = direction == MODEL_BACKWARD;
  double elements = linear->in * linear->out, blocks = elements / BLOCK;
  double bytes = (PACKED + build->e) * elements + blocks * MODEL_BYTES_FP32;
  if (is_double(build)) /* to fp32, then the mean added */
    bytes += maxima_bytes(build, elements) + blocks * MODEL_BYTES_FP32 + blocks * 2 * MODEL_BYTES_FP32;
  ModelSet whole = model_build_inner(build, again ? names->weight_again : names->weight, build->e * elements);
  model_build_kernels(build, direction, again ? names->unpack_again : names->unpack, KERNEL_MEMORY,
                      is_double(build) ? 3 : 1, bytes, 0, whole)
      ->uses = (guint64)1 << linear->weight;
  return whole;
}
