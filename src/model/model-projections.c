/* SPDX-License-Identifier: MIT */
/* Queries, keys and values: as matmuls of their own, or as one and what is copied out of it. */
#include "model-projections.h"
#include "model-autocast.h"
#include "model-fp8.h"

static const ModelLinearNames q_names = MODEL_LINEAR_NAMES("q_proj"), k_names = MODEL_LINEAR_NAMES("k_proj"),
                              v_names = MODEL_LINEAR_NAMES("v_proj"), qkv_names = MODEL_LINEAR_NAMES("qkv_proj");

static const ModelRegionNames k_region = MODEL_REGION_NAMES("k_in"), v_region = MODEL_REGION_NAMES("v_in");

static const ModelNormNames q_norm_names = MODEL_NORM_NAMES("q_norm"), k_norm_names = MODEL_NORM_NAMES("k_norm");

static double query_bytes(const ModelBuild *build) {
  return build->e * build->t * build->q;
}

static double key_bytes(const ModelBuild *build) {
  return build->e * build->t * build->kv;
}

static double all_bytes(const ModelBuild *build) {
  return query_bytes(build) + 2 * key_bytes(build);
}

gboolean model_projections_joined(const ModelBuild *build) {
  return model_build_has(build, MODEL_JOINED) ||
         (build->recipe->projections != MODEL_PROJECTIONS_SEPARATE && build->recipe->lora.rank == 0);
}

gboolean model_projections_gate_joined(const ModelBuild *build) {
  return build->recipe->projections != MODEL_PROJECTIONS_SEPARATE &&
         build->recipe->projections != MODEL_PROJECTIONS_QKV && build->recipe->lora.rank == 0;
}

static gboolean has_head_norms(const ModelBuild *build) {
  return model_build_has(build, MODEL_QK_NORM | MODEL_QK_NORM_WIDE | MODEL_QK_NORM_PLAIN);
}

static gboolean are_copied(const ModelBuild *build) {
  return build->recipe->projections == MODEL_PROJECTIONS_COPIED && model_projections_joined(build) &&
         model_build_has(build, MODEL_ROTARY) && !has_head_norms(build) && build->shape->kv_rank == 0;
}

/* Whether the joined output is gathered, and each rank takes its group of heads. */
static gboolean are_gathered(const ModelBuild *build) {
  return build->kv_made != build->kv;
}

static guint32 key_copies(const ModelBuild *build) {
  double heads = (double)build->shape->kv_heads;
  return build->tensor > heads && !are_gathered(build) ? (guint32)(build->tensor / heads) : 1;
}

static ModelLinear keys_linear(ModelBuild *build, const ModelLinearNames *names, gboolean bias) {
  ModelLinear linear = model_linear(build, names, MODEL_COLUMNS, build->h, build->kv, bias);
  if (key_copies(build) > 1)
    model_linear_of(build, &linear, (double)build->shape->kv_heads * build->d, key_copies(build));
  return linear;
}

static ModelLinear joined_linear(ModelBuild *build, gboolean bias) {
  ModelLinear linear =
      model_linear(build, &qkv_names, MODEL_COLUMNS, build->h, build->q_made + 2 * build->kv_made, bias);
  if (key_copies(build) > 1)
    model_linear_of(build, &linear, (double)(build->shape->heads + 2 * build->shape->kv_heads) * build->d,
                    key_copies(build));
  return linear;
}

static ModelNorm head_norm(ModelBuild *build, const ModelNormNames *names, double width) {
  if (!model_build_has(build, MODEL_QK_NORM_WIDE))
    return model_head_norm(build, names, width);
  ModelNorm norm = model_wide_norm(build, names, build->t, width);
  model_build_place(build, norm.weight, MODEL_PLACE_SPLIT, width * build->tensor);
  return norm;
}

void model_projections_define(ModelBuild *build, ModelProjections *projections) {
  gboolean bias = model_build_has(build, MODEL_QKV_BIAS);
  if (model_projections_joined(build)) {
    projections->qkv = joined_linear(build, bias);
  } else {
    projections->q = model_linear(build, &q_names, MODEL_COLUMNS, build->h, build->q, bias);
    projections->k = keys_linear(build, &k_names, bias);
    projections->v = keys_linear(build, &v_names, bias);
  }
  if (!has_head_norms(build))
    return;
  projections->q_norm = head_norm(build, &q_norm_names, build->q);
  projections->k_norm = head_norm(build, &k_norm_names, build->kv);
}

