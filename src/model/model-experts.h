/* SPDX-License-Identifier: MIT */
/* A mixture of experts in place of the MLP (arXiv 1701.06538; top-k of softmax or sigmoid, experts of their own width,
 * shared ones beside them, arXiv 2401.06066). For this room alone.
 *
 *   x ─┬─ router ─ top_k ─────────────────────────────────────┐ weights
 *      ├─ permute ─[dispatch]─ gate, up, act, down of each ─[combine]─ unpermute ─ + ─ y
 *      └─ shared MLP ─[gate]────────────────────────────────────────────────────── ┘
 *
 * Rows are tokens times experts per token; each expert's stand together, and one grouped matmul multiplies each group
 * with its own weights. Dispatch and combine are all-to-alls along MODEL_AXIS_EXPERT where ranks share the experts:
 *   rows kept      tokens × experts per token × capacity, padded and cut (capacity), or as they come (dropless)
 *   rows arrived   the same on average; on the rank that is given most, times the recipe's imbalance
 * Without expert parallelism all experts' weights are on the rank, and every row is its own.
 * Under tensor parallelism the experts are whole on each rank, which gives them its own tokens (sequence parallelism);
 * only shared ones are split. Or tensor ranks split each expert too: then the rows that arrived on all of them are
 * gathered before the experts, and their partial sums scattered after (Megatron-LM,
 * transformer/moe/token_dispatcher.py, MoEAlltoAllTokenDispatcher, expert tensor parallelism). */
#pragma once

#include "model-mlp.h"

typedef struct {
  int router, router_bias; /* parameters, -1: none */
  int gate, up, down;      /* grouped weights; joined: gate is both */
  int gate_bias, up_bias, down_bias;
  int shared_gate;
  ModelMlp shared;
  double tokens, rows, arrived, worked;      /* of this rank; sent; come; worked on, with those of other tensor ranks */
  double held, groups, per_group;            /* experts here; those with rows at all, and rows of each */
  ModelSet x, logits, probabilities, chosen; /* chosen: experts and weights of each token */
  ModelSet input, gate_out, up_out, act, product, returned;
  ModelSet shared_out, shared_score;
} ModelExperts;

void model_experts_define(ModelBuild *build, ModelExperts *experts);
void model_experts_forward(ModelBuild *build, ModelExperts *experts, ModelSet x, ModelSet y);
/* Returns the gradient of x. */
ModelSet model_experts_backward(ModelBuild *build, ModelExperts *experts, ModelSet d_y);
