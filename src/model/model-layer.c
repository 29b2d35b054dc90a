/* SPDX-License-Identifier: MIT */
/* One transformer layer: attention and MLP (or experts), each a branch beside the residual stream.
 *
 *   input ─┬─ norm ─ projections ─ attention ─ o_proj ─ norm ─┐
 *          └───────────────────────────────────────────────── + ─ norm ─┬─ norm ─ MLP ─ norm ─┐
 *                                                                       └──────────────────── + ─ norm ─ output
 *
 * Of the norms a family has those before the branches (most), those that end them (olmo2), both (gemma2), or those of
 * the sums (bert). Parallel (falcon, gptj, gpt_neox, phi): both branches read the input, through one norm or two, and
 * one sum ends them. A decoder's layer beside an encoder has a third branch between both, model-cross.h. A layer that
 * foretells a further token has parts around it: model-further.h. Dropout ends each
 * branch. Projections: model-projections.h, model-latent.h; MLP: model-mlp.h,
 * model-experts.h. Backward runs in the order of autograd: what forward did last comes first, and a tensor that several
 * ops read gets its gradients summed as they come. */
#include "model-autocast.h"
#include "model-cross.h"
#include "model-experts.h"
#include "model-further.h"
#include "model-latent.h"
#include "model-mlp.h"
#include "model-projections.h"

static const ModelLinearNames o_names = MODEL_LINEAR_NAMES("o_proj");
static const ModelNormNames input_names = MODEL_NORM_NAMES("input_norm"), post_names = MODEL_NORM_NAMES("post_norm");
static const ModelNormNames attention_end_names = MODEL_NORM_NAMES("attention_end_norm"),
                            mlp_end_names = MODEL_NORM_NAMES("mlp_end_norm");
static const ModelNormNames cross_norm_names = MODEL_NORM_NAMES("cross_norm");
static const ModelRegionNames attention_region = MODEL_REGION_NAMES("normed");
static const ModelMlpNames mlp_names = MODEL_MLP_NAMES("", "middle_normed");

typedef struct {
  ModelNorm input_norm, post_norm;     /* of what the branches read, or of the sums */
  ModelNorm attention_end, mlp_end;    /* of what ends them */
  ModelSet attention_ended, mlp_ended; /* what these norm */
  ModelSet attention_sum, mlp_sum;     /* what norms of sums norm */
  ModelProjections projections;
  ModelSet context_read; /* by o_proj: attention's, or a copy */
  ModelLatent latent;
  ModelLinear o;
  ModelMlp mlp;
  ModelExperts experts;
  ModelSet experts_x, experts_read; /* their input, and what they multiply */
  ModelRelative relative;           /* of attention whose scores have a bias */
  ModelCross cross;                 /* a decoder's, beside an encoder */
  ModelNorm cross_norm;
  ModelSet crossed, cross_mask; /* the residual stream after it */
  ModelFurther further;         /* where the layer foretells a further token */
  int sinks;
  ModelAttentionTensors attention;
  ModelRegion attention_in;                      /* what the projections read */
  ModelSet input, normed, middle, middle_normed; /* middle: the residual stream after attention */
  ModelSet attention_mask, mlp_mask;             /* of the dropouts that end the branches */
} Layer;

/* Elements of the residual stream, and of what goes into it. */
static double stream_elements(const ModelBuild *build) {
  return build->between * build->h;
}

/* What a branch makes, in the precision of its matmuls. */
static ModelSet branch_inner(ModelBuild *build, const char *name) {
  return model_build_inner(build, name, build->e * stream_elements(build));
}

static ModelSet stream_inner(ModelBuild *build, const char *name) {
  return model_stream_inner(build, name, stream_elements(build));
}

static ModelSet stream_end(ModelBuild *build, const char *name, ModelTensorRole role) {
  return model_stream_tensor(build, name, role, stream_elements(build));
}

/* What a norm makes of the stream for a branch: as wide, unless it is cast at once. */
static ModelSet normed_inner(ModelBuild *build, const char *name) {
  gboolean cast = build->recipe->compiled || model_copies_once(build);
  return cast ? branch_inner(build, name) : stream_inner(build, name);
}

static gboolean is_parallel(const ModelBuild *build) {
  return model_build_has(build, MODEL_PARALLEL);
}

