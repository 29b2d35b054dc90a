/* SPDX-License-Identifier: MIT */
/* Latent projections as operations, each way. */
#include "model-latent.h"

#include "model-autocast.h"

static const ModelLinearNames q_names = MODEL_LINEAR_NAMES("q_proj"), q_a_names = MODEL_LINEAR_NAMES("q_a_proj"),
                              q_b_names = MODEL_LINEAR_NAMES("q_b_proj"), kv_a_names = MODEL_LINEAR_NAMES("kv_a_proj"),
                              kv_b_names = MODEL_LINEAR_NAMES("kv_b_proj");
static const ModelNormNames q_norm_names = MODEL_NORM_NAMES("q_a_norm"), kv_norm_names = MODEL_NORM_NAMES("kv_a_norm");

static const ModelRegionNames x_region = MODEL_REGION_NAMES("normed"), q_region = MODEL_REGION_NAMES("q_latent_normed"),
                              kv_region = MODEL_REGION_NAMES("kv_latent_normed");

static double tokens_bytes(const ModelBuild *build, double width) {
  return build->e * build->t * width;
}

static double own_bytes(const ModelBuild *build, double width) {
  return build->e * build->between * width;
}

static double q_rank(const ModelBuild *build) {
  return (double)build->shape->q_rank;
}

static double kv_rank(const ModelBuild *build) {
  return (double)build->shape->kv_rank;
}

static double turned_dim(const ModelBuild *build) {
  return (double)build->shape->rotary_dim;
}

/* Plain parts of keys, and values. */
static double kv_width(const ModelBuild *build) {
  return build->a * (build->d - turned_dim(build)) + build->c;
}

/* ---- Latents: of this rank's tokens, by weights that all tensor ranks have ---- */

static ModelLinear own_linear(ModelBuild *build, const ModelLinearNames *names, double out) {
  ModelLinear linear = model_linear(build, names, MODEL_UNSPLIT, build->h, out, FALSE);
  model_build_place(build, linear.weight, build->sequence ? MODEL_PLACE_SUMMED : MODEL_PLACE_WHOLE, build->h * out);
  return linear;
}

static ModelNorm own_norm(ModelBuild *build, const ModelNormNames *names, double width) {
  ModelNorm norm = model_wide_norm(build, names, build->between, width);
  model_build_place(build, norm.weight, build->sequence ? MODEL_PLACE_SUMMED : MODEL_PLACE_WHOLE, width);
  return norm;
}

static void own_forward(ModelBuild *build, ModelLinear *linear, ModelSet x, ModelSet y) {
  double all = build->t;
  build->t = build->between;
  model_linear_forward(build, linear, x, y);
  build->t = all;
}

static void own_backward(ModelBuild *build, const ModelLinear *linear, ModelSet x, ModelSet d_y, ModelSet d_x) {
  double all = build->t;
  build->t = build->between;
  model_linear_backward(build, linear, x, d_y, d_x);
  build->t = all;
}

void model_latent_define(ModelBuild *build, ModelLatent *latent) {
  if (build->shape->q_rank == 0) {
    latent->q = model_linear(build, &q_names, MODEL_COLUMNS, build->h, build->q, FALSE);
  } else {
    latent->q_a = own_linear(build, &q_a_names, q_rank(build));
    latent->q_norm = own_norm(build, &q_norm_names, q_rank(build));
    latent->q_b = model_linear(build, &q_b_names, MODEL_COLUMNS, q_rank(build), build->q, FALSE);
  }
  latent->kv_a = own_linear(build, &kv_a_names, kv_rank(build) + turned_dim(build));
  latent->kv_norm = own_norm(build, &kv_norm_names, kv_rank(build));
  latent->kv_b = model_linear(build, &kv_b_names, MODEL_COLUMNS, kv_rank(build), kv_width(build), FALSE);
}

/* ---- Forward ---- */

