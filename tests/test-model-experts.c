/* SPDX-License-Identifier: MIT */
/* Experts and latent attention: FLOPs, rows, exchanges and memory against the papers' formulas. */
#include <string.h>

#include "model-masks.h"

static ModelShape mixture(void) {
  return (ModelShape){.family = MODEL_LLAMA,
                      .layers = 1,
                      .hidden_size = 256,
                      .heads = 4,
                      .kv_heads = 4,
                      .head_dim = 64,
                      .intermediate_size = 512,
                      .vocab_size = 100,
                      .experts = 16,
                      .experts_per_token = 4,
                      .expert_intermediate_size = 128};
}

#define TOKENS ((double)1024)

static ModelUnit *layer_of(const ModelShape *shape, ModelRecipe recipe) {
  recipe.sequence_length = (guint64)TOKENS;
  return model_unit_new(shape, &recipe, 1, MODEL_UNIT_LAYER);
}

static double matmuls(const ModelOp *ops, guint n, const char *prefix) {
  double flops = 0;
  for (guint i = 0; i < n; i++)
    flops += g_str_has_prefix(ops[i].name, prefix) ? model_op_cost(&ops[i]).flops : 0;
  return flops;
}

/* 2 t h per parameter that works on a token: k experts of 3 h f, the router's E h, the shared ones' 3 h f'. */
static void flops_are_of_active_experts(void) {
  ModelShape shape = mixture();
  double h = 256, f = 128, k = 4, e = 16;
  g_autoptr(ModelUnit) plain = layer_of(&shape, (ModelRecipe){0});
  CU_ASSERT_EQUAL(matmuls(plain->forward, plain->n_forward, "experts."), 2 * TOKENS * k * 3 * h * f);
  CU_ASSERT_EQUAL(matmuls(plain->backward, plain->n_backward, "experts."), 4 * TOKENS * k * 3 * h * f);
  CU_ASSERT_EQUAL(matmuls(plain->forward, plain->n_forward, "router"), 2 * TOKENS * h * e);
  shape.shared_intermediate_size = 384;
  g_autoptr(ModelUnit) shared = layer_of(&shape, (ModelRecipe){0});
  CU_ASSERT_EQUAL(model_unit_forward_cost(shared).flops - model_unit_forward_cost(plain).flops,
                  2 * TOKENS * 3 * h * 384);
  /* A layer of the same model without them has its MLP. */
  ModelRecipe recipe = {.sequence_length = (guint64)TOKENS};
  g_autoptr(ModelUnit) dense = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER_DENSE);
  CU_ASSERT_EQUAL(matmuls(dense->forward, dense->n_forward, "experts."), 0);
  CU_ASSERT_EQUAL(matmuls(dense->forward, dense->n_forward, "up_proj"), 2 * TOKENS * h * 512);
}

static const ModelOp *op_of(const ModelOp *ops, guint n, const char *name) {
  for (guint i = 0; i < n; i++)
    if (strcmp(ops[i].name, name) == 0)
      return &ops[i];
  printf("\n    no %s\n", name);
  CU_FAIL("an operation that should be there");
  abort();
}

/* Every rank sends its k rows of h elements per token, and gets them back: four all-to-alls of t k h e bytes, two each
 * way (arXiv 2006.16668, section 3.2), which end with the rank that is given most: it is sent, sends back and works on
 * `imbalance` times the mean; what counts for the model does not grow. */
static void ranks_share_experts(void) {
  ModelShape shape = mixture();
  ModelRecipe recipe = {.share = {.expert = 8}, .expert_imbalance = 1.5};
  g_autoptr(ModelUnit) unit = layer_of(&shape, recipe), whole = layer_of(&shape, (ModelRecipe){0});
  guint exchanges = 0;
  for (guint i = 0; i < unit->n_forward + unit->n_backward; i++) {
    const ModelOp *op = i < unit->n_forward ? &unit->forward[i] : &unit->backward[i - unit->n_forward];
    if (op->exchange.kind == MODEL_EXCHANGE_NONE)
      continue;
    exchanges++;
    CU_ASSERT_EQUAL(op->exchange.kind, MODEL_EXCHANGE_ALL_TO_ALL);
    CU_ASSERT_EQUAL(op->exchange.axis, MODEL_AXIS_EXPERT);
    CU_ASSERT_EQUAL(op->exchange.bytes, 1024 * 4 * 256 * 2 * 3 / 2);
  }
  CU_ASSERT_EQUAL(exchanges, 4);
  const ModelOp *up = op_of(unit->forward, unit->n_forward, "experts.up_proj");
  CU_ASSERT_EQUAL(up->kernel->batch, 2); /* of 16 experts over 8 ranks */
  CU_ASSERT_EQUAL(up->kernel->m, 1024 * 4 * 3 / 2 / 2);
  CU_ASSERT_EQUAL(up->nominal_flops, 2 * TOKENS * 4 * 256 * 128);
  CU_ASSERT_EQUAL(up->kernel->flops, 1.5 * up->nominal_flops);
  guint64 held = 0, all = 0;
  for (guint p = 0; p < unit->n_parameters; p++)
    if (unit->parameters[p].expert) {
      held += unit->parameters[p].elements;
      all += unit->parameters[p].whole;
    }
  CU_ASSERT_EQUAL(all, 16 * 3 * 256 * 128);
  CU_ASSERT_EQUAL(8 * held, all);
  CU_ASSERT_EQUAL(model_unit_elements(whole) - model_unit_elements(unit), all - held);
  masks_check(unit);
  masks_check_gradients(unit);
}