static gboolean has_one_norm(const ModelBuild *build) {
  return is_parallel(build) && model_build_has(build, MODEL_ONE_NORM);
}

/* ---- Parameters ---- */

static void define_input_norms(ModelBuild *build, Layer *layer, gboolean first) {
  if (!model_build_has(build, MODEL_PRE_NORM | MODEL_POST_NORM))
    return;
  if (first)
    layer->input_norm = model_norm(build, &input_names);
  else if (!has_one_norm(build))
    layer->post_norm = model_norm(build, &post_names);
}

static void define_attention(ModelBuild *build, Layer *layer) {
  layer->sinks = -1;
  if (build->shape->kv_rank > 0)
    model_latent_define(build, &layer->latent);
  else
    model_projections_define(build, &layer->projections);
  layer->o = model_linear(build, &o_names, MODEL_ROWS, build->c, build->h, model_build_has(build, MODEL_O_BIAS));
  if (model_build_has(build, MODEL_SINKS)) {
    layer->sinks = model_build_parameter(build, "sinks", build->a, 1);
    model_build_uncast(build, layer->sinks);
    model_build_place(build, layer->sinks, MODEL_PLACE_SPLIT, build->a * build->tensor);
  }
  if (model_relative_is(build))
    model_relative_define(build, &layer->relative);
}

static void define_mlp(ModelBuild *build, Layer *layer) {
  if (build->mixes)
    model_experts_define(build, &layer->experts);
  else
    model_mlp_define(build, &layer->mlp, &mlp_names, build->f);
}

/* In Hugging Face's order of definition: layers with RMSNorm list their norms last. */
static void define_parameters(ModelBuild *build, Layer *layer) {
  gboolean last = !model_build_has(build, MODEL_LAYER_NORM);
  if (!last)
    define_input_norms(build, layer, TRUE);
  define_attention(build, layer);
  if (model_cross_is(build)) {
    model_cross_define(build, &layer->cross);
    layer->cross_norm = model_norm(build, &cross_norm_names);
  }
  if (!last)
    define_input_norms(build, layer, FALSE);
  define_mlp(build, layer);
  if (last) {
    define_input_norms(build, layer, TRUE);
    define_input_norms(build, layer, FALSE);
  }
  if (!model_build_has(build, MODEL_BRANCH_NORM))
    return;
  layer->attention_end = model_norm(build, &attention_end_names);
  layer->mlp_end = model_norm(build, &mlp_end_names);
}

/* ---- Ends of branches ---- */

static gboolean has_branch_dropout(const ModelBuild *build) {
  return model_build_has(build, MODEL_BRANCH_DROPOUT) && build->recipe->dropout > 0;
}

/* What the two ends of a branch are called, after the branch and its last linear layer. */
typedef struct {
  const char *out, *dropped, *mask, *dropout, *d_dropped, *dropout_backward, *residual, *residual_backward;
  const char *ended, *sum, *d_ended, *d_sum, *cast, *d_cast;
} BranchNames;
#define BRANCH_NAMES(branch, last)                                                                                     \
  {                                                                                                                    \
    .out = branch "_out", .dropped = branch "_out_dropped", .mask = branch "_out_mask", .dropout = last ".dropout",    \
    .d_dropped = "d_" branch "_out", .dropout_backward = last ".dropout.backward", .residual = branch "_residual",     \
    .residual_backward = branch "_residual.backward", .ended = branch "_ended", .sum = branch "_sum",                  \
    .d_ended = "d_" branch "_ended", .d_sum = "d_" branch "_sum", .cast = branch "_autocast.backward",                 \
    .d_cast = "d_" branch "_16bit"                                                                                     \
  }
static const BranchNames attention_branch = BRANCH_NAMES("attention", "o_proj");
static const BranchNames cross_branch = BRANCH_NAMES("cross", "cross_o_proj");
static const BranchNames mlp_branch = BRANCH_NAMES("mlp", "down_proj");

/* The branch's output, dropped out where that is so, added to the residual: fused (Megatron-LM's bias_dropout_add),
 * by one kernel that reads both, and writes the sum and the mask. */
