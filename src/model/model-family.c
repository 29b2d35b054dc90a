/* SPDX-License-Identifier: MIT */
/* The rows: one family each; below them their names, in the same order, and the types that are known and refused. */
#include "model-family.h"

#include <string.h>

#define LAYERED_GPT (MODEL_LAYERED | MODEL_BIASES)
#define LLAMA_BIASES                                                                                                   \
  {"attention_bias", FALSE, MODEL_QKV_BIAS | MODEL_O_BIAS, 0, 0, NULL}, {                                              \
    "mlp_bias", FALSE, MODEL_MLP_BIAS, 0, 0, NULL                                                                      \
  }
#define ATTENTION_BIASES                                                                                               \
  { "attention_bias", FALSE, MODEL_QKV_BIAS | MODEL_O_BIAS, 0, 0, NULL }
#define NO_CROSS_ATTENTION                                                                                             \
  { "add_cross_attention", FALSE, 0, 0, 0, "layers that attend to an encoder are not modelled" }
#define NO_LATENT_BIAS                                                                                                 \
  { "attention_bias", FALSE, 0, 0, 0, "biases of latent projections are not modelled" }

#define TEXT "text_config."

static const ModelFamilyRow rows[] = {
    {.name = "llama", .types = {"llama"}, .traits = MODEL_LLAMAISH, .switches = {LLAMA_BIASES}},
    {.name = "gpt",
     .dropout = 0.1,
     .types = {"gpt2"},
     .spelling = MODEL_SPELLS_GPT2,
     .traits = MODEL_GPTISH | MODEL_JOINED | MODEL_TIED,
     .switches = {NO_CROSS_ATTENTION, {"reorder_and_upcast_attn", FALSE, 0, 0, 0, "attention in fp32 is not modelled"}},
     .mlp_times = 4},
    {.name = "mistral",
     .types = {"mistral"},
     .traits = MODEL_LLAMAISH,
     .defaults = {.kv_heads = 8, .sliding_window = 4096},
     .switches = {ATTENTION_BIASES},
     .window_key = "sliding_window"},
    {.name = "qwen2",
     .types = {"qwen2"},
     .traits = MODEL_LLAMAISH | MODEL_QKV_BIAS,
     .defaults = {.kv_heads = 32, .sliding_window = 4096, .full_layers = 28},
     .window_key = "sliding_window",
     .window_flag = "use_sliding_window"},
    {.name = "qwen3",
     .types = {"qwen3"},
     .traits = MODEL_LLAMAISH | MODEL_QK_NORM,
     .defaults = {.kv_heads = 32, .head_dim = 128, .sliding_window = 4096, .full_layers = 28},
     .switches = {ATTENTION_BIASES},
     .window_key = "sliding_window",
     .window_flag = "use_sliding_window"},
    {.name = "phi3", /* q, k, v in one matrix and gate and up in another: [training] projections says how they run */
     .types = {"phi3"},
     .traits = MODEL_LLAMAISH,
     .switches = {ATTENTION_BIASES},
     .window_key = "sliding_window"},
    {.name = "gpt_bigcode",
     .dropout = 0.1,
     .types = {"gpt_bigcode"},
     .spelling = MODEL_SPELLS_GPT2,
     .traits = MODEL_GPTISH | MODEL_JOINED | MODEL_TIED,
     .switches = {NO_CROSS_ATTENTION},
     .kv_flag = "multi_query",
     .mlp_times = 4},
    {.name = "gpt_neox",
     .rotary_part = 0.25,
     .types = {"gpt_neox"},
     .traits = LAYERED_GPT | MODEL_ROTARY | MODEL_PARALLEL | MODEL_JOINED | MODEL_BRANCH_DROPOUT,
     .switches = {{"use_parallel_residual", TRUE, 0, MODEL_PARALLEL, 0, NULL},
                  {"attention_bias", TRUE, 0, MODEL_QKV_BIAS | MODEL_O_BIAS, 0, NULL}}},
    {.name = "gptj",
     .types = {"gptj"},
     .spelling = MODEL_SPELLS_GPT2,
     .traits = MODEL_LAYERED | MODEL_ROTARY | MODEL_PARALLEL | MODEL_ONE_NORM | MODEL_MLP_BIAS | MODEL_HEAD_BIAS |
               MODEL_BRANCH_DROPOUT,
     .defaults = {.rotary_dim = 64},
     .mlp_times = 4},
    {.name = "phi",
     .rotary_part = 0.5,
     .types = {"phi", "phi-msft"},
     .traits = LAYERED_GPT | MODEL_ROTARY | MODEL_PARALLEL | MODEL_ONE_NORM | MODEL_HEAD_BIAS | MODEL_BRANCH_DROPOUT,
     .switches = {{"qk_layernorm", FALSE, 0, 0, 0, "LayerNorm of queries and keys is not modelled"}},
     .mlp_times = 4},
    {.name = "falcon",
     .types = {"falcon", "RefinedWeb", "RefinedWebModel"},
     .traits = MODEL_LAYERED | MODEL_ROTARY | MODEL_PARALLEL | MODEL_ONE_NORM | MODEL_JOINED | MODEL_BRANCH_DROPOUT |
               MODEL_TIED,
     .switches = {{"new_decoder_architecture", FALSE, MODEL_PARALLEL, 0, MODEL_ONE_NORM, NULL},
                  {"parallel_attn", TRUE, 0, MODEL_PARALLEL | MODEL_ONE_NORM, 0, NULL},
                  {"alibi", FALSE, MODEL_ALIBI, 0, MODEL_ROTARY, NULL},
                  {"bias", FALSE, MODEL_BIASES, 0, 0, NULL}},
     .kv_flag = "multi_query",
     .kv_unless = "new_decoder_architecture",
     .mlp_times = 4},
    {.name = "opt",
     .dropout = 0.1,
     .types = {"opt"},
     .traits = LAYERED_GPT | MODEL_LEARNED | MODEL_POSITIONS_PLUS | MODEL_BRANCH_DROPOUT | MODEL_TIED,
     .switches = {{"enable_bias", TRUE, 0, MODEL_BIASES, 0, NULL},
                  {"do_layer_norm_before", TRUE, 0, MODEL_PRE_NORM | MODEL_FINAL_NORM, 0, NULL}}},
    {.name = "bloom",
     .types = {"bloom"},
     .spelling = MODEL_SPELLS_GPT2,
     .traits = LAYERED_GPT | MODEL_ALIBI | MODEL_JOINED | MODEL_EMBEDDING_NORM | MODEL_BRANCH_DROPOUT | MODEL_TIED,
     .mlp_times = 4},
    {.name = "mpt",
     .types = {"mpt"},
     .spelling = MODEL_SPELLS_MPT,
     .traits = LAYERED_GPT | MODEL_LEARNED | MODEL_JOINED | MODEL_TIED,
     .switches = {{"no_bias", TRUE, 0, 0, MODEL_BIASES | MODEL_NORM_BIAS, NULL},
                  {"attn_config.alibi", TRUE, MODEL_ALIBI, 0, MODEL_LEARNED, NULL},
                  {"attn_config.qk_ln", FALSE, 0, 0, 0, "LayerNorm of queries and keys is not modelled"}},
     .mlp_times = 4},
    {.name = "baichuan", .types = {"baichuan"}, .traits = MODEL_LLAMAISH | MODEL_JOINED},
    {.name = "internlm2",
     .types = {"internlm2"},
     .traits = MODEL_LLAMAISH | MODEL_JOINED,
     .switches = {{"bias", FALSE, MODEL_QKV_BIAS | MODEL_O_BIAS, 0, 0, NULL}}},
    {.name = "chatglm",
     .rotary_part = 0.5,
     .types = {"chatglm"},
     .traits = MODEL_LLAMAISH | MODEL_JOINED,
     .switches = {{"add_qkv_bias", FALSE, MODEL_QKV_BIAS, 0, 0, NULL},
                  {"add_bias_linear", FALSE, MODEL_BIASES, 0, 0, NULL}}},
    {.name = "minicpm",
     .mixes = TRUE,
     .types = {"minicpm"},
     .traits = MODEL_LLAMAISH | MODEL_SCALED | MODEL_TIED,
     .switches = {ATTENTION_BIASES},
     .experts_alone = TRUE},
    {.name = "starcoder2",
     .types = {"starcoder2"},
     .traits = MODEL_LAYERED | MODEL_BIASES | MODEL_ROTARY | MODEL_BRANCH_DROPOUT | MODEL_TIED,
     .defaults = {.kv_heads = 2},
     .switches = {{"use_bias", TRUE, 0, MODEL_BIASES, 0, NULL}},
     .window_key = "sliding_window"},
    {.name = "stablelm",
     .rotary_part = 0.25,
     .types = {"stablelm"},
     .traits = MODEL_LAYERED | MODEL_ROTARY | MODEL_GATED,
     .defaults = {.kv_heads = 32},
     .switches = {{"use_qkv_bias", FALSE, MODEL_QKV_BIAS, 0, 0, NULL},
                  {"use_parallel_residual", FALSE, MODEL_PARALLEL | MODEL_ONE_NORM, 0, 0, NULL},
                  {"qk_layernorm", FALSE, 0, 0, 0, "LayerNorm of queries and keys is not modelled"}}},
    {.name = "gemma",
     .types = {"gemma"},
     .traits = MODEL_LLAMAISH | MODEL_SCALED | MODEL_TIED,
     .defaults = {.kv_heads = 16, .head_dim = 256},
     .switches = {ATTENTION_BIASES}},
    {.name = "gemma2",
     .types = {"gemma2"},
     .traits =
         MODEL_LLAMAISH | MODEL_BRANCH_NORM | MODEL_SCALED | MODEL_CAPPED_SCORES | MODEL_CAPPED_LOGITS | MODEL_TIED,
     .defaults = {.kv_heads = 4, .head_dim = 256, .sliding_window = 4096, .full_every = 2},
     .switches = {ATTENTION_BIASES},
     .window_key = "sliding_window"},
    {.name = "gemma3",
     .types = {"gemma3", "gemma3_text"},
     .traits = MODEL_LLAMAISH | MODEL_BRANCH_NORM | MODEL_QK_NORM | MODEL_SCALED | MODEL_TIED,
     .defaults = {.layers = 26,
                  .hidden_size = 2304,
                  .heads = 8,
                  .kv_heads = 4,
                  .head_dim = 256,
                  .intermediate_size = 9216,
                  .vocab_size = 262208,
                  .sliding_window = 4096,
                  .full_every = 6},
     .switches = {ATTENTION_BIASES},
     .window_key = "sliding_window",
     .nested = TEXT},
    {.name = "olmo",
     .types = {"olmo"},
     .traits = MODEL_LLAMAISH | MODEL_LAYER_NORM | MODEL_NORM_PLAIN,
     .switches = {ATTENTION_BIASES}},
    {.name = "olmo2",
     .types = {"olmo2"},
     .traits = (MODEL_LLAMAISH & ~MODEL_PRE_NORM) | MODEL_BRANCH_NORM | MODEL_QK_NORM_WIDE,
     .switches = {ATTENTION_BIASES}},
    {.name = "mimo", .types = {"mimo"}, .traits = MODEL_LLAMAISH | MODEL_QKV_BIAS},
    {.name = "qwen3_vl",
     .types = {"qwen3_vl", "qwen3_vl_text"},
     .traits = MODEL_LLAMAISH | MODEL_QK_NORM,
     .defaults = {.kv_heads = 32, .head_dim = 128},
     .switches = {ATTENTION_BIASES},
     .nested = TEXT},
    {.name = "bert",
     .dropout = 0.1,
     .types = {"bert"},
     .traits = MODEL_LAYER_NORM | MODEL_NORM_BIAS | MODEL_POST_NORM | MODEL_FINAL_NORM | MODEL_BIASES | MODEL_LEARNED |
               MODEL_TOKEN_TYPES | MODEL_EMBEDDING_NORM | MODEL_BIDIRECTIONAL | MODEL_HEAD_TRANSFORM | MODEL_HEAD_BIAS |
               MODEL_BRANCH_DROPOUT | MODEL_TIED,
     .switches = {NO_CROSS_ATTENTION, {"is_decoder", FALSE, 0, 0, 0, "a bert that decodes is not modelled"}}},

    /* ---- A decoder beside an encoder ---- */
    {.name = "t5",
     .dropout = 0.1,
     .types = {"t5"},
     .spelling = MODEL_SPELLS_MPT,
     .traits = MODEL_T5ISH | MODEL_RELATIVE | MODEL_RELU | MODEL_TIED,
     .defaults = {.head_dim = 64, .relative_buckets = 32}},
    {.name = "mt5",
     .dropout = 0.1,
     .types = {"mt5"},
     .spelling = MODEL_SPELLS_MPT,
     .traits = MODEL_T5ISH | MODEL_RELATIVE | MODEL_GATED,
     .defaults = {.head_dim = 64, .relative_buckets = 32}},
    {.name = "umt5",
     .dropout = 0.1,
     .types = {"umt5"},
     .spelling = MODEL_SPELLS_MPT,
     .traits = MODEL_T5ISH | MODEL_RELATIVE_EACH | MODEL_GATED,
     .defaults = {.head_dim = 64, .relative_buckets = 32}},

    /* ---- Images ---- */
    {.name = "vit",
     .types = {"vit"},
     .traits =
         LAYERED_GPT | MODEL_LEARNED | MODEL_BIDIRECTIONAL | MODEL_HEAD_BIAS | MODEL_BRANCH_DROPOUT | MODEL_PATCHES,
     .defaults = {.vocab_size = 2, .max_positions = 197, .patch_elements = 768},
     .switches = {{"qkv_bias", TRUE, 0, MODEL_QKV_BIAS, 0, NULL}}},

    /* CLIP's tower of images with its projection, whose width stands for the labels: CLIPVisionModelWithProjection. */
    {.name = "clip_vision",
     .types = {"clip_vision_model"},
     .traits =
         LAYERED_GPT | MODEL_LEARNED | MODEL_BIDIRECTIONAL | MODEL_EMBEDDING_NORM | MODEL_PATCHES | MODEL_PATCHES_PLAIN,
     .defaults = {.layers = 12,
                  .hidden_size = 768,
                  .heads = 12,
                  .intermediate_size = 3072,
                  .vocab_size = 512,
                  .max_positions = 50,
                  .patch_elements = 3072},
     .nested = "vision_config."},

    /* CLIP's tower of texts, whose projection is of the token that ends a text: CLIPTextModelWithProjection. */
    {.name = "clip_text",
     .types = {"clip_text_model"},
     .traits = LAYERED_GPT | MODEL_LEARNED | MODEL_ONE_TOKEN,
     .defaults = {.layers = 12,
                  .hidden_size = 512,
                  .heads = 8,
                  .intermediate_size = 2048,
                  .vocab_size = 49408,
                  .max_positions = 77,
                  .labels = 512},
     .nested = TEXT},

    /* ---- Mixtures of experts ---- */
    {.name = "mixtral",
     .mixes = TRUE,
     .types = {"mixtral"},
     .traits = MODEL_LLAMAISH,
     .defaults = {.kv_heads = 8, .experts = 8, .experts_per_token = 2},
     .window_key = "sliding_window",
     .experts_alone = TRUE},
    {.name = "qwen2_moe",
     .mixes = TRUE,
     .types = {"qwen2_moe"},
     .traits = MODEL_LLAMAISH | MODEL_QKV_BIAS | MODEL_SHARED_GATE,
     .defaults = {.kv_heads = 16,
                  .sliding_window = 4096,
                  .full_layers = 28,
                  .experts = 60,
                  .experts_per_token = 4,
                  .expert_intermediate_size = 1408,
                  .shared_intermediate_size = 5632},
     .window_key = "sliding_window",
     .window_flag = "use_sliding_window"},
    {.name = "qwen3_moe",
     .mixes = TRUE,
     .types = {"qwen3_moe"},
     .traits = MODEL_LLAMAISH | MODEL_QK_NORM,
     .defaults = {.kv_heads = 4,
                  .sliding_window = 4096,
                  .full_layers = 28,
                  .experts = 128,
                  .experts_per_token = 8,
                  .expert_intermediate_size = 768},
     .switches = {ATTENTION_BIASES},
     .window_key = "sliding_window",
     .window_flag = "use_sliding_window"},
    {.name = "olmoe",
     .mixes = TRUE,
     .types = {"olmoe"},
     .traits = MODEL_LLAMAISH | MODEL_QK_NORM_WIDE,
     .defaults = {.experts = 64, .experts_per_token = 8},
     .switches = {ATTENTION_BIASES},
     .experts_alone = TRUE},
    {.name = "deepseek_v2",
     .mixes = TRUE,
     .types = {"deepseek_v2"},
     .traits = MODEL_LLAMAISH,
     .defaults = {.rotary_dim = 64, .value_dim = 128},
     .switches = {NO_LATENT_BIAS}},
    {.name = "deepseek_v3",
     .mixes = TRUE,
     .types = {"deepseek_v3", "kimi_k2"},
     .traits = MODEL_LLAMAISH | MODEL_EXPERT_BIAS,
     .defaults = {.rotary_dim = 64, .value_dim = 128},
     .switches = {NO_LATENT_BIAS}},
    {.name = "gpt_oss",
     .mixes = TRUE,
     .experts_fused = TRUE,
     .types = {"gpt_oss"},
     .traits = MODEL_LLAMAISH | MODEL_BIASES | MODEL_ROUTER_BIAS | MODEL_SINKS,
     .defaults = {.kv_heads = 8,
                  .head_dim = 64,
                  .sliding_window = 128,
                  .full_every = 2,
                  .experts = 128,
                  .experts_per_token = 4},
     .switches = {{"attention_bias", TRUE, 0, MODEL_QKV_BIAS | MODEL_O_BIAS, 0, NULL}},
     .window_key = "sliding_window",
     .experts_alone = TRUE},
    {.name = "dbrx",
     .mixes = TRUE,
     .experts_fused = TRUE,
     .types = {"dbrx"},
     .spelling = MODEL_SPELLS_MPT,
     .traits = (MODEL_LLAMAISH | MODEL_LAYER_NORM | MODEL_JOINED),
     .defaults = {.kv_heads = 1, .experts = 4, .experts_per_token = 1},
     .experts_alone = TRUE},
    {.name = "glm4_moe",
     .rotary_part = 0.5,
     .mixes = TRUE,
     .types = {"glm4_moe"},
     .traits = MODEL_LLAMAISH | MODEL_EXPERT_BIAS,
     .defaults =
         {.kv_heads = 8, .experts = 128, .experts_per_token = 8, .expert_intermediate_size = 1408, .dense_layers = 1},
     .switches = {{"attention_bias", FALSE, MODEL_QKV_BIAS, 0, 0, NULL},
                  {"use_qk_norm", FALSE, MODEL_QK_NORM, 0, 0, NULL}}},
    {.name = "llama4",
     .mixes = TRUE,
     .experts_fused = TRUE,
     .types = {"llama4", "llama4_text"},
     .traits = MODEL_LLAMAISH | MODEL_CHUNKED,
     .defaults = {.kv_heads = 8,
                  .head_dim = 128,
                  .sliding_window = 8192,
                  .full_every = 4,
                  .experts = 16,
                  .experts_per_token = 1},
     .switches = {{"use_qk_norm", TRUE, MODEL_QK_NORM_PLAIN, 0, 0, NULL},
                  {"attention_bias", FALSE, MODEL_QKV_BIAS | MODEL_O_BIAS, 0, 0, NULL}},
     .window_key = "attention_chunk_size",
     .shared_alike = TRUE,
     .nested = TEXT},
    {.name = "minimax_m2",
     .mixes = TRUE,
     .types = {"minimax_m2"},
     .traits = MODEL_LLAMAISH | MODEL_EXPERT_BIAS,
     .defaults = {.kv_heads = 8, .head_dim = 128, .experts = 256, .experts_per_token = 8},
     .switches = {{"use_qk_norm", TRUE, MODEL_QK_NORM_WIDE, 0, 0, NULL}},
     .experts_alone = TRUE},
};

