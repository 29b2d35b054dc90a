/* SPDX-License-Identifier: MIT */
/* A decoder beside an encoder: exact counts of published models, FLOPs by formula, what units read of each other, and
 * what is refused. */
#include <math.h>
#include <string.h>

#include "harness.h"
#include "kernel-op.h"
#include "model-unit.h"
#include "shape-case.h"

#define OLD "'model_type': 't5', 'vocab_size': 32128, 'is_encoder_decoder': true, "
#define NEW                                                                                                            \
  "'model_type': 't5', 'vocab_size': 32128, 'is_encoder_decoder': true, 'feed_forward_proj': 'gated-gelu', "           \
  "'tie_word_embeddings': false, "
#define SIZES(h, f, kv, heads, layers)                                                                                 \
  "'d_model': " h ", 'd_ff': " f ", 'd_kv': " kv ", 'num_heads': " heads ", 'num_layers': " layers

/* The keys that sizes and parts depend on, of the published files, and the counts of transformers' classes for them
 * (T5ForConditionalGeneration, MT5…), which the papers round (arXiv 1910.10683 section 3.7: 60 M, 220 M, 770 M, 3 B,
 * 11 B; 2010.11934 table 1: mT5-small 300 M). */
static const struct {
  const char *json;
  guint64 parameters;
} published[] = {
    {"{" OLD SIZES("512", "2048", "64", "8", "6") "}", 60506624},                                  /* t5-small */
    {"{" OLD SIZES("768", "3072", "64", "12", "12") "}", 222903552},                               /* t5-base */
    {"{" OLD SIZES("1024", "4096", "64", "16", "24") "}", 737668096},                              /* t5-large */
    {"{" OLD SIZES("1024", "16384", "128", "32", "24") "}", 2851598336},                           /* t5-3b */
    {"{" OLD SIZES("1024", "65536", "128", "128", "24") "}", 11307321344},                         /* t5-11b */
    {"{" NEW SIZES("768", "2048", "64", "12", "12") "}", 247577856},                               /* flan-t5-base */
    {"{" NEW SIZES("2048", "5120", "64", "32", "24") "}", 2849757184},                             /* flan-t5-xl */
    {"{" NEW SIZES("4096", "10240", "64", "64", "24") ", 'num_decoder_layers': 24}", 11135332352}, /* t5-v1.1-xxl */
    /* mt5-small, whose head is its own by default */
    {"{'model_type': 'mt5', 'vocab_size': 250112, " SIZES("512", "1024", "64", "6", "8") "}", 300176768},
    /* umt5-small: by hand, 2 · 256 384 · 512 of table and head, 8 layers of 4 · 512 · 384 + 3 · 512 · 1024 + 32 · 6 +
     * 2 · 512 and 8 of 8 · 512 · 384 + 3 · 512 · 1024 + 32 · 6 + 3 · 512, two norms of 512 */
    {"{'model_type': 'umt5', 'vocab_size': 256384, " SIZES("512", "1024", "64", "6", "8") "}", 306601984},
};

static guint64 elements_of_units(const ModelShape *shape, const ModelRecipe *recipe) {
  guint64 sum = 0;
  for (guint64 unit = 0; unit < model_units_of(shape, FALSE); unit++) {
    g_autoptr(ModelUnit) built = model_unit_new(shape, recipe, 1, model_unit_kind_of(shape, unit));
    sum += model_unit_elements(built);
  }
  return sum;
}

static const ModelRecipe recipe = {
    .sequence_length = 512, .decoder_length = 128, .attention = MODEL_ATTENTION_EAGER, .dropout = 0.1};

static void counts_published_models(void) {
  for (gsize i = 0; i < G_N_ELEMENTS(published); i++) {
    ModelShape shape = shape_case_load(published[i].json, NULL);
    CU_ASSERT_EQUAL(model_shape_parameters(&shape), published[i].parameters);
    CU_ASSERT_EQUAL(elements_of_units(&shape, &recipe), published[i].parameters);
    model_shape_clear(&shape);
  }
}

/* PaLM's count (arXiv 2204.02311, appendix B) for each stack: 6 per token and weight that works on it, and of attention
 * 12 · heads · width · tokens seen per token and layer. An encoder's token goes through its layers, and through keys
 * and values of each of the decoder's; a decoder's through all else, and sees both sequences. */
static void flops_by_formula(void) {
  ModelShape shape = shape_case_load(published[6].json, NULL);
  double s = 512, t = 128, h = 2048, f = 5120, q = 32 * 64, v = 32128, layers = 24, batch = 4;
  double encoder = s * layers * (6 * (4 * h * q + 3 * h * f + 2 * h * q) + 12 * q * s);
  double decoder = t * layers * (6 * (6 * h * q + 3 * h * f) + 12 * q * (t + s)) + t * 6 * h * v;
  double nominal = 0;
  for (guint64 unit = 0; unit < model_units_of(&shape, FALSE); unit++) {
    g_autoptr(ModelUnit) built = model_unit_new(&shape, &recipe, (guint64)batch, model_unit_kind_of(&shape, unit));
    nominal += model_unit_forward_cost(built).nominal_flops + model_unit_backward_cost(built).nominal_flops;
  }
  CU_ASSERT_DOUBLE_EQUAL(nominal, batch * (encoder + decoder), 1e-9 * nominal);
  model_shape_clear(&shape);
}

