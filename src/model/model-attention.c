/* SPDX-License-Identifier: MIT */
/* Flash and eager attention as operations, one function each way. */
#include "model-relative.h"

#include <math.h>

#include "model-samples.h"

/* Tokens of what a query sees at most: its sequence, or its sample. */
static double sample_length(const ModelBuild *build) {
  return build->recipe->packing == MODEL_PACKING_PACKED ? model_samples_length(build->recipe) : build->s;
}

/* Keys that a query sees, on average. Causal: half of them. Windowed: what a window w of s tokens lets through is w s
 * - w² / 2 pairs, of chunks s w / 2 (as the causal half, without the diagonal's other half). */
static double keys_within(const ModelBuild *build, double s) {
  double w = build->window;
  if (model_build_has(build, MODEL_BIDIRECTIONAL))
    return s;
  if (w == 0 || w >= s)
    return s / 2;
  return model_build_has(build, MODEL_CHUNKED) ? w / 2 : w - w * w / (2 * s);
}

static double keys_seen(const ModelBuild *build) {
  return keys_within(build, sample_length(build));
}

static gboolean is_windowed(const ModelBuild *build) {
  return build->window > 0 && build->window < sample_length(build);
}

/* Of the model: without the causal mask's half, where there is one, and without padding. */
static double nominal_keys(const ModelBuild *build) {
  double s = build->recipe->packing == MODEL_PACKING_FULL ? build->s : model_samples_length(build->recipe);
  return model_build_has(build, MODEL_BIDIRECTIONAL) ? s : 2 * keys_within(build, s);
}

/* Every query with so many keys, over all heads: two matmuls of it make the forward, one as wide as the queries and
 * one as the values. */
static double pair_flops(const ModelBuild *build, double keys, double of_queries, double of_values) {
  return 2 * build->t * keys * (of_queries * build->q + of_values * build->c);
}

static ModelPairs kernel_pairs(const ModelBuild *build) {
  double s = sample_length(build), samples = build->s / s;
  if (is_windowed(build))
    return (ModelPairs){s, floor(keys_seen(build) + 0.5), FALSE, samples};
  return (ModelPairs){s, s, !model_build_has(build, MODEL_BIDIRECTIONAL), samples};
}

/* ---- Keys and values of every head ---- */

/* Whether several heads share keys. */
static gboolean are_shared(const ModelBuild *build) {
  return build->kv < build->q;
}

/* Of keys and values together, all heads'. */
static double repeated_bytes(const ModelBuild *build) {
  return build->e * build->t * (build->q + build->c);
}

static double shared_bytes(const ModelBuild *build) {
  return build->e * build->t * (build->kv + build->values);
}

/* What the copies move: all in and out, by a kernel for keys and one for values; compiled, the keys' is the rotary
 * embedding's, which writes them so many times more. */
static void repeat_kernels(ModelBuild *build, ModelDirection direction, const char *name, ModelSet reads,
                           ModelSet writes) {
  double spared = build->recipe->compiled ? 2 * build->e * build->t * build->kv : 0;
  model_build_kernels(build, direction, name, KERNEL_MEMORY, build->recipe->compiled ? 1 : 2,
                      repeated_bytes(build) + shared_bytes(build) - spared, reads, writes);
}

static void repeat(ModelBuild *build, ModelAttentionTensors *at) {
  at->k_all = model_build_inner(build, "k_all", build->e * build->t * build->q);
  at->v_all = model_build_inner(build, "v_all", build->e * build->t * build->c);
  repeat_kernels(build, MODEL_FORWARD, "repeat_kv", at->k | at->v, at->k_all | at->v_all);
}

/* Each copy's gradient. */
static ModelSet repeated_gradient(ModelBuild *build, const char *name, double width) {
  return model_build_inner(build, name, build->e * build->t * width);
}

/* ---- Flash ---- */

static gboolean is_repeated(const ModelBuild *build) {
  return build->recipe->repeats_kv && are_shared(build);
}

/* FlashAttention's causal kernel skips the half of the pairs that the mask hides; its backward is five matmuls for the
 * forward's two, since it computes the scores again (Dao 2022, arXiv 2205.14135, and its benchmark's 2.5). */
