/* SPDX-License-Identifier: MIT */
/* Four losses without all logits.
 *
 *   fused-linear      forward: logits ─ loss and its gradient in their place ─ dgrad, wgrad; backward: both scaled
 *   chunked           forward: the eager loss of each chunk, and its whole backward; backward: only hands them on
 *   chunked-recompute forward: the eager loss of each chunk, nothing kept; backward: again, then its backward
 *   cut               forward: one kernel that makes logits tile by tile and keeps a sum per token; backward: one that
 *                     makes them again and both gradients
 *
 * Chunks: fused-linear's are as many as the vocabulary is wider than the hidden size, of a power of two of tokens, and
 * its weight's gradient goes through an fp32 copy of each chunk's part (Liger-Kernel,
 * ops/fused_linear_cross_entropy.py, of 2026). chunked: eight (torchtitan, components/loss.py, ChunkedLossWrapper).
 * chunked-recompute: 256 tokens, the weight cast to fp32 and, by autocast, back for each, and two metrics of the
 * log-softmax (TRL, trainer/sft_trainer.py, _chunked_cross_entropy_loss). cut: Apple's Cut Cross-Entropy (arXiv
 * 2411.09009; cce_backward.py). Its kernels are taken to be as fast as plain matmuls, and to do in full what it leaves
 * out of gradients that are next to nothing: the two are of like size on the machine of the paper's first table. */
#include "model-head-chunks.h"

#include <math.h>

#define TITAN_CHUNKS 8
#define TRL_TOKENS   256
#define CAP_KERNELS  3 /* of soft-capped logits: quotient, tanh, product */

gboolean model_chunks_of(const ModelBuild *build, const ModelLinear *head, ModelHeadChunks *ret) {
  double widths = ceil(build->v / build->h), most = build->t;
  if (build->recipe->loss < MODEL_LOSS_FUSED_LINEAR || build->recipe->loss > MODEL_LOSS_CUT)
    return FALSE;
  if (build->recipe->loss == MODEL_LOSS_FUSED_LINEAR)
    for (most = 1; most < ceil(build->t / widths);)
      most *= 2;
  else if (build->recipe->loss == MODEL_LOSS_CHUNKED)
    most = ceil(build->t / TITAN_CHUNKS);
  else if (build->recipe->loss == MODEL_LOSS_CHUNKED_RECOMPUTE)
    most = TRL_TOKENS;
  most = MIN(most, build->t);
  double n = ceil(build->t / most);
  *ret = (ModelHeadChunks){.loss = build->recipe->loss,
                           .n = (guint32)n,
                           .tokens = ceil(build->t / n),
                           .most = most,
                           .trains = !build->parameters[head->weight].frozen};
  return TRUE;
}

static guint64 weight_mask(const ModelLinear *head) {
  return (guint64)1 << head->weight | (head->bias >= 0 ? (guint64)1 << head->bias : 0);
}

/* Of one chunk. */
static double logits_of(const ModelBuild *build, const ModelHeadChunks *chunks) {
  return chunks->tokens * build->v;
}

static ModelSet chunk_tensor(ModelBuild *build, const ModelHeadChunks *chunks, const char *name, double bytes) {
  return model_build_inner(build, name, bytes * chunks->most * build->v);
}

static ModelOp *for_each(const ModelHeadChunks *chunks, ModelOp *op) {
  op->pieces = chunks->n;
  return op;
}

static ModelOp *move(ModelBuild *build, const ModelHeadChunks *chunks, ModelDirection direction, const char *name,
                     KernelKind kind, guint32 launches, double bytes, ModelSet reads, ModelSet writes) {
  return for_each(chunks, model_build_kernels(build, direction, name, kind, launches, bytes, reads, writes));
}

/* ---- Matmuls ---- */

/* What it is worth to the model: that of all tokens. */
static ModelOp *worth(const ModelBuild *build, const ModelLinear *head, ModelOp *op) {
  op->nominal_flops = 2 * build->t * build->v * build->h;
  model_linear_useful(head, op);
  return op;
}

