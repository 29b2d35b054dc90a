/* SPDX-License-Identifier: MIT */
/* From the layer's input to queries, keys and values with their positions, and back. For this room alone.
 *
 *   separate   normed ─► q_proj, k_proj, v_proj ─► rope ─► q, k; v                         transformers, torchtitan
 *   joined     normed ─► qkv_proj ─► rope ─► q, k; v stays where it is                     Megatron-LM; gpt has no rope
 *   copied     normed ─► qkv_proj ─► apart ─► keys and values joined ─► reordered ─► rope  nanotron
 *   qkv        as joined, and the context is copied before o_proj, which keeps the copy                     litgpt
 *
 * nanotron (models/llama.py, CausalSelfAttention) has tokens before sequences: it copies the one output into three
 * tensors with sequences first, joins keys and values (torch.cat), copies these into the order that flash-attention's
 * rotary kernel takes, and turns q and k in place. Backward: the halves' gradients are joined, queries' and theirs put
 * beside each other, and copied back into the order of the matmul. With more than one sequence the context is copied
 * too, before o_proj, which keeps it as it was, and in backward again, and its gradient before attention. Norms of
 * queries and keys (qwen3) come before rope, each by itself; with them copied is joined. litgpt (litgpt/model.py) puts
 * queries together by torch.cat, heads before tokens; flash attention's output is laid out as they are (PyTorch's
 * flash_api.cpp, empty_like), and reshape copies it. */
#pragma once

#include "model-attention.h"
#include "model-region.h"

typedef struct {
  ModelLinear q, k, v, qkv;  /* one or the others */
  ModelNorm q_norm, k_norm;  /* where the shape has them: before rope */
  ModelSet q_plain, k_plain; /* what they norm */
  ModelSet turned;           /* what rope turns */
  ModelRegion k_in, v_in;    /* separate: what k and v read; q reads the region that was entered */
} ModelProjections;

/* Whether one matmul makes all three; whether one makes gate and up. */
gboolean model_projections_joined(const ModelBuild *build);
gboolean model_projections_gate_joined(const ModelBuild *build);
void model_projections_define(ModelBuild *build, ModelProjections *projections);
/* From the region that was entered; fills in what attention reads. */
void model_projections_forward(ModelBuild *build, ModelProjections *projections, const ModelRegion *in,
                               ModelAttentionTensors *at);
/* Attention's backward, and theirs, into d_normed; returns the gradient of what the region read. */
ModelSet model_projections_backward(ModelBuild *build, const ModelProjections *projections, ModelRegion *normed,
                                    const ModelAttentionTensors *at, ModelSet d_context, ModelSet d_normed);
/* o_proj, of attention's context; returns what its backward is to be given, and that the gradient that attention's
 * backward reads. */
ModelSet model_projections_output(ModelBuild *build, ModelLinear *o, ModelSet context, ModelSet y);
ModelSet model_projections_output_backward(ModelBuild *build, const ModelLinear *o, ModelSet context, ModelSet d_y);
