/* Which keys a config.json has for each model_type that is modelled, what their absence means, and which keys are
 * refused. */
#include "model-config.h"

#include <string.h>

#include "base-names.h"

typedef struct {
  const char *model_type;
  ModelFamily family;
  gboolean tied;     /* tie_word_embeddings where it is absent */
  gboolean qkv_bias; /* no key says so: the class builds its projections with them */
  gboolean qk_norm;  /* nor of these */
  guint64 head_dim;  /* head_dim where it is absent; 0: hidden_size / heads */
  guint64 kv_heads;  /* num_key_value_heads where it is absent; 0 (and null) means as many as heads */
  guint64
      sliding_window; /* sliding_window where it is absent; null means none. 0: the class has no such key; NO_WINDOW:
                         none */
  const char *window_flag; /* the window counts only where this key is true, or NULL */
  double dropout;          /* each of its dropouts where it is absent */
} ConfigClass;

#define NO_WINDOW G_MAXUINT64

/* Defaults of the classes LlamaConfig, MistralConfig, Qwen2Config and GPT2Config (tying: PretrainedConfig) in
 * transformers 4.40, of Qwen3Config and Phi3Config in 4.51, src/transformers/models/<name>/configuration_<name>.py.
 * phi3 has q, k, v in one matrix and gate and up in another: [training] projections says how they are multiplied. */
static const ConfigClass classes[] = {
    {.model_type = "llama", .family = MODEL_LLAMA},
    {.model_type = "mistral", .family = MODEL_LLAMA, .kv_heads = 8, .sliding_window = 4096},
    {.model_type = "qwen2",
     .family = MODEL_LLAMA,
     .qkv_bias = TRUE,
     .kv_heads = 32,
     .sliding_window = 4096,
     .window_flag = "use_sliding_window"},
    {.model_type = "gpt2", .family = MODEL_GPT, .tied = TRUE, .dropout = 0.1},
    {.model_type = "qwen3",
     .family = MODEL_LLAMA,
     .qk_norm = TRUE,
     .head_dim = 128,
     .kv_heads = 32,
     .sliding_window = 4096,
     .window_flag = "use_sliding_window"},
    {.model_type = "phi3", .family = MODEL_LLAMA, .sliding_window = NO_WINDOW},
};

/* [model] key, its field, and its names in config.json: the first is what the class writes, the second it also reads.
 */
static const struct {
  const char *key;
  gsize offset;
  const char *llama, *gpt, *gpt_also;
} sizes[] = {
    {"layers", G_STRUCT_OFFSET(ModelShape, layers), "num_hidden_layers", "n_layer", "num_hidden_layers"},
    {"hidden_size", G_STRUCT_OFFSET(ModelShape, hidden_size), "hidden_size", "n_embd", "hidden_size"},
    {"heads", G_STRUCT_OFFSET(ModelShape, heads), "num_attention_heads", "n_head", "num_attention_heads"},
    {"kv_heads", G_STRUCT_OFFSET(ModelShape, kv_heads), "num_key_value_heads", NULL, NULL},
    {"head_dim", G_STRUCT_OFFSET(ModelShape, head_dim), "head_dim", NULL, NULL},
    {"intermediate_size", G_STRUCT_OFFSET(ModelShape, intermediate_size), "intermediate_size", "n_inner", NULL},
    {"vocab_size", G_STRUCT_OFFSET(ModelShape, vocab_size), "vocab_size", "vocab_size", NULL},
    {"max_positions", G_STRUCT_OFFSET(ModelShape, max_positions), "max_position_embeddings", "n_positions",
     "max_position_embeddings"},
};

/* Present at all: another model, or weights of another size. */
static const char *const refused_if_present[] = {"quantization_config", "compression_config", "num_local_experts",
                                                 "num_experts",         "n_routed_experts",   "text_config"};
/* True: layers that are not modelled. */
static const char *const refused_if_true[] = {"attention_bias", "mlp_bias", "add_cross_attention", "is_encoder_decoder",
                                              "reorder_and_upcast_attn"};

static const char *const silu_names[] = {"silu", "swish", NULL};
static const char *const gelu_names[] = {"gelu", "gelu_new", "gelu_fast", "gelu_pytorch_tanh", NULL};

static const ConfigClass *class_of(const ConfJson *json) {
  const char *model_type;
  if (!conf_json_string(json, "model_type", &model_type, NULL))
    return NULL;
  for (gsize i = 0; i < G_N_ELEMENTS(classes); i++)
    if (strcmp(classes[i].model_type, model_type) == 0)
      return &classes[i];
  return NULL;
}

static gboolean is_stated(const ConfJson *json, const char *key) {
  for (const char *const *keys = conf_json_keys(json); *keys != NULL; keys++)
    if (strcmp(*keys, key) == 0)
      return TRUE;
  return FALSE;
}

static gboolean refuse_unmodelled_type(const ConfJson *json, GError **error) {
  const char *model_type;
  if (!conf_json_string(json, "model_type", &model_type, error))
    return FALSE;
  const char *names[G_N_ELEMENTS(classes) + 1] = {NULL};
  for (gsize i = 0; i < G_N_ELEMENTS(classes); i++)
    names[i] = classes[i].model_type;
  g_autofree char *joined = base_names_join(names);
  return conf_json_fail(json, "model_type", error, "\"%s\" is not modelled; modelled are %s", model_type, joined);
}

