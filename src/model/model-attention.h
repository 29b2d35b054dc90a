/* SPDX-License-Identifier: MIT */
/* The attention core: from queries, keys and values to the context, and back. For this room alone.
 *
 *   flash   q, k, v ─► one kernel ─► context, and one fp32 number per row (log-sum-exp)
 *   eager   q, kᵀ ─► scores ─► softmax [─► dropout] ─► · v ─► context       tensors of heads × sequence²
 *
 * In eager, and where ModelRecipe.repeats_kv says so of flash, keys and values that several heads share are first
 * copied out to every head. Where the sequence is split over context ranks, model-context.c. With a window flash skips
 * what it hides; eager computes and masks it, as the causal half. */
#pragma once

#include "model-build.h"

typedef struct {
  struct ModelRelative *relative;                    /* where scores have a bias: model-relative.h; else NULL */
  ModelSet q, k, v;                                  /* read; the same mask where they are one tensor */
  ModelSet context;                                  /* written */
  ModelSet lse;                                      /* flash */
  ModelSet k_all, v_all;                             /* of every head: copies, or k and v */
  ModelSet probabilities, dropped, mask;             /* eager; dropped is probabilities where there is no dropout */
  int sinks;                                         /* parameter, or -1 */
  ModelSet q_heads, k_heads, v_heads, context_heads; /* Ulysses: all tokens of this rank's share of the heads */
} ModelAttentionTensors;

/* In: q, k, v, context. The rest is made, and kept for backward. */
void model_attention_forward(ModelBuild *build, ModelAttentionTensors *tensors);
/* d_q, d_k, d_v are written, each by one op. */
void model_attention_backward(ModelBuild *build, const ModelAttentionTensors *tensors, ModelSet d_context, ModelSet d_q,
                              ModelSet d_k, ModelSet d_v);

/* Attention over all of the sequence's tokens, which the rank has: its share of the heads, or all. */
void model_attention_core(ModelBuild *build, ModelAttentionTensors *tensors);
void model_attention_core_backward(ModelBuild *build, const ModelAttentionTensors *tensors, ModelSet d_context,
                                   ModelSet d_q, ModelSet d_k, ModelSet d_v);
/* Over keys and values that context ranks exchange. */
void model_context_forward(ModelBuild *build, ModelAttentionTensors *tensors);
void model_context_backward(ModelBuild *build, const ModelAttentionTensors *tensors, ModelSet d_context, ModelSet d_q,
                            ModelSet d_k, ModelSet d_v);