/* DeepEP: a token goes once to each of the 8 ranks that has any of its 4 experts of 16, two on each:
 * 8 (1 − C(14, 4) / C(16, 4)) = 3.6 on average; over two nodes once to each: 2 (1 − C(8, 4) / C(16, 4)) = 25 / 13. The
 * sums come back so. */
static void tokens_go_once(void) {
  ModelShape shape = mixture();
  ModelRecipe recipe = {.share = {.expert = 8, .dispatch = MODEL_DISPATCH_FLEX, .expert_nodes = 2}};
  g_autoptr(ModelUnit) unit = layer_of(&shape, recipe), rows = layer_of(&shape, (ModelRecipe){.share = {.expert = 8}});
  static const char *const names[] = {"experts.dispatch", "experts.combine", "experts.combine.backward",
                                      "experts.dispatch.backward"};
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
    const ModelOp *op =
        i < 2 ? op_of(unit->forward, unit->n_forward, names[i]) : op_of(unit->backward, unit->n_backward, names[i]);
    CU_ASSERT_EQUAL(op->exchange.bytes, (guint64)(1024 * 3.6 * 256 * 2));
    CU_ASSERT_EQUAL(op->exchange.far_bytes, (guint64)(1024 * 256 * 2 * 25.0 / 13));
  }
  CU_ASSERT_EQUAL(matmuls(unit->forward, unit->n_forward, "experts."),
                  matmuls(rows->forward, rows->n_forward, "experts."));
  masks_check(unit);
  masks_check_gradients(unit);
}

/* A token's experts are of 2 of 4 groups of four: on 4 of the 8 ranks, of which 4 (1 - C(6, 4) / C(8, 4)) = 22 / 7 have
 * some. Two nodes are fewer than groups: nothing is said of them. */
static void groups_bound_where_tokens_go(void) {
  ModelShape shape = mixture();
  ModelRecipe recipe = {.share = {.expert = 8, .dispatch = MODEL_DISPATCH_FLEX, .expert_nodes = 2}};
  shape.expert_groups = 4, shape.groups_per_token = 2;
  g_autoptr(ModelUnit) unit = layer_of(&shape, recipe);
  const ModelOp *op = op_of(unit->forward, unit->n_forward, "experts.dispatch");
  CU_ASSERT_EQUAL(op->exchange.bytes, (guint64)(1024 * 256 * 2 * 22.0 / 7));
  CU_ASSERT_EQUAL(op->exchange.far_bytes, (guint64)(1024 * 256 * 2 * 25.0 / 13));
}

/* Capacity: each expert takes so many times its mean, whatever the imbalance. Fewer rows than experts: as many
 * groups. */
static void capacity_pads(void) {
  ModelShape shape = mixture();
  ModelRecipe recipe = {.share = {.expert = 8}, .expert_imbalance = 3, .expert_capacity = 1.25};
  g_autoptr(ModelUnit) unit = layer_of(&shape, recipe);
  const ModelOp *up = op_of(unit->forward, unit->n_forward, "experts.up_proj");
  CU_ASSERT_EQUAL(up->kernel->batch * up->kernel->m, 1024 * 4 * 5 / 4);
  recipe = (ModelRecipe){.sequence_length = 2};
  g_autoptr(ModelUnit) few = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
  up = op_of(few->forward, few->n_forward, "experts.up_proj");
  CU_ASSERT_EQUAL(up->kernel->batch, 8);
  CU_ASSERT_EQUAL(up->kernel->m, 1);
}

