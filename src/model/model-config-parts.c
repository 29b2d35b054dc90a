/* SPDX-License-Identifier: MIT */
/* What a config.json says beside sizes: switches, activation, windows, experts, latents; and what is refused. */
#include <math.h>
#include <string.h>

#include "base-names.h"
#include "model-reading.h"

/* Present at all: another model. */
static const char *const refused_if_present[] = {"compression_config", "num_local_experts", "num_experts",
                                                 "n_routed_experts"};

static const char *const activation_keys[] = {"hidden_activation", "hidden_act", "activation_function",
                                              "ffn_config.ffn_act_fn.name", NULL};
/* Elementwise, one pass over the MLP's inside: all of them cost the same. */
static const char *const gated_names[] = {"silu", "swish", "gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", NULL};
static const char *const plain_names[] = {
    "gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", "gelu_python", "relu", "quick_gelu", "relu2", "silu", NULL};

static gboolean read_switches(const ModelReading *reading, GError **error) {
  ModelTraits traits = reading->row->traits | MODEL_STATED;
  for (gsize i = 0; i < MODEL_SWITCHES_MOST && reading->row->switches[i].key != NULL; i++) {
    const ModelSwitch *one = &reading->row->switches[i];
    gboolean on = one->initial;
    if (!model_reading_flag(reading, one->key, &on, error))
      return FALSE;
    if (on && one->refused != NULL)
      return model_reading_fail(reading, one->key, error, "is not modelled for %s: %s", reading->row->name,
                                one->refused);
    traits = model_switch_apply(one, on, traits);
  }
  if (!model_has(traits, MODEL_PRE_NORM | MODEL_BRANCH_NORM))
    traits |= MODEL_POST_NORM; /* opt, where do_layer_norm_before is false */
  reading->shape->traits = traits;
  return TRUE;
}

static gboolean check_activation(const ModelReading *reading, GError **error) {
  const char *const *known = model_has(reading->shape->traits, MODEL_GATED) ? gated_names : plain_names;
  for (const char *const *key = activation_keys; *key != NULL; key++) {
    const char *activation = NULL;
    g_autofree char *path = model_reading_path(reading, *key);
    if (!conf_json_has(reading->json, path))
      continue;
    if (!conf_json_string(reading->json, path, &activation, error))
      return FALSE;
    if (base_names_find(known, activation) >= 0)
      return TRUE;
    g_autofree char *joined = base_names_join(known);
    return model_reading_fail(reading, *key, error, "\"%s\" is not modelled for %s; modelled are %s", activation,
                              reading->row->name, joined);
  }
  return TRUE;
}

/* "relu", "gated-gelu": what t5's configuration calls the MLP. */
static gboolean read_feed_forward(const ModelReading *reading, GError **error) {
  static const char prefix[] = "gated-";
  ModelTraits *traits = &reading->shape->traits;
  const char *kind = model_has(*traits, MODEL_GATED) ? "gated-gelu" : "relu";
  g_autofree char *path = model_reading_path(reading, "feed_forward_proj");
  if (!model_has(*traits, MODEL_ENCODED))
    return TRUE;
  if (conf_json_has(reading->json, path) && !conf_json_string(reading->json, path, &kind, error))
    return FALSE;
  gboolean gated = g_str_has_prefix(kind, prefix);
  const char *activation = gated ? kind + strlen(prefix) : kind;
  if (base_names_find(gated ? gated_names : plain_names, activation) < 0) {
    g_autofree char *joined = base_names_join(gated ? gated_names : plain_names);
    return model_reading_fail(reading, "feed_forward_proj", error, "\"%s\" is not modelled; activations are %s%s", kind,
                              joined, gated ? "" : ", or gated-NAME");
  }
  *traits = gated ? *traits | MODEL_GATED : *traits & ~MODEL_GATED;
  *traits = strcmp(kind, "relu") == 0 ? *traits | MODEL_RELU : *traits & ~MODEL_RELU;
  return TRUE;
}

/* The file's layers are the encoder's; the decoder has as many where it does not say. */
gboolean model_reading_stacks(const ModelReading *reading, GError **error) {
  ModelShape *shape = reading->shape;
  if (!model_has(reading->row->traits, MODEL_ENCODED)) {
    shape->relative_buckets = 0;
    return TRUE;
  }
  shape->encoder_layers = shape->layers;
  return model_reading_count(reading, "num_decoder_layers", &shape->layers, error);
}

