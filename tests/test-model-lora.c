/* SPDX-License-Identifier: MIT */
/* Adapters beside frozen projections: what is read, what a layer then computes, keeps and trains. */
#include <string.h>

#include "base-names.h"
#include "harness.h"
#include "model-train.h"

static void reads_ranks_and_targets(void) {
  ModelLora lora;
  CU_ASSERT_TRUE(model_lora_parse("lora:16", &lora, NULL));
  CU_ASSERT_EQUAL(lora.rank, 16);
  CU_ASSERT_TRUE(model_lora_adapts(&lora, "q_proj") && model_lora_adapts(&lora, "v_proj"));
  CU_ASSERT_TRUE(model_lora_adapts(&lora, "qkv_proj"));
  CU_ASSERT_FALSE(model_lora_adapts(&lora, "k_proj") || model_lora_adapts(&lora, "lm_head"));
  CU_ASSERT_TRUE(model_lora_fits(&lora, &(ModelShape){.family = MODEL_LLAMA}, NULL) &&
                 model_lora_fits(&lora, &(ModelShape){.family = MODEL_GPT}, NULL));
  CU_ASSERT_TRUE(model_lora_parse("lora:8:all-linear", &lora, NULL));
  CU_ASSERT_TRUE(model_lora_adapts(&lora, "down_proj") &&
                 model_lora_fits(&lora, &(ModelShape){.family = MODEL_GPT}, NULL));
  CU_ASSERT_FALSE(model_lora_adapts(&lora, "lm_head"));
  CU_ASSERT_TRUE(model_lora_parse("lora:8:o_proj+gate_proj", &lora, NULL));
  CU_ASSERT_TRUE(model_lora_adapts(&lora, "o_proj") && !model_lora_adapts(&lora, "q_proj"));
}

static void refuses(void) {
  static const struct {
    const char *text, *fragment;
  } wrong[] = {{"lora", "rank from 1"},       {"lora:", "rank from 1"},   {"lora:0", "rank from 1"},
               {"lora:65537", "rank from 1"}, {"lora:-1", "rank from 1"}, {"lora:8:q_prj", "did you mean \"q_proj\""},
               {"lora:8:", "no linear layer"}};
  for (gsize i = 0; i < G_N_ELEMENTS(wrong); i++) {
    ModelLora lora;
    g_autofree char *fault = NULL;
    CU_ASSERT_FALSE(model_lora_parse(wrong[i].text, &lora, &fault));
    CU_ASSERT_PTR_NOT_NULL_FATAL(fault);
    CU_ASSERT_PTR_NOT_NULL(strstr(fault, wrong[i].fragment));
  }
  ModelLora lora;
  g_autofree char *fault = NULL;
  CU_ASSERT_TRUE(model_lora_parse("lora:8:gate_proj", &lora, NULL));
  CU_ASSERT_FALSE(model_lora_fits(&lora, &(ModelShape){.family = MODEL_GPT}, &fault));
  CU_ASSERT_PTR_NOT_NULL(strstr(fault, "gate_proj"));

  /* Latent attention has neither q_proj nor v_proj, and of experts none is adapted. */
  g_autofree char *none = NULL;
  ModelShape latent = {.family = base_names_find(model_family_names, "deepseek_v3"), .experts = 8};
  CU_ASSERT_TRUE(model_lora_parse("lora:8", &lora, NULL));
  CU_ASSERT_FALSE(model_lora_fits(&lora, &latent, &none));
  CU_ASSERT_PTR_NOT_NULL(strstr(none, "o_proj"));
  CU_ASSERT_TRUE(model_lora_parse("lora:8:all-linear", &lora, NULL));
  CU_ASSERT_TRUE(model_lora_fits(&lora, &latent, NULL));
  CU_ASSERT_TRUE(model_lora_fits(&(ModelLora){0}, &latent, NULL));
}

static const ModelShape shape = {.family = MODEL_LLAMA,
                                 .layers = 2,
                                 .hidden_size = 128,
                                 .heads = 2,
                                 .kv_heads = 1,
                                 .head_dim = 64,
                                 .intermediate_size = 256,
                                 .vocab_size = 1000};

static ModelUnit *layer_of(const char *lora, int kernels, ModelTraining how) {
  ModelRecipe recipe = {.sequence_length = 64, .precision = MODEL_BF16, .kernels = kernels};
  if (lora != NULL)
    CU_ASSERT_TRUE(model_lora_parse(lora, &recipe.lora, NULL));
  ModelUnit *unit = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  model_unit_train(unit, how);
  return unit;
}

