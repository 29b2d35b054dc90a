/* SPDX-License-Identifier: MIT */
/* Attention with a bias on its scores by distance, as T5's: the bias, and the attention core that adds it. For this
 * room alone.
 *
 *   table ─ rows by distance ─ + mask ─┐ bias                       b × heads × queries × keys
 *   q, kᵀ ─► scores ────────────────── + ─► fp32 ─► softmax ─► 16 bits ─ dropout ─► · v ─► context
 *
 * A stack's first layer makes the bias for all its layers (a SIDE), or each makes its own (umt5); a decoder's bias on
 * the encoder's output is the mask alone. No library has a fused kernel for it. Sources: T5Attention and UMT5Attention
 * of transformers (modeling_t5.py, modeling_umt5.py). */
#pragma once

#include "model-attention.h"

/* What one of a layer's attentions calls its operations and tensors. */
typedef struct {
  const char *buckets, *rows, *zeros, *masked, *bias, *d_bias, *table, *table_back, *batch_sum, *d_rows, *join,
      *d_zeros;
  const char *scores, *add, *in_fp32, *softmax, *in_16, *dropout, *context; /* operations */
  const char *scores_t, *fp32_t, *softmax_t, *weights_t, *dropped_t, *mask_t;
  const char *d_dropped, *d_weights, *d_fp32, *d_scores_fp32, *d_scores;
  const char *d_dropped_op, *d_v_op, *dropout_back, *in_16_back, *softmax_back, *in_fp32_back, *d_q_op, *d_k_op;
} ModelRelativeNames;
#define MODEL_RELATIVE_NAMES(p)                                                                                        \
  {                                                                                                                    \
    .buckets = p "relative_buckets", .rows = p "relative_rows", .zeros = p "zero_bias", .masked = p "bias_mask",       \
    .bias = p "bias", .d_bias = "d_" p "bias", .table = p "relative_attention_bias.weight",                            \
    .table_back = p "relative_rows.backward", .batch_sum = p "bias_mask.backward", .d_rows = "d_" p "relative_rows",   \
    .join = p "bias.sum", .d_zeros = p "zero_bias.backward", .scores = p "scores", .add = p "bias_add",                \
    .in_fp32 = p "scores_fp32", .softmax = p "softmax", .in_16 = p "softmax_16bit", .dropout = p "attention_dropout",  \
    .context = p "context", .scores_t = p "scores", .fp32_t = p "scores_fp32", .softmax_t = p "softmax_fp32",          \
    .weights_t = p "probabilities", .dropped_t = p "probabilities_dropped", .mask_t = p "probabilities_mask",          \
    .d_dropped = "d_" p "probabilities", .d_weights = "d_" p "probabilities_undropped",                                \
    .d_fp32 = "d_" p "softmax_fp32", .d_scores_fp32 = "d_" p "scores_fp32", .d_scores = "d_" p "scores",               \
    .d_dropped_op = p "context.d_probabilities", .d_v_op = p "context.d_v",                                            \
    .dropout_back = p "attention_dropout.backward", .in_16_back = p "softmax_16bit.backward",                          \
    .softmax_back = p "softmax.backward", .in_fp32_back = p "scores_fp32.backward", .d_q_op = p "scores.d_q",          \
    .d_k_op = p "scores.d_k"                                                                                           \
  }

typedef struct ModelRelative {
  const ModelRelativeNames *names;
  double queries, keys; /* tokens of a sequence */
  ModelSide side;       /* that the bias is; NONE: the layer's own */
  gboolean makes;       /* here */
  gboolean learned;     /* from a table of distances; else the mask alone */
  int table;            /* parameter where it makes a learned one, else -1 */
  ModelSet buckets, bias, d_bias;
  ModelSet softmax; /* fp32 */
} ModelRelative;

static inline gboolean model_relative_is(const ModelBuild *build) {
  return model_build_has(build, MODEL_RELATIVE | MODEL_RELATIVE_EACH);
}

/* Of a layer's self-attention; of its attention to the encoder. */
void model_relative_define(ModelBuild *build, ModelRelative *relative);
void model_relative_define_cross(ModelBuild *build, ModelRelative *relative);

/* As model_attention_forward and _backward, which call them: of at->relative. */
void model_relative_forward(ModelBuild *build, ModelAttentionTensors *at);
void model_relative_backward(ModelBuild *build, const ModelAttentionTensors *at, ModelSet d_context, ModelSet d_q,
                             ModelSet d_k, ModelSet d_v);
