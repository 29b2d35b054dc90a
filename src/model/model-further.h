/* SPDX-License-Identifier: MIT */
/* Multi-token prediction: what stands around the layer that foretells one more token (DeepSeek-V3's depth 1, arXiv
 * 2412.19437 section 2.2; Megatron-LM's multi_token_prediction.py). For this room alone.
 *
 *   hidden ─┬─ norm ─┐
 *           │        cat ─ eh_proj ─[layer]─ norm ─┐
 *   table ──┼─ rows ─ norm ─┘                      cat ─ output: both streams, one behind the other
 *           └──────────────────────────────────────┘
 *
 * The table of rows is the embedding's; a rank that has no embedding holds a copy. The head reads both streams. Of
 * several tensor ranks each makes columns of eh_proj, which all of them gather, and each goes on with its own tokens:
 * gather_from_tensor_model_parallel_region, scatter_to_sequence_parallel_region. */
#pragma once

#include "model-projections.h"

typedef struct {
  int table;
  ModelNorm embedded_norm, hidden_norm, final_norm;
  ModelLinear projection;
  ModelRegion joined_in;
  ModelSet hidden, embedded; /* hidden: the unit's INPUT */
  ModelSet made;             /* what the layer made */
  ModelSet d_streams;        /* the unit's GRAD_OUTPUT */
} ModelFurther;

static inline gboolean model_further_is(const ModelBuild *build) {
  return build->kind == MODEL_UNIT_LAYER_FURTHER;
}

void model_further_define(ModelBuild *build, ModelFurther *further);

/* Returns what the layer reads; then its output becomes the unit's. */
ModelSet model_further_enter(ModelBuild *build, ModelFurther *further);
void model_further_leave(ModelBuild *build, ModelFurther *further, ModelSet made);

/* Returns the gradient of what the layer made; then that of what it read becomes the unit's. */
ModelSet model_further_leave_backward(ModelBuild *build, ModelFurther *further);
void model_further_enter_backward(ModelBuild *build, ModelFurther *further, ModelSet d_read);
