/* One transformer layer, pre-norm: attention and MLP, each a branch beside the residual stream.
 *
 *   input ─┬─ input_norm ─ projections ─ attention ─ o_proj ─┐
 *          └─────────────────────────────────────────────── + ─┬─ post_norm ─ MLP ─┐
 *                                                              └────────────────── + ─ output
 *
 * Projections: model-projections.h. llama: down_proj(silu(gate_proj) · up_proj), gate and up by one matmul where projections are
 * joined; gpt: down_proj(gelu(up_proj)); dropout ends each branch. Backward runs in the order of autograd: what forward did last
 * comes first, and a tensor that several ops read gets its gradients summed as they come. */
#include "model-projections.h"

static const ModelLinearNames o_names = MODEL_LINEAR_NAMES("o_proj"), gate_names = MODEL_LINEAR_NAMES("gate_proj"),
                              up_names = MODEL_LINEAR_NAMES("up_proj"), down_names = MODEL_LINEAR_NAMES("down_proj"),
                              gate_up_names = MODEL_LINEAR_NAMES("gate_up_proj");
static const ModelNormNames input_names = MODEL_NORM_NAMES("input_norm"), post_names = MODEL_NORM_NAMES("post_norm");
static const ModelRegionNames attention_region = MODEL_REGION_NAMES("normed"),
                              mlp_region = MODEL_REGION_NAMES("middle_normed");

typedef struct {
  ModelNorm input_norm, post_norm;
  ModelProjections projections;
  ModelLinear o, gate, up, gate_up, down;
  ModelAttentionTensors attention;
  ModelRegion attention_in, mlp_in;              /* what the branches' column layers read */
  ModelSet input, normed, middle, middle_normed; /* middle: the residual stream after attention */
  ModelSet gate_out, up_out, silu, product;      /* gpt: up_out, and product is gelu's output */
  ModelSet attention_mask, mlp_mask;             /* of the dropouts that end the branches */
} Layer;

static double stream_bytes(const ModelBuild *build) {
  return build->e * build->between * build->h;
}

/* The same of all tokens that a tensor-parallel region reads. */
static double whole_bytes(const ModelBuild *build) {
  return build->e * build->t * build->h;
}

/* In Hugging Face's order of definition: a llama layer lists its norms last. */
static void define_parameters(ModelBuild *build, Layer *layer) {
  gboolean gpt = build->shape->family == MODEL_GPT;
  if (gpt)
    layer->input_norm = model_norm(build, &input_names);
  model_projections_define(build, &layer->projections);
  layer->o = model_linear(build, &o_names, MODEL_ROWS, build->q, build->h, gpt);
  if (gpt)
    layer->post_norm = model_norm(build, &post_names);
  if (!gpt && model_projections_joined(build))
    layer->gate_up = model_linear(build, &gate_up_names, MODEL_COLUMNS, build->h, 2 * build->f, FALSE);
  else if (!gpt)
    layer->gate = model_linear(build, &gate_names, MODEL_COLUMNS, build->h, build->f, FALSE);
  if (gpt || !model_projections_joined(build))
    layer->up = model_linear(build, &up_names, MODEL_COLUMNS, build->h, build->f, gpt);
  layer->down = model_linear(build, &down_names, MODEL_ROWS, build->f, build->h, gpt);
  if (gpt)
    return;
  layer->input_norm = model_norm(build, &input_names);
  layer->post_norm = model_norm(build, &post_names);
}

/* silu (in, out) and the product (two in, one out); back: the product's two gradients (two in, one out each), silu's
 * (two in, one out). Fused they are one kernel each way, which keeps no silu: two in, one out; back: three in, two out. Of a
 * joined matmul's output both read halves of rows, with stride, and their gradients are joined after. */
static void gated_forward(ModelBuild *build, Layer *layer, ModelSet normed) {
  double f = build->e * build->t * build->f;
  gboolean joined = model_projections_joined(build), fused = build->fused_activation;
  layer->gate_out = model_build_inner(build, joined ? "gate_up" : "gate", joined ? 2 * f : f);
  layer->up_out = joined ? layer->gate_out : model_build_inner(build, "up", f);
  layer->silu = fused ? 0 : model_build_inner(build, "silu", f);
  layer->product = model_build_inner(build, "product", f);
  if (joined) {
    model_linear_forward(build, &layer->gate_up, normed, layer->gate_out);
  } else {
    model_linear_forward(build, &layer->gate, normed, layer->gate_out);
    model_linear_forward(build, &layer->up, normed, layer->up_out);
  }
  model_build_kernels(build, MODEL_FORWARD, "silu_mul", joined && !fused ? KERNEL_ROTARY : KERNEL_MEMORY, fused ? 1 : 2,
                      (fused ? 3 : 5) * f, layer->gate_out | layer->up_out, layer->silu | layer->product)
      ->saves = layer->gate_out | layer->up_out | layer->silu;
}