static guint count_sides(const ModelUnit *unit, ModelTensorRole role, ModelSide side) {
  guint n = 0;
  for (guint t = 0; t < unit->n_tensors; t++)
    n += unit->tensors[t].role == role && unit->tensors[t].side == side;
  return n;
}

static guint count_joins(const ModelUnit *unit) {
  guint n = 0;
  for (guint i = 0; i < unit->n_backward; i++)
    n += unit->backward[i].joins;
  return n;
}

/* Of a stack's layers the first has the table (t5), or each has one (umt5), which is no other unit's business. A
 * decoder's layer joins the memory's gradient of keys and of values. */
static void units_read_each_other(void) {
  static const ModelUnitKind kinds[] = {MODEL_UNIT_EMBEDDING, MODEL_UNIT_LAYER_FIRST, MODEL_UNIT_LAYER,
                                        MODEL_UNIT_LAYER,     MODEL_UNIT_BETWEEN,     MODEL_UNIT_DECODER_FIRST,
                                        MODEL_UNIT_DECODER,   MODEL_UNIT_HEAD};
  static const gint64 layers[] = {-1, 0, 1, 2, -1, 3, 4, -1};
  ModelShape shape = shape_case_load("{" OLD SIZES("512", "2048", "64", "8", "3") ", 'num_decoder_layers': 2}", NULL);
  ModelShape each =
      shape_case_load("{'model_type': 'umt5', 'vocab_size': 100, " SIZES("64", "96", "16", "4", "3") "}", NULL);
  CU_ASSERT_EQUAL(model_units_of(&shape, FALSE), G_N_ELEMENTS(kinds));
  for (guint64 unit = 0; unit < G_N_ELEMENTS(kinds); unit++) {
    CU_ASSERT_EQUAL(model_unit_kind_of(&shape, unit), kinds[unit]);
    CU_ASSERT_EQUAL(model_unit_layer_of(&shape, unit), layers[unit]);
    if (layers[unit] >= 0)
      CU_ASSERT_EQUAL(model_unit_of_layer(&shape, (guint64)layers[unit]), unit);
  }
  g_autoptr(ModelUnit) layer = model_unit_new(&shape, &recipe, 2, MODEL_UNIT_LAYER);
  g_autoptr(ModelUnit) decoder = model_unit_new(&shape, &recipe, 2, MODEL_UNIT_DECODER);
  g_autoptr(ModelUnit) own = model_unit_new(&each, &recipe, 2, MODEL_UNIT_DECODER);
  CU_ASSERT_EQUAL(count_sides(layer, MODEL_TENSOR_SIDE, MODEL_SIDE_ENCODER_BIAS), 1);
  CU_ASSERT_EQUAL(count_sides(layer, MODEL_TENSOR_GRAD_SIDE, MODEL_SIDE_ENCODER_BIAS), 1);
  CU_ASSERT_EQUAL(count_sides(layer, MODEL_TENSOR_SIDE, MODEL_SIDE_MEMORY), 0);
  CU_ASSERT_EQUAL(count_sides(decoder, MODEL_TENSOR_SIDE, MODEL_SIDE_DECODER_BIAS), 1);
  CU_ASSERT_EQUAL(count_sides(decoder, MODEL_TENSOR_SIDE, MODEL_SIDE_CROSS_BIAS), 1);
  CU_ASSERT_EQUAL(count_sides(decoder, MODEL_TENSOR_GRAD_SIDE, MODEL_SIDE_CROSS_BIAS), 0);
  CU_ASSERT_EQUAL(count_sides(own, MODEL_TENSOR_SIDE, MODEL_SIDE_DECODER_BIAS), 0);
  CU_ASSERT_EQUAL(count_joins(layer), 1);
  CU_ASSERT_EQUAL(count_joins(decoder), 3);
  CU_ASSERT_EQUAL(count_joins(own), 2);
  model_shape_clear(&shape);
  model_shape_clear(&each);
}

static guint64 bytes_of(const ModelUnit *unit, const char *name) {
  guint64 bytes = 0;
  for (guint t = 0; t < unit->n_tensors; t++)
    bytes += strcmp(unit->tensors[t].name, name) == 0 ? unit->tensors[t].bytes : 0;
  return bytes;
}

/* Of 2 sequences, 8 heads: scores of 128 and 512 tokens in 16 bits, their softmax in 32, kept; dropout's mask a byte.
 * relu keeps its result alone, which the row layer reads, where nothing is dropped out between. */
