/* SPDX-License-Identifier: MIT */
/* What is left of a unit when it is frozen. */
#include "harness.h"
#include "model-train.h"

static const ModelShape shape = {.family = MODEL_LLAMA,
                                 .layers = 2,
                                 .hidden_size = 128,
                                 .heads = 2,
                                 .kv_heads = 2,
                                 .head_dim = 64,
                                 .intermediate_size = 256,
                                 .vocab_size = 1000};

static ModelUnit *unit_of(ModelUnitKind kind, int attention, ModelTraining how) {
  ModelRecipe recipe = {.sequence_length = 64, .precision = MODEL_BF16, .attention = attention};
  ModelUnit *unit = model_unit_new(&shape, &recipe, 1, kind);
  model_unit_train(unit, how);
  return unit;
}

static ModelSet read_backward(const ModelUnit *unit) {
  ModelSet read = 0;
  for (guint i = 0; i < unit->n_backward; i++)
    read |= unit->backward[i].reads;
  return read;
}

/* Autograd keeps only what backward reads, and backward reads only what was kept, written in it, or handed in. */
static void keeps_what_is_read(void) {
  for (ModelUnitKind kind = 0; kind < MODEL_UNIT_KINDS; kind++)
    for (int attention = MODEL_ATTENTION_FLASH; attention <= MODEL_ATTENTION_EAGER; attention++)
      for (ModelTraining how = 0; how < MODEL_TRAININGS; how++) {
        g_autoptr(ModelUnit) unit = unit_of(kind, attention, how);
        ModelSet saved = 0, forward = 0, read = read_backward(unit);
        for (guint i = 0; i < unit->n_forward; i++) {
          saved |= unit->forward[i].saves;
          forward |= unit->forward[i].writes;
        }
        CU_ASSERT_EQUAL(saved & ~read, 0);
        CU_ASSERT_EQUAL(forward & read & ~saved, 0);
      }
}

/* A linear layer's backward is two matmuls of its forward's size: frozen, one is left; attention's stays as it is.
 * Layer of 64 tokens: linear forward 2 · 64 · (4 · 128² + 3 · 128 · 256) = 20 971 520. */
static void frozen_layers_skip_half_of_their_matmuls(void) {
  g_autoptr(ModelUnit) trained = unit_of(MODEL_UNIT_LAYER, MODEL_ATTENTION_FLASH, MODEL_TRAINED);
  g_autoptr(ModelUnit) frozen = unit_of(MODEL_UNIT_LAYER, MODEL_ATTENTION_FLASH, MODEL_FROZEN);
  g_autoptr(ModelUnit) below = unit_of(MODEL_UNIT_LAYER, MODEL_ATTENTION_FLASH, MODEL_FROZEN_BELOW);
  double saved = model_unit_backward_cost(trained).flops - model_unit_backward_cost(frozen).flops;
  CU_ASSERT_EQUAL(saved, 2.0 * 64 * (4 * 128 * 128 + 3 * 128 * 256));
  CU_ASSERT_TRUE(model_unit_saved_bytes(frozen) < model_unit_saved_bytes(trained));
  CU_ASSERT_EQUAL(below->n_backward, 0);
  CU_ASSERT_EQUAL(model_unit_saved_bytes(below), 0);
  for (guint i = 0; i < frozen->n_backward; i++)
    CU_ASSERT_TRUE(frozen->backward[i].gradient_of < 0 && frozen->backward[i].also_gradient_of < 0);
}

/* The lowest trained layer makes all its weights' gradients, but not its input's. */
static void the_first_has_no_gradient_to_hand_down(void) {
  g_autoptr(ModelUnit) trained = unit_of(MODEL_UNIT_LAYER, MODEL_ATTENTION_FLASH, MODEL_TRAINED);
  g_autoptr(ModelUnit) first = unit_of(MODEL_UNIT_LAYER, MODEL_ATTENTION_FLASH, MODEL_TRAINED_FIRST);
  guint gradients[2] = {0, 0};
  ModelSet down = 0;
  for (guint i = 0; i < trained->n_backward; i++)
    gradients[0] += trained->backward[i].gradient_of >= 0;
  for (guint i = 0; i < first->n_backward; i++) {
    gradients[1] += first->backward[i].gradient_of >= 0;
    for (guint t = 0; t < first->n_tensors; t++)
      if (first->tensors[t].role == MODEL_TENSOR_GRAD_INPUT)
        down |= first->backward[i].writes >> t & 1;
  }
  CU_ASSERT_EQUAL(gradients[0], gradients[1]);
  CU_ASSERT_EQUAL(down, 0);
  CU_ASSERT_TRUE(first->n_backward < trained->n_backward);
}

int main(void) {
  return harness_run(
      "model-train",
      (HarnessCase[]){{"keeps what is read", keeps_what_is_read},
                      {"frozen layers skip half of their matmuls", frozen_layers_skip_half_of_their_matmuls},
                      {"the first has no gradient to hand down", the_first_has_no_gradient_to_hand_down},
                      {NULL, NULL}});
}