G_STATIC_ASSERT(MODEL_LLAMA == 0 && MODEL_GPT == 1);

/* Names, for tables of settings: those of the rows, in order. */
const char *const model_family_names[] = {
    "llama",       "gpt",       "mistral",    "qwen2",     "qwen3",      "phi3",   "gpt_bigcode", "gpt_neox",
    "gptj",        "phi",       "falcon",     "opt",       "bloom",      "mpt",    "baichuan",    "internlm2",
    "chatglm",     "minicpm",   "starcoder2", "stablelm",  "gemma",      "gemma2", "gemma3",      "olmo",
    "olmo2",       "mimo",      "qwen3_vl",   "bert",      "t5",         "mt5",    "umt5",        "vit",
    "clip_vision", "clip_text", "mixtral",    "qwen2_moe", "qwen3_moe",  "olmoe",  "deepseek_v2", "deepseek_v3",
    "gpt_oss",     "dbrx",      "glm4_moe",   "llama4",    "minimax_m2", NULL};
G_STATIC_ASSERT(G_N_ELEMENTS(model_family_names) == G_N_ELEMENTS(rows) + 1);

/* Known, and not modelled. */
static const struct {
  const char *type, *obstacle;
} obstacles[] = {
    {"qwen3_next", "its layers of linear attention are not modelled"},
    {"jamba", "its state-space layers are not modelled"},
    {"mamba", "its state-space layers are not modelled"},
    {"mamba2", "its state-space layers are not modelled"},
    {"nemotron_h", "its state-space layers are not modelled"},
    {"mllama", "its layers that attend to an image encoder are not modelled"},
    {"gemma4", "its layers with heads of two widths are not modelled"},
    {"deepseek_v32", "its sparse attention is not modelled; deepseek_v3 is the same model with dense attention"},
    {"decoder_only_t5", "its relative positions are not modelled"},
    {"clip",
     "two towers and a loss over pairs are not modelled; model.family=clip_vision or clip_text reads one tower alone"},
    {"minimax", "its layers of linear attention are not modelled"},
    {"openmoe", "its router is not modelled"},
    {"phi4mm", "its towers for images and sound are not modelled"},
};