/* Under tensor parallelism each rank gives all experts its own tokens; only shared ones are split. */
static void tensor_ranks_have_whole_experts(void) {
  ModelShape shape = mixture();
  shape.shared_intermediate_size = 256;
  ModelRecipe recipe = {.share = {.tensor = 2, .sequence_parallel = TRUE}};
  g_autoptr(ModelUnit) unit = layer_of(&shape, recipe);
  CU_ASSERT_EQUAL(matmuls(unit->forward, unit->n_forward, "experts."), TOKENS * 4 * 3 * 256 * 128);
  CU_ASSERT_EQUAL(matmuls(unit->forward, unit->n_forward, "shared_up_proj"), 2 * TOKENS * 256 * 128);
  for (guint p = 0; p < unit->n_parameters; p++)
    if (unit->parameters[p].expert)
      CU_ASSERT_EQUAL(unit->parameters[p].place, MODEL_PLACE_SUMMED);
  masks_check(unit);
  masks_check_gradients(unit);
}

/* DeepSeek-V3's attention (arXiv 2412.19437, section 4.2): per token 2 (h r_q + r_q a (n + r) + h (r_kv + r) + r_kv a
 * (n + v) + a v h), and of each of the causal half of its pairs 2 a (n + r + v); backward of the flash kernel three
 * of the first width and two of the second. */
static void latent_attention_by_its_widths(void) {
  ModelShape shape = {.family = MODEL_LLAMA,
                      .layers = 1,
                      .hidden_size = 7168,
                      .heads = 128,
                      .kv_heads = 128,
                      .head_dim = 192,
                      .intermediate_size = 18432,
                      .vocab_size = 100,
                      .rotary_dim = 64,
                      .value_dim = 128,
                      .kv_rank = 512,
                      .q_rank = 1536};
  double h = 7168, a = 128, n = 128, r = 64, v = 128, rq = 1536, rkv = 512, s = TOKENS;
  g_autoptr(ModelUnit) unit = layer_of(&shape, (ModelRecipe){0});
  double projections = h * rq + rq * a * (n + r) + h * (rkv + r) + rkv * a * (n + v) + a * v * h, mlp = 3 * h * 18432;
  double pairs = s * s / 2;
  CU_ASSERT_EQUAL(model_unit_forward_cost(unit).flops, 2 * s * (projections + mlp) + 2 * pairs * a * (n + r + v));
  CU_ASSERT_EQUAL(model_unit_backward_cost(unit).flops,
                  4 * s * (projections + mlp) + 2 * pairs * a * (3 * (n + r) + 2 * v));
}

/* Tensor ranks that split experts gather the rows that came to all of them, and scatter the sums: two exchanges of
 * tensor times the rows each way, beside the all-to-alls. Each works on as much as with whole experts. */
static void tensor_ranks_split_experts(void) {
  ModelShape shape = mixture();
  ModelRecipe recipe = {.share = {.tensor = 2, .sequence_parallel = TRUE, .expert = 4, .expert_tensor = 2}};
  g_autoptr(ModelUnit) split = layer_of(&shape, recipe);
  recipe.share.expert_tensor = 1;
  g_autoptr(ModelUnit) whole = layer_of(&shape, recipe);
  CU_ASSERT_EQUAL(model_unit_forward_cost(split).flops, model_unit_forward_cost(whole).flops);
  CU_ASSERT_EQUAL(model_unit_backward_cost(split).nominal_flops, model_unit_backward_cost(whole).nominal_flops);
  guint exchanges = 0;
  for (guint i = 0; i < split->n_forward + split->n_backward; i++) {
    const ModelOp *op = i < split->n_forward ? &split->forward[i] : &split->backward[i - split->n_forward];
    if (op->exchange.kind == MODEL_EXCHANGE_NONE || op->exchange.axis != MODEL_AXIS_EXPERT_TENSOR)
      continue;
    exchanges++;
    CU_ASSERT_EQUAL(op->exchange.bytes, 2 * (512 * 4) * 256 * 2);
  }
  CU_ASSERT_EQUAL(exchanges, 4);
  guint64 held = 0, all = 0;
  for (guint p = 0; p < split->n_parameters; p++)
    if (split->parameters[p].expert) {
      CU_ASSERT_EQUAL(split->parameters[p].place, MODEL_PLACE_SPLIT);
      held += split->parameters[p].elements;
      all += split->parameters[p].whole;
    }
  CU_ASSERT_EQUAL(all, 16 * 3 * 256 * 128);
  CU_ASSERT_EQUAL(4 * 2 * held, all);
}

static ModelShape latent(void) {
  return (ModelShape){.family = MODEL_LLAMA,
                      .layers = 1,
                      .hidden_size = 512,
                      .heads = 8,
                      .kv_heads = 8,
                      .head_dim = 96,
                      .intermediate_size = 512,
                      .vocab_size = 100,
                      .rotary_dim = 32,
                      .value_dim = 64,
                      .kv_rank = 128,
                      .q_rank = 256};
}

