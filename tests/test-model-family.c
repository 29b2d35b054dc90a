/* SPDX-License-Identifier: MIT */
/* Families: exact counts of published models from their config.json, and of every row of the table units that are
 * consistent and add up. */
#include <string.h>

#include "model-family.h"
#include "model-masks.h"
#include "shape-case.h"

/* The keys that sizes and parts depend on, of the files that were published with the models on the Hugging Face Hub,
 * and the counts of their checkpoints; bert with the head for masked tokens (BertForMaskedLM), deepseek_v3 and kimi_k2
 * without the layer that foretells further tokens, and with the routers' corrections. */
static const struct {
  const char *json;
  guint64 parameters;
} published[] = {
    /* bert-base */
    {"{'hidden_act': 'gelu', 'hidden_size': 768, 'intermediate_size': 3072, 'max_position_embeddings': 512, "
     "'model_type': 'bert', 'num_attention_heads': 12, 'num_hidden_layers': 12, 'vocab_size': 30522}",
     109514298},
    /* bloom-176b */
    {"{'model_type': 'bloom', 'n_embed': 14336, 'n_inner': null, 'n_layer': 70, 'num_attention_heads': 112, "
     "'seq_length': 2048, 'vocab_size': 250880}",
     176247271424},
    /* bloom-7b1 */
    {"{'model_type': 'bloom', 'n_embed': 4096, 'n_inner': null, 'n_layer': 30, 'num_attention_heads': 32, "
     "'seq_length': 2048, 'vocab_size': 250880}",
     7069016064},
    /* deepseek-v2-lite */
    {"{'attention_bias': false, 'first_k_dense_replace': 1, 'hidden_act': 'silu', 'hidden_size': 2048, "
     "'intermediate_size': 10944, 'kv_lora_rank': 512, 'max_position_embeddings': 163840, 'model_type': "
     "'deepseek_v2', 'moe_intermediate_size': 1408, 'n_routed_experts': 64, 'n_shared_experts': 2, "
     "'num_attention_heads': 16, 'num_experts_per_tok': 6, 'num_hidden_layers': 27, 'num_key_value_heads': 16, "
     "'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, 'v_head_dim': 128, 'vocab_size': 102400}",
     15706484224},
    /* deepseek-v3 */
    {"{'attention_bias': false, 'first_k_dense_replace': 3, 'hidden_act': 'silu', 'hidden_size': 7168, "
     "'intermediate_size': 18432, 'kv_lora_rank': 512, 'max_position_embeddings': 163840, 'model_type': "
     "'deepseek_v3', 'moe_intermediate_size': 2048, 'n_routed_experts': 256, 'n_shared_experts': 1, "
     "'num_attention_heads': 128, 'num_experts_per_tok': 8, 'num_hidden_layers': 61, 'num_key_value_heads': "
     "128, 'num_nextn_predict_layers': 1, 'q_lora_rank': 1536, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': "
     "64, 'quantization_config': {'quant_method': 'fp8'}, 'tie_word_embeddings': false, 'v_head_dim': 128, "
     "'vocab_size': 129280}",
     671026419200},
    /* kimi-k2 */
    {"{'attention_bias': false, 'first_k_dense_replace': 1, 'hidden_act': 'silu', 'hidden_size': 7168, "
     "'intermediate_size': 18432, 'kv_lora_rank': 512, 'max_position_embeddings': 131072, 'model_type': "
     "'kimi_k2', 'moe_intermediate_size': 2048, 'n_routed_experts': 384, 'n_shared_experts': 1, "
     "'num_attention_heads': 64, 'num_experts_per_tok': 8, 'num_hidden_layers': 61, 'num_key_value_heads': 64, "
     "'num_nextn_predict_layers': 0, 'q_lora_rank': 1536, 'qk_nope_head_dim': 128, 'qk_rope_head_dim': 64, "
     "'quantization_config': {'quant_method': 'fp8'}, 'tie_word_embeddings': false, 'v_head_dim': 128, "
     "'vocab_size': 163840}",
     1026408232448},
    /* falcon-40b */
    {"{'alibi': false, 'bias': false, 'hidden_size': 8192, 'model_type': 'falcon', 'multi_query': true, "
     "'n_head': 128, 'n_layer': 60, 'new_decoder_architecture': true, 'num_attention_heads': 128, "
     "'num_hidden_layers': 60, 'num_kv_heads': 8, 'parallel_attn': true, 'vocab_size': 65024}",
     41303293952},
    /* falcon-7b */
    {"{'alibi': false, 'bias': false, 'hidden_size': 4544, 'model_type': 'falcon', 'multi_query': true, "
     "'new_decoder_architecture': false, 'num_attention_heads': 71, 'num_hidden_layers': 32, 'parallel_attn': "
     "true, 'vocab_size': 65024}",
     6921720704},
    /* gemma-2-27b */
    {"{'attention_bias': false, 'head_dim': 128, 'hidden_act': 'gelu_pytorch_tanh', 'hidden_activation': "
     "'gelu_pytorch_tanh', 'hidden_size': 4608, 'intermediate_size': 36864, 'max_position_embeddings': 8192, "
     "'model_type': 'gemma2', 'num_attention_heads': 32, 'num_hidden_layers': 46, 'num_key_value_heads': 16, "
     "'sliding_window': 4096, 'vocab_size': 256000}",
     27227128320},
    /* gemma-2-2b */
    {"{'attention_bias': false, 'head_dim': 256, 'hidden_act': 'gelu_pytorch_tanh', 'hidden_activation': "
     "'gelu_pytorch_tanh', 'hidden_size': 2304, 'intermediate_size': 9216, 'max_position_embeddings': 8192, "
     "'model_type': 'gemma2', 'num_attention_heads': 8, 'num_hidden_layers': 26, 'num_key_value_heads': 4, "
     "'sliding_window': 4096, 'vocab_size': 256000}",
     2614341888},
    /* gemma-3-1b */
    {"{'attention_bias': false, 'head_dim': 256, 'hidden_activation': 'gelu_pytorch_tanh', 'hidden_size': "
     "1152, 'intermediate_size': 6912, 'max_position_embeddings': 32768, 'model_type': 'gemma3_text', "
     "'num_attention_heads': 4, 'num_hidden_layers': 26, 'num_key_value_heads': 1, 'sliding_window': 512, "
     "'vocab_size': 262144}",
     999885952},
    /* gemma-7b */
    {"{'attention_bias': false, 'head_dim': 256, 'hidden_act': 'gelu', 'hidden_size': 3072, "
     "'intermediate_size': 24576, 'max_position_embeddings': 8192, 'model_type': 'gemma', "
     "'num_attention_heads': 16, 'num_hidden_layers': 28, 'num_key_value_heads': 16, 'vocab_size': 256000}",
     8537680896},
    /* gpt-j-6b */
    {"{'activation_function': 'gelu_new', 'model_type': 'gptj', 'n_embd': 4096, 'n_head': 16, 'n_inner': null, "
     "'n_layer': 28, 'n_positions': 2048, 'rotary_dim': 64, 'tie_word_embeddings': false, 'vocab_size': 50400}",
     6050882784},
    /* gpt-oss-20b */
    {"{'attention_bias': true, 'experts_per_token': 4, 'head_dim': 64, 'hidden_act': 'silu', 'hidden_size': "
     "2880, 'intermediate_size': 2880, 'max_position_embeddings': 131072, 'model_type': 'gpt_oss', "
     "'num_attention_heads': 64, 'num_experts_per_tok': 4, 'num_hidden_layers': 24, 'num_key_value_heads': 8, "
     "'num_local_experts': 32, 'quantization_config': {'quant_method': 'mxfp4'}, 'sliding_window': 128, "
     "'tie_word_embeddings': false, 'vocab_size': 201088}",
     20914757184},
    /* mimo-7b */
    {"{'model_type': 'mimo', 'num_hidden_layers': 36, 'hidden_size': 4096, 'num_attention_heads': 32, "
     "'num_key_value_heads': 8, 'head_dim': 128, 'intermediate_size': 11008, 'vocab_size': 151680, "
     "'max_position_embeddings': 32768, 'hidden_act': 'silu', 'attention_bias': true, 'sliding_window': 32768, "
     "'num_nextn_predict_layers': 1, 'tie_word_embeddings': false}",
     7622619136},
    /* mixtral-8x7b */
    {"{'hidden_act': 'silu', 'hidden_size': 4096, 'intermediate_size': 14336, 'max_position_embeddings': "
     "32768, 'model_type': 'mixtral', 'num_attention_heads': 32, 'num_experts_per_tok': 2, "
     "'num_hidden_layers': 32, 'num_key_value_heads': 8, 'num_local_experts': 8, 'sliding_window': null, "
     "'tie_word_embeddings': false, 'vocab_size': 32000}",
     46702792704},
    /* mpt-30b */
    {"{'attn_config': {'alibi': true}, 'd_model': 7168, 'max_seq_len': 8192, 'model_type': 'mpt', 'n_heads': "
     "64, 'n_layers': 48, 'no_bias': true, 'vocab_size': 50432}",
     29957200896},
    /* olmo-2-13b */
    {"{'hidden_act': 'silu', 'hidden_size': 5120, 'intermediate_size': 13824, 'max_position_embeddings': 4096, "
     "'model_type': 'olmo2', 'num_attention_heads': 40, 'num_hidden_layers': 40, 'num_key_value_heads': 40, "
     "'tie_word_embeddings': false, 'vocab_size': 100352}",
     13716198400},
    /* opt-125m */
    {"{'activation_function': 'relu', 'do_layer_norm_before': true, 'ffn_dim': 3072, 'hidden_size': 768, "
     "'max_position_embeddings': 2048, 'model_type': 'opt', 'num_attention_heads': 12, 'num_hidden_layers': "
     "12, 'vocab_size': 50272, 'word_embed_proj_dim': 768}",
     125239296},
    /* opt-13b */
    {"{'activation_function': 'relu', 'do_layer_norm_before': true, 'ffn_dim': 20480, 'hidden_size': 5120, "
     "'max_position_embeddings': 2048, 'model_type': 'opt', 'num_attention_heads': 40, 'num_hidden_layers': "
     "40, 'vocab_size': 50272, 'word_embed_proj_dim': 5120}",
     12853473280},
    /* phi-1.5 */
    {"{'activation_function': 'gelu_new', 'model_type': 'phi-msft', 'n_embd': 2048, 'n_head': 32, 'n_head_kv': "
     "null, 'n_inner': null, 'n_layer': 24, 'n_positions': 2048, 'rotary_dim': 32, 'tie_word_embeddings': "
     "false, 'vocab_size': 51200}",
     1418270720},
    /* pythia-1.4b */
    {"{'hidden_act': 'gelu', 'hidden_size': 2048, 'intermediate_size': 8192, 'max_position_embeddings': 2048, "
     "'model_type': 'gpt_neox', 'num_attention_heads': 16, 'num_hidden_layers': 24, 'rotary_pct': 0.25, "
     "'tie_word_embeddings': false, 'use_parallel_residual': true, 'vocab_size': 50304}",
     1414647808},
    /* pythia-12b */
    {"{'hidden_act': 'gelu', 'hidden_size': 5120, 'intermediate_size': 20480, 'max_position_embeddings': 2048, "
     "'model_type': 'gpt_neox', 'num_attention_heads': 40, 'num_hidden_layers': 36, 'rotary_pct': 0.25, "
     "'tie_word_embeddings': false, 'use_parallel_residual': true, 'vocab_size': 50688}",
     11846072320},
    /* qwen3-30b-a3b-fp8 */
    {"{'attention_bias': false, 'decoder_sparse_step': 1, 'head_dim': 128, 'hidden_act': 'silu', "
     "'hidden_size': 2048, 'intermediate_size': 6144, 'max_position_embeddings': 40960, 'model_type': "
     "'qwen3_moe', 'moe_intermediate_size': 768, 'num_attention_heads': 32, 'num_experts': 128, "
     "'num_experts_per_tok': 8, 'num_hidden_layers': 48, 'num_key_value_heads': 4, 'sliding_window': null, "
     "'tie_word_embeddings': false, 'vocab_size': 151936, 'quantization_config': {'quant_method': 'fp8'}}",
     30532122624},
    /* redpajama-incite-3b-gptneox */
    {"{'hidden_act': 'gelu', 'hidden_size': 2560, 'intermediate_size': 10240, 'max_position_embeddings': 2048, "
     "'model_type': 'gpt_neox', 'num_attention_heads': 32, 'num_hidden_layers': 32, 'rotary_pct': 1.0, "
     "'tie_word_embeddings': false, 'use_parallel_residual': false, 'vocab_size': 50432}",
     2775864320},
    /* starcoder-15b */
    {"{'activation_function': 'gelu', 'model_type': 'gpt_bigcode', 'multi_query': true, 'n_embd': 6144, "
     "'n_head': 48, 'n_inner': 24576, 'n_layer': 40, 'n_positions': 8192, 'vocab_size': 49152}",
     15517456384},
    /* starcoder2-15b */
    {"{'hidden_act': 'gelu_pytorch_tanh', 'hidden_size': 6144, 'intermediate_size': 24576, "
     "'max_position_embeddings': 16384, 'model_type': 'starcoder2', 'num_attention_heads': 48, "
     "'num_hidden_layers': 40, 'num_key_value_heads': 4, 'sliding_window': 4096, 'use_bias': true, "
     "'vocab_size': 49152, 'tie_word_embeddings': false}",
     15957889024},
    /* starcoder2-3b */
    {"{'hidden_act': 'gelu_pytorch_tanh', 'hidden_size': 3072, 'intermediate_size': 12288, "
     "'max_position_embeddings': 16384, 'model_type': 'starcoder2', 'num_attention_heads': 24, "
     "'num_hidden_layers': 30, 'num_key_value_heads': 2, 'sliding_window': 4096, 'use_bias': true, "
     "'vocab_size': 49152}",
     3030371328},
    /* dbrx-16x13b */
    {"{'attn_config': {'kv_n_heads': 8}, 'd_model': 6144, 'ffn_config': {'ffn_hidden_size': 10752, "
     "'moe_num_experts': 16, 'moe_top_k': 4}, 'max_seq_len': 32768, 'model_type': 'dbrx', 'n_heads': 48, "
     "'n_layers': 40, 'tie_word_embeddings': false, 'vocab_size': 100352}",
     131596523520},
    /* baichuan2-7b */
    {"{'hidden_size': 4096, 'intermediate_size': 11008, 'max_position_embeddings': 4096, 'model_type': "
     "'baichuan', 'num_attention_heads': 32, 'num_hidden_layers': 32, 'tie_word_embeddings': false, "
     "'vocab_size': 125696}",
     7505973248},
};

