/* SPDX-License-Identifier: MIT */
/* Units: sizes, FLOPs and lifetimes, against formulas of the literature and over random shapes. */
#include <string.h>

#include "model-masks.h"

static ModelShape random_shape(GRand *random, int family) {
  guint64 kv_heads = (guint64)g_rand_int_range(random, 1, 5), groups = (guint64)g_rand_int_range(random, 1, 5);
  ModelShape shape = {.family = family,
                      .layers = 1,
                      .hidden_size = 8 * (guint64)g_rand_int_range(random, 1, 500),
                      .heads = kv_heads * groups,
                      .kv_heads = kv_heads,
                      .head_dim = 8 * (guint64)g_rand_int_range(random, 1, 20),
                      .intermediate_size = 8 * (guint64)g_rand_int_range(random, 1, 1500),
                      .vocab_size = (guint64)g_rand_int_range(random, 1, 100000),
                      .max_positions = 4096,
                      .tied_embeddings = g_rand_boolean(random),
                      .traits = g_rand_boolean(random) ? MODEL_QKV_BIAS : 0};
  return shape;
}

/* Attention as wide as the model and an MLP four times as wide: what Korthikanti's formula is about. */
static ModelShape square_shape(GRand *random, int family) {
  ModelShape shape = random_shape(random, family);
  shape.kv_heads = shape.heads;
  shape.hidden_size = shape.heads * shape.head_dim;
  shape.intermediate_size = 4 * shape.hidden_size;
  return shape;
}

static ModelRecipe random_recipe(GRand *random) {
  return (ModelRecipe){.sequence_length = (guint64)g_rand_int_range(random, 1, 4097),
                       .precision = g_rand_int_range(random, MODEL_BF16, MODEL_FP8 + 1),
                       .attention = g_rand_int_range(random, MODEL_ATTENTION_FLASH, MODEL_ATTENTION_EAGER + 1),
                       .dropout = g_rand_boolean(random) ? 0.1 : 0,
                       .loss = g_rand_int_range(random, MODEL_LOSS_EAGER, MODEL_LOSS_FUSED_LINEAR),
                       .kernels = g_rand_int_range(random, MODEL_KERNELS_EAGER, MODEL_KERNELS_NORMS + 1),
                       .loss_metrics = (guint64)g_rand_int_range(random, 0, 3),
                       .autocast = g_rand_boolean(random),
                       .repeats_kv = g_rand_boolean(random),
                       .projections = g_rand_int_range(random, MODEL_PROJECTIONS_SEPARATE, MODEL_PROJECTIONS_QKV + 1)};
}

typedef void (*Property)(const ModelUnit *unit, const ModelShape *shape, const ModelRecipe *recipe, guint64 b);

static void for_random_units(Property property) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 300; i++) {
    ModelShape shape = random_shape(random, g_rand_int_range(random, MODEL_LLAMA, MODEL_GPT + 1));
    ModelRecipe recipe = random_recipe(random);
    gboolean many = recipe.precision == MODEL_FP8 && recipe.kernels == MODEL_KERNELS_EAGER;
    shape.traits |= shape.family == MODEL_LLAMA && !many && g_rand_boolean(random) ? MODEL_QK_NORM : 0;
    guint64 b = (guint64)g_rand_int_range(random, 1, 9);
    recipe.compiled = recipe.kernels == MODEL_KERNELS_FUSED && g_rand_boolean(random);
    for (int kind = 0; kind < MODEL_UNIT_KINDS; kind++) {
      g_autoptr(ModelUnit) unit = model_unit_new(&shape, &recipe, b, kind);
      property(unit, &shape, &recipe, b);
    }
  }
}

/* A = s b (4h + 4h + 2q + 4kv + 2q + 6f) + 4 s b a: inputs and outputs of two norms, q, k, v, context, and gate, up and
 * product, two bytes each; a log-sum-exp of four bytes per head and token. Eager kernels keep silu too, 2f, and of each
 * norm the input in fp32 and the scaled input in its place, 4h + 2h instead of 2h. The MLP's part is Korthikanti 2022
 * (arXiv 2205.05198) section 4 carried over to the gated MLP, flash's part is what its kernel returns for backward. */
