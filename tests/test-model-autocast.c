/* SPDX-License-Identifier: MIT */
/* fp32 parameters under torch.autocast: what units keep, counted by hand, how often they cast, what is cast of their
 * parameters. */
#include <string.h>

#include "model-masks.h"
#include "model-train.h"

#define TOKENS 1024
#define HEADS  32

static ModelShape shape_of(int family) {
  return (ModelShape){.family = family,
                      .layers = 2,
                      .hidden_size = 4096,
                      .heads = HEADS,
                      .kv_heads = family == MODEL_GPT ? HEADS : 8,
                      .head_dim = 128,
                      .intermediate_size = family == MODEL_GPT ? 16384 : 14336,
                      .vocab_size = 32000,
                      .max_positions = TOKENS,
                      .tied_embeddings = family == MODEL_GPT};
}

static ModelRecipe recipe_of(int kernels, gboolean compiled) {
  return (ModelRecipe){.sequence_length = TOKENS, .kernels = kernels, .compiled = compiled, .autocast = TRUE};
}

static ModelUnit *unit_of(int family, const ModelRecipe *recipe, ModelUnitKind kind) {
  ModelShape shape = shape_of(family);
  return model_unit_new(&shape, recipe, 1, kind);
}

static guint count_ending(const ModelOp *ops, guint n, const char *end) {
  guint count = 0;
  for (guint i = 0; i < n; i++)
    count += g_str_has_suffix(ops[i].name, end) ? 1 : 0;
  return count;
}

static guint64 bytes_of(const ModelUnit *unit, const char *tensor) {
  for (guint i = 0; i < unit->n_tensors; i++)
    if (strcmp(unit->tensors[i].name, tensor) == 0)
      return unit->tensors[i].bytes;
  return 0;
}

/* Bytes a token of Transformers' Llama layer, h wide, q and kv the queries' and keys' widths, f inside:
 *   4h + 4h   the stream, kept by the first norm's square and product; the product, for the norm's weight
 *   3 · 2h    what q_proj, k_proj and v_proj read, a copy each
 *   2q + 4kv  q and k turned, and v; 2q + 4a the context and its sums
 *   4h + 4h   of the second norm
 *   2 · 2h    what gate_proj and up_proj read
 *   4 · 2f    gate, its silu, up, and the product that down_proj reads
 * What norms make is read by the casts alone, and goes. With norms in one kernel each the products stay away; compiled,
 * one copy of what a norm makes serves all, and silu is made again. */
static void llama_keeps_by_hand(void) {
  const guint64 h = 4096, q = 4096, kv = 1024, f = 14336, inside = 2 * q + 4 * kv + 2 * q + 4 * HEADS;
  const struct {
    int kernels;
    gboolean compiled;
    guint64 expected;
  } cases[] = {
      {MODEL_KERNELS_EAGER, FALSE, 8 * h + 3 * 2 * h + 8 * h + 2 * 2 * h + inside + 8 * f},
      {MODEL_KERNELS_RMS_NORM, FALSE, 4 * h + 3 * 2 * h + 4 * h + 2 * 2 * h + inside + 8 * f},
      {MODEL_KERNELS_FUSED, FALSE, 4 * h + 3 * 2 * h + 4 * h + 2 * 2 * h + inside + 6 * f},
      {MODEL_KERNELS_FUSED, TRUE, 4 * h + 2 * h + 4 * h + 2 * h + inside + 6 * f},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    ModelRecipe recipe = recipe_of(cases[i].kernels, cases[i].compiled);
    g_autoptr(ModelUnit) layer = unit_of(MODEL_LLAMA, &recipe, MODEL_UNIT_LAYER);
    CU_ASSERT_EQUAL(model_unit_saved_bytes(layer), TOKENS * cases[i].expected);
  }
}

/* Of GPT-2's layer: LayerNorm keeps its input, 4h, and c_attn and c_fc one copy of what it made, 2h; queries, keys and
 * values 6h, the context 2h + 4a, gelu's input and output 4 · 2h each, and a mask of one byte for each dropout. The
 * embedding's mask is of fp32 numbers, one byte each as well. */
static void gpt_keeps_by_hand(void) {
  const guint64 h = 4096;
  ModelRecipe recipe = recipe_of(MODEL_KERNELS_EAGER, FALSE);
  g_autoptr(ModelUnit) plain = unit_of(MODEL_GPT, &recipe, MODEL_UNIT_LAYER);
  recipe.dropout = 0.1;
  g_autoptr(ModelUnit) dropped = unit_of(MODEL_GPT, &recipe, MODEL_UNIT_LAYER);
  guint64 kept = (4 * h + 2 * h + 6 * h + 2 * h + 4 * HEADS) + (4 * h + 2 * h + 8 * h + 8 * h);
  CU_ASSERT_EQUAL(model_unit_saved_bytes(plain), TOKENS * kept);
  CU_ASSERT_EQUAL(model_unit_saved_bytes(dropped), TOKENS * (kept + 2 * h));
  g_autoptr(ModelUnit) embedding = unit_of(MODEL_GPT, &recipe, MODEL_UNIT_EMBEDDING);
  CU_ASSERT_EQUAL(model_unit_saved_bytes(embedding), TOKENS * (h + 8)); /* and the ids, int64 */
}

