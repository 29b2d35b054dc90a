/* SPDX-License-Identifier: MIT */
/* Gated and plain MLPs as operations, each way. */
#include "model-mlp.h"

#include "model-autocast.h"
#include "model-projections.h"

static double inside_bytes(const ModelBuild *build, const ModelMlp *mlp) {
  return build->e * build->t * mlp->width;
}

static gboolean is_gated(const ModelBuild *build) {
  return model_build_has(build, MODEL_GATED);
}

void model_mlp_define(ModelBuild *build, ModelMlp *mlp, const ModelMlpNames *names, double width) {
  gboolean bias = model_build_has(build, MODEL_MLP_BIAS), joined = model_projections_gate_joined(build);
  mlp->names = names;
  mlp->width = width;
  if (is_gated(build) && joined)
    mlp->gate_up = model_linear(build, &names->gate_up, MODEL_COLUMNS, build->h, 2 * width, bias);
  else if (is_gated(build))
    mlp->gate = model_linear(build, &names->gate, MODEL_COLUMNS, build->h, width, bias);
  if (!is_gated(build) || !joined)
    mlp->up = model_linear(build, &names->up, MODEL_COLUMNS, build->h, width, bias);
  mlp->down = model_linear(build, &names->down, MODEL_ROWS, width, build->h, bias);
}

/* silu (in, out) and the product (two in, one out); back: the product's two gradients (two in, one out each), silu's
 * (two in, one out). Fused they are one kernel each way, which keeps no silu: two in, one out; back: three in, two
 * out, or in place: gradients are left where gate's and up's outputs were. Of a joined matmul's output both read halves
 * of rows, with stride, or in place copies of them, and their gradients are joined after. */
static void take_apart(ModelBuild *build, ModelMlp *mlp) {
  const ModelMlpNames *names = mlp->names;
  double f = inside_bytes(build, mlp);
  ModelSet both = mlp->gate_out;
  mlp->gate_out = model_build_inner(build, names->gate_apart, f);
  mlp->up_out = model_build_inner(build, names->up_apart, f);
  model_build_kernels(build, MODEL_FORWARD, names->apart, KERNEL_ROTARY, 2, 4 * f, both, mlp->gate_out | mlp->up_out);
}

static void gated_forward(ModelBuild *build, ModelMlp *mlp, ModelSet normed) {
  const ModelMlpNames *names = mlp->names;
  double f = inside_bytes(build, mlp);
  gboolean joined = model_projections_gate_joined(build), fused = build->fused_activation;
  mlp->gate_out = model_build_inner(build, joined ? names->both_out : names->gate_out, joined ? 2 * f : f);
  mlp->up_out = joined ? mlp->gate_out : model_build_inner(build, names->up_out, f);
  mlp->silu = fused ? 0 : model_build_inner(build, names->act, f);
  mlp->product = model_build_inner(build, names->product, f);
  if (joined) {
    model_linear_forward(build, &mlp->gate_up, normed, mlp->gate_out);
  } else {
    model_linear_forward(build, &mlp->gate, normed, mlp->gate_out);
    model_linear_forward(build, &mlp->up, model_region_enter_next(build, &mlp->up_in, &names->up_region, &mlp->in),
                         mlp->up_out);
  }
  if (joined && build->in_place)
    take_apart(build, mlp);
  model_build_kernels(build, MODEL_FORWARD, names->gated, joined && !fused ? KERNEL_ROTARY : KERNEL_MEMORY,
                      fused ? 1 : 2, (fused ? 3 : 5) * f, mlp->gate_out | mlp->up_out, mlp->silu | mlp->product)
      ->saves = mlp->gate_out | mlp->up_out | mlp->silu;
}

/* Of a plain MLP: its input, or its result where that says enough. */
static ModelSet kept_by_activation(const ModelBuild *build, const ModelMlp *mlp) {
  return model_build_has(build, MODEL_RELU) ? mlp->product : mlp->up_out;
}

static gboolean drops_inside(const ModelBuild *build) {
  return model_build_has(build, MODEL_INNER_DROPOUT) && build->recipe->dropout > 0;
}

static void drop_inside(ModelBuild *build, ModelMlp *mlp) {
  double elements = build->t * mlp->width;
  mlp->dropped = mlp->product;
  if (!drops_inside(build))
    return;
  mlp->dropped = model_build_inner(build, mlp->names->dropped, inside_bytes(build, mlp));
  mlp->mask = model_build_inner(build, mlp->names->mask, elements);
  model_dropout_forward(build, mlp->names->dropout, elements, mlp->product, mlp->dropped, mlp->mask);
}

/* The gradient of the product, from the output's. */
static ModelSet product_gradient(ModelBuild *build, const ModelMlp *mlp, ModelSet d_y) {
  const ModelMlpNames *names = mlp->names;
  double f = inside_bytes(build, mlp);
  ModelSet d_product = model_build_inner(build, names->d_product, f), d_dropped = d_product;
  if (drops_inside(build))
    d_dropped = model_build_inner(build, names->d_dropped, f);
  model_linear_backward(build, &mlp->down, mlp->dropped, d_y, d_dropped);
  if (drops_inside(build))
    model_dropout_backward(build, names->dropout_back, build->t * mlp->width, mlp->mask, d_dropped, d_product);
  return d_product;
}

