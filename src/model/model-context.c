/* SPDX-License-Identifier: MIT */
/* Attention of a rank's tokens with those of all context ranks.
 *
 *   ring     keys and values go around in context - 1 steps; a piece of attention after each, its output merged with
 *            the others' by their log-sum-exp (arXiv 2310.01889). Zigzag: own tokens with own, causal; then pieces of
 *            which each sees half of the pairs
 *              rank 0   tokens 0 7        1st piece    7 with the other rank's 1 6: all of them
 *              rank 1   tokens 1 6        1st piece    1 6 with 0 alone
 *            Else the last rank's pieces are full.
 *            Backward: keys and values go around again, and their gradients behind them
 *            (Transformer Engine, attention/dot_product_attention/context_parallel.py, AttnFuncWithCPAndKVP2P)
 *   gather   keys and values of all, then one kernel; backward gathers again and scatters the sums of their gradients
 *            (AttnFuncWithCPAndKVAllGather; arXiv 2407.21783 section 3.3.2)
 *   Ulysses  all-to-all from all heads of some tokens to some heads of all tokens, of q, k, v; of the context back
 *            (arXiv 2309.14509). Fewer key heads than ranks are copied
 *
 * L is a rank's part of a sequence. A ring's backward starts, as its forward, with the rank's own keys; Transformer
 * Engine starts with those that came last, with as many steps. */
#include "model-attention.h"

typedef struct {
  double pairs;     /* of queries and keys, a sequence's, per head: what the pieces together see */
  ModelPairs piece; /* as one kernel sees them */
} Seen;

/* Two matmuls of queries with keys make the forward, five the backward, of which four count. */
#define FORWARD_MATMULS  2.0
#define BACKWARD_MATMULS 5.0
#define NOMINAL_BACKWARD 4.0

static double query_bytes(const ModelBuild *build) {
  return build->e * build->t * build->q;
}

/* Of keys, or of values. */
static double key_bytes(const ModelBuild *build) {
  return build->e * build->t * build->kv;
}

static double row_bytes(const ModelBuild *build) {
  return MODEL_BYTES_FP32 * build->t * build->a;
}

static double matmul_flops(const ModelBuild *build, double pairs) {
  return 2 * build->b * build->q * pairs;
}

/* ---- Ring ---- */

/* L² / 2 pairs of the rank's own tokens. */
static Seen own_pairs(const ModelBuild *build) {
  return (Seen){build->s * build->s / 2, {build->s, build->s, TRUE}};
}

static Seen ring_pairs(const ModelBuild *build) {
  double keys = build->share->zigzag ? build->s / 2 : build->s;
  return (Seen){build->s * keys, {build->s, keys, FALSE}};
}

/* `steps` of `bytes` each, as the pieces of the op before or after go. */
static void ring(ModelBuild *build, ModelDirection direction, const char *name, ModelChunks chunks, double bytes,
                 ModelSet reads, ModelSet writes) {
  ModelOp *op =
      model_build_exchange(build, direction, name, MODEL_EXCHANGE_RING, MODEL_AXIS_CONTEXT, bytes, reads, writes);
  op->exchange.steps = (guint32)build->context - 1;
  op->exchange.chunks = chunks;
  op->exchange.asynchronous = TRUE;
}

/* Of each piece the output and the log-sum-exp, and of each step what came, stand until the end (p2p_comm_buffers,
 * out_per_step). The merge scales each output (in, out) and adds it (two in, one out). */
