/* SPDX-License-Identifier: MIT */
/* Router, grouped matmuls and shared experts as operations, each way. */
#include "model-experts.h"

#include <math.h>

#include "model-projections.h"

#define INDEX_BYTES 8.0 /* of an int64 */
/* Kernels: casting, scoring, choosing and weighing (top_k). transformers, models/mixtral/modeling_mixtral.py;
 * torchtitan, models/moe/moe.py; Megatron-LM, transformer/moe/moe_utils.py */
#define TOP_K_LAUNCHES 4
#define AUX_LAUNCHES   4

static const ModelMlpNames shared_names = MODEL_MLP_NAMES("shared_", "shared_in");

/* Of this rank. */
static double expert_width(const ModelBuild *build) {
  return (double)build->shape->expert_intermediate_size / model_experts_splits(build);
}

static double experts_of(const ModelBuild *build) {
  return (double)build->shape->experts;
}

static gboolean is_gated(const ModelBuild *build) {
  return model_build_has(build, MODEL_GATED);
}

static gboolean is_joined(const ModelBuild *build) {
  return is_gated(build) && model_projections_gate_joined(build);
}

/* ---- Parameters ---- */

/* Of a router: alike on all ranks, each making the gradient of its own tokens. */
static int whole_parameter(ModelBuild *build, const char *name, double rows, double columns) {
  int parameter = model_build_parameter(build, name, rows, columns);
  model_build_place(build, parameter, build->sequence ? MODEL_PLACE_SUMMED : MODEL_PLACE_WHOLE, rows * columns);
  return parameter;
}

int model_experts_parameter(ModelBuild *build, const ModelExperts *experts, const char *name, double rows,
                            double columns, gboolean split) {
  int parameter = whole_parameter(build, name, experts->held * rows, columns);
  double whole = experts_of(build) * rows * columns * (split ? model_experts_splits(build) : 1);
  if (split && model_experts_splits(build) > 1)
    model_build_place(build, parameter, MODEL_PLACE_SPLIT, whole);
  build->parameters[parameter].whole = (guint64)whole;
  build->parameters[parameter].expert = TRUE;
  build->parameters[parameter].fp8 = columns > 1 && model_fp8_by_engine(build);
  return parameter;
}

static void define_grouped(ModelBuild *build, ModelExperts *experts) {
  double f = expert_width(build), inside = is_joined(build) ? 2 * f : f;
  gboolean bias = model_build_has(build, MODEL_MLP_BIAS);
  experts->gate = experts->up = experts->gate_bias = experts->up_bias = experts->down_bias = -1;
  if (is_gated(build))
    experts->gate = model_experts_parameter(
        build, experts, is_joined(build) ? "experts.gate_up_proj.weight" : "experts.gate_proj.weight", inside, build->h,
        TRUE);
  if (is_gated(build) && bias)
    experts->gate_bias = model_experts_parameter(
        build, experts, is_joined(build) ? "experts.gate_up_proj.bias" : "experts.gate_proj.bias", inside, 1, TRUE);
  if (!is_joined(build))
    experts->up = model_experts_parameter(build, experts, "experts.up_proj.weight", f, build->h, TRUE);
  if (!is_joined(build) && bias)
    experts->up_bias = model_experts_parameter(build, experts, "experts.up_proj.bias", f, 1, TRUE);
  experts->down = model_experts_parameter(build, experts, "experts.down_proj.weight", build->h, f, TRUE);
  model_experts_adapters(build, experts, f);
  if (bias)
    experts->down_bias = model_experts_parameter(build, experts, "experts.down_proj.bias", build->h, 1, FALSE);
}

/* Rows and groups of this rank. Where there are fewer rows than experts, as many groups as rows. */
static void count_rows(const ModelBuild *build, ModelExperts *experts) {
  double capacity = build->recipe->expert_capacity > 0 ? build->recipe->expert_capacity : 1;
  gboolean drops = build->recipe->expert_capacity > 0, shares = model_experts_ranks(build) > 1;
  experts->tokens = build->between;
  experts->rows = ceil(build->between * (double)build->shape->experts_per_token * capacity);
  experts->arrived = shares && !drops ? ceil(experts->rows * MAX(build->recipe->expert_imbalance, 1)) : experts->rows;
  experts->worked = experts->arrived * model_experts_splits(build);
  experts->held = experts_of(build) / model_experts_ranks(build);
  experts->groups = MIN(experts->held, experts->worked);
  experts->per_group = experts->worked / experts->groups;
}

