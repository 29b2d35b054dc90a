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
 * Or dispatch gathers all tokens of the ranks, each of which works on its experts' rows of them, and combine scatters
 * the sums (MODEL_DISPATCH_GATHER: Megatron-LM's MoEAllGatherTokenDispatcher); or tokens go to the ranks that have an
 * expert of them (MODEL_DISPATCH_FLEX: DeepEP).
 * Under tensor parallelism the experts are whole on each rank, which gives them its own tokens (sequence parallelism);
 * only shared ones are split. Or tensor ranks split each expert too: then the rows that arrived on all of them are
 * gathered before the experts, and their partial sums scattered after (Megatron-LM,
 * transformer/moe/token_dispatcher.py, MoEAlltoAllTokenDispatcher, expert tensor parallelism). */
#pragma once

#include "model-fp8.h"
#include "model-mlp.h"

typedef struct {
  int router, router_bias; /* parameters, -1: none */
  int gate, up, down;      /* grouped weights; joined: gate is both */
  int gate_bias, up_bias, down_bias;
  int shared_gate;
  ModelAdapter gate_adapter, up_adapter, down_adapter; /* of every expert held here; names NULL: none */
  ModelMlp shared;
  double tokens, rows, arrived, worked;      /* of this rank; sent; come; worked on, with those of other tensor ranks */
  double held, groups, per_group;            /* experts here; those with rows at all, and rows of each */
  ModelSet x, logits, probabilities, chosen; /* chosen: experts and weights of each token */
  ModelSet input, gate_out, up_out, act, product, returned;
  ModelSet kept_input, kept_product; /* what backward reads of input and product: they, or their casts */
  ModelSet shared_out, shared_score;
} ModelExperts;

static inline double model_experts_bytes(const ModelBuild *build, double rows, double width) {
  return build->e * rows * width;
}
static inline double model_experts_ranks(const ModelBuild *build) {
  return MAX(build->share->expert, 1);
}
static inline double model_experts_splits(const ModelBuild *build) {
  return MAX(build->share->expert_tensor, 1);
}

void model_experts_define(ModelBuild *build, ModelExperts *experts);
void model_experts_forward(ModelBuild *build, ModelExperts *experts, ModelSet x, ModelSet y);
/* Returns the gradient of x. */
ModelSet model_experts_backward(ModelBuild *build, ModelExperts *experts, ModelSet d_y);

/* One matrix (or bias) for each expert that is held here; `split`: of which tensor ranks may have parts. */
int model_experts_parameter(ModelBuild *build, const ModelExperts *experts, const char *name, double rows,
                            double columns, gboolean split);
/* A grouped matmul of the rows worked on, `in` to `out`; and of a weight's gradient. */
ModelOp *model_experts_matmul(ModelBuild *build, const ModelExperts *experts, ModelDirection direction,
                              const char *name, double out, double in, ModelSet reads, ModelSet writes);
void model_experts_wgrad(ModelBuild *build, const ModelExperts *experts, const char *name, double out, double in,
                         ModelSet reads, int weight);

/* Adapters beside experts' projections, one of each expert, model-experts-adapter.c; as model_adapter's. Forward:
 * the tensor that the projection is to write. Backward returns the adapter's part of x's gradient, none without. */
void model_experts_adapters(ModelBuild *build, ModelExperts *experts, double width);
ModelSet model_experts_plain(ModelBuild *build, const ModelExperts *experts, const ModelAdapter *adapter, ModelSet y);
void model_experts_adapt(ModelBuild *build, const ModelExperts *experts, ModelAdapter *adapter, ModelSet x,
                         ModelSet plain, ModelSet y);
ModelSet model_experts_adapt_backward(ModelBuild *build, const ModelExperts *experts, const ModelAdapter *adapter,
                                      ModelSet x, ModelSet d_y);
void model_experts_adapt_sum(ModelBuild *build, const ModelExperts *experts, const ModelAdapter *adapter, ModelSet part,
                             ModelSet d_x);

/* Between tokens and the rows that this rank works on, model-experts-move.c. Dispatch sets `input`; combine returns y,
 * or where that is none a new tensor. Backward: combine returns the rows' gradient, and in *ret_d_chosen that of the
 * weights where they are applied there (else none); dispatch returns the gradient of x. */
void model_experts_dispatch(ModelBuild *build, ModelExperts *experts);
ModelSet model_experts_combine(ModelBuild *build, ModelExperts *experts, ModelSet out, ModelSet y);
ModelSet model_experts_combine_backward(ModelBuild *build, ModelExperts *experts, ModelSet d_y, ModelSet *ret_d_chosen);
ModelSet model_experts_dispatch_backward(ModelBuild *build, const ModelExperts *experts, ModelSet d_input);
/* The gradient of the weights of each token's experts. */
ModelSet model_experts_d_chosen(ModelBuild *build, const ModelExperts *experts);
/* fp8, model-experts-fp8.c: rows so wide as a grouped matmul reads them, and as the weight's gradient does; else both
 * as they are. `which`: of input, product, and the gradients of outputs. */
typedef enum {
  MODEL_EXPERTS_INPUT,
  MODEL_EXPERTS_PRODUCT,
  MODEL_EXPERTS_D_OUT,
  MODEL_EXPERTS_D_UP,
  MODEL_EXPERTS_D_GATE
} ModelExpertsCast;
ModelFp8Pair model_experts_cast(ModelBuild *build, const ModelExperts *experts, ModelExpertsCast which, double width,
                                ModelSet rows);
/* Rows copied to where each expert's are a multiple of 16, or back from there; else as they are. */
ModelSet model_experts_pad(ModelBuild *build, const ModelExperts *experts, ModelSet rows, ModelDirection direction);
ModelSet model_experts_unpad(ModelBuild *build, const ModelExperts *experts, ModelSet rows, ModelDirection direction);
/* Rows as they come, whose numbers the host has to know: before an all-to-all, else before the first grouped matmul of
 * Transformer Engine. */
static inline gboolean model_experts_counts_early(const ModelBuild *build) {
  return build->recipe->expert_capacity == 0 && model_experts_ranks(build) > 1 &&
         build->share->dispatch != MODEL_DISPATCH_GATHER;
}
static inline gboolean model_experts_counts_late(const ModelBuild *build) {
  return build->recipe->expert_capacity == 0 && build->recipe->experts_by_engine && !model_experts_counts_early(build);
}
/* Weights are applied to what comes back, not within the activation. */
static inline gboolean model_experts_weigh_last(const ModelBuild *build) {
  return !build->recipe->experts_by_engine;
}
