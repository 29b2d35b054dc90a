/* SPDX-License-Identifier: MIT */
/* Units of one rank among several, split by tensor parallelism: memory, parameters, FLOPs and exchanges against the
 * formulas of the papers. */
#include <string.h>

#include "model-masks.h"
#include "model-one-rank.h"

#define TENSOR_MOST  8
#define CONTEXT_MOST 4
/* Heads, widths and tokens that every degree up to eight divides. */
static ModelShape random_shape(GRand *random, int family) {
  guint64 kv_heads = (guint64)1 << g_rand_int_range(random, 0, 5), groups = (guint64)g_rand_int_range(random, 1, 4);
  return (ModelShape){.family = family,
                      .name = (char *)(gpointer) "some-model",
                      .layers = (guint64)g_rand_int_range(random, 1, 9),
                      .hidden_size = 16 * (guint64)g_rand_int_range(random, 1, 200),
                      .heads = kv_heads * TENSOR_MOST * CONTEXT_MOST * groups,
                      .kv_heads = kv_heads,
                      .head_dim = 8 * (guint64)g_rand_int_range(random, 1, 20),
                      .intermediate_size = 128 * (guint64)g_rand_int_range(random, 1, 100),
                      .vocab_size = (guint64)g_rand_int_range(random, 100, 100000),
                      .max_positions = 4096,
                      .tied_embeddings = g_rand_boolean(random),
                      .traits = g_rand_boolean(random) ? MODEL_QKV_BIAS : 0};
}

static ModelShare random_share(GRand *random) {
  ModelShare share = {.tensor = 1u << g_rand_int_range(random, 0, 4),
                      .sequence_parallel = g_rand_boolean(random),
                      .whole_logits = g_rand_boolean(random),
                      .async_gradient = g_rand_boolean(random),
                      .gathers_again = g_rand_boolean(random),
                      .reduces_each = g_rand_boolean(random),
                      .distributes_saved = g_rand_boolean(random),
                      .overlap = g_rand_int_range(random, MODEL_OVERLAP_NONE, MODEL_OVERLAP_CHUNKS + 1),
                      .keys = g_rand_int_range(random, MODEL_KEYS_COPIED, MODEL_KEYS_GATHERED + 1),
                      .vocabulary_multiple = g_rand_boolean(random) ? 128 : 0};
  share.context = 1u << g_rand_int_range(random, 0, 3);
  share.context_kind = g_rand_int_range(random, MODEL_CONTEXT_RING, MODEL_CONTEXT_ULYSSES + 1);
  share.zigzag = TRUE;
  share.whole_vocabulary = !share.sequence_parallel && g_rand_boolean(random);
  return share;
}

static ModelRecipe random_recipe(GRand *random) {
  ModelShare share = random_share(random);
  int precision = g_rand_int_range(random, MODEL_BF16, MODEL_FP8 + 1);
  gboolean flash = share.context > 1 && (share.context_kind != MODEL_CONTEXT_ULYSSES || precision == MODEL_FP8);
  return (ModelRecipe){.sequence_length = 64 * (guint64)g_rand_int_range(random, 1, 33),
                       .precision = precision,
                       .attention = flash ? MODEL_ATTENTION_FLASH
                                          : g_rand_int_range(random, MODEL_ATTENTION_FLASH, MODEL_ATTENTION_EAGER + 1),
                       .dropout = g_rand_boolean(random) ? 0.1 : 0,
                       .loss = g_rand_int_range(random, MODEL_LOSS_EAGER, MODEL_LOSS_FUSED_LINEAR),
                       .kernels = g_rand_int_range(random, MODEL_KERNELS_EAGER, MODEL_KERNELS_NORMS + 1),
                       .projections = g_rand_int_range(random, MODEL_PROJECTIONS_SEPARATE, MODEL_PROJECTIONS_QKV + 1),
                       .share = share};
}

typedef void (*Property)(const ModelShape *shape, const ModelRecipe *recipe, guint64 b);

