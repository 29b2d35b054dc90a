/* SPDX-License-Identifier: MIT */
/* What stands between an encoder's layers and a decoder's: the end of the one, whose output all layers of the other
 * read, and the embedding of the decoder's tokens, by the table of the encoder's.
 *
 *   input ─ encoder_norm ─ dropout ─► memory            (tokens of the encoder)
 *   table ─ rows ─ dropout ─────────► output            (tokens of the decoder) */
#include "model-autocast.h"

static const ModelNormNames norm_names = MODEL_NORM_NAMES("encoder_norm");

typedef struct {
  int table;
  ModelNorm norm;
  ModelSet input, mask, memory_mask;
} Between;

static double stream_elements(const ModelBuild *build) {
  return build->t * build->h;
}

static double memory_elements(const ModelBuild *build) {
  return build->b * build->encoded * build->h;
}

static gboolean drops(const ModelBuild *build) {
  return model_build_has(build, MODEL_BRANCH_DROPOUT) && build->recipe->dropout > 0;
}

static void define(ModelBuild *build, Between *between) {
  between->table = model_build_parameter(build, "embed_tokens.weight", build->v, build->h);
  build->parameters[between->table].shared = TRUE;
  model_build_uncast(build, between->table);
  between->norm = model_norm(build, &norm_names);
  between->norm.elements = memory_elements(build);
}

static void memory_forward(ModelBuild *build, Between *between) {
  double elements = memory_elements(build);
  between->input = model_stream_tensor(build, "input", MODEL_TENSOR_INPUT, elements);
  ModelSet memory = model_stream_of(build, model_build_side(build, "memory", MODEL_SIDE_MEMORY, build->w * elements));
  ModelSet normed = drops(build) ? model_stream_inner(build, "memory_normed", elements) : memory;
  model_norm_forward(build, &between->norm, between->input, normed);
  if (!drops(build))
    return;
  between->memory_mask = model_build_inner(build, "memory_mask", elements);
  model_dropout_forward(build, "memory_dropout", elements, normed, memory, between->memory_mask);
}

static void embedding_forward(ModelBuild *build, Between *between) {
  double elements = stream_elements(build);
  ModelSet output = model_stream_tensor(build, "output", MODEL_TENSOR_OUTPUT, elements);
  ModelSet rows = drops(build) ? model_stream_inner(build, "decoder_rows", elements) : output;
  model_build_kernels(build, MODEL_FORWARD, "decoder_embed_tokens", KERNEL_GATHER, 1, 2 * build->w * elements, 0, rows)
      ->uses = (guint64)1 << between->table;
  if (!drops(build))
    return;
  between->mask = model_build_inner(build, "decoder_rows_mask", elements);
  model_dropout_forward(build, "decoder_embed_dropout", elements, rows, output, between->mask);
}

/* The table's gradient is one of two or three parts: a tied head's came before, the encoder's comes last. */
static void table_backward(ModelBuild *build, const Between *between, ModelSet d_rows) {
  double matrix = build->w * build->v * build->h;
  if (!build->shape->tied_embeddings) {
    model_table_gradient(build, "decoder_embed_tokens.backward", d_rows, 0)->gradient_of = between->table;
    return;
  }
  ModelSet d_table = model_build_inner(build, "d_decoder_table", matrix);
  model_table_gradient(build, "decoder_embed_tokens.backward", d_rows, d_table);
  model_build_memory(build, MODEL_BACKWARD, "decoder_embed_tokens.sum", 3 * matrix, d_table, 0)->gradient_of =
      between->table;
}

static void embedding_backward(ModelBuild *build, const Between *between) {
  double elements = stream_elements(build);
  ModelSet d_rows = model_stream_tensor(build, "d_output", MODEL_TENSOR_GRAD_OUTPUT, elements);
  if (drops(build)) {
    ModelSet d_output = d_rows;
    d_rows = model_stream_inner(build, "d_decoder_rows", elements);
    model_dropout_backward(build, "decoder_embed_dropout.backward", elements, between->mask, d_output, d_rows);
  }
  table_backward(build, between, d_rows);
}

static void memory_backward(ModelBuild *build, const Between *between) {
  double elements = memory_elements(build);
  ModelSet d_memory =
      model_stream_of(build, model_build_grad_side(build, "d_memory", MODEL_SIDE_MEMORY, build->w * elements));
  ModelSet d_normed = d_memory;
  if (drops(build)) {
    d_normed = model_stream_inner(build, "d_memory_normed", elements);
    model_dropout_backward(build, "memory_dropout.backward", elements, between->memory_mask, d_memory, d_normed);
  }
  ModelSet d_input = model_stream_tensor(build, "d_input", MODEL_TENSOR_GRAD_INPUT, elements);
  model_norm_backward(build, &between->norm, between->input, d_normed, d_input);
}

/* Autograd goes back through what forward did last first. */
void model_between_build(ModelBuild *build) {
  Between between = {0};
  define(build, &between);
  memory_forward(build, &between);
  embedding_forward(build, &between);
  embedding_backward(build, &between);
  memory_backward(build, &between);
}
