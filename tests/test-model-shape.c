/* SPDX-License-Identifier: MIT */
/* Shapes: exact parameter counts from config.json and from keys, what its absences mean, what is refused. */
#include "harness.h"
#include "model-recipe.h"
#include "model-shape.h"
#include "shape-case.h"

/* The counts of the published checkpoints, by their safetensors files. */
static const struct {
  const char *json;
  guint64 parameters;
} published[] = {
    /* Llama 3 70B, and Llama 3.1 405B with its rope scaling, which counts nothing. */
    {"{'model_type': 'llama', 'hidden_size': 8192, 'intermediate_size': 28672, 'num_attention_heads': 64,"
     " 'num_hidden_layers': 80, 'num_key_value_heads': 8, 'vocab_size': 128256, 'tie_word_embeddings': false}",
     70553706496},
    {"{'model_type': 'llama', 'hidden_size': 16384, 'intermediate_size': 53248, 'num_attention_heads': 128,"
     " 'num_hidden_layers': 126, 'num_key_value_heads': 8, 'vocab_size': 128256, 'attention_bias': false,"
     " 'mlp_bias': false, 'rope_scaling': {'factor': 8.0, 'rope_type': 'llama3'}, 'torch_dtype': 'bfloat16'}",
     405853388800},
    /* Llama 3.2 1B and 3B: tied by the key, head_dim stated. */
    {"{'model_type': 'llama', 'hidden_size': 2048, 'intermediate_size': 8192, 'num_attention_heads': 32, 'head_dim': "
     "64,"
     " 'num_hidden_layers': 16, 'num_key_value_heads': 8, 'vocab_size': 128256, 'tie_word_embeddings': true}",
     1235814400},
    {"{'model_type': 'llama', 'hidden_size': 3072, 'intermediate_size': 8192, 'num_attention_heads': 24, 'head_dim': "
     "128,"
     " 'num_hidden_layers': 28, 'num_key_value_heads': 8, 'vocab_size': 128256, 'tie_word_embeddings': true}",
     3212749824},
    /* Qwen2.5 0.5B, 1.5B (tied) and 7B (not): biases on q, k and v that no key mentions; a window that is switched off.
     */
    {"{'model_type': 'qwen2', 'hidden_size': 896, 'intermediate_size': 4864, 'num_attention_heads': 14,"
     " 'num_hidden_layers': 24, 'num_key_value_heads': 2, 'vocab_size': 151936, 'tie_word_embeddings': true}",
     494032768},
    {"{'model_type': 'qwen2', 'hidden_size': 1536, 'intermediate_size': 8960, 'num_attention_heads': 12,"
     " 'num_hidden_layers': 28, 'num_key_value_heads': 2, 'vocab_size': 151936, 'tie_word_embeddings': true,"
     " 'sliding_window': 131072, 'use_sliding_window': false, 'max_window_layers': 28}",
     1543714304},
    {"{'model_type': 'qwen2', 'hidden_size': 3584, 'intermediate_size': 18944, 'num_attention_heads': 28,"
     " 'num_hidden_layers': 28, 'num_key_value_heads': 4, 'vocab_size': 152064, 'tie_word_embeddings': false}",
     7615616512},
    /* Qwen3 8B, 32B and 1.7B (tied): norms of queries and keys that no key mentions, a head_dim of 128 whether stated
     * or not. */
    {"{'model_type': 'qwen3', 'hidden_size': 4096, 'intermediate_size': 12288, 'num_attention_heads': 32, 'head_dim': "
     "128, 'num_hidden_layers': 36, 'num_key_value_heads': 8, 'vocab_size': 151936, 'tie_word_embeddings': false,"
     " 'attention_bias': false, 'sliding_window': null, 'use_sliding_window': false, 'max_window_layers': 36}",
     8190735360},
    {"{'model_type': 'qwen3', 'hidden_size': 5120, 'intermediate_size': 25600, 'num_attention_heads': 64,"
     " 'num_hidden_layers': 64, 'num_key_value_heads': 8, 'vocab_size': 151936, 'tie_word_embeddings': false}",
     32762123264},
    {"{'model_type': 'qwen3', 'hidden_size': 2048, 'intermediate_size': 6144, 'num_attention_heads': 16,"
     " 'num_hidden_layers': 28, 'num_key_value_heads': 8, 'vocab_size': 151936, 'tie_word_embeddings': true}",
     1720574976},
    /* Phi-3.5-mini: as llama, with a window that its longest sequence does not reach. */
    {"{'model_type': 'phi3', 'hidden_size': 3072, 'intermediate_size': 8192, 'num_attention_heads': 32,"
     " 'num_hidden_layers': 32, 'num_key_value_heads': 32, 'vocab_size': 32064, 'tie_word_embeddings': false,"
     " 'sliding_window': 262144}",
     3821079552},
    /* GPT-2 small and medium: tied with no key saying so, n_inner absent or null. */
    {"{'model_type': 'gpt2', 'n_embd': 768, 'n_head': 12, 'n_layer': 12, 'n_positions': 1024, 'n_ctx': 1024,"
     " 'vocab_size': 50257, 'activation_function': 'gelu_new', 'resid_pdrop': 0.1}",
     124439808},
    {"{'model_type': 'gpt2', 'n_embd': 1024, 'n_head': 16, 'n_layer': 24, 'n_positions': 1024, 'n_inner': null,"
     " 'vocab_size': 50257}",
     354823168},
};

