/* SPDX-License-Identifier: MIT */
/* A config.json by its family's row: which row that is, and sizes under the names of its spelling. Its parts:
 * model-config-parts.c. */
#include "model-config.h"

#include <string.h>

#include "base-names.h"
#include "model-reading.h"

/* [model] key, its field, and its names in config.json by spelling; after those, names that any family may use. */
#define OTHERS_MOST 5
static const struct {
  const char *key;
  gsize offset;
  const char *names[MODEL_SPELLINGS], *others[OTHERS_MOST];
} sizes[] = {
#define SIZE(field) #field, G_STRUCT_OFFSET(ModelShape, field)
    {SIZE(layers), {"num_hidden_layers", "n_layer", "n_layers"}, {"num_layers"}},
    {SIZE(hidden_size), {"hidden_size", "n_embd", "d_model"}, {"n_embed"}},
    {SIZE(heads), {"num_attention_heads", "n_head", "n_heads"}, {"num_heads"}},
    {SIZE(kv_heads),
     {"num_key_value_heads", "n_head_kv", "attn_config.kv_n_heads"},
     {"num_kv_heads", "multi_query_group_num"}},
    {SIZE(head_dim), {"head_dim", "head_dim", "head_dim"}, {"kv_channels", "d_kv"}},
    {SIZE(intermediate_size),
     {"intermediate_size", "n_inner", "ffn_config.ffn_hidden_size"},
     {"ffn_dim", "ffn_hidden_size", "d_ff"}},
    {SIZE(vocab_size), {"vocab_size", "vocab_size", "vocab_size"}, {"padded_vocab_size"}},
    {SIZE(max_positions), {"max_position_embeddings", "n_positions", "max_seq_len"}, {"seq_length"}},
    {SIZE(rotary_dim), {"rotary_dim", "rotary_dim", "rotary_dim"}, {"qk_rope_head_dim"}},
    {SIZE(experts),
     {"num_local_experts", "num_experts", "ffn_config.moe_num_experts"},
     {"num_experts", "n_routed_experts", "num_local_experts"}},
    {SIZE(experts_per_token),
     {"num_experts_per_tok", "num_experts_per_tok", "ffn_config.moe_top_k"},
     {"experts_per_token"}},
    {SIZE(expert_intermediate_size),
     {"moe_intermediate_size", "moe_intermediate_size", "moe_intermediate_size"},
     {NULL}},
    {SIZE(shared_intermediate_size),
     {"shared_expert_intermediate_size", "shared_expert_intermediate_size", "shared_expert_intermediate_size"},
     {NULL}},
    {SIZE(expert_groups), {"n_group", "n_group", "n_group"}, {NULL}},
    {SIZE(groups_per_token), {"topk_group", "topk_group", "topk_group"}, {NULL}},
    {SIZE(dense_layers), {"first_k_dense_replace", "first_k_dense_replace", "first_k_dense_replace"}, {NULL}},
    {SIZE(expert_every),
     {"decoder_sparse_step", "decoder_sparse_step", "decoder_sparse_step"},
     {"interleave_moe_layer_step"}},
    {SIZE(labels), {"projection_dim", "projection_dim", "projection_dim"}, {NULL}},
    {SIZE(relative_buckets),
     {"relative_attention_num_buckets", "relative_attention_num_buckets", "relative_attention_num_buckets"},
     {NULL}},
    {SIZE(kv_rank), {"kv_lora_rank", "kv_lora_rank", "kv_lora_rank"}, {NULL}},
    {SIZE(q_rank), {"q_lora_rank", "q_lora_rank", "q_lora_rank"}, {NULL}},
    {SIZE(value_dim), {"v_head_dim", "v_head_dim", "v_head_dim"}, {NULL}},
#undef SIZE
};

/* ---- Sizes ---- */

/* The name that this file uses of a size: its spelling's, another that is there, or its spelling's. */
static const char *size_name(const ModelReading *reading, gsize size) {
  const char *own = sizes[size].names[reading->row->spelling];
  if (model_reading_states(reading, own))
    return own;
  for (int spelling = 0; spelling < MODEL_SPELLINGS; spelling++)
    if (model_reading_states(reading, sizes[size].names[spelling]))
      return sizes[size].names[spelling];
  for (gsize i = 0; i < OTHERS_MOST && sizes[size].others[i] != NULL; i++)
    if (model_reading_states(reading, sizes[size].others[i]))
      return sizes[size].others[i];
  return own;
}

