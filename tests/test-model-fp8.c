/* SPDX-License-Identifier: MIT */
/* Linear layers in fp8: which operations stand around their matmuls, what they move and what is kept. */
#include <string.h>

#include "harness.h"
#include "kernel-op.h"
#include "model-train.h"
#include "model-unit.h"

static int model_family_of(const char *name) {
  for (int i = 0; model_family_names[i] != NULL; i++)
    if (strcmp(model_family_names[i], name) == 0)
      return i;
  g_error("no family %s", name);
}

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

/* Scales along rows: each matmul's operands are cast along its own summed dimension by one kernel that reads two bytes
 * and writes one, inputs once for q, k, v each way (four inputs), weights and output gradients of seven layers twice
 * each. Inputs stay in 16 bits, so as much is kept as in bf16. */
static void casts_rows_anew(void) {
  ModelShape shape = shape_of(160);
  ModelRecipe recipe = recipe_of(MODEL_KERNELS_FUSED);
  recipe.fp8_scaling = MODEL_FP8_ROWWISE;
  g_autoptr(ModelUnit) layer = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(ending(layer->forward, layer->n_forward, ".cast_input"), 4);
  CU_ASSERT_EQUAL(ending(layer->forward, layer->n_forward, ".cast_weight"), 7);
  CU_ASSERT_EQUAL(ending(layer->backward, layer->n_backward, ".cast_gradient"), 7);
  CU_ASSERT_EQUAL(ending(layer->backward, layer->n_backward, ".cast_gradient_turned"), 7);
  CU_ASSERT_EQUAL(ending(layer->backward, layer->n_backward, ".cast_input_turned"), 4);
  const ModelOp *cast = op_named(layer->backward, layer->n_backward, "down_proj.cast_input_turned");
  CU_ASSERT_EQUAL(cast->kernel->bytes, TOKENS * 160 * 3);
  CU_ASSERT_EQUAL(kernel_launches(cast->kernel), 1);
  recipe.precision = MODEL_BF16;
  g_autoptr(ModelUnit) bf16 = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(model_unit_saved_bytes(layer), model_unit_saved_bytes(bf16));
}

static ModelRecipe engine_of(ModelFp8Scaling scaling, gboolean turns) {
  ModelRecipe recipe = recipe_of(MODEL_KERNELS_FUSED);
  recipe.fp8_scaling = (int)scaling;
  recipe.fp8_engine = TRUE;
  recipe.fp8_turns = turns;
  return recipe;
}

/* Of an element that Transformer Engine casts, in bytes: 2 read, once more for the largest value under current scaling,
 * and 1 written for each order that the GPU wants; mxfp8 1 + 1/32 in both. No weight is cast, nothing turned; one order
 * is kept, as many bytes as under torchao. */
static void the_engine_casts_both_ways(void) {
  static const struct {
    ModelFp8Scaling scaling;
    gboolean turns;
    double bytes, kept;
  } cases[] = {{MODEL_FP8_DELAYED, TRUE, 4, 1},
               {MODEL_FP8_DELAYED, FALSE, 3, 1},
               {MODEL_FP8_TENSORWISE, TRUE, 6, 1},
               {MODEL_FP8_MX, FALSE, 2 + 2 * (1 + 1.0 / 32), 1 + 1.0 / 32}};
  ModelShape shape = shape_of(160);
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    ModelRecipe recipe = engine_of(cases[i].scaling, cases[i].turns);
    g_autoptr(ModelUnit) layer = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
    CU_ASSERT_EQUAL(ending(layer->forward, layer->n_forward, ".cast_weight"), 0);
    CU_ASSERT_EQUAL(ending(layer->backward, layer->n_backward, "_turned"), 0);
    CU_ASSERT_EQUAL(op_named(layer->forward, layer->n_forward, "down_proj.cast_input")->kernel->bytes,
                    (guint64)(TOKENS * 160 * cases[i].bytes));
    CU_ASSERT_EQUAL(op_named(layer->backward, layer->n_backward, "down_proj.cast_gradient")->kernel->bytes,
                    (guint64)(TOKENS * 64 * cases[i].bytes));
    recipe.precision = MODEL_BF16;
    g_autoptr(ModelUnit) bf16 = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
    double less = (double)model_unit_saved_bytes(bf16) - (double)model_unit_saved_bytes(layer);
    CU_ASSERT_DOUBLE_EQUAL(less, TOKENS * ((2 - cases[i].kept) * (64 + 64 + 160) - cases[i].kept * 64), 1);
  }
}