/* Weights that were published in few bits, and are trained in what the recipe says. */
static gboolean check_quantization(const ModelReading *reading, GError **error) {
  static const char *const published[] = {"fp8", "mxfp4", NULL};
  if (!conf_json_has(reading->json, "quantization_config"))
    return TRUE;
  const char *method = "";
  if (conf_json_has(reading->json, "quantization_config.quant_method") &&
      !conf_json_string(reading->json, "quantization_config.quant_method", &method, error))
    return FALSE;
  if (base_names_find(published, method) < 0)
    return conf_json_fail(reading->json, "quantization_config", error,
                          "weights of \"%s\" are not modelled, and would change the answer", method);
  model_reading_assume(
      reading, "quantization_config (%s) is of the published weights: training holds them as training.precision says",
      method);
  return TRUE;
}

static gboolean refuse_unmodelled(const ModelReading *reading, GError **error) {
  gboolean encoder = FALSE;
  for (gsize i = 0; i < G_N_ELEMENTS(refused_if_present); i++)
    if ((i == 0 || !reading->row->mixes) && model_reading_has(reading, refused_if_present[i]))
      return model_reading_fail(reading, refused_if_present[i], error,
                                "is not modelled for %s, and would change the answer", reading->row->name);
  if (!model_reading_flag(reading, "is_encoder_decoder", &encoder, error))
    return FALSE;
  return !encoder || model_has(reading->row->traits, MODEL_ENCODED) ||
         model_reading_fail(reading, "is_encoder_decoder", error,
                            "true is not modelled for %s, and would change the answer", reading->row->name);
}

gboolean model_reading_refuse(const ModelReading *reading, GError **error) {
  return refuse_unmodelled(reading, error) && check_quantization(reading, error);
}

gboolean model_reading_traits(const ModelReading *reading, GError **error) {
  return read_switches(reading, error) && read_feed_forward(reading, error) && check_activation(reading, error);
}

/* Branches' where the family has that, else attention's: one probability for all places. */
gboolean model_reading_dropout(const ModelReading *reading, GError **error) {
  static const char *const of_branches[] = {
      "dropout_rate", "resid_pdrop", "hidden_dropout_prob", "hidden_dropout", "residual_dropout", "dropout", NULL};
  static const char *const of_attention[] = {"attention_dropout", "attn_pdrop", "attn_config.attn_pdrop", NULL};
  gboolean branches = model_has(reading->shape->traits, MODEL_BRANCH_DROPOUT);
  double *dropout = &reading->shape->dropout;
  *dropout = reading->row->dropout;
  for (const char *const *key = branches ? of_branches : of_attention; *key != NULL; key++) {
    g_autofree char *path = model_reading_path(reading, *key);
    if (!conf_json_has(reading->json, path))
      continue;
    if (!conf_json_number(reading->json, path, dropout, error))
      return FALSE;
    if (*dropout < 0 || *dropout >= 1)
      return model_reading_fail(reading, *key, error, "expected a probability from 0 to below 1, found %g", *dropout);
    break;
  }
  return TRUE;
}

/* Patches of an image, and the token before them; and what of towers the head makes. */
gboolean model_reading_image(const ModelReading *reading, GError **error) {
  double width = sqrt((double)reading->row->defaults.patch_elements / 3);
  guint64 image = 224, patch = (guint64)width, channels = 3;
  guint64 labels = reading->shape->labels;
  if (!model_has(reading->row->traits, MODEL_ONE_TOKEN))
    reading->shape->labels = 0;
  if (!model_has(reading->row->traits, MODEL_PATCHES))
    return TRUE;
  if (labels > 0) /* a projection stands for labels */
    reading->shape->vocab_size = labels;
  if (!model_reading_count(reading, "image_size", &image, error) ||
      !model_reading_count(reading, "patch_size", &patch, error) ||
      !model_reading_count(reading, "num_channels", &channels, error))
    return FALSE;
  if (patch == 0 || image % patch != 0 || image > 1 << 16 || channels > 1 << 10)
    return model_reading_fail(reading, "patch_size", error,
                              "%" G_GUINT64_FORMAT " does not divide the image's %" G_GUINT64_FORMAT, patch, image);
  reading->shape->patch_elements = channels * patch * patch;
  reading->shape->max_positions = (image / patch) * (image / patch) + 1;
  return TRUE;
}

/* ---- Windows ---- */