/* Sizes of which none is a size too. */
static gboolean may_be_none(const char *key) {
  static const char *const names[] = {"dense_layers", "shared_intermediate_size", "experts",
                                      "expert_every", "experts_per_token",        NULL};
  return g_strv_contains(names, key);
}

static gboolean read_size(const ModelReading *reading, gsize size, GError **error) {
  const char *name = size_name(reading, size);
  guint64 *field = &G_STRUCT_MEMBER(guint64, reading->shape, sizes[size].offset);
  if (!model_reading_states(reading, name)) {
    *field = G_STRUCT_MEMBER(guint64, &reading->row->defaults, sizes[size].offset);
    if (*field > 0)
      model_reading_assume(reading, "%s is not in %s: %" G_GUINT64_FORMAT ", as transformers takes it for %s", name,
                           conf_json_file(reading->json), *field, reading->row->name);
    return TRUE;
  }
  if (!model_reading_count(reading, name, field, error))
    return FALSE;
  if (*field == 0 && model_reading_has(reading, name) && !may_be_none(sizes[size].key))
    return model_reading_fail(reading, name, error, "expected at least 1, found 0");
  return TRUE;
}

static gboolean read_sizes(const ModelReading *reading, GError **error) {
  for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
    if (!read_size(reading, i, error))
      return FALSE;
  return TRUE;
}

/* One key head for all queries, where a key says that and not how many. */
static gboolean read_multi_query(const ModelReading *reading, GError **error) {
  const ModelFamilyRow *row = reading->row;
  gboolean one = TRUE, unless = FALSE;
  if (row->kv_flag == NULL)
    return TRUE;
  if (!model_reading_flag(reading, row->kv_flag, &one, error) ||
      (row->kv_unless != NULL && !model_reading_flag(reading, row->kv_unless, &unless, error)))
    return FALSE;
  if (!unless)
    reading->shape->kv_heads = one ? 1 : reading->shape->heads;
  return TRUE;
}

/* A part of each head, by either name. */
static gboolean read_rotary(const ModelReading *reading, GError **error) {
  static const char *const keys[] = {"rotary_pct", "partial_rotary_factor", NULL};
  ModelShape *shape = reading->shape;
  guint64 head = shape->head_dim > 0 ? shape->head_dim : shape->heads > 0 ? shape->hidden_size / shape->heads : 0;
  double part = reading->row->rotary_part;
  if (shape->rotary_dim > 0 || shape->kv_rank > 0)
    return TRUE;
  for (const char *const *key = keys; *key != NULL; key++) {
    g_autofree char *path = model_reading_path(reading, *key);
    if (conf_json_has(reading->json, path) && !conf_json_number(reading->json, path, &part, error))
      return FALSE;
    if (part < 0 || part > 1)
      return model_reading_fail(reading, *key, error, "expected a part from 0 to 1, found %g", part);
  }
  shape->rotary_dim = part < 1 ? (guint64)(part * (double)head) : 0;
  return TRUE;
}

/* ---- The whole ---- */

static gboolean refuse_type(const ConfJson *json, const char *model_type, GError **error) {
  const char *obstacle = model_family_obstacle(model_type);
  if (obstacle != NULL)
    return conf_json_fail(json, "model_type", error, "\"%s\" is not modelled: %s", model_type, obstacle);
  g_autofree const char **types = model_family_types();
  const char *near = base_names_nearest(types, model_type);
  g_autofree char *joined = base_names_join(types);
  g_autofree char *advice = near != NULL ? g_strdup_printf("; did you mean \"%s\"?", near) : g_strdup("");
  return conf_json_fail(json, "model_type", error,
                        "\"%s\" is not modelled%s; modelled are %s. Where it is built as one of these, say so: "
                        "model.family=NAME reads this file's sizes as that family's",
                        model_type, advice, joined);
}