void model_experts_define(ModelBuild *build, ModelExperts *experts) {
  count_rows(build, experts);
  experts->router = whole_parameter(build, "router.weight", experts_of(build), build->h);
  experts->router_bias = experts->shared_gate = -1;
  if (model_build_has(build, MODEL_ROUTER_BIAS))
    experts->router_bias = whole_parameter(build, "router.bias", experts_of(build), 1);
  define_grouped(build, experts);
  if (build->shape->shared_intermediate_size == 0)
    return;
  model_mlp_define(build, &experts->shared, &shared_names,
                   (double)build->shape->shared_intermediate_size / build->tensor);
  if (model_build_has(build, MODEL_SHARED_GATE))
    experts->shared_gate = whole_parameter(build, "shared_gate.weight", 1, build->h);
}

static guint64 mask_of(int weight, int bias) {
  return (weight >= 0 ? (guint64)1 << weight : 0) | (bias >= 0 ? (guint64)1 << bias : 0);
}

/* ---- Grouped matmuls ---- */

/* Of the rows, those that are neither padding nor more than the mean. */
static double useful_part(const ModelBuild *build, const ModelExperts *experts) {
  return experts->tokens * (double)build->shape->experts_per_token / experts->arrived;
}

/* Transformer Engine's is a loop over groups, on a few streams so that they fill the device together (module/
 * grouped_linear.py, cublas_grouped_gemm): the host launches each. Others are one kernel. */
static void launch_each(ModelBuild *build, const ModelExperts *experts, ModelDirection direction) {
  if (model_fp8_by_engine(build))
    model_build_in_fp8(build, direction);
  if (build->recipe->experts_by_engine)
    build->kernels[direction][build->n_ops[direction] - 1].launches = (guint32)MIN(experts->groups, G_MAXUINT32);
}

ModelOp *model_experts_matmul(ModelBuild *build, const ModelExperts *experts, ModelDirection direction,
                              const char *name, double out, double in, ModelSet reads, ModelSet writes) {
  ModelOp *op = model_build_matmul(build, direction, name, experts->groups, experts->per_group, out, in, reads, writes);
  launch_each(build, experts, direction);
  op->nominal_flops *= useful_part(build, experts);
  return op;
}

void model_experts_wgrad(ModelBuild *build, const ModelExperts *experts, const char *name, double out, double in,
                         ModelSet reads, int weight) {
  ModelOp *op = model_build_matmul(build, MODEL_BACKWARD, name, experts->groups, out, in, experts->per_group, reads, 0);
  model_build_is_wgrad(build);
  launch_each(build, experts, MODEL_BACKWARD);
  op->nominal_flops *= useful_part(build, experts);
  op->gradient_of = weight;
}

static void grouped_bgrad(ModelBuild *build, const ModelExperts *experts, const char *name, double out, ModelSet d_y,
                          int bias) {
  if (bias >= 0)
    model_build_kernels(build, MODEL_BACKWARD, name, KERNEL_REDUCTION, 1,
                        model_experts_bytes(build, experts->worked, out), d_y, 0)
        ->gradient_of = bias;
}

/* ---- Forward ---- */