static void ring_forward(ModelBuild *build, ModelAttentionTensors *at) {
  double steps = build->context - 1, q = query_bytes(build), kv = 2 * key_bytes(build), row = row_bytes(build);
  Seen own = own_pairs(build), others = ring_pairs(build);
  double whole = matmul_flops(build, build->s * build->keys);
  ModelSet came = model_build_inner(build, "keys_around", steps * kv);
  ModelSet own_part = model_build_inner(build, "context_own", q + row);
  ModelSet parts = model_build_inner(build, "context_parts", steps * (q + row));
  at->lse = model_build_inner(build, "lse", row);
  ring(build, MODEL_FORWARD, "attention.keys", MODEL_CHUNKS_BEFORE, kv, at->k | at->v, came);
  model_build_attention(build, MODEL_FORWARD, "attention", own.piece, FORWARD_MATMULS * matmul_flops(build, own.pairs),
                        FORWARD_MATMULS * whole / build->context, 2 * q + kv + row, at->q | at->k | at->v, own_part);
  ModelOp *op = model_build_attention(build, MODEL_FORWARD, "attention.ring", others.piece,
                                      FORWARD_MATMULS * matmul_flops(build, others.pairs),
                                      FORWARD_MATMULS * whole * steps / build->context,
                                      2 * q + kv * others.piece.keys / build->s + row, at->q | came, parts);
  op->pieces = (guint32)steps;
  op = model_build_kernels(build, MODEL_FORWARD, "attention.merge", KERNEL_MEMORY, 2 * (guint32)build->context,
                           (2 + 3) * build->context * q, own_part | parts, at->context | at->lse);
  op->saves = at->q | at->k | at->v | at->context | at->lse;
}

/* Keys, values and their gradients stand twice, to be sent and to be received; a piece's own gradients are added to
 * what is there (two in, one out). */
static void ring_backward(ModelBuild *build, const ModelAttentionTensors *at, ModelSet d_context, ModelSet d_q,
                          ModelSet d_k, ModelSet d_v) {
  double steps = build->context - 1, q = query_bytes(build), kv = 2 * key_bytes(build), row = row_bytes(build);
  Seen own = own_pairs(build), others = ring_pairs(build);
  double whole = matmul_flops(build, build->s * build->keys), share = others.piece.keys / build->s;
  ModelSet kept = at->q | at->context | at->lse, came = model_build_inner(build, "keys_around_again", 2 * kv);
  ModelSet gradients = model_build_inner(build, "d_keys_around", 2 * kv);
  ModelSet part = model_build_scratch(build, "d_part", q + kv);
  ring(build, MODEL_BACKWARD, "attention.keys.again", MODEL_CHUNKS_BEFORE, kv, at->k | at->v, came);
  model_build_attention(build, MODEL_BACKWARD, "attention.backward", own.piece,
                        BACKWARD_MATMULS * matmul_flops(build, own.pairs), NOMINAL_BACKWARD * whole / build->context,
                        4 * q + 2 * kv + row, d_context | kept | at->k | at->v, d_q | gradients);
  model_build_attention(build, MODEL_BACKWARD, "attention.ring.backward", others.piece,
                        BACKWARD_MATMULS * matmul_flops(build, others.pairs),
                        NOMINAL_BACKWARD * whole * steps / build->context, 4 * q + 2 * kv * share + row,
                        d_context | kept | came | d_q | gradients | part, part)
      ->pieces = (guint32)steps;
  ring(build, MODEL_BACKWARD, "attention.gradients", MODEL_CHUNKS_AFTER, kv, gradients, 0);
  model_build_kernels(build, MODEL_BACKWARD, "attention.merge.backward", KERNEL_MEMORY, 2 * (guint32)build->context,
                      3 * build->context * (q + kv * share), gradients | d_q, d_k | d_v);
}

/* ---- Gather ---- */

/* L (S + 1) / 2 pairs of zigzag's queries are S L / 2 as the causal half is counted; the last rank's queries see S - L
 * / 2 keys on average. */
static Seen gathered_pairs(const ModelBuild *build) {
  if (build->share->zigzag)
    return (Seen){build->s * build->keys / 2, {build->s, build->keys, TRUE}};
  return (Seen){build->s * (build->keys - build->s / 2), {build->s, build->keys, FALSE}};
}

static ModelSet gathered(ModelBuild *build, ModelDirection direction, const char *name, const char *tensor,
                         ModelSet from) {
  double bytes = build->context * key_bytes(build);
  ModelSet to = model_build_inner(build, tensor, bytes);
  model_build_exchange(build, direction, name, MODEL_EXCHANGE_ALL_GATHER, MODEL_AXIS_CONTEXT, bytes, from, to);
  return to;
}

