/* SPDX-License-Identifier: MIT */
/* FSDP1 and FSDP2: their schedules as golden pictures, what they send and hold over random models. */
#include "golden.h"
#include "hw-catalog.h"
#include "plan-draw.h"
#include "plan-picture.h"
#include "plan-wrap.h"

/* Embedding, one layer and head, each a unit: three layers to the schedule. */
static Drawn three_units(PlanFramework framework) {
  Drawn drawn = {.recipe = {.framework = (int)framework, .zero_stage = 3}};
  drawn.shape = (ModelShape){.family = MODEL_LLAMA,
                             .layers = 1,
                             .kv_heads = 2,
                             .heads = 2,
                             .head_dim = 64,
                             .hidden_size = 128,
                             .intermediate_size = 256,
                             .vocab_size = 1000};
  drawn.model.sequence_length = 64;
  drawn.recipe.ranks = drawn.recipe.shard_ranks = 8;
  drawn.recipe.micro_batch = drawn.recipe.gradient_accumulation = 1;
  drawn.recipe.global_batch = 8;
  drawn.recipe.optimizer_style = 2; /* fused: one row */
  drawn.recipe.fsdp = (PlanFsdpKeys){.wrap = PLAN_WRAP_ENDS,
                                     .reshard = PLAN_RESHARD_YES,
                                     .limits_gathers = TRUE,
                                     .syncs_always = TRUE,
                                     .use_orig_params = TRUE,
                                     .parameter_bytes = 2,
                                     .reduce_bytes = 2,
                                     .shard_bytes = 2};
  return drawn;
}

static void expect_picture(const Drawn *drawn, const char *golden) {
  g_autoptr(Program) program = draw_plan(drawn);
  g_autofree char *picture = picture_of(program, PROGRAM_STEADY);
  CU_ASSERT_TRUE(golden_holds(golden, picture));
}

/* The schedule of three layers as PyTorch's _runtime_utils.py runs it: the host waits for the oldest freed unit before
 * an all-gather once two units are freed (lines 5, 8, 16); in backward the next gather is issued before the unit
 * computes (BACKWARD_PRE), so the communicator runs AG2', AG1', RS2, AG0', RS1, RS0; compute waits for reductions at
 * the end. 8 ranks: gradients are divided by 4 (2 · 2 < 8 / 2) before and by 2 after. */
static void fsdp1_runs_as_pytorch_does(void) {
  Drawn drawn = three_units(PLAN_FSDP1);
  expect_picture(&drawn, "plan-fsdp1");
}

/* As _fsdp_param_group.py: in forward the copy-in of unit i waits for the copy-out of i−2 (line 9 ← 3), in backward for
 * that of i+1 (16 ← 15, 22 ← 21); the copy-in of a unit's gradients waits for the reduce-scatter of the unit before
 * (25 ← 20, 29 ← 26); one communicator runs AG2', AG1', RS2, AG0', RS1, RS0. */
static void fsdp2_runs_as_pytorch_does(void) {
  Drawn drawn = three_units(PLAN_FSDP2);
  expect_picture(&drawn, "plan-fsdp2");
}

/* Before the first unit computes it is gathered, and as many of the three as set_modules_to_forward_prefetch names. */
static void forward_prefetches_as_asked(void) {
  static const guint expected[] = {1, 2, 3, 3};
  for (guint64 ahead = 0; ahead < G_N_ELEMENTS(expected); ahead++) {
    Drawn drawn = three_units(PLAN_FSDP2);
    drawn.recipe.fsdp.forward_prefetch = ahead;
    g_autoptr(Program) program = draw_plan(&drawn);
    const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
    guint gathered = 0;
    for (guint32 i = 0; i < section->n_rows; i++) {
      const ProgramRow *row = &section->rows[i];
      gathered += row->kind == PROGRAM_COLLECTIVE && row->call.operation == COLL_ALL_GATHER;
      if (row->kind == PROGRAM_COMPUTE && !g_str_has_prefix(row->name, "copy"))
        break;
    }
    CU_ASSERT_EQUAL(gathered, expected[ahead]);
  }
}

/* A recipe with every knob turned at random; shards that divide: 2, 4 or 8 ranks share, matrices and vocabulary are
 * multiples of 64. */