static void llama_flash_saves_by_formula(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 300; i++) {
    ModelShape shape = random_shape(random, MODEL_LLAMA);
    ModelRecipe recipe = {.sequence_length = (guint64)g_rand_int_range(random, 1, 4097),
                          .kernels = g_rand_boolean(random) ? MODEL_KERNELS_FUSED : MODEL_KERNELS_EAGER};
    guint64 b = (guint64)g_rand_int_range(random, 1, 9), t = recipe.sequence_length * b;
    guint64 h = shape.hidden_size, f = shape.intermediate_size, a = shape.heads;
    guint64 q = a * shape.head_dim, kv = shape.kv_heads * shape.head_dim;
    g_autoptr(ModelUnit) unit = model_unit_new(&shape, &recipe, b, MODEL_UNIT_LAYER);
    guint64 fused = t * (4 * h + 4 * h + 2 * q + 4 * kv + 2 * q + 6 * f) + 4 * t * a;
    guint64 eager = recipe.kernels == MODEL_KERNELS_EAGER ? t * (2 * f + 2 * 4 * h) : 0;
    CU_ASSERT_EQUAL(model_unit_saved_bytes(unit), fused + eager);
  }
}

/* Norms of queries and keys keep what they read, two bytes an element, beside what attention keeps; their weights are
 * of a head's width, one each. Eager in place of it: the input in fp32 and the scaled input, six. */
static void norms_of_heads(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 50; i++) {
    ModelShape shape = random_shape(random, MODEL_LLAMA), plain = shape;
    shape.traits |= MODEL_QK_NORM;
    for (int kernels = MODEL_KERNELS_EAGER; kernels <= MODEL_KERNELS_FUSED; kernels++) {
      ModelRecipe recipe = {.sequence_length = 128, .kernels = kernels};
      g_autoptr(ModelUnit) normed = model_unit_new(&shape, &recipe, 2, MODEL_UNIT_LAYER);
      g_autoptr(ModelUnit) without = model_unit_new(&plain, &recipe, 2, MODEL_UNIT_LAYER);
      guint64 elements = 2 * 128 * (shape.heads + shape.kv_heads) * shape.head_dim;
      CU_ASSERT_EQUAL(model_unit_saved_bytes(normed),
                      model_unit_saved_bytes(without) + (kernels == MODEL_KERNELS_EAGER ? 6 : 2) * elements);
      CU_ASSERT_EQUAL(model_unit_elements(normed), model_unit_elements(without) + 2 * shape.head_dim);
      CU_ASSERT_EQUAL(model_unit_forward_cost(normed).flops, model_unit_forward_cost(without).flops);
    }
  }
}

/* s b h (34 + 5 a s / h), Korthikanti 2022, equation 1: 16-bit, eager, dropout. Without dropout its masks go (1 byte
 * for each branch's output, 1 for each attention weight) and so does the dropped copy of the attention weights (2): 32
 * and 2. Flash keeps none of the attention weights, but 4 bytes per head and token. */
static void gpt_saves_by_korthikanti(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 300; i++) {
    ModelShape shape = square_shape(random, MODEL_GPT);
    guint64 s = (guint64)g_rand_int_range(random, 1, 4097), b = (guint64)g_rand_int_range(random, 1, 9);
    guint64 sbh = s * b * shape.hidden_size, assb = shape.heads * s * s * b, sba = s * b * shape.heads;
    const struct {
      ModelRecipe recipe;
      guint64 expected;
    } cases[] = {
        {{.sequence_length = s, .attention = MODEL_ATTENTION_EAGER, .dropout = 0.1}, 34 * sbh + 5 * assb},
        {{.sequence_length = s, .attention = MODEL_ATTENTION_EAGER}, 32 * sbh + 2 * assb},
        {{.sequence_length = s, .attention = MODEL_ATTENTION_FLASH, .dropout = 0.1}, 34 * sbh + 4 * sba},
        {{.sequence_length = s, .attention = MODEL_ATTENTION_FLASH}, 32 * sbh + 4 * sba},
    };
    for (gsize j = 0; j < G_N_ELEMENTS(cases); j++) {
      g_autoptr(ModelUnit) unit = model_unit_new(&shape, &cases[j].recipe, b, MODEL_UNIT_LAYER);
      CU_ASSERT_EQUAL(model_unit_saved_bytes(unit), cases[j].expected);
    }
  }
}

/* Forward, MAC = 2, t = s b: projections 2 t h (q + 2 kv) + 2 t q h, MLP 6 t h f (gated) or 4 t h f, attention 4 t s q:
 * in full where eager, half of it under flash's causal mask. Backward twice that, but flash 2.5 times. */