static void route_forward(ModelBuild *build, ModelExperts *experts) {
  double scores = experts->tokens * experts_of(build), wide = MODEL_BYTES_FP32 * scores;
  double chosen = experts->tokens * (double)build->shape->experts_per_token * (MODEL_BYTES_FP32 + INDEX_BYTES);
  experts->logits = model_build_inner(build, "router_logits", build->e * scores);
  experts->probabilities = model_build_inner(build, "router_probabilities", wide);
  experts->chosen = model_build_inner(build, "router_chosen", chosen);
  ModelOp *op = model_build_matmul(build, MODEL_FORWARD, "router", 1, experts->tokens, experts_of(build), build->h,
                                   experts->x, experts->logits);
  op->saves = experts->x;
  op->uses = mask_of(experts->router, experts->router_bias);
  op = model_build_kernels(build, MODEL_FORWARD, "router.top_k", KERNEL_MEMORY, TOP_K_LAUNCHES,
                           build->e * scores + 4 * wide + chosen, experts->logits,
                           experts->probabilities | experts->chosen);
  op->saves = experts->probabilities | experts->chosen;
  model_build_kernels(build, MODEL_FORWARD, "router.aux_loss", KERNEL_MEMORY, AUX_LAUNCHES, 3 * wide + chosen,
                      experts->probabilities | experts->chosen, 0);
}

/* As model-mlp.c, of rows. */
static void inside_forward(ModelBuild *build, ModelExperts *experts) {
  double f = expert_width(build), inside = model_experts_bytes(build, experts->worked, f);
  gboolean joined = is_joined(build), fused = build->fused_activation, gated = is_gated(build);
  experts->gate_out =
      gated ? model_build_inner(build, joined ? "rows_gate_up" : "rows_gate", joined ? 2 * inside : inside) : 0;
  experts->up_out = joined ? experts->gate_out : model_build_inner(build, "rows_up", inside);
  experts->act = fused || !gated ? 0 : model_build_inner(build, "rows_act", inside);
  experts->product = model_build_inner(build, "rows_product", inside);
  ModelSet weights = model_experts_weigh_last(build) ? 0 : experts->chosen;
  gboolean counted = model_experts_counts_late(build);
  ModelSet padded = model_experts_pad(build, experts, experts->input, MODEL_FORWARD);
  ModelFp8Pair input = model_experts_cast(build, experts, MODEL_EXPERTS_INPUT, build->h, padded);
  experts->kept_input = input.columns;
  if (gated) {
    ModelSet plain = model_experts_plain(build, experts, &experts->gate_adapter, experts->gate_out);
    ModelOp *op =
        model_experts_matmul(build, experts, MODEL_FORWARD, joined ? "experts.gate_up_proj" : "experts.gate_proj",
                             joined ? 2 * f : f, build->h, input.rows, plain);
    op->saves = input.columns;
    op->uses = mask_of(experts->gate, experts->gate_bias);
    op->counted = counted;
    model_experts_adapt(build, experts, &experts->gate_adapter, input.rows, plain, experts->gate_out);
  }
  if (!joined) {
    ModelSet plain = model_experts_plain(build, experts, &experts->up_adapter, experts->up_out);
    ModelOp *op =
        model_experts_matmul(build, experts, MODEL_FORWARD, "experts.up_proj", f, build->h, input.rows, plain);
    op->saves = input.columns;
    op->uses = mask_of(experts->up, experts->up_bias);
    op->counted = counted && !gated;
    model_experts_adapt(build, experts, &experts->up_adapter, input.rows, plain, experts->up_out);
  }
  model_build_kernels(build, MODEL_FORWARD, "experts.act", joined && !fused ? KERNEL_ROTARY : KERNEL_MEMORY,
                      fused || !gated ? 1 : 2,
                      (!gated  ? 2
                       : fused ? 3
                               : 5) *
                          inside,
                      experts->gate_out | experts->up_out | weights, experts->act | experts->product)
      ->saves = experts->gate_out | experts->up_out | experts->act | weights;
}

static ModelSet down_forward(ModelBuild *build, ModelExperts *experts) {
  ModelFp8Pair product =
      model_experts_cast(build, experts, MODEL_EXPERTS_PRODUCT, expert_width(build), experts->product);
  ModelSet out = model_build_inner(build, "rows_out", model_experts_bytes(build, experts->worked, build->h));
  ModelSet plain = model_experts_plain(build, experts, &experts->down_adapter, out);
  ModelOp *op = model_experts_matmul(build, experts, MODEL_FORWARD, "experts.down_proj", build->h, expert_width(build),
                                     product.rows, plain);
  op->saves = experts->kept_product = product.columns;
  op->uses = mask_of(experts->down, experts->down_bias);
  model_experts_adapt(build, experts, &experts->down_adapter, product.rows, plain, out);
  return model_experts_unpad(build, experts, out, MODEL_FORWARD);
}

