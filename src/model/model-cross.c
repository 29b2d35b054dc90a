/* SPDX-License-Identifier: MIT */
/* Cross-attention as operations, one function each way. */
#include "model-cross.h"

#include "model-autocast.h"

static const ModelLinearNames q_names = MODEL_LINEAR_NAMES("cross_q_proj"),
                              k_names = MODEL_LINEAR_NAMES("cross_k_proj"),
                              v_names = MODEL_LINEAR_NAMES("cross_v_proj"),
                              o_names = MODEL_LINEAR_NAMES("cross_o_proj");

static double memory_tokens(const ModelBuild *build) {
  return build->b * build->encoded;
}

static double memory_elements(const ModelBuild *build) {
  return memory_tokens(build) * build->h;
}

static double memory_bytes(const ModelBuild *build) {
  return build->w * memory_elements(build);
}

static double key_bytes(const ModelBuild *build) {
  return build->e * memory_tokens(build) * build->kv;
}

static double query_bytes(const ModelBuild *build) {
  return build->e * build->t * build->q;
}

void model_cross_define(ModelBuild *build, ModelCross *cross) {
  cross->q = model_linear(build, &q_names, MODEL_COLUMNS, build->h, build->q, FALSE);
  cross->k = model_linear(build, &k_names, MODEL_COLUMNS, build->h, build->kv, FALSE);
  cross->v = model_linear(build, &v_names, MODEL_COLUMNS, build->h, build->kv, FALSE);
  cross->o = model_linear(build, &o_names, MODEL_ROWS, build->c, build->h, FALSE);
  model_relative_define_cross(build, &cross->relative);
}

/* A linear layer over the encoder's tokens. */
static void over_memory(ModelBuild *build, ModelLinear *linear, ModelSet memory, ModelSet y) {
  double tokens = build->t;
  build->t = memory_tokens(build);
  model_linear_forward(build, linear, memory, y);
  build->t = tokens;
}

/* Its part of the memory's gradient, which joins those of the other layers. */
static void over_memory_backward(ModelBuild *build, const ModelCross *cross, const ModelLinear *linear,
                                 const char *part, const char *join, ModelSet d_y, ModelSet d_memory) {
  double tokens = build->t;
  ModelSet d_part = model_stream_inner(build, part, memory_elements(build));
  build->t = memory_tokens(build);
  model_linear_backward(build, linear, cross->memory, d_y, d_part);
  build->t = tokens;
  model_build_join(build, join, memory_bytes(build), d_part, d_memory);
}

void model_cross_forward(ModelBuild *build, ModelCross *cross, ModelSet normed, ModelSet out) {
  ModelAttentionTensors *at = &cross->attention;
  cross->normed = normed;
  cross->memory = model_stream_of(build, model_build_side(build, "memory", MODEL_SIDE_MEMORY, memory_bytes(build)));
  at->q = model_build_inner(build, "cross_q", query_bytes(build));
  at->k = model_build_inner(build, "cross_k", key_bytes(build));
  at->v = model_build_inner(build, "cross_v", key_bytes(build));
  at->context = model_build_inner(build, "cross_context", build->e * build->t * build->c);
  model_linear_forward(build, &cross->q, normed, at->q);
  over_memory(build, &cross->k, cross->memory, at->k);
  over_memory(build, &cross->v, cross->memory, at->v);
  at->relative = &cross->relative;
  model_attention_forward(build, at);
  model_linear_forward(build, &cross->o, at->context, out);
}

ModelSet model_cross_backward(ModelBuild *build, ModelCross *cross, ModelSet d_out) {
  ModelAttentionTensors *at = &cross->attention;
  ModelSet d_context = model_build_inner(build, "d_cross_context", build->e * build->t * build->c);
  ModelSet d_q = model_build_inner(build, "d_cross_q", query_bytes(build));
  ModelSet d_k = model_build_inner(build, "d_cross_k", key_bytes(build));
  ModelSet d_v = model_build_inner(build, "d_cross_v", key_bytes(build));
  ModelSet d_memory =
      model_stream_of(build, model_build_grad_side(build, "d_memory", MODEL_SIDE_MEMORY, memory_bytes(build)));
  ModelSet d_normed = model_inner_like(build, "d_cross_normed", build->t * build->h, cross->normed);
  model_linear_backward(build, &cross->o, at->context, d_out, d_context);
  model_attention_backward(build, at, d_context, d_q, d_k, d_v);
  over_memory_backward(build, cross, &cross->v, "d_memory_of_v", "cross_v_proj.sum", d_v, d_memory);
  over_memory_backward(build, cross, &cross->k, "d_memory_of_k", "cross_k_proj.sum", d_k, d_memory);
  model_linear_backward(build, &cross->q, cross->normed, d_q, d_normed);
  return d_normed;
}