static void counts_published_models(void) {
  for (gsize i = 0; i < G_N_ELEMENTS(published); i++) {
    ModelShape shape = shape_case_load(published[i].json, NULL);
    guint64 counted = model_shape_parameters(&shape);
    if (counted != published[i].parameters)
      printf("\n    %s: %" G_GUINT64_FORMAT "\n", published[i].json, counted);
    CU_ASSERT_EQUAL(counted, published[i].parameters);
    model_shape_clear(&shape);
  }
}

/* Published with the models: 37 B of DeepSeek-V3's (arXiv 2412.19437), 3.3 B of Qwen3-30B-A3B's (arXiv 2505.09388),
 * 3.6 B of gpt-oss-20b's (its model card, embeddings left out), 12.9 B of Mixtral-8x7B's (arXiv 2401.04088). */
static void counts_active_parameters(void) {
  static const struct {
    const char *model_type;
    double billions, without_embedding;
  } active[] = {{"'deepseek_v3'", 37, 0}, {"'qwen3_moe'", 3.3, 0}, {"'gpt_oss'", 3.6, 0.58}, {"'mixtral'", 12.9, 0}};
  for (gsize i = 0; i < G_N_ELEMENTS(active); i++)
    for (gsize k = 0; k < G_N_ELEMENTS(published); k++) {
      if (strstr(published[k].json, active[i].model_type) == NULL)
        continue;
      ModelShape shape = shape_case_load(published[k].json, NULL);
      double counted = (double)model_shape_active_parameters(&shape) / 1e9 - active[i].without_embedding;
      CU_ASSERT_DOUBLE_EQUAL(counted / active[i].billions, 1, 0.025);
      model_shape_clear(&shape);
    }
}