static void layer_flops(const ModelUnit *unit, const ModelShape *shape, const ModelRecipe *recipe, guint64 b) {
  if (unit->kind != MODEL_UNIT_LAYER)
    return;
  double s = (double)recipe->sequence_length, t = s * (double)b, h = (double)shape->hidden_size;
  double q = (double)(shape->heads * shape->head_dim), kv = (double)(shape->kv_heads * shape->head_dim);
  double f = (double)shape->intermediate_size, attention = 4 * t * s * q;
  double linear = 2 * t * h * (q + 2 * kv) + 2 * t * q * h + (shape->family == MODEL_LLAMA ? 6 : 4) * t * h * f;
  gboolean flash = recipe->attention == MODEL_ATTENTION_FLASH;
  ModelCost forward = model_unit_forward_cost(unit), backward = model_unit_backward_cost(unit);
  CU_ASSERT_EQUAL(forward.nominal_flops, linear + attention);
  CU_ASSERT_EQUAL(forward.flops, linear + (flash ? 0.5 : 1) * attention);
  CU_ASSERT_EQUAL(backward.nominal_flops, 2 * (linear + attention));
  CU_ASSERT_EQUAL(backward.flops, 2 * linear + (flash ? 0.5 * 2.5 : 2) * attention);
}

/* Head: 2 t h V, twice that backward. Embedding: none. */
static void end_flops(const ModelUnit *unit, const ModelShape *shape, const ModelRecipe *recipe, guint64 b) {
  double matmul = 2 * (double)(recipe->sequence_length * b) * (double)shape->hidden_size * (double)shape->vocab_size;
  if (unit->kind == MODEL_UNIT_LAYER)
    return;
  double expected = unit->kind == MODEL_UNIT_HEAD ? matmul : 0;
  CU_ASSERT_EQUAL(model_unit_forward_cost(unit).flops, expected);
  CU_ASSERT_EQUAL(model_unit_backward_cost(unit).flops, 2 * expected);
  CU_ASSERT_EQUAL(model_unit_backward_cost(unit).nominal_flops, 2 * expected);
}

static double matmul_flops(const ModelOp *ops, guint n) {
  double flops = 0;
  for (guint i = 0; i < n; i++)
    if (ops[i].kernel->kind == KERNEL_MATMUL)
      flops += ops[i].kernel->flops;
  return flops;
}

/* Every matmul has two operands, and a gradient of each costs one matmul of the same size. FLOPs, bytes and shape of
 * one op agree: 2 batch m n k, and A, B and C once; fp8: A and B in one byte, and what is
 * not in fp8 is in bf16. */
static void backward_matmuls_are_two_forwards(const ModelUnit *unit, const ModelShape *shape, const ModelRecipe *recipe,
                                              guint64 b) {
  (void)shape, (void)b;
  CU_ASSERT_EQUAL(matmul_flops(unit->backward, unit->n_backward), 2 * matmul_flops(unit->forward, unit->n_forward));
  for (guint i = 0; i < unit->n_forward + unit->n_backward; i++) {
    const KernelOp *op = &unit->kernels[i];
    CU_ASSERT_TRUE(op->bytes > 0);
    if (op->kind != KERNEL_MATMUL)
      continue;
    CU_ASSERT_EQUAL(op->flops, 2.0 * (double)op->batch * (double)op->m * (double)op->n * (double)op->k);
    guint64 stored = model_precision_bytes(recipe->precision);
    guint64 operand = op->dtype == KERNEL_FP8 ? kernel_dtype_bytes(KERNEL_FP8) : stored;
    CU_ASSERT_EQUAL(op->bytes, op->batch * ((op->m * op->k + op->k * op->n) * operand + op->m * op->n * stored));
    CU_ASSERT_TRUE((int)op->dtype == model_precision_dtype(recipe->precision) ||
                   (recipe->precision == MODEL_FP8 && op->dtype == KERNEL_BF16));
  }
}

static void count_gradients(const ModelUnit *unit, const ModelShape *shape, const ModelRecipe *recipe, guint64 b) {
  (void)shape, (void)recipe, (void)b;
  masks_check_gradients(unit);
}

static void masks_are_consistent(const ModelUnit *unit, const ModelShape *shape, const ModelRecipe *recipe, guint64 b) {
  (void)shape, (void)recipe, (void)b;
  masks_check(unit);
}

