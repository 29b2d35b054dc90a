/* SPDX-License-Identifier: MIT */
/* Units of one rank among several: those that share a sequence, what runs again, and what each layer exchanges by
 * itself. */
#include "model-masks.h"
#include "model-one-rank.h"
#include "model-recompute.h"

#define CONTEXT_KEYS                                                                                                   \
  ((guint64)2 * TOKENS * BATCH / 4 * 8 * 64) /* bytes of a rank's keys: 8 heads of 64, a fourth of the tokens */

/* Ring: keys and values go round in three steps; backward again, and their gradients: three times the volume in all.
 * Gather: keys and values of all, again in backward, and their gradients scattered: what one rank sends is the same.
 * Ulysses: q, k, v and the context, each way. Memory stays that of a rank's own tokens, but Ulysses keeps the context
 * before and after the exchange. */
static void context_exchanges(void) {
  ModelShape shape = one_rank_shape();
  ModelRecipe one = one_rank_recipe((ModelShare){.tensor = 1});
  one.sequence_length = TOKENS / 4;
  one.projections = MODEL_PROJECTIONS_SEPARATE;
  g_autoptr(ModelUnit) own = model_unit_new(&shape, &one, BATCH, MODEL_UNIT_LAYER);
  guint64 q = 2 * CONTEXT_KEYS;
  const struct {
    ModelContext kind;
    guint64 forward, backward, more;
  } cases[] = {{MODEL_CONTEXT_RING, 3 * 2 * CONTEXT_KEYS, 2 * 3 * 2 * CONTEXT_KEYS, 0},
               {MODEL_CONTEXT_GATHER, 3 * 2 * CONTEXT_KEYS, 2 * 3 * 2 * CONTEXT_KEYS, 0},
               {MODEL_CONTEXT_ULYSSES, (2 * q + 2 * CONTEXT_KEYS) / 4 * 3, (2 * q + 2 * CONTEXT_KEYS) / 4 * 3, q}};
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    ModelRecipe recipe = one_rank_recipe((ModelShare){.context = 4, .context_kind = cases[i].kind, .zigzag = TRUE});
    recipe.projections = MODEL_PROJECTIONS_SEPARATE;
    g_autoptr(ModelUnit) unit = model_unit_new(&shape, &recipe, BATCH, MODEL_UNIT_LAYER);
    CU_ASSERT_DOUBLE_EQUAL(one_rank_exchanged(unit->forward, unit->n_forward, 4).sent, (double)cases[i].forward, 0);
    CU_ASSERT_DOUBLE_EQUAL(one_rank_exchanged(unit->backward, unit->n_backward, 4).sent, (double)cases[i].backward, 0);
    CU_ASSERT_EQUAL(model_unit_saved_bytes(unit), model_unit_saved_bytes(own) + cases[i].more);
    masks_check(unit);
  }
}

/* Causal pairs of S tokens are S² / 2; of four ranks each has an eighth of S². Not zigzag the last rank's queries see
 * its own tokens half and all of the three others': (1/2 + 3) S² / 16. */
static void last_rank_decides(void) {
  ModelShape shape = one_rank_shape();
  double whole = 4.0 * BATCH * TOKENS * TOKENS * 16 * 64;
  for (int kind = MODEL_CONTEXT_RING; kind <= MODEL_CONTEXT_GATHER; kind++)
    for (int zigzag = 0; zigzag < 2; zigzag++) {
      ModelRecipe recipe = one_rank_recipe((ModelShare){.context = 4, .context_kind = kind, .zigzag = zigzag});
      g_autoptr(ModelUnit) unit = model_unit_new(&shape, &recipe, BATCH, MODEL_UNIT_LAYER);
      double attention = 0, nominal = 0;
      for (guint i = 0; i < unit->n_forward; i++)
        if (unit->forward[i].kernel->kind == KERNEL_ATTENTION) {
          attention += model_op_cost(&unit->forward[i]).flops;
          nominal += unit->forward[i].nominal_flops;
        }
      CU_ASSERT_DOUBLE_EQUAL(attention, whole * (zigzag ? 1.0 / 8 : 3.5 / 16), 0);
      CU_ASSERT_DOUBLE_EQUAL(nominal, whole / 4, 0);
    }
}

/* The ring's pieces wait each for a step, and each is followed by one of the gradients. */
static void ring_goes_by_pieces(void) {
  ModelShape shape = one_rank_shape();
  ModelRecipe recipe = one_rank_recipe((ModelShare){.context = 4, .zigzag = TRUE});
  g_autoptr(ModelUnit) unit = model_unit_new(&shape, &recipe, BATCH, MODEL_UNIT_LAYER);
  const ModelOp *keys = &unit->forward[one_rank_op(unit->forward, unit->n_forward, "attention.keys")];
  const ModelOp *pieces = &unit->forward[keys->exchange.awaited_by];
  CU_ASSERT_STRING_EQUAL(pieces->name, "attention.ring");
  CU_ASSERT_EQUAL(pieces->pieces, keys->exchange.steps);
  const ModelOp *gradients = &unit->backward[one_rank_op(unit->backward, unit->n_backward, "attention.gradients")];
  CU_ASSERT_STRING_EQUAL(unit->backward[gradients->exchange.follows].name, "attention.ring.backward");
  CU_ASSERT_STRING_EQUAL(unit->backward[gradients->exchange.awaited_by].name, "attention.merge.backward");
}

