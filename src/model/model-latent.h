/* SPDX-License-Identifier: MIT */
/* Multi-head latent attention's way from the layer's input to queries, keys and values, and back (DeepSeek-V2, arXiv
 * 2405.04434, section 2.1, as it is trained: nothing absorbed). For this room alone.
 *
 *   normed ─┬─ q_a_proj ─ q_a_norm ─ q_b_proj ─────────────────┬─► q   of each head: plain part, turned part
 *           └─ kv_a_proj ─┬─ kv_a_norm ─ kv_b_proj ─┬─ plain ──┼─► k   … its own plain part, the one turned part
 *                         └─ turned, of all heads ──┼──────────┘
 *                                                   └──────────── ► v
 *
 * Without a rank for queries q_proj makes them. Under tensor parallelism latents are made alike on all ranks, of each
 * rank's own tokens under sequence parallelism, and the second projections split heads: what is gathered and reduced is
 * as wide as the latents (Megatron-LM, transformer/multi_latent_attention.py). */
#pragma once

#include "model-attention.h"
#include "model-region.h"

typedef struct {
  ModelLinear q, q_a, q_b, kv_a, kv_b;
  ModelNorm q_norm, kv_norm;
  ModelRegion q_in, kv_in;         /* what the layers that split heads read */
  ModelSet x, q_latent, kv_latent; /* kv_latent: with the turned part beside it */
} ModelLatent;

void model_latent_define(ModelBuild *build, ModelLatent *latent);
/* Fills in what attention reads. */
void model_latent_forward(ModelBuild *build, ModelLatent *latent, ModelSet x, ModelAttentionTensors *at);
/* Attention's backward, and theirs; returns the gradient of x. */
ModelSet model_latent_backward(ModelBuild *build, ModelLatent *latent, const ModelAttentionTensors *at,
                               ModelSet d_context);
