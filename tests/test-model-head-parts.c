/* SPDX-License-Identifier: MIT */
/* The head as four units, against the whole head. */
#include "model-masks.h"
#include "model-one-rank.h"

typedef struct {
  double flops, nominal_flops, forward_bytes, backward_bytes;
  guint64 elements, exchanged;
} Sums;

static guint64 exchanged(const ModelOp *ops, guint n) {
  guint64 bytes = 0;
  for (guint i = 0; i < n; i++)
    bytes += ops[i].exchange.bytes;
  return bytes;
}

static void add(Sums *sums, const ModelUnit *unit) {
  ModelCost forward = model_unit_forward_cost(unit), backward = model_unit_backward_cost(unit);
  sums->flops += forward.flops + backward.flops;
  sums->nominal_flops += forward.nominal_flops + backward.nominal_flops;
  sums->forward_bytes += forward.bytes;
  sums->backward_bytes += backward.bytes;
  sums->elements += model_unit_elements(unit);
  sums->exchanged += exchanged(unit->forward, unit->n_forward) + exchanged(unit->backward, unit->n_backward);
}

static guint64 role_bytes(const ModelUnit *unit, ModelTensorRole role) {
  return model_unit_bytes(unit, masks_of_role(unit, role));
}

static ModelRecipe recipe_of(GRand *random) {
  ModelShare share = {.tensor = 1u << g_rand_int_range(random, 0, 4),
                      .sequence_parallel = g_rand_boolean(random),
                      .async_gradient = g_rand_boolean(random),
                      .gathers_again = g_rand_boolean(random),
                      .keys = MODEL_KEYS_DIVIDED,
                      .vocabulary_multiple = 1};
  return (ModelRecipe){.sequence_length = 64 * (guint64)g_rand_int_range(random, 1, 33),
                       .precision = g_rand_boolean(random) ? MODEL_BF16 : MODEL_FP16,
                       .loss = MODEL_LOSS_VOCAB_PARALLEL,
                       .kernels = MODEL_KERNELS_NORMS,
                       .share = share};
}

static ModelShape shape_of(GRand *random) {
  guint64 heads = (guint64)g_rand_int_range(random, 1, 9) * 8;
  return (ModelShape){.family = MODEL_LLAMA,
                      .name = (char *)(gpointer) "some-model",
                      .layers = (guint64)g_rand_int_range(random, 1, 9),
                      .hidden_size = heads * 64,
                      .heads = heads,
                      .kv_heads = heads,
                      .head_dim = 64,
                      .intermediate_size = 128 * (guint64)g_rand_int_range(random, 1, 100),
                      .vocab_size = (guint64)g_rand_int_range(random, 100, 100000),
                      .max_positions = 4096,
                      .tied_embeddings = g_rand_boolean(random)};
}

static void one_head(GRand *random) {
  ModelShape shape = shape_of(random);
  ModelRecipe recipe = recipe_of(random);
  guint64 b = (guint64)g_rand_int_range(random, 1, 9), units = model_units_of(&shape, TRUE);
  g_autoptr(ModelUnit) whole = model_unit_new(&shape, &recipe, b, MODEL_UNIT_HEAD);
  Sums of_whole = {0}, of_parts = {0};
  add(&of_whole, whole);
  CU_ASSERT_TRUE(model_head_comes_apart(&shape, &recipe));
  guint64 passed = role_bytes(whole, MODEL_TENSOR_INPUT);
  for (guint64 u = shape.layers + 1; u < units; u++) {
    g_autoptr(ModelUnit) part = model_unit_new(&shape, &recipe, b, model_unit_kind_among(&shape, u, units));
    gboolean last = u + 1 == units;
    masks_check(part);
    masks_check_gradients(part);
    add(&of_parts, part);
    CU_ASSERT_EQUAL(role_bytes(part, MODEL_TENSOR_INPUT), passed);
    CU_ASSERT_EQUAL(role_bytes(part, MODEL_TENSOR_GRAD_INPUT), passed);
    passed = role_bytes(part, MODEL_TENSOR_OUTPUT);
    CU_ASSERT_EQUAL(role_bytes(part, MODEL_TENSOR_GRAD_OUTPUT), passed);
    CU_ASSERT_TRUE((passed == 0) == last);
  }
  CU_ASSERT_EQUAL(of_parts.flops, of_whole.flops);
  CU_ASSERT_EQUAL(of_parts.nominal_flops, of_whole.nominal_flops);
  CU_ASSERT_EQUAL(of_parts.forward_bytes, of_whole.forward_bytes);
  CU_ASSERT_EQUAL(of_parts.backward_bytes, of_whole.backward_bytes);
  CU_ASSERT_EQUAL(of_parts.elements, of_whole.elements);
  CU_ASSERT_EQUAL(of_parts.exchanged, of_whole.exchanged);
}