#define SMALL                                                                                                          \
  "'hidden_size': 64, 'intermediate_size': 160, 'num_attention_heads': 4, 'num_key_value_heads': 2, "                  \
  "'num_hidden_layers': 6, 'vocab_size': 100"

/* Which layers see all, which have experts. */
static void tells_layers_apart(void) {
  ModelShape shape = shape_case_load("{'model_type': 'gemma2', " SMALL "}", NULL);
  const ModelUnitKind alternating[] = {MODEL_UNIT_EMBEDDING, MODEL_UNIT_LAYER, MODEL_UNIT_LAYER_FULL};
  for (guint unit = 0; unit < G_N_ELEMENTS(alternating); unit++)
    CU_ASSERT_EQUAL(model_unit_kind_of(&shape, unit), alternating[unit]);
  CU_ASSERT_EQUAL(model_unit_kind_of(&shape, 7), MODEL_UNIT_HEAD);
  model_shape_clear(&shape);

  shape = shape_case_load("{'model_type': 'llama4', 'text_config': {" SMALL
                          ", 'num_local_experts': 8, 'intermediate_size_mlp': 320,"
                          " 'interleave_moe_layer_step': 2}}",
                          NULL);
  const ModelUnitKind llama4[] = {MODEL_UNIT_LAYER_DENSE, MODEL_UNIT_LAYER, MODEL_UNIT_LAYER_DENSE,
                                  MODEL_UNIT_LAYER_FULL};
  for (guint unit = 0; unit < G_N_ELEMENTS(llama4); unit++)
    CU_ASSERT_EQUAL(model_unit_kind_of(&shape, unit + 1), llama4[unit]);
  CU_ASSERT_EQUAL(shape.intermediate_size, 320);
  CU_ASSERT_EQUAL(shape.shared_intermediate_size, 160);
  model_shape_clear(&shape);

  /* By the list that newer files have: the third of three sees all. */
  shape = shape_case_load(
      "{'model_type': 'gemma3_text', " SMALL ", 'sliding_window': 32, 'layer_types': ['sliding_attention',"
      " 'sliding_attention', 'full_attention', 'sliding_attention', 'sliding_attention', 'full_attention']}",
      NULL);
  CU_ASSERT_EQUAL(shape.full_every, 3);
  CU_ASSERT_EQUAL(shape.sliding_window, 32);
  model_shape_clear(&shape);
}