/* ---- Norms of heads ---- */

/* Transformers' RMSNorm of 16 bits times its fp32 weight is fp32, which the rotary embedding goes on with; but that of
 * some families casts back (olmo2's; gemma's, which have norms at branches' ends too). */
static ModelSet head_normed(ModelBuild *build, const char *name, double width) {
  static const ModelTraits others = MODEL_LAYER_NORM | MODEL_QK_NORM_WIDE | MODEL_QK_NORM_PLAIN | MODEL_BRANCH_NORM;
  gboolean wide = !build->fused_norm && model_build_has(build, MODEL_ROTARY) && !model_build_has(build, others);
  ModelSet normed = model_build_inner(build, name, (wide ? build->w : build->e) * build->t * width);
  return wide ? model_stream_of(build, normed) : normed;
}

/* What is turned, or attention reads: q and k themselves, or normed. */
static void norms_forward(ModelBuild *build, ModelProjections *projections, ModelSet *q, ModelSet *k) {
  if (!has_head_norms(build))
    return;
  projections->q_plain = *q;
  projections->k_plain = *k;
  ModelSet q_normed = head_normed(build, "q_normed", build->q), k_normed = head_normed(build, "k_normed", build->kv);
  model_norm_forward(build, &projections->q_norm, *q, q_normed);
  model_norm_forward(build, &projections->k_norm, *k, k_normed);
  *q = q_normed;
  *k = k_normed;
}

static void norms_backward(ModelBuild *build, const ModelProjections *projections, ModelSet *d_q, ModelSet *d_k) {
  if (!has_head_norms(build))
    return;
  gboolean k_stays = model_norm_in_place(build, projections->k_plain, *d_k),
           q_stays = model_norm_in_place(build, projections->q_plain, *d_q);
  ModelSet d_k_plain = k_stays ? *d_k : model_build_inner(build, "d_k_plain", key_bytes(build));
  ModelSet d_q_plain = q_stays ? *d_q : model_build_inner(build, "d_q_plain", query_bytes(build));
  model_norm_backward(build, &projections->k_norm, projections->k_plain, *d_k, k_stays ? 0 : d_k_plain);
  model_norm_backward(build, &projections->q_norm, projections->q_plain, *d_q, q_stays ? 0 : d_q_plain);
  *d_q = d_q_plain;
  *d_k = d_k_plain;
}

/* Megatron-LM: the output's columns of all ranks, of which each reads its group's as they lie. */
static double gathered_bytes(const ModelBuild *build) {
  return build->e * build->t * build->tensor * (build->q_made + 2 * build->kv_made);
}

static ModelSet joined_output(ModelBuild *build, ModelProjections *projections, ModelSet normed) {
  if (!are_gathered(build)) {
    ModelSet qkv = model_build_inner(build, "qkv", all_bytes(build));
    model_linear_forward(build, &projections->qkv, normed, qkv);
    return qkv;
  }
  ModelSet part = model_build_inner(build, "qkv_part", gathered_bytes(build) / build->tensor);
  ModelSet qkv = model_build_inner(build, "qkv", gathered_bytes(build));
  model_linear_forward(build, &projections->qkv, normed, part);
  model_build_exchange(build, MODEL_FORWARD, "qkv.gather", MODEL_EXCHANGE_ALL_GATHER, MODEL_AXIS_TENSOR,
                       gathered_bytes(build), part, qkv);
  return qkv;
}

/* Zeros around the group's gradients, then their sum over the ranks. */
static ModelSet scattered_gradient(ModelBuild *build, ModelSet d_qkv) {
  if (!are_gathered(build))
    return d_qkv;
  ModelSet whole = model_build_inner(build, "d_qkv_whole", gathered_bytes(build));
  ModelSet part = model_build_inner(build, "d_qkv_part", gathered_bytes(build) / build->tensor);
  model_build_memory(build, MODEL_BACKWARD, "qkv.slice.backward", gathered_bytes(build) + 2 * all_bytes(build), d_qkv,
                     whole);
  model_build_exchange(build, MODEL_BACKWARD, "qkv.gather.backward", MODEL_EXCHANGE_REDUCE_SCATTER, MODEL_AXIS_TENSOR,
                       gathered_bytes(build), whole, part);
  return part;
}

/* ---- Rotary positions ---- */

