/* SPDX-License-Identifier: MIT */
/* The layer that foretells a further token: parameters, FLOPs and boundaries, and which models have one. */
#include <string.h>

#include "model-masks.h"

#define TOKENS 128

static const ModelRecipe recipe = {.sequence_length = TOKENS};

static const ModelShape dense = {.family = MODEL_LLAMA,
                                 .layers = 3,
                                 .hidden_size = 64,
                                 .heads = 4,
                                 .kv_heads = 2,
                                 .head_dim = 16,
                                 .intermediate_size = 96,
                                 .vocab_size = 1000,
                                 .mtp_layers = 1};

/* DeepSeek-V3's config.json (huggingface.co/deepseek-ai/DeepSeek-V3). */
static ModelShape deepseek(void) {
  ModelShape shape = {.layers = 61,
                      .hidden_size = 7168,
                      .heads = 128,
                      .kv_heads = 128,
                      .head_dim = 192,
                      .intermediate_size = 18432,
                      .vocab_size = 129280,
                      .rotary_dim = 64,
                      .kv_rank = 512,
                      .q_rank = 1536,
                      .value_dim = 128,
                      .experts = 256,
                      .experts_per_token = 8,
                      .expert_intermediate_size = 2048,
                      .shared_intermediate_size = 2048,
                      .dense_layers = 3,
                      .mtp_layers = 1};
  while (strcmp(model_family_names[shape.family], "deepseek_v3") != 0)
    shape.family++;
  return shape;
}

static guint64 elements_of_units(const ModelShape *shape) {
  guint64 sum = 0;
  for (guint64 unit = 0; unit < shape->layers + shape->mtp_layers + 2; unit++) {
    g_autoptr(ModelUnit) built = model_unit_new(shape, &recipe, 1, model_unit_kind_of(shape, unit));
    sum += model_unit_elements(built);
  }
  return sum;
}

/* 671 026 419 200 of the main model and, by hand, experts 257 · 3 · 7168 · 2048, latent attention 187 107 328, router
 * 1 835 264, norms 5 · 7168, eh_proj 2 · 7168²: 11 610 068 224. The published files have 13.5 B more than the main
 * model ("14B of the Multi-Token Prediction (MTP) Module weights", "11.5B unique", README_WEIGHTS.md): these, and
 * copies of embedding and head, 129 280 · 7168 each. */
static void counts_deepseek(void) {
  ModelShape shape = deepseek();
  CU_ASSERT_EQUAL(model_shape_parameters(&shape), 671026419200 + 11610068224);
  CU_ASSERT_EQUAL(elements_of_units(&shape) + 59 * 256, model_shape_parameters(&shape)); /* no gradient moves these */
  CU_ASSERT_EQUAL(elements_of_units(&dense), model_shape_parameters(&dense));
}

static guint64 role_bytes(const ModelUnit *unit, ModelTensorRole role) {
  guint64 bytes = 0;
  for (guint t = 0; t < unit->n_tensors; t++)
    bytes += unit->tensors[t].role == role ? unit->tensors[t].bytes : 0;
  return bytes;
}

/* Bytes of what crosses ranks. */
static guint64 exchanged(const ModelOp *ops, guint n) {
  guint64 bytes = 0;
  for (guint i = 0; i < n; i++)
    bytes += ops[i].exchange.kind != MODEL_EXCHANGE_NONE ? ops[i].exchange.bytes : 0;
  return bytes;
}