static void join_forward(ModelBuild *build, const BranchNames *names, ModelSet branch, ModelSet *ret_mask,
                         ModelSet residual, ModelSet sum) {
  double elements = stream_elements(build);
  double bytes = model_element(build, branch) + model_element(build, residual) + model_element(build, sum);
  if (has_branch_dropout(build))
    *ret_mask = model_build_inner(build, names->mask, elements);
  if (has_branch_dropout(build) && build->fused_masks) {
    model_build_memory(build, MODEL_FORWARD, names->residual, (bytes + 1) * elements, branch | residual,
                       sum | *ret_mask)
        ->saves = *ret_mask;
    return;
  }
  if (has_branch_dropout(build)) {
    ModelSet dropped = branch_inner(build, names->dropped);
    model_dropout_forward(build, names->dropout, elements, branch, dropped, *ret_mask);
    branch = dropped;
  }
  model_build_memory(build, MODEL_FORWARD, names->residual, bytes * elements, branch | residual, sum);
}

/* The gradient that enters the branch: of a stream in fp32 cast first, in one kernel with dropout where that is fused.
 */
static ModelSet enter_backward(ModelBuild *build, const BranchNames *names, ModelSet mask, ModelSet d_sum) {
  gboolean drops = has_branch_dropout(build);
  double elements = stream_elements(build);
  if (!drops || !build->fused_masks)
    d_sum = model_narrow(build, MODEL_BACKWARD, names->cast, names->d_cast, elements, d_sum);
  if (!drops)
    return d_sum;
  ModelSet d_branch = branch_inner(build, names->d_dropped);
  model_dropout_backward(build, names->dropout_backward, elements, mask, d_sum, d_branch);
  return d_branch;
}

/* The branch's output through the norm that ends it, if any. */
static ModelSet end_forward(ModelBuild *build, const BranchNames *names, ModelNorm *norm, ModelSet branch) {
  if (!model_build_has(build, MODEL_BRANCH_NORM))
    return branch;
  ModelSet ended = branch_inner(build, names->ended);
  model_norm_forward(build, norm, branch, ended);
  return ended;
}

static ModelSet end_backward(ModelBuild *build, const BranchNames *names, const ModelNorm *norm, ModelSet branch,
                             ModelSet d_ended) {
  if (!model_build_has(build, MODEL_BRANCH_NORM))
    return d_ended;
  ModelSet d_branch = branch_inner(build, names->d_ended);
  model_norm_backward(build, norm, branch, d_ended, d_branch);
  return d_branch;
}

/* Where the sum is normed: the tensor for it, in place of the stream's. */
static ModelSet sum_tensor(ModelBuild *build, const BranchNames *names, ModelSet stream) {
  return model_build_has(build, MODEL_POST_NORM) ? stream_inner(build, names->sum) : stream;
}

static ModelSet sum_backward(ModelBuild *build, const BranchNames *names, const ModelNorm *norm, ModelSet sum,
                             ModelSet d_stream) {
  if (!model_build_has(build, MODEL_POST_NORM))
    return d_stream;
  ModelSet d_sum = stream_inner(build, names->d_sum);
  model_norm_backward(build, norm, sum, d_stream, d_sum);
  return d_sum;
}

/* What a branch reads of the stream. */
static ModelSet enter_forward(ModelBuild *build, ModelNorm *norm, const char *name, ModelSet stream) {
  if (!model_build_has(build, MODEL_PRE_NORM))
    return stream;
  ModelSet normed = normed_inner(build, name);
  model_norm_forward(build, norm, stream, normed);
  if (model_copies_once(build)) /* written wide, read, and written */
    model_build_adds(build, MODEL_FORWARD, 1, 2 * build->w * stream_elements(build));
  return normed;
}

/* The gradient that it hands the stream. */
static ModelSet leave_backward(ModelBuild *build, const ModelNorm *norm, const char *name, ModelSet stream,
                               ModelSet d_normed) {
  if (!model_build_has(build, MODEL_PRE_NORM))
    return d_normed;
  gboolean in_place = model_norm_in_place(build, stream, d_normed);
  ModelSet of_norm = in_place ? d_normed : stream_inner(build, name);
  model_norm_backward(build, norm, stream, d_normed, in_place ? 0 : of_norm);
  if (model_copies_once(build)) /* cast, then read wide, twice */
    model_build_adds(build, MODEL_BACKWARD, 1, (3 * build->w - build->e) * stream_elements(build));
  return of_norm;
}