static void for_random_shares(Property property) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 300; i++) {
    ModelShape shape = random_shape(random, g_rand_int_range(random, MODEL_LLAMA, MODEL_GPT + 1));
    ModelRecipe recipe = random_recipe(random);
    gboolean norms = shape.family == MODEL_LLAMA && recipe.precision != MODEL_FP8 && g_rand_boolean(random);
    shape.traits |= norms ? MODEL_QK_NORM : 0;
    property(&shape, &recipe, (guint64)g_rand_int_range(random, 1, 9));
  }
}

static ModelRecipe alone(const ModelRecipe *recipe) {
  ModelRecipe whole = *recipe;
  whole.share = (ModelShare){0};
  return whole;
}

/* ---- Memory ---- */

/* s b h (10 + 24 / t) + 5 a s² b / t, Korthikanti 2022, equation 2: norms' inputs, what the column layers read, and the
 * masks of the branches' dropouts are whole on each rank. Sequence parallelism (equation 4): all of it over t, if
 * backward gathers again what the column layers read. If not, those two inputs are kept whole, 4 s b h instead of 4 s b
 * h / t. Not counted there nor here: norms' statistics, and flash's log-sum-exp is no part of eager attention. */
static void layer_saves_by_korthikanti(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 100; i++) {
    ModelShape shape = random_shape(random, MODEL_GPT);
    shape.kv_heads = shape.heads;
    shape.hidden_size = shape.heads * shape.head_dim;
    shape.intermediate_size = 4 * shape.hidden_size;
    guint64 t = (guint64)1 << g_rand_int_range(random, 1, 4), b = (guint64)g_rand_int_range(random, 1, 9);
    guint64 s = 16 * (guint64)g_rand_int_range(random, 1, 129), sbh = s * b * shape.hidden_size,
            assb = shape.heads * s * s * b;
    const struct {
      ModelShare share;
      guint64 expected;
    } cases[] = {
        {{.tensor = (guint32)t}, 10 * sbh + (24 * sbh + 5 * assb) / t},
        {{.tensor = (guint32)t, .async_gradient = TRUE}, 10 * sbh + (24 * sbh + 5 * assb) / t},
        {{.tensor = (guint32)t, .sequence_parallel = TRUE, .gathers_again = TRUE}, (34 * sbh + 5 * assb) / t},
        {{.tensor = (guint32)t, .sequence_parallel = TRUE}, (30 * sbh + 5 * assb) / t + 4 * sbh},
    };
    for (gsize j = 0; j < G_N_ELEMENTS(cases); j++) {
      ModelRecipe recipe = {
          .sequence_length = s, .attention = MODEL_ATTENTION_EAGER, .dropout = 0.1, .share = cases[j].share};
      g_autoptr(ModelUnit) unit = model_unit_new(&shape, &recipe, b, MODEL_UNIT_LAYER);
      CU_ASSERT_EQUAL(model_unit_saved_bytes(unit), cases[j].expected);
    }
  }
}

static void lifetimes_of_one(const ModelShape *shape, const ModelRecipe *recipe, guint64 b) {
  for (int kind = 0; kind < MODEL_UNIT_KINDS; kind++) {
    g_autoptr(ModelUnit) unit = model_unit_new(shape, recipe, b, kind);
    masks_check(unit);
    masks_check_gradients(unit);
  }
}

static void lifetimes(void) {
  for_random_shares(lifetimes_of_one);
}

/* Between units a rank has all tokens, or under sequence parallelism its part. */
static void boundaries_of_one(const ModelShape *shape, const ModelRecipe *recipe, guint64 b) {
  guint64 stream = recipe->sequence_length * b * shape->hidden_size * model_precision_bytes(recipe->precision);
  stream /= recipe->share.context * (recipe->share.sequence_parallel ? recipe->share.tensor : 1);
  for (int kind = 0; kind < MODEL_UNIT_KINDS; kind++) {
    g_autoptr(ModelUnit) unit = model_unit_new(shape, recipe, b, kind);
    gboolean first = kind == MODEL_UNIT_EMBEDDING, last = kind == MODEL_UNIT_HEAD;
    CU_ASSERT_EQUAL(model_unit_bytes(unit, masks_of_role(unit, MODEL_TENSOR_OUTPUT)), last ? 0 : stream);
    CU_ASSERT_EQUAL(model_unit_bytes(unit, masks_of_role(unit, MODEL_TENSOR_GRAD_OUTPUT)), last ? 0 : stream);
    CU_ASSERT_EQUAL(model_unit_bytes(unit, masks_of_role(unit, MODEL_TENSOR_GRAD_INPUT)), first ? 0 : stream);
  }
}