/* A number per token, its sigmoid, and the product with what the shared experts made. */
static ModelSet gate_forward(ModelBuild *build, ModelExperts *experts, ModelSet shared) {
  double stream = model_experts_bytes(build, experts->tokens, build->h);
  if (experts->shared_gate < 0)
    return shared;
  experts->shared_score = model_build_inner(build, "shared_score", model_experts_bytes(build, experts->tokens, 1));
  ModelSet gated = model_build_inner(build, "shared_gated", stream);
  ModelOp *op = model_build_matmul(build, MODEL_FORWARD, "shared_gate", 1, experts->tokens, 1, build->h, experts->x,
                                   experts->shared_score);
  op->saves = experts->x;
  op->uses = mask_of(experts->shared_gate, -1);
  model_build_kernels(build, MODEL_FORWARD, "shared_gate.mul", KERNEL_MEMORY, 2, 2 * stream,
                      shared | experts->shared_score, gated)
      ->saves = shared | experts->shared_score;
  return gated;
}

static void shared_forward(ModelBuild *build, ModelExperts *experts, ModelSet routed, ModelSet y) {
  double stream = model_experts_bytes(build, experts->tokens, build->h);
  experts->shared_out = model_build_inner(build, "shared_out", stream);
  model_mlp_forward(build, &experts->shared, experts->x, experts->shared_out);
  ModelSet shared = gate_forward(build, experts, experts->shared_out);
  model_build_memory(build, MODEL_FORWARD, "shared.add", 3 * stream, routed | shared, y);
}

void model_experts_forward(ModelBuild *build, ModelExperts *experts, ModelSet x, ModelSet y) {
  gboolean shared = build->shape->shared_intermediate_size > 0;
  experts->x = x;
  route_forward(build, experts);
  model_experts_dispatch(build, experts);
  inside_forward(build, experts);
  ModelSet routed = model_experts_combine(build, experts, down_forward(build, experts), shared ? 0 : y);
  if (shared)
    shared_forward(build, experts, routed, y);
}

/* ---- Backward ---- */

/* Returns the shared experts' part of x's gradient, and the gate's added to it. */
static ModelSet shared_backward(ModelBuild *build, ModelExperts *experts, ModelSet d_y) {
  double stream = model_experts_bytes(build, experts->tokens, build->h);
  if (experts->shared_gate < 0)
    return model_mlp_backward(build, &experts->shared, d_y);
  ModelSet d_score = model_build_inner(build, "d_shared_score", model_experts_bytes(build, experts->tokens, 1));
  ModelSet d_shared = model_build_inner(build, "d_shared_out", stream);
  ModelSet of_gate = model_build_inner(build, "d_x_of_shared_gate", stream);
  model_build_kernels(build, MODEL_BACKWARD, "shared_gate.mul.backward", KERNEL_MEMORY, 4, 4 * stream,
                      d_y | experts->shared_out | experts->shared_score, d_shared | d_score);
  model_build_matmul(build, MODEL_BACKWARD, "shared_gate.dgrad", 1, experts->tokens, build->h, 1, d_score, of_gate)
      ->uses = mask_of(experts->shared_gate, -1);
  model_build_wgrad(build, "shared_gate.wgrad", 1, build->h, experts->tokens, d_score | experts->x)->gradient_of =
      experts->shared_gate;
  ModelSet of_shared = model_mlp_backward(build, &experts->shared, d_shared);
  model_build_memory(build, MODEL_BACKWARD, "shared_gate.sum", 3 * stream, of_shared | of_gate, 0);
  return of_shared;
}

