/* SPDX-License-Identifier: MIT */
/* Tensors that autocast leaves in fp32, and the casts between them and matmuls. */
#include "model-autocast.h"

ModelSet model_stream_of(ModelBuild *build, ModelSet tensor) {
  if (build->w > build->e)
    build->wide |= tensor;
  return tensor;
}

ModelSet model_stream_tensor(ModelBuild *build, const char *name, ModelTensorRole role, double elements) {
  return model_stream_of(build, model_build_tensor(build, name, role, build->w * elements));
}

ModelSet model_stream_inner(ModelBuild *build, const char *name, double elements) {
  return model_stream_tensor(build, name, MODEL_TENSOR_INNER, elements);
}

ModelSet model_inner_like(ModelBuild *build, const char *name, double elements, ModelSet like) {
  return model_is_wide(build, like) ? model_stream_inner(build, name, elements)
                                    : model_build_inner(build, name, build->e * elements);
}

gboolean model_copies_once(const ModelBuild *build) {
  const ModelRecipe *recipe = build->recipe;
  gboolean frozen = recipe->lora.rank > 0 && (recipe->lora_dropout > 0 || recipe->base != MODEL_BASE_FULL);
  return build->w > build->e && !recipe->compiled && (build->fp8 || frozen);
}

ModelSet model_narrow(ModelBuild *build, ModelDirection direction, const char *cast, const char *tensor,
                      double elements, ModelSet x) {
  if (!model_is_wide(build, x))
    return x;
  if (build->recipe->compiled && build->narrowed.from == x)
    return build->narrowed.to;
  ModelSet copy = model_build_inner(build, tensor, build->e * elements);
  model_build_memory(build, direction, cast, (build->w + build->e) * elements, x, copy);
  build->narrowed = (ModelMade){x, copy};
  return copy;
}

void model_widen(ModelBuild *build, const char *cast, double elements, ModelSet d_narrow, ModelSet d_x) {
  if (d_narrow != d_x)
    model_build_memory(build, MODEL_BACKWARD, cast, (build->e + build->w) * elements, d_narrow, d_x);
}