static void boundaries(void) {
  for_random_shares(boundaries_of_one);
}

/* ---- Parameters ---- */

static gboolean is_vocabulary(const ModelParameter *parameter) {
  return strcmp(parameter->name, "embed_tokens.weight") == 0 || strcmp(parameter->name, "lm_head.weight") == 0;
}

/* Of one parameter over all tensor ranks: those that are whole on each are alike; parts add up to the whole, and what
 * is more are copies: of a joined projection the keys and values of the ranks beyond one per head, (t - heads) 2 d (h,
 * and 1 with its bias); of separate ones each is held `copies` times. */
static void parameter_adds_up(const ModelShape *shape, const ModelRecipe *recipe, const ModelParameter *parameter) {
  guint64 t = recipe->share.tensor, copied = t > shape->kv_heads ? (t - shape->kv_heads) * 2 * shape->head_dim : 0;
  if (is_vocabulary(parameter))
    return;
  if (parameter->place != MODEL_PLACE_SPLIT || t == 1) {
    CU_ASSERT_EQUAL(parameter->elements, parameter->whole);
    return;
  }
  if (strcmp(parameter->name, "qkv_proj.weight") == 0 && parameter->copies > 1)
    CU_ASSERT_EQUAL(t * parameter->elements, parameter->whole + copied * shape->hidden_size)
  else if (strcmp(parameter->name, "qkv_proj.bias") == 0 && parameter->copies > 1)
    CU_ASSERT_EQUAL(t * parameter->elements, parameter->whole + copied)
  else
    CU_ASSERT_EQUAL(t * parameter->elements, parameter->whole * parameter->copies);
}

/* A vocabulary that is padded to 128 t, or split with the first ranks a row ahead: a rank has as many rows as the most
 * have. */
static void vocabulary_adds_up(const ModelShape *shape, const ModelRecipe *recipe, const ModelParameter *parameter) {
  guint64 t = recipe->share.tensor, multiple = recipe->share.vocabulary_multiple * t;
  if (!is_vocabulary(parameter))
    return;
  guint64 rows = multiple > 0 ? (shape->vocab_size + multiple - 1) / multiple * multiple : shape->vocab_size;
  if (!recipe->share.whole_vocabulary)
    rows = (rows + t - 1) / t;
  CU_ASSERT_EQUAL(parameter->rows, rows);
  CU_ASSERT_EQUAL(parameter->elements, rows * shape->hidden_size);
  CU_ASSERT_EQUAL(parameter->whole, shape->vocab_size * shape->hidden_size);
}

static void parameters_of_one(const ModelShape *shape, const ModelRecipe *recipe, guint64 b) {
  guint64 whole = 0;
  for (int kind = 0; kind < MODEL_UNIT_KINDS; kind++) {
    g_autoptr(ModelUnit) unit = model_unit_new(shape, recipe, b, kind);
    for (guint p = 0; p < unit->n_parameters; p++) {
      parameter_adds_up(shape, recipe, &unit->parameters[p]);
      vocabulary_adds_up(shape, recipe, &unit->parameters[p]);
      whole +=
          unit->parameters[p].shared ? 0 : unit->parameters[p].whole * (kind == MODEL_UNIT_LAYER ? shape->layers : 1);
    }
  }
  CU_ASSERT_EQUAL(whole, model_shape_parameters(shape));
}

static void parameters_add_up(void) {
  for_random_shares(parameters_of_one);
}

/* Under sequence parallelism each rank's norms and the biases that follow a row layer's sum see its own tokens; else
 * all see all. */
