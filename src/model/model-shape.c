/* SPDX-License-Identifier: MIT */
/* [model]: the file first, then the keys beside it, then what follows from them. */
#include "model-shape.h"

#include <string.h>

#include "model-config.h"
#include "model-family.h"

/* The bounds keep every product of sizes inside 64 bits; the largest published models are far below them. */
#define KEY(key_, kind_, member_, ...) BASE_ROW("model", key_, kind_, ModelShape, member_, __VA_ARGS__)
#define SIZE(name, most, text)         KEY(#name, BASE_COUNT, name, .min = 1, .max = (most), .help = (text))

static const BaseField keys[] = {
    KEY("config", BASE_PATH, config,
        .help = "a Hugging Face config.json as it is; the keys below override it. Its dropout is training.dropout "
                "where that is not given"),
    KEY("family", BASE_NAME, family, .names = model_family_names,
        .help = "what the layers are made of. llama: gated SiLU, RMSNorm, rotary positions, no biases. gpt: GELU, "
                "LayerNorm, learned positions, biases. Others as transformers' classes of that model_type. Beside "
                "config: its sizes are read as that family's, whatever its model_type. Required without config"),
    SIZE(layers, 10000, "transformer layers. Required without config"),
    SIZE(hidden_size, 1 << 20, "width of the residual stream. Required without config"),
    SIZE(heads, 4096, "attention heads. Required without config"),
    SIZE(kv_heads, 4096,
         "key and value heads, fewer than heads in grouped-query attention. Left out: as many as heads"),
    SIZE(head_dim, 4096, "width of a head. Left out: hidden_size / heads"),
    SIZE(intermediate_size, 1 << 24,
         "width inside the MLP. Left out: 4 hidden_size in gpt; required in llama without config"),
    SIZE(vocab_size, 1 << 28, "rows of the embedding, padding included. Required without config"),
    KEY("tied_embeddings", BASE_FLAG, tied_embeddings,
        .help =
            "whether the head uses the token embedding's matrix. Left out: as config says; yes in gpt, no in llama"),
    SIZE(max_positions, 1 << 28, "rows of a table of learned positions (gpt). Left out: training.sequence_length"),
    SIZE(sliding_window, 1 << 28, "tokens that attention looks back. Left out: as config says, or all"),
    SIZE(full_every, 10000, "with a window: every so many layers one sees all tokens (gemma2: 2). Left out: none"),
    SIZE(full_layers, 10000, "with a window: so many layers, the first, see all tokens (qwen2). Left out: none"),
    SIZE(encoder_layers, 10000,
         "of an encoder before the layers, which are a decoder's then (t5). training.sequence_length is then of its "
         "sequences, training.decoder_length of the decoder's. Left out: as config says, or none"),
    SIZE(relative_buckets, 1 << 20, "rows of a learned bias on scores by distance (t5). Left out: 32 in t5"),
    KEY("mtp_layers", BASE_COUNT, mtp_layers, .max = 1,
        .help = "multi-token prediction: layers behind the last, of which each foretells a further token (deepseek_v3: "
                "num_nextn_predict_layers; Megatron-LM: mtp_num_layers), under megatron. Left out: none"),
    SIZE(rotary_dim, 4096, "of each head, what rotary positions turn. Left out: all of it"),
    SIZE(patch_elements, 1 << 24,
         "of images (vit): numbers of a patch, all channels together. vocab_size is then the number of labels, "
         "max_positions the patches of an image and one more. Left out: tokens are words"),
    SIZE(labels, 1 << 28,
         "of a text tower (clip_text): width of what the head makes of one token of each text. Left out: the head has "
         "vocab_size outputs for every token"),
    SIZE(experts, 65536, "experts of a layer, of which a router gives each token some. Left out: none"),
    SIZE(experts_per_token, 65536, "to how many experts a token goes. Required with experts"),
    SIZE(expert_intermediate_size, 1 << 24, "width inside one expert. Required with experts"),
    SIZE(shared_intermediate_size, 1 << 24,
         "width of what every token goes through beside its experts, all shared experts together. Left out: none"),
    SIZE(
        expert_groups, 65536,
        "groups of experts, of which a token's experts are in groups_per_token (deepseek_v3: n_group). Left out: none"),
    SIZE(groups_per_token, 65536, "groups that a token's experts may be in. Required with expert_groups"),
    SIZE(dense_layers, 10000, "with experts: so many layers, the first, have an MLP instead. Left out: none"),
    SIZE(expert_every, 10000, "with experts: every so many layers one has them, the others an MLP. Left out: all"),
    SIZE(kv_rank, 1 << 20,
         "latent attention (deepseek_v2): width of what keys and values are made from. Left out: plain attention"),
    SIZE(q_rank, 1 << 20, "latent attention: width of what queries are made from. Left out: the hidden size"),
    SIZE(value_dim, 4096, "latent attention: width of a head's value. Required with kv_rank"),
    SIZE(parameters, 1ull << 62,
         "how many the model is said to have, to be held against the count. Left out: no check"),
    KEY("profile", BASE_PATH, profile,
        .help = "measured times per layer and direction (*.layers.csv, as `foretrain layers -o` writes), spread over a "
                "layer's operations"),
};
const ConfSchema model_shape_schema = {keys, G_N_ELEMENTS(keys)};