static void gather_forward(ModelBuild *build, ModelAttentionTensors *at) {
  double q = query_bytes(build), kv = 2 * build->context * key_bytes(build), row = row_bytes(build);
  Seen seen = gathered_pairs(build);
  ModelSet k = gathered(build, MODEL_FORWARD, "attention.keys", "k_gathered", at->k);
  ModelSet v = gathered(build, MODEL_FORWARD, "attention.values", "v_gathered", at->v);
  at->lse = model_build_inner(build, "lse", row);
  ModelOp *op = model_build_attention(build, MODEL_FORWARD, "attention", seen.piece,
                                      FORWARD_MATMULS * matmul_flops(build, seen.pairs),
                                      FORWARD_MATMULS * matmul_flops(build, build->s * build->keys), 2 * q + kv + row,
                                      at->q | k | v, at->context | at->lse);
  op->saves = at->q | at->k | at->v | at->context | at->lse;
}

static void scattered(ModelBuild *build, const char *name, ModelSet from, ModelSet to) {
  model_build_exchange(build, MODEL_BACKWARD, name, MODEL_EXCHANGE_REDUCE_SCATTER, MODEL_AXIS_CONTEXT,
                       build->context * key_bytes(build), from, to);
}

static void gather_backward(ModelBuild *build, const ModelAttentionTensors *at, ModelSet d_context, ModelSet d_q,
                            ModelSet d_k, ModelSet d_v) {
  double q = query_bytes(build), kv = build->context * key_bytes(build), row = row_bytes(build);
  Seen seen = gathered_pairs(build);
  ModelSet k = gathered(build, MODEL_BACKWARD, "attention.keys.again", "k_gathered_again", at->k);
  ModelSet v = gathered(build, MODEL_BACKWARD, "attention.values.again", "v_gathered_again", at->v);
  ModelSet d_k_all = model_build_inner(build, "d_k_gathered", kv),
           d_v_all = model_build_inner(build, "d_v_gathered", kv);
  model_build_attention(build, MODEL_BACKWARD, "attention.backward", seen.piece,
                        BACKWARD_MATMULS * matmul_flops(build, seen.pairs),
                        NOMINAL_BACKWARD * matmul_flops(build, build->s * build->keys), 4 * q + 4 * kv + row,
                        d_context | at->q | k | v | at->context | at->lse, d_q | d_k_all | d_v_all);
  scattered(build, "attention.keys.backward", d_k_all, d_k);
  scattered(build, "attention.values.backward", d_v_all, d_v);
}

/* ---- Ulysses ---- */

static void exchange_heads(ModelBuild *build, ModelDirection direction, const char *name, double bytes, ModelSet from,
                           ModelSet to) {
  model_build_exchange(build, direction, name, MODEL_EXCHANGE_ALL_TO_ALL, MODEL_AXIS_CONTEXT, bytes, from, to);
}

/* Sent by one rank, and held after it: a key head for each rank at least. */
static double key_head_bytes(const ModelBuild *build) {
  return build->e * build->t * MAX(build->kv, build->context * build->d);
}

/* What attention's builders read of the bench. */
typedef struct {
  double s, t, a, q, kv, c, values;
} Widths;

/* Some tokens of all heads to all tokens of some heads; returns what was. */
static Widths turn_to_heads(ModelBuild *build) {
  Widths before = {build->s, build->t, build->a, build->q, build->kv, build->c, build->values};
  build->s = build->keys;
  build->t = build->b * build->keys;
  build->a /= build->context;
  build->q /= build->context;
  build->kv = build->values = MAX(build->kv / build->context, build->d);
  build->c = build->q;
  return before;
}

static void turn_back(ModelBuild *build, Widths before) {
  build->s = before.s;
  build->t = before.t;
  build->a = before.a;
  build->q = before.q;
  build->kv = before.kv;
  build->c = before.c;
  build->values = before.values;
}

