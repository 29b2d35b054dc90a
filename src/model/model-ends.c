/* The two ends of the model: from token ids to the residual stream, and from the stream to the loss. */
#include "model-build.h"

#define TOKEN_ID 8.0 /* bytes of an int64 */

static const ModelNormNames norm_names = MODEL_NORM_NAMES("final_norm");
static const ModelLinearNames head_names = MODEL_LINEAR_NAMES("lm_head");

/* A gather reads and writes a row per token. gpt adds the rows of the sequence's positions, alike for every sequence.
 */
static void embedding_forward(ModelBuild *build, int table, int positions, ModelSet ids, ModelSet *ret_mask) {
  double stream = build->e * build->t * build->h, sequence = build->e * build->s * build->h;
  gboolean gpt = build->shape->family == MODEL_GPT, dropout = gpt && build->recipe->dropout > 0;
  ModelSet output = model_build_tensor(build, "output", MODEL_TENSOR_OUTPUT, stream);
  ModelSet tokens = gpt ? model_build_inner(build, "token_rows", stream) : output;
  ModelOp *gather = model_build_kernels(build, MODEL_FORWARD, "embed_tokens", KERNEL_GATHER, 1,
                                        2 * stream + TOKEN_ID * build->t, ids, tokens);
  gather->saves = ids;
  gather->uses = (guint64)1 << table;
  if (positions < 0)
    return;
  ModelSet rows = model_build_inner(build, "position_rows", sequence);
  model_build_kernels(build, MODEL_FORWARD, "embed_positions", KERNEL_GATHER, 1, 2 * sequence, 0, rows)->uses =
      (guint64)1 << positions;
  ModelSet sum = dropout ? model_build_inner(build, "embedded", stream) : output;
  model_build_memory(build, MODEL_FORWARD, "embed_sum", 2 * stream + sequence, tokens | rows, sum);
  if (dropout) {
    *ret_mask = model_build_inner(build, "embedded_mask", build->t * build->h);
    model_dropout_forward(build, "embed_dropout", build->t * build->h, sum, output, *ret_mask);
  }
}

/* The gradient of a table is dense: zeros over all rows, then each token's gradient added to its row (three passes), with
 * tokens sorted by row first. */
#define SCATTER_LAUNCHES 6
static double scatter_bytes(const ModelBuild *build, double rows, double tokens) {
  return build->e * build->h * (rows + 3 * tokens);
}

/* Where the head shares the table, the head's gradient was first, and autograd adds the dense one to it. */
static void embedding_backward(ModelBuild *build, int table, int positions, ModelSet ids, ModelSet mask) {
  double stream = build->e * build->t * build->h, sequence = build->e * build->s * build->h;
  ModelSet d_sum = model_build_tensor(build, "d_output", MODEL_TENSOR_GRAD_OUTPUT, stream);
  if (mask != 0) {
    ModelSet d_output = d_sum;
    d_sum = model_build_inner(build, "d_embedded", stream);
    model_dropout_backward(build, "embed_dropout.backward", build->t * build->h, mask, d_output, d_sum);
  }
  if (positions >= 0) {
    ModelSet d_rows = model_build_inner(build, "d_position_rows", sequence);
    model_build_memory(build, MODEL_BACKWARD, "embed_sum.backward", stream + sequence, d_sum, d_rows);
    double rows = (double)build->shape->max_positions;
    model_build_kernels(build, MODEL_BACKWARD, "embed_positions.backward", KERNEL_GATHER, SCATTER_LAUNCHES,
                        scatter_bytes(build, rows, build->s), d_rows, 0)
        ->gradient_of = positions;
  }
  double bytes = scatter_bytes(build, build->v, build->t) + TOKEN_ID * build->t;
  if (!build->shape->tied_embeddings) {
    model_build_kernels(build, MODEL_BACKWARD, "embed_tokens.backward", KERNEL_GATHER, SCATTER_LAUNCHES, bytes,
                        d_sum | ids, 0)
        ->gradient_of = table;
    return;
  }
  double matrix = build->e * build->v * build->h;
  ModelSet d_table = model_build_inner(build, "d_table", matrix);
  model_build_kernels(build, MODEL_BACKWARD, "embed_tokens.backward", KERNEL_GATHER, SCATTER_LAUNCHES, bytes,
                      d_sum | ids, d_table);
  model_build_memory(build, MODEL_BACKWARD, "embed_tokens.sum", 3 * matrix, d_table, 0)->gradient_of = table;
}