static void marks_gradients_to_sum(void) {
  g_autoptr(GRand) random = harness_random();
  ModelShape shape = random_shape(random, MODEL_GPT);
  for (int sequence = 0; sequence < 2; sequence++) {
    ModelRecipe recipe = {.sequence_length = 64,
                          .share = {.tensor = 4, .sequence_parallel = sequence, .keys = MODEL_KEYS_COPIED}};
    int shared = sequence ? MODEL_PLACE_SUMMED : MODEL_PLACE_WHOLE;
    g_autoptr(ModelUnit) layer = model_unit_new(&shape, &recipe, 1, MODEL_UNIT_LAYER);
    for (guint p = 0; p < layer->n_parameters; p++) {
      const char *name = layer->parameters[p].name;
      gboolean whole =
          strstr(name, "_norm") != NULL || strcmp(name, "o_proj.bias") == 0 || strcmp(name, "down_proj.bias") == 0;
      CU_ASSERT_EQUAL(layer->parameters[p].place, whole ? shared : MODEL_PLACE_SPLIT);
    }
  }
}

/* ---- FLOPs ---- */

static ModelCost both_ways(const ModelShape *shape, const ModelRecipe *recipe, guint64 b, ModelUnitKind kind) {
  g_autoptr(ModelUnit) unit = model_unit_new(shape, recipe, b, kind);
  ModelCost forward = model_unit_forward_cost(unit), backward = model_unit_backward_cost(unit);
  return (ModelCost){.flops = forward.flops + backward.flops,
                     .nominal_flops = forward.nominal_flops + backward.nominal_flops};
}

/* All ranks together, zigzag in the sequence, do what one would, but for keys and values that several make: 2 t h (t -
 * heads) 2 d three times. Nominal FLOPs leave these out. Exact in doubles up to rounding of one division. */
static void flops_of_one(const ModelShape *shape, const ModelRecipe *recipe, guint64 b) {
  ModelRecipe whole = alone(recipe);
  double t = recipe->share.tensor, ranks = t * recipe->share.context, tokens = (double)(recipe->sequence_length * b);
  ModelCost one = both_ways(shape, recipe, b, MODEL_UNIT_LAYER), all = both_ways(shape, &whole, b, MODEL_UNIT_LAYER);
  gboolean joined = shape->family == MODEL_GPT || recipe->projections != MODEL_PROJECTIONS_SEPARATE;
  gboolean copied = t > (double)shape->kv_heads && !(joined && recipe->share.keys == MODEL_KEYS_GATHERED);
  double copies = copied ? (t - (double)shape->kv_heads) * 2 * (double)shape->head_dim : 0;
  double extra = 3 * 2 * tokens * (double)shape->hidden_size * copies;
  CU_ASSERT_DOUBLE_EQUAL(ranks * one.flops / (all.flops + extra), 1, 1e-12);
  CU_ASSERT_DOUBLE_EQUAL(ranks * one.nominal_flops / all.nominal_flops, 1, 1e-12);
}

static void flops_add_up(void) {
  for_random_shares(flops_of_one);
}

/* Head: 6 t h V, a rank's V with what pads it; nominal without. */
static void head_flops(const ModelShape *shape, const ModelRecipe *recipe, guint64 b) {
  double ranks = recipe->share.whole_vocabulary ? 1 : recipe->share.tensor;
  guint64 tokens = recipe->sequence_length * b / recipe->share.context;
  double per_row = 6 * (double)tokens * (double)shape->hidden_size;
  ModelCost cost = both_ways(shape, recipe, b, MODEL_UNIT_HEAD);
  CU_ASSERT_DOUBLE_EQUAL(cost.flops / (per_row * (double)model_share_vocabulary(&recipe->share, shape->vocab_size)), 1,
                         1e-12);
  CU_ASSERT_DOUBLE_EQUAL(ranks * cost.nominal_flops / (per_row * (double)shape->vocab_size), 1, 1e-12);
}

static void head_flops_add_up(void) {
  for_random_shares(head_flops);
}

/* ---- Exchanges ---- */

/* Shoeybi 2019: two all-reduces of s b h forward, two backward. Korthikanti 2022: each is an all-gather and a
 * reduce-scatter under sequence parallelism, the same volume; gathering again for the weights' gradients adds two
 * all-gathers. */