static void mlp_forward(ModelBuild *build, Layer *layer, ModelSet branch) {
  double f = build->e * build->t * build->f;
  ModelSet normed = model_region_enter(build, &layer->mlp_in, &mlp_region, layer->middle_normed);
  if (build->shape->family == MODEL_GPT) {
    layer->up_out = model_build_inner(build, "up", f);
    layer->product = model_build_inner(build, "gelu", f);
    model_linear_forward(build, &layer->up, normed, layer->up_out);
    model_build_memory(build, MODEL_FORWARD, "gelu", 2 * f, layer->up_out, layer->product)->saves = layer->up_out;
  } else {
    gated_forward(build, layer, normed);
  }
  model_linear_forward(build, &layer->down, layer->product, branch);
}

static ModelSet separate_gate_backward(ModelBuild *build, Layer *layer, ModelSet d_product, ModelSet d_normed) {
  double f = build->e * build->t * build->f;
  ModelSet d_up = model_build_inner(build, "d_up", f);
  ModelSet d_silu = build->fused_activation ? 0 : model_build_inner(build, "d_silu", f);
  ModelSet d_gate = model_build_inner(build, "d_gate", f);
  ModelSet of_gate = model_build_inner(build, "d_normed_of_gate", whole_bytes(build));
  if (build->fused_activation)
    model_build_memory(build, MODEL_BACKWARD, "silu_mul.backward", 5 * f, d_product | layer->gate_out | layer->up_out,
                       d_gate | d_up);
  else
    model_build_kernels(build, MODEL_BACKWARD, "mul.backward", KERNEL_MEMORY, 2, 6 * f,
                        d_product | layer->up_out | layer->silu, d_up | d_silu);
  model_region_return(build, &layer->mlp_in);
  model_linear_backward(build, &layer->up, layer->mlp_in.again, d_up, d_normed);
  if (!build->fused_activation)
    model_build_memory(build, MODEL_BACKWARD, "silu.backward", 3 * f, d_silu | layer->gate_out, d_gate);
  model_linear_backward(build, &layer->gate, layer->mlp_in.again, d_gate, of_gate);
  model_build_memory(build, MODEL_BACKWARD, "gate_proj.sum", 3 * whole_bytes(build), d_normed | of_gate, 0);
  return model_region_leave(build, &layer->mlp_in, d_normed);
}

static ModelSet joined_gate_backward(ModelBuild *build, Layer *layer, ModelSet d_product, ModelSet d_normed) {
  double f = build->e * build->t * build->f;
  ModelSet d_gate_up = model_build_inner(build, "d_gate_up", 2 * f);
  if (build->fused_activation) {
    model_build_memory(build, MODEL_BACKWARD, "silu_mul.backward", 5 * f, d_product | layer->gate_out, d_gate_up);
  } else {
    ModelSet d_silu = model_build_inner(build, "d_silu", f), d_up = model_build_inner(build, "d_up", f);
    ModelSet d_gate = model_build_inner(build, "d_gate", f);
    model_build_kernels(build, MODEL_BACKWARD, "mul.backward", KERNEL_ROTARY, 2, 6 * f,
                        d_product | layer->up_out | layer->silu, d_up | d_silu);
    model_build_kernels(build, MODEL_BACKWARD, "silu.backward", KERNEL_ROTARY, 1, 3 * f, d_silu | layer->gate_out,
                        d_gate);
    model_build_memory(build, MODEL_BACKWARD, "split_gate_up.backward", 4 * f, d_gate | d_up, d_gate_up);
  }
  return model_region_backward(build, &layer->mlp_in, &layer->gate_up, d_gate_up, d_normed);
}