/* A shape on its way, and where it comes from. */
typedef struct {
  const ConfSettings *settings;
  ConfJson *json; /* NULL: keys alone */
  ModelShape shape;
} Loading;

/* At the key of [model] where it was given there, else at config.json's. Always FALSE. */
static gboolean G_GNUC_PRINTF(4, 5)
    fail(const Loading *loading, const char *key, GError **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  g_autofree char *name = g_strconcat("model.", key, NULL);
  if (loading->json == NULL || conf_settings_given(loading->settings, name))
    return conf_settings_fail(loading->settings, name, error, "%s", message);
  g_autofree char *path = model_config_key(loading->json, loading->shape.family, key);
  return conf_json_fail(loading->json, path, error, "%s", message);
}

/* A count that is 0: not there, null, or really 0. */
static gboolean fail_empty(const Loading *loading, const char *key, GError **error) {
  if (loading->json == NULL)
    return fail(loading, key, error, "is required without model.config and missing");
  g_autofree char *path = model_config_key(loading->json, loading->shape.family, key);
  return conf_json_has(loading->json, path) ? fail(loading, key, error, "expected a whole number from 1 on, found 0")
                                            : conf_json_fail_missing(loading->json, path, "a whole number", error);
}

static gboolean is_required(const ModelShape *shape, const char *key) {
  static const char *const always[] = {"layers",   "hidden_size",       "heads",      "kv_heads",
                                       "head_dim", "intermediate_size", "vocab_size", NULL};
  static const char *const of_experts[] = {"experts_per_token", "expert_intermediate_size", NULL};
  static const char *const of_stacks[] = {"encoder_layers", "relative_buckets", NULL};
  static const char *const of_latents[] = {"rotary_dim", "value_dim", NULL};
  return g_strv_contains(always, key) || (shape->experts > 0 && g_strv_contains(of_experts, key)) ||
         (shape->kv_rank > 0 && g_strv_contains(of_latents, key)) ||
         (model_has(model_shape_traits(shape), MODEL_ENCODED) && g_strv_contains(of_stacks, key)) ||
         (model_has(model_shape_traits(shape), MODEL_ONE_TOKEN) && strcmp(key, "labels") == 0) ||
         (model_has(model_shape_traits(shape), MODEL_PATCHES) && strcmp(key, "patch_elements") == 0) ||
         (model_has(model_shape_traits(shape), MODEL_LEARNED) && strcmp(key, "max_positions") == 0);
}

/* Counts that came from config.json have not passed the table's bounds yet; those that are 0 are missing. */
static gboolean check_counts(const Loading *loading, GError **error) {
  for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
    if (keys[i].kind != BASE_COUNT)
      continue;
    guint64 value = G_STRUCT_MEMBER(guint64, &loading->shape, keys[i].offset);
    if (value == 0 && is_required(&loading->shape, keys[i].key))
      return fail_empty(loading, keys[i].key, error);
    if ((double)value > keys[i].max)
      return fail(loading, keys[i].key, error, "expected at most %.0f, found %" G_GUINT64_FORMAT, keys[i].max, value);
  }
  return TRUE;
}