static void boundaries_fit(const ModelUnit *unit, const ModelShape *shape, const ModelRecipe *recipe, guint64 b) {
  guint32 element = recipe->autocast ? 4 : model_precision_bytes(recipe->precision);
  guint64 stream = recipe->sequence_length * b * shape->hidden_size * element;
  gboolean first = unit->kind == MODEL_UNIT_EMBEDDING, last = unit->kind == MODEL_UNIT_HEAD;
  guint64 ids = 8 * recipe->sequence_length * b;
  CU_ASSERT_EQUAL(model_unit_bytes(unit, masks_of_role(unit, MODEL_TENSOR_INPUT)), first ? ids : stream);
  CU_ASSERT_EQUAL(model_unit_bytes(unit, masks_of_role(unit, MODEL_TENSOR_GRAD_INPUT)), first ? 0 : stream);
  CU_ASSERT_EQUAL(model_unit_bytes(unit, masks_of_role(unit, MODEL_TENSOR_OUTPUT)), last ? 0 : stream);
  CU_ASSERT_EQUAL(model_unit_bytes(unit, masks_of_role(unit, MODEL_TENSOR_GRAD_OUTPUT)), last ? 0 : stream);
}

static void layer_flops_by_formula(void) {
  for_random_units(layer_flops);
}
static void end_flops_by_formula(void) {
  for_random_units(end_flops);
}
static void matmuls_twice_backward(void) {
  for_random_units(backward_matmuls_are_two_forwards);
}
static void every_gradient_once(void) {
  for_random_units(count_gradients);
}
static void lifetimes(void) {
  for_random_units(masks_are_consistent);
}
static void boundaries(void) {
  for_random_units(boundaries_fit);
}

/* The units of a model have all of its parameters, a tied table once. */
static void parameters_add_up(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 300; i++) {
    ModelShape shape = random_shape(random, g_rand_int_range(random, MODEL_LLAMA, MODEL_GPT + 1));
    shape.layers = (guint64)g_rand_int_range(random, 1, 100);
    ModelRecipe recipe = random_recipe(random);
    guint64 elements[MODEL_UNIT_KINDS];
    for (int kind = 0; kind < MODEL_UNIT_KINDS; kind++) {
      g_autoptr(ModelUnit) unit = model_unit_new(&shape, &recipe, 1, kind);
      elements[kind] = model_unit_elements(unit);
      CU_ASSERT_EQUAL(unit->parameters[unit->n_parameters - 1].shared,
                      kind == MODEL_UNIT_HEAD && shape.tied_embeddings);
    }
    CU_ASSERT_EQUAL(elements[MODEL_UNIT_EMBEDDING] + shape.layers * elements[MODEL_UNIT_LAYER] +
                        elements[MODEL_UNIT_HEAD],
                    model_shape_parameters(&shape));
  }
}

/* Most bytes alive at once by the rules that the header states, INPUT and GRAD_OUTPUT included. */
static guint64 peak_of_backward(const ModelUnit *unit) {
  ModelSet alive = masks_saved(unit) | masks_of_role(unit, MODEL_TENSOR_GRAD_OUTPUT);
  guint64 peak = 0;
  for (guint i = 0; i < unit->n_backward; i++) {
    alive |= unit->backward[i].writes;
    peak = MAX(peak, model_unit_bytes(unit, alive));
    ModelSet later = 0;
    for (guint j = i + 1; j < unit->n_backward; j++)
      later |= unit->backward[j].reads;
    alive &= later | masks_of_role(unit, MODEL_TENSOR_GRAD_INPUT);
  }
  CU_ASSERT_EQUAL(alive, masks_of_role(unit, MODEL_TENSOR_GRAD_INPUT));
  return peak;
}

/* In 16 bits the loss peaks in its own backward: the kept log-softmax, the gradient with one entry per row and the
 * softmax's gradient, 4 + 4 + 4 bytes per logit, beside what the norm keeps, the input in fp32 and scaled, and its
 * output, 4 + 2 + 2 bytes per element. In fp32 the same, 4 bytes each. */
static void loss_peaks_at_twelve_bytes_per_logit(void) {
  ModelShape shape = {.family = MODEL_LLAMA,
                      .layers = 1,
                      .hidden_size = 64,
                      .heads = 4,
                      .kv_heads = 4,
                      .head_dim = 16,
                      .intermediate_size = 128,
                      .vocab_size = 32000};
  for (int precision = MODEL_BF16; precision <= MODEL_TF32; precision++) {
    ModelRecipe recipe = {.sequence_length = 512, .precision = precision};
    g_autoptr(ModelUnit) head = model_unit_new(&shape, &recipe, 2, MODEL_UNIT_HEAD);
    guint64 t = 1024;
    CU_ASSERT_EQUAL(peak_of_backward(head), t * (12 * 32000 + 64 * (4 + 2 * model_precision_bytes(precision))));
    CU_ASSERT_EQUAL(model_unit_saved_bytes(head), t * (4 * 32000 + 64 * (4 + 2 * model_precision_bytes(precision))));
  }
}