static Drawn draw_fsdp(GRand *random, PlanFramework framework) {
  Drawn drawn = draw(random, framework);
  gboolean second = framework == PLAN_FSDP2;
  drawn.shape.vocab_size = drawn.shape.vocab_size / 64 * 64 + 64;
  drawn.recipe.shard_ranks = 2u << g_rand_int_range(random, 0, 3);
  drawn.recipe.ranks = drawn.recipe.shard_ranks * (guint32)g_rand_int_range(random, 1, 5);
  drawn.recipe.global_batch = drawn.recipe.micro_batch * drawn.recipe.gradient_accumulation * drawn.recipe.ranks;
  drawn.recipe.zero_stage = g_rand_boolean(random) ? 3 : 2;
  drawn.recipe.gradient_clipping = g_rand_boolean(random);
  PlanFsdpKeys *keys = &drawn.recipe.fsdp;
  keys->parameter_bytes = model_precision_bytes(drawn.model.precision);
  keys->reduce_bytes = g_rand_boolean(random) ? 4 : 2;
  keys->shard_bytes = g_rand_boolean(random) ? 4 : keys->parameter_bytes;
  keys->wrap = g_rand_int_range(random, 0, drawn.shape.tied_embeddings ? 1 : 3);
  if (keys->parameter_bytes == 2 && drawn.model.precision != MODEL_FP8 && g_rand_boolean(random)) {
    drawn.model.autocast = TRUE;
    keys->parameter_bytes = keys->shard_bytes = 4;
  }
  keys->forward_prefetch = (guint64)g_rand_int_range(random, 0, second ? 4 : 2);
  keys->backward_prefetch = second ? PLAN_PREFETCH_PRE : g_rand_int_range(random, 0, 3);
  keys->limits_gathers = g_rand_boolean(random);
  keys->syncs_always = g_rand_boolean(random);
  if (second && drawn.recipe.zero_stage == 3 && drawn.recipe.shard_ranks > 2 && g_rand_boolean(random)) {
    keys->reshard = PLAN_RESHARD_SMALLER;
    keys->reshard_ranks = drawn.recipe.shard_ranks / 2;
  }
  keys->offloads =
      g_rand_int_range(random, 0, 3) == 0 && (second || !keys->syncs_always || drawn.recipe.gradient_accumulation == 1);
  return drawn;
}

static guint64 root_elements(const Drawn *drawn) {
  guint64 all = model_shape_parameters(&drawn->shape);
  ModelShape layers = drawn->shape;
  layers.layers = 0;
  return drawn->recipe.fsdp.wrap == PLAN_WRAP_NONE    ? all
         : drawn->recipe.fsdp.wrap == PLAN_WRAP_BLOCK ? model_shape_parameters(&layers)
                                                      : 0;
}

/* Elements gathered and reduced in a step of k micro-batches (PyTorch's FSDP; ZeRO paper, section 7, as implemented):
 *   FULL_SHARD      all-gather ψ in forward, and in backward what was freed (all but the root, which stays, and in
 *                   FSDP2 the head where it is a unit of its own and reshard_after_forward is its default):
 *                   k (2ψ − stays)
 *   SHARD_GRAD_OP   all-gather ψ in forward: kψ; under no_sync FSDP1 keeps parameters too: ψ in all
 *   both            reduce-scatter ψ: kψ, under no_sync ψ; each times 1/p all-reduced over copies of p ranks' shards
 * Recompute happens inside units, so that one gather of backward serves it too. */
static void volumes(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 200; i++) {
    gboolean second = g_rand_boolean(random);
    Drawn drawn = draw_fsdp(random, second ? PLAN_FSDP2 : PLAN_FSDP1);
    const PlanFsdpKeys *keys = &drawn.recipe.fsdp;
    guint64 psi = model_shape_parameters(&drawn.shape), k = drawn.recipe.gradient_accumulation;
    guint64 stays = root_elements(&drawn);
    if (second && keys->wrap == PLAN_WRAP_ENDS && keys->reshard == PLAN_RESHARD_DEFAULT)
      stays = drawn.shape.hidden_size * (drawn.shape.vocab_size + (drawn.shape.family == MODEL_GPT ? 2 : 1));
    guint64 gathers = drawn.recipe.zero_stage == 3   ? k * (2 * psi - stays)
                      : keys->syncs_always || second ? k * psi
                                                     : psi;
    guint64 reductions = (keys->syncs_always ? k : 1) * psi;
    g_autoptr(Program) program = draw_plan(&drawn);
    CU_ASSERT_EQUAL(draw_payload(program, PROGRAM_STEADY, COLL_ALL_GATHER), gathers * keys->parameter_bytes);
    CU_ASSERT_EQUAL(draw_payload(program, PROGRAM_STEADY, COLL_REDUCE_SCATTER), reductions * keys->reduce_bytes);
    gboolean hybrid = drawn.recipe.ranks > drawn.recipe.shard_ranks;
    CU_ASSERT_EQUAL(draw_payload(program, PROGRAM_STEADY, COLL_ALL_REDUCE),
                    hybrid ? reductions / drawn.recipe.shard_ranks * keys->reduce_bytes : 0);
  }
}