/* Eight key heads among sixteen context ranks: each gets one, every head twice. */
static void ulysses_copies_keys(void) {
  ModelShape shape = one_rank_shape();
  ModelRecipe recipe = one_rank_recipe((ModelShare){.context = 16, .context_kind = MODEL_CONTEXT_ULYSSES});
  g_autoptr(ModelUnit) unit = model_unit_new(&shape, &recipe, BATCH, MODEL_UNIT_LAYER);
  const ModelOp *keys = &unit->forward[one_rank_op(unit->forward, unit->n_forward, "attention.keys")];
  CU_ASSERT_EQUAL(keys->exchange.bytes, (guint64)2 * TOKENS * BATCH / 16 * 16 * 64);
  const ModelOp *attention = &unit->forward[one_rank_op(unit->forward, unit->n_forward, "attention")];
  CU_ASSERT_EQUAL(attention->kernel->batch, BATCH);
  CU_ASSERT_EQUAL(attention->kernel->m, TOKENS);
}

/* Megatron-LM's core attention runs again with what it exchanges; torchtitan's option "op" keeps what reduce-scatters
 * made. */
static void recomputes_with_exchanges(void) {
  ModelShape shape = one_rank_shape();
  ModelRecipe recipe = one_rank_recipe(
      (ModelShare){.tensor = 2, .context = 2, .context_kind = MODEL_CONTEXT_ULYSSES, .sequence_parallel = TRUE});
  g_autoptr(ModelUnit) unit = model_unit_new(&shape, &recipe, BATCH, MODEL_UNIT_LAYER);
  ModelRecomputed core, ops;
  model_recompute(unit, MODEL_RECOMPUTE_ATTENTION, &core);
  model_recompute(unit, MODEL_RECOMPUTE_EVERY_2ND_MATMUL, &ops);
  for (guint i = 0; i < unit->n_forward; i++) {
    const ModelExchange *exchange = &unit->forward[i].exchange;
    gboolean context = exchange->kind != MODEL_EXCHANGE_NONE && exchange->axis == MODEL_AXIS_CONTEXT;
    gboolean attention = unit->forward[i].kernel->kind == KERNEL_ATTENTION;
    CU_ASSERT_EQUAL(model_set_has(core.again, i), context || attention);
    if (exchange->kind == MODEL_EXCHANGE_REDUCE_SCATTER)
      CU_ASSERT_FALSE(model_set_has(ops.again, i));
  }
}

static gboolean runs_again(const ModelUnit *unit, ModelRecompute how, const char *op) {
  ModelRecomputed redone;
  model_recompute(unit, how, &redone);
  return model_set_has(redone.again, one_rank_op(unit->forward, unit->n_forward, op));
}

/* Of a layer's end backward wants no value: down_proj saves its input and its weight, its sum over ranks and the
 * residual's nothing. Both ways end with the activation, one of them without what it keeps. */
static void stops_early(void) {
  ModelShape shape = one_rank_shape();
  ModelRecipe recipe = one_rank_recipe((ModelShare){.tensor = 2});
  g_autoptr(ModelUnit) unit = model_unit_new(&shape, &recipe, BATCH, MODEL_UNIT_LAYER);
  ModelRecomputed all, stopped, kept;
  model_recompute(unit, MODEL_RECOMPUTE_ALL, &all);
  model_recompute(unit, MODEL_RECOMPUTE_ALL_STOPPED, &stopped);
  model_recompute(unit, MODEL_RECOMPUTE_EVERY_2ND_MATMUL_STOPPED, &kept);
  guint down = one_rank_op(unit->forward, unit->n_forward, "down_proj");
  CU_ASSERT_TRUE(all.region == stopped.region && all.region == kept.region);
  CU_ASSERT_TRUE(stopped.again == (model_set_of(down) - 1));
  CU_ASSERT_TRUE((kept.again & ~stopped.again) == 0);
  CU_ASSERT_TRUE(runs_again(unit, MODEL_RECOMPUTE_ALL, "down_proj"));
  CU_ASSERT_FALSE(runs_again(unit, MODEL_RECOMPUTE_ALL_STOPPED, "down_proj"));
  CU_ASSERT_FALSE(runs_again(unit, MODEL_RECOMPUTE_EVERY_2ND_MATMUL_STOPPED, "attention"));
}

/* Megatron-LM's distribute_saved_activations: 2 s b h / t are kept of a layer's input, copied out of it, and gathered
 * before the second run. Under sequence parallelism a rank has no more than its part. */