static guint64 trained(const ModelUnit *unit) {
  guint64 elements = 0;
  for (guint p = 0; p < unit->n_parameters; p++)
    elements += unit->parameters[p].frozen ? 0 : unit->parameters[p].elements;
  return elements;
}

/* A is r × in, B out × r: r (in + out) each. q: 128 to 128, v: 128 to 64; rank 4: 4 · (256 + 192). With all: q 256, k
 * and v 192 each, o 256, gate, up and down 384 each: 2048. */
static void counts_parameters(void) {
  g_autoptr(ModelUnit) usual = layer_of("lora:4", MODEL_KERNELS_FUSED, MODEL_TRAINED);
  g_autoptr(ModelUnit) every = layer_of("lora:4:all-linear", MODEL_KERNELS_FUSED, MODEL_TRAINED);
  CU_ASSERT_EQUAL(trained(usual), 4 * (256 + 192));
  CU_ASSERT_EQUAL(trained(every), 4 * 2048);
}

/* Of 64 tokens, 2 flops each. Forward: the layer's, and both of the adapter's matmuls, 2 · 64 · (elements of adapters)
 * more. Backward: of the layer only what flows through, one matmul of the forward's size; of the adapters both.
 * Attention's is the same. Linear elements: 128 · (128 + 64 + 64) + 128 · 128 + 3 · 128 · 256. */
static void computes_adapters_and_what_flows_through(void) {
  static const char *const ways[] = {"lora:4", "lora:4:all-linear"};
  g_autoptr(ModelUnit) plain = layer_of(NULL, MODEL_KERNELS_FUSED, MODEL_TRAINED);
  double linear = 2.0 * 64 * (128 * 256 + 128 * 128 + 3 * 128 * 256);
  for (gsize i = 0; i < G_N_ELEMENTS(ways); i++) {
    g_autoptr(ModelUnit) unit = layer_of(ways[i], MODEL_KERNELS_FUSED, MODEL_TRAINED);
    double adapters = 2.0 * 64 * (double)trained(unit);
    CU_ASSERT_EQUAL(model_unit_forward_cost(unit).flops, model_unit_forward_cost(plain).flops + adapters);
    CU_ASSERT_EQUAL(model_unit_backward_cost(unit).flops,
                    model_unit_backward_cost(plain).flops - linear + 2 * adapters);
  }
}

static gboolean keeps(const ModelUnit *unit, const char *name) {
  ModelSet saved = 0;
  for (guint i = 0; i < unit->n_forward; i++)
    saved |= unit->forward[i].saves;
  for (guint t = 0; t < unit->n_tensors; t++)
    if (strcmp(unit->tensors[t].name, name) == 0)
      return model_set_has(saved, t);
  return FALSE;
}

/* Inputs of frozen projections are not kept: o_proj's is attention's output, which attention keeps; down_proj's product
 * and the MLP's normed input go. What silu and the product read for their gradients stays. q and v's input stays for
 * their A, and A's output for B. Eager norms keep x in fp32, but not what only the weight's gradient needs. */
static void keeps_what_gradients_need(void) {
  g_autoptr(ModelUnit) usual = layer_of("lora:4", MODEL_KERNELS_EAGER, MODEL_TRAINED);
  static const char *const kept[] = {
      "normed", "q_proj.lora_narrow", "v_proj.lora_narrow", "q", "k", "v", "context", "gate", "up", "input_norm_fp32"};
  static const char *const gone[] = {"product",          "middle_normed",     "q_proj.base",
                                     "q_proj.lora_wide", "input_norm_scaled", "post_norm_scaled"};
  for (gsize i = 0; i < G_N_ELEMENTS(kept); i++)
    CU_ASSERT_TRUE(keeps(usual, kept[i]));
  for (gsize i = 0; i < G_N_ELEMENTS(gone); i++)
    CU_ASSERT_FALSE(keeps(usual, gone[i]));
  g_autoptr(ModelUnit) every = layer_of("lora:4:all-linear", MODEL_KERNELS_EAGER, MODEL_TRAINED);
  CU_ASSERT_TRUE(keeps(every, "product") && keeps(every, "middle_normed"));
}

static guint64 bytes_of(const ModelUnit *unit, const char *name) {
  for (guint t = 0; t < unit->n_tensors; t++)
    if (strcmp(unit->tensors[t].name, name) == 0)
      return unit->tensors[t].bytes;
  return 0;
}

static gboolean does(const ModelUnit *unit, const char *name) {
  gboolean found = FALSE;
  for (guint i = 0; i < unit->n_backward; i++)
    found |= strcmp(unit->backward[i].name, name) == 0;
  return found;
}