static ModelSet queries_forward(ModelBuild *build, ModelLatent *latent) {
  ModelSet q = model_build_inner(build, "q_unrotated", tokens_bytes(build, build->q));
  if (build->shape->q_rank == 0) {
    model_linear_forward(build, &latent->q, model_region_enter(build, &latent->q_in, &x_region, latent->x), q);
    return q;
  }
  latent->q_latent = model_build_inner(build, "q_latent", own_bytes(build, q_rank(build)));
  ModelSet normed = model_build_inner(build, "q_latent_normed", own_bytes(build, q_rank(build)));
  own_forward(build, &latent->q_a, latent->x, latent->q_latent);
  model_norm_forward(build, &latent->q_norm, latent->q_latent, normed);
  ModelSet all = model_region_enter_width(build, &latent->q_in, &q_region, q_rank(build), normed);
  model_linear_forward(build, &latent->q_b, all, q);
  return q;
}

/* Plain parts of keys, and values. */
static ModelSet keys_forward(ModelBuild *build, ModelLatent *latent) {
  latent->kv_latent = model_build_inner(build, "kv_latent", own_bytes(build, kv_rank(build) + turned_dim(build)));
  ModelSet normed = model_build_inner(build, "kv_latent_normed", own_bytes(build, kv_rank(build)));
  ModelSet kv = model_build_inner(build, "kv", tokens_bytes(build, kv_width(build)));
  own_forward(build, &latent->kv_a, latent->x, latent->kv_latent);
  model_norm_forward(build, &latent->kv_norm, latent->kv_latent, normed);
  ModelSet all = model_region_enter_width(build, &latent->kv_in, &kv_region, kv_rank(build), normed);
  model_linear_forward(build, &latent->kv_b, all, kv);
  return kv;
}

/* The part with positions of all tokens, which every head shares. */
static ModelSet turned_forward(ModelBuild *build, const ModelLatent *latent) {
  if (!build->sequence)
    return latent->kv_latent;
  double bytes = tokens_bytes(build, turned_dim(build));
  ModelSet turned = model_build_inner(build, "k_turned", bytes);
  model_build_exchange(build, MODEL_FORWARD, "k_turned.gather", MODEL_EXCHANGE_ALL_GATHER, MODEL_AXIS_TENSOR, bytes,
                       latent->kv_latent, turned);
  return turned;
}

/* The turned parts by the rotary embedding of transformers (ten kernels over queries and keys of these widths, model-
 * projections.c), then queries and keys put together from their parts, and values out of what they were made with: a
 * read and a write each. Fused: as one. */
#define TURN_LAUNCHES      10
#define TURN_PASSES        10.0
#define TURN_BACK_LAUNCHES 18
#define TURN_BACK_PASSES   15.0
#define PART_LAUNCHES      4 /* q, k, v, and the one turned part to every head */

static double parts_bytes(const ModelBuild *build) {
  return 2 * tokens_bytes(build, 2 * build->q + build->c);
}

static void put_together(ModelBuild *build, ModelDirection direction, const char *name, ModelSet reads,
                         ModelSet writes) {
  gboolean back = direction == MODEL_BACKWARD;
  double turned = tokens_bytes(build, (build->a + 1) * turned_dim(build));
  double passes = back ? TURN_BACK_PASSES : TURN_PASSES;
  guint32 launches = PART_LAUNCHES + (back ? TURN_BACK_LAUNCHES : TURN_LAUNCHES);
  model_build_kernels(build, direction, name, build->fused ? KERNEL_MEMORY : KERNEL_ROTARY, build->fused ? 1 : launches,
                      parts_bytes(build) + (build->fused ? 0 : passes * turned), reads, writes);
}

void model_latent_forward(ModelBuild *build, ModelLatent *latent, ModelSet x, ModelAttentionTensors *at) {
  latent->x = x;
  ModelSet q = queries_forward(build, latent), kv = keys_forward(build, latent), turned = turned_forward(build, latent);
  at->q = model_build_inner(build, "q", tokens_bytes(build, build->q));
  at->k = model_build_inner(build, "k", tokens_bytes(build, build->q));
  at->v = model_build_inner(build, "v", tokens_bytes(build, build->c));
  put_together(build, MODEL_FORWARD, "rope", q | kv | turned, at->q | at->k | at->v);
}

/* ---- Backward ---- */

