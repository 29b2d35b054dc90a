/* SPDX-License-Identifier: MIT */
/* Linear layers in fp8: which operations stand around their matmuls, what they move and what is kept. */
#include <string.h>

#include "harness.h"
#include "kernel-op.h"
#include "model-unit.h"

#define TOKENS 128

static ModelShape shape_of(guint64 intermediate) {
  return (ModelShape){.family = MODEL_LLAMA,
                      .layers = 1,
                      .hidden_size = 64,
                      .heads = 4,
                      .kv_heads = 2,
                      .head_dim = 16,
                      .intermediate_size = intermediate,
                      .vocab_size = 1024};
}

static ModelRecipe recipe_of(ModelKernels kernels) {
  return (ModelRecipe){.sequence_length = TOKENS, .precision = MODEL_FP8, .kernels = (int)kernels};
}

static const ModelOp *op_named(const ModelOp *ops, guint n, const char *name) {
  for (guint i = 0; i < n; i++)
    if (strcmp(ops[i].name, name) == 0)
      return &ops[i];
  g_error("no operation %s", name);
}

static guint ending(const ModelOp *ops, guint n, const char *end) {
  guint found = 0;
  for (guint i = 0; i < n; i++)
    found += g_str_has_suffix(ops[i].name, end);
  return found;
}

static KernelDtype dtype_of(const ModelUnit *unit, const char *name) {
  return op_named(unit->forward, unit->n_forward, name)->kernel->dtype;
}

/* Seven layers, four different inputs (of q, k, v; of o; of gate and up; of down): four casts of inputs and seven of
 * weights forward; backward seven casts of output gradients, seven of weights (turned), and turned copies of seven
 * gradients and four inputs. The attention and the head multiply in 16 bits. */
static void casts_what_it_multiplies(void) {
  ModelShape shape = shape_of(160);
  ModelRecipe recipe = recipe_of(MODEL_KERNELS_FUSED);
  g_autoptr(ModelUnit) layer = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(ending(layer->forward, layer->n_forward, ".cast_input"), 4);
  CU_ASSERT_EQUAL(ending(layer->forward, layer->n_forward, ".cast_weight"), 7);
  CU_ASSERT_EQUAL(ending(layer->backward, layer->n_backward, ".cast_gradient"), 7);
  CU_ASSERT_EQUAL(ending(layer->backward, layer->n_backward, ".cast_weight_turned"), 7);
  CU_ASSERT_EQUAL(ending(layer->backward, layer->n_backward, ".cast_gradient_turned"), 7);
  CU_ASSERT_EQUAL(ending(layer->backward, layer->n_backward, ".cast_input_turned"), 4);
  CU_ASSERT_EQUAL(dtype_of(layer, "q_proj"), KERNEL_FP8);
  CU_ASSERT_EQUAL(dtype_of(layer, "attention"), KERNEL_BF16);
  g_autoptr(ModelUnit) head = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_HEAD);
  CU_ASSERT_EQUAL(dtype_of(head, "lm_head"), KERNEL_BF16);
}

/* down_proj, 128 tokens, 160 to 64. Fused: a cast reads 2 bytes twice and writes one; turned copies read one and write
 * one; the matmul reads both operands in one byte and writes two. Eager: abs 2 + 2, its largest 2, to fp32 2 + 4,
 * scaled and clamped 4 + 4 each, cast 4 + 1: 33 bytes by six kernels. */