/* What crosses tensor ranks is as wide as the latents: gathered under sequence parallelism are queries' latent, keys'
 * latent and the turned part, and the MLP's input; scattered are both branches' outputs; backward the other way round.
 * Without it latents are alike on all ranks, and their gradients are summed. */
static void tensor_ranks_gather_latents(void) {
  ModelShape shape = latent();
  double gathered = 0, reduced = 0, t = TOKENS * 2;
  ModelRecipe recipe = {.share = {.tensor = 4, .sequence_parallel = TRUE}};
  g_autoptr(ModelUnit) unit = layer_of(&shape, recipe), whole = layer_of(&shape, (ModelRecipe){0});
  for (guint i = 0; i < unit->n_forward; i++) {
    gathered +=
        unit->forward[i].exchange.kind == MODEL_EXCHANGE_ALL_GATHER ? (double)unit->forward[i].exchange.bytes : 0;
    reduced +=
        unit->forward[i].exchange.kind == MODEL_EXCHANGE_REDUCE_SCATTER ? (double)unit->forward[i].exchange.bytes : 0;
  }
  CU_ASSERT_EQUAL(gathered, t * (256 + 128 + 32 + 512));
  CU_ASSERT_EQUAL(reduced, t * 2 * 512);
  gathered = reduced = 0;
  for (guint i = 0; i < unit->n_backward; i++) {
    gathered +=
        unit->backward[i].exchange.kind == MODEL_EXCHANGE_ALL_GATHER ? (double)unit->backward[i].exchange.bytes : 0;
    reduced +=
        unit->backward[i].exchange.kind == MODEL_EXCHANGE_REDUCE_SCATTER ? (double)unit->backward[i].exchange.bytes : 0;
  }
  CU_ASSERT_EQUAL(reduced, t * (256 + 128 + 32 + 512));
  CU_ASSERT_EQUAL(gathered, t * 2 * 512);
  CU_ASSERT_EQUAL(4 * model_unit_forward_cost(unit).flops, model_unit_forward_cost(whole).flops);
  CU_ASSERT_EQUAL(4 * model_unit_backward_cost(unit).flops, model_unit_backward_cost(whole).flops);
  guint64 of_model = 0;
  for (guint p = 0; p < unit->n_parameters; p++)
    of_model += unit->parameters[p].whole;
  CU_ASSERT_EQUAL(of_model, model_unit_elements(whole));
}

/* With whatever share, latents, experts and shared experts are consistent. */
static void every_share_is_consistent(void) {
  for (int way = 0; way < 6 * 96; way++) {
    ModelShape shape = way % 2 == 0 ? mixture() : latent();
    shape.shared_intermediate_size = way / 2 % 2 * 256;
    shape.experts = 16;
    shape.experts_per_token = 4;
    shape.expert_intermediate_size = 128;
    shape.q_rank = shape.kv_rank > 0 && way / 4 % 2 ? 256 : 0;
    ModelRecipe recipe = {
        .kernels = way / 8 % 3,
        .experts_by_engine = way / 96 % 2,
        .share = {.tensor = 1u << way / 24 % 2,
                  .dispatch = way / 192,
                  .expert = 1u << 2 * (way / 48 % 2),
                  .expert_tensor = way / 8 % 2 == 0 || way / 192 == MODEL_DISPATCH_FLEX ? 1 : 1u << way / 24 % 2,
                  .sequence_parallel = TRUE,
                  .gathers_again = way / 24 % 2,
                  .async_gradient = way / 48 % 2}};
    g_autoptr(ModelUnit) unit = layer_of(&shape, recipe);
    masks_check(unit);
    masks_check_gradients(unit);
  }
}

int main(void) {
  return harness_run("model-experts",
                     (HarnessCase[]){{"FLOPs are of active experts", flops_are_of_active_experts},
                                     {"ranks share experts", ranks_share_experts},
                                     {"tokens go once", tokens_go_once},
                                     {"groups bound where tokens go", groups_bound_where_tokens_go},
                                     {"capacity pads", capacity_pads},
                                     {"tensor ranks have whole experts", tensor_ranks_have_whole_experts},
                                     {"tensor ranks split experts", tensor_ranks_split_experts},
                                     {"tensor ranks gather latents", tensor_ranks_gather_latents},
                                     {"every share is consistent", every_share_is_consistent},
                                     {"latent attention by its widths", latent_attention_by_its_widths},
                                     {NULL, NULL}});
}