static void layers_exchange_what_papers_say(void) {
  ModelShape shape = one_rank_shape();
  ModelRecipe plain = one_rank_recipe((ModelShare){.tensor = 4}),
              sequence = one_rank_recipe((ModelShare){.tensor = 4, .sequence_parallel = TRUE}),
              again = one_rank_recipe((ModelShare){.tensor = 4, .sequence_parallel = TRUE, .gathers_again = TRUE});
  g_autoptr(ModelUnit) unit = model_unit_new(&shape, &plain, BATCH, MODEL_UNIT_LAYER);
  OneRankExchanged forward = one_rank_exchanged(unit->forward, unit->n_forward, 4),
                   backward = one_rank_exchanged(unit->backward, unit->n_backward, 4);
  CU_ASSERT_EQUAL(forward.calls[MODEL_EXCHANGE_ALL_REDUCE], 2);
  CU_ASSERT_EQUAL(forward.bytes[MODEL_EXCHANGE_ALL_REDUCE], 2 * STREAM);
  CU_ASSERT_EQUAL(backward.calls[MODEL_EXCHANGE_ALL_REDUCE], 2);
  CU_ASSERT_EQUAL(backward.bytes[MODEL_EXCHANGE_ALL_REDUCE], 2 * STREAM);
  CU_ASSERT_DOUBLE_EQUAL(forward.sent + backward.sent, 4 * 2 * 0.75 * (double)STREAM, 0);

  g_autoptr(ModelUnit) split = model_unit_new(&shape, &sequence, BATCH, MODEL_UNIT_LAYER);
  OneRankExchanged there = one_rank_exchanged(split->forward, split->n_forward, 4),
                   back = one_rank_exchanged(split->backward, split->n_backward, 4);
  CU_ASSERT_EQUAL(there.calls[MODEL_EXCHANGE_ALL_GATHER], 2);
  CU_ASSERT_EQUAL(there.bytes[MODEL_EXCHANGE_REDUCE_SCATTER], 2 * STREAM);
  CU_ASSERT_EQUAL(back.bytes[MODEL_EXCHANGE_ALL_GATHER], 2 * STREAM);
  CU_ASSERT_EQUAL(back.calls[MODEL_EXCHANGE_REDUCE_SCATTER], 2);
  CU_ASSERT_DOUBLE_EQUAL(there.sent + back.sent, forward.sent + backward.sent, 0);

  g_autoptr(ModelUnit) twice = model_unit_new(&shape, &again, BATCH, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(one_rank_exchanged(twice->backward, twice->n_backward, 4).bytes[MODEL_EXCHANGE_ALL_GATHER],
                  4 * STREAM);
}

/* Megatron-LM: all-gather, dgrad, reduction, wgrad; the wgrad waits for the gather, the norm's backward for the
 * reduction. */
static void reduces_beside_weight_gradient(void) {
  ModelShape shape = one_rank_shape();
  ModelRecipe recipe = one_rank_recipe(
      (ModelShare){.tensor = 4, .sequence_parallel = TRUE, .gathers_again = TRUE, .async_gradient = TRUE});
  g_autoptr(ModelUnit) unit = model_unit_new(&shape, &recipe, BATCH, MODEL_UNIT_LAYER);
  static const char *const order[] = {"normed.gather_again", "qkv_proj.dgrad", "d_normed.reduce", "qkv_proj.wgrad",
                                      "input_norm.backward"};
  guint at[G_N_ELEMENTS(order)];
  for (guint i = 0; i < G_N_ELEMENTS(order); i++) {
    at[i] = one_rank_op(unit->backward, unit->n_backward, order[i]);
    CU_ASSERT_EQUAL(at[i], at[0] + i);
  }
  CU_ASSERT_TRUE(unit->backward[at[0]].exchange.asynchronous && unit->backward[at[2]].exchange.asynchronous);
  CU_ASSERT_EQUAL(unit->backward[at[0]].exchange.awaited_by, at[3]);
  CU_ASSERT_EQUAL(unit->backward[at[2]].exchange.awaited_by, at[4]);
}

/* Chunk by chunk, one chunk per rank: three steps of a fourth of the tokens each, and four pieces of each matmul; the
 * volume and the FLOPs stay. nanotron: a fourth of the rows first, which waits for nothing. */
static void matmuls_hide_exchanges(void) {
  ModelShape shape = one_rank_shape();
  ModelRecipe recipe = one_rank_recipe((ModelShare){.tensor = 4, .sequence_parallel = TRUE, .gathers_again = TRUE});
  g_autoptr(ModelUnit) plain = model_unit_new(&shape, &recipe, BATCH, MODEL_UNIT_LAYER);
  recipe.share.overlap = MODEL_OVERLAP_CHUNKS;
  g_autoptr(ModelUnit) chunks = model_unit_new(&shape, &recipe, BATCH, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(chunks->n_forward, plain->n_forward);
  CU_ASSERT_DOUBLE_EQUAL(one_rank_exchanged(chunks->forward, chunks->n_forward, 4).sent,
                         one_rank_exchanged(plain->forward, plain->n_forward, 4).sent, 0);
  CU_ASSERT_DOUBLE_EQUAL(model_unit_forward_cost(chunks).flops, model_unit_forward_cost(plain).flops, 0);
  CU_ASSERT_DOUBLE_EQUAL(model_unit_backward_cost(chunks).flops, model_unit_backward_cost(plain).flops, 0);
  guint gather = one_rank_op(chunks->forward, chunks->n_forward, "normed.gather"),
        reduce = one_rank_op(chunks->forward, chunks->n_forward, "o_proj.reduce");
  const ModelOp *qkv = &chunks->forward[chunks->forward[gather].exchange.awaited_by];
  CU_ASSERT_STRING_EQUAL(qkv->name, "qkv_proj");
  CU_ASSERT_EQUAL(qkv->pieces, 4);
  CU_ASSERT_EQUAL(qkv->kernel->m, TOKENS * BATCH / 4);
  CU_ASSERT_EQUAL(chunks->forward[gather].exchange.steps, 3);
  CU_ASSERT_EQUAL(chunks->forward[gather].exchange.bytes, STREAM / 4);
  CU_ASSERT_EQUAL(chunks->forward[reduce].exchange.chunks, MODEL_CHUNKS_AFTER);
  CU_ASSERT_STRING_EQUAL(chunks->forward[chunks->forward[reduce].exchange.follows].name, "o_proj");

  recipe.share.overlap = MODEL_OVERLAP_OWN;
  g_autoptr(ModelUnit) own = model_unit_new(&shape, &recipe, BATCH, MODEL_UNIT_LAYER);
  gather = one_rank_op(own->forward, own->n_forward, "normed.gather");
  CU_ASSERT_STRING_EQUAL(own->forward[gather + 1].name, "qkv_proj.own");
  CU_ASSERT_EQUAL(own->forward[gather + 1].kernel->m, TOKENS * BATCH / 4);
  CU_ASSERT_EQUAL(own->forward[gather + 2].kernel->m, TOKENS * BATCH / 4 * 3);
  CU_ASSERT_EQUAL(own->forward[gather].exchange.awaited_by, gather + 2);
  CU_ASSERT_DOUBLE_EQUAL(model_unit_forward_cost(own).flops, model_unit_forward_cost(plain).flops, 0);
}

/* The loss of ranks together: the largest logit, the label's and the sum, four bytes per token each; or three numbers
 * gathered from each of four ranks; or all logits. The embedding's rows are summed, the head's input gathered and its
 * gradient summed. */
static void ends_exchange(void) {
  ModelShape shape = one_rank_shape();
  guint64 tokens = TOKENS * BATCH;
  for (int loss = MODEL_LOSS_EAGER; loss < MODEL_LOSS_FUSED_LINEAR; loss++) {
    ModelRecipe recipe = one_rank_recipe((ModelShare){.tensor = 4});
    recipe.loss = loss;
    g_autoptr(ModelUnit) head = model_unit_new(&shape, &recipe, BATCH, MODEL_UNIT_HEAD);
    OneRankExchanged forward = one_rank_exchanged(head->forward, head->n_forward, 4),
                     backward = one_rank_exchanged(head->backward, head->n_backward, 4);
    gboolean fused = loss == MODEL_LOSS_FUSED;
    CU_ASSERT_EQUAL(forward.bytes[MODEL_EXCHANGE_ALL_REDUCE], fused ? 0 : 3 * 4 * tokens);
    CU_ASSERT_EQUAL(forward.bytes[MODEL_EXCHANGE_ALL_GATHER], fused ? 4 * 3 * 4 * tokens : 0);
    CU_ASSERT_EQUAL(backward.bytes[MODEL_EXCHANGE_ALL_REDUCE], STREAM);
    recipe.share.whole_logits = TRUE;
    g_autoptr(ModelUnit) whole = model_unit_new(&shape, &recipe, BATCH, MODEL_UNIT_HEAD);
    CU_ASSERT_EQUAL(one_rank_exchanged(whole->forward, whole->n_forward, 4).bytes[MODEL_EXCHANGE_ALL_GATHER],
                    2 * tokens * 32000);
    recipe.share.sequence_parallel = TRUE;
    g_autoptr(ModelUnit) embedding = model_unit_new(&shape, &recipe, BATCH, MODEL_UNIT_EMBEDDING);
    CU_ASSERT_EQUAL(
        one_rank_exchanged(embedding->forward, embedding->n_forward, 4).bytes[MODEL_EXCHANGE_REDUCE_SCATTER], STREAM);
    CU_ASSERT_EQUAL(one_rank_exchanged(embedding->backward, embedding->n_backward, 4).bytes[MODEL_EXCHANGE_ALL_GATHER],
                    STREAM);
  }
}

/* Eight key heads among sixteen ranks: each holds one head, every head twice; or the joined output of all is gathered.
 * */
static void few_key_heads(void) {
  ModelShape shape = one_rank_shape();
  ModelRecipe recipe = one_rank_recipe((ModelShare){.tensor = 16, .keys = MODEL_KEYS_COPIED});
  g_autoptr(ModelUnit) copied = model_unit_new(&shape, &recipe, BATCH, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(copied->parameters[0].rows, 64 + 2 * 64);
  CU_ASSERT_EQUAL(copied->parameters[0].copies, 2);
  recipe.share.keys = MODEL_KEYS_GATHERED;
  g_autoptr(ModelUnit) gathered = model_unit_new(&shape, &recipe, BATCH, MODEL_UNIT_LAYER);
  CU_ASSERT_EQUAL(gathered->parameters[0].rows, (16 + 2 * 8) * 64 / 16);
  const ModelOp *gather = &gathered->forward[one_rank_op(gathered->forward, gathered->n_forward, "qkv.gather")];
  CU_ASSERT_EQUAL(gather->exchange.bytes, (guint64)2 * TOKENS * BATCH * (16 + 2 * 8) * 64);
  const ModelOp *attention = &gathered->forward[one_rank_op(gathered->forward, gathered->n_forward, "attention")];
  CU_ASSERT_EQUAL(attention->kernel->batch, BATCH);
}

/* ---- One rank ---- */

static void same_ops(const ModelOp *a, const ModelOp *b, guint n) {
  for (guint i = 0; i < n; i++) {
    CU_ASSERT_STRING_EQUAL(a[i].name, b[i].name);
    CU_ASSERT_EQUAL(memcmp(a[i].kernel, b[i].kernel, sizeof *a[i].kernel), 0);
    CU_ASSERT_TRUE(a[i].reads == b[i].reads && a[i].writes == b[i].writes && a[i].saves == b[i].saves);
    CU_ASSERT_EQUAL(a[i].exchange.kind, MODEL_EXCHANGE_NONE);
    CU_ASSERT_EQUAL(a[i].nominal_flops, b[i].nominal_flops);
  }
}

/* Degrees of one leave a unit as it is without a share, whatever else the share says (but for padding). */
static void one_rank(const ModelShape *shape, const ModelRecipe *recipe, guint64 b) {
  ModelRecipe one = *recipe, none = alone(recipe);
  one.share.tensor = one.share.context = 1;
  one.share.vocabulary_multiple = 0;
  one.share.whole_vocabulary = FALSE;
  for (int kind = 0; kind < MODEL_UNIT_KINDS; kind++) {
    g_autoptr(ModelUnit) unit = model_unit_new(shape, &one, b, kind);
    g_autoptr(ModelUnit) plain = model_unit_new(shape, &none, b, kind);
    CU_ASSERT_EQUAL_FATAL(unit->n_forward, plain->n_forward);
    CU_ASSERT_EQUAL_FATAL(unit->n_backward, plain->n_backward);
    same_ops(unit->forward, plain->forward, unit->n_forward);
    same_ops(unit->backward, plain->backward, unit->n_backward);
    CU_ASSERT_EQUAL(unit->n_tensors, plain->n_tensors);
    CU_ASSERT_EQUAL(memcmp(unit->parameters, plain->parameters, unit->n_parameters * sizeof *unit->parameters), 0);
  }
}

static void one_rank_is_all(void) {
  for_random_shares(one_rank);
}

/* ---- What does not divide ---- */

static void refuses_what_does_not_divide(void) {
  static const BaseField degrees[] = {{.group = "parallel", .key = "tensor", .kind = BASE_LATER, .help = "a degree"},
                                      {.group = "parallel", .key = "context", .kind = BASE_LATER, .help = "a degree"}};
  const ConfSchema schemas[] = {model_shape_schema, model_recipe_schema, {degrees, G_N_ELEMENTS(degrees)}};
  g_autoptr(ConfSettings) settings = conf_settings_new(schemas, G_N_ELEMENTS(schemas));
  static const struct {
    ModelShare share;
    guint64 sequence;
    const char *fragment;
  } cases[] = {
      {{.tensor = 12}, 512, "12 does not divide heads 16 of some-model; the nearest that does is 8"},
      {{.tensor = 3}, 512, "the nearest that does is 2"},
      {{.tensor = 16}, 512, "16 does not divide kv_heads 8 of some-model; the nearest that does is 8"},
      {{.tensor = 8, .sequence_parallel = TRUE}, 500, "8 ranks do not divide the 500 tokens"},
      {{.context = 5}, 512, "5 needs 5 equal pieces of a sequence of 512 tokens; the nearest that divides is 4"},
      {{.context = 4, .zigzag = TRUE}, 500, "4 needs 8 equal pieces of a sequence of 500"},
      {{.tensor = 8, .context = 4, .context_kind = MODEL_CONTEXT_ULYSSES}, 512, "4 does not divide the 2 heads"},
  };
  ModelShape shape = one_rank_shape();
  shape.name = (char *)(gpointer) "some-model";
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    ModelRecipe recipe = one_rank_recipe(cases[i].share);
    recipe.sequence_length = cases[i].sequence;
    GError *error = NULL;
    HARNESS_FAILS(model_share_check(&shape, &recipe, settings, &error), error, cases[i].fragment);
  }
  ModelRecipe good = one_rank_recipe((ModelShare){.tensor = 16, .keys = MODEL_KEYS_COPIED, .sequence_parallel = TRUE});
  CU_ASSERT_TRUE(model_share_check(&shape, &good, settings, NULL));
  ModelRecipe eager = one_rank_recipe((ModelShare){.context = 4});
  eager.attention = MODEL_ATTENTION_EAGER;
  GError *refused = NULL;
  HARNESS_FAILS(model_share_check(&shape, &eager, settings, &refused), refused, "keys of other ranks");
  eager.precision = MODEL_FP8;
  HARNESS_FAILS(model_share_check(&shape, &eager, settings, &refused), refused, "in fp8");
  good.lora.rank = 16;
  GError *error = NULL;
  HARNESS_FAILS(model_share_check(&shape, &good, settings, &error), error, "adapters under tensor parallelism");
}

int main(void) {
  return harness_run("model-share",
                     (HarnessCase[]){{"a layer saves by Korthikanti", layer_saves_by_korthikanti},
                                     {"lifetimes", lifetimes},
                                     {"boundaries", boundaries},
                                     {"parameters add up", parameters_add_up},
                                     {"marks gradients to sum", marks_gradients_to_sum},
                                     {"FLOPs add up", flops_add_up},
                                     {"the head's FLOPs add up", head_flops_add_up},
                                     {"layers exchange what papers say", layers_exchange_what_papers_say},
                                     {"reduces beside the weight gradient", reduces_beside_weight_gradient},
                                     {"matmuls hide exchanges", matmuls_hide_exchanges},
                                     {"ends exchange", ends_exchange},
                                     {"few key heads", few_key_heads},
                                     {"one rank is all", one_rank_is_all},
                                     {"refuses what does not divide", refuses_what_does_not_divide},
                                     {NULL, NULL}});
}
