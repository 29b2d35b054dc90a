/* [model]: the file first, then the keys beside it, then what follows from them. */
#include "model-shape.h"

#include <string.h>

#include "model-config.h"

const char *const model_family_names[] = {"llama", "gpt", NULL};

#define FIELD(name) .offset = G_STRUCT_OFFSET(ModelShape, name)

/* The bounds keep every product of sizes inside 64 bits; the largest published models are far below them. */
static const ConfKey keys[] = {
    {.group = "model",
     .key = "config",
     .kind = CONF_PATH,
     FIELD(config),
     .help = "a Hugging Face config.json as it is (model_type llama, mistral, qwen2, qwen3, phi3 or gpt2); the keys "
             "below override it. "
             "Its dropout holds where training.dropout is not given"},
    {.group = "model",
     .key = "family",
     .kind = CONF_NAME,
     FIELD(family),
     .names = model_family_names,
     .help =
         "llama: gated SiLU, RMSNorm, rotary positions, no biases. gpt: GELU, LayerNorm, learned positions, biases. "
         "Required without config"},
    {.group = "model",
     .key = "layers",
     .kind = CONF_COUNT,
     FIELD(layers),
     .min = 1,
     .max = 10000,
     .help = "transformer layers. Required without config"},
    {.group = "model",
     .key = "hidden_size",
     .kind = CONF_COUNT,
     FIELD(hidden_size),
     .min = 1,
     .max = 1 << 20,
     .help = "width of the residual stream. Required without config"},
    {.group = "model",
     .key = "heads",
     .kind = CONF_COUNT,
     FIELD(heads),
     .min = 1,
     .max = 4096,
     .help = "attention heads. Required without config"},
    {.group = "model",
     .key = "kv_heads",
     .kind = CONF_COUNT,
     FIELD(kv_heads),
     .min = 1,
     .max = 4096,
     .help = "key and value heads, fewer than heads in grouped-query attention. Left out: as many as heads"},
    {.group = "model",
     .key = "head_dim",
     .kind = CONF_COUNT,
     FIELD(head_dim),
     .min = 1,
     .max = 4096,
     .help = "width of a head. Left out: hidden_size / heads"},
    {.group = "model",
     .key = "intermediate_size",
     .kind = CONF_COUNT,
     FIELD(intermediate_size),
     .min = 1,
     .max = 1 << 24,
     .help = "width inside the MLP. Left out: 4 hidden_size in gpt; required in llama without config"},
    {.group = "model",
     .key = "vocab_size",
     .kind = CONF_COUNT,
     FIELD(vocab_size),
     .min = 1,
     .max = 1 << 28,
     .help = "rows of the embedding, padding included. Required without config"},
    {.group = "model",
     .key = "tied_embeddings",
     .kind = CONF_FLAG,
     FIELD(tied_embeddings),
     .help = "whether the head uses the token embedding's matrix. Left out: as config says; yes in gpt, no in llama"},
    {.group = "model",
     .key = "max_positions",
     .kind = CONF_COUNT,
     FIELD(max_positions),
     .min = 1,
     .max = 1 << 28,
     .help = "rows of gpt's position table. Left out: training.sequence_length"},
    {.group = "model",
     .key = "profile",
     .kind = CONF_PATH,
     FIELD(profile),
     .help = "measured times per layer and direction (*.layers.csv, as `foretrain layers -o` writes), spread over a "
             "layer's "
             "operations"},
};
const ConfSchema model_shape_schema = {keys, G_N_ELEMENTS(keys)};

/* At the key of [model] where it was given there, else at config.json's. Always FALSE. */
static gboolean G_GNUC_PRINTF(5, 6)
    fail(const ConfSettings *settings, const ConfJson *json, const char *key, GError **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  g_autofree char *name = g_strconcat("model.", key, NULL);
  if (json == NULL || conf_settings_given(settings, name))
    return conf_settings_fail(settings, name, error, "%s", message);
  return conf_json_fail(json, model_config_key(json, key), error, "%s", message);
}

/* A count that is 0: not there, null, or really 0. */
static gboolean fail_empty(const ConfSettings *settings, const ConfJson *json, const char *key, GError **error) {
  if (json == NULL)
    return fail(settings, NULL, key, error, "is required without model.config and missing");
  const char *path = model_config_key(json, key);
  return conf_json_has(json, path) ? fail(settings, json, key, error, "expected a whole number from 1 on, found 0")
                                   : conf_json_fail_missing(json, path, "a whole number", error);
}

/* Counts that came from config.json have not passed the table's bounds yet; those that are 0 are missing. */
static gboolean check_counts(const ConfSettings *settings, const ConfJson *json, const ModelShape *shape,
                             GError **error) {
  for (gsize i = 0; i < G_N_ELEMENTS(keys); i++) {
    if (keys[i].kind != CONF_COUNT)
      continue;
    guint64 value = G_STRUCT_MEMBER(guint64, shape, keys[i].offset);
    if (value == 0 && !(shape->family == MODEL_LLAMA && strcmp(keys[i].key, "max_positions") == 0))
      return fail_empty(settings, json, keys[i].key, error);
    if ((double)value > keys[i].max)
      return fail(settings, json, keys[i].key, error, "expected at most %.0f, found %" G_GUINT64_FORMAT, keys[i].max,
                  value);
  }
  return TRUE;
}