guint model_family_count(void) {
  return G_N_ELEMENTS(rows);
}

const ModelFamilyRow *model_family_row(int family) {
  return &rows[family];
}

ModelTraits model_switch_apply(const ModelSwitch *one, gboolean on, ModelTraits traits) {
  return on ? (traits | one->sets) & ~one->true_ends : traits & ~one->clears;
}

ModelTraits model_family_traits(int family) {
  ModelTraits traits = rows[family].traits;
  for (gsize i = 0; i < MODEL_SWITCHES_MOST && rows[family].switches[i].key != NULL; i++)
    traits = model_switch_apply(&rows[family].switches[i], rows[family].switches[i].initial, traits);
  return traits;
}

int model_family_of_type(const char *model_type) {
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    for (gsize k = 0; k < G_N_ELEMENTS(rows[i].types) && rows[i].types[k] != NULL; k++)
      if (strcmp(rows[i].types[k], model_type) == 0)
        return (int)i;
  return -1;
}

const char *model_family_obstacle(const char *model_type) {
  for (gsize i = 0; i < G_N_ELEMENTS(obstacles); i++)
    if (strcmp(obstacles[i].type, model_type) == 0)
      return obstacles[i].obstacle;
  return NULL;
}

const char **model_family_types(void) {
  GPtrArray *types = g_ptr_array_new();
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++)
    for (gsize k = 0; k < G_N_ELEMENTS(rows[i].types) && rows[i].types[k] != NULL; k++)
      g_ptr_array_add(types, (gpointer)rows[i].types[k]);
  g_ptr_array_add(types, NULL);
  return (const char **)g_ptr_array_free(types, FALSE);
}