/* As pairs: to fp32, the product, back to 16 bits; the gradients likewise, times the conjugate. */
static ModelPasses complex_passes(const ModelBuild *build) {
  double w = MODEL_BYTES_FP32, casts = build->half ? (build->e + w) + (w + build->e) : 0;
  return (ModelPasses){KERNEL_MEMORY, build->half ? 6 : 2, casts + 2 * w};
}

static gboolean is_complex(const ModelBuild *build) {
  return build->recipe->rotary == MODEL_ROTARY_COMPLEX;
}

/* As transformers computes them, for q and for k: x · cos (in, out), half of each head negated (in and out, of half),
 * the halves joined (in, out), · sin (in, out), the sum (two in, one out): ten elements moved. Backward: · sin, the
 * two slices' gradients (zeros, then a copy of half) and the negation, · cos, and two sums. Fused: in, out. Under
 * autocast cos and sin are of the residual stream's fp32 (models/llama/modeling_llama.py, LlamaRotaryEmbedding), and so
 * are products and sum, which attention casts; back, the gradient is cast to fp32, and that of each product to x's own
 * type. */
static ModelPasses rope_passes(const ModelBuild *build, ModelDirection direction, double x) {
  double product = build->w;
  gboolean casts = product > build->e, casts_back = product > x;
  if (build->fused)
    return (ModelPasses){KERNEL_MEMORY, 1, 2 * build->e};
  if (is_complex(build))
    return complex_passes(build);
  double cast = casts ? product + build->e : 0, cast_back = casts_back ? 2 * (product + x) : 0;
  if (direction == MODEL_FORWARD)
    return (ModelPasses){KERNEL_ROTARY, casts ? 12 : 10, 2 * (x + product) + (1 + 2) * x + 3 * product + cast};
  return (ModelPasses){KERNEL_ROTARY, (casts ? 20 : 18) + (casts_back ? 4 : 0),
                       cast + (2 + 2) * product + cast_back + (4 + 1 + 3 + 3) * x};
}

/* Of each head. */
static double turned_part(const ModelBuild *build) {
  double dim = (double)build->shape->rotary_dim;
  return dim > 0 ? dim / build->d : 1;
}

/* `x`: bytes of an element of queries and keys before they are turned. */
static void rope(ModelBuild *build, ModelDirection direction, const char *name, double x, ModelSet reads,
                 ModelSet writes) {
  ModelPasses passes = rope_passes(build, direction, x);
  model_build_kernels(build, direction, name, passes.kind, passes.launches,
                      turned_part(build) * passes.bytes * build->t * (build->q + build->kv), reads, writes);
}

/* What is made on the way: as complex numbers fp32 copies of both, and the products; under autocast their fp32 sums. */
static double turned_bytes(const ModelBuild *build) {
  double width = is_complex(build) ? 2 * MODEL_BYTES_FP32 / build->e : build->w / build->e;
  return width * (query_bytes(build) + key_bytes(build));
}

/* Parts of a joined output are copied, and turned there. */
static gboolean turns_in_place(const ModelBuild *build) {
  return build->in_place && !model_projections_joined(build);
}

static void rope_forward(ModelBuild *build, ModelSet plain, ModelAttentionTensors *at) {
  if (!model_build_has(build, MODEL_ROTARY))
    return;
  if (turns_in_place(build)) {
    rope(build, MODEL_FORWARD, "rope", model_element(build, plain), plain, 0);
    return;
  }
  ModelSet turned = build->fused ? 0 : model_build_scratch(build, "turned", turned_bytes(build));
  at->q = model_build_inner(build, "q", query_bytes(build));
  at->k = model_build_inner(build, "k", key_bytes(build));
  rope(build, MODEL_FORWARD, "rope", model_element(build, plain), plain | turned, at->q | at->k | turned);
}

/* `plain`: what was turned. */
static void rope_backward(ModelBuild *build, ModelSet plain, ModelSet d_turned, ModelSet *ret_d_q, ModelSet *ret_d_k) {
  if (!model_build_has(build, MODEL_ROTARY))
    return;
  if (build->in_place) {
    rope(build, MODEL_BACKWARD, "rope.backward", model_element(build, plain), d_turned, 0);
    return;
  }
  ModelSet turned = build->fused ? 0 : model_build_scratch(build, "d_turned", turned_bytes(build));
  *ret_d_q = model_inner_like(build, "d_q_unrotated", build->t * build->q, plain);
  *ret_d_k = model_inner_like(build, "d_k_unrotated", build->t * build->kv, plain);
  rope(build, MODEL_BACKWARD, "rope.backward", model_element(build, plain), d_turned | turned,
       *ret_d_q | *ret_d_k | turned);
}