/* The training sequence is what a position table is built for where nothing else is said. */
static guint64 sequence_of(const ConfSettings *settings) {
  const char *text = conf_settings_get(settings, "training.sequence_length");
  double length = 0;
  return text != NULL && base_quantity_parse(text, BASE_UNIT_NONE, &length, NULL) ? (guint64)length : 0;
}

/* By keys alone the family's row says what its class would take. */
static void take_defaults(const Loading *loading, ModelShape *shape) {
  const ModelFamilyRow *row = model_family_row(shape->family);
  for (gsize i = 0; i < G_N_ELEMENTS(keys); i++)
    if (keys[i].kind == BASE_COUNT && G_STRUCT_MEMBER(guint64, shape, keys[i].offset) == 0)
      G_STRUCT_MEMBER(guint64, shape, keys[i].offset) = G_STRUCT_MEMBER(guint64, &row->defaults, keys[i].offset);
  if (!conf_settings_given(loading->settings, "model.tied_embeddings"))
    shape->tied_embeddings = model_has(row->traits, MODEL_TIED);
  if (row->window_flag != NULL && !conf_settings_given(loading->settings, "model.sliding_window"))
    shape->sliding_window = 0;
  if (row->experts_alone && shape->expert_intermediate_size == 0)
    shape->expert_intermediate_size = shape->intermediate_size;
}

/* Groups are equal, and those that a token may go to have experts enough for it. */
static gboolean check_groups(const Loading *loading, GError **error) {
  const ModelShape *shape = &loading->shape;
  guint64 groups = shape->expert_groups, chosen = shape->groups_per_token;
  if (groups == 0 && chosen == 0)
    return TRUE;
  if (groups == 0 || chosen == 0 || chosen > groups || shape->experts % groups != 0)
    return fail(loading, groups == 0 ? "groups_per_token" : "expert_groups", error,
                "%" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT " groups of %" G_GUINT64_FORMAT
                " experts: expected equal groups, and some of them",
                chosen, groups, shape->experts);
  return shape->experts / groups * chosen >= shape->experts_per_token ||
         fail(loading, "groups_per_token", error,
              "in %" G_GUINT64_FORMAT " groups there are fewer than %" G_GUINT64_FORMAT " experts", chosen,
              shape->experts_per_token);
}

static gboolean check_heads(const Loading *loading, GError **error) {
  const ModelShape *shape = &loading->shape;
  if (shape->kv_heads == 0 || shape->heads % shape->kv_heads != 0)
    return fail(loading, "kv_heads", error, "%" G_GUINT64_FORMAT " does not divide heads %" G_GUINT64_FORMAT,
                shape->kv_heads, shape->heads);
  if (shape->rotary_dim > shape->head_dim || (shape->kv_rank > 0 && shape->rotary_dim == shape->head_dim))
    return fail(loading, "rotary_dim", error, "%" G_GUINT64_FORMAT " is too much of a head of %" G_GUINT64_FORMAT,
                shape->rotary_dim, shape->head_dim);
  if (shape->experts_per_token > shape->experts)
    return fail(loading, "experts_per_token", error, "%" G_GUINT64_FORMAT " is more than experts %" G_GUINT64_FORMAT,
                shape->experts_per_token, shape->experts);
  return check_groups(loading, error);
}

static gboolean check_further(const Loading *loading, GError **error) {
  const ModelShape *shape = &loading->shape;
  if (shape->mtp_layers > 0 && shape->tied_embeddings)
    return fail(loading, "mtp_layers", error, "is not modelled beside a head that is tied to the embedding");
  if (shape->mtp_layers > 0 &&
      model_has(model_shape_traits(shape),
                MODEL_PARALLEL | MODEL_BIDIRECTIONAL | MODEL_PATCHES | MODEL_LEARNED | MODEL_POST_NORM))
    return fail(loading, "mtp_layers", error, "is modelled for decoders like llama and deepseek_v3, not for %s",
                model_family_names[shape->family]);
  return TRUE;
}

