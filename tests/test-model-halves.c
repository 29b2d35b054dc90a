/* SPDX-License-Identifier: MIT */
/* Backward in two passes: together they cost what it costs, and weights read what is still there. */
#include <string.h>

#include "harness.h"
#include "kernel-op.h"
#include "model-halves.h"

static const ModelShape shape = {.family = MODEL_LLAMA,
                                 .layers = 2,
                                 .hidden_size = 512,
                                 .heads = 8,
                                 .kv_heads = 4,
                                 .head_dim = 64,
                                 .intermediate_size = 1024,
                                 .vocab_size = 1000};

static ModelRecipe recipe_of(GRand *random) {
  ModelRecipe recipe = {.sequence_length = 64, .precision = MODEL_BF16};
  recipe.attention = g_rand_boolean(random) ? MODEL_ATTENTION_FLASH : MODEL_ATTENTION_EAGER;
  recipe.share.tensor = 1u << g_rand_int_range(random, 0, 3);
  recipe.share.sequence_parallel = recipe.share.tensor > 1 && g_rand_boolean(random);
  recipe.share.async_gradient = g_rand_boolean(random);
  recipe.share.gathers_again = recipe.share.sequence_parallel && g_rand_boolean(random);
  return recipe;
}

typedef struct {
  double flops;
  guint64 bytes, exchanged, launches;
  guint gradients;
} Sum;

static void add(Sum *sum, const ModelOp *ops, guint n) {
  for (guint i = 0; i < n; i++) {
    sum->flops += model_op_cost(&ops[i]).flops;
    sum->bytes += ops[i].kernel->bytes;
    sum->launches += ops[i].kernel->launches;
    sum->exchanged += ops[i].exchange.kind != MODEL_EXCHANGE_NONE ? ops[i].exchange.bytes : 0;
    sum->gradients += (ops[i].gradient_of >= 0) + (ops[i].also_gradient_of >= 0);
  }
}

/* No gradient of a weight comes in the pass for inputs; all come in the other. */
static void they_add_up(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 60; i++) {
    ModelRecipe recipe = recipe_of(random);
    ModelUnitKind kind = (ModelUnitKind)g_rand_int_range(random, 0, MODEL_UNIT_KINDS);
    g_autoptr(ModelUnit) unit = model_unit_new(&shape, &recipe, 2, kind);
    g_autoptr(ModelHalves) halves = model_halves_new(&shape, &recipe, 2, unit);
    Sum whole = {0}, inputs = {0}, both = {0};
    add(&whole, unit->backward, unit->n_backward);
    add(&inputs, halves->inputs, halves->n_inputs);
    add(&both, halves->inputs, halves->n_inputs);
    add(&both, halves->weights, halves->n_weights);
    CU_ASSERT_EQUAL(whole.flops, both.flops);
    CU_ASSERT_EQUAL(whole.bytes, both.bytes);
    CU_ASSERT_EQUAL(whole.launches, both.launches);
    CU_ASSERT_EQUAL(whole.exchanged, both.exchanged);
    CU_ASSERT_EQUAL(whole.gradients, both.gradients);
    CU_ASSERT_EQUAL(inputs.gradients, 0);
  }
}

/* Seven matmuls of a layer forward, of T · (2·512·512 + 2·512·256 + 3·512·1024) multiplications at T = 128 tokens: the
 * pass for weights makes as many, the pass for inputs too, and attention's beside. */
static void weights_are_half_of_the_matmuls(void) {
  ModelRecipe recipe = {.sequence_length = 64, .precision = MODEL_BF16};
  g_autoptr(ModelUnit) unit = model_unit_new(&shape, &recipe, 2, MODEL_UNIT_LAYER);
  g_autoptr(ModelHalves) halves = model_halves_new(&shape, &recipe, 2, unit);
  Sum weights = {0}, inputs = {0};
  add(&weights, halves->weights, halves->n_weights);
  add(&inputs, halves->inputs, halves->n_inputs);
  double linear = 2.0 * 128 * (2 * 512 * 512 + 2 * 512 * 256 + 3 * 512 * 1024);
  CU_ASSERT_EQUAL(weights.flops, linear);
  CU_ASSERT_TRUE(inputs.flops > linear);
  CU_ASSERT_EQUAL(weights.gradients, 9);
}

/* What the pass for weights reads forward has saved, or a pass has written; the embedding has nothing but weights, the
 * head begins with the loss. */
static void weights_read_what_is_there(void) {
  for (ModelUnitKind kind = 0; kind < MODEL_UNIT_KINDS; kind++) {
    ModelRecipe recipe = {.sequence_length = 64, .precision = MODEL_BF16};
    g_autoptr(ModelUnit) unit = model_unit_new(&shape, &recipe, 2, kind);
    g_autoptr(ModelHalves) halves = model_halves_new(&shape, &recipe, 2, unit);
    ModelSet there = 0;
    for (guint i = 0; i < unit->n_forward; i++)
      there |= unit->forward[i].saves;
    for (guint t = 0; t < unit->n_tensors; t++)
      there |= unit->tensors[t].role == MODEL_TENSOR_GRAD_OUTPUT ? model_set_of(t) : 0;
    for (guint i = 0; i < halves->n_inputs; i++)
      there |= halves->inputs[i].writes;
    for (guint i = 0; i < halves->n_weights; i++) {
      there |= halves->weights[i].writes;
      CU_ASSERT_EQUAL(halves->weights[i].reads & ~there, 0);
    }
    CU_ASSERT_EQUAL(halves->n_inputs == 0, kind == MODEL_UNIT_EMBEDDING);
  }
}

int main(void) {
  return harness_run("model-halves",
                     (HarnessCase[]){{"they add up", they_add_up},
                                     {"weights are half of the matmuls", weights_are_half_of_the_matmuls},
                                     {"weights read what is there", weights_read_what_is_there},
                                     {NULL, NULL}});
}
