/* SPDX-License-Identifier: MIT */
/* A decoder layer's attention to the encoder's output: queries from its own stream, keys and values from that. For this
 * room alone.
 *
 *   normed ─ cross_q_proj ─┐
 *   memory ─ cross_k_proj ─┼─ attention ─ cross_o_proj ─►          memory: MODEL_SIDE_MEMORY
 *          └ cross_v_proj ─┘ */
#pragma once

#include "model-relative.h"

typedef struct {
  ModelLinear q, k, v, o;
  ModelRelative relative;
  ModelAttentionTensors attention;
  ModelSet normed, memory;
} ModelCross;

static inline gboolean model_cross_is(const ModelBuild *build) {
  return build->kind == MODEL_UNIT_DECODER || build->kind == MODEL_UNIT_DECODER_FIRST;
}

void model_cross_define(ModelBuild *build, ModelCross *cross);
/* From the normed stream to what is added to the stream; and from that's gradient to the normed stream's. */
void model_cross_forward(ModelBuild *build, ModelCross *cross, ModelSet normed, ModelSet out);
ModelSet model_cross_backward(ModelBuild *build, ModelCross *cross, ModelSet d_out);
