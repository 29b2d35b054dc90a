/* SPDX-License-Identifier: MIT */
/* The bias from distances, and attention that adds it, each way. On one tensor and context rank. */
#include "model-relative.h"

static const ModelRelativeNames own_names = MODEL_RELATIVE_NAMES(""), cross_names = MODEL_RELATIVE_NAMES("cross_");

#define BUCKET_ID 8.0 /* bytes of an int64 */

static gboolean is_first(const ModelBuild *build) {
  return build->kind == MODEL_UNIT_LAYER_FIRST || build->kind == MODEL_UNIT_DECODER_FIRST;
}

static gboolean is_decoder(const ModelBuild *build) {
  return build->kind == MODEL_UNIT_DECODER || build->kind == MODEL_UNIT_DECODER_FIRST;
}

static gboolean has_each(const ModelBuild *build) {
  return model_build_has(build, MODEL_RELATIVE_EACH);
}

static double pairs_of(const ModelBuild *build, const ModelRelative *relative) {
  return build->b * build->a * relative->queries * relative->keys;
}

/* Of one sequence: rows are alike for all. */
static double row_elements(const ModelBuild *build, const ModelRelative *relative) {
  return build->a * relative->queries * relative->keys;
}

void model_relative_define(ModelBuild *build, ModelRelative *relative) {
  *relative = (ModelRelative){.names = &own_names,
                              .queries = build->s,
                              .keys = build->s,
                              .side = is_decoder(build) ? MODEL_SIDE_DECODER_BIAS : MODEL_SIDE_ENCODER_BIAS,
                              .makes = has_each(build) || is_first(build),
                              .learned = TRUE,
                              .table = -1};
  if (has_each(build))
    relative->side = MODEL_SIDE_NONE;
  if (!relative->makes)
    return;
  relative->table =
      model_build_parameter(build, relative->names->table, (double)build->shape->relative_buckets, build->a);
  model_build_uncast(build, relative->table);
}

void model_relative_define_cross(ModelBuild *build, ModelRelative *relative) {
  *relative = (ModelRelative){.names = &cross_names,
                              .queries = build->s,
                              .keys = build->encoded,
                              .side = has_each(build) ? MODEL_SIDE_NONE : MODEL_SIDE_CROSS_BIAS,
                              .makes = has_each(build) || is_first(build),
                              .table = -1};
}

/* ---- The bias ---- */

/* A bucket for each pair of positions, elementwise in int64 and a logarithm in fp32: between the difference and the
 * last sum 18 kernels, of which one reads and writes 13 bytes on average (_relative_position_bucket; a comparison
 * writes 1 byte, what is large is fp32). */
#define BUCKET_LAUNCHES 18
#define BUCKET_BYTES    236.0

static ModelSet make_rows(ModelBuild *build, ModelRelative *relative) {
  double distances = relative->queries * relative->keys, bytes = build->e * row_elements(build, relative);
  const ModelRelativeNames *names = relative->names;
  ModelSet rows = model_build_inner(build, relative->learned ? names->rows : names->zeros, bytes);
  if (!relative->learned) {
    model_build_memory(build, MODEL_FORWARD, names->zeros, bytes, 0, rows);
    return rows;
  }
  relative->buckets = model_build_inner(build, names->buckets, BUCKET_ID * distances);
  model_build_kernels(build, MODEL_FORWARD, names->buckets, KERNEL_MEMORY, BUCKET_LAUNCHES, BUCKET_BYTES * distances, 0,
                      relative->buckets);
  ModelOp *gather = model_build_kernels(build, MODEL_FORWARD, names->rows, KERNEL_GATHER, 1,
                                        2 * bytes + BUCKET_ID * distances, relative->buckets, rows);
  gather->saves = relative->buckets;
  gather->uses = (guint64)1 << relative->table;
  return rows;
}

static ModelSet bias_tensor(ModelBuild *build, const ModelRelative *relative) {
  double bytes = build->e * pairs_of(build, relative);
  return relative->side == MODEL_SIDE_NONE ? model_build_inner(build, relative->names->bias, bytes)
                                           : model_build_side(build, relative->names->bias, relative->side, bytes);
}