/* Metrics of training: after backward, each computes the eager cross-entropy of the kept logits, a copy of them in fp32 and
 * their log-softmax, and keeps a number of it. Composer: trainer.py (_train_microbatch, _eval_train_metrics), metrics/nlp.py. */
static void loss_metrics(ModelBuild *build) {
  double elements = build->t * build->v, wide = MODEL_BYTES_FP32 * elements;
  for (guint64 i = 0; i < build->recipe->loss_metrics; i++) {
    ModelSet in_fp32 = model_build_scratch(build, "metric_logits", wide);
    ModelSet log_softmax = model_build_scratch(build, "metric_log_softmax", wide);
    model_build_memory(build, MODEL_BACKWARD, "metric.logits_fp32", build->e * elements + wide, 0, in_fp32);
    model_build_kernels(build, MODEL_BACKWARD, "metric.cross_entropy", KERNEL_LOSS, 2, 2 * wide, in_fp32 | log_softmax,
                        log_softmax);
    build->kernels[MODEL_BACKWARD][build->n_ops[MODEL_BACKWARD] - 1].pass = KERNEL_FORWARD;
  }
}

void model_embedding_build(ModelBuild *build) {
  int table = model_build_parameter(build, "embed_tokens.weight", build->v, build->h), positions = -1;
  if (build->shape->family == MODEL_GPT)
    positions = model_build_parameter(build, "embed_positions.weight", (double)build->shape->max_positions, build->h);
  ModelSet ids = model_build_tensor(build, "token_ids", MODEL_TENSOR_INPUT, TOKEN_ID * build->t), mask = 0;
  embedding_forward(build, table, positions, ids, &mask);
  embedding_backward(build, table, positions, ids, mask);
  loss_metrics(build);
}

/* Cross-entropy as PyTorch computes it: the logits in fp32, their log-softmax (kept), and the loss of each token's
 * label, whose row is next to nothing. The caller holds the logits until the loss is there. Backward: a matrix of zeros
 * with one entry per token, the softmax's gradient from it and the kept log-softmax, and the cast back. */
static void loss_forward(ModelBuild *build, ModelSet logits, ModelSet log_softmax) {
  double elements = build->t * build->v;
  ModelSet in_fp32 = logits;
  if (build->half) {
    in_fp32 = model_build_scratch(build, "logits_fp32", MODEL_BYTES_FP32 * elements);
    model_build_memory(build, MODEL_FORWARD, "logits_fp32", (build->e + MODEL_BYTES_FP32) * elements, logits, in_fp32);
  }
  ModelOp *loss = model_build_kernels(build, MODEL_FORWARD, "cross_entropy", KERNEL_LOSS, 2,
                                      2 * MODEL_BYTES_FP32 * elements, logits | in_fp32, log_softmax);
  loss->saves = log_softmax;
}

static void loss_backward(ModelBuild *build, ModelSet log_softmax, ModelSet d_logits) {
  double elements = build->t * build->v;
  ModelSet d_log_softmax = model_build_scratch(build, "d_log_softmax", MODEL_BYTES_FP32 * elements);
  ModelSet d_fp32 = build->half ? model_build_scratch(build, "d_logits_fp32", MODEL_BYTES_FP32 * elements) : d_logits;
  model_build_kernels(build, MODEL_BACKWARD, "cross_entropy.backward", KERNEL_LOSS, 3,
                      (1 + 3) * MODEL_BYTES_FP32 * elements, log_softmax | d_log_softmax, d_fp32 | d_log_softmax);
  if (build->half)
    model_build_memory(build, MODEL_BACKWARD, "logits_fp32.backward", (MODEL_BYTES_FP32 + build->e) * elements, d_fp32,
                       d_logits);
}

