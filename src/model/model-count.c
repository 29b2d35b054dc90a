/* SPDX-License-Identifier: MIT */
/* Parameters of a shape in closed form, by its traits: what its units add up to, without building them. */
#include "model-shape.h"

/* Two sentences, as bert's type_vocab_size is. */
#define TOKEN_TYPES     2
#define EXTRA_POSITIONS 2 /* opt's offset */

static guint64 if_has(ModelTraits traits, ModelTraits trait, guint64 elements) {
  return model_has(traits, trait) ? elements : 0;
}

static guint64 norm(ModelTraits traits, guint64 width) {
  return if_has(~traits, MODEL_NORM_PLAIN, width) + if_has(traits, MODEL_NORM_BIAS, width);
}

static guint64 layer_norms(ModelTraits traits, guint64 width) {
  guint64 before = model_has(traits, MODEL_PARALLEL) && model_has(traits, MODEL_ONE_NORM) ? 1 : 2;
  guint64 norms = if_has(traits, MODEL_PRE_NORM, before) + if_has(traits, MODEL_BRANCH_NORM, 2) +
                  if_has(traits, MODEL_POST_NORM, 2);
  return norms * norm(traits, width);
}

/* h → rank, norm, rank → heads; keys and values from one latent, beside one key part with positions for all heads. */
static guint64 latent_attention(const ModelShape *shape, ModelTraits traits) {
  guint64 h = shape->hidden_size, q = shape->heads * shape->head_dim, v = shape->heads * shape->value_dim;
  guint64 rank = shape->kv_rank, plain = shape->heads * (shape->head_dim - shape->rotary_dim);
  guint64 queries = shape->q_rank > 0 ? h * shape->q_rank + norm(traits, shape->q_rank) + shape->q_rank * q : h * q;
  return queries + h * (rank + shape->rotary_dim) + norm(traits, rank) + rank * (plain + v) + v * h;
}

static guint64 plain_attention(const ModelShape *shape, ModelTraits traits) {
  guint64 h = shape->hidden_size, q = shape->heads * shape->head_dim, kv = shape->kv_heads * shape->head_dim;
  return h * (q + 2 * kv) + q * h + if_has(traits, MODEL_QKV_BIAS, q + 2 * kv) + if_has(traits, MODEL_O_BIAS, h) +
         if_has(traits, MODEL_QK_NORM, 2 * shape->head_dim) + if_has(traits, MODEL_QK_NORM_WIDE, q + kv) +
         if_has(traits, MODEL_SINKS, shape->heads);
}

static guint64 attention(const ModelShape *shape, ModelTraits traits) {
  return (shape->kv_rank > 0 ? latent_attention : plain_attention)(shape, traits);
}

static guint64 mlp(const ModelShape *shape, ModelTraits traits, guint64 inside) {
  guint64 ups = model_has(traits, MODEL_GATED) ? 2 : 1, h = shape->hidden_size;
  return (ups + 1) * h * inside + if_has(traits, MODEL_MLP_BIAS, ups * inside + h);
}

static guint64 router(const ModelShape *shape, ModelTraits traits) {
  return shape->hidden_size * shape->experts + if_has(traits, MODEL_ROUTER_BIAS, shape->experts) +
         if_has(traits, MODEL_EXPERT_BIAS, shape->experts);
}

static guint64 experts(const ModelShape *shape, ModelTraits traits, guint64 counted) {
  guint64 shared = shape->shared_intermediate_size > 0 ? mlp(shape, traits, shape->shared_intermediate_size) +
                                                             if_has(traits, MODEL_SHARED_GATE, shape->hidden_size)
                                                       : 0;
  return router(shape, traits) + counted * mlp(shape, traits, shape->expert_intermediate_size) + shared;
}

static guint64 embedding(const ModelShape *shape, ModelTraits traits) {
  guint64 h = shape->hidden_size;
  guint64 tokens = model_has(traits, MODEL_PATCHES)
                       ? shape->patch_elements * h + if_has(~traits, MODEL_PATCHES_PLAIN, h) + h
                       : shape->vocab_size * h; /* bias, first token */
  return tokens + if_has(traits, MODEL_LEARNED, shape->max_positions * h) +
         if_has(traits, MODEL_POSITIONS_PLUS, EXTRA_POSITIONS * h) +
         if_has(traits, MODEL_TOKEN_TYPES, TOKEN_TYPES * h) + if_has(traits, MODEL_EMBEDDING_NORM, norm(traits, h));
}

static guint64 head(const ModelShape *shape, ModelTraits traits) {
  guint64 h = shape->hidden_size, outputs = shape->labels > 0 ? shape->labels : shape->vocab_size;
  return if_has(traits, MODEL_FINAL_NORM, norm(traits, h)) + if_has(traits, MODEL_HEAD_TRANSFORM, h * h + h) +
         if_has(traits, MODEL_HEAD_BIAS, shape->vocab_size) + (shape->tied_embeddings ? 0 : outputs * h);
}

/* Three norms and a projection of two streams around a layer like the others. */
static guint64 further(const ModelShape *shape, ModelTraits traits, guint64 counted) {
  guint64 h = shape->hidden_size;
  return 3 * norm(traits, h) + 2 * h * h + attention(shape, traits) + layer_norms(traits, h) +
         (shape->experts > 0 ? experts(shape, traits, counted) : mlp(shape, traits, shape->intermediate_size));
}

/* A layer of the encoder, one more attention with its norm in each of the decoder's; a norm ends the encoder, and each
 * stack or layer has a table of distances. */
static guint64 stacks(const ModelShape *shape, ModelTraits traits) {
  guint64 both = shape->encoder_layers + shape->layers, h = shape->hidden_size;
  guint64 layer = attention(shape, traits) + mlp(shape, traits, shape->intermediate_size) + layer_norms(traits, h);
  guint64 tables = if_has(traits, MODEL_RELATIVE, 2) + if_has(traits, MODEL_RELATIVE_EACH, both);
  return embedding(shape, traits) + both * layer + shape->layers * (attention(shape, traits) + norm(traits, h)) +
         norm(traits, h) + tables * shape->relative_buckets * shape->heads + head(shape, traits);
}

static guint64 all(const ModelShape *shape, guint64 counted) {
  ModelTraits traits = model_shape_traits(shape);
  if (model_has(traits, MODEL_ENCODED))
    return stacks(shape, traits);
  guint64 sum = embedding(shape, traits) + head(shape, traits), plain = 0;
  for (guint64 i = 0; shape->experts > 0 && i < shape->layers; i++)
    plain += model_shape_layer_is_dense(shape, i);
  plain = shape->experts > 0 ? plain : shape->layers;
  sum += shape->layers * (attention(shape, traits) + layer_norms(traits, shape->hidden_size));
  sum += plain * mlp(shape, traits, shape->intermediate_size) + shape->mtp_layers * further(shape, traits, counted);
  return sum + (shape->layers - plain) * experts(shape, traits, counted);
}

guint64 model_shape_parameters(const ModelShape *shape) {
  return all(shape, shape->experts);
}

guint64 model_shape_active_parameters(const ModelShape *shape) {
  return all(shape, shape->experts_per_token);
}