/* The mask is a number for each query and key of each sequence, and the sum has every head's. */
static void bias_forward(ModelBuild *build, ModelRelative *relative) {
  double e = build->e, masks = build->b * relative->queries * relative->keys;
  relative->bias = bias_tensor(build, relative);
  if (!relative->makes)
    return;
  ModelSet rows = make_rows(build, relative);
  model_build_memory(build, MODEL_FORWARD, relative->names->masked,
                     e * (row_elements(build, relative) + masks + pairs_of(build, relative)), rows, relative->bias);
}

static gboolean has_gradient(const ModelBuild *build, const ModelRelative *relative) {
  gboolean frozen = build->recipe->lora.rank > 0;
  return relative->learned ? !frozen : has_each(build) && relative->makes;
}

/* Summed over the sequences, then, of a learned one, over the pairs of each bucket: a dense gradient of the table, as
 * the embedding's. transformers wants the gradient of umt5's zeros too, and drops it. */
#define SCATTER_LAUNCHES 6
static void bias_backward(ModelBuild *build, ModelRelative *relative, ModelSet d_bias) {
  double elements = row_elements(build, relative), distances = relative->queries * relative->keys;
  const ModelRelativeNames *names = relative->names;
  ModelSet d_rows = d_bias;
  if (!relative->makes)
    return;
  if (build->b > 1 || !relative->learned) {
    d_rows = model_build_inner(build, names->d_rows, build->e * elements);
    model_build_kernels(build, MODEL_BACKWARD, relative->learned ? names->batch_sum : names->d_zeros, KERNEL_REDUCTION,
                        1, build->e * (pairs_of(build, relative) + elements), d_bias, d_rows);
  }
  if (!relative->learned)
    return;
  model_build_kernels(build, MODEL_BACKWARD, names->table_back, KERNEL_GATHER, SCATTER_LAUNCHES,
                      build->e * (3 * elements + (double)build->shape->relative_buckets * build->a) +
                          BUCKET_ID * distances,
                      d_rows | relative->buckets, 0)
      ->gradient_of = relative->table;
}

/* ---- The core ---- */

/* A matmul per sequence and head. */
static ModelOp *per_head(ModelBuild *build, ModelDirection direction, const char *name, double m, double n, double k,
                         ModelSet reads, ModelSet writes) {
  return model_build_matmul(build, direction, name, build->b * build->a, m, n, k, reads, writes);
}

/* Softmax is in fp32, whatever the scores are in: of 16 bits there is a copy before and after, and autograd keeps the
 * result in fp32. The scores themselves are held until the context is there. */
static ModelSet softmax_forward(ModelBuild *build, ModelRelative *relative, ModelSet scores) {
  double pairs = pairs_of(build, relative), e = build->e, w = MODEL_BYTES_FP32;
  const ModelRelativeNames *names = relative->names;
  ModelSet in_fp32 = build->half ? model_build_inner(build, names->fp32_t, w * pairs) : scores;
  if (build->half)
    model_build_memory(build, MODEL_FORWARD, names->in_fp32, (e + w) * pairs, scores, in_fp32);
  relative->softmax = model_build_inner(build, names->softmax_t, w * pairs);
  model_build_kernels(build, MODEL_FORWARD, names->softmax, KERNEL_SOFTMAX, 1, 2 * w * pairs, in_fp32 | scores,
                      relative->softmax)
      ->saves = relative->softmax;
  if (!build->half)
    return relative->softmax;
  ModelSet weights = model_build_inner(build, names->weights_t, e * pairs);
  model_build_memory(build, MODEL_FORWARD, names->in_16, (w + e) * pairs, relative->softmax | scores, weights);
  return weights;
}