/* [model] family, or the row of the file's model_type; -1 with an error. */
static int family_of(const ConfJson *json, int family, GError **error) {
  const char *model_type;
  if (family >= 0)
    return family;
  if (!conf_json_string(json, "model_type", &model_type, error))
    return -1;
  family = model_family_of_type(model_type);
  if (family < 0)
    refuse_type(json, model_type, error);
  return family;
}

static const char *prefix_of(const ConfJson *json, const ModelFamilyRow *row) {
  g_autofree char *block = row->nested != NULL ? g_strndup(row->nested, strlen(row->nested) - 1) : NULL;
  return block != NULL && conf_json_has(json, block) ? row->nested : "";
}

/* The towers beside a nested model. */
static gboolean check_towers(const ModelReading *reading, gboolean named, GError **error) {
  gboolean vision = strcmp(reading->prefix, "vision_config.") == 0;
  const char *other = vision ? "text_config" : "vision_config";
  if (!conf_json_has(reading->json, other))
    return TRUE;
  if (!named)
    return conf_json_fail(reading->json, other, error, "the %s tower is not modelled; model.family=%s takes the %s",
                          vision ? "text" : "vision", reading->row->name,
                          vision ? "vision tower alone" : "text model alone");
  model_reading_assume(reading, "%s is left out: the %s alone is trained", other,
                       vision ? "vision tower" : "text model");
  return TRUE;
}

static gboolean read_tying(const ModelReading *reading, GError **error) {
  gboolean *tied = &reading->shape->tied_embeddings;
  *tied = model_has(reading->row->traits, MODEL_TIED);
  if (*reading->prefix != '\0' && conf_json_has(reading->json, "tie_word_embeddings"))
    return conf_json_flag(reading->json, "tie_word_embeddings", tied, error);
  return model_reading_flag(reading, "tie_word_embeddings", tied, error);
}

static gboolean refuse_projections(const ModelReading *reading, GError **error) {
  guint64 width = reading->shape->hidden_size;
  return model_reading_count(reading, "word_embed_proj_dim", &width, error) &&
         (width == reading->shape->hidden_size ||
          model_reading_fail(reading, "word_embed_proj_dim", error,
                             "embeddings of another width than the layers are not modelled"));
}

gboolean model_config_read(const ConfJson *json, int family, ModelShape *shape, GPtrArray *assumed, GError **error) {
  int found = family_of(json, family, error);
  if (found < 0)
    return FALSE;
  const ModelFamilyRow *row = model_family_row(found);
  ModelReading reading = {json, row, prefix_of(json, row), shape, assumed};
  shape->family = found;
  return model_reading_refuse(&reading, error) && check_towers(&reading, family >= 0, error) &&
         model_reading_traits(&reading, error) && read_sizes(&reading, error) && refuse_projections(&reading, error) &&
         read_multi_query(&reading, error) && read_rotary(&reading, error) && model_reading_window(&reading, error) &&
         model_reading_experts(&reading, error) && model_reading_latent(&reading, error) &&
         model_reading_stacks(&reading, error) && model_reading_image(&reading, error) &&
         model_reading_dropout(&reading, error) && read_tying(&reading, error);
}

gboolean model_config_note_further(const ConfJson *json, const ModelShape *shape, GPtrArray *assumed, GError **error) {
  const ModelFamilyRow *row = model_family_row(shape->family);
  ModelReading reading = {json, row, prefix_of(json, row), NULL, assumed};
  guint64 layers = 0;
  if (!model_reading_count(&reading, "num_nextn_predict_layers", &layers, error))
    return FALSE;
  if (layers > 0 && shape->mtp_layers == 0)
    model_reading_assume(&reading, "num_nextn_predict_layers is left out: no token beyond the next is foretold");
  return TRUE;
}

char *model_config_key(const ConfJson *json, int family, const char *key) {
  const ModelFamilyRow *row = model_family_row(family);
  ModelReading reading = {json, row, prefix_of(json, row), NULL, NULL};
  for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
    if (strcmp(sizes[i].key, key) == 0)
      return model_reading_path(&reading, size_name(&reading, i));
  return g_strdup(key);
}