/* The training sequence is what a position table is built for where nothing else is said. */
static guint64 sequence_of(const ConfSettings *settings) {
  const char *text = conf_settings_get(settings, "training.sequence_length");
  double length = 0;
  return text != NULL && base_quantity_parse(text, BASE_UNIT_NONE, &length, NULL) ? (guint64)length : 0;
}

static gboolean derive(const ConfSettings *settings, const ConfJson *json, ModelShape *shape, GError **error) {
  if (shape->kv_heads == 0)
    shape->kv_heads = shape->heads;
  if (shape->head_dim == 0 && shape->heads > 0) {
    if (shape->hidden_size % shape->heads != 0)
      return fail(settings, json, "heads", error,
                  "%" G_GUINT64_FORMAT " does not divide hidden_size %" G_GUINT64_FORMAT ", and no head_dim is given",
                  shape->heads, shape->hidden_size);
    shape->head_dim = shape->hidden_size / shape->heads;
  }
  if (shape->family == MODEL_GPT && shape->intermediate_size == 0)
    shape->intermediate_size = 4 * shape->hidden_size;
  if (shape->family == MODEL_GPT && shape->max_positions == 0)
    shape->max_positions = sequence_of(settings);
  if (json == NULL && !conf_settings_given(settings, "model.tied_embeddings"))
    shape->tied_embeddings = shape->family == MODEL_GPT;
  if (!check_counts(settings, json, shape, error))
    return FALSE;
  if (shape->kv_heads == 0 || shape->heads % shape->kv_heads != 0)
    return fail(settings, json, "kv_heads", error, "%" G_GUINT64_FORMAT " does not divide heads %" G_GUINT64_FORMAT,
                shape->kv_heads, shape->heads);
  return TRUE;
}

static char *name_of(const ModelShape *shape) {
  if (shape->config == NULL)
    return g_strdup_printf("%s-%" G_GUINT64_FORMAT "x%" G_GUINT64_FORMAT, model_family_names[shape->family],
                           shape->layers, shape->hidden_size);
  char *name = g_path_get_basename(shape->config);
  char *ending = strrchr(name, '.');
  if (ending != NULL && ending != name)
    *ending = '\0';
  return name;
}

gboolean model_shape_load(const ConfSettings *settings, ModelShape *ret, GError **error) {
  ModelShape shape = {0};
  g_autoptr(ConfJson) json = NULL;
  if (!conf_settings_fill(settings, &model_shape_schema, &shape, error))
    goto failed;
  if (shape.config != NULL) {
    g_autofree char *config = g_steal_pointer(&shape.config);
    model_shape_clear(&shape);
    json = conf_json_load(config, error);
    if (json == NULL || !model_config_read(json, &shape, error))
      goto failed;
    if (!conf_settings_fill(settings, &model_shape_schema, &shape, error))
      goto failed;
  } else if (!conf_settings_given(settings, "model.family")) {
    conf_settings_fail(settings, "model.family", error, "[model] needs config (a config.json), or family and sizes");
    goto failed;
  }
  if (!derive(settings, json, &shape, error))
    goto failed;
  shape.name = name_of(&shape);
  model_shape_clear(ret);
  *ret = shape;
  return TRUE;

failed:
  model_shape_clear(&shape);
  return FALSE;
}

void model_shape_clear(ModelShape *shape) {
  g_free(shape->config);
  g_free(shape->profile);
  g_free(shape->name);
  *shape = (ModelShape){0};
}

guint64 model_shape_parameters(const ModelShape *shape) {
  guint64 h = shape->hidden_size, f = shape->intermediate_size;
  guint64 q = shape->heads * shape->head_dim, kv = shape->kv_heads * shape->head_dim;
  guint64 table = shape->vocab_size * h, head = shape->tied_embeddings ? 0 : table;
  guint64 attention = h * (q + 2 * kv) + q * h;
  if (shape->family == MODEL_LLAMA) {
    guint64 biases = shape->qkv_bias ? q + 2 * kv : 0, qk_norms = shape->qk_norm ? 2 * shape->head_dim : 0;
    return table + shape->layers * (attention + biases + qk_norms + 3 * h * f + 2 * h) + h + head;
  }
  guint64 biases = q + 2 * kv + h + f + h;
  return table + shape->max_positions * h + shape->layers * (attention + 2 * h * f + biases + 4 * h) + 2 * h + head;
}

static gboolean record(ConfSettings *settings, const ModelShape *shape, const char *name, const char *value,
                       GError **error) {
  BasePlace place = {.file = shape->config, .key = name};
  return conf_settings_given(settings, name) ||
         conf_settings_put(settings, name, value, CONF_ORIGIN_FILE, &place, error);
}

gboolean model_shape_record(const ModelShape *shape, ConfSettings *settings, GError **error) {
  const struct {
    const char *name;
    guint64 value;
  } counts[] = {
      {"model.layers", shape->layers},         {"model.hidden_size", shape->hidden_size},
      {"model.heads", shape->heads},           {"model.kv_heads", shape->kv_heads},
      {"model.head_dim", shape->head_dim},     {"model.intermediate_size", shape->intermediate_size},
      {"model.vocab_size", shape->vocab_size}, {"model.max_positions", shape->max_positions},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(counts); i++) {
    g_autofree char *value = g_strdup_printf("%" G_GUINT64_FORMAT, counts[i].value);
    if (counts[i].value > 0 && !record(settings, shape, counts[i].name, value, error))
      return FALSE;
  }
  return record(settings, shape, "model.family", model_family_names[shape->family], error) &&
         record(settings, shape, "model.tied_embeddings", shape->tied_embeddings ? "yes" : "no", error);
}