/* An encoder is its family's, and so is a head of one token. */
static gboolean check_stacks(const Loading *loading, GError **error) {
  const ModelShape *shape = &loading->shape;
  if (shape->labels > 0 && !model_has(model_shape_traits(shape), MODEL_ONE_TOKEN))
    return fail(loading, "labels", error, "%s has as many outputs as model.vocab_size; clip_text has labels",
                model_family_names[shape->family]);
  if (shape->labels > 0 && shape->tied_embeddings)
    return fail(loading, "tied_embeddings", error, "a head of labels is no table of words");
  gboolean encoded = model_has(model_shape_traits(shape), MODEL_ENCODED);
  if (!encoded && shape->encoder_layers > 0)
    return fail(loading, "encoder_layers", error, "%s has no encoder; t5, mt5 and umt5 have",
                model_family_names[shape->family]);
  if (!encoded && shape->relative_buckets > 0)
    return fail(loading, "relative_buckets", error, "%s has no learned bias by distance; t5, mt5 and umt5 have",
                model_family_names[shape->family]);
  return !encoded || shape->kv_heads == shape->heads ||
         fail(loading, "kv_heads", error, "%s has as many as heads", model_family_names[shape->family]);
}

static gboolean derive(Loading *loading, GError **error) {
  ModelShape *shape = &loading->shape;
  const ModelFamilyRow *row = model_family_row(shape->family);
  if (loading->json == NULL)
    take_defaults(loading, shape);
  if (shape->kv_heads == 0)
    shape->kv_heads = shape->heads;
  if (shape->head_dim == 0 && shape->heads > 0) {
    if (shape->hidden_size % shape->heads != 0)
      return fail(loading, "heads", error,
                  "%" G_GUINT64_FORMAT " does not divide hidden_size %" G_GUINT64_FORMAT ", and no head_dim is given",
                  shape->heads, shape->hidden_size);
    shape->head_dim = shape->hidden_size / shape->heads;
  }
  if (shape->intermediate_size == 0)
    shape->intermediate_size = row->mlp_times * shape->hidden_size;
  if (model_has(model_shape_traits(shape), MODEL_LEARNED) && shape->max_positions == 0)
    shape->max_positions = sequence_of(loading->settings);
  return check_counts(loading, error) && check_heads(loading, error) && check_further(loading, error) &&
         check_stacks(loading, error);
}

/* Hugging Face's files are all called config.json: there the folder's name tells more. */
static char *folder_of(const char *config) {
  g_autofree char *folder = g_path_get_dirname(config);
  char *name = g_path_get_basename(folder);
  if (strcmp(name, ".") != 0 && strcmp(name, "/") != 0)
    return name;
  g_free(name);
  return g_strdup("config");
}

static char *name_of(const ModelShape *shape) {
  if (shape->config == NULL)
    return g_strdup_printf("%s-%" G_GUINT64_FORMAT "x%" G_GUINT64_FORMAT, model_family_names[shape->family],
                           shape->layers, shape->hidden_size);
  char *name = g_path_get_basename(shape->config);
  char *ending = strrchr(name, '.');
  if (ending != NULL && ending != name)
    *ending = '\0';
  if (strcmp(name, "config") != 0)
    return name;
  g_free(name);
  return folder_of(shape->config);
}

/* A count that was stated, and is another. */
static void check_stated(const ModelShape *shape, GPtrArray *assumed) {
  guint64 counted = model_shape_parameters(shape);
  if (shape->parameters > 0 && shape->parameters != counted)
    g_ptr_array_add(assumed, g_strdup_printf("model.parameters says %" G_GUINT64_FORMAT
                                             ", but the model has %" G_GUINT64_FORMAT " (%+.2f %%)",
                                             shape->parameters, counted,
                                             100 * ((double)counted / (double)shape->parameters - 1)));
}