/* Between units there are 4 bytes an element, each way; the head keeps the final norm's input and product, 8h, the copy
 * that the output layer read, 2h, and the fp32 log-softmax. */
static void the_stream_is_fp32(void) {
  const guint64 h = 4096, v = 32000;
  ModelRecipe recipe = recipe_of(MODEL_KERNELS_EAGER, FALSE);
  static const char *const boundaries[] = {"input", "output", "d_input", "d_output"};
  for (int kind = MODEL_UNIT_EMBEDDING; kind <= MODEL_UNIT_HEAD; kind++) {
    g_autoptr(ModelUnit) unit = unit_of(MODEL_LLAMA, &recipe, kind);
    for (gsize i = 0; i < G_N_ELEMENTS(boundaries); i++)
      CU_ASSERT_TRUE(bytes_of(unit, boundaries[i]) == 0 || bytes_of(unit, boundaries[i]) == TOKENS * 4 * h);
  }
  g_autoptr(ModelUnit) head = unit_of(MODEL_LLAMA, &recipe, MODEL_UNIT_HEAD);
  CU_ASSERT_EQUAL(bytes_of(head, "input"), TOKENS * 4 * h);
  CU_ASSERT_EQUAL(model_unit_saved_bytes(head), TOKENS * (8 * h + 2 * h + 4 * v));
}

/* A cast for each layer that reads a norm's output, forward and back; back, one for the gradient of each branch.
 * Compiled the first branch's is a second output of the sum before it. A cast reads 4 bytes and writes 2, or the other
 * way round. */
static void each_layer_casts(void) {
  const struct {
    int family, projections;
    gboolean compiled;
    guint inputs, branches;
  } cases[] = {
      {MODEL_LLAMA, MODEL_PROJECTIONS_SEPARATE, FALSE, 5, 2},
      {MODEL_LLAMA, MODEL_PROJECTIONS_JOINED, FALSE, 2, 2},
      {MODEL_LLAMA, MODEL_PROJECTIONS_SEPARATE, TRUE, 0, 1},
      {MODEL_GPT, MODEL_PROJECTIONS_SEPARATE, FALSE, 2, 2},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    ModelRecipe recipe = recipe_of(cases[i].compiled ? MODEL_KERNELS_FUSED : MODEL_KERNELS_EAGER, cases[i].compiled);
    recipe.projections = cases[i].projections;
    g_autoptr(ModelUnit) layer = unit_of(cases[i].family, &recipe, MODEL_UNIT_LAYER);
    CU_ASSERT_EQUAL(count_ending(layer->forward, layer->n_forward, ".autocast"), cases[i].inputs);
    CU_ASSERT_EQUAL(count_ending(layer->backward, layer->n_backward, ".autocast.backward"), cases[i].inputs);
    CU_ASSERT_EQUAL(count_ending(layer->backward, layer->n_backward, "_autocast.backward"), cases[i].branches);
    for (guint j = 0; j < layer->n_forward; j++)
      if (g_str_has_suffix(layer->forward[j].name, ".autocast"))
        CU_ASSERT_EQUAL(layer->forward[j].kernel->bytes, (guint64)TOKENS * 4096 * (4 + 2));
  }
}

/* Matrices are cast, norms and tables are not; a tied table is, as the head's. */
static void matrices_are_cast(void) {
  const guint64 h = 4096, kv = 1024, f = 14336, v = 32000;
  ModelRecipe recipe = recipe_of(MODEL_KERNELS_EAGER, FALSE);
  g_autoptr(ModelUnit) layer = unit_of(MODEL_LLAMA, &recipe, MODEL_UNIT_LAYER);
  g_autoptr(ModelUnit) embedding = unit_of(MODEL_GPT, &recipe, MODEL_UNIT_EMBEDDING);
  g_autoptr(ModelUnit) head = unit_of(MODEL_GPT, &recipe, MODEL_UNIT_HEAD);
  CU_ASSERT_EQUAL(model_unit_cast_elements(layer), 2 * h * h + 2 * h * kv + 3 * h * f);
  CU_ASSERT_EQUAL(model_unit_cast_elements(embedding), 0);
  CU_ASSERT_EQUAL(model_unit_cast_elements(head), v * h);
}

