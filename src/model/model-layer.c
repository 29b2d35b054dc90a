/* One transformer layer, pre-norm: attention and MLP, each a branch beside the residual stream.
 *
 *   input ─┬─ input_norm ─ projections ─ attention ─ o_proj ─┐
 *          └─────────────────────────────────────────────── + ─┬─ post_norm ─ MLP ─┐
 *                                                              └────────────────── + ─ output
 *
 * llama: q_proj, k_proj, v_proj with rotary positions; down_proj(silu(gate_proj) · up_proj). gpt: one qkv_proj;
 * down_proj(gelu(up_proj)); dropout ends each branch. Backward runs in the order of autograd: what forward did last
 * comes first, and a tensor that several ops read gets its gradients summed as they come. */
#include "model-attention.h"

static const ModelLinearNames q_names = MODEL_LINEAR_NAMES("q_proj"), k_names = MODEL_LINEAR_NAMES("k_proj"),
                              v_names = MODEL_LINEAR_NAMES("v_proj"), qkv_names = MODEL_LINEAR_NAMES("qkv_proj"),
                              o_names = MODEL_LINEAR_NAMES("o_proj"), gate_names = MODEL_LINEAR_NAMES("gate_proj"),
                              up_names = MODEL_LINEAR_NAMES("up_proj"), down_names = MODEL_LINEAR_NAMES("down_proj");
static const ModelNormNames input_names = MODEL_NORM_NAMES("input_norm"), post_names = MODEL_NORM_NAMES("post_norm");

typedef struct {
  ModelNorm input_norm, post_norm;
  ModelLinear q, k, v, qkv, o, gate, up, down;
  ModelAttentionTensors attention;
  ModelSet input, normed, middle, middle_normed; /* middle: the residual stream after attention */
  ModelSet gate_out, up_out, silu, product;      /* gpt: up_out, and product is gelu's output */
  ModelSet attention_mask, mlp_mask;             /* of the dropouts that end the branches */
} Layer;

static double stream_bytes(const ModelBuild *build) {
  return build->e * build->t * build->h;
}

/* In Hugging Face's order of definition: a llama layer lists its norms last. */
static void define_parameters(ModelBuild *build, Layer *layer) {
  if (build->shape->family == MODEL_LLAMA) {
    gboolean bias = build->shape->qkv_bias;
    layer->q = model_linear(build, &q_names, build->h, build->q, bias);
    layer->k = model_linear(build, &k_names, build->h, build->kv, bias);
    layer->v = model_linear(build, &v_names, build->h, build->kv, bias);
    layer->o = model_linear(build, &o_names, build->q, build->h, FALSE);
    layer->gate = model_linear(build, &gate_names, build->h, build->f, FALSE);
    layer->up = model_linear(build, &up_names, build->h, build->f, FALSE);
    layer->down = model_linear(build, &down_names, build->f, build->h, FALSE);
    layer->input_norm = model_norm(build, &input_names);
    layer->post_norm = model_norm(build, &post_names);
    return;
  }
  layer->input_norm = model_norm(build, &input_names);
  layer->qkv = model_linear(build, &qkv_names, build->h, build->q + 2 * build->kv, TRUE);
  layer->o = model_linear(build, &o_names, build->q, build->h, TRUE);
  layer->post_norm = model_norm(build, &post_names);
  layer->up = model_linear(build, &up_names, build->h, build->f, TRUE);
  layer->down = model_linear(build, &down_names, build->f, build->h, TRUE);
}

/* Rotary positions as transformers computes them, for q and for k: x · cos (in, out), half of each head negated (in and out,
 * of half), the halves joined (in, out), · sin (in, out), the sum (two in, one out): ten elements moved. Backward: · sin,
 * the two slices' gradients (zeros, then a copy of half) and the negation, · cos, and two sums. Fused: in, out. */
static ModelPasses rope_passes(const ModelBuild *build, ModelDirection direction) {
  if (build->fused)
    return (ModelPasses){KERNEL_MEMORY, 1, 2 * build->e};
  if (direction == MODEL_FORWARD)
    return (ModelPasses){KERNEL_ROTARY, 10, (2 + 1 + 2 + 2 + 3) * build->e};
  return (ModelPasses){KERNEL_ROTARY, 18, (2 + 4 + 1 + 2 + 3 + 3) * build->e};
}

