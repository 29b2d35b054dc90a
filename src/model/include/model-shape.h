/* SPDX-License-Identifier: MIT */
/* The shape of a transformer, from keys or from a Hugging Face config.json.
 *
 *   ModelShape shape = {0};
 *   if (!model_shape_load(settings, &shape, error)) return FALSE;     // [model] config = FILE, or the keys
 *   guint64 psi = model_shape_parameters(&shape);                     // exact: 6 738 415 616 for Llama-2-7B
 *
 * Families and what they are made of: model-family.h, model-traits.h. Everything is in elements. Layers may differ, in
 * whether they have experts and in whether their attention is windowed:
 *
 *   deepseek_v3   dense dense dense experts experts …            dense_layers = 3
 *   llama4        dense experts dense experts …                  expert_every = 2
 *   gemma2        windowed full windowed full …                  full_every = 2 */
#pragma once

#include "conf-settings.h"
#include "model-traits.h"

/* The first two rows of the table of families, which has more. */
typedef enum { MODEL_LLAMA, MODEL_GPT } ModelFamily;
extern const char *const model_family_names[]; /* "llama", "gpt", "mistral", … */

typedef struct ModelShape {
  int family;         /* index of model_family_names */
  ModelTraits traits; /* with MODEL_STATED all of them, else those beside the family's */
  guint64 layers, hidden_size, heads, kv_heads, head_dim, intermediate_size, vocab_size;
  guint64 max_positions;    /* rows of the learned positions; 0 where it is not stated, and nothing depends on it */
  guint64 labels;           /* what the head makes of one token; 0: of every token vocab_size */
  gboolean tied_embeddings; /* head and token embedding are one matrix */
  guint64 patch_elements;   /* of images: numbers of a patch, all channels together; 0: tokens are words */
  guint64 sliding_window;   /* tokens that attention looks back; 0: all */
  guint64 full_every;       /* with a window: every so many layers one sees all; 0: none */
  guint64 full_layers;      /* with a window: as many layers from the first on see all */
  guint64 rotary_dim;       /* of a head, what rotary positions turn; 0: all of it */

  guint64 encoder_layers;   /* before the `layers`, which are a decoder's then; 0: no encoder */
  guint64 relative_buckets; /* rows of a learned bias by distance */

  guint64 mtp_layers; /* behind the others: they foretell further tokens, one each; at most 1 */

  /* Mixture of experts; experts = 0: none. */
  guint64 experts, experts_per_token;
  guint64 expert_intermediate_size;        /* of one expert */
  guint64 shared_intermediate_size;        /* of all shared experts together; 0: none */
  guint64 expert_groups, groups_per_token; /* experts are chosen out of so many of as many equal groups; 0: of all */
  guint64 dense_layers;                    /* the first ones have an MLP of intermediate_size in place of experts */
  guint64 expert_every;                    /* of the others, every so many have experts; 0 counts as 1 */

  /* Multi-head latent attention (arXiv 2405.04434); kv_rank = 0: none. head_dim is then the width of a query, the part
   * without positions and rotary_dim together, and kv_heads is heads. */
  guint64 kv_rank, q_rank; /* of the latents; q_rank 0: queries are made straight from the input */
  guint64 value_dim;       /* width of a value */

  double dropout;     /* that the file trains with; 0: none, or not stated */
  guint64 parameters; /* as stated by whoever wrote the model down; 0: not stated */
  char *config;       /* the file it was read from, or NULL */
  char *profile;      /* of measured times per layer, or NULL */
  char *name;         /* for people: the file's name without folder and ending, else "llama-32x4096" */
  char **assumed;     /* what was not stated and was taken, a sentence each; or NULL */
} ModelShape;

/* [model]: config, family, the sizes above under their names, profile, parameters. A key beside `config` overrides it.
 */
extern const ConfSchema model_shape_schema;

/* What is left out: kv_heads = heads, head_dim = hidden_size / heads; of config.json as the class of its model_type
 * defaults; by keys as the family's row says (gpt: intermediate_size = 4 hidden_size, tied), max_positions =
 * training.sequence_length. Errors: SIM_ERROR_INPUT, a model_type or a feature that is not modelled by its name, a
 * missing key, hidden_size that heads do not divide without head_dim, heads that kv_heads do not divide. */
gboolean model_shape_load(const ConfSettings *settings, ModelShape *ret, GError **error);
void model_shape_clear(ModelShape *shape);

/* Puts what was resolved into the settings under its keys, where they were not given: so that a run says which model it
 * was, whatever becomes of its config.json. */
gboolean model_shape_record(const ModelShape *shape, ConfSettings *settings, GError **error);
/* The same of what a model's file says of its training: training.dropout. */
gboolean model_shape_record_training(const ModelShape *shape, ConfSettings *settings, GError **error);

/* The bits that hold. */
ModelTraits model_shape_traits(const ModelShape *shape);

/* A layer as its attention and its MLP are; layers that are alike are one kind. */
gboolean model_shape_layer_is_dense(const ModelShape *shape, guint64 layer);
gboolean model_shape_layer_is_full(const ModelShape *shape, guint64 layer);

/* Trainable parameters, tied ones once. */
guint64 model_shape_parameters(const ModelShape *shape);
/* Of these, what works on one token: of each layer's experts as many as a token is given to. */
guint64 model_shape_active_parameters(const ModelShape *shape);
