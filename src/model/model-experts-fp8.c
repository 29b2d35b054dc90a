/* SPDX-License-Identifier: MIT */
/* Experts' rows in fp8, as Transformer Engine's grouped linear layers cast them: each expert's rows by themselves,
 * which is as many bytes as all at once (module/grouped_linear.py). Their numbers have to be multiples of 16: where the
 * router does not see to that, rows are copied apart before the first matmul and together after the last (Megatron-LM,
 * transformer/moe/experts.py, quantization_padding). */
#include "model-experts.h"

static const ModelFp8Made casts[][2] = {
    [MODEL_EXPERTS_INPUT] = {MODEL_FP8_MADE("experts", "input"), MODEL_FP8_MADE("experts", "input_turned")},
    [MODEL_EXPERTS_PRODUCT] = {MODEL_FP8_MADE("experts", "product"), MODEL_FP8_MADE("experts", "product_turned")},
    [MODEL_EXPERTS_D_OUT] = {MODEL_FP8_MADE("experts", "d_out"), MODEL_FP8_MADE("experts", "d_out_turned")},
    [MODEL_EXPERTS_D_UP] = {MODEL_FP8_MADE("experts", "d_up"), MODEL_FP8_MADE("experts", "d_up_turned")},
    [MODEL_EXPERTS_D_GATE] = {MODEL_FP8_MADE("experts", "d_gate"), MODEL_FP8_MADE("experts", "d_gate_turned")},
};

ModelFp8Pair model_experts_cast(ModelBuild *build, const ModelExperts *experts, ModelExpertsCast which, double width,
                                ModelSet rows) {
  ModelDirection direction = which >= MODEL_EXPERTS_D_OUT ? MODEL_BACKWARD : MODEL_FORWARD;
  if (!model_fp8_by_engine(build))
    return (ModelFp8Pair){rows, rows};
  return model_fp8_pair(build, direction, &casts[which][0], &casts[which][1], experts->worked * width, rows);
}

static ModelSet copied(ModelBuild *build, const ModelExperts *experts, ModelDirection direction, const char *name,
                       const char *tensor, ModelSet rows) {
  double bytes = model_experts_bytes(build, experts->worked, build->h);
  if (!model_fp8_by_engine(build) || !build->recipe->fp8_pads)
    return rows;
  ModelSet to = model_build_inner(build, tensor, bytes);
  model_build_memory(build, direction, name, 2 * bytes, rows, to);
  return to;
}

ModelSet model_experts_pad(ModelBuild *build, const ModelExperts *experts, ModelSet rows, ModelDirection direction) {
  return direction == MODEL_FORWARD
             ? copied(build, experts, direction, "experts.pad", "rows_padded", rows)
             : copied(build, experts, direction, "experts.unpad.backward", "d_rows_padded", rows);
}

ModelSet model_experts_unpad(ModelBuild *build, const ModelExperts *experts, ModelSet rows, ModelDirection direction) {
  return direction == MODEL_FORWARD
             ? copied(build, experts, direction, "experts.unpad", "rows_unpadded", rows)
             : copied(build, experts, direction, "experts.pad.backward", "d_rows_unpadded", rows);
}