static void rope(ModelBuild *build, ModelDirection direction, const char *name, ModelSet reads, ModelSet writes) {
  ModelPasses passes = rope_passes(build, direction);
  model_build_kernels(build, direction, name, passes.kind, passes.launches,
                      passes.bytes * build->t * (build->q + build->kv), reads, writes);
}

static void projections_forward(ModelBuild *build, Layer *layer) {
  ModelAttentionTensors *at = &layer->attention;
  double q = build->e * build->t * build->q, kv = build->e * build->t * build->kv;
  if (build->shape->family == MODEL_GPT) {
    at->q = at->k = at->v = model_build_inner(build, "qkv", q + 2 * kv);
    model_linear_forward(build, &layer->qkv, layer->normed, at->q);
    return;
  }
  ModelSet q_plain = model_build_inner(build, "q_unrotated", q), k_plain = model_build_inner(build, "k_unrotated", kv);
  at->v = model_build_inner(build, "v", kv);
  model_linear_forward(build, &layer->q, layer->normed, q_plain);
  model_linear_forward(build, &layer->k, layer->normed, k_plain);
  model_linear_forward(build, &layer->v, layer->normed, at->v);
  ModelSet turned = build->fused ? 0 : model_build_scratch(build, "turned", q + kv);
  at->q = model_build_inner(build, "q", q);
  at->k = model_build_inner(build, "k", kv);
  rope(build, MODEL_FORWARD, "rope", q_plain | k_plain | turned, at->q | at->k | turned);
}

static void projections_backward(ModelBuild *build, const Layer *layer, ModelSet d_context, ModelSet d_normed) {
  double q = build->e * build->t * build->q, kv = build->e * build->t * build->kv;
  ModelSet d_q = model_build_inner(build, "d_q", q), d_k = model_build_inner(build, "d_k", kv);
  ModelSet d_v = model_build_inner(build, "d_v", kv);
  model_attention_backward(build, &layer->attention, d_context, d_q, d_k, d_v);
  if (build->shape->family == MODEL_GPT) {
    ModelSet d_qkv = model_build_inner(build, "d_qkv", q + 2 * kv);
    model_build_memory(build, MODEL_BACKWARD, "split_qkv.backward", 2 * (q + 2 * kv), d_q | d_k | d_v, d_qkv);
    model_linear_backward(build, &layer->qkv, layer->normed, d_qkv, d_normed);
    return;
  }
  ModelSet turned = build->fused ? 0 : model_build_scratch(build, "d_turned", q + kv);
  ModelSet d_q_plain = model_build_inner(build, "d_q_unrotated", q),
           d_k_plain = model_build_inner(build, "d_k_unrotated", kv);
  rope(build, MODEL_BACKWARD, "rope.backward", d_q | d_k | turned, d_q_plain | d_k_plain | turned);
  ModelSet of_k = model_build_inner(build, "d_normed_of_k", stream_bytes(build));
  ModelSet of_q = model_build_inner(build, "d_normed_of_q", stream_bytes(build));
  model_linear_backward(build, &layer->v, layer->normed, d_v, d_normed);
  model_linear_backward(build, &layer->k, layer->normed, d_k_plain, of_k);
  model_build_memory(build, MODEL_BACKWARD, "k_proj.sum", 3 * stream_bytes(build), d_normed | of_k, 0);
  model_linear_backward(build, &layer->q, layer->normed, d_q_plain, of_q);
  model_build_memory(build, MODEL_BACKWARD, "q_proj.sum", 3 * stream_bytes(build), d_normed | of_q, 0);
}

/* silu (in, out) and the product (two in, one out); back: the product's two gradients (two in, one out each), silu's
 * (two in, one out). Fused they are one kernel each way, which keeps no silu: two in, one out; back: three in, two out. gelu:
 * in, out; back: two in, one out. */