static ModelSet queries_backward(ModelBuild *build, ModelLatent *latent, ModelSet d_q) {
  ModelSet d_whole = model_region_gradient(build, &latent->q_in);
  if (build->shape->q_rank == 0)
    return model_region_backward(build, &latent->q_in, &latent->q, d_q, d_whole);
  ModelSet d_normed = model_region_backward(build, &latent->q_in, &latent->q_b, d_q, d_whole);
  ModelSet d_latent = model_build_inner(build, "d_q_latent", own_bytes(build, q_rank(build)));
  ModelSet d_x = model_inner_like(build, "d_x_of_q", build->between * build->h, latent->x);
  model_norm_backward(build, &latent->q_norm, latent->q_latent, d_normed, d_latent);
  own_backward(build, &latent->q_a, latent->x, d_latent, d_x);
  return d_x;
}

/* Each rank has its heads' part of it. */
static ModelSet turned_backward(ModelBuild *build, ModelSet d_turned) {
  double bytes = tokens_bytes(build, turned_dim(build));
  if (build->tensor == 1)
    return d_turned;
  ModelSet own = build->sequence ? model_build_inner(build, "d_k_turned_own", own_bytes(build, turned_dim(build))) : 0;
  model_build_exchange(build, MODEL_BACKWARD, "k_turned.reduce",
                       build->sequence ? MODEL_EXCHANGE_REDUCE_SCATTER : MODEL_EXCHANGE_ALL_REDUCE, MODEL_AXIS_TENSOR,
                       bytes, d_turned, own);
  return build->sequence ? own : d_turned;
}

/* The latent's gradient beside that of the turned part. */
static ModelSet keys_backward(ModelBuild *build, ModelLatent *latent, ModelSet d_kv, ModelSet d_turned) {
  double width = kv_rank(build) + turned_dim(build);
  ModelSet d_whole = model_region_gradient(build, &latent->kv_in);
  ModelSet d_normed = model_region_backward(build, &latent->kv_in, &latent->kv_b, d_kv, d_whole);
  ModelSet d_part = model_build_inner(build, "d_kv_latent_part", own_bytes(build, kv_rank(build)));
  ModelSet d_latent = model_build_inner(build, "d_kv_latent", own_bytes(build, width));
  ModelSet d_x = model_inner_like(build, "d_x_of_kv", build->between * build->h, latent->x);
  model_norm_backward(build, &latent->kv_norm, latent->kv_latent, d_normed, d_part);
  model_build_memory(build, MODEL_BACKWARD, "kv_a_proj.join", 2 * own_bytes(build, width), d_part | d_turned, d_latent);
  own_backward(build, &latent->kv_a, latent->x, d_latent, d_x);
  return d_x;
}

ModelSet model_latent_backward(ModelBuild *build, ModelLatent *latent, const ModelAttentionTensors *at,
                               ModelSet d_context) {
  ModelSet d_q_all = model_build_inner(build, "d_q", tokens_bytes(build, build->q));
  ModelSet d_k = model_build_inner(build, "d_k", tokens_bytes(build, build->q));
  ModelSet d_v = model_build_inner(build, "d_v", tokens_bytes(build, build->c));
  model_attention_backward(build, at, d_context, d_q_all, d_k, d_v);
  ModelSet d_q = model_build_inner(build, "d_q_unrotated", tokens_bytes(build, build->q));
  ModelSet d_kv = model_build_inner(build, "d_kv", tokens_bytes(build, kv_width(build)));
  ModelSet d_turned = model_build_inner(build, "d_k_turned", tokens_bytes(build, turned_dim(build)));
  put_together(build, MODEL_BACKWARD, "rope.backward", d_q_all | d_k | d_v, d_q | d_kv | d_turned);
  ModelSet d_x = keys_backward(build, latent, d_kv, turned_backward(build, d_turned));
  ModelSet of_q = queries_backward(build, latent, d_q);
  model_build_memory(build, MODEL_BACKWARD, "q_proj.sum", 3 * model_element(build, d_x) * build->between * build->h,
                     d_x | of_q, 0);
  return d_x;
}