/* One stream comes in, two go out, and the head reads both: 2 bytes · 128 tokens · 64. */
static void boundaries_meet(void) {
  guint64 stream = 2 * TOKENS * 64;
  CU_ASSERT_EQUAL(model_unit_kind_of(&dense, 3), MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(model_unit_kind_of(&dense, 4), MODEL_UNIT_LAYER_FURTHER);
  CU_ASSERT_EQUAL(model_unit_kind_of(&dense, 5), MODEL_UNIT_HEAD);
  g_autoptr(ModelUnit) further = model_unit_new(&dense, &recipe, 1, MODEL_UNIT_LAYER_FURTHER);
  g_autoptr(ModelUnit) head = model_unit_new(&dense, &recipe, 1, MODEL_UNIT_HEAD);
  CU_ASSERT_EQUAL(role_bytes(further, MODEL_TENSOR_INPUT), stream);
  CU_ASSERT_EQUAL(role_bytes(further, MODEL_TENSOR_OUTPUT), 2 * stream);
  CU_ASSERT_EQUAL(role_bytes(further, MODEL_TENSOR_GRAD_OUTPUT), 2 * stream);
  CU_ASSERT_EQUAL(role_bytes(further, MODEL_TENSOR_GRAD_INPUT), stream);
  CU_ASSERT_EQUAL(role_bytes(head, MODEL_TENSOR_INPUT), 2 * stream);
  CU_ASSERT_EQUAL(role_bytes(head, MODEL_TENSOR_GRAD_INPUT), 2 * stream);
}

/* Over a plain layer: eh_proj, 2 · tokens · 2 h · h forward, twice that backward. The head multiplies two streams. */
static void flops_of_a_further_token(void) {
  ModelShape without = dense;
  without.mtp_layers = 0;
  double projection = 2.0 * TOKENS * 2 * 64 * 64;
  g_autoptr(ModelUnit) layer = model_unit_new(&dense, &recipe, 1, MODEL_UNIT_LAYER);
  g_autoptr(ModelUnit) further = model_unit_new(&dense, &recipe, 1, MODEL_UNIT_LAYER_FURTHER);
  g_autoptr(ModelUnit) one = model_unit_new(&without, &recipe, 1, MODEL_UNIT_HEAD);
  g_autoptr(ModelUnit) two = model_unit_new(&dense, &recipe, 1, MODEL_UNIT_HEAD);
  CU_ASSERT_EQUAL(model_unit_forward_cost(further).flops, model_unit_forward_cost(layer).flops + projection);
  CU_ASSERT_EQUAL(model_unit_backward_cost(further).flops, model_unit_backward_cost(layer).flops + 2 * projection);
  CU_ASSERT_EQUAL(model_unit_forward_cost(two).flops, 2 * model_unit_forward_cost(one).flops);
  CU_ASSERT_EQUAL(model_unit_backward_cost(two).flops, 2 * model_unit_backward_cost(one).flops);
}

/* Every parameter gets one gradient, the embedding's table too, which is the embedding's own where that is near. */
static void gradients_are_made(void) {
  g_autoptr(ModelUnit) further = model_unit_new(&dense, &recipe, 1, MODEL_UNIT_LAYER_FURTHER);
  guint tables = 0;
  for (guint p = 0; p < further->n_parameters; p++) {
    guint made = 0;
    for (guint i = 0; i < further->n_backward; i++)
      made += further->backward[i].gradient_of == (int)p || further->backward[i].also_gradient_of == (int)p;
    CU_ASSERT_EQUAL(made, 1);
    tables += further->parameters[p].shared && further->parameters[p].elements == 64000;
  }
  CU_ASSERT_EQUAL(tables, 1);
}

static void joins_ranks(const ModelShape *shape, guint32 tensor, gboolean sequence) {
  ModelRecipe shared = recipe;
  shared.kernels = MODEL_KERNELS_FUSED;
  shared.share.tensor = tensor;
  shared.share.sequence_parallel = sequence;
  g_autoptr(ModelUnit) alone = model_unit_new(shape, &recipe, 2, MODEL_UNIT_LAYER_FURTHER);
  g_autoptr(ModelUnit) further = model_unit_new(shape, &shared, 2, MODEL_UNIT_LAYER_FURTHER);
  g_autoptr(ModelUnit) layer = model_unit_new(shape, &shared, 2, MODEL_UNIT_LAYER);
  masks_check(further);
  masks_check_gradients(further);
  double own = model_unit_forward_cost(further).nominal_flops, all = model_unit_forward_cost(alone).nominal_flops;
  CU_ASSERT_DOUBLE_EQUAL(own * tensor, all, 1e-9 * all);
  guint64 stream = 2 * 2 * TOKENS * 64,
          sent = exchanged(further->forward, further->n_forward) - exchanged(layer->forward, layer->n_forward);
  CU_ASSERT_EQUAL(sent, sequence ? (1 + 2 + 1) * stream : 2 * stream);
  sent = exchanged(further->backward, further->n_backward) - exchanged(layer->backward, layer->n_backward);
  CU_ASSERT_EQUAL(sent, sequence ? (1 + 2 + 1) * stream : 2 * stream);
  CU_ASSERT_EQUAL(role_bytes(further, MODEL_TENSOR_OUTPUT), 2 * stream / (sequence ? tensor : 1));
}

/* Of a stream of 2 · 128 tokens and 64 numbers cross, over a plain layer: the table's rows (summed), the columns of
 * eh_proj (gathered), and with sequence parallelism what that reads, two streams (gathered). Backward the gradient of
 * what it read (two streams, summed), of its columns, and of the rows with sequence parallelism (gathered). */
static void tensor_ranks_share_it(void) {
  for (guint32 tensor = 2; tensor <= 4; tensor *= 2)
    for (int sequence = 0; sequence < 2; sequence++)
      joins_ranks(&dense, tensor, sequence);
}

static void refuses(void) {
  static const char *const common[] = {"model.layers=2",
                                       "model.hidden_size=64",
                                       "model.heads=4",
                                       "model.intermediate_size=96",
                                       "model.vocab_size=1000",
                                       "model.mtp_layers=1",
                                       "training.sequence_length=128"};
  static const char *const refused[][3] = {{"model.family=llama", "model.tied_embeddings=yes", "tied to the embedding"},
                                           {"model.family=gpt_neox", "model.tied_embeddings=no", "not for gpt_neox"},
                                           {"model.family=opt", "model.tied_embeddings=no", "not for opt"}};
  const ConfSchema schemas[] = {model_shape_schema, model_recipe_schema};
  for (gsize i = 0; i < G_N_ELEMENTS(refused); i++) {
    g_autoptr(ConfSettings) settings = conf_settings_new(schemas, G_N_ELEMENTS(schemas));
    for (gsize k = 0; k < G_N_ELEMENTS(common); k++)
      CU_ASSERT_TRUE(conf_settings_set(settings, common[k], NULL));
    CU_ASSERT_TRUE(conf_settings_set(settings, refused[i][0], NULL));
    CU_ASSERT_TRUE(conf_settings_set(settings, refused[i][1], NULL));
    ModelShape shape = {0};
    GError *error = NULL;
    HARNESS_FAILS(model_shape_load(settings, &shape, &error), error, refused[i][2]);
  }
}

int main(void) {
  return harness_run("model-further", (HarnessCase[]){{"counts DeepSeek-V3's", counts_deepseek},
                                                      {"boundaries meet", boundaries_meet},
                                                      {"FLOPs of a further token", flops_of_a_further_token},
                                                      {"gradients are made", gradients_are_made},
                                                      {"tensor ranks share it", tensor_ranks_share_it},
                                                      {"refuses", refuses},
                                                      {NULL, NULL}});
}