static gboolean has_assumed(const ModelShape *shape, const char *fragment) {
  for (char **one = shape->assumed; one != NULL && *one != NULL; one++)
    if (strstr(*one, fragment) != NULL)
      return TRUE;
  return FALSE;
}

/* What is taken is said; a count that is stated wrong is said too; a family beside config reads the file as its own. */
static void says_what_it_takes(void) {
  ModelShape shape =
      shape_case_load("{'model_type': 'mixtral', " SMALL "}", (const char *const[]){"model.parameters=12", NULL});
  CU_ASSERT_EQUAL(shape.experts, 8);
  CU_ASSERT_TRUE(has_assumed(&shape, "num_local_experts") && has_assumed(&shape, "model.parameters says 12"));
  model_shape_clear(&shape);
  shape = shape_case_load("{'model_type': 'of-my-own', " SMALL "}", (const char *const[]){"model.family=qwen3", NULL});
  CU_ASSERT_EQUAL(shape.head_dim, 128);
  CU_ASSERT_TRUE(model_has(model_shape_traits(&shape), MODEL_QK_NORM));
  model_shape_clear(&shape);
  shape = shape_case_load("{'model_type': 'gemma3', 'text_config': {" SMALL "}, 'vision_config': {}}",
                          (const char *const[]){"model.family=gemma3", NULL});
  CU_ASSERT_TRUE(has_assumed(&shape, "vision_config"));
  model_shape_clear(&shape);
}