static guint64 gathered(const ModelOp *ops, guint n) {
  guint64 bytes = 0;
  for (guint i = 0; i < n; i++)
    bytes += ops[i].exchange.kind == MODEL_EXCHANGE_ALL_GATHER ? ops[i].exchange.bytes : 0;
  return bytes;
}

/* Two tensor ranks under sequence parallelism: forward gathers the inputs of q, k, v and of gate and up, 64 wide, a
 * byte an element where bf16 has two; backward both again, and the gradients of o's and down's outputs. Where the GPU
 * wants them turned, those four are, after the gather. mxfp8 gathers gradients both ways, with scales. */
static void tensor_ranks_gather_what_is_cast(void) {
  ModelShape shape = shape_of(160);
  ModelRecipe recipe = engine_of(MODEL_FP8_DELAYED, TRUE);
  recipe.share = (ModelShare){.tensor = 2, .sequence_parallel = TRUE, .gathers_again = TRUE};
  g_autoptr(ModelUnit) hopper = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(gathered(hopper->forward, hopper->n_forward), 2 * TOKENS * 64);
  CU_ASSERT_EQUAL(gathered(hopper->backward, hopper->n_backward), 4 * TOKENS * 64);
  CU_ASSERT_EQUAL(ending(hopper->backward, hopper->n_backward, "_turned"), 4);
  recipe.fp8_scaling = MODEL_FP8_MX;
  g_autoptr(ModelUnit) mx = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(gathered(mx->forward, mx->n_forward), 2 * TOKENS * 64 * 33 / 32);
  CU_ASSERT_EQUAL(gathered(mx->backward, mx->n_backward), (2 + 2 * 2) * TOKENS * 64 * 33 / 32);
  CU_ASSERT_EQUAL(ending(mx->backward, mx->n_backward, "_turned"), 0);
  /* torchao's one scale: the same, but that what was gathered is kept. */
  recipe.fp8_engine = FALSE, recipe.fp8_scaling = MODEL_FP8_TENSORWISE;
  g_autoptr(ModelUnit) torchao = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(gathered(torchao->forward, torchao->n_forward), 2 * TOKENS * 64);
  CU_ASSERT_EQUAL(gathered(torchao->backward, torchao->n_backward), 2 * TOKENS * 64);
  recipe.precision = MODEL_BF16;
  g_autoptr(ModelUnit) bf16 = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(gathered(bf16->forward, bf16->n_forward), 2 * 2 * TOKENS * 64);
}

/* Two of eight experts for a token, 32 wide, gate and up in one: 256 rows are cast before the first grouped matmul and
 * before the second, 2 + 2 bytes an element, their gradients too; all six matmuls are fp8. Without the router's padding
 * rows are copied apart and together, each way. */
static void experts_multiply_in_fp8(void) {
  ModelShape shape = shape_of(160);
  shape.experts = 8, shape.experts_per_token = 2, shape.expert_intermediate_size = 32;
  shape.family = model_family_of("mixtral");
  ModelRecipe recipe = engine_of(MODEL_FP8_DELAYED, TRUE);
  recipe.projections = MODEL_PROJECTIONS_JOINED;
  recipe.experts_by_engine = recipe.fp8_pads = TRUE;
  g_autoptr(ModelUnit) layer = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(op_named(layer->forward, layer->n_forward, "experts.cast_input")->kernel->bytes, 256 * 64 * 4);
  CU_ASSERT_EQUAL(op_named(layer->forward, layer->n_forward, "experts.cast_product")->kernel->bytes, 256 * 32 * 4);
  CU_ASSERT_EQUAL(op_named(layer->backward, layer->n_backward, "experts.cast_d_out")->kernel->bytes, 256 * 64 * 4);
  CU_ASSERT_EQUAL(op_named(layer->backward, layer->n_backward, "experts.cast_d_gate")->kernel->bytes, 256 * 64 * 4);
  CU_ASSERT_EQUAL(op_named(layer->forward, layer->n_forward, "experts.pad")->kernel->bytes, 256 * 64 * 4);
  CU_ASSERT_EQUAL(dtype_of(layer, "experts.gate_up_proj"), KERNEL_FP8);
  CU_ASSERT_EQUAL(dtype_of(layer, "experts.down_proj"), KERNEL_FP8);
  CU_ASSERT_EQUAL(dtype_of(layer, "router"), KERNEL_BF16);
  guint in_fp8 = 0;
  for (guint i = 0; i < layer->n_backward; i++)
    in_fp8 += g_str_has_prefix(layer->backward[i].name, "experts.") && layer->backward[i].kernel->dtype == KERNEL_FP8;
  CU_ASSERT_EQUAL(in_fp8, 4);
  recipe.fp8_engine = FALSE; /* torchao's: its experts stay in 16 bits */
  recipe.fp8_scaling = MODEL_FP8_TENSORWISE;
  g_autoptr(ModelUnit) torchao = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(dtype_of(torchao, "experts.down_proj"), KERNEL_BF16);
}

