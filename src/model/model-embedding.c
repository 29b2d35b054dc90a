/* SPDX-License-Identifier: MIT */
/* The embedding: from token ids to the residual stream. Each tensor rank may hold some of the vocabulary's rows. Under
 * autocast tables are fp32, and rows and their gradients as well; patches are made by a matmul, in 16 bits. */
#include "model-autocast.h"
#include "model-region.h"

#define TOKEN_ID 8.0 /* bytes of an int64 */

static const ModelTableNames table_names = {"embed_tokens.mask",          "embed_tokens.reduce", "d_output.gather",
                                            "embed_tokens.mask.backward", "d_output_whole",      "d_token_rows"};

gboolean model_table_is_shared(const ModelBuild *build) {
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
                      MASK_PASSES * TOKEN_ID * build->t + row_passes * build->w * build->t * build->h, reads, writes);
}

void model_table_sum(ModelBuild *build, const ModelTableNames *names, ModelSet rows, ModelSet own) {
  mask_rows(build, MODEL_FORWARD, names->mask, 1, rows, 0);
  if (own != 0)
    model_region_scatter_tokens(build, MODEL_FORWARD, names->reduce, build->h, rows, own);
  else
    model_build_exchange(build, MODEL_FORWARD, names->reduce, MODEL_EXCHANGE_ALL_REDUCE, MODEL_AXIS_TENSOR,
                         build->w * build->t * build->h, rows, 0);
}

/* What stands between the tokens' rows and the output, as a family has it. */
typedef struct {
  int table, positions, types;  /* parameters, -1: none */
  int patch, patch_bias, first; /* of images, in place of a table */
  ModelNorm norm;
  gboolean normed, dropped;
  ModelSet ids, mask, to_norm; /* ids: or pixels; to_norm: what the norm reads */
} Embedding;

#define EXTRA_POSITIONS 2.0 /* opt's table begins with two rows that no token has */
#define TOKEN_TYPES     2.0

static double position_rows(const ModelBuild *build) {
  return (double)build->shape->max_positions + (model_build_has(build, MODEL_POSITIONS_PLUS) ? EXTRA_POSITIONS : 0);
}

/* Rows of positions, alike for every sequence, and of token types. */
static ModelSet position_forward(ModelBuild *build, const Embedding *of, ModelSet tokens, ModelSet sum) {
  double stream = build->w * build->t * build->h, sequence = build->w * build->s * build->h;
  ModelSet rows = model_build_inner(build, "position_rows", sequence), types = 0;
  model_build_kernels(build, MODEL_FORWARD, "embed_positions", KERNEL_GATHER, 1, 2 * sequence, 0, rows)->uses =
      (guint64)1 << of->positions;
  if (of->types >= 0) {
    types = model_build_inner(build, "type_rows", stream);
    model_build_kernels(build, MODEL_FORWARD, "embed_types", KERNEL_GATHER, 1, 2 * stream, 0, types)->uses =
        (guint64)1 << of->types;
  }
  model_build_memory(build, MODEL_FORWARD, "embed_sum", (of->types >= 0 ? 4 : 2) * stream + sequence,
                     tokens | rows | types, sum);
  return sum;
}

/* Patches of all images times one matrix, and the first token before each image's. */
static double patch_rows(const ModelBuild *build) {
  return build->b * (build->s - 1);
}

static void patches_forward(ModelBuild *build, const Embedding *of, ModelSet tokens) {
  double rows = patch_rows(build), elements = (double)build->shape->patch_elements;
  ModelSet made = model_build_inner(build, "patch_rows", build->e * rows * build->h);
  ModelOp *op = model_build_matmul(build, MODEL_FORWARD, "embed_patches", 1, rows, build->h, elements, of->ids, made);
  op->saves = of->ids;
  op->uses = (guint64)1 << of->patch | (of->patch_bias >= 0 ? (guint64)1 << of->patch_bias : 0);
  model_build_memory(build, MODEL_FORWARD, "embed_first", (build->e + build->w) * build->t * build->h, made, tokens)
      ->uses = (guint64)1 << of->first;
}

static void patches_backward(ModelBuild *build, const Embedding *of, ModelSet d_tokens) {
  double rows = patch_rows(build), elements = (double)build->shape->patch_elements;
  ModelSet d_made = model_build_inner(build, "d_patch_rows", build->e * rows * build->h);
  model_build_memory(build, MODEL_BACKWARD, "embed_first.backward", (build->w + build->e) * build->t * build->h,
                     d_tokens, d_made)
      ->gradient_of = of->first;
  model_build_wgrad(build, "embed_patches.wgrad", build->h, elements, rows, d_made | of->ids)->gradient_of = of->patch;
  if (of->patch_bias < 0)
    return;
  model_build_kernels(build, MODEL_BACKWARD, "embed_patches.bgrad", KERNEL_REDUCTION, 1, build->e * rows * build->h,
                      d_made, 0)
      ->gradient_of = of->patch_bias;
}