static void counts_published_models(void) {
  for (gsize i = 0; i < G_N_ELEMENTS(published); i++) {
    ModelShape shape = shape_case_load(published[i].json, NULL);
    CU_ASSERT_EQUAL(model_shape_parameters(&shape), published[i].parameters);
    CU_ASSERT_STRING_EQUAL(shape.name, "some-model");
    model_shape_clear(&shape);
  }
}

static void counts_workload_models(void) {
  static const struct {
    const char *name;
    guint64 parameters;
  } models[] = {{"llama-2-7b", 6738415616},       {"llama-2-70b", 68976648192},  {"llama-3-8b", 8030261248},
                {"mistral-7b", 7241732096},       {"gpt2-xl", 1557611200},       {"llama-3-70b", 70553706496},
                {"llama-3.1-405b", 405853388800}, {"qwen3-32b", 32762123264},    {"mixtral-8x7b", 46702792704},
                {"qwen3-30b-a3b", 30532122624},   {"deepseek-v3", 671026419200}, {"gpt-oss-20b", 20914757184},
                {"gpt-oss-120b", 116829156672}};
  for (gsize i = 0; i < G_N_ELEMENTS(models); i++) {
    g_autofree char *relative = g_strdup_printf("workloads/models/%s.json", models[i].name);
    g_autofree char *path = harness_path(relative), *config = g_strconcat("model.config=", path, NULL);
    g_autoptr(ConfSettings) settings = shape_case_settings((const char *const[]){config, NULL});
    ModelShape shape = {0};
    CU_ASSERT_TRUE(model_shape_load(settings, &shape, NULL));
    CU_ASSERT_EQUAL(model_shape_parameters(&shape), models[i].parameters);
    CU_ASSERT_STRING_EQUAL(shape.name, models[i].name);
    model_shape_clear(&shape);
  }
}

#define LLAMA_REST                                                                                                     \
  "\"hidden_size\": 64, \"intermediate_size\": 160, \"num_attention_heads\": 4, \"num_hidden_layers\": 2, "            \
  "\"vocab_size\": 100"
#define LLAMA "{\"model_type\": \"llama\", " LLAMA_REST
#define GPT2                                                                                                           \
  "{\"model_type\": \"gpt2\", \"n_embd\": 64, \"n_head\": 4, \"n_layer\": 2, \"vocab_size\": 100, \"n_positions\": 32"