static ModelSet down_backward(ModelBuild *build, const ModelExperts *experts, ModelSet d_out) {
  double f = expert_width(build);
  ModelSet d_product = model_build_inner(build, "d_rows_product", model_experts_bytes(build, experts->worked, f));
  d_out = model_experts_pad(build, experts, d_out, MODEL_BACKWARD);
  ModelSet part = model_experts_adapt_backward(build, experts, &experts->down_adapter, experts->kept_product, d_out);
  ModelFp8Pair cast = model_experts_cast(build, experts, MODEL_EXPERTS_D_OUT, build->h, d_out);
  model_experts_matmul(build, experts, MODEL_BACKWARD, "experts.down_proj.dgrad", f, build->h, cast.rows, d_product)
      ->uses = mask_of(experts->down, -1);
  model_experts_wgrad(build, experts, "experts.down_proj.wgrad", build->h, f, cast.columns | experts->kept_product,
                      experts->down);
  grouped_bgrad(build, experts, "experts.down_proj.bgrad", build->h, d_out, experts->down_bias);
  model_experts_adapt_sum(build, experts, &experts->down_adapter, part, d_product);
  return d_product;
}

/* Fused: three read, two written (a plain one: two and one); else the product's two gradients and the activation's,
 * and for a joined matmul both put beside each other. */
static void act_backward(ModelBuild *build, const ModelExperts *experts, ModelSet d_product, ModelSet d_gate,
                         ModelSet d_up, ModelSet d_chosen) {
  double inside = model_experts_bytes(build, experts->worked, expert_width(build));
  gboolean fused = build->fused_activation, gated = is_gated(build), joined = is_joined(build);
  double passes = !gated ? 3 : fused ? 5 : 9 + (joined ? 4 : 0);
  guint32 launches = !gated || fused ? 1 : joined ? 4 : 3;
  model_build_kernels(build, MODEL_BACKWARD, "experts.act.backward", joined && !fused ? KERNEL_ROTARY : KERNEL_MEMORY,
                      launches, passes * inside,
                      d_product | experts->gate_out | experts->up_out | experts->act |
                          (d_chosen != 0 ? experts->chosen : 0),
                      d_gate | d_up | d_chosen);
}

/* What one of the column projections is differentiated by. */
typedef struct {
  ModelExpertsCast cast;
  const char *dgrad, *wgrad, *bgrad;
  int weight, bias;
  const ModelAdapter *adapter;
} Projection;

static void one_backward(ModelBuild *build, const ModelExperts *experts, const Projection *of, double out, ModelSet d_y,
                         ModelSet d_x) {
  ModelSet part = model_experts_adapt_backward(build, experts, of->adapter, experts->kept_input, d_y);
  ModelFp8Pair cast = model_experts_cast(build, experts, of->cast, out, d_y);
  model_experts_matmul(build, experts, MODEL_BACKWARD, of->dgrad, build->h, out, cast.rows, d_x)->uses =
      mask_of(of->weight, -1);
  model_experts_wgrad(build, experts, of->wgrad, out, build->h, cast.columns | experts->kept_input, of->weight);
  grouped_bgrad(build, experts, of->bgrad, out, d_y, of->bias);
  model_experts_adapt_sum(build, experts, of->adapter, part, d_x);
}