/* Transformer Engine's layers beside adapters: frozen, so no gradient of a weight, and nothing is cast for one: an
 * input and a gradient in one order, 2 bytes read and one written, on Hopper too (delayed scaling). q and v of seven
 * have adapters, whose matmuls are in 16 bits and keep their input, which no layer keeps cast. The lowest inputs'
 * gradients of q, k and v are wanted too. */
static void frozen_beside_adapters(void) {
  ModelShape shape = shape_of(160);
  ModelRecipe recipe = recipe_of(MODEL_KERNELS_FUSED), whole = recipe;
  char *fault = NULL;
  recipe.fp8_engine = recipe.fp8_turns = whole.fp8_engine = whole.fp8_turns = TRUE;
  recipe.fp8_scaling = whole.fp8_scaling = MODEL_FP8_DELAYED;
  CU_ASSERT_TRUE_FATAL(model_lora_parse("lora:4", &recipe.lora, &fault));
  g_autoptr(ModelUnit) layer = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  g_autoptr(ModelUnit) trained = model_unit_new(&shape, &whole, 1, MODEL_UNIT_LAYER);
  model_unit_train(layer, MODEL_TRAINED);
  const ModelOp *cast = op_named(layer->forward, layer->n_forward, "down_proj.cast_input");
  CU_ASSERT_EQUAL(cast->kernel->bytes, TOKENS * 160 * (2 + 1));
  CU_ASSERT_EQUAL(op_named(trained->forward, trained->n_forward, "down_proj.cast_input")->kernel->bytes,
                  TOKENS * 160 * (2 + 2));
  CU_ASSERT_EQUAL(op_named(layer->forward, layer->n_forward, "down_proj")->saves, 0);
  CU_ASSERT_TRUE(dtype_of(layer, "q_proj") == KERNEL_FP8 && dtype_of(layer, "q_proj.lora_A") == KERNEL_BF16);
  CU_ASSERT_EQUAL(ending(layer->backward, layer->n_backward, "_proj.wgrad"), 0);
  CU_ASSERT_EQUAL(ending(layer->backward, layer->n_backward, ".lora_A.wgrad"), 2);
  CU_ASSERT_EQUAL(ending(layer->backward, layer->n_backward, "_proj.dgrad"), 7);
  CU_ASSERT_EQUAL(ending(trained->backward, trained->n_backward, "_proj.wgrad"), 7);
  CU_ASSERT_EQUAL(ending(layer->backward, layer->n_backward, "_turned"), 0);
}

int main(void) {
  return harness_run("model-fp8",
                     (HarnessCase[]){{"casts what it multiplies", casts_what_it_multiplies},
                                     {"bytes", bytes},
                                     {"weights may come cast", weights_may_come_cast},
                                     {"keeps one byte of inputs", keeps_one_byte_of_inputs},
                                     {"leaves odd widths", leaves_odd_widths},
                                     {"casts rows anew", casts_rows_anew},
                                     {"the engine casts both ways", the_engine_casts_both_ways},
                                     {"tensor ranks gather what is cast", tensor_ranks_gather_what_is_cast},
                                     {"experts multiply in fp8", experts_multiply_in_fp8},
                                     {"frozen beside adapters", frozen_beside_adapters},
                                     {NULL, NULL}});
}