/* One kernel that reads the logits twice (maximum and sum as it goes; then each) and leaves their gradient in their place
 * (Liger-Kernel's, as Apex's and FlashAttention's with inplace_backward). Backward scales that by the loss's gradient, which
 * is 1: nothing to do but hand it on. */
static void fused_loss(ModelBuild *build, ModelSet logits) {
  model_build_kernels(build, MODEL_FORWARD, "cross_entropy", KERNEL_MEMORY, 1, 3 * build->e * build->t * build->v,
                      logits, 0)
      ->saves = logits;
}

/* A softmax over the vocabulary written out in PyTorch, as for a vocabulary that ranks share (here one has all of it): an
 * fp32 copy, its maximum (read), the difference (read, written), then in its place the exponential (read, written), the
 * sum (read) and the quotient (read, written). What is left is the softmax, and becomes the gradient in its place. */
static void vocab_parallel_forward(ModelBuild *build, ModelSet logits, ModelSet softmax) {
  double elements = build->t * build->v;
  ModelSet in_fp32 = logits;
  if (build->half) {
    in_fp32 = model_build_scratch(build, "logits_fp32", MODEL_BYTES_FP32 * elements);
    model_build_memory(build, MODEL_FORWARD, "logits_fp32", (build->e + MODEL_BYTES_FP32) * elements, logits, in_fp32);
  }
  model_build_kernels(build, MODEL_FORWARD, "cross_entropy", KERNEL_MEMORY, 5,
                      (1 + 2 + 2 + 1 + 2) * MODEL_BYTES_FP32 * elements, logits | in_fp32, softmax)
      ->saves = softmax;
}

static void vocab_parallel_backward(ModelBuild *build, ModelSet softmax, ModelSet d_logits) {
  double elements = build->t * build->v;
  model_build_memory(build, MODEL_BACKWARD, "cross_entropy.backward",
                     (2 * MODEL_BYTES_FP32 + (build->half ? MODEL_BYTES_FP32 + build->e : 0)) * elements, softmax,
                     d_logits);
}

void model_head_build(ModelBuild *build) {
  double stream = build->e * build->t * build->h, logits_bytes = build->e * build->t * build->v;
  ModelNorm norm = model_norm(build, &norm_names);
  ModelLinear head = model_linear(build, &head_names, build->h, build->v, FALSE);
  build->parameters[head.weight].shared = build->shape->tied_embeddings;

  ModelSet input = model_build_tensor(build, "input", MODEL_TENSOR_INPUT, stream);
  ModelSet normed = model_build_inner(build, "normed", stream),
           logits = model_build_inner(build, "logits", logits_bytes);
  gboolean fused = build->recipe->loss == MODEL_LOSS_FUSED;
  gboolean parallel = build->recipe->loss == MODEL_LOSS_VOCAB_PARALLEL;
  ModelSet softmax =
      fused ? 0
            : model_build_inner(build, parallel ? "softmax" : "log_softmax", MODEL_BYTES_FP32 * build->t * build->v);
  model_norm_forward(build, &norm, input, normed);
  model_linear_forward(build, &head, normed, logits);
  if (fused)
    fused_loss(build, logits);
  else
    (parallel ? vocab_parallel_forward : loss_forward)(build, logits, softmax);

  ModelSet d_logits = fused ? logits : model_build_inner(build, "d_logits", logits_bytes),
           d_normed = model_build_inner(build, "d_normed", stream);
  ModelSet d_input = model_build_tensor(build, "d_input", MODEL_TENSOR_GRAD_INPUT, stream);
  if (!fused)
    (parallel ? vocab_parallel_backward : loss_backward)(build, softmax, d_logits);
  model_linear_backward(build, &head, normed, d_logits, d_normed);
  model_norm_backward(build, &norm, input, d_normed, d_input);
}