/* Of a list of layer types: how often one sees all. Lists that no such rule makes are refused. */
static gboolean read_layer_types(const ModelReading *reading, GError **error) {
  ModelShape *shape = reading->shape;
  guint64 first_full = 0;
  g_autofree gboolean *full = g_new0(gboolean, shape->layers + 1);
  for (guint64 i = 0; i < shape->layers; i++) {
    const char *type;
    g_autofree char *path = g_strdup_printf("%slayer_types.%" G_GUINT64_FORMAT, reading->prefix, i);
    if (!conf_json_has(reading->json, path))
      return model_reading_fail(reading, "layer_types", error,
                                "names fewer layers than the %" G_GUINT64_FORMAT " that there are", shape->layers);
    if (!conf_json_string(reading->json, path, &type, error))
      return FALSE;
    full[i] = strcmp(type, "full_attention") == 0;
    if (!full[i] && strcmp(type, "sliding_attention") != 0 && strcmp(type, "chunked_attention") != 0)
      return conf_json_fail(reading->json, path, error, "layers of \"%s\" are not modelled", type);
    first_full = first_full == 0 && full[i] ? i + 1 : first_full;
  }
  if (first_full == 1 && (shape->layers == 1 || full[1])) { /* all, or the first ones */
    shape->full_every = 0;
    for (shape->full_layers = 0; shape->full_layers < shape->layers && full[shape->full_layers];)
      shape->full_layers++;
  } else {
    shape->full_layers = 0;
    shape->full_every = first_full;
  }
  for (guint64 i = 0; i < shape->layers; i++)
    if (full[i] != (i < shape->full_layers || (shape->full_every > 0 && (i + 1) % shape->full_every == 0)))
      return model_reading_fail(reading, "layer_types", error,
                                "full attention in layer %" G_GUINT64_FORMAT
                                " follows no rule of every so many layers, which alone is modelled",
                                i);
  if (shape->full_layers == shape->layers || shape->full_every == 1)
    shape->sliding_window = 0;
  return TRUE;
}

gboolean model_reading_window(const ModelReading *reading, GError **error) {
  const ModelFamilyRow *row = reading->row;
  ModelShape *shape = reading->shape;
  gboolean used = row->window_flag == NULL;
  const char *key = row->window_key;
  if (key == NULL)
    return TRUE;
  if (row->window_flag != NULL && !model_reading_flag(reading, row->window_flag, &used, error))
    return FALSE;
  shape->sliding_window = model_reading_states(reading, key) ? 0 : row->defaults.sliding_window;
  shape->full_every = row->defaults.full_every;
  shape->full_layers = row->window_flag != NULL ? row->defaults.full_layers : 0;
  if (!model_reading_count(reading, key, &shape->sliding_window, error) ||
      !model_reading_count(reading, "sliding_window_pattern", &shape->full_every, error) ||
      (row->window_flag != NULL && !model_reading_count(reading, "max_window_layers", &shape->full_layers, error)))
    return FALSE;
  if (model_reading_has(reading, "layer_types") && !read_layer_types(reading, error))
    return FALSE;
  if (!used)
    shape->sliding_window = 0;
  if (shape->sliding_window == 0)
    shape->full_every = shape->full_layers = 0;
  return TRUE;
}

/* ---- Experts ---- */

/* What only some families say of their experts. */
static gboolean read_expert_widths(const ModelReading *reading, GError **error) {
  ModelShape *shape = reading->shape;
  guint64 shared = 0, frequency = 1, dense_width = 0;
  if (!model_reading_count(reading, "n_shared_experts", &shared, error) ||
      !model_reading_count(reading, "moe_layer_freq", &frequency, error) ||
      !model_reading_count(reading, "intermediate_size_mlp", &dense_width, error))
    return FALSE;
  if (reading->row->experts_alone)
    shape->expert_intermediate_size = shape->intermediate_size;
  if (shared > 0)
    shape->shared_intermediate_size = shared * shape->expert_intermediate_size;
  if (reading->row->shared_alike) {
    shape->expert_intermediate_size = shape->shared_intermediate_size = shape->intermediate_size;
    shape->intermediate_size = dense_width > 0 ? dense_width : shape->intermediate_size;
  }
  if (frequency != 1)
    return model_reading_fail(reading, "moe_layer_freq", error, "%" G_GUINT64_FORMAT " is not modelled: only 1",
                              frequency);
  if (model_reading_has(reading, "mlp_only_layers.0"))
    return model_reading_fail(reading, "mlp_only_layers", error, "single layers without experts are not modelled");
  return TRUE;
}

gboolean model_reading_experts(const ModelReading *reading, GError **error) {
  ModelShape *shape = reading->shape;
  if (!reading->row->mixes || shape->experts == 0) {
    shape->experts = shape->experts_per_token = shape->expert_intermediate_size = shape->shared_intermediate_size = 0;
    shape->dense_layers = shape->expert_every = shape->expert_groups = shape->groups_per_token = 0;
    return TRUE;
  }
  return read_expert_widths(reading, error);
}

/* Latent attention: queries and keys are as wide as both their parts, and every head has its own. */
gboolean model_reading_latent(const ModelReading *reading, GError **error) {
  ModelShape *shape = reading->shape;
  guint64 plain = 128;
  if (shape->kv_rank == 0) {
    shape->value_dim = shape->q_rank = 0;
    return TRUE;
  }
  if (!model_reading_count(reading, "qk_nope_head_dim", &plain, error))
    return FALSE;
  shape->head_dim = plain + shape->rotary_dim;
  shape->kv_heads = shape->heads;
  return TRUE;
}