static void reads_absences(void) {
  ModelShape shape = shape_case_load(LLAMA ", \"head_dim\": null}", NULL);
  CU_ASSERT_EQUAL(shape.kv_heads, 4); /* multi-head */
  CU_ASSERT_EQUAL(shape.head_dim, 16);
  CU_ASSERT_EQUAL(shape.sliding_window, 0);
  CU_ASSERT_FALSE(shape.tied_embeddings);
  CU_ASSERT_FALSE(model_has(shape.traits, MODEL_QKV_BIAS));
  model_shape_clear(&shape);

  shape = shape_case_load(LLAMA ", \"num_key_value_heads\": null, \"head_dim\": 32, \"sliding_window\": 7}", NULL);
  CU_ASSERT_EQUAL(shape.kv_heads, 4);
  CU_ASSERT_EQUAL(shape.head_dim, 32);
  CU_ASSERT_EQUAL(shape.sliding_window, 0); /* LlamaConfig has no such key */
  model_shape_clear(&shape);

  /* MistralConfig: 8 key and value heads and a window of 4096 where nothing is said; null switches the window off. */
  shape =
      shape_case_load("{\"model_type\": \"mistral\", " LLAMA_REST "}", (const char *const[]){"model.heads=16", NULL});
  CU_ASSERT_EQUAL(shape.kv_heads, 8);
  CU_ASSERT_EQUAL(shape.sliding_window, 4096);
  model_shape_clear(&shape);
  shape = shape_case_load(
      "{\"model_type\": \"mistral\", " LLAMA_REST ", \"num_key_value_heads\": 2, \"sliding_window\": null}", NULL);
  CU_ASSERT_EQUAL(shape.sliding_window, 0);
  model_shape_clear(&shape);
  shape = shape_case_load("{\"model_type\": \"qwen2\", " LLAMA_REST
                          ", \"num_key_value_heads\": 2, \"use_sliding_window\": true,"
                          " \"sliding_window\": 512}",
                          NULL);
  CU_ASSERT_EQUAL(shape.sliding_window, 512);
  CU_ASSERT_TRUE(model_has(shape.traits, MODEL_QKV_BIAS));
  model_shape_clear(&shape);

  shape = shape_case_load(GPT2 "}", NULL);
  CU_ASSERT_EQUAL(shape.intermediate_size, 256);
  CU_ASSERT_EQUAL(shape.max_positions, 32);
  CU_ASSERT_TRUE(shape.tied_embeddings);
  model_shape_clear(&shape);
  shape = shape_case_load(
      "{\"model_type\": \"gpt2\", \"hidden_size\": 64, \"num_attention_heads\": 4, \"num_hidden_layers\": 2,"
      " \"vocab_size\": 100, \"max_position_embeddings\": 32, \"n_inner\": 80, \"tie_word_embeddings\": false}",
      NULL);
  CU_ASSERT_EQUAL(shape.intermediate_size, 80);
  CU_ASSERT_FALSE(shape.tied_embeddings);
  model_shape_clear(&shape);
}

/* A key beside config wins, and what follows from it is worked out anew. */
static void expect_dropout(const char *json, double dropout) {
  ModelShape shape = shape_case_load(json, NULL);
  CU_ASSERT_EQUAL(shape.dropout, dropout);
  model_shape_clear(&shape);
}

/* GPT2Config drops a tenth everywhere unless it says otherwise; LlamaConfig has attention's alone, none by default. */
static void reads_dropout(void) {
  expect_dropout(GPT2 "}", 0.1);
  expect_dropout(GPT2 ", \"attn_pdrop\": 0, \"resid_pdrop\": 0, \"embd_pdrop\": 0}", 0);
  expect_dropout(GPT2 ", \"attn_pdrop\": 0, \"resid_pdrop\": 0.2, \"embd_pdrop\": 0.05}", 0.2);
  expect_dropout(LLAMA "}", 0);
  expect_dropout(LLAMA ", \"attention_dropout\": 0.3}", 0.3);
}

static void keys_override_config(void) {
  ModelShape shape = shape_case_load(
      LLAMA "}", (const char *const[]){"model.layers=3", "model.hidden_size=128", "model.tied_embeddings=yes", NULL});
  CU_ASSERT_EQUAL(shape.layers, 3);
  CU_ASSERT_EQUAL(shape.head_dim, 32);
  CU_ASSERT_TRUE(shape.tied_embeddings);
  /* 100 h + 3 (4 h² + 3 h 160 + 2 h) + h at h = 128. */
  CU_ASSERT_EQUAL(model_shape_parameters(&shape), 12800 + 3 * (65536 + 61440 + 256) + 128);
  model_shape_clear(&shape);
  shape = shape_case_load(GPT2 "}", (const char *const[]){"model.hidden_size=128", NULL});
  CU_ASSERT_EQUAL(shape.intermediate_size, 512);
  model_shape_clear(&shape);
}