/* The whole layer dies in backward, whatever the recipe. */
static void nothing_outlives_backward(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 100; i++) {
    ModelShape shape = random_shape(random, g_rand_int_range(random, MODEL_LLAMA, MODEL_GPT + 1));
    ModelRecipe recipe = random_recipe(random);
    for (int kind = 0; kind < MODEL_UNIT_KINDS; kind++) {
      g_autoptr(ModelUnit) unit = model_unit_new(&shape, &recipe, 1, kind);
      CU_ASSERT_TRUE(peak_of_backward(unit) >= model_unit_saved_bytes(unit));
    }
  }
}

/* The head's gradient of a tied table comes first and waits for the embedding's dense one, a second matrix of the same
 * size. */
static void tied_tables_are_summed(void) {
  ModelShape shape = {.family = MODEL_GPT,
                      .layers = 1,
                      .hidden_size = 64,
                      .heads = 4,
                      .kv_heads = 4,
                      .head_dim = 16,
                      .intermediate_size = 256,
                      .vocab_size = 1000,
                      .max_positions = 128,
                      .tied_embeddings = TRUE};
  ModelRecipe recipe = {.sequence_length = 128};
  g_autoptr(ModelUnit) tied = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_EMBEDDING);
  const ModelOp *last = &tied->backward[tied->n_backward - 1];
  CU_ASSERT_STRING_EQUAL(last->name, "embed_tokens.sum");
  CU_ASSERT_EQUAL(last->kernel->bytes, 3 * 2 * 64 * 1000);
  CU_ASSERT_TRUE(peak_of_backward(tied) >= 2 * 64 * 1000);
  shape.tied_embeddings = FALSE;
  g_autoptr(ModelUnit) untied = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_EMBEDDING);
  CU_ASSERT_EQUAL(untied->n_backward + 1, tied->n_backward);
  CU_ASSERT_TRUE(peak_of_backward(untied) < 2 * 64 * 1000);
}

/* The largest sizes that a workload may state do not wrap around. */
static void absurd_sizes_stay_large(void) {
  ModelShape shape = {.family = MODEL_LLAMA,
                      .layers = 1,
                      .hidden_size = 1 << 20,
                      .heads = 4096,
                      .kv_heads = 4096,
                      .head_dim = 4096,
                      .intermediate_size = 1 << 24,
                      .vocab_size = 1 << 28};
  ModelRecipe recipe = {.sequence_length = 1 << 24, .attention = MODEL_ATTENTION_EAGER};
  for (int kind = 0; kind < MODEL_UNIT_KINDS; kind++) {
    g_autoptr(ModelUnit) unit = model_unit_new(&shape, &recipe, MODEL_MICRO_BATCH_MOST, kind);
    guint64 most = kind == MODEL_UNIT_EMBEDDING ? 8 * ((guint64)1 << 56) : MODEL_TENSOR_MOST;
    CU_ASSERT_TRUE(model_unit_saved_bytes(unit) >= MIN(most, MODEL_TENSOR_MOST));
    for (guint i = 0; i < unit->n_tensors; i++)
      CU_ASSERT_TRUE(unit->tensors[i].bytes <= MODEL_TENSOR_MOST);
  }
}

int main(void) {
  return harness_run("model-unit",
                     (HarnessCase[]){{"llama under flash saves by formula", llama_flash_saves_by_formula},
                                     {"norms of heads", norms_of_heads},
                                     {"gpt saves by Korthikanti", gpt_saves_by_korthikanti},
                                     {"layer FLOPs by formula", layer_flops_by_formula},
                                     {"FLOPs of the ends", end_flops_by_formula},
                                     {"matmuls twice backward", matmuls_twice_backward},
                                     {"every gradient once", every_gradient_once},
                                     {"lifetimes", lifetimes},
                                     {"boundaries", boundaries},
                                     {"parameters add up", parameters_add_up},
                                     {"loss peaks at twelve bytes per logit", loss_peaks_at_twelve_bytes_per_logit},
                                     {"nothing outlives backward", nothing_outlives_backward},

                                     {"tied tables are summed", tied_tables_are_summed},
                                     {"absurd sizes stay large", absurd_sizes_stay_large},
                                     {NULL, NULL}});
}
