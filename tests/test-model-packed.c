/* SPDX-License-Identifier: MIT */
/* Weights in 4 bits: what they take, what a layer then reads and makes, and that adapters alone are trained. */
#include <string.h>

#include "harness.h"
#include "kernel-op.h"
#include "model-masks.h"
#include "model-train.h"

#define WIDTH  4096
#define INSIDE 14336
#define TOKENS 1024

static ModelUnit *layer_of(int base, double storage, int kernels, ModelUnitKind kind) {
  ModelShape shape = {.family = MODEL_LLAMA,
                      .layers = 2,
                      .hidden_size = WIDTH,
                      .heads = 32,
                      .kv_heads = 8,
                      .head_dim = 128,
                      .intermediate_size = INSIDE,
                      .vocab_size = 128256};
  ModelRecipe recipe = {.sequence_length = TOKENS, .kernels = kernels, .base = base, .base_storage = storage};
  g_assert_true(model_lora_parse("lora:16:all-linear", &recipe.lora, NULL));
  return model_unit_new(&shape, &recipe, 1, kind);
}

/* Linear weights of a layer: 2 · 4 096² + 2 · 4 096 · 1 024 + 3 · 4 096 · 14 336 = 218 103 808. */
static const guint64 weights = (guint64)2 * WIDTH * WIDTH + 2 * WIDTH * 1024 + (guint64)3 * WIDTH * INSIDE;

/* Half a byte each, whatever type they are stored as. Maxima: 4 bytes for 64; double: a byte, and 4 for 256 of them. */
static void take_half_a_byte(void) {
  static const double storages[] = {2, 4};
  for (gsize i = 0; i < G_N_ELEMENTS(storages); i++) {
    g_autoptr(ModelUnit) layer = layer_of(MODEL_BASE_NF4, storages[i], MODEL_KERNELS_FUSED, MODEL_UNIT_LAYER);
    guint64 packed = 0, whole = 0, norms = 0;
    for (guint p = 0; p < layer->n_parameters; p++) {
      const ModelParameter *parameter = &layer->parameters[p];
      packed += parameter->packed ? parameter->elements : 0;
      whole += parameter->packed ? parameter->whole : 0;
      norms += parameter->uncast ? parameter->elements : 0;
      CU_ASSERT_TRUE(!parameter->packed || parameter->frozen);
      CU_ASSERT_EQUAL(parameter->packed, strstr(parameter->name, "proj.weight") != NULL);
    }
    CU_ASSERT_EQUAL(packed * (guint64)storages[i], weights / 2);
    CU_ASSERT_EQUAL(whole, weights);
    CU_ASSERT_EQUAL(model_unit_constants(layer), weights / 64 * 4);
    CU_ASSERT_EQUAL(model_unit_elements(layer), model_unit_cast_elements(layer) + norms + packed);
  }
  g_autoptr(ModelUnit) twice = layer_of(MODEL_BASE_NF4_DOUBLE, 0, MODEL_KERNELS_FUSED, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(model_unit_constants(twice), weights / 64 + weights / 64 / 256 * 4);
}

static void head_and_embedding_stay(void) {
  static const ModelUnitKind kinds[] = {MODEL_UNIT_EMBEDDING, MODEL_UNIT_HEAD};
  for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
    g_autoptr(ModelUnit) unit = layer_of(MODEL_BASE_NF4, 0, MODEL_KERNELS_FUSED, kinds[i]);
    CU_ASSERT_EQUAL(model_unit_constants(unit), 0);
    for (guint p = 0; p < unit->n_parameters; p++)
      CU_ASSERT_FALSE(unit->parameters[p].packed);
  }
}

static guint64 unpacked_bytes(const ModelOp *ops, guint n) {
  guint64 bytes = 0;
  for (guint i = 0; i < n; i++)
    bytes += strstr(ops[i].name, ".dequantise") != NULL ? ops[i].kernel->bytes : 0;
  return bytes;
}

/* Forward and backward each: half a byte and its part of the maximum in, two bytes out; double: beside that a byte and
 * 4/256 in and 4 out for each 64, then these 4 in and out again. */