static void mlp_forward(ModelBuild *build, Layer *layer, ModelSet branch) {
  double f = build->e * build->t * build->f;
  if (build->shape->family == MODEL_GPT) {
    layer->up_out = model_build_inner(build, "up", f);
    layer->product = model_build_inner(build, "gelu", f);
    model_linear_forward(build, &layer->up, layer->middle_normed, layer->up_out);
    model_build_memory(build, MODEL_FORWARD, "gelu", 2 * f, layer->up_out, layer->product)->saves = layer->up_out;
  } else {
    layer->gate_out = model_build_inner(build, "gate", f);
    layer->up_out = model_build_inner(build, "up", f);
    layer->silu = build->fused ? 0 : model_build_inner(build, "silu", f);
    layer->product = model_build_inner(build, "product", f);
    model_linear_forward(build, &layer->gate, layer->middle_normed, layer->gate_out);
    model_linear_forward(build, &layer->up, layer->middle_normed, layer->up_out);
    model_build_kernels(build, MODEL_FORWARD, "silu_mul", KERNEL_MEMORY, build->fused ? 1 : 2,
                        (build->fused ? 3 : 5) * f, layer->gate_out | layer->up_out, layer->silu | layer->product)
        ->saves = layer->gate_out | layer->up_out | layer->silu;
  }
  model_linear_forward(build, &layer->down, layer->product, branch);
}

static void mlp_backward(ModelBuild *build, const Layer *layer, ModelSet d_branch, ModelSet d_normed) {
  double f = build->e * build->t * build->f;
  ModelSet d_product = model_build_inner(build, "d_product", f), d_up = model_build_inner(build, "d_up", f);
  model_linear_backward(build, &layer->down, layer->product, d_branch, d_product);
  if (build->shape->family == MODEL_GPT) {
    model_build_memory(build, MODEL_BACKWARD, "gelu.backward", 3 * f, d_product | layer->up_out, d_up);
    model_linear_backward(build, &layer->up, layer->middle_normed, d_up, d_normed);
    return;
  }
  ModelSet d_silu = build->fused ? 0 : model_build_inner(build, "d_silu", f);
  ModelSet d_gate = model_build_inner(build, "d_gate", f);
  ModelSet of_gate = model_build_inner(build, "d_normed_of_gate", stream_bytes(build));
  if (build->fused)
    model_build_memory(build, MODEL_BACKWARD, "silu_mul.backward", 5 * f, d_product | layer->gate_out | layer->up_out,
                       d_gate | d_up);
  else
    model_build_kernels(build, MODEL_BACKWARD, "mul.backward", KERNEL_MEMORY, 2, 6 * f,
                        d_product | layer->up_out | layer->silu, d_up | d_silu);
  model_linear_backward(build, &layer->up, layer->middle_normed, d_up, d_normed);
  if (!build->fused)
    model_build_memory(build, MODEL_BACKWARD, "silu.backward", 3 * f, d_silu | layer->gate_out, d_gate);
  model_linear_backward(build, &layer->gate, layer->middle_normed, d_gate, of_gate);
  model_build_memory(build, MODEL_BACKWARD, "gate_proj.sum", 3 * stream_bytes(build), d_normed | of_gate, 0);
}

/* Only gpt drops out at the end of its branches. */
static gboolean has_branch_dropout(const ModelBuild *build) {
  return build->shape->family == MODEL_GPT && build->recipe->dropout > 0;
}

/* What the two ends of a branch are called, after the branch and its last linear layer. */
typedef struct {
  const char *out, *dropped, *mask, *dropout, *d_dropped, *dropout_backward, *residual, *residual_backward;
} BranchNames;
#define BRANCH_NAMES(branch, last)                                                                                     \
  {                                                                                                                    \
    .out = branch "_out", .dropped = branch "_out_dropped", .mask = branch "_out_mask", .dropout = last ".dropout",    \
    .d_dropped = "d_" branch "_out", .dropout_backward = last ".dropout.backward", .residual = branch "_residual",     \
    .residual_backward = branch "_residual.backward"                                                                   \
  }
static const BranchNames attention_branch = BRANCH_NAMES("attention", "o_proj");
static const BranchNames mlp_branch = BRANCH_NAMES("mlp", "down_proj");