static void tokens_forward(ModelBuild *build, const Embedding *of, ModelSet tokens) {
  if (of->table < 0) {
    patches_forward(build, of, tokens);
    return;
  }
  ModelOp *gather = model_build_kernels(build, MODEL_FORWARD, "embed_tokens", KERNEL_GATHER, 1,
                                        2 * build->w * build->t * build->h + TOKEN_ID * build->t, of->ids, tokens);
  gather->saves = of->ids;
  gather->uses = (guint64)1 << of->table;
}

static ModelSet stream_inner(ModelBuild *build, const char *name, double bytes) {
  return model_stream_of(build, model_build_inner(build, name, bytes));
}

/* A gather reads and writes a row per token. Positions are added to all tokens, of which each rank keeps its own under
 * sequence parallelism (Megatron-LM, language_model_embedding.py); then a norm (bloom, bert), then dropout. Each step
 * writes the output if it is the last. */
static void embedding_forward(ModelBuild *build, Embedding *of) {
  double stream = build->w * build->t * build->h, own = build->w * build->between * build->h;
  gboolean split = model_table_is_shared(build), scattered = build->sequence, added = of->positions >= 0;
  gboolean later = of->normed || of->dropped;
  ModelSet output = model_stream_of(build, model_build_tensor(build, "output", MODEL_TENSOR_OUTPUT, own));
  ModelSet tokens = added || later || scattered ? stream_inner(build, "token_rows", stream) : output, x = tokens;
  tokens_forward(build, of, tokens);
  if (split)
    model_table_sum(build, &table_names, tokens, scattered && !added && !later ? output : 0);
  if (model_build_has(build, MODEL_SCALED))
    model_build_memory(build, MODEL_FORWARD, "embed_scale", 2 * own, scattered && !added && !later ? output : x, 0);
  if (added) {
    ModelSet kept = later ? stream_inner(build, "embedded", own) : output;
    x = position_forward(build, of, tokens, scattered ? stream_inner(build, "embedded_whole", stream) : kept);
    if (scattered)
      model_build_memory(build, MODEL_FORWARD, "embed_scatter", 2 * own, x, kept);
    x = kept;
  } else if (scattered && later) {
    x = stream_inner(build, "embedded", own);
    model_build_memory(build, MODEL_FORWARD, "embed_scatter", 2 * own, tokens, x);
  }
  if (of->normed) {
    of->to_norm = x;
    x = of->dropped ? stream_inner(build, "embedded_normed", own) : output;
    model_norm_forward(build, &of->norm, of->to_norm, x);
  }
  if (of->dropped) {
    of->mask = model_build_inner(build, "embedded_mask", build->between * build->h);
    model_dropout_forward(build, "embed_dropout", build->between * build->h, x, output, of->mask);
  }
}

/* The gradient of a table is dense: zeros over all rows, then each token's gradient added to its row (three passes),
 * with tokens sorted by row first. */
#define SCATTER_LAUNCHES 6
static double scatter_bytes(const ModelBuild *build, double rows, double tokens) {
  return build->w * build->h * (rows + 3 * tokens);
}

ModelOp *model_table_gradient(ModelBuild *build, const char *name, ModelSet d_rows, ModelSet writes) {
  return model_build_kernels(build, MODEL_BACKWARD, name, KERNEL_GATHER, SCATTER_LAUNCHES,
                             scatter_bytes(build, build->v, build->t) + TOKEN_ID * build->t, d_rows, writes);
}

ModelSet model_table_gather(ModelBuild *build, const ModelTableNames *names, ModelSet d_own) {
  ModelSet whole = model_build_inner(build, names->d_whole, build->w * build->t * build->h);
  model_region_gather_tokens(build, MODEL_BACKWARD, names->gather, build->h, d_own, whole);
  return whole;
}

/* The zeroed rows' gradients are zeroed in a copy. */
ModelSet model_table_mask(ModelBuild *build, const ModelTableNames *names, ModelSet d_rows) {
  ModelSet masked = model_build_inner(build, names->d_masked, build->w * build->t * build->h);
  mask_rows(build, MODEL_BACKWARD, names->mask_backward, 3, d_rows, masked);
  return masked;
}

static void rows_backward(ModelBuild *build, const char *sum, const char *tensor, const char *name, double bytes,
                          ModelSet d_sum, double rows, double tokens, int parameter) {
  ModelSet d_rows = model_build_inner(build, tensor, bytes);
  model_build_memory(build, MODEL_BACKWARD, sum, build->w * build->t * build->h + bytes, d_sum, d_rows);
  model_build_kernels(build, MODEL_BACKWARD, name, KERNEL_GATHER, SCATTER_LAUNCHES, scatter_bytes(build, rows, tokens),
                      d_rows, 0)
      ->gradient_of = parameter;
}