/* The file's shape, under the keys beside it. */
static gboolean load_config(Loading *loading, GPtrArray *assumed, GError **error) {
  ModelShape *shape = &loading->shape;
  int family = conf_settings_given(loading->settings, "model.family") ? shape->family : -1;
  g_autofree char *config = g_steal_pointer(&shape->config);
  model_shape_clear(shape);
  loading->json = conf_json_load(config, error);
  return loading->json != NULL && model_config_read(loading->json, family, shape, assumed, error) &&
         conf_settings_fill(loading->settings, &model_shape_schema, shape, error) &&
         model_config_note_further(loading->json, shape, assumed, error);
}

static gboolean load(Loading *loading, GPtrArray *assumed, GError **error) {
  if (!conf_settings_fill(loading->settings, &model_shape_schema, &loading->shape, error))
    return FALSE;
  if (loading->shape.config != NULL) {
    if (!load_config(loading, assumed, error))
      return FALSE;
  } else if (!conf_settings_given(loading->settings, "model.family")) {
    return conf_settings_fail(loading->settings, "model.family", error,
                              "[model] needs config (a config.json), or family and sizes");
  }
  if (!derive(loading, error))
    return FALSE;
  check_stated(&loading->shape, assumed);
  return TRUE;
}

gboolean model_shape_load(const ConfSettings *settings, ModelShape *ret, GError **error) {
  Loading loading = {.settings = settings};
  g_autoptr(GPtrArray) assumed = g_ptr_array_new_with_free_func(g_free);
  gboolean loaded = load(&loading, assumed, error);
  conf_json_free(loading.json);
  if (!loaded) {
    model_shape_clear(&loading.shape);
    return FALSE;
  }
  if (assumed->len > 0) {
    g_ptr_array_add(assumed, NULL);
    loading.shape.assumed = g_strdupv((char **)assumed->pdata);
  }
  loading.shape.name = name_of(&loading.shape);
  model_shape_clear(ret);
  *ret = loading.shape;
  return TRUE;
}

void model_shape_clear(ModelShape *shape) {
  g_free(shape->config);
  g_free(shape->profile);
  g_free(shape->name);
  g_strfreev(shape->assumed);
  *shape = (ModelShape){0};
}

ModelTraits model_shape_traits(const ModelShape *shape) {
  if (model_has(shape->traits, MODEL_STATED))
    return shape->traits;
  return shape->traits | model_family_traits(shape->family);
}

gboolean model_shape_layer_is_dense(const ModelShape *shape, guint64 layer) {
  guint64 every = MAX(shape->expert_every, 1);
  return shape->experts > 0 && (layer < shape->dense_layers || (layer + 1) % every != 0);
}

gboolean model_shape_layer_is_full(const ModelShape *shape, guint64 layer) {
  return shape->sliding_window > 0 &&
         (layer < shape->full_layers || (shape->full_every > 0 && (layer + 1) % shape->full_every == 0));
}

static gboolean record(ConfSettings *settings, const ModelShape *shape, const char *name, const char *value,
                       GError **error) {
  BasePlace place = {.file = shape->config, .key = name};
  return conf_settings_given(settings, name) ||
         conf_settings_put(settings, name, value, CONF_ORIGIN_FILE, &place, error);
}

gboolean model_shape_record(const ModelShape *shape, ConfSettings *settings, GError **error) {
  for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
    guint64 count = keys[i].kind == BASE_COUNT ? G_STRUCT_MEMBER(guint64, shape, keys[i].offset) : 0;
    g_autofree char *value = g_strdup_printf("%" G_GUINT64_FORMAT, count);
    g_autofree char *name = g_strconcat("model.", keys[i].key, NULL);
    if (count > 0 && !record(settings, shape, name, value, error))
      return FALSE;
  }
  return model_shape_record_training(shape, settings, error) &&
         record(settings, shape, "model.family", model_family_names[shape->family], error) &&
         record(settings, shape, "model.tied_embeddings", shape->tied_embeddings ? "yes" : "no", error);
}

gboolean model_shape_record_training(const ModelShape *shape, ConfSettings *settings, GError **error) {
  char value[G_ASCII_DTOSTR_BUF_SIZE];
  if (shape->dropout <= 0 || !conf_settings_knows(settings, "training.dropout"))
    return TRUE;
  return record(settings, shape, "training.dropout", g_ascii_formatd(value, sizeof value, "%.12g", shape->dropout),
                error);
}