/* The branch's output, dropped out where that is so, added to the residual. */
static void join_forward(ModelBuild *build, const BranchNames *names, ModelSet branch, ModelSet *ret_mask,
                         ModelSet residual, ModelSet sum) {
  if (has_branch_dropout(build)) {
    ModelSet dropped = model_build_inner(build, names->dropped, stream_bytes(build));
    *ret_mask = model_build_inner(build, names->mask, build->t * build->h);
    model_dropout_forward(build, names->dropout, build->t * build->h, branch, dropped, *ret_mask);
    branch = dropped;
  }
  model_build_memory(build, MODEL_FORWARD, names->residual, 3 * stream_bytes(build), branch | residual, sum);
}

/* The gradient that enters the branch. */
static ModelSet enter_backward(ModelBuild *build, const BranchNames *names, ModelSet mask, ModelSet d_sum) {
  if (!has_branch_dropout(build))
    return d_sum;
  ModelSet d_branch = model_build_inner(build, names->d_dropped, stream_bytes(build));
  model_dropout_backward(build, names->dropout_backward, build->t * build->h, mask, d_sum, d_branch);
  return d_branch;
}

static void forward(ModelBuild *build, Layer *layer) {
  double stream = stream_bytes(build);
  layer->input = model_build_tensor(build, "input", MODEL_TENSOR_INPUT, stream);
  layer->normed = model_build_inner(build, "normed", stream);
  model_norm_forward(build, &layer->input_norm, layer->input, layer->normed);
  projections_forward(build, layer);
  layer->attention.context = model_build_inner(build, "context", build->e * build->t * build->q);
  model_attention_forward(build, &layer->attention);
  ModelSet attention_out = model_build_inner(build, attention_branch.out, stream);
  model_linear_forward(build, &layer->o, layer->attention.context, attention_out);
  layer->middle = model_build_inner(build, "middle", stream);
  join_forward(build, &attention_branch, attention_out, &layer->attention_mask, layer->input, layer->middle);
  layer->middle_normed = model_build_inner(build, "middle_normed", stream);
  model_norm_forward(build, &layer->post_norm, layer->middle, layer->middle_normed);
  ModelSet mlp_out = model_build_inner(build, mlp_branch.out, stream);
  mlp_forward(build, layer, mlp_out);
  ModelSet output = model_build_tensor(build, "output", MODEL_TENSOR_OUTPUT, stream);
  join_forward(build, &mlp_branch, mlp_out, &layer->mlp_mask, layer->middle, output);
}

static void backward(ModelBuild *build, const Layer *layer) {
  double stream = stream_bytes(build);
  ModelSet d_output = model_build_tensor(build, "d_output", MODEL_TENSOR_GRAD_OUTPUT, stream);
  ModelSet d_middle_normed = model_build_inner(build, "d_middle_normed", stream);
  mlp_backward(build, layer, enter_backward(build, &mlp_branch, layer->mlp_mask, d_output), d_middle_normed);
  ModelSet of_norm = model_build_inner(build, "d_middle_of_norm", stream);
  model_norm_backward(build, &layer->post_norm, layer->middle, d_middle_normed, of_norm);
  ModelSet d_middle = model_build_inner(build, "d_middle", stream);
  model_build_memory(build, MODEL_BACKWARD, mlp_branch.residual_backward, 3 * stream, d_output | of_norm, d_middle);

  ModelSet d_context = model_build_inner(build, "d_context", build->e * build->t * build->q);
  ModelSet d_branch = enter_backward(build, &attention_branch, layer->attention_mask, d_middle);
  model_linear_backward(build, &layer->o, layer->attention.context, d_branch, d_context);
  ModelSet d_normed = model_build_inner(build, "d_normed", stream);
  projections_backward(build, layer, d_context, d_normed);
  ModelSet of_input_norm = model_build_inner(build, "d_input_of_norm", stream);
  model_norm_backward(build, &layer->input_norm, layer->input, d_normed, of_input_norm);
  ModelSet d_input = model_build_tensor(build, "d_input", MODEL_TENSOR_GRAD_INPUT, stream);
  model_build_memory(build, MODEL_BACKWARD, attention_branch.residual_backward, 3 * stream, d_middle | of_input_norm,
                     d_input);
}

void model_layer_build(ModelBuild *build) {
  Layer layer = {0};
  define_parameters(build, &layer);
  forward(build, &layer);
  backward(build, &layer);
}