/* torch.compile makes one kernel of a sum and the norm that reads it, as of a norm's gradient and its sum with what
 * came past the branch: inductor fuses what is elementwise into the reduction beside it (meta-pytorch/tritonbench PR
 * 994; names of kernels as triton_red_fused_add_mean_mul_pow_rsqrt in ByteDance-Seed/VeOmni PR 881). Of operations in
 * one unit alone, for layers are often compiled one by one. */
static gboolean is_fused(const ModelBuild *build) {
  return build->recipe->compiled && model_build_has(build, MODEL_PRE_NORM) && !model_cross_is(build);
}

/* The stream's gradient past a branch: what came by it and what came through the branch and its norm, two in, one out;
 * fused, the norm's own kernel reads what came by, and adds it. */
static void pass_backward(ModelBuild *build, const BranchNames *names, const ModelNorm *norm, const char *of_norm,
                          ModelSet stream, ModelSet d_sum, ModelSet d_normed, ModelSet d_stream) {
  double bytes = build->w * stream_elements(build);
  if (!is_fused(build)) {
    ModelSet d_branch = leave_backward(build, norm, of_norm, stream, d_normed);
    model_build_memory(build, MODEL_BACKWARD, names->residual_backward, 3 * bytes, d_sum | d_branch, d_stream);
    return;
  }
  model_norm_backward(build, norm, stream, d_normed, d_stream);
  model_build_reads(build, MODEL_BACKWARD, d_sum, bytes);
}

/* Of the gradient that was made last, and that the branch before goes on with: its kernel leaves it in 16 bits too. */
static void also_narrow(ModelBuild *build, const BranchNames *before, ModelSet d_stream) {
  if (!model_is_wide(build, d_stream) || has_branch_dropout(build))
    return;
  ModelSet copy = branch_inner(build, before->d_cast);
  model_build_writes(build, MODEL_BACKWARD, copy, build->e * stream_elements(build));
  build->narrowed = (ModelMade){d_stream, copy};
}

/* ---- Branches ---- */

static ModelSet attention_forward(ModelBuild *build, Layer *layer, ModelSet x) {
  layer->attention.sinks = layer->sinks;
  layer->attention.relative = model_relative_is(build) ? &layer->relative : NULL;
  if (build->shape->kv_rank > 0) {
    model_latent_forward(build, &layer->latent, x, &layer->attention);
  } else {
    model_region_enter(build, &layer->attention_in, &attention_region, x);
    model_projections_forward(build, &layer->projections, &layer->attention_in, &layer->attention);
  }
  layer->attention.context = model_build_inner(build, "context", build->e * build->t * build->c);
  model_attention_forward(build, &layer->attention);
  ModelSet out = branch_inner(build, attention_branch.out);
  layer->context_read = model_projections_output(build, &layer->o, layer->attention.context, out);
  layer->attention_ended = out;
  return end_forward(build, &attention_branch, &layer->attention_end, out);
}

static ModelSet attention_backward(ModelBuild *build, Layer *layer, ModelSet d_ended) {
  ModelSet d_out = end_backward(build, &attention_branch, &layer->attention_end, layer->attention_ended, d_ended);
  ModelSet d_context = model_projections_output_backward(build, &layer->o, layer->context_read, d_out);
  if (build->shape->kv_rank > 0)
    return model_latent_backward(build, &layer->latent, &layer->attention, d_context);
  ModelSet d_normed = model_region_gradient(build, &layer->attention_in);
  return model_projections_backward(build, &layer->projections, &layer->attention_in, &layer->attention, d_context,
                                    d_normed);
}

static ModelSet cross_forward(ModelBuild *build, Layer *layer) {
  if (!model_cross_is(build))
    return layer->middle;
  ModelSet normed = enter_forward(build, &layer->cross_norm, "cross_normed", layer->middle);
  ModelSet out = branch_inner(build, cross_branch.out);
  model_cross_forward(build, &layer->cross, normed, out);
  ModelSet crossed = stream_inner(build, "crossed");
  join_forward(build, &cross_branch, out, &layer->cross_mask, layer->middle, crossed);
  return crossed;
}