static void keeps_what_t5_keeps(void) {
  ModelShape shape = shape_case_load(published[0].json, NULL);
  ModelRecipe dry = recipe;
  dry.dropout = 0;
  g_autoptr(ModelUnit) decoder = model_unit_new(&shape, &recipe, 2, MODEL_UNIT_DECODER);
  g_autoptr(ModelUnit) plain = model_unit_new(&shape, &dry, 2, MODEL_UNIT_LAYER);
  guint64 pairs = (guint64)2 * 8 * 128 * 512, inside = (guint64)2 * 512 * 2048;
  CU_ASSERT_EQUAL(bytes_of(decoder, "cross_scores"), 2 * pairs);
  CU_ASSERT_EQUAL(bytes_of(decoder, "cross_softmax_fp32"), 4 * pairs);
  CU_ASSERT_EQUAL(bytes_of(decoder, "cross_probabilities_mask"), pairs);
  CU_ASSERT_EQUAL(bytes_of(decoder, "cross_bias"), 2 * pairs);
  CU_ASSERT_EQUAL(bytes_of(decoder, "memory"), 2 * 2 * 512 * 512);
  CU_ASSERT_EQUAL(bytes_of(plain, "gelu"), 2 * inside);
  for (guint i = 0; i < plain->n_forward; i++)
    if (strcmp(plain->forward[i].name, "gelu") == 0)
      CU_ASSERT_EQUAL(plain->forward[i].saves, plain->forward[i].writes);
  model_shape_clear(&shape);
}

static void refuses(void) {
  static const char *const common[] = {"model.layers=2",
                                       "model.hidden_size=64",
                                       "model.heads=4",
                                       "model.intermediate_size=96",
                                       "model.vocab_size=1000",
                                       "model.head_dim=16",
                                       "training.sequence_length=128",
                                       NULL};
  static const char *const refused[][4] = {
      {"model.family=t5", "model.tied_embeddings=yes", NULL, "model.encoder_layers"},
      {"model.family=llama", "model.encoder_layers=2", NULL, "llama has no encoder"},
      {"model.family=llama", "model.relative_buckets=8", NULL, "no learned bias by distance"},
      {"model.family=llama", "training.decoder_length=8", NULL, "one stack of layers"},
      {"model.family=t5", "model.encoder_layers=2", "model.kv_heads=2", "as many as heads"},
      {"model.family=t5", "model.encoder_layers=2", "training.attention=flash", "no flash kernel"},
      {"model.family=t5", "model.encoder_layers=2", "training.compile=yes", "compiled layers"},
      {"model.family=t5", "model.encoder_layers=2", "training.fused_kernels=yes", "norms alone"},
      {"model.family=t5", "model.encoder_layers=2", "training.precision=fp8", "fp8 is not modelled"},
      {"model.family=t5", "model.encoder_layers=2", "training.projections=joined", "separate"}};
  for (gsize i = 0; i < G_N_ELEMENTS(refused); i++) {
    g_autoptr(ConfSettings) settings = shape_case_settings(common);
    for (gsize k = 0; k < 3 && refused[i][k] != NULL; k++)
      CU_ASSERT_TRUE(conf_settings_set(settings, refused[i][k], NULL));
    ModelShape shape = {0};
    ModelRecipe loaded = {0};
    GError *error = NULL;
    CU_ASSERT_TRUE(model_recipe_load(settings, &loaded, NULL));
    gboolean good = model_shape_load(settings, &shape, &error);
    if (good) {
      model_recipe_settle(&shape, settings, &loaded);
      good = model_recipe_check(&shape, &loaded, settings, &error);
    }
    HARNESS_FAILS(good, error, refused[i][3]);
    model_shape_clear(&shape);
  }
}

/* What nobody said: the decoder's sequence is as long as the encoder's, and attention is what T5 has. */
static void settles(void) {
  ModelShape shape = shape_case_load(published[0].json, NULL);
  g_autoptr(ConfSettings) settings = shape_case_settings((const char *[]){"training.sequence_length=512", NULL});
  ModelRecipe loaded = {0};
  CU_ASSERT_TRUE(model_recipe_load(settings, &loaded, NULL));
  CU_ASSERT_EQUAL(loaded.attention, MODEL_ATTENTION_FLASH);
  model_recipe_settle(&shape, settings, &loaded);
  CU_ASSERT_EQUAL(loaded.attention, MODEL_ATTENTION_EAGER);
  CU_ASSERT_EQUAL(loaded.decoder_length, 512);
  CU_ASSERT_EQUAL(model_recipe_tokens(&loaded), 1024);
  model_shape_clear(&shape);
}

int main(void) {
  return harness_run("model-stacks", (HarnessCase[]){{"counts published models", counts_published_models},
                                                     {"FLOPs by formula", flops_by_formula},
                                                     {"units read each other", units_read_each_other},
                                                     {"keeps what T5 keeps", keeps_what_t5_keeps},
                                                     {"settles what nobody said", settles},
                                                     {"refuses", refuses},
                                                     {NULL, NULL}});
}