/* A shape of every row, by keys: small, with what the row may have. */
static ModelShape of_family(int family) {
  g_autofree char *name = g_strconcat("model.family=", model_family_names[family], NULL);
  const char *const sizes[] = {name,
                               "model.layers=3",
                               "model.hidden_size=64",
                               "model.heads=4",
                               "model.kv_heads=2",
                               "model.head_dim=16",
                               "model.intermediate_size=96",
                               "model.vocab_size=1000",
                               "training.sequence_length=128",
                               "model.max_positions=128",
                               "model.sliding_window=32",
                               NULL};
  g_autoptr(ConfSettings) settings = shape_case_settings(sizes);
  gboolean latent = g_str_has_prefix(model_family_names[family], "deepseek");
  const char *const latents[] = {"model.kv_rank=32",
                                 "model.q_rank=48",
                                 "model.rotary_dim=8",
                                 "model.value_dim=8",
                                 "model.kv_heads=4",
                                 "model.experts=8",
                                 "model.dense_layers=1",
                                 "model.experts_per_token=2",
                                 "model.expert_intermediate_size=32",
                                 "model.shared_intermediate_size=64",
                                 NULL};
  for (const char *const *key = latents; latent && *key != NULL; key++)
    CU_ASSERT_TRUE(conf_settings_set(settings, *key, NULL));
  if (strcmp(model_family_names[family], "gptj") == 0)
    CU_ASSERT_TRUE(conf_settings_set(settings, "model.rotary_dim=8", NULL));
  if (strcmp(model_family_names[family], "llama4") == 0)
    CU_ASSERT_TRUE(conf_settings_set(settings, "model.expert_intermediate_size=32", NULL));
  if (model_has(model_family_traits(family), MODEL_ENCODED)) {
    CU_ASSERT_TRUE(conf_settings_set(settings, "model.encoder_layers=2", NULL));
    CU_ASSERT_TRUE(conf_settings_set(settings, "model.kv_heads=4", NULL));
  }
  ModelShape shape = {0};
  GError *error = NULL;
  if (!model_shape_load(settings, &shape, &error)) {
    printf("\n    %s\n", error->message);
    CU_FAIL("a family that should be taken");
    g_clear_error(&error);
  }
  return shape;
}

