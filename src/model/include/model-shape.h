/* The shape of a decoder-only transformer, from keys or from a Hugging Face config.json.
 *
 *   ModelShape shape = {0};
 *   if (!model_shape_load(settings, &shape, error)) return FALSE;     // [model] config = FILE, or the keys
 *   guint64 psi = model_shape_parameters(&shape);                     // exact: 6 738 415 616 for Llama-2-7B
 *
 * Families: llama (gated SiLU, RMSNorm, rotary, no biases; mistral and phi3 are the same; qwen2 adds biases on q, k, v;
 * qwen3 norms of queries and keys) and gpt
 * (GELU, LayerNorm, learned positions, biases everywhere). Everything is in elements. */
#pragma once

#include "conf-settings.h"

typedef enum { MODEL_LLAMA, MODEL_GPT } ModelFamily;
extern const char *const model_family_names[]; /* "llama", "gpt" */

typedef struct {
  int family;
  guint64 layers, hidden_size, heads, kv_heads, head_dim, intermediate_size, vocab_size;
  guint64
      max_positions; /* gpt: rows of the position table; llama: 0 where it is not stated, and nothing depends on it */
  gboolean tied_embeddings; /* head and token embedding are one matrix */
  gboolean qkv_bias;        /* llama family: qwen2 */
  gboolean qk_norm;         /* llama family: qwen3; RMSNorm of each head's queries and keys before rotary positions */
  double dropout;           /* largest of those that its config.json has; 0: none, or no config */
  guint64 sliding_window;   /* tokens that attention looks back; 0: all */
  char *config;             /* the file it was read from, or NULL */
  char *profile;            /* of measured times per layer, or NULL */
  char *name;               /* for people: the file's name without folder and ending, else "llama-32x4096" */
} ModelShape;

/* [model]: config, family, layers, hidden_size, heads, kv_heads, head_dim, intermediate_size, vocab_size,
 * tied_embeddings, max_positions, profile. A key beside `config` overrides it. */
extern const ConfSchema model_shape_schema;

/* What is left out: kv_heads = heads, head_dim = hidden_size / heads; of config.json as the class of its model_type
 * defaults; by keys, gpt: intermediate_size = 4 hidden_size, tied, max_positions = training.sequence_length; llama:
 * untied. Errors: SIM_ERROR_INPUT, a model_type or a feature that is not modelled by its name, a missing key,
 * hidden_size that heads do not divide without head_dim, heads that kv_heads do not divide. */
gboolean model_shape_load(const ConfSettings *settings, ModelShape *ret, GError **error);
void model_shape_clear(ModelShape *shape);

/* Puts what was resolved into the settings under its keys, where they were not given: so that a run says which model it
 * was, whatever becomes of its config.json. */
gboolean model_shape_record(const ModelShape *shape, ConfSettings *settings, GError **error);

/* Trainable parameters, tied ones once. */
guint64 model_shape_parameters(const ModelShape *shape);