/* With dropout each adapter keeps what its A reads, 64 tokens of 128 in 16 bits, and a mask of a byte each, and nothing
 * keeps the layer's input any more; backward goes through it on its way to x. */
static void dropout_keeps_a_copy_for_each(void) {
  ModelRecipe recipe = {
      .sequence_length = 64, .precision = MODEL_BF16, .kernels = MODEL_KERNELS_EAGER, .lora_dropout = 0.05};
  CU_ASSERT_TRUE(model_lora_parse("lora:4", &recipe.lora, NULL));
  g_autoptr(ModelUnit) dropped = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  g_autoptr(ModelUnit) plain = layer_of("lora:4", MODEL_KERNELS_EAGER, MODEL_TRAINED);
  model_unit_train(dropped, MODEL_TRAINED);
  CU_ASSERT_TRUE(keeps(plain, "normed") && !keeps(dropped, "normed"));
  CU_ASSERT_TRUE(keeps(dropped, "q_proj.lora_dropped") && keeps(dropped, "v_proj.lora_dropped"));
  CU_ASSERT_TRUE(keeps(dropped, "q_proj.lora_mask") && keeps(dropped, "v_proj.lora_mask"));
  CU_ASSERT_EQUAL(bytes_of(dropped, "q_proj.lora_dropped"), 2 * 64 * 128);
  CU_ASSERT_EQUAL(bytes_of(dropped, "q_proj.lora_mask"), 64 * 128);
  CU_ASSERT_TRUE(does(dropped, "v_proj.lora_dropout.backward") && !does(plain, "v_proj.lora_dropout.backward"));
  CU_ASSERT_EQUAL(model_unit_forward_cost(dropped).flops, model_unit_forward_cost(plain).flops);
}

/* In the lowest layer nothing flows below the first adapters: no dgrad of q, k, v, none of A, no norm. */
static void the_lowest_layer_ends_at_its_adapters(void) {
  g_autoptr(ModelUnit) lowest = layer_of("lora:4", MODEL_KERNELS_EAGER, MODEL_TRAINED_FIRST);
  CU_ASSERT_TRUE(does(lowest, "q_proj.lora_A.wgrad") && does(lowest, "v_proj.lora_B.wgrad"));
  CU_ASSERT_TRUE(does(lowest, "o_proj.dgrad") && does(lowest, "post_norm.backward"));
  CU_ASSERT_FALSE(does(lowest, "q_proj.dgrad") || does(lowest, "k_proj.dgrad") || does(lowest, "q_proj.lora_A.dgrad"));
  CU_ASSERT_FALSE(does(lowest, "input_norm.backward") || does(lowest, "q_proj.wgrad"));
}

/* The masks hold together whatever the recipe: each tensor is written once, read after, and the widest layer fits the
 * sets. */
static void masks_hold_together(void) {
  guint most = 0;
  for (int family = MODEL_LLAMA; family <= MODEL_GPT; family++)
    for (int attention = MODEL_ATTENTION_FLASH; attention <= MODEL_ATTENTION_EAGER; attention++)
      for (int compiled = 0; compiled < 2; compiled++)
        for (ModelTraining how = MODEL_TRAINED; how <= MODEL_TRAINED_FIRST; how++) {
          ModelShape drawn = shape;
          ModelRecipe recipe = {.sequence_length = 64,
                                .attention = attention,
                                .dropout = 0.1,
                                .lora_dropout = 0.1,
                                .compiled = compiled,
                                .kernels = compiled ? MODEL_KERNELS_FUSED : MODEL_KERNELS_EAGER};
          drawn.family = family;
          drawn.traits = MODEL_QKV_BIAS;
          CU_ASSERT_TRUE(model_lora_parse("lora:4:all-linear", &recipe.lora, NULL));
          g_autoptr(ModelUnit) unit = model_unit_new(&drawn, &recipe, 1, MODEL_UNIT_LAYER);
          model_unit_train(unit, how);
          most = MAX(most, unit->n_tensors);
          ModelSet saved = 0, made = 0, alive = 0;
          for (guint t = 0; t < unit->n_tensors; t++)
            if (unit->tensors[t].role == MODEL_TENSOR_INPUT || unit->tensors[t].role == MODEL_TENSOR_GRAD_OUTPUT)
              alive |= model_set_of(t);
          for (guint i = 0; i < unit->n_forward; i++) {
            const ModelOp *op = &unit->forward[i];
            CU_ASSERT_EQUAL(op->reads & ~(alive | made | op->writes), 0);
            CU_ASSERT_EQUAL(op->writes & (alive | made), 0);
            made |= op->writes;
            saved |= op->saves;
          }
          made = saved;
          for (guint i = 0; i < unit->n_backward; i++) {
            const ModelOp *op = &unit->backward[i];
            CU_ASSERT_EQUAL(op->reads & ~(alive | made | op->writes), 0);
            CU_ASSERT_EQUAL(op->writes & (alive | made), 0);
            made |= op->writes;
          }
        }
  CU_ASSERT_TRUE(most > 64 && most <= MODEL_TENSORS_MOST);
}