/* ---- Forward ---- */

/* A copy into another order of dimensions: kernels that stride, as those of the eager rotary embedding do. */
static void reorder(ModelBuild *build, ModelDirection direction, const char *name, double bytes, ModelSet from,
                    ModelSet to) {
  model_build_kernels(build, direction, name, KERNEL_ROTARY, 1, 2 * bytes, from, to);
}

static void copied_forward(ModelBuild *build, ModelSet qkv, ModelAttentionTensors *at) {
  double pair = 2 * key_bytes(build);
  ModelSet q = model_build_inner(build, "q_apart", query_bytes(build));
  ModelSet kv_apart = model_build_inner(build, "kv_apart", pair);
  ModelSet joined = model_build_inner(build, "kv_joined", pair), kv = model_build_inner(build, "kv", pair);
  reorder(build, MODEL_FORWARD, "qkv_apart", all_bytes(build), qkv, q | kv_apart);
  model_build_memory(build, MODEL_FORWARD, "kv_joined", 2 * pair, kv_apart, joined);
  reorder(build, MODEL_FORWARD, "kv_reordered", pair, joined, kv);
  rope(build, MODEL_FORWARD, "rope", build->e, q | kv, 0);
  at->q = q;
  at->k = at->v = kv;
}

void model_projections_forward(ModelBuild *build, ModelProjections *projections, const ModelRegion *in,
                               ModelAttentionTensors *at) {
  ModelSet normed = in->again;
  if (model_projections_joined(build)) {
    at->q = at->k = at->v = joined_output(build, projections, normed);
    if (are_copied(build)) {
      copied_forward(build, at->v, at);
      return;
    }
  } else {
    gboolean turned = model_build_has(build, MODEL_ROTARY) && !turns_in_place(build);
    at->q = model_build_inner(build, turned ? "q_unrotated" : "q_made", query_bytes(build));
    at->k = model_build_inner(build, turned ? "k_unrotated" : "k_made", key_bytes(build));
    at->v = model_build_inner(build, "v", key_bytes(build));
    model_linear_forward(build, &projections->q, normed, at->q);
    model_linear_forward(build, &projections->k, model_region_enter_next(build, &projections->k_in, &k_region, in),
                         at->k);
    model_linear_forward(build, &projections->v, model_region_enter_next(build, &projections->v_in, &v_region, in),
                         at->v);
  }
  norms_forward(build, projections, &at->q, &at->k);
  projections->turned = at->q | at->k;
  rope_forward(build, at->q | at->k, at);
}

/* One sequence is in the order of both. */
static gboolean reorders_context(const ModelBuild *build) {
  return are_copied(build) && build->b > 1;
}

/* litgpt's queries come out of torch.cat with heads before tokens, attention's output is laid out as they are, and
 * o_proj keeps a copy that is not. */
static gboolean keeps_context_twice(const ModelBuild *build) {
  return build->recipe->projections == MODEL_PROJECTIONS_QKV && model_projections_joined(build) &&
         !model_build_has(build, MODEL_JOINED) && model_build_has(build, MODEL_ROTARY) && build->shape->kv_rank == 0;
}

static ModelSet reordered(ModelBuild *build, ModelDirection direction, const char *tensor, const char *op,
                          ModelSet context) {
  ModelSet copy = model_build_inner(build, tensor, query_bytes(build));
  reorder(build, direction, op, query_bytes(build), context, copy);
  return copy;
}

ModelSet model_projections_output(ModelBuild *build, ModelLinear *o, ModelSet context, ModelSet y) {
  gboolean copies = reorders_context(build) || keeps_context_twice(build);
  ModelSet x = copies ? reordered(build, MODEL_FORWARD, "context_reordered", "context_reordered", context) : context;
  if (reorders_context(build))
    build->copied = (ModelMade){context, x};
  model_linear_forward(build, o, x, y);
  return reorders_context(build) ? context : x;
}

/* ---- Backward ---- */