static guint64 copied(const Program *program) {
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  guint64 bytes = 0;
  for (guint32 i = 0; i < section->n_rows; i++)
    bytes += section->rows[i].kind == PROGRAM_COPY ? section->rows[i].call.bytes : 0;
  return bytes;
}

/* Offload copies a shard in for each gather (those of a smaller shard, which stays on the GPU, left out) and one out
 * for each reduction, in the shards' dtype. */
static void offload_copies_shards(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 60; i++) {
    Drawn drawn = draw_fsdp(random, g_rand_boolean(random) ? PLAN_FSDP2 : PLAN_FSDP1);
    PlanFsdpKeys *keys = &drawn.recipe.fsdp;
    keys->reshard = PLAN_RESHARD_DEFAULT;
    keys->offloads = TRUE;
    g_autoptr(Program) program = draw_plan(&drawn);
    guint64 gathers = draw_payload(program, PROGRAM_STEADY, COLL_ALL_GATHER) / keys->parameter_bytes;
    guint64 reductions = draw_payload(program, PROGRAM_STEADY, COLL_REDUCE_SCATTER) / keys->reduce_bytes;
    CU_ASSERT_EQUAL(copied(program), (gathers + reductions) / drawn.recipe.shard_ranks * keys->shard_bytes);
  }
}

/* NO_SHARD: gradients are all-reduced, ψ a micro-batch; nothing is gathered. All but parameters and two states of each
 * is given back, gradients too that became the optimizer's where they lay. */
static void no_shard_all_reduces(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 30; i++) {
    Drawn drawn = draw_fsdp(random, PLAN_FSDP1);
    const PlanFsdpKeys *keys = &drawn.recipe.fsdp;
    drawn.recipe.zero_stage = 0;
    drawn.recipe.fsdp.offloads = FALSE;
    guint64 psi = model_shape_parameters(&drawn.shape);
    guint64 reductions = keys->syncs_always ? drawn.recipe.gradient_accumulation : 1;
    g_autoptr(Program) program = draw_plan(&drawn);
    CU_ASSERT_EQUAL(draw_payload(program, PROGRAM_STEADY, COLL_ALL_GATHER), 0);
    CU_ASSERT_EQUAL(draw_payload(program, PROGRAM_STEADY, COLL_ALL_REDUCE), reductions * psi * keys->reduce_bytes);
    for (MemTenant tenant = 0; tenant < MEM_TENANTS; tenant++) {
      guint64 states = tenant == MEM_PARAMETERS ? 1 : tenant == MEM_OPTIMIZER ? 2 : 0;
      CU_ASSERT_EQUAL(draw_settled(program, tenant), states * psi * keys->shard_bytes);
    }
  }
}

/* Between steps: shards of parameters, and two states of each (Adam). All else was given back. */
static void books_balance(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 200; i++) {
    Drawn drawn = draw_fsdp(random, g_rand_boolean(random) ? PLAN_FSDP2 : PLAN_FSDP1);
    guint64 shard = model_shape_parameters(&drawn.shape) / drawn.recipe.shard_ranks * drawn.recipe.fsdp.shard_bytes;
    if (drawn.recipe.fsdp.offloads)
      shard = 0; /* all of it lies with the host */
    g_autoptr(Program) program = draw_plan(&drawn);
    for (MemTenant tenant = 0; tenant < MEM_TENANTS; tenant++) {
      guint64 expected = tenant == MEM_PARAMETERS ? shard : tenant == MEM_OPTIMIZER ? 2 * shard : 0;
      CU_ASSERT_EQUAL(draw_settled(program, tenant), expected);
    }
  }
}

