/* SPDX-License-Identifier: MIT */
/* The head as four units, for who cuts it between any two of them: nanotron, whose blocks they are (models/llama.py).
 *
 *   input ─ final norm ─┊─ output layer ─┊─ cast to fp32 ─┊─ loss         t × v of this rank from the output layer on
 *
 * Of the same operations as the whole head's, with a boundary at each ┊; but that the logits' gradient, which the whole
 * head casts in the loss's own pass, is cast by itself. The loss's gradient has a tensor of its own: where it takes the
 * softmax's place, as it does in nanotron's sharded_cross_entropy, no more is held than forward held. */
#include "model-head-parts.h"

#include "model-region.h"

static const ModelNormNames norm_names = MODEL_NORM_NAMES("final_norm");
static const ModelRegionNames region_names = MODEL_REGION_NAMES("normed");

gboolean model_head_comes_apart(const ModelShape *shape, const ModelRecipe *recipe) {
  const ModelTraits traits = model_shape_traits(shape),
                    others = MODEL_HEAD_TRANSFORM | MODEL_PATCHES | MODEL_CAPPED_LOGITS;
  return recipe->loss == MODEL_LOSS_VOCAB_PARALLEL && model_precision_bytes(recipe->precision) < MODEL_BYTES_FP32 &&
         model_has(traits, MODEL_FINAL_NORM) && (traits & others) == 0 && shape->mtp_layers == 0 &&
         !recipe->share.whole_logits;
}

/* The tensors at a part's boundaries. */
static ModelSet input_of(ModelBuild *build, double bytes) {
  return model_build_tensor(build, "input", MODEL_TENSOR_INPUT, bytes);
}

static ModelSet output_of(ModelBuild *build, double bytes) {
  return model_build_tensor(build, "output", MODEL_TENSOR_OUTPUT, bytes);
}

static ModelSet d_output_of(ModelBuild *build, double bytes) {
  return model_build_tensor(build, "d_output", MODEL_TENSOR_GRAD_OUTPUT, bytes);
}

static ModelSet d_input_of(ModelBuild *build, double bytes) {
  return model_build_tensor(build, "d_input", MODEL_TENSOR_GRAD_INPUT, bytes);
}

static double stream_bytes(const ModelBuild *build) {
  return build->e * build->between * build->h;
}

static double logits_bytes(const ModelBuild *build, double element) {
  return element * build->t * build->v;
}

void model_head_norm_build(ModelBuild *build) {
  double stream = stream_bytes(build);
  ModelNorm norm = model_norm(build, &norm_names);
  ModelSet input = input_of(build, stream), output = output_of(build, stream);
  model_norm_forward(build, &norm, input, output);
  ModelSet d_output = d_output_of(build, stream), d_input = d_input_of(build, stream);
  model_norm_backward(build, &norm, input, d_output, d_input);
}

void model_head_output_build(ModelBuild *build) {
  double logits = logits_bytes(build, build->e), stream = stream_bytes(build);
  ModelLinear linear = model_head_linear(build);
  ModelRegion region;
  ModelSet input = input_of(build, stream), output = output_of(build, logits);
  model_linear_forward(build, &linear, model_region_enter(build, &region, &region_names, input), output);
  ModelSet d_output = d_output_of(build, logits), d_normed = model_region_gradient(build, &region);
  ModelSet d_input = model_region_backward(build, &region, &linear, d_output, d_normed);
  build->tensors[model_set_first(d_input)].role = MODEL_TENSOR_GRAD_INPUT;
}

void model_head_cast_build(ModelBuild *build) {
  double narrow = logits_bytes(build, build->e), wide = logits_bytes(build, MODEL_BYTES_FP32);
  ModelSet input = input_of(build, narrow), output = output_of(build, wide);
  model_build_memory(build, MODEL_FORWARD, "logits_fp32", narrow + wide, input, output);
  ModelSet d_output = d_output_of(build, wide), d_input = d_input_of(build, narrow);
  model_build_memory(build, MODEL_BACKWARD, "logits_fp32.backward", wide + narrow, d_output, d_input);
}

void model_head_loss_build(ModelBuild *build) {
  double wide = logits_bytes(build, MODEL_BYTES_FP32);
  ModelSet input = input_of(build, wide), softmax = model_build_inner(build, "softmax", wide);
  model_head_vocab_parallel(build, input, input, softmax);
  model_build_memory(build, MODEL_BACKWARD, "cross_entropy.backward", 2 * wide, softmax, d_input_of(build, wide));
}