static gboolean refuse_unmodelled_keys(const ConfJson *json, const ConfigClass *class, GError **error) {
  for (gsize i = 0; i < G_N_ELEMENTS(refused_if_present); i++)
    if (conf_json_has(json, refused_if_present[i]))
      return conf_json_fail(json, refused_if_present[i], error, "is not modelled for %s, and would change the answer",
                            class->model_type);
  for (gsize i = 0; i < G_N_ELEMENTS(refused_if_true); i++) {
    gboolean flag = FALSE;
    if (conf_json_has(json, refused_if_true[i]) && !conf_json_flag(json, refused_if_true[i], &flag, error))
      return FALSE;
    if (flag)
      return conf_json_fail(json, refused_if_true[i], error, "true is not modelled for %s, and would change the answer",
                            class->model_type);
  }
  const char *key = class->family == MODEL_GPT ? "activation_function" : "hidden_act";
  const char *const *known = class->family == MODEL_GPT ? gelu_names : silu_names;
  const char *activation = NULL;
  if (conf_json_has(json, key) && !conf_json_string(json, key, &activation, error))
    return FALSE;
  if (activation != NULL && base_names_find(known, activation) < 0) {
    g_autofree char *joined = base_names_join(known);
    return conf_json_fail(json, key, error, "\"%s\" is not modelled for %s; modelled are %s", activation,
                          class->model_type, joined);
  }
  return TRUE;
}

static const char *size_name(const ConfJson *json, const ConfigClass *class, gsize size) {
  if (class->family == MODEL_LLAMA)
    return sizes[size].llama;
  if (sizes[size].gpt_also != NULL && conf_json_has(json, sizes[size].gpt_also))
    return sizes[size].gpt_also;
  return sizes[size].gpt;
}

static gboolean read_sizes(const ConfJson *json, const ConfigClass *class, ModelShape *shape, GError **error) {
  for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
    const char *name = size_name(json, class, i);
    guint64 value = 0;
    if (name == NULL || !conf_json_has(json, name))
      continue;
    if (!conf_json_count(json, name, &value, error))
      return FALSE;
    if (value == 0)
      return conf_json_fail(json, name, error, "expected at least 1, found 0");
    G_STRUCT_MEMBER(guint64, shape, sizes[i].offset) = value;
  }
  if (!is_stated(json, "num_key_value_heads"))
    shape->kv_heads = class->kv_heads;
  if (!is_stated(json, "head_dim"))
    shape->head_dim = class->head_dim;
  return TRUE;
}

static gboolean read_window(const ConfJson *json, const ConfigClass *class, ModelShape *shape, GError **error) {
  if (class->sliding_window == 0)
    return TRUE;
  gboolean used = class->window_flag == NULL;
  if (class->window_flag != NULL && conf_json_has(json, class->window_flag) &&
      !conf_json_flag(json, class->window_flag, &used, error))
    return FALSE;
  gboolean none = is_stated(json, "sliding_window") || class->sliding_window == NO_WINDOW;
  guint64 window = none ? 0 : class->sliding_window;
  if (conf_json_has(json, "sliding_window") && !conf_json_count(json, "sliding_window", &window, error))
    return FALSE;
  shape->sliding_window = used ? window : 0;
  return TRUE;
}

/* The largest: layers are played with one. */
static gboolean read_dropout(const ConfJson *json, const ConfigClass *class, ModelShape *shape, GError **error) {
  static const char *const gpt[] = {"attn_pdrop", "resid_pdrop", "embd_pdrop", NULL};
  static const char *const llama[] = {"attention_dropout", NULL};
  for (const char *const *key = class->family == MODEL_GPT ? gpt : llama; *key != NULL; key++) {
    double value = class->dropout;
    if (conf_json_has(json, *key) && !conf_json_number(json, *key, &value, error))
      return FALSE;
    if (!(value >= 0 && value < 1))
      return conf_json_fail(json, *key, error, "expected a probability below 1, found %g", value);
    shape->dropout = MAX(shape->dropout, value);
  }
  return TRUE;
}

gboolean model_config_read(const ConfJson *json, ModelShape *shape, GError **error) {
  const ConfigClass *class = class_of(json);
  if (class == NULL)
    return refuse_unmodelled_type(json, error);
  if (!refuse_unmodelled_keys(json, class, error) || !read_sizes(json, class, shape, error) ||
      !read_window(json, class, shape, error) || !read_dropout(json, class, shape, error))
    return FALSE;
  shape->tied_embeddings = class->tied;
  if (conf_json_has(json, "tie_word_embeddings") &&
      !conf_json_flag(json, "tie_word_embeddings", &shape->tied_embeddings, error))
    return FALSE;
  shape->family = class->family;
  shape->qkv_bias = class->qkv_bias;
  shape->qk_norm = class->qk_norm;
  return TRUE;
}

const char *model_config_key(const ConfJson *json, const char *key) {
  const ConfigClass *class = class_of(json);
  for (gsize i = 0; class != NULL && i < G_N_ELEMENTS(sizes); i++)
    if (strcmp(sizes[i].key, key) == 0) {
      const char *name = size_name(json, class, i);
      return name != NULL ? name : key;
    }
  return key;
}