void model_relative_forward(ModelBuild *build, ModelAttentionTensors *at) {
  ModelRelative *relative = at->relative;
  double pairs = pairs_of(build, relative), e = build->e;
  const ModelRelativeNames *names = relative->names;
  ModelSet scores = model_build_inner(build, names->scores_t, e * pairs);
  per_head(build, MODEL_FORWARD, names->scores, relative->queries, relative->keys, build->d, at->q | at->k, scores)
      ->saves = at->q | at->k;
  bias_forward(build, relative);
  model_build_memory(build, MODEL_FORWARD, names->add, 3 * e * pairs, scores | relative->bias, 0);
  at->probabilities = at->dropped = softmax_forward(build, relative, scores);
  if (build->recipe->dropout > 0) {
    at->dropped = model_build_inner(build, names->dropped_t, e * pairs);
    at->mask = model_build_inner(build, names->mask_t, pairs);
    model_dropout_forward(build, names->dropout, pairs, at->probabilities, at->dropped, at->mask);
  }
  per_head(build, MODEL_FORWARD, names->context, relative->queries, build->d, relative->keys,
           at->dropped | at->v | scores, at->context)
      ->saves = at->dropped | at->v;
}

static ModelSet softmax_backward(ModelBuild *build, const ModelRelative *relative, ModelSet d_weights) {
  double pairs = pairs_of(build, relative), e = build->e, w = MODEL_BYTES_FP32;
  const ModelRelativeNames *names = relative->names;
  ModelSet d_softmax = build->half ? model_build_inner(build, names->d_fp32, w * pairs) : d_weights;
  if (build->half)
    model_build_memory(build, MODEL_BACKWARD, names->in_16_back, (e + w) * pairs, d_weights, d_softmax);
  ModelSet d_wide = model_build_inner(build, build->half ? names->d_scores_fp32 : names->d_scores, w * pairs);
  model_build_kernels(build, MODEL_BACKWARD, names->softmax_back, KERNEL_SOFTMAX, 1, 3 * w * pairs,
                      d_softmax | relative->softmax, d_wide);
  if (!build->half)
    return d_wide;
  ModelSet d_scores = model_build_inner(build, names->d_scores, e * pairs);
  model_build_memory(build, MODEL_BACKWARD, names->in_fp32_back, (w + e) * pairs, d_wide, d_scores);
  return d_scores;
}

/* The sum hands the scores' gradient to the bias as it is. */
static void to_bias(ModelBuild *build, ModelRelative *relative, ModelSet d_scores) {
  double bytes = build->e * pairs_of(build, relative);
  if (!has_gradient(build, relative))
    return;
  if (relative->side == MODEL_SIDE_NONE) {
    bias_backward(build, relative, d_scores);
    return;
  }
  ModelSet d_bias = model_build_grad_side(build, relative->names->d_bias, relative->side, bytes);
  model_build_join(build, relative->names->join, bytes, d_scores, d_bias);
  bias_backward(build, relative, d_bias);
}

void model_relative_backward(ModelBuild *build, const ModelAttentionTensors *at, ModelSet d_context, ModelSet d_q,
                             ModelSet d_k, ModelSet d_v) {
  ModelRelative *relative = at->relative;
  double pairs = pairs_of(build, relative), queries = relative->queries, keys = relative->keys, e = build->e;
  const ModelRelativeNames *names = relative->names;
  ModelSet d_dropped = model_build_inner(build, names->d_dropped, e * pairs), d_weights = d_dropped;
  per_head(build, MODEL_BACKWARD, names->d_dropped_op, queries, keys, build->d, d_context | at->v, d_dropped);
  per_head(build, MODEL_BACKWARD, names->d_v_op, keys, build->d, queries, d_context | at->dropped, d_v);
  if (build->recipe->dropout > 0) {
    d_weights = model_build_inner(build, names->d_weights, e * pairs);
    model_dropout_backward(build, names->dropout_back, pairs, at->mask, d_dropped, d_weights);
  }
  ModelSet d_scores = softmax_backward(build, relative, d_weights);
  per_head(build, MODEL_BACKWARD, names->d_q_op, queries, build->d, keys, d_scores | at->k, d_q);
  per_head(build, MODEL_BACKWARD, names->d_k_op, keys, build->d, queries, d_scores | at->q, d_k);
  to_bias(build, relative, d_scores);
}