/* Odd ranks: a flat parameter is padded to a multiple of N, so a unit's gather carries at most N − 1 elements more; by
 * rows each parameter is padded to whole rows for every rank. */
static void shards_are_padded(void) {
  Drawn drawn = three_units(PLAN_FSDP1);
  drawn.recipe.ranks = drawn.recipe.shard_ranks = drawn.recipe.global_batch = 7;
  drawn.recipe.fsdp.use_orig_params = FALSE;
  const PlanFsdpKeys *keys = &drawn.recipe.fsdp;
  /* embedding 1000 · 128 = 128000 → 7 · 18286; layer 4 · 128² + 3 · 128 · 256 + 2 · 128 = 164096 → 7 · 23443; head
   * 128 + 128000 = 128128 = 7 · 18304. */
  guint64 flat = 7 * (18286 + 23443 + 18304);
  g_autoptr(Program) first = draw_plan(&drawn);
  CU_ASSERT_EQUAL(draw_payload(first, PROGRAM_STEADY, COLL_REDUCE_SCATTER), flat * keys->reduce_bytes);
  /* Rows: 1000 → 7 · 143; 128 → 7 · 19; 256 → 7 · 37. */
  guint64 rows = 7 * (143 * 128 + (4 * 19 * 128 + 2 * 37 * 128 + 19 * 256 + 2 * 19) + (19 + 143 * 128));
  drawn.recipe.framework = PLAN_FSDP2;
  g_autoptr(Program) second = draw_plan(&drawn);
  CU_ASSERT_EQUAL(draw_payload(second, PROGRAM_STEADY, COLL_REDUCE_SCATTER), rows * keys->reduce_bytes);
}

/* Under use_orig_params parameters begin on 16 bytes: 8 elements of bf16. GPT's 3-head qkv bias of an odd width would
 * be padded; these widths are multiples of 8 already, so nothing changes, and by 3 ranks only the end is padded. */
static void alignment_pads_nothing_that_is_aligned(void) {
  Drawn drawn = three_units(PLAN_FSDP1);
  g_autoptr(Program) aligned = draw_plan(&drawn);
  drawn.recipe.fsdp.use_orig_params = FALSE;
  g_autoptr(Program) plain = draw_plan(&drawn);
  CU_ASSERT_EQUAL(draw_payload(aligned, PROGRAM_STEADY, COLL_ALL_GATHER),
                  draw_payload(plain, PROGRAM_STEADY, COLL_ALL_GATHER));
}

/* FSDP2 in backward, 2-byte parameters reduced in 4 bytes, a unit of U elements: unsharded(i) 2U, the next gathered
 * buffer(i−1) 2U, gradients(i) 2U, the input of reduction(i+1) 4U: 10U; beside it shards in flight (4U/N) and the small
 * root, never more than ten times its elements. */
static void backward_holds_ten_bytes_an_element(void) {
  Drawn drawn = three_units(PLAN_FSDP2);
  drawn.shape.layers = 6;
  drawn.shape.hidden_size = 1024;
  drawn.shape.heads = drawn.shape.kv_heads = 16;
  drawn.shape.intermediate_size = 4096;
  drawn.shape.vocab_size = 64;
  drawn.recipe.ranks = drawn.recipe.shard_ranks = drawn.recipe.global_batch = 64;
  drawn.recipe.fsdp.wrap = PLAN_WRAP_BLOCK;
  drawn.recipe.fsdp.reshard = PLAN_RESHARD_DEFAULT;
  drawn.recipe.fsdp.reduce_bytes = drawn.recipe.fsdp.shard_bytes = 4;
  guint64 unit = 4 * 1024 * 1024 + 3 * 1024 * 4096 + 2 * 1024, root = 2 * 64 * 1024 + 1024;
  gint64 level = 0;
  g_autoptr(Program) program = draw_plan(&drawn);
  guint64 peak = draw_walk(program, PROGRAM_STEADY, MEM_COMMUNICATION, &level);
  CU_ASSERT_TRUE(peak >= 10 * unit);
  CU_ASSERT_TRUE(peak <= 10 * unit + 10 * root);
}