void model_mlp_forward(ModelBuild *build, ModelMlp *mlp, ModelSet x, ModelSet y) {
  const ModelMlpNames *names = mlp->names;
  double f = inside_bytes(build, mlp);
  ModelSet normed = model_region_enter(build, &mlp->in, &names->region, x);
  if (!is_gated(build)) {
    mlp->up_out = model_build_inner(build, names->up_out, f);
    mlp->product = model_build_inner(build, names->plain, f);
    model_linear_forward(build, &mlp->up, normed, mlp->up_out);
    model_build_memory(build, MODEL_FORWARD, names->activation, 2 * f, mlp->up_out, mlp->product)->saves =
        kept_by_activation(build, mlp);
  } else {
    gated_forward(build, mlp, normed);
  }
  drop_inside(build, mlp);
  model_linear_forward(build, &mlp->down, mlp->dropped, y);
}

static ModelSet separate_gate_backward(ModelBuild *build, ModelMlp *mlp, ModelSet d_product, ModelSet d_normed) {
  const ModelMlpNames *names = mlp->names;
  double f = inside_bytes(build, mlp);
  ModelSet d_up = build->in_place ? mlp->up_out : model_build_inner(build, names->d_up, f);
  ModelSet d_silu = build->fused_activation ? 0 : model_build_inner(build, names->d_act, f);
  ModelSet d_gate = build->in_place ? mlp->gate_out : model_build_inner(build, names->d_gate, f);
  ModelSet of_gate = model_inner_like(build, names->of_gate, build->t * build->h, mlp->in.x);
  if (build->fused_activation)
    model_build_memory(build, MODEL_BACKWARD, names->gated_back, 5 * f, d_product | mlp->gate_out | mlp->up_out,
                       build->in_place ? 0 : d_gate | d_up);
  else
    model_build_kernels(build, MODEL_BACKWARD, names->mul_back, KERNEL_MEMORY, 2, 6 * f,
                        d_product | mlp->up_out | mlp->silu, d_up | d_silu);
  model_region_return(build, &mlp->in);
  model_linear_backward(build, &mlp->up, model_region_read_by(build, &mlp->up_in, &mlp->in), d_up, d_normed);
  ModelSet sum = model_region_part(build, &mlp->in, &names->up_region, d_normed);
  if (!build->fused_activation)
    model_build_memory(build, MODEL_BACKWARD, names->act_back, 3 * f, d_silu | mlp->gate_out, d_gate);
  model_linear_backward(build, &mlp->gate, mlp->in.again, d_gate, of_gate);
  model_region_sum(build, &mlp->in, names->sum, sum | model_region_part(build, &mlp->in, &names->region, of_gate));
  return model_region_leave_sum(build, &mlp->in, sum);
}

static ModelSet joined_gate_backward(ModelBuild *build, ModelMlp *mlp, ModelSet d_product, ModelSet d_normed) {
  const ModelMlpNames *names = mlp->names;
  double f = inside_bytes(build, mlp);
  ModelSet d_gate_up = model_build_inner(build, names->d_both, 2 * f);
  if (build->in_place) {
    ModelSet apart = mlp->gate_out | mlp->up_out;
    model_build_memory(build, MODEL_BACKWARD, names->gated_back, 5 * f, d_product | apart, 0);
    model_build_memory(build, MODEL_BACKWARD, names->split_back, 4 * f, apart, d_gate_up);
  } else if (build->fused_activation) {
    model_build_memory(build, MODEL_BACKWARD, names->gated_back, 5 * f, d_product | mlp->gate_out, d_gate_up);
  } else {
    ModelSet d_silu = model_build_inner(build, names->d_act, f), d_up = model_build_inner(build, names->d_up, f);
    ModelSet d_gate = model_build_inner(build, names->d_gate, f);
    model_build_kernels(build, MODEL_BACKWARD, names->mul_back, KERNEL_ROTARY, 2, 6 * f,
                        d_product | mlp->up_out | mlp->silu, d_up | d_silu);
    model_build_kernels(build, MODEL_BACKWARD, names->act_back, KERNEL_ROTARY, 1, 3 * f, d_silu | mlp->gate_out,
                        d_gate);
    model_build_memory(build, MODEL_BACKWARD, names->split_back, 4 * f, d_gate | d_up, d_gate_up);
  }
  return model_region_backward(build, &mlp->in, &mlp->gate_up, d_gate_up, d_normed);
}

/* gelu: in, out; back: two in, one out. */
ModelSet model_mlp_backward(ModelBuild *build, ModelMlp *mlp, ModelSet d_y) {
  const ModelMlpNames *names = mlp->names;
  double f = inside_bytes(build, mlp);
  ModelSet d_normed = model_region_gradient(build, &mlp->in);
  ModelSet d_product = product_gradient(build, mlp, d_y);
  if (!is_gated(build)) {
    ModelSet d_up = model_build_inner(build, names->d_up, f);
    model_build_memory(build, MODEL_BACKWARD, names->activation_back, 3 * f, d_product | kept_by_activation(build, mlp),
                       d_up);
    return model_region_backward(build, &mlp->in, &mlp->up, d_up, d_normed);
  }
  return (model_projections_gate_joined(build) ? joined_gate_backward : separate_gate_backward)(build, mlp, d_product,
                                                                                                d_normed);
}