static void keeps_a_part(void) {
  ModelShape shape = one_rank_shape();
  ModelRecipe recipe = one_rank_recipe((ModelShare){.tensor = 4, .distributes_saved = TRUE});
  g_autoptr(ModelUnit) unit = model_unit_new(&shape, &recipe, BATCH, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL_FATAL(unit->n_keeping, 2);
  const ModelOp *part = &unit->keeping[0], *whole = &unit->keeping[1];
  CU_ASSERT_TRUE(part->reads == masks_of_role(unit, MODEL_TENSOR_INPUT) && part->reads == whole->writes);
  CU_ASSERT_EQUAL(model_unit_bytes(unit, part->writes), STREAM / 4);
  CU_ASSERT_EQUAL(part->kernel->bytes, 2 * STREAM / 4);
  CU_ASSERT_EQUAL(whole->exchange.kind, MODEL_EXCHANGE_ALL_GATHER);
  CU_ASSERT_EQUAL(whole->exchange.bytes, STREAM);
  recipe.share.sequence_parallel = TRUE;
  g_autoptr(ModelUnit) sequence = model_unit_new(&shape, &recipe, BATCH, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(sequence->n_keeping, 0);
}

/* DeepSpeed's AutoTP: five column layers reduce each their own gradient, q, k, v, gate and up. */
static void layers_may_reduce_each(void) {
  ModelShape shape = one_rank_shape();
  ModelRecipe recipe = one_rank_recipe((ModelShare){.tensor = 4, .reduces_each = TRUE, .whole_vocabulary = TRUE});
  recipe.projections = MODEL_PROJECTIONS_SEPARATE;
  g_autoptr(ModelUnit) unit = model_unit_new(&shape, &recipe, BATCH, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(one_rank_exchanged(unit->backward, unit->n_backward, 4).calls[MODEL_EXCHANGE_ALL_REDUCE], 5);
  for (int kind = MODEL_UNIT_EMBEDDING; kind < MODEL_UNIT_KINDS; kind += MODEL_UNIT_HEAD) {
    g_autoptr(ModelUnit) end = model_unit_new(&shape, &recipe, BATCH, kind);
    CU_ASSERT_DOUBLE_EQUAL(one_rank_exchanged(end->forward, end->n_forward, 4).sent, 0, 0);
    CU_ASSERT_DOUBLE_EQUAL(one_rank_exchanged(end->backward, end->n_backward, 4).sent, 0, 0);
  }
}

/* ColwiseParallel with input_layouts = Shard(1): q, k, v, gate and up gather and scatter each for itself, o and down
 * once; compiled, equal gathers are one. What is summed beside it is this rank's tokens. */
static void layers_may_exchange_each(void) {
  ModelShape shape = one_rank_shape();
  for (int each = 0; each <= 1; each++) {
    ModelRecipe recipe = one_rank_recipe(
        (ModelShare){.tensor = 4, .sequence_parallel = TRUE, .scatters_each = TRUE, .gathers_each = each == 1});
    recipe.projections = MODEL_PROJECTIONS_SEPARATE;
    g_autoptr(ModelUnit) unit = model_unit_new(&shape, &recipe, BATCH, MODEL_UNIT_LAYER);
    OneRankExchanged forward = one_rank_exchanged(unit->forward, unit->n_forward, 4),
                     backward = one_rank_exchanged(unit->backward, unit->n_backward, 4);
    CU_ASSERT_EQUAL(forward.calls[MODEL_EXCHANGE_ALL_GATHER], each == 1 ? 5 : 2);
    CU_ASSERT_EQUAL(forward.calls[MODEL_EXCHANGE_REDUCE_SCATTER], 2);
    CU_ASSERT_EQUAL(backward.calls[MODEL_EXCHANGE_ALL_GATHER], 2);
    CU_ASSERT_EQUAL(backward.bytes[MODEL_EXCHANGE_REDUCE_SCATTER], 5 * STREAM);
    const ModelOp *sum = &unit->backward[one_rank_op(unit->backward, unit->n_backward, "q_proj.sum")];
    CU_ASSERT_EQUAL(sum->kernel->bytes, 3 * STREAM / 4);
    CU_ASSERT_EQUAL(one_rank_op(unit->backward, unit->n_backward, "d_k_in.reduce"),
                    one_rank_op(unit->backward, unit->n_backward, "k_proj.wgrad") + 1);
    /* Each of k, v and up keeps the tokens that it gathered. */
    recipe.share.scatters_each = recipe.share.gathers_each = FALSE;
    g_autoptr(ModelUnit) once = model_unit_new(&shape, &recipe, BATCH, MODEL_UNIT_LAYER);
    CU_ASSERT_EQUAL(model_unit_saved_bytes(unit), model_unit_saved_bytes(once) + (each == 1 ? 3 * STREAM : 0));
  }
}

int main(void) {
  return harness_run("model-context", (HarnessCase[]){{"context exchanges", context_exchanges},
                                                      {"the last rank decides", last_rank_decides},
                                                      {"a ring goes by pieces", ring_goes_by_pieces},
                                                      {"Ulysses copies keys", ulysses_copies_keys},
                                                      {"recomputes with exchanges", recomputes_with_exchanges},
                                                      {"stops early", stops_early},
                                                      {"keeps a part", keeps_a_part},
                                                      {"layers may reduce each", layers_may_reduce_each},
                                                      {"layers may exchange each", layers_may_exchange_each},
                                                      {NULL, NULL}});
}