/* The core's tensors, with those of heads for those of tokens. */
static ModelAttentionTensors of_heads(const ModelAttentionTensors *at) {
  ModelAttentionTensors heads = *at;
  heads.q = at->q_heads;
  heads.k = at->k_heads;
  heads.v = at->v_heads;
  heads.context = at->context_heads;
  return heads;
}

static void ulysses_forward(ModelBuild *build, ModelAttentionTensors *at) {
  double q = query_bytes(build), kv = key_head_bytes(build);
  at->q_heads = model_build_inner(build, "q_heads", q);
  at->k_heads = model_build_inner(build, "k_heads", kv);
  at->v_heads = model_build_inner(build, "v_heads", kv);
  at->context_heads = model_build_inner(build, "context_heads", q);
  exchange_heads(build, MODEL_FORWARD, "attention.queries", q, at->q, at->q_heads);
  exchange_heads(build, MODEL_FORWARD, "attention.keys", kv, at->k, at->k_heads);
  exchange_heads(build, MODEL_FORWARD, "attention.values", kv, at->v, at->v_heads);
  ModelAttentionTensors heads = of_heads(at);
  Widths before = turn_to_heads(build);
  model_attention_core(build, &heads);
  turn_back(build, before);
  exchange_heads(build, MODEL_FORWARD, "attention.context", q, at->context_heads, at->context);
  heads.q = at->q;
  heads.k = at->k;
  heads.v = at->v;
  heads.context = at->context;
  *at = heads;
}

static void ulysses_backward(ModelBuild *build, const ModelAttentionTensors *at, ModelSet d_context, ModelSet d_q,
                             ModelSet d_k, ModelSet d_v) {
  double q = query_bytes(build), kv = key_head_bytes(build);
  ModelSet d_context_heads = model_build_inner(build, "d_context_heads", q);
  ModelSet d_q_heads = model_build_inner(build, "d_q_heads", q);
  ModelSet d_k_heads = model_build_inner(build, "d_k_heads", kv), d_v_heads = model_build_inner(build, "d_v_heads", kv);
  exchange_heads(build, MODEL_BACKWARD, "attention.context.backward", q, d_context, d_context_heads);
  ModelAttentionTensors heads = of_heads(at);
  Widths before = turn_to_heads(build);
  model_attention_core_backward(build, &heads, d_context_heads, d_q_heads, d_k_heads, d_v_heads);
  turn_back(build, before);
  exchange_heads(build, MODEL_BACKWARD, "attention.queries.backward", q, d_q_heads, d_q);
  exchange_heads(build, MODEL_BACKWARD, "attention.keys.backward", kv, d_k_heads, d_k);
  exchange_heads(build, MODEL_BACKWARD, "attention.values.backward", kv, d_v_heads, d_v);
}

/* ---- Which ---- */

void model_context_forward(ModelBuild *build, ModelAttentionTensors *tensors) {
  static void (*const ways[])(ModelBuild *, ModelAttentionTensors *) = {
      [MODEL_CONTEXT_RING] = ring_forward,
      [MODEL_CONTEXT_GATHER] = gather_forward,
      [MODEL_CONTEXT_ULYSSES] = ulysses_forward,
  };
  ways[build->share->context_kind](build, tensors);
}

void model_context_backward(ModelBuild *build, const ModelAttentionTensors *tensors, ModelSet d_context, ModelSet d_q,
                            ModelSet d_k, ModelSet d_v) {
  static void (*const ways[])(ModelBuild *, const ModelAttentionTensors *, ModelSet, ModelSet, ModelSet, ModelSet) = {
      [MODEL_CONTEXT_RING] = ring_backward,
      [MODEL_CONTEXT_GATHER] = gather_backward,
      [MODEL_CONTEXT_ULYSSES] = ulysses_backward,
  };
  ways[build->share->context_kind](build, tensors, d_context, d_q, d_k, d_v);
}