static void flash_forward(ModelBuild *build, ModelAttentionTensors *at) {
  double row = MODEL_BYTES_FP32 * build->t * build->a;
  at->k_all = at->k;
  at->v_all = at->v;
  if (is_repeated(build))
    repeat(build, at);
  at->lse = model_build_inner(build, "lse", row);
  double read = is_repeated(build) ? repeated_bytes(build) : shared_bytes(build);
  double bytes = build->e * build->t * (build->q + build->c) + read + row;
  ModelOp *op = model_build_attention(
      build, MODEL_FORWARD, "attention", kernel_pairs(build), pair_flops(build, keys_seen(build), 1, 1),
      pair_flops(build, nominal_keys(build), 1, 1), bytes, at->q | at->k_all | at->v_all, at->context | at->lse);
  op->saves = at->q | at->k_all | at->v_all | at->context | at->lse;
  op->uses = at->sinks >= 0 ? (guint64)1 << at->sinks : 0;
  op->counted = build->recipe->attention_waits;
}

/* d_q as it is summed up in fp32 (out, in); where heads share keys, their gradients per head (out, in) before the sum,
 * which is the kernel's own, or that of the copies. */
static void flash_backward(ModelBuild *build, const ModelAttentionTensors *at, ModelSet d_context, ModelSet d_q,
                           ModelSet d_k, ModelSet d_v) {
  double row = MODEL_BYTES_FP32 * build->t * build->a;
  gboolean repeated = is_repeated(build), sums = are_shared(build) && !repeated;
  double kv = repeated ? repeated_bytes(build) : shared_bytes(build);
  ModelSet d_k_all = repeated ? repeated_gradient(build, "d_k_all", build->q) : d_k;
  ModelSet d_v_all = repeated ? repeated_gradient(build, "d_v_all", build->c) : d_v;
  ModelSet scratch = model_build_scratch(build, "d_q_fp32", MODEL_BYTES_FP32 * build->t * build->q);
  scratch |= model_build_scratch(build, "row_sums", row);
  if (sums)
    scratch |= model_build_scratch(build, "d_kv_all", 2 * build->e * build->t * build->q);
  double bytes =
      build->e * build->t * (2 * build->q + 2 * build->c) + 2 * kv + row + 2 * MODEL_BYTES_FP32 * build->t * build->q;
  if (sums)
    bytes += 2 * 2 * build->e * build->t * build->q;
  model_build_attention(build, MODEL_BACKWARD, "attention.backward", kernel_pairs(build),
                        pair_flops(build, keys_seen(build), 3, 2), pair_flops(build, nominal_keys(build), 2, 2), bytes,
                        d_context | at->q | at->k_all | at->v_all | at->context | at->lse | scratch,
                        d_q | d_k_all | d_v_all | scratch)
      ->gradient_of = at->sinks;
  if (repeated)
    repeat_kernels(build, MODEL_BACKWARD, "repeat_kv.backward", d_k_all | d_v_all, d_k | d_v);
}

/* ---- Eager ---- */

static double value_width(const ModelBuild *build) {
  return build->c / build->a;
}

/* A matmul per sequence and head, over all pairs of tokens; the model's are those within samples. */
static ModelOp *per_head(ModelBuild *build, ModelDirection direction, const char *name, double n, double k,
                         ModelSet reads, ModelSet writes) {
  ModelOp *op = model_build_matmul(build, direction, name, build->b * build->a, build->s, n, k, reads, writes);
  if (build->recipe->packing != MODEL_PACKING_FULL)
    op->nominal_flops *= model_samples_length(build->recipe) / build->s;
  return op;
}

/* Passes over scores between the matmuls, each in and out: scale and mask, a bias by distance, and where scores are
 * capped a quotient, its tanh and a product. */
static guint32 score_passes(const ModelBuild *build) {
  return (guint32)(2 + model_build_has(build, MODEL_ALIBI) + 3 * model_build_has(build, MODEL_CAPPED_SCORES));
}

/* Passes per score: scale and causal mask (each in and out), softmax (in and out); back through softmax (its output and
 * two gradients) and scale (in and out). Fused (Megatron-LM's scaled_masked_softmax kernels), softmax scales and masks
 * as it reads and writes. */