/* gelu: in, out; back: two in, one out. Returns the gradient of what the region read. */
static ModelSet mlp_backward(ModelBuild *build, Layer *layer, ModelSet d_branch, ModelSet d_normed) {
  double f = build->e * build->t * build->f;
  ModelSet d_product = model_build_inner(build, "d_product", f);
  model_linear_backward(build, &layer->down, layer->product, d_branch, d_product);
  if (build->shape->family == MODEL_GPT) {
    ModelSet d_up = model_build_inner(build, "d_up", f);
    model_build_memory(build, MODEL_BACKWARD, "gelu.backward", 3 * f, d_product | layer->up_out, d_up);
    return model_region_backward(build, &layer->mlp_in, &layer->up, d_up, d_normed);
  }
  return (model_projections_joined(build) ? joined_gate_backward : separate_gate_backward)(build, layer, d_product,
                                                                                           d_normed);
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

/* The branch's output, dropped out where that is so, added to the residual: fused (Megatron-LM's bias_dropout_add), by one kernel
 * that reads both, and writes the sum and the mask. */
static void join_forward(ModelBuild *build, const BranchNames *names, ModelSet branch, ModelSet *ret_mask,
                         ModelSet residual, ModelSet sum) {
  double elements = build->between * build->h;
  if (has_branch_dropout(build))
    *ret_mask = model_build_inner(build, names->mask, elements);
  if (has_branch_dropout(build) && build->fused_activation) {
    model_build_memory(build, MODEL_FORWARD, names->residual, 3 * stream_bytes(build) + elements, branch | residual,
                       sum | *ret_mask)
        ->saves = *ret_mask;
    return;
  }
  if (has_branch_dropout(build)) {
    ModelSet dropped = model_build_inner(build, names->dropped, stream_bytes(build));
    model_dropout_forward(build, names->dropout, elements, branch, dropped, *ret_mask);
    branch = dropped;
  }
  model_build_memory(build, MODEL_FORWARD, names->residual, 3 * stream_bytes(build), branch | residual, sum);
}

/* The gradient that enters the branch. */
static ModelSet enter_backward(ModelBuild *build, const BranchNames *names, ModelSet mask, ModelSet d_sum) {
  if (!has_branch_dropout(build))
    return d_sum;
  ModelSet d_branch = model_build_inner(build, names->d_dropped, stream_bytes(build));
  model_dropout_backward(build, names->dropout_backward, build->between * build->h, mask, d_sum, d_branch);
  return d_branch;
}

static void forward(ModelBuild *build, Layer *layer) {
  double stream = stream_bytes(build);
  layer->input = model_build_tensor(build, "input", MODEL_TENSOR_INPUT, stream);
  layer->normed = model_build_inner(build, "normed", stream);
  model_norm_forward(build, &layer->input_norm, layer->input, layer->normed);
  ModelSet normed = model_region_enter(build, &layer->attention_in, &attention_region, layer->normed);
  model_projections_forward(build, &layer->projections, normed, &layer->attention);
  layer->attention.context = model_build_inner(build, "context", build->e * build->t * build->q);
  model_attention_forward(build, &layer->attention);
  ModelSet attention_out = model_build_inner(build, attention_branch.out, stream);
  model_projections_output(build, &layer->o, layer->attention.context, attention_out);
  layer->middle = model_build_inner(build, "middle", stream);
  join_forward(build, &attention_branch, attention_out, &layer->attention_mask, layer->input, layer->middle);
  layer->middle_normed = model_build_inner(build, "middle_normed", stream);
  model_norm_forward(build, &layer->post_norm, layer->middle, layer->middle_normed);
  ModelSet mlp_out = model_build_inner(build, mlp_branch.out, stream);
  mlp_forward(build, layer, mlp_out);
  ModelSet output = model_build_tensor(build, "output", MODEL_TENSOR_OUTPUT, stream);
  join_forward(build, &mlp_branch, mlp_out, &layer->mlp_mask, layer->middle, output);
}

static void backward(ModelBuild *build, Layer *layer) {
  double stream = stream_bytes(build);
  ModelSet d_output = model_build_tensor(build, "d_output", MODEL_TENSOR_GRAD_OUTPUT, stream);
  ModelSet d_middle_normed = model_region_gradient(build, &layer->mlp_in);
  d_middle_normed =
      mlp_backward(build, layer, enter_backward(build, &mlp_branch, layer->mlp_mask, d_output), d_middle_normed);
  ModelSet of_norm = model_build_inner(build, "d_middle_of_norm", stream);
  model_norm_backward(build, &layer->post_norm, layer->middle, d_middle_normed, of_norm);
  ModelSet d_middle = model_build_inner(build, "d_middle", stream);
  model_build_memory(build, MODEL_BACKWARD, mlp_branch.residual_backward, 3 * stream, d_output | of_norm, d_middle);

  ModelSet d_branch = enter_backward(build, &attention_branch, layer->attention_mask, d_middle);
  ModelSet d_context = model_projections_output_backward(build, &layer->o, layer->attention.context, d_branch);
  ModelSet d_normed = model_region_gradient(build, &layer->attention_in);
  d_normed = model_projections_backward(build, &layer->projections, &layer->attention_in, &layer->attention, d_context,
                                        d_normed);
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
  model_keep_part(build, layer.input);
}