static void are_made_whole_each_way(void) {
  g_autoptr(ModelUnit) once = layer_of(MODEL_BASE_NF4, 0, MODEL_KERNELS_FUSED, MODEL_UNIT_LAYER);
  g_autoptr(ModelUnit) twice = layer_of(MODEL_BASE_NF4_DOUBLE, 0, MODEL_KERNELS_FUSED, MODEL_UNIT_LAYER);
  guint64 single = weights / 2 + weights / 64 * 4 + weights * 2, blocks = weights / 64;
  CU_ASSERT_EQUAL(unpacked_bytes(once->forward, once->n_forward), single);
  CU_ASSERT_EQUAL(unpacked_bytes(once->backward, once->n_backward), single);
  CU_ASSERT_EQUAL(unpacked_bytes(twice->backward, twice->n_backward), single + blocks * (1 + 4 + 8) + blocks / 64);
}

/* int8: a byte each, an fp32 scale for each output (4 096 of q, o and down, 1 024 of k and v, 14 336 of gate and up);
 * forward makes no whole weight; backward casts it (1 in, 2 out) and scales it in place (2 in, 2 out). */
static void int8_is_whole_in_backward_alone(void) {
  g_autoptr(ModelUnit) layer = layer_of(MODEL_BASE_INT8, 0, MODEL_KERNELS_FUSED, MODEL_UNIT_LAYER);
  guint64 packed = 0, outputs = 3 * WIDTH + 2 * 1024 + 2 * INSIDE;
  for (guint p = 0; p < layer->n_parameters; p++)
    packed += layer->parameters[p].packed ? layer->parameters[p].elements : 0;
  CU_ASSERT_EQUAL(2 * packed, weights);
  CU_ASSERT_EQUAL(model_unit_constants(layer), 4 * outputs);
  CU_ASSERT_EQUAL(unpacked_bytes(layer->backward, layer->n_backward), 7 * weights);
  for (guint t = 0; t < layer->n_tensors; t++)
    for (guint i = 0; i < layer->n_forward; i++)
      CU_ASSERT_FALSE(model_set_has(layer->forward[i].writes, t) && strstr(layer->tensors[t].name, "weight_16bit"));
  masks_check(layer);
}

/* Matmuls are those of whole weights; no weight is kept for backward; each is there for one matmul alone. */
static void whole_weights_die_at_once(void) {
  g_autoptr(ModelUnit) full = layer_of(MODEL_BASE_FULL, 0, MODEL_KERNELS_FUSED, MODEL_UNIT_LAYER);
  g_autoptr(ModelUnit) packed = layer_of(MODEL_BASE_NF4, 0, MODEL_KERNELS_FUSED, MODEL_UNIT_LAYER);
  model_unit_train(full, MODEL_TRAINED);
  model_unit_train(packed, MODEL_TRAINED);
  CU_ASSERT_EQUAL(model_unit_forward_cost(packed).flops, model_unit_forward_cost(full).flops);
  CU_ASSERT_EQUAL(model_unit_backward_cost(packed).flops, model_unit_backward_cost(full).flops);
  CU_ASSERT_EQUAL(model_unit_saved_bytes(packed), model_unit_saved_bytes(full));
  for (guint t = 0; t < packed->n_tensors; t++) {
    guint readers = 0;
    for (guint i = 0; i < packed->n_forward; i++)
      readers += model_set_has(packed->forward[i].reads, t);
    for (guint i = 0; i < packed->n_backward; i++)
      readers += model_set_has(packed->backward[i].reads, t);
    CU_ASSERT_TRUE(strstr(packed->tensors[t].name, "weight_16bit") == NULL || readers == 1);
  }
}

/* The largest layer there is, each linear with an adapter, by separate kernels. */
static void masks_are_whole(void) {
  for (int kernels = MODEL_KERNELS_EAGER; kernels <= MODEL_KERNELS_NORMS; kernels++) {
    g_autoptr(ModelUnit) layer = layer_of(MODEL_BASE_NF4_DOUBLE, 0, kernels, MODEL_UNIT_LAYER);
    masks_check(layer);
  }
}

int main(void) {
  return harness_run("model-packed",
                     (HarnessCase[]){{"take half a byte", take_half_a_byte},
                                     {"head and embedding stay", head_and_embedding_stay},
                                     {"are made whole each way", are_made_whole_each_way},
                                     {"int8 is whole in backward alone", int8_is_whole_in_backward_alone},
                                     {"whole weights die at once", whole_weights_die_at_once},
                                     {"masks are whole", masks_are_whole},
                                     {NULL, NULL}});
}