static void eager_forward(ModelBuild *build, ModelAttentionTensors *at) {
  double pairs = build->t * build->s * build->a, e = build->e;
  at->k_all = at->k;
  at->v_all = at->v;
  if (build->kv < build->q) {
    at->k_all = model_build_inner(build, "k_all", e * build->t * build->q);
    at->v_all = model_build_inner(build, "v_all", e * build->t * build->q);
    model_build_memory(build, MODEL_FORWARD, "repeat_kv", 2 * e * build->t * (build->kv + build->q), at->k | at->v,
                       at->k_all | at->v_all);
  }
  ModelSet scores = model_build_inner(build, "scores", e * pairs);
  per_head(build, MODEL_FORWARD, "scores", build->s, build->d, at->q | at->k_all, scores)->saves = at->q | at->k_all;
  at->probabilities = at->dropped = model_build_inner(build, "probabilities", e * pairs);
  if (!build->fused_masks)
    model_build_kernels(build, MODEL_FORWARD, "scale_mask", KERNEL_MEMORY, score_passes(build),
                        2 * score_passes(build) * e * pairs, scores, 0);
  ModelOp *softmax =
      model_build_kernels(build, MODEL_FORWARD, "softmax", KERNEL_SOFTMAX, 1, 2 * e * pairs, scores, at->probabilities);
  softmax->saves = at->probabilities;
  softmax->uses = at->sinks >= 0 ? (guint64)1 << at->sinks : 0;
  if (build->recipe->dropout > 0) {
    at->dropped = model_build_inner(build, "probabilities_dropped", e * pairs);
    at->mask = model_build_inner(build, "probabilities_mask", pairs);
    model_dropout_forward(build, "attention_dropout", pairs, at->probabilities, at->dropped, at->mask);
  }
  per_head(build, MODEL_FORWARD, "context", value_width(build), build->s, at->dropped | at->v_all, at->context)->saves =
      at->dropped | at->v_all;
}

static void eager_backward(ModelBuild *build, const ModelAttentionTensors *at, ModelSet d_context, ModelSet d_q,
                           ModelSet d_k, ModelSet d_v) {
  double pairs = build->t * build->s * build->a, e = build->e;
  gboolean shared = build->kv < build->q;
  ModelSet d_k_all = shared ? model_build_inner(build, "d_k_all", e * build->t * build->q) : d_k;
  ModelSet d_v_all = shared ? model_build_inner(build, "d_v_all", e * build->t * build->q) : d_v;
  ModelSet d_dropped = model_build_inner(build, "d_probabilities", e * pairs), d_probabilities = d_dropped;
  per_head(build, MODEL_BACKWARD, "context.d_probabilities", build->s, value_width(build), d_context | at->v_all,
           d_dropped);
  per_head(build, MODEL_BACKWARD, "context.d_v", value_width(build), build->s, d_context | at->dropped, d_v_all);
  if (build->recipe->dropout > 0) {
    d_probabilities = model_build_inner(build, "d_probabilities_undropped", e * pairs);
    model_dropout_backward(build, "attention_dropout.backward", pairs, at->mask, d_dropped, d_probabilities);
  }
  ModelSet d_scores = model_build_inner(build, "d_scores", e * pairs);
  model_build_kernels(build, MODEL_BACKWARD, "softmax.backward", KERNEL_SOFTMAX, 1, 3 * e * pairs,
                      d_probabilities | at->probabilities, d_scores)
      ->gradient_of = at->sinks;
  if (!build->fused_masks)
    model_build_kernels(build, MODEL_BACKWARD, "scale_mask.backward", KERNEL_MEMORY, score_passes(build) - 1,
                        2 * (score_passes(build) - 1) * e * pairs, d_scores, 0);
  per_head(build, MODEL_BACKWARD, "scores.d_q", build->d, build->s, d_scores | at->k_all, d_q);
  per_head(build, MODEL_BACKWARD, "scores.d_k", build->d, build->s, d_scores | at->q, d_k_all);
  if (shared)
    model_build_memory(build, MODEL_BACKWARD, "repeat_kv.backward", 2 * e * build->t * (build->q + build->kv),
                       d_k_all | d_v_all, d_k | d_v);
}

void model_attention_core(ModelBuild *build, ModelAttentionTensors *tensors) {
  (build->recipe->attention == MODEL_ATTENTION_FLASH ? flash_forward : eager_forward)(build, tensors);
}

void model_attention_core_backward(ModelBuild *build, const ModelAttentionTensors *tensors, ModelSet d_context,
                                   ModelSet d_q, ModelSet d_k, ModelSet d_v) {
  (build->recipe->attention == MODEL_ATTENTION_FLASH ? flash_backward : eager_backward)(build, tensors, d_context, d_q,
                                                                                        d_k, d_v);
}

void model_attention_forward(ModelBuild *build, ModelAttentionTensors *tensors) {
  if (tensors->relative != NULL)
    model_relative_forward(build, tensors);
  else
    (build->context > 1 ? model_context_forward : model_attention_core)(build, tensors);
}

void model_attention_backward(ModelBuild *build, const ModelAttentionTensors *tensors, ModelSet d_context, ModelSet d_q,
                              ModelSet d_k, ModelSet d_v) {
  if (tensors->relative != NULL)
    model_relative_backward(build, tensors, d_context, d_q, d_k, d_v);
  else
    (build->context > 1 ? model_context_backward : model_attention_core_backward)(build, tensors, d_context, d_q, d_k,
                                                                                  d_v);
}