/* A decoder beside an encoder has eager attention alone, in 16 or 32 bits, and projections of their own. */
static gboolean is_possible(const ModelShape *shape, const ModelRecipe *recipe) {
  return shape->encoder_layers == 0 ||
         (recipe->attention == MODEL_ATTENTION_EAGER && recipe->kernels != MODEL_KERNELS_FUSED &&
          recipe->precision != MODEL_FP8 && recipe->projections == MODEL_PROJECTIONS_SEPARATE);
}

/* All ways to build units that families differ in. */
static void for_families(void (*property)(const ModelShape *shape, const ModelRecipe *recipe)) {
  for (int family = 0; model_family_names[family] != NULL; family++) {
    ModelShape shape = of_family(family);
    CU_ASSERT_STRING_EQUAL(model_family_names[family], model_family_row(family)->name);
    for (int way = 0; way < 48; way++) {
      ModelRecipe recipe = {.sequence_length = 128,
                            .kernels = way % 3,
                            .projections = way / 3 % 2,
                            .attention = way / 6 % 2,
                            .precision = way / 12 % 2 == 0 ? MODEL_BF16 : MODEL_FP32,
                            .dropout = way / 24 % 2 == 0 ? 0 : 0.1,
                            .decoder_length = shape.encoder_layers > 0 ? 64 : 0};
      if (!is_possible(&shape, &recipe))
        continue;
      property(&shape, &recipe);
      if (recipe.kernels != MODEL_KERNELS_EAGER && recipe.precision == MODEL_BF16) {
        recipe.precision = MODEL_FP8;
        if (is_possible(&shape, &recipe))
          property(&shape, &recipe);
      }
    }
    model_shape_clear(&shape);
  }
}