/* Parts do what the whole does, move as many bytes and exchange as many; what one hands on is what the next takes. */
static void parts_add_up(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 300; i++)
    one_head(random);
}

/* t tokens of 16 bits: the stream t · h, logits t · v, and 4 bytes of each once they are cast. 2 sequences of 64
 * tokens, h = 512, v = 1000, over two tensor ranks that have 500 each. */
static void what_crosses(void) {
  ModelShape shape = {.family = MODEL_LLAMA,
                      .layers = 3,
                      .hidden_size = 512,
                      .heads = 8,
                      .kv_heads = 8,
                      .head_dim = 64,
                      .intermediate_size = 1024,
                      .vocab_size = 1000,
                      .max_positions = 4096};
  ModelRecipe recipe = {.sequence_length = 64,
                        .loss = MODEL_LOSS_VOCAB_PARALLEL,
                        .kernels = MODEL_KERNELS_NORMS,
                        .share = {.tensor = 2, .vocabulary_multiple = 1}};
  const guint64 expected[] = {128 * 512 * 2, 128 * 500 * 2, 128 * 500 * 4, 0};
  for (guint64 u = 0; u < MODEL_HEAD_PARTS; u++) {
    ModelUnitKind kind = model_unit_kind_among(&shape, 4 + u, 8);
    g_autoptr(ModelUnit) part = model_unit_new(&shape, &recipe, 2, kind);
    CU_ASSERT_EQUAL(kind, MODEL_UNIT_NORM + u);
    CU_ASSERT_EQUAL(role_bytes(part, MODEL_TENSOR_OUTPUT), expected[u]);
  }
  CU_ASSERT_EQUAL(model_unit_kind_among(&shape, 4, 5), MODEL_UNIT_HEAD);
  CU_ASSERT_EQUAL(model_unit_kind_among(&shape, 3, 8), MODEL_UNIT_LAYER);
}

/* Of a head that has more to it, or another loss, no parts are modelled. */
static void what_does_not_come_apart(void) {
  ModelShape plain = {.family = MODEL_LLAMA, .layers = 1}, further = plain, capped = plain;
  ModelRecipe usual = {.loss = MODEL_LOSS_VOCAB_PARALLEL}, fused = usual, wide = usual;
  further.mtp_layers = 1;
  capped.traits = MODEL_CAPPED_LOGITS;
  fused.loss = MODEL_LOSS_FUSED;
  wide.precision = MODEL_FP32;
  CU_ASSERT_TRUE(model_head_comes_apart(&plain, &usual));
  CU_ASSERT_FALSE(model_head_comes_apart(&further, &usual));
  CU_ASSERT_FALSE(model_head_comes_apart(&capped, &usual));
  CU_ASSERT_FALSE(model_head_comes_apart(&plain, &fused));
  CU_ASSERT_FALSE(model_head_comes_apart(&plain, &wide));
}

int main(void) {
  return harness_run("the head in parts", (HarnessCase[]){{"parts add up to the whole", parts_add_up},
                                                          {"what crosses between them", what_crosses},
                                                          {"what does not come apart", what_does_not_come_apart},
                                                          {NULL, NULL}});
}