/* The gradient of what all tokens' rows were summed to. */
static ModelSet summed_gradient(ModelBuild *build, const Embedding *of) {
  double own = build->w * build->between * build->h;
  ModelSet d_sum = model_stream_of(build, model_build_tensor(build, "d_output", MODEL_TENSOR_GRAD_OUTPUT, own));
  if (of->dropped) {
    ModelSet d_output = d_sum;
    d_sum = stream_inner(build, "d_embedded", own);
    model_dropout_backward(build, "embed_dropout.backward", build->between * build->h, of->mask, d_output, d_sum);
  }
  if (of->normed) {
    ModelSet d_normed = d_sum;
    d_sum = stream_inner(build, "d_embedded_sum", own);
    model_norm_backward(build, &of->norm, of->to_norm, d_normed, d_sum);
  }
  return build->sequence ? model_table_gather(build, &table_names, d_sum) : d_sum;
}

/* Where the head shares the table, or a decoder's embedding, their gradient was first, and autograd adds the dense one
 * to it. */
static void embedding_backward(ModelBuild *build, const Embedding *of) {
  double sequence = build->w * build->s * build->h;
  ModelSet d_sum = summed_gradient(build, of);
  if (of->types >= 0)
    rows_backward(build, "embed_types.sum.backward", "d_type_rows", "embed_types.backward",
                  build->w * build->t * build->h, d_sum, TOKEN_TYPES, build->t, of->types);
  if (of->positions >= 0)
    rows_backward(build, "embed_sum.backward", "d_position_rows", "embed_positions.backward", sequence, d_sum,
                  position_rows(build), build->s, of->positions);
  if (of->table < 0) {
    patches_backward(build, of, d_sum);
    return;
  }
  if (model_table_is_shared(build))
    d_sum = model_table_mask(build, &table_names, d_sum);
  if (!build->shape->tied_embeddings && build->shape->encoder_layers == 0) {
    model_table_gradient(build, "embed_tokens.backward", d_sum | of->ids, 0)->gradient_of = of->table;
    return;
  }
  double matrix = build->w * build->v * build->h;
  ModelSet d_table = model_build_inner(build, "d_table", matrix);
  model_table_gradient(build, "embed_tokens.backward", d_sum | of->ids, d_table);
  model_build_memory(build, MODEL_BACKWARD, "embed_tokens.sum", 3 * matrix, d_table, 0)->gradient_of = of->table;
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
  model_build_place(build, table, model_table_is_shared(build) ? MODEL_PLACE_SPLIT : MODEL_PLACE_WHOLE,
                    (double)build->shape->vocab_size * build->h);
}

static int table(ModelBuild *build, const char *name, double rows, double columns) {
  int parameter = model_build_parameter(build, name, rows, columns);
  model_build_uncast(build, parameter);
  return parameter;
}

/* In Hugging Face's order of definition: an image's first token and positions before its patches. */
static void define_tokens(ModelBuild *build, Embedding *of) {
  if (model_build_has(build, MODEL_PATCHES)) {
    of->first = table(build, "first_token", build->h, 1);
    of->patch = model_build_parameter(build, "patch.weight", build->h, (double)build->shape->patch_elements);
    if (!model_build_has(build, MODEL_PATCHES_PLAIN))
      of->patch_bias = model_build_parameter(build, "patch.bias", build->h, 1);
    return;
  }
  of->table = table(build, "embed_tokens.weight", build->v, build->h);
  place_vocabulary(build, of->table);
}

void model_embedding_build(ModelBuild *build) {
  static const ModelNormNames norm_names = MODEL_NORM_NAMES("embedding_norm");
  Embedding of = {.table = -1, .positions = -1, .types = -1, .patch_bias = -1};
  gboolean patches = model_build_has(build, MODEL_PATCHES);
  of.normed = model_build_has(build, MODEL_EMBEDDING_NORM);
  of.dropped = model_build_has(build, MODEL_BRANCH_DROPOUT) && build->recipe->dropout > 0;
  define_tokens(build, &of);
  if (model_build_has(build, MODEL_LEARNED))
    of.positions = table(build, "embed_positions.weight", position_rows(build), build->h);
  if (model_build_has(build, MODEL_TOKEN_TYPES))
    of.types = table(build, "embed_types.weight", TOKEN_TYPES, build->h);
  if (of.normed)
    of.norm = model_norm(build, &norm_names);
  double pixels = build->e * patch_rows(build) * (double)build->shape->patch_elements;
  of.ids = model_build_tensor(build, patches ? "pixels" : "token_ids", MODEL_TENSOR_INPUT,
                              patches ? pixels : TOKEN_ID * build->t);
  embedding_forward(build, &of);
  embedding_backward(build, &of);
  loss_metrics(build);
}
