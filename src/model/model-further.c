/* SPDX-License-Identifier: MIT */
/* The operations around a layer that foretells one more token, each way. On one tensor and context rank. */
#include "model-further.h"

static const ModelLinearNames projection_names = MODEL_LINEAR_NAMES("eh_proj");
static const ModelNormNames embedded_names = MODEL_NORM_NAMES("enorm"), hidden_names = MODEL_NORM_NAMES("hnorm"),
                            final_names = MODEL_NORM_NAMES("further_norm");

static double stream_bytes(const ModelBuild *build) {
  return build->e * build->t * build->h;
}

void model_further_define(ModelBuild *build, ModelFurther *further) {
  further->table = model_build_parameter(build, "embed_tokens.weight", build->v, build->h);
  build->parameters[further->table].whole = build->shape->vocab_size * build->shape->hidden_size;
  build->parameters[further->table].shared = TRUE;
  further->embedded_norm = model_norm(build, &embedded_names);
  further->hidden_norm = model_norm(build, &hidden_names);
  further->projection = model_linear(build, &projection_names, MODEL_UNSPLIT, 2 * build->h, build->h, FALSE);
  further->final_norm = model_norm(build, &final_names);
}

ModelSet model_further_enter(ModelBuild *build, ModelFurther *further) {
  double stream = stream_bytes(build);
  further->hidden = model_build_tensor(build, "input", MODEL_TENSOR_INPUT, stream);
  further->embedded = model_build_inner(build, "further_embedded", stream);
  model_build_kernels(build, MODEL_FORWARD, "further_embed", KERNEL_GATHER, 1, 2 * stream, 0, further->embedded)->uses =
      (guint64)1 << further->table;
  ModelSet embedded = model_build_inner(build, "further_embedded_normed", stream);
  ModelSet hidden = model_build_inner(build, "further_hidden_normed", stream);
  model_norm_forward(build, &further->embedded_norm, further->embedded, embedded);
  model_norm_forward(build, &further->hidden_norm, further->hidden, hidden);
  further->joined = model_build_inner(build, "further_joined", 2 * stream);
  model_build_memory(build, MODEL_FORWARD, "further_join", 4 * stream, embedded | hidden, further->joined);
  ModelSet read = model_build_inner(build, "further_read", stream);
  model_linear_forward(build, &further->projection, further->joined, read);
  return read;
}

void model_further_leave(ModelBuild *build, ModelFurther *further, ModelSet made) {
  double stream = stream_bytes(build);
  further->made = made;
  ModelSet normed = model_build_inner(build, "further_normed", stream);
  model_norm_forward(build, &further->final_norm, made, normed);
  ModelSet output = model_build_tensor(build, "output", MODEL_TENSOR_OUTPUT, 2 * stream);
  model_build_memory(build, MODEL_FORWARD, "further_streams", 4 * stream, further->hidden | normed, output);
}

/* Halves of a gradient are views of it. */
ModelSet model_further_leave_backward(ModelBuild *build, ModelFurther *further) {
  double stream = stream_bytes(build);
  further->d_streams = model_build_tensor(build, "d_output", MODEL_TENSOR_GRAD_OUTPUT, 2 * stream);
  ModelSet d_made = model_build_inner(build, "d_further_made", stream);
  model_norm_backward(build, &further->final_norm, further->made, further->d_streams, d_made);
  return d_made;
}

void model_further_enter_backward(ModelBuild *build, const ModelFurther *further, ModelSet d_read) {
  double stream = stream_bytes(build);
  ModelSet d_joined = model_build_inner(build, "d_further_joined", 2 * stream);
  model_linear_backward(build, &further->projection, further->joined, d_read, d_joined);
  ModelSet d_hidden = model_build_inner(build, "d_further_hidden", stream);
  ModelSet d_embedded = model_build_inner(build, "d_further_embedded", stream);
  model_norm_backward(build, &further->hidden_norm, further->hidden, d_joined, d_hidden);
  model_norm_backward(build, &further->embedded_norm, further->embedded, d_joined, d_embedded);
  model_table_gradient(build, "further_embed.backward", d_embedded, 0)->gradient_of = further->table;
  ModelSet d_input = model_build_tensor(build, "d_input", MODEL_TENSOR_GRAD_INPUT, stream);
  model_build_memory(build, MODEL_BACKWARD, "further_streams.backward", 3 * stream, further->d_streams | d_hidden,
                     d_input);
}