/* Eight experts of 32 inside: gate and up from 128 to 32, down back, an A and a B of rank 4 of each; the base stays
 * frozen, and what adapters compute is 2 · rows · rank · (in + out) more, of 2 · 64 tokens given to 2 experts each. */
static void adapts_experts(void) {
  ModelShape mixed = shape, fused, beside;
  mixed.family = base_names_find(model_family_names, "mixtral");
  mixed.experts = 8;
  mixed.experts_per_token = 2;
  mixed.expert_intermediate_size = 32;
  ModelRecipe recipe = {.sequence_length = 64}, without = recipe;
  CU_ASSERT_TRUE(model_lora_parse("lora:4:gate_proj+up_proj+down_proj", &recipe.lora, NULL));
  CU_ASSERT_TRUE(model_lora_parse("lora:4:o_proj", &without.lora, NULL));
  CU_ASSERT_TRUE(model_lora_fits(&recipe.lora, &mixed, NULL));
  g_autoptr(ModelUnit) unit = model_unit_new(&mixed, &recipe, 2, MODEL_UNIT_LAYER);
  g_autoptr(ModelUnit) plain = model_unit_new(&mixed, &without, 2, MODEL_UNIT_LAYER);
  guint64 trained = 0;
  for (guint p = 0; p < unit->n_parameters; p++) {
    CU_ASSERT_TRUE(unit->parameters[p].frozen || unit->parameters[p].expert);
    trained += unit->parameters[p].frozen ? 0 : unit->parameters[p].elements;
  }
  CU_ASSERT_EQUAL(trained, 8 * 3 * 4 * (128 + 32));
  double rows = 2 * 64 * 2, adapters = 3 * 2 * rows * 4 * (128 + 32), other = 2 * 2 * 64 * 4.0 * (128 + 128);
  CU_ASSERT_EQUAL(model_unit_forward_cost(unit).flops - adapters, model_unit_forward_cost(plain).flops - other);
  model_unit_train(unit, MODEL_TRAINED);
  CU_ASSERT_FALSE(does(unit, "experts.gate_proj.wgrad"));
  CU_ASSERT_TRUE(does(unit, "experts.gate_proj.lora_A.wgrad") && does(unit, "experts.down_proj.lora_B.wgrad"));

  recipe.lora_dropout = 0.1;
  g_autoptr(ModelUnit) dropped = model_unit_new(&mixed, &recipe, 2, MODEL_UNIT_LAYER);
  model_unit_train(dropped, MODEL_TRAINED);
  CU_ASSERT_EQUAL(bytes_of(dropped, "experts.down_proj.lora_mask"), (guint64)rows * 32);
  CU_ASSERT_TRUE(keeps(dropped, "experts.gate_proj.lora_dropped") &&
                 does(dropped, "experts.up_proj.lora_dropout.backward"));

  g_autofree char *of_fused = NULL;
  g_autofree char *of_shared = NULL;
  fused = beside = mixed;
  fused.family = base_names_find(model_family_names, "gpt_oss");
  beside.shared_intermediate_size = 64;
  CU_ASSERT_FALSE(model_lora_fits(&recipe.lora, &fused, &of_fused));
  CU_ASSERT_PTR_NOT_NULL(strstr(of_fused, "target_parameters"));
  CU_ASSERT_FALSE(model_lora_fits(&recipe.lora, &beside, &of_shared));
  CU_ASSERT_PTR_NOT_NULL(strstr(of_shared, "beside shared ones"));
}

int main(void) {
  return harness_run(
      "model-lora",
      (HarnessCase[]){{"reads ranks and targets", reads_ranks_and_targets},
                      {"refuses", refuses},
                      {"counts parameters", counts_parameters},
                      {"computes adapters and what flows through", computes_adapters_and_what_flows_through},
                      {"keeps what gradients need", keeps_what_gradients_need},
                      {"dropout keeps a copy for each", dropout_keeps_a_copy_for_each},
                      {"the lowest layer ends at its adapters", the_lowest_layer_ends_at_its_adapters},
                      {"masks hold together", masks_hold_together},
                      {"adapts experts", adapts_experts},
                      {NULL, NULL}});
}