static ModelSet cross_backward(ModelBuild *build, Layer *layer, ModelSet d_crossed) {
  if (!model_cross_is(build))
    return d_crossed;
  ModelSet d_branch = enter_backward(build, &cross_branch, layer->cross_mask, d_crossed);
  ModelSet d_normed = model_cross_backward(build, &layer->cross, d_branch);
  ModelSet of_cross = leave_backward(build, &layer->cross_norm, "d_middle_of_cross_norm", layer->middle, d_normed);
  ModelSet d_middle = stream_inner(build, "d_middle");
  model_build_memory(build, MODEL_BACKWARD, cross_branch.residual_backward, 3 * build->w * stream_elements(build),
                     d_crossed | of_cross, d_middle);
  return d_middle;
}

/* Under autocast the router and all experts are taken to read one copy in 16 bits. */
static void experts_forward(ModelBuild *build, Layer *layer, ModelSet x, ModelSet out) {
  layer->experts_read =
      model_narrow(build, MODEL_FORWARD, "experts.autocast", "experts.input_16bit", stream_elements(build), x);
  layer->experts_x = x;
  model_experts_forward(build, &layer->experts, layer->experts_read, out);
}

static ModelSet experts_backward(ModelBuild *build, Layer *layer, ModelSet d_out) {
  ModelSet d_read = model_experts_backward(build, &layer->experts, d_out);
  if (layer->experts_read == layer->experts_x)
    return d_read;
  ModelSet d_x = stream_inner(build, "d_experts_input");
  model_widen(build, "experts.autocast.backward", stream_elements(build), d_read, d_x);
  return d_x;
}

static ModelSet mlp_forward(ModelBuild *build, Layer *layer, ModelSet x) {
  ModelSet out = branch_inner(build, mlp_branch.out);
  if (build->mixes)
    experts_forward(build, layer, x, out);
  else
    model_mlp_forward(build, &layer->mlp, x, out);
  layer->mlp_ended = out;
  return end_forward(build, &mlp_branch, &layer->mlp_end, out);
}

static ModelSet mlp_backward(ModelBuild *build, Layer *layer, ModelSet d_ended) {
  ModelSet d_out = end_backward(build, &mlp_branch, &layer->mlp_end, layer->mlp_ended, d_ended);
  if (build->mixes)
    return experts_backward(build, layer, d_out);
  return model_mlp_backward(build, &layer->mlp, d_out);
}

/* ---- One branch after the other ---- */

static void forward(ModelBuild *build, Layer *layer) {
  layer->input = model_further_is(build) ? model_further_enter(build, &layer->further)
                                         : stream_end(build, "input", MODEL_TENSOR_INPUT);
  layer->normed = enter_forward(build, &layer->input_norm, "normed", layer->input);
  ModelSet attention = attention_forward(build, layer, layer->normed);
  layer->middle = stream_inner(build, "middle");
  layer->attention_sum = sum_tensor(build, &attention_branch, layer->middle);
  join_forward(build, &attention_branch, attention, &layer->attention_mask, layer->input, layer->attention_sum);
  if (layer->attention_sum != layer->middle)
    model_norm_forward(build, &layer->input_norm, layer->attention_sum, layer->middle);
  layer->crossed = cross_forward(build, layer);
  layer->middle_normed = enter_forward(build, &layer->post_norm, "middle_normed", layer->crossed);
  if (is_fused(build))
    model_build_merge(build, MODEL_FORWARD, build->w * stream_elements(build));
  ModelSet mlp = mlp_forward(build, layer, layer->middle_normed);
  ModelSet output =
      model_further_is(build) ? stream_inner(build, "further_made") : stream_end(build, "output", MODEL_TENSOR_OUTPUT);
  layer->mlp_sum = sum_tensor(build, &mlp_branch, output);
  join_forward(build, &mlp_branch, mlp, &layer->mlp_mask, layer->crossed, layer->mlp_sum);
  if (layer->mlp_sum != output)
    model_norm_forward(build, &layer->post_norm, layer->mlp_sum, output);
  if (model_further_is(build))
    model_further_leave(build, &layer->further, output);
}