static guint tensors_most, ops_most;

/* 2 FLOPs per token and weight that works on it (arXiv 2001.08361, section 2.1), attention apart: matrices of layers
 * and head, of the experts' as many as a token is given to. Tables and norms have none; nor has a tied head's matrix
 * any elements of its own. */
static double weights_at_work(const ModelShape *shape, const ModelUnit *unit) {
  static const char *const no_matrix[] = {"norm", "embed_", "bias", "sinks", NULL};
  double weights = 0;
  for (guint p = 0; p < unit->n_parameters; p++) {
    gboolean matrix = TRUE;
    for (const char *const *name = no_matrix; *name != NULL; name++)
      matrix &= strstr(unit->parameters[p].name, *name) == NULL;
    double part = unit->parameters[p].expert ? (double)shape->experts_per_token / (double)shape->experts : 1;
    weights += matrix ? part * (double)unit->parameters[p].elements : 0;
  }
  return weights;
}

static void flops_by_weights(const ModelShape *shape, const ModelRecipe *recipe) {
  if (recipe->attention == MODEL_ATTENTION_EAGER ||
      model_has(model_shape_traits(shape), MODEL_PATCHES | MODEL_ONE_TOKEN))
    return;
  for (guint64 u = 0; u < shape->layers + 2; u++) {
    g_autoptr(ModelUnit) unit = model_unit_new(shape, recipe, 2, model_unit_kind_of(shape, u));
    double forward = 0, tokens = 2 * 128;
    for (guint i = 0; i < unit->n_forward; i++)
      forward += unit->forward[i].kernel->kind == KERNEL_MATMUL ? unit->forward[i].nominal_flops : 0;
    CU_ASSERT_DOUBLE_EQUAL(forward, 2 * tokens * weights_at_work(shape, unit), 1e-9 * forward);
  }
}

static void flops_are_two_per_weight(void) {
  for_families(flops_by_weights);
}

static void units_of_family(const ModelShape *shape, const ModelRecipe *recipe) {
  guint64 elements = 0;
  for (guint64 u = 0; u < model_units_of(shape, FALSE); u++) {
    g_autoptr(ModelUnit) unit = model_unit_new(shape, recipe, 2, model_unit_kind_of(shape, u));
    masks_check(unit);
    masks_check_gradients(unit);
    elements += model_unit_elements(unit);
    tensors_most = MAX(tensors_most, unit->n_tensors);
    ops_most = MAX(ops_most, MAX(unit->n_forward, unit->n_backward));
    double forward = 0, backward = 0;
    for (guint i = 0; i < unit->n_forward; i++)
      forward += unit->forward[i].kernel->kind == KERNEL_MATMUL ? unit->forward[i].kernel->flops : 0;
    for (guint i = 0; i < unit->n_backward; i++)
      backward += unit->backward[i].kernel->kind == KERNEL_MATMUL ? unit->backward[i].kernel->flops : 0;
    gboolean pixels = unit->kind == MODEL_UNIT_EMBEDDING; /* which have no gradient */
    CU_ASSERT_DOUBLE_EQUAL(backward, (pixels ? 1 : 2) * forward, 1e-9 * forward);
  }
  guint64 corrections = 0; /* which no gradient moves, and no unit has */
  for (guint64 layer = 0; layer < shape->layers; layer++)
    if (model_has(model_shape_traits(shape), MODEL_EXPERT_BIAS) && !model_shape_layer_is_dense(shape, layer))
      corrections += shape->experts;
  if (elements + corrections != model_shape_parameters(shape))
    printf("\n    %s\n", shape->name);
  CU_ASSERT_EQUAL(elements + corrections, model_shape_parameters(shape));
}