static void bytes(void) {
  ModelShape shape = shape_of(160);
  ModelRecipe recipe = recipe_of(MODEL_KERNELS_FUSED);
  g_autoptr(ModelUnit) layer = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  const ModelOp *forward = layer->forward, *backward = layer->backward;
  CU_ASSERT_EQUAL(op_named(forward, layer->n_forward, "down_proj.cast_input")->kernel->bytes, TOKENS * 160 * 5);
  CU_ASSERT_EQUAL(op_named(forward, layer->n_forward, "down_proj.cast_weight")->kernel->bytes, 160 * 64 * 5);
  CU_ASSERT_EQUAL(op_named(forward, layer->n_forward, "down_proj")->kernel->bytes,
                  TOKENS * 160 + 160 * 64 + TOKENS * 64 * 2);
  CU_ASSERT_EQUAL(op_named(backward, layer->n_backward, "down_proj.cast_gradient")->kernel->bytes, TOKENS * 64 * 5);
  CU_ASSERT_EQUAL(op_named(backward, layer->n_backward, "down_proj.cast_weight_turned")->kernel->bytes, 160 * 64 * 5);
  CU_ASSERT_EQUAL(op_named(backward, layer->n_backward, "down_proj.cast_input_turned")->kernel->bytes,
                  TOKENS * 160 * 2);
  CU_ASSERT_EQUAL(op_named(backward, layer->n_backward, "down_proj.wgrad")->kernel->bytes,
                  TOKENS * 64 + TOKENS * 160 + 160 * 64 * 2);
  ModelRecipe plain = recipe_of(MODEL_KERNELS_EAGER);
  g_autoptr(ModelUnit) eager = model_unit_new(&shape, &plain, 1, MODEL_UNIT_LAYER);
  const ModelOp *cast = op_named(eager->forward, eager->n_forward, "down_proj.cast_input");
  CU_ASSERT_EQUAL(cast->kernel->bytes, TOKENS * 160 * 33);
  CU_ASSERT_EQUAL(kernel_launches(cast->kernel), 6);
}

/* Weights that come cast are only turned, in backward. */
static void weights_may_come_cast(void) {
  ModelShape shape = shape_of(160);
  ModelRecipe recipe = recipe_of(MODEL_KERNELS_FUSED);
  recipe.fp8_weights = TRUE;
  g_autoptr(ModelUnit) layer = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(ending(layer->forward, layer->n_forward, ".cast_weight"), 0);
  CU_ASSERT_EQUAL(op_named(layer->backward, layer->n_backward, "down_proj.cast_weight_turned")->kernel->bytes,
                  160 * 64 * 2);
}

/* Of the inputs, two bytes an element in bf16, one is kept: those of q, k, v, of gate and up and of down shrink by one
 * byte an element; o's is the attention's output, which attention keeps in 16 bits whatever o does, so its cast comes
 * on top. */
static void keeps_one_byte_of_inputs(void) {
  ModelShape shape = shape_of(160);
  ModelRecipe recipe = recipe_of(MODEL_KERNELS_FUSED);
  g_autoptr(ModelUnit) fp8 = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  recipe.precision = MODEL_BF16;
  g_autoptr(ModelUnit) bf16 = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(model_unit_saved_bytes(bf16) - model_unit_saved_bytes(fp8), TOKENS * (64 + 64 + 160 - 64));
}

/* 168 is no multiple of 16: gate, up and down stay in 16 bits. */
static void leaves_odd_widths(void) {
  ModelShape shape = shape_of(168);
  ModelRecipe recipe = recipe_of(MODEL_KERNELS_FUSED);
  g_autoptr(ModelUnit) layer = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(dtype_of(layer, "q_proj"), KERNEL_FP8);
  CU_ASSERT_EQUAL(dtype_of(layer, "gate_proj"), KERNEL_BF16);
  CU_ASSERT_EQUAL(dtype_of(layer, "down_proj"), KERNEL_BF16);
  for (guint p = 0; p < layer->n_parameters; p++) {
    gboolean attention = strchr("qkvo", layer->parameters[p].name[0]) != NULL;
    CU_ASSERT_EQUAL(layer->parameters[p].fp8, attention);
  }
}

int main(void) {
  return harness_run("model-fp8", (HarnessCase[]){{"casts what it multiplies", casts_what_it_multiplies},
                                                  {"bytes", bytes},
                                                  {"weights may come cast", weights_may_come_cast},
                                                  {"keeps one byte of inputs", keeps_one_byte_of_inputs},
                                                  {"leaves odd widths", leaves_odd_widths},
                                                  {NULL, NULL}});
}
