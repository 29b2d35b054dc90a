/* SPDX-License-Identifier: MIT */
/* An MLP between a column and a row layer: of a layer without experts, or of those that every token goes through. For
 * this room alone.
 *
 *   gated   y = down_proj(act(gate_proj) · up_proj), gate and up by one matmul where projections are joined
 *   plain   y = down_proj(act(up_proj)) */
#pragma once

#include "model-region.h"

typedef struct {
  ModelLinearNames gate, up, gate_up, down;
  ModelRegionNames region, up_region; /* the second: where up gathers and scatters for itself */
  const char *gate_out, *up_out, *both_out, *act, *product, *plain; /* tensors; plain: of the activation */
  const char *gated, *activation;                                   /* operations */
  const char *dropout, *dropped, *mask, *dropout_back, *d_dropped;  /* where the family has dropout inside */
  const char *d_product, *d_up, *d_act, *d_gate, *d_both, *of_gate;
  const char *gated_back, *mul_back, *act_back, *split_back, *sum, *activation_back;
  const char *apart, *gate_apart, *up_apart; /* of a joined matmul's output, where each half is copied */
} ModelMlpNames;
#define MODEL_MLP_NAMES(p, x)                                                                                          \
  {                                                                                                                    \
    .gate = MODEL_LINEAR_NAMES(p "gate_proj"), .up = MODEL_LINEAR_NAMES(p "up_proj"),                                  \
    .gate_up = MODEL_LINEAR_NAMES(p "gate_up_proj"), .down = MODEL_LINEAR_NAMES(p "down_proj"),                        \
    .region = MODEL_REGION_NAMES(x), .up_region = MODEL_REGION_NAMES(p "up_in"), .gate_out = p "gate",                 \
    .up_out = p "up", .both_out = p "gate_up", .act = p "silu", .product = p "product", .plain = p "gelu",             \
    .gated = p "silu_mul", .activation = p "gelu", .dropout = p "mlp_dropout", .dropped = p "product_dropped",         \
    .mask = p "product_mask", .dropout_back = p "mlp_dropout.backward", .d_dropped = "d_" p "product_dropped",         \
    .d_product = "d_" p "product", .d_up = "d_" p "up", .d_act = "d_" p "silu", .d_gate = "d_" p "gate",               \
    .d_both = "d_" p "gate_up", .of_gate = "d_" p "normed_of_gate", .gated_back = p "silu_mul.backward",               \
    .mul_back = p "mul.backward", .act_back = p "silu.backward", .split_back = p "split_gate_up.backward",             \
    .sum = p "gate_proj.sum", .activation_back = p "gelu.backward", .apart = p "gate_up_apart",                        \
    .gate_apart = p "gate_apart", .up_apart = p "up_apart"                                                             \
  }

typedef struct {
  const ModelMlpNames *names;
  double width; /* inside, of this rank */
  ModelLinear gate, up, gate_up, down;
  ModelRegion in, up_in;                    /* what the column layers read; the second: up beside a gate */
  ModelSet gate_out, up_out, silu, product; /* plain: up_out, and product is the activation's output; joined: gate_out
                                               and up_out are one, or copies of its halves */
  ModelSet dropped, mask;                   /* what the row layer reads: product, or product dropped out */
} ModelMlp;

/* `width` inside, of this rank. */
void model_mlp_define(ModelBuild *build, ModelMlp *mlp, const ModelMlpNames *names, double width);
void model_mlp_forward(ModelBuild *build, ModelMlp *mlp, ModelSet x, ModelSet y);
/* Returns the gradient of x. */
ModelSet model_mlp_backward(ModelBuild *build, ModelMlp *mlp, ModelSet d_y);