static void backward(ModelBuild *build, Layer *layer) {
  ModelSet d_output = model_further_is(build) ? model_further_leave_backward(build, &layer->further)
                                              : stream_end(build, "d_output", MODEL_TENSOR_GRAD_OUTPUT);
  ModelSet d_sum = sum_backward(build, &mlp_branch, &layer->post_norm, layer->mlp_sum, d_output);
  ModelSet of_mlp = mlp_backward(build, layer, enter_backward(build, &mlp_branch, layer->mlp_mask, d_sum));
  ModelSet d_crossed = stream_inner(build, model_cross_is(build) ? "d_crossed" : "d_middle");
  pass_backward(build, &mlp_branch, &layer->post_norm, "d_middle_of_norm", layer->crossed, d_sum, of_mlp, d_crossed);
  if (is_fused(build))
    also_narrow(build, &attention_branch, d_crossed);
  ModelSet d_middle = cross_backward(build, layer, d_crossed);

  d_sum = sum_backward(build, &attention_branch, &layer->input_norm, layer->attention_sum, d_middle);
  ModelSet d_branch = enter_backward(build, &attention_branch, layer->attention_mask, d_sum);
  ModelSet of_attention = attention_backward(build, layer, d_branch);
  ModelSet d_input = model_further_is(build) ? stream_inner(build, "d_further_read")
                                             : stream_end(build, "d_input", MODEL_TENSOR_GRAD_INPUT);
  pass_backward(build, &attention_branch, &layer->input_norm, "d_input_of_norm", layer->input, d_sum, of_attention,
                d_input);
  if (model_further_is(build))
    model_further_enter_backward(build, &layer->further, d_input);
}

/* ---- Both branches beside each other ---- */

/* Two sums: of both outputs, and of that with the input. */
static void parallel_forward(ModelBuild *build, Layer *layer) {
  layer->input = layer->middle = stream_end(build, "input", MODEL_TENSOR_INPUT);
  layer->normed = enter_forward(build, &layer->input_norm, "normed", layer->input);
  ModelSet attention = attention_forward(build, layer, layer->normed);
  layer->middle_normed =
      has_one_norm(build) ? layer->normed : enter_forward(build, &layer->post_norm, "middle_normed", layer->input);
  ModelSet mlp = mlp_forward(build, layer, layer->middle_normed);
  ModelSet both = branch_inner(build, "middle");
  join_forward(build, &attention_branch, attention, &layer->attention_mask, mlp, both);
  ModelSet output = stream_end(build, "output", MODEL_TENSOR_OUTPUT);
  join_forward(build, &mlp_branch, both, &layer->mlp_mask, layer->input, output);
}

/* The gradients of what both branches read, summed, through their norms. */
static ModelSet parallel_leave(ModelBuild *build, Layer *layer, ModelSet of_mlp, ModelSet of_attention) {
  double elements = stream_elements(build);
  if (!has_one_norm(build)) {
    of_mlp = leave_backward(build, &layer->post_norm, "d_middle_of_norm", layer->input, of_mlp);
    of_attention = leave_backward(build, &layer->input_norm, "d_input_of_norm", layer->input, of_attention);
    return of_mlp | of_attention;
  }
  ModelSet both = model_inner_like(build, "d_normed_sum", elements, of_mlp);
  model_build_memory(build, MODEL_BACKWARD, "branches.sum", 3 * model_element(build, both) * elements,
                     of_mlp | of_attention, both);
  return leave_backward(build, &layer->input_norm, "d_input_of_norm", layer->input, both);
}

static void parallel_backward(ModelBuild *build, Layer *layer) {
  ModelSet d_output = stream_end(build, "d_output", MODEL_TENSOR_GRAD_OUTPUT);
  ModelSet d_branches = enter_backward(build, &mlp_branch, layer->mlp_mask, d_output);
  ModelSet of_mlp = mlp_backward(build, layer, d_branches);
  ModelSet of_attention =
      attention_backward(build, layer, enter_backward(build, &attention_branch, layer->attention_mask, d_branches));
  ModelSet of_both = parallel_leave(build, layer, of_mlp, of_attention);
  ModelSet d_input = stream_end(build, "d_input", MODEL_TENSOR_GRAD_INPUT);
  model_build_memory(build, MODEL_BACKWARD, attention_branch.residual_backward,
                     (has_one_norm(build) ? 3 : 4) * build->w * stream_elements(build), d_output | of_both, d_input);
}

void model_layer_build(ModelBuild *build) {
  Layer layer = {0};
  define_parameters(build, &layer);
  if (model_further_is(build))
    model_further_define(build, &layer.further);
  (is_parallel(build) ? parallel_forward : forward)(build, &layer);
  (is_parallel(build) ? parallel_backward : backward)(build, &layer);
  model_keep_part(build, model_further_is(build) ? layer.further.hidden : layer.input);
}