static void make_logits(ModelBuild *build, const ModelHeadChunks *chunks, const ModelLinear *head,
                        ModelDirection direction, ModelSet normed, ModelSet logits) {
  ModelOp *op = for_each(chunks, model_build_matmul(build, direction, head->names->forward, 1, chunks->tokens, build->v,
                                                    build->h, normed, logits));
  worth(build, head, op)->uses = weight_mask(head);
  if (direction == MODEL_BACKWARD)
    op->nominal_flops = 0; /* a second time */
  else
    op->saves = chunks->loss == MODEL_LOSS_CHUNKED_RECOMPUTE || chunks->loss == MODEL_LOSS_CUT ? normed : 0;
}

static void make_dgrad(ModelBuild *build, ModelHeadChunks *chunks, const ModelLinear *head, ModelDirection direction,
                       ModelSet d_logits) {
  chunks->d_normed = model_build_inner(build, "d_normed", build->e * build->t * build->h);
  ModelOp *op = for_each(chunks, model_build_matmul(build, direction, head->names->dgrad, 1, chunks->tokens, build->h,
                                                    build->v, d_logits, chunks->d_normed));
  worth(build, head, op)->uses = (guint64)1 << head->weight;
}

static ModelSet product_of(ModelBuild *build, const ModelHeadChunks *chunks, const ModelLinear *head,
                           ModelDirection direction, ModelSet reads, gboolean fp32) {
  double bytes = build->e + (fp32 ? MODEL_BYTES_FP32 : 0);
  ModelSet product = model_build_inner(build, "lm_head.product", bytes * build->v * build->h);
  worth(build, head,
        for_each(chunks, model_build_matmul(build, direction, head->names->wgrad, 1, build->v, build->h, chunks->tokens,
                                            reads, product)));
  return product;
}

/* A product for each chunk, which is then added to what there is: by way of an fp32 copy, or as it is. */
static ModelOp *add_product(ModelBuild *build, const ModelHeadChunks *chunks, ModelDirection direction, gboolean fp32,
                            ModelSet product_and_sum) {
  double e = build->e, w = MODEL_BYTES_FP32, bytes = fp32 ? (e + w) + (e + w + e) : 3 * e;
  return move(build, chunks, direction, "lm_head.wgrad.sum", KERNEL_MEMORY, fp32 ? 2 : 1, bytes * build->v * build->h,
              product_and_sum, 0);
}

/* In forward: into zeros. */
static void make_wgrad(ModelBuild *build, ModelHeadChunks *chunks, const ModelLinear *head, ModelSet d_logits,
                       ModelSet normed, gboolean fp32) {
  double bytes = build->e * build->v * build->h;
  if (!chunks->trains)
    return;
  chunks->d_weight = model_build_inner(build, "d_lm_head", bytes);
  model_build_memory(build, MODEL_FORWARD, "lm_head.wgrad.zeros", bytes, 0, chunks->d_weight);
  ModelSet product = product_of(build, chunks, head, MODEL_FORWARD, d_logits | normed, fp32);
  add_product(build, chunks, MODEL_FORWARD, fp32, product | chunks->d_weight);
}

/* ---- The eager loss of a chunk ---- */

/* As model-head.c has it of all logits: what it makes for its backward. */
static ModelSet eager_forward(ModelBuild *build, const ModelHeadChunks *chunks, ModelDirection direction,
                              ModelSet logits) {
  double n = logits_of(build, chunks), e = build->e, w = MODEL_BYTES_FP32;
  gboolean caps = model_build_has(build, MODEL_CAPPED_LOGITS), metrics = chunks->loss == MODEL_LOSS_CHUNKED_RECOMPUTE;
  ModelSet wide = chunk_tensor(build, chunks, direction == MODEL_FORWARD ? "logits_fp32" : "logits_fp32_again", w);
  ModelSet log_softmax =
      chunk_tensor(build, chunks, direction == MODEL_FORWARD ? "log_softmax" : "log_softmax_again", w);
  move(build, chunks, direction, "logits_fp32", KERNEL_MEMORY, caps ? 1 + CAP_KERNELS : 1,
       ((build->half ? e + w : 2 * w) + (caps ? 2 * CAP_KERNELS * w : 0)) * n, logits, wide);
  /* Metrics: the largest (in); the exponential (in, out), the product (two in, one out) and its sum (in). */
  move(build, chunks, direction, "cross_entropy", KERNEL_LOSS, metrics ? 6 : 2,
       (2 + (metrics ? 1 + 2 + 3 + 1 : 0)) * w * n, wide, log_softmax);
  return log_softmax;
}