ModelSet model_projections_output_backward(ModelBuild *build, const ModelLinear *o, ModelSet context, ModelSet d_y) {
  gboolean copies = reorders_context(build); /* litgpt's copy is a view's gradient */
  ModelSet d_context = model_build_inner(build, "d_context", build->e * build->t * build->c);
  ModelSet x = copies && (o->fp8.names == NULL || !model_fp8_keeps_cast(build))
                   ? reordered(build, MODEL_BACKWARD, "context_again", "context_again", context)
                   : context; /* fp8 kept it cast */
  model_linear_backward(build, o, x, d_y, d_context);
  return copies ? reordered(build, MODEL_BACKWARD, "d_context_reordered", "context_reordered.backward", d_context)
                : d_context;
}

static ModelSet copied_backward(ModelBuild *build, ModelSet d_q, ModelSet d_k, ModelSet d_v) {
  double pair = 2 * key_bytes(build);
  ModelSet d_kv = model_build_inner(build, "d_kv", pair),
           d_apart = model_build_inner(build, "d_apart", all_bytes(build));
  model_build_memory(build, MODEL_BACKWARD, "split_kv.backward", 2 * pair, d_k | d_v, d_kv);
  rope(build, MODEL_BACKWARD, "rope.backward", build->e, d_q | d_kv, 0);
  reorder(build, MODEL_BACKWARD, "qkv_stacked", all_bytes(build), d_q | d_kv, d_apart);
  ModelSet d_qkv = model_build_inner(build, "d_qkv", all_bytes(build));
  reorder(build, MODEL_BACKWARD, "qkv_apart.backward", all_bytes(build), d_apart, d_qkv);
  return d_qkv;
}

static ModelSet joined_backward(ModelBuild *build, const ModelProjections *projections, ModelSet d_q, ModelSet d_k,
                                ModelSet d_v) {
  rope_backward(build, projections->turned, d_q | d_k, &d_q, &d_k);
  norms_backward(build, projections, &d_q, &d_k);
  ModelSet d_qkv = model_build_inner(build, "d_qkv", all_bytes(build));
  model_build_memory(build, MODEL_BACKWARD, "split_qkv.backward", 2 * all_bytes(build), d_q | d_k | d_v, d_qkv);
  return d_qkv;
}

static ModelSet separate_backward(ModelBuild *build, const ModelProjections *projections, ModelRegion *normed,
                                  ModelSet d_q, ModelSet d_k, ModelSet d_v, ModelSet d_normed) {
  rope_backward(build, projections->turned, d_q | d_k, &d_q, &d_k);
  norms_backward(build, projections, &d_q, &d_k);
  ModelSet of_k = model_inner_like(build, "d_normed_of_k", build->t * build->h, normed->x);
  ModelSet of_q = model_inner_like(build, "d_normed_of_q", build->t * build->h, normed->x);
  model_region_return(build, normed);
  model_linear_backward(build, &projections->v, model_region_read_by(build, &projections->v_in, normed), d_v, d_normed);
  ModelSet sum = model_region_part(build, normed, &v_region, d_normed);
  model_linear_backward(build, &projections->k, model_region_read_by(build, &projections->k_in, normed), d_k, of_k);
  model_region_sum(build, normed, "k_proj.sum", sum | model_region_part(build, normed, &k_region, of_k));
  model_linear_backward(build, &projections->q, normed->again, d_q, of_q);
  model_region_sum(build, normed, "q_proj.sum", sum | model_region_part(build, normed, normed->names, of_q));
  return model_region_leave_sum(build, normed, sum);
}

ModelSet model_projections_backward(ModelBuild *build, const ModelProjections *projections, ModelRegion *normed,
                                    const ModelAttentionTensors *at, ModelSet d_context, ModelSet d_normed) {
  ModelSet d_q = model_build_inner(build, "d_q", query_bytes(build));
  ModelSet d_k = model_build_inner(build, "d_k", key_bytes(build)),
           d_v = model_build_inner(build, "d_v", key_bytes(build));
  model_attention_backward(build, at, d_context, d_q, d_k, d_v);
  if (!model_projections_joined(build))
    return separate_backward(build, projections, normed, d_q, d_k, d_v, d_normed);
  ModelSet d_qkv =
      are_copied(build) ? copied_backward(build, d_q, d_k, d_v) : joined_backward(build, projections, d_q, d_k, d_v);
  return model_region_backward(build, normed, &projections->qkv, scattered_gradient(build, d_qkv), d_normed);
}