static PlanHolding *all_units(const Drawn *drawn) {
  PlanScheduleShape single = {.schedule = LAYOUT_SCHEDULE_SINGLE, .ranks = 1, .chunks = 1, .micros = 1};
  const guint32 bounds[] = {0, (guint32)drawn->shape.layers + 2};
  return plan_holding_new(&single, bounds, 0);
}

static PlanWrap *wrapped(const Drawn *drawn, ProgramBuilder *builder, const PlanHolding *all, PlanWalk **ret_walk,
                         PlanWrapKind kind, guint64 least) {
  PlanCase what = {&drawn->shape, &drawn->model, &drawn->recipe};
  *ret_walk = plan_walk_new(builder, &what, all, program_builder_stream(builder, "compute"));
  return plan_wrap_new(*ret_walk, kind, least);
}

/* A model of embedding 128000, two layers of 164096, head 128128. By size: 150000 takes layers alone; 128050 the head
 * too; 200000 none alone, but embedding and layers together are the inner model, and the root keeps the head; 10⁶ is
 * the root of all. Attention is 4 · 16384, the MLP 3 · 32768, the norms 256: 98304 makes units of the two MLPs, of the
 * embedding, of the inner model (what is left of both layers, 131584) and of the head, and leaves the root nothing;
 * 30000 of each of the MLP's three layers and of the attention as a whole, four in each layer, of embedding and head,
 * and the root has the norms. */
static void units_are_chosen(void) {
  static const struct {
    PlanWrapKind kind;
    guint64 least;
    guint32 n;
    guint64 last; /* elements of the last unit */
  } cases[] = {
      {PLAN_WRAP_BLOCK, 0, 3, 256128},      {PLAN_WRAP_ENDS, 0, 4, 128128},      {PLAN_WRAP_NONE, 0, 1, 584320},
      {PLAN_WRAP_SIZE, 150000, 3, 256128},  {PLAN_WRAP_SIZE, 128050, 4, 128000}, {PLAN_WRAP_SIZE, 200000, 2, 128128},
      {PLAN_WRAP_SIZE, 1000000, 1, 584320}, {PLAN_WRAP_SIZE, 98304, 5, 128128},  {PLAN_WRAP_SIZE, 30000, 11, 512}};
  Drawn drawn = three_units(PLAN_FSDP1);
  drawn.shape.layers = 2;
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(ProgramBuilder) builder = program_builder_new();
    g_autoptr(PlanHolding) all = all_units(&drawn);
    g_autoptr(PlanWalk) walk = NULL;
    g_autoptr(PlanWrap) wrap = wrapped(&drawn, builder, all, &walk, cases[i].kind, cases[i].least);
    CU_ASSERT_EQUAL(wrap->n, cases[i].n);
    CU_ASSERT_EQUAL(wrap->units[wrap->n - 1].elements, cases[i].last);
  }
  /* Attention is 4 · 128² = 65536, the MLP 3 · 128 · 256 = 98304. */
  CU_ASSERT_TRUE(plan_wrap_splits_blocks(&drawn.shape, 98304));
  CU_ASSERT_FALSE(plan_wrap_splits_blocks(&drawn.shape, 98305));
}

/* Queries and output are 16384 elements each, keys and values half as many: 16384 makes units of both, of what is left
 * of attention (keys and values, whose forward holds the other two's) and of the MLP's three layers. A module's forward
 * begins before its children's. */
static void outer_units_begin_first(void) {
  static const char *const order[] = {"self_attn", "q_proj", "o_proj", "gate_proj", "up_proj", "down_proj"};
  Drawn drawn = three_units(PLAN_FSDP1);
  drawn.shape.kv_heads = 1;
  g_autoptr(ProgramBuilder) builder = program_builder_new();
  g_autoptr(PlanHolding) all = all_units(&drawn);
  g_autoptr(PlanWalk) walk = NULL;
  g_autoptr(PlanWrap) wrap = wrapped(&drawn, builder, all, &walk, PLAN_WRAP_SIZE, 16384);
  gsize seen = 0;
  for (guint32 i = 0; i < wrap->n; i++) {
    const PlanWrapUnit *unit = &wrap->units[wrap->begun[i]];
    CU_ASSERT_EQUAL(wrap->place[wrap->begun[i]], i);
    if (unit->inside == NULL)
      continue;
    CU_ASSERT_TRUE_FATAL(seen < G_N_ELEMENTS(order));
    CU_ASSERT_STRING_EQUAL(unit->inside, order[seen++]);
  }
  CU_ASSERT_EQUAL(seen, G_N_ELEMENTS(order));
}