/* The file's dropout is the training's where nothing else is said; gpt2's class has 0.1 where the file has none. */
static void trains_with_the_files_dropout(void) {
  static const struct {
    const char *json, *given;
    const char *expected;
  } cases[] = {
      {GPT2 ", \"resid_pdrop\": 0.25}", NULL, "0.25"},
      {GPT2 "}", NULL, "0.1"},
      {GPT2 ", \"resid_pdrop\": 0.25}", "training.dropout=0", "0"},
      {GPT2 ", \"resid_pdrop\": 0}", NULL, "0"},
      {LLAMA ", \"attention_dropout\": 0.5}", NULL, "0.5"},
      {LLAMA "}", NULL, "0"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    ModelShape shape = shape_case_load(cases[i].json, NULL);
    g_autoptr(ConfSettings) settings = shape_case_settings((const char *const[]){cases[i].given, NULL});
    CU_ASSERT_TRUE(model_shape_record_training(&shape, settings, NULL));
    CU_ASSERT_STRING_EQUAL(conf_settings_get(settings, "training.dropout"), cases[i].expected);
    model_shape_clear(&shape);
  }
}

static gboolean load_keys(const char *const *assignments, ModelShape *ret, GError **error) {
  g_autoptr(ConfSettings) settings = shape_case_settings(assignments);
  return model_shape_load(settings, ret, error);
}

/* A GPT by keys: V h + P h + L (h (q + 2 kv) + q h + 2 h f + biases q + 2 kv + h + f + h + two norms 4 h) + 2 h. */
static void reads_keys(void) {
  ModelShape shape = {0};
  CU_ASSERT_TRUE(load_keys((const char *const[]){"model.family=gpt", "model.layers=125", "model.hidden_size=8192",
                                                 "model.heads=64", "model.vocab_size=50257",
                                                 "training.sequence_length=1024", NULL},
                           &shape, NULL));
  guint64 h = 8192;
  CU_ASSERT_EQUAL(shape.max_positions, 1024);
  CU_ASSERT_TRUE(shape.tied_embeddings);
  CU_ASSERT_EQUAL(model_shape_parameters(&shape), (50257 + 1024) * h + 125 * (12 * h * h + 13 * h) + 2 * h);
  CU_ASSERT_STRING_EQUAL(shape.name, "gpt-125x8192");
  CU_ASSERT_PTR_NULL(shape.config);

  /* Loading into a shape that holds something frees it. */
  CU_ASSERT_TRUE(
      load_keys((const char *const[]){"model.family=llama", "model.layers=2", "model.hidden_size=64", "model.heads=4",
                                      "model.vocab_size=100", "model.intermediate_size=160", NULL},
                &shape, NULL));
  CU_ASSERT_FALSE(shape.tied_embeddings);
  CU_ASSERT_EQUAL(shape.max_positions, 0);
  CU_ASSERT_STRING_EQUAL(shape.name, "llama-2x64");
  model_shape_clear(&shape);
}

static void refuses_configs(void) {
  static const struct {
    const char *json, *fragment;
  } cases[] = {
      {"{\"model_type\": \"jamba\", " LLAMA_REST "}", "state-space layers"},
      {"{\"model_type\": \"mixtrall\", " LLAMA_REST "}", "mixtral"},
      {"{\"model_type\": \"gpt_neo\", " LLAMA_REST "}", "llama, gpt2, mistral, qwen2"},
      {"{\"model_type\": \"gpt_neo\", " LLAMA_REST "}", "model.family"},
      {"{" LLAMA_REST "}", "model_type"},
      {LLAMA ", \"quantization_config\": {\"quant_method\": \"gptq\"}}", "quantization_config"},
      {LLAMA ", \"num_local_experts\": 8}", "num_local_experts"},
      {LLAMA ", \"hidden_act\": \"relu\"}", "hidden_act"},
      {"{\"model_type\": \"gemma3\", \"text_config\": {" LLAMA_REST "}, \"vision_config\": {}}", "vision_config"},
      {"{\"model_type\": \"deepseek_v2\", " LLAMA_REST ", \"n_routed_experts\": 4, \"moe_layer_freq\": 2,"
       " \"num_experts_per_tok\": 2, \"moe_intermediate_size\": 32}",
       "moe_layer_freq"},
      {"{\"model_type\": \"mixtral\", " LLAMA_REST ", \"num_key_value_heads\": 2, \"num_experts_per_tok\": 9}",
       "experts_per_tok"},
      {LLAMA ", \"num_key_value_heads\": 3}", "num_key_value_heads"},
      {LLAMA ", \"num_key_value_heads\": 0}", "num_key_value_heads"},
      {GPT2 ", \"activation_function\": \"maxout\"}", "activation_function"},
      {GPT2 ", \"add_cross_attention\": true}", "add_cross_attention"},
      {"{\"model_type\": \"gpt2\", \"n_embd\": 65, \"n_head\": 4, \"n_layer\": 2, \"vocab_size\": 9, \"n_positions\": "
       "3}",
       "n_head"},
      {"{\"model_type\": \"gpt2\", \"n_embd\": 64, \"n_head\": 4, \"vocab_size\": 9, \"n_positions\": 3}", "n_layer"},
      {"{\"model_type\": \"gpt2\", \"n_embd\": 64, \"n_head\": 4, \"n_layer\": null, \"vocab_size\": 9, "
       "\"n_positions\": 3}",
       "n_layer"},
      {LLAMA ", \"head_dim\": 5000}", "at most 4096"},
      {"{\"model_type\": \"llama\", \"hidden_size\": \"wide\"}", "hidden_size"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    ModelShape shape = {0};
    GError *error = NULL;
    HARNESS_FAILS(shape_case_try(cases[i].json, NULL, &shape, &error), error, cases[i].fragment);
    CU_ASSERT_PTR_NULL(shape.name);
  }
}

static void refuses_keys(void) {
  ModelShape shape = {0};
  GError *error = NULL;
  HARNESS_FAILS(load_keys(NULL, &shape, &error), error, "model.family");
  HARNESS_FAILS(load_keys((const char *const[]){"model.family=llama", "model.layers=2", "model.hidden_size=64",
                                                "model.heads=4", "model.vocab_size=100", NULL},
                          &shape, &error),
                error, "model.intermediate_size");
  HARNESS_FAILS(load_keys((const char *const[]){"model.family=gpt", "model.layers=2", "model.hidden_size=64",
                                                "model.heads=4", "model.vocab_size=100", NULL},
                          &shape, &error),
                error, "model.max_positions");
  HARNESS_FAILS(load_keys((const char *const[]){"model.family=gpt", "model.layers=2", "model.hidden_size=64",
                                                "model.heads=5", "model.vocab_size=100", "model.max_positions=9", NULL},
                          &shape, &error),
                error, "does not divide hidden_size 64");
  HARNESS_FAILS(
      load_keys((const char *const[]){"model.family=gpt", "model.layers=2", "model.hidden_size=64", "model.heads=4",
                                      "model.kv_heads=3", "model.vocab_size=100", "model.max_positions=9", NULL},
                &shape, &error),
      error, "does not divide heads 4");
  /* An override that breaks a file's shape is at fault itself. */
  HARNESS_FAILS(shape_case_try(LLAMA "}", (const char *const[]){"model.heads=3", NULL}, &shape, &error), error,
                "model.heads=3");
}

int main(void) {
  return harness_run("model-shape", (HarnessCase[]){{"counts published models", counts_published_models},
                                                    {"counts the workloads' models", counts_workload_models},
                                                    {"reads absences", reads_absences},
                                                    {"dropout", reads_dropout},
                                                    {"keys override config", keys_override_config},
                                                    {"trains with the file's dropout", trains_with_the_files_dropout},
                                                    {"reads keys", reads_keys},
                                                    {"refuses configs", refuses_configs},
                                                    {"refuses keys", refuses_keys},
                                                    {NULL, NULL}});
}
