/* The embedding: from token ids to the residual stream. Each tensor rank may hold some of the vocabulary's rows. */
#include "model-build.h"

#define TOKEN_ID 8.0 /* bytes of an int64 */

static gboolean splits_vocabulary(const ModelBuild *build) {
  return build->tensor > 1 && !build->share->whole_vocabulary;
}

/* Ids of other ranks' rows read row 0, and what they read is zeroed (VocabParallelEmbedding of Megatron-LM,
 * tensor_parallel/layers.py; TensorParallelEmbedding of nanotron; DTensor's masked partial sums): two comparisons,
 * their union, a subtraction and the masked write over ids, and the zeros over rows. */
#define MASK_LAUNCHES 6
#define MASK_PASSES   10.0
static void mask_rows(ModelBuild *build, ModelDirection direction, const char *name, double row_passes, ModelSet reads,
                      ModelSet writes) {
  model_build_kernels(build, direction, name, KERNEL_MEMORY, MASK_LAUNCHES,
                      MASK_PASSES * TOKEN_ID * build->t + row_passes * build->e * build->t * build->h, reads, writes);
}

/* Sums the ranks' rows: all of them in place, or into this rank's tokens. */
static void sum_rows(ModelBuild *build, ModelSet rows, ModelSet own) {
  mask_rows(build, MODEL_FORWARD, "embed_tokens.mask", 1, rows, 0);
  model_build_exchange(build, MODEL_FORWARD, "embed_tokens.reduce",
                       own != 0 ? MODEL_EXCHANGE_REDUCE_SCATTER : MODEL_EXCHANGE_ALL_REDUCE, MODEL_AXIS_TENSOR,
                       build->e * build->t * build->h, rows, own);
}

/* A gather reads and writes a row per token. gpt adds the rows of the sequence's positions, alike for every sequence;
 * under sequence parallelism to all tokens, of which each rank then keeps its own (Megatron-LM,
 * language_model_embedding.py). */
static void embedding_forward(ModelBuild *build, int table, int positions, ModelSet ids, ModelSet *ret_mask) {
  double stream = build->e * build->t * build->h, sequence = build->e * build->s * build->h;
  double own = build->e * build->between * build->h;
  gboolean gpt = build->shape->family == MODEL_GPT, dropout = gpt && build->recipe->dropout > 0;
  gboolean split = splits_vocabulary(build), scattered = build->sequence;
  ModelSet output = model_build_tensor(build, "output", MODEL_TENSOR_OUTPUT, own);
  ModelSet tokens = gpt || scattered ? model_build_inner(build, "token_rows", stream) : output;
  ModelOp *gather = model_build_kernels(build, MODEL_FORWARD, "embed_tokens", KERNEL_GATHER, 1,
                                        2 * stream + TOKEN_ID * build->t, ids, tokens);
  gather->saves = ids;
  gather->uses = (guint64)1 << table;
  if (split)
    sum_rows(build, tokens, scattered && !gpt ? output : 0);
  if (positions < 0)
    return;
  ModelSet rows = model_build_inner(build, "position_rows", sequence);
  model_build_kernels(build, MODEL_FORWARD, "embed_positions", KERNEL_GATHER, 1, 2 * sequence, 0, rows)->uses =
      (guint64)1 << positions;
  ModelSet kept = dropout ? model_build_inner(build, "embedded", own) : output;
  ModelSet sum = scattered ? model_build_inner(build, "embedded_whole", stream) : kept;
  model_build_memory(build, MODEL_FORWARD, "embed_sum", 2 * stream + sequence, tokens | rows, sum);
  if (scattered)
    model_build_memory(build, MODEL_FORWARD, "embed_scatter", 2 * own, sum, kept);
  if (dropout) {
    *ret_mask = model_build_inner(build, "embedded_mask", build->between * build->h);
    model_dropout_forward(build, "embed_dropout", build->between * build->h, kept, output, *ret_mask);
  }
}

/* The gradient of a table is dense: zeros over all rows, then each token's gradient added to its row (three passes),
 * with tokens sorted by row first. */
#define SCATTER_LAUNCHES 6
static double scatter_bytes(const ModelBuild *build, double rows, double tokens) {
  return build->e * build->h * (rows + 3 * tokens);
}

static ModelSet gathered_gradient(ModelBuild *build, ModelSet d_own) {
  double stream = build->e * build->t * build->h;
  ModelSet whole = model_build_inner(build, "d_output_whole", stream);
  model_build_exchange(build, MODEL_BACKWARD, "d_output.gather", MODEL_EXCHANGE_ALL_GATHER, MODEL_AXIS_TENSOR, stream,
                       d_own, whole);
  return whole;
}

/* The zeroed rows' gradients are zeroed in a copy. */
static ModelSet masked_gradient(ModelBuild *build, ModelSet d_rows) {
  ModelSet masked = model_build_inner(build, "d_token_rows", build->e * build->t * build->h);
  mask_rows(build, MODEL_BACKWARD, "embed_tokens.mask.backward", 3, d_rows, masked);
  return masked;
}

/* Where the head shares the table, the head's gradient was first, and autograd adds the dense one to it. */
static void embedding_backward(ModelBuild *build, int table, int positions, ModelSet ids, ModelSet mask) {
  double stream = build->e * build->t * build->h, sequence = build->e * build->s * build->h;
  double own = build->e * build->between * build->h;
  ModelSet d_sum = model_build_tensor(build, "d_output", MODEL_TENSOR_GRAD_OUTPUT, own);
  if (mask != 0) {
    ModelSet d_output = d_sum;
    d_sum = model_build_inner(build, "d_embedded", own);
    model_dropout_backward(build, "embed_dropout.backward", build->between * build->h, mask, d_output, d_sum);
  }
  if (build->sequence)
    d_sum = gathered_gradient(build, d_sum);
  if (positions >= 0) {
    ModelSet d_rows = model_build_inner(build, "d_position_rows", sequence);
    model_build_memory(build, MODEL_BACKWARD, "embed_sum.backward", stream + sequence, d_sum, d_rows);
    double rows = (double)build->shape->max_positions;
    model_build_kernels(build, MODEL_BACKWARD, "embed_positions.backward", KERNEL_GATHER, SCATTER_LAUNCHES,
                        scatter_bytes(build, rows, build->s), d_rows, 0)
        ->gradient_of = positions;
  }
  if (splits_vocabulary(build))
    d_sum = masked_gradient(build, d_sum);
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

/* Metrics of training: after backward, each computes the eager cross-entropy of the kept logits, a copy of them in fp32
 * and their log-softmax, and keeps a number of it. Composer: trainer.py (_train_microbatch, _eval_train_metrics),
 * metrics/nlp.py. */
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

static void place_vocabulary(ModelBuild *build, int table) {
  model_build_place(build, table, splits_vocabulary(build) ? MODEL_PLACE_SPLIT : MODEL_PLACE_WHOLE,
                    (double)build->shape->vocab_size * build->h);
}

void model_embedding_build(ModelBuild *build) {
  int table = model_build_parameter(build, "embed_tokens.weight", build->v, build->h), positions = -1;
  place_vocabulary(build, table);
  if (build->shape->family == MODEL_GPT)
    positions = model_build_parameter(build, "embed_positions.weight", (double)build->shape->max_positions, build->h);
  ModelSet ids = model_build_tensor(build, "token_ids", MODEL_TENSOR_INPUT, TOKEN_ID * build->t), mask = 0;
  embedding_forward(build, table, positions, ids, &mask);
  embedding_backward(build, table, positions, ids, mask);
  loss_metrics(build);
}