/* Rows of a step that sum its metrics: so many of each name, all collectives in one slot. */
typedef struct {
  guint barriers, gathers, zeros, copies, waits;
  guint64 gathered;
  SimTime host;
  const char *slot;
} Metrics;

static void count_metric(Metrics *metrics, const Program *program, const ProgramRow *row) {
  if (row->kind == PROGRAM_COLLECTIVE)
    metrics->slot = g_intern_string(program->slots[row->group]);
  if (g_str_equal(row->name, "all-gather metric"))
    metrics->gathered = row->call.bytes;
  metrics->barriers += g_str_equal(row->name, "barrier before a metric");
  metrics->gathers += g_str_equal(row->name, "all-gather metric");
  metrics->zeros += g_str_equal(row->name, "zeros for a metric");
  metrics->copies += g_str_equal(row->name, "copy metric out of its list");
  metrics->waits += row->kind == PROGRAM_HOST && row->n_needs > 0;
  metrics->host += row->host;
}

static Metrics metrics_of(guint64 count, guint32 ranks, guint32 shard_ranks) {
  static const HwHost host = {.copy = 3, .listed_rank = 100};
  Drawn drawn = three_units(PLAN_FSDP1);
  drawn.model.loss_metrics = count;
  drawn.recipe.ranks = ranks;
  drawn.recipe.shard_ranks = shard_ranks;
  drawn.recipe.global_batch = ranks;
  drawn.recipe.host = &host;
  g_autoptr(Program) program = draw_plan(&drawn);
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  Metrics metrics = {0};
  guint32 i = 0;
  while (i < section->n_rows && !g_str_equal(section->rows[i].name, "end of step"))
    i++;
  while (++i < section->n_rows)
    count_metric(&metrics, program, &section->rows[i]);
  return metrics;
}

/* torchmetrics' gather_all_tensors for each of a metric's two numbers: after a barrier that the host waits for, a zero
 * and an element of a list for each rank. FSDP's shards over all ranks are on the default group already. */
static void metrics_cost_by_rank(void) {
  Metrics two = metrics_of(2, 8, 8);
  CU_ASSERT_EQUAL(two.barriers, 4);
  CU_ASSERT_EQUAL(two.waits, 4);
  CU_ASSERT_EQUAL(two.gathers, 4);
  CU_ASSERT_EQUAL(two.gathered, 8 * 8);
  CU_ASSERT_EQUAL(two.zeros, 4);
  CU_ASSERT_EQUAL(two.copies, 4);
  CU_ASSERT_EQUAL(two.host, 4 * 8 * (3 + 100));
  CU_ASSERT_EQUAL(g_strcmp0(two.slot, "shard"), 0);
  CU_ASSERT_EQUAL(metrics_of(1, 16, 8).host, 2 * 16 * (3 + 100));
  CU_ASSERT_EQUAL(g_strcmp0(metrics_of(1, 16, 8).slot, "data-parallel"), 0);
  CU_ASSERT_EQUAL(metrics_of(2, 1, 1).barriers, 0);
  CU_ASSERT_EQUAL(metrics_of(0, 8, 8).barriers, 0);
}

int main(void) {
  return harness_run("plan-fsdp",
                     (HarnessCase[]){{"fsdp1 runs as PyTorch does", fsdp1_runs_as_pytorch_does},
                                     {"fsdp2 runs as PyTorch does", fsdp2_runs_as_pytorch_does},
                                     {"forward prefetches as asked", forward_prefetches_as_asked},
                                     {"volumes", volumes},
                                     {"offload copies shards", offload_copies_shards},
                                     {"no shard all-reduces", no_shard_all_reduces},
                                     {"metrics cost by rank", metrics_cost_by_rank},
                                     {"books balance", books_balance},
                                     {"shards are padded", shards_are_padded},
                                     {"alignment pads nothing that is aligned", alignment_pads_nothing_that_is_aligned},
                                     {"backward holds ten bytes an element", backward_holds_ten_bytes_an_element},
                                     {"units are chosen", units_are_chosen},
                                     {"outer units begin first", outer_units_begin_first},
                                     {NULL, NULL}});
}