/* An adapter reads the copy that its frozen layer reads, and keeps it for its own weights. With dropout it keeps what
 * was dropped, and a mask, a byte more, in place of the copy, of which one then serves q, k and v, and another gate and
 * up, as part of their norms. */
static void adapters_read_the_copy(void) {
  const guint64 h = 4096;
  ModelRecipe recipe = recipe_of(MODEL_KERNELS_FUSED, FALSE);
  g_assert_true(model_lora_parse("lora:16:q_proj+v_proj", &recipe.lora, NULL));
  g_autoptr(ModelUnit) plain = unit_of(MODEL_LLAMA, &recipe, MODEL_UNIT_LAYER);
  recipe.lora_dropout = 0.05;
  g_autoptr(ModelUnit) dropped = unit_of(MODEL_LLAMA, &recipe, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(count_ending(plain->forward, plain->n_forward, ".autocast"), 5);
  CU_ASSERT_EQUAL(count_ending(dropped->forward, dropped->n_forward, ".autocast"), 0);
  CU_ASSERT_EQUAL(bytes_of(dropped, "normed"), TOKENS * 2 * h);
  CU_ASSERT_EQUAL(bytes_of(dropped, "middle"), TOKENS * 4 * h);
  model_unit_train(plain, MODEL_TRAINED);
  model_unit_train(dropped, MODEL_TRAINED);
  CU_ASSERT_EQUAL(model_unit_saved_bytes(dropped), model_unit_saved_bytes(plain) + 2 * TOKENS * h);
  masks_check(dropped);
}

/* Adapters on every layer in 4 bits, by separate kernels, beside norms of heads: as many tensors as a set holds. */
static void all_adapters_fit(void) {
  ModelShape shape = shape_of(MODEL_LLAMA);
  shape.traits |= MODEL_QK_NORM;
  ModelRecipe recipe = recipe_of(MODEL_KERNELS_EAGER, FALSE);
  recipe.base = MODEL_BASE_NF4;
  g_assert_true(model_lora_parse("lora:16:all-linear", &recipe.lora, NULL));
  g_autoptr(ModelUnit) layer = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_TRUE(layer->n_tensors <= MODEL_TENSORS_MOST);
  CU_ASSERT_EQUAL(bytes_of(layer, "middle"), (guint64)TOKENS * 4 * 4096);
  masks_check(layer);
}

/* Nothing is wider than fp32, so that there autocast changes nothing. */
static void fp32_is_as_it_was(void) {
  for (int kind = 0; kind < MODEL_UNIT_KINDS; kind++) {
    ModelRecipe recipe = recipe_of(MODEL_KERNELS_EAGER, FALSE);
    recipe.precision = MODEL_FP32;
    g_autoptr(ModelUnit) with = unit_of(MODEL_LLAMA, &recipe, kind);
    recipe.autocast = FALSE;
    g_autoptr(ModelUnit) without = unit_of(MODEL_LLAMA, &recipe, kind);
    CU_ASSERT_EQUAL(with->n_forward, without->n_forward);
    CU_ASSERT_EQUAL(model_unit_saved_bytes(with), model_unit_saved_bytes(without));
    CU_ASSERT_EQUAL(model_unit_backward_cost(with).bytes, model_unit_backward_cost(without).bytes);
  }
}

/* Norms of heads: 16 bits in, fp32 out, since their weight is; turned in fp32, cast for attention. */
static void heads_are_turned_in_fp32(void) {
  ModelShape shape = shape_of(MODEL_LLAMA);
  shape.traits |= MODEL_QK_NORM;
  ModelRecipe recipe = recipe_of(MODEL_KERNELS_EAGER, FALSE);
  g_autoptr(ModelUnit) layer = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(bytes_of(layer, "q_unrotated"), (guint64)TOKENS * 2 * 4096);
  CU_ASSERT_EQUAL(bytes_of(layer, "q_normed"), (guint64)TOKENS * 4 * 4096);
  CU_ASSERT_EQUAL(bytes_of(layer, "turned"), (guint64)TOKENS * 4 * (4096 + 1024));
  CU_ASSERT_EQUAL(bytes_of(layer, "q"), (guint64)TOKENS * 2 * 4096);
}

int main(void) {
  return harness_run("model-autocast", (HarnessCase[]){{"llama keeps by hand", llama_keeps_by_hand},
                                                       {"gpt keeps by hand", gpt_keeps_by_hand},
                                                       {"the stream is fp32", the_stream_is_fp32},
                                                       {"each layer casts", each_layer_casts},
                                                       {"matrices are cast", matrices_are_cast},
                                                       {"adapters read the copy", adapters_read_the_copy},
                                                       {"all adapters fit", all_adapters_fit},
                                                       {"fp32 is as it was", fp32_is_as_it_was},
                                                       {"heads are turned in fp32", heads_are_turned_in_fp32},
                                                       {NULL, NULL}});
}