static ModelSet eager_backward(ModelBuild *build, const ModelHeadChunks *chunks, ModelDirection direction,
                               ModelSet log_softmax) {
  double n = logits_of(build, chunks), e = build->e, w = MODEL_BYTES_FP32;
  ModelSet d_log_softmax = model_build_scratch(build, "d_log_softmax", w * chunks->most * build->v);
  ModelSet d_wide = chunk_tensor(build, chunks, "d_logits_fp32", w),
           d_logits = chunk_tensor(build, chunks, "d_logits", e);
  move(build, chunks, direction, "cross_entropy.backward", KERNEL_LOSS, 3, (1 + 3) * w * n, log_softmax | d_log_softmax,
       d_wide | d_log_softmax);
  move(build, chunks, direction, "logits_fp32.backward", KERNEL_MEMORY, 1, (w + e) * n, d_wide, d_logits);
  return d_logits;
}

/* The weight in fp32, and, as autocast wants it, in 16 bits again. */
static void cast_weight(ModelBuild *build, const ModelHeadChunks *chunks, const ModelLinear *head,
                        ModelDirection direction) {
  double weight = build->v * build->h, both = build->e + MODEL_BYTES_FP32;
  ModelSet copies =
      model_build_scratch(build, direction == MODEL_FORWARD ? "lm_head_fp32" : "lm_head_fp32_again", both * weight);
  move(build, chunks, direction, "lm_head_fp32", KERNEL_MEMORY, 2, 2 * both * weight, copies, copies)->uses =
      weight_mask(head);
}

/* ---- The four ---- */

static void completes(ModelOp *op, const ModelLinear *head) {
  op->gradient_of = head->weight;
  op->also_gradient_of = head->bias;
}

/* In place: read twice, written once. */
static void fused_forward(ModelBuild *build, ModelHeadChunks *chunks, const ModelLinear *head, ModelSet normed) {
  ModelSet logits = chunk_tensor(build, chunks, "logits", build->e);
  make_logits(build, chunks, head, MODEL_FORWARD, normed, logits);
  move(build, chunks, MODEL_FORWARD, "cross_entropy", KERNEL_MEMORY, 1, 3 * build->e * logits_of(build, chunks), logits,
       0);
  make_dgrad(build, chunks, head, MODEL_FORWARD, logits);
  make_wgrad(build, chunks, head, logits, normed, build->half);
}

static void chunked_forward(ModelBuild *build, ModelHeadChunks *chunks, const ModelLinear *head, ModelSet normed) {
  ModelSet logits = chunk_tensor(build, chunks, "logits", build->e);
  make_logits(build, chunks, head, MODEL_FORWARD, normed, logits);
  ModelSet d_logits = eager_backward(build, chunks, MODEL_FORWARD, eager_forward(build, chunks, MODEL_FORWARD, logits));
  make_dgrad(build, chunks, head, MODEL_FORWARD, d_logits);
  make_wgrad(build, chunks, head, d_logits, normed, FALSE);
}

static void recompute_forward(ModelBuild *build, ModelHeadChunks *chunks, const ModelLinear *head, ModelSet normed) {
  ModelSet logits = chunk_tensor(build, chunks, "logits", build->e);
  cast_weight(build, chunks, head, MODEL_FORWARD);
  make_logits(build, chunks, head, MODEL_FORWARD, normed, logits);
  eager_forward(build, chunks, MODEL_FORWARD, logits);
}