static ModelSet inside_backward(ModelBuild *build, const ModelExperts *experts, ModelSet d_product, ModelSet d_chosen) {
  const Projection gate = {
      MODEL_EXPERTS_D_GATE, "experts.gate_proj.dgrad", "experts.gate_proj.wgrad", "experts.gate_proj.bgrad",
      experts->gate,        experts->gate_bias,        &experts->gate_adapter};
  const Projection up = {MODEL_EXPERTS_D_UP, "experts.up_proj.dgrad", "experts.up_proj.wgrad", "experts.up_proj.bgrad",
                         experts->up,        experts->up_bias,        &experts->up_adapter};
  const Projection both = {
      MODEL_EXPERTS_D_GATE, "experts.gate_up_proj.dgrad", "experts.gate_up_proj.wgrad", "experts.gate_up_proj.bgrad",
      experts->gate,        experts->gate_bias,           &experts->gate_adapter};
  double f = expert_width(build), inside = model_experts_bytes(build, experts->worked, f);
  double worked = model_experts_bytes(build, experts->worked, build->h);
  ModelSet d_input = model_build_inner(build, "d_rows_gathered", worked);
  if (is_joined(build)) {
    ModelSet d_both = model_build_inner(build, "d_rows_gate_up", 2 * inside);
    act_backward(build, experts, d_product, d_both, 0, d_chosen);
    one_backward(build, experts, &both, 2 * f, d_both, d_input);
    return model_experts_unpad(build, experts, d_input, MODEL_BACKWARD);
  }
  gboolean in_place = build->in_place && is_gated(build);
  ModelSet d_up = in_place ? experts->up_out : model_build_inner(build, "d_rows_up", inside);
  ModelSet d_gate = in_place          ? experts->gate_out
                    : is_gated(build) ? model_build_inner(build, "d_rows_gate", inside)
                                      : 0;
  act_backward(build, experts, d_product, in_place ? 0 : d_gate, in_place ? 0 : d_up, d_chosen);
  one_backward(build, experts, &up, f, d_up, d_input);
  if (!is_gated(build))
    return model_experts_unpad(build, experts, d_input, MODEL_BACKWARD);
  ModelSet of_gate = model_build_inner(build, "d_rows_of_gate", worked);
  one_backward(build, experts, &gate, f, d_gate, of_gate);
  model_build_memory(build, MODEL_BACKWARD, "experts.gate_proj.sum", 3 * worked, d_input | of_gate, 0);
  return model_experts_unpad(build, experts, d_input, MODEL_BACKWARD);
}

static ModelSet route_backward(ModelBuild *build, const ModelExperts *experts, ModelSet d_chosen) {
  double scores = experts->tokens * experts_of(build);
  ModelSet d_logits = model_build_inner(build, "d_router_logits", build->e * scores);
  ModelSet d_x = model_build_inner(build, "d_x_of_router", model_experts_bytes(build, experts->tokens, build->h));
  model_build_kernels(build, MODEL_BACKWARD, "router.top_k.backward", KERNEL_MEMORY, TOP_K_LAUNCHES,
                      (3 * MODEL_BYTES_FP32 + build->e) * scores, d_chosen | experts->probabilities | experts->chosen,
                      d_logits);
  model_build_matmul(build, MODEL_BACKWARD, "router.dgrad", 1, experts->tokens, build->h, experts_of(build), d_logits,
                     d_x)
      ->uses = mask_of(experts->router, -1);
  model_build_wgrad(build, "router.wgrad", experts_of(build), build->h, experts->tokens, d_logits | experts->x)
      ->gradient_of = experts->router;
  if (experts->router_bias >= 0)
    model_build_kernels(build, MODEL_BACKWARD, "router.bgrad", KERNEL_REDUCTION, 1, build->e * scores, d_logits, 0)
        ->gradient_of = experts->router_bias;
  return d_x;
}

ModelSet model_experts_backward(ModelBuild *build, ModelExperts *experts, ModelSet d_y) {
  double stream = model_experts_bytes(build, experts->tokens, build->h);
  gboolean shared = build->shape->shared_intermediate_size > 0;
  ModelSet of_shared = shared ? shared_backward(build, experts, d_y) : 0, d_chosen;
  ModelSet d_out = model_experts_combine_backward(build, experts, d_y, &d_chosen);
  ModelSet d_product = down_backward(build, experts, d_out);
  if (!model_experts_weigh_last(build))
    d_chosen = model_experts_d_chosen(build, experts);
  ModelSet d_input = inside_backward(build, experts, d_product, model_experts_weigh_last(build) ? 0 : d_chosen);
  ModelSet of_rows = model_experts_dispatch_backward(build, experts, d_input);
  ModelSet of_router = route_backward(build, experts, d_chosen);
  ModelSet d_x = model_build_inner(build, "d_x", stream);
  model_build_kernels(build, MODEL_BACKWARD, "experts.sum", KERNEL_MEMORY, shared ? 2 : 1, (shared ? 6 : 3) * stream,
                      of_rows | of_router | of_shared, d_x);
  return d_x;
}