static void every_family_is_consistent(void) {
  for_families(units_of_family);
  printf("at most %u tensors, %u operations ... ", tensors_most, ops_most);
  CU_ASSERT_TRUE(tensors_most <= MODEL_TENSORS_MOST);
}

/* One layer's attention, both ways. */
static ModelCost attention_of(const ModelShape *shape, guint64 sequence, ModelUnitKind kind) {
  ModelRecipe recipe = {.sequence_length = sequence};
  g_autoptr(ModelUnit) unit = model_unit_new(shape, &recipe, 1, kind);
  ModelCost cost = {0};
  for (guint i = 0; i < unit->n_forward; i++)
    if (unit->forward[i].kernel->kind == KERNEL_ATTENTION)
      cost = model_op_cost(&unit->forward[i]);
  return cost;
}

/* q · kᵀ and p · v, 2 q each per pair. A window w of s tokens lets w s - w² / 2 pairs through, chunks s w / 2, all of
 * them s² / 2 (mistral's paper, arXiv 2310.06825, figure 1); what counts for the model is twice that, as of the whole
 * sequence. An encoder's tokens see all s². */
static void attention_goes_by_its_window(void) {
  ModelShape shape = {.family = MODEL_LLAMA,
                      .layers = 2,
                      .hidden_size = 256,
                      .heads = 4,
                      .kv_heads = 4,
                      .head_dim = 64,
                      .intermediate_size = 64,
                      .vocab_size = 10,
                      .sliding_window = 128,
                      .full_every = 2};
  double q = 256, s = 1024, w = 128;
  ModelCost windowed = attention_of(&shape, 1024, MODEL_UNIT_LAYER),
            full = attention_of(&shape, 1024, MODEL_UNIT_LAYER_FULL);
  CU_ASSERT_EQUAL(windowed.flops, 4 * q * (w * s - w * w / 2));
  CU_ASSERT_EQUAL(windowed.nominal_flops, 2 * windowed.flops);
  CU_ASSERT_EQUAL(full.flops, 4 * q * s * s / 2);
  CU_ASSERT_EQUAL(full.nominal_flops, 4 * q * s * s);
  shape.traits = MODEL_CHUNKED;
  CU_ASSERT_EQUAL(attention_of(&shape, 1024, MODEL_UNIT_LAYER).flops, 4 * q * s * w / 2);
  shape.traits = MODEL_BIDIRECTIONAL;
  shape.sliding_window = 0;
  CU_ASSERT_EQUAL(attention_of(&shape, 1024, MODEL_UNIT_LAYER).flops, 4 * q * s * s);
  CU_ASSERT_EQUAL(attention_of(&shape, 1024, MODEL_UNIT_LAYER).nominal_flops, 4 * q * s * s);
}

int main(void) {
  return harness_run("model-family", (HarnessCase[]){{"counts published models", counts_published_models},
                                                     {"counts active parameters", counts_active_parameters},
                                                     {"tells layers apart", tells_layers_apart},
                                                     {"says what it takes", says_what_it_takes},
                                                     {"every family is consistent", every_family_is_consistent},
                                                     {"FLOPs are two per weight", flops_are_two_per_weight},
                                                     {"attention goes by its window", attention_goes_by_its_window},
                                                     {NULL, NULL}});
}