static void recompute_backward(ModelBuild *build, ModelHeadChunks *chunks, const ModelLinear *head, ModelSet normed) {
  ModelSet logits = chunk_tensor(build, chunks, "logits_again", build->e);
  cast_weight(build, chunks, head, MODEL_BACKWARD);
  make_logits(build, chunks, head, MODEL_BACKWARD, normed, logits);
  ModelSet d_logits =
      eager_backward(build, chunks, MODEL_BACKWARD, eager_forward(build, chunks, MODEL_BACKWARD, logits));
  make_dgrad(build, chunks, head, MODEL_BACKWARD, d_logits);
  if (!chunks->trains)
    return;
  ModelSet product = product_of(build, chunks, head, MODEL_BACKWARD, d_logits | normed, build->half);
  completes(add_product(build, chunks, MODEL_BACKWARD, build->half, product), head);
}

static void cut_forward(ModelBuild *build, ModelHeadChunks *chunks, const ModelLinear *head, ModelSet normed) {
  chunks->lse = model_build_inner(build, "logits_sums", MODEL_BYTES_FP32 * build->t);
  make_logits(build, chunks, head, MODEL_FORWARD, normed, chunks->lse);
  build->ops[MODEL_FORWARD][build->n_ops[MODEL_FORWARD] - 1].saves |= chunks->lse;
}

/* The tiles are nowhere whole: their tensor is as small as what is found of them. */
static void cut_backward(ModelBuild *build, ModelHeadChunks *chunks, const ModelLinear *head, ModelSet normed) {
  ModelSet tiles = model_build_inner(build, "logits_tiles", MODEL_BYTES_FP32 * build->t);
  make_logits(build, chunks, head, MODEL_BACKWARD, normed | chunks->lse, tiles);
  make_dgrad(build, chunks, head, MODEL_BACKWARD, tiles);
  if (!chunks->trains)
    return;
  completes(
      worth(build, head, model_build_wgrad(build, head->names->wgrad, build->v, build->h, build->t, normed | tiles)),
      head);
}

/* ---- Both ways ---- */

void model_chunks_forward(ModelBuild *build, ModelHeadChunks *chunks, const ModelLinear *head, ModelSet normed) {
  static void (*const forward[])(ModelBuild *, ModelHeadChunks *, const ModelLinear *,
                                 ModelSet) = {[MODEL_LOSS_FUSED_LINEAR] = fused_forward,
                                              [MODEL_LOSS_CHUNKED] = chunked_forward,
                                              [MODEL_LOSS_CHUNKED_RECOMPUTE] = recompute_forward,
                                              [MODEL_LOSS_CUT] = cut_forward};
  forward[chunks->loss](build, chunks, head, normed);
  if (chunks->d_normed != 0)
    build->ops[MODEL_FORWARD][build->n_ops[MODEL_FORWARD] - 1].saves = chunks->d_normed | chunks->d_weight;
}

/* The gradients are there: scaled by the loss's, or (chunked) the hidden states' put together, and handed on. */
static void hand_on(ModelBuild *build, const ModelHeadChunks *chunks, const ModelLinear *head) {
  double weight = build->e * build->v * build->h, stream = build->e * build->t * build->h;
  gboolean scales = chunks->loss == MODEL_LOSS_FUSED_LINEAR;
  if (chunks->d_weight != 0)
    model_build_memory(build, MODEL_BACKWARD, scales ? "lm_head.wgrad.scale" : "loss.backward",
                       scales ? 2 * weight : MODEL_BYTES_FP32 * build->t, chunks->d_weight, 0);
  ModelOp *op = model_build_memory(build, MODEL_BACKWARD, scales ? "lm_head.dgrad.scale" : "lm_head.dgrad.join",
                                   2 * stream, chunks->d_normed, 0);
  if (chunks->trains)
    completes(op, head);
}

ModelSet model_chunks_backward(ModelBuild *build, ModelHeadChunks *chunks, const ModelLinear *head, ModelSet normed) {
  if (chunks->loss == MODEL_LOSS_CUT)
    cut_backward(build, chunks, head, normed);
  else if (chunks->loss == MODEL_LOSS_CHUNKED_RECOMPUTE)
    recompute_backward(build, chunks, head, normed);
  else
    hand_on(build, chunks, head);
  return chunks->d_normed;
}
