/* SPDX-License-Identifier: MIT */
/* What each framework sends per rank and step, over random models, GPUs and micro-batches: elements with the ring
 * factor left out. An all-reduce sends its payload twice; sums of one number are not counted. */
#include "kernel-op.h"
#include "mem-tenant.h"
#include "plan-case.h"

#define SCALAR 8 /* bytes */

typedef struct {
  PlanShape shape;
  guint32 ranks, per_node;
  guint64 k;           /* micro-batches */
  guint64 psi, layers; /* elements: of all parameters, of all layers */
  gboolean recompute;
} Case;

static Case draw(GRand *random) {
  Case drawn = {.shape = {.layers = (guint64)g_rand_int_range(random, 1, 5),
                          .hidden_size = 64 * (guint64)g_rand_int_range(random, 1, 5),
                          .vocab_size = (guint64)g_rand_int_range(random, 100, 9000),
                          .tied = g_rand_boolean(random)}};
  PlanShape *shape = &drawn.shape;
  shape->intermediate_size = shape->hidden_size * (guint64)g_rand_int_range(random, 1, 5);
  drawn.per_node = (guint32)1 << g_rand_int_range(random, 1, 4);
  drawn.ranks = drawn.per_node * (guint32)g_rand_int_range(random, 2, 5);
  drawn.k = (guint64)g_rand_int_range(random, 1, 4);
  drawn.recompute = g_rand_boolean(random);
  guint64 h = shape->hidden_size;
  drawn.layers = shape->layers * (4 * h * h + 3 * h * shape->intermediate_size + 2 * h);
  drawn.psi = drawn.layers + h + (shape->tied ? 1 : 2) * shape->vocab_size * h;
  return drawn;
}

static Program *plan(const Case *drawn, const char *const *sets) {
  g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(g_free);
  g_ptr_array_add(all, g_strdup_printf("training.gradient_accumulation=%" G_GUINT64_FORMAT, drawn->k));
  g_ptr_array_add(all, g_strdup_printf("training.activation_checkpointing=%s", drawn->recompute ? "full" : "none"));
  for (; *sets != NULL; sets++)
    g_ptr_array_add(all, g_strdup(*sets));
  g_ptr_array_add(all, NULL);
  return plan_case(&drawn->shape, drawn->ranks, drawn->per_node, (const char *const *)all->pdata);
}

/* Of one operation on a slot (by name; NULL: any). */
static guint64 elements(const Program *program, ProgramSectionKind kind, CollOperation operation, const char *slot,
                        guint32 element_bytes) {
  const ProgramSection *section = &program->roles[0].sections[kind];
  guint64 bytes = 0;
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    if (row->kind == PROGRAM_COLLECTIVE && row->call.operation == operation && row->call.bytes > SCALAR &&
        (slot == NULL || strcmp(program->slots[row->group], slot) == 0))
      bytes += row->call.bytes;
  }
  return bytes / element_bytes;
}

static guint64 sent(const Program *program, guint32 element_bytes) {
  static const guint64 weights[COLL_OPERATIONS] = {
      [COLL_ALL_REDUCE] = 2, [COLL_ALL_GATHER] = 1, [COLL_REDUCE_SCATTER] = 1, [COLL_REDUCE] = 1};
  guint64 sum = 0;
  for (CollOperation operation = 0; operation < COLL_OPERATIONS; operation++)
    sum += weights[operation] * elements(program, PROGRAM_STEADY, operation, NULL, element_bytes);
  return sum;
}

/* Between what is expected and that with padding: at most two elements per rank for a flat buffer, one per rank and
 * parameter for stage 3. */
static void expect(const Case *drawn, guint64 found, guint64 expected, guint64 gathers) {
  guint64 slack = gathers * 2 * drawn->ranks;
  CU_ASSERT_TRUE(found >= expected && found <= expected + slack);
}

static void paper_sends_what_the_paper_says(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 30; i++) {
    Case c = draw(random);
    const guint64 expected[] = {2 * c.psi, 2 * c.psi, (c.k + 1) * c.psi, 3 * c.k * c.psi};
    for (int stage = 0; stage <= 3; stage++) {
      g_autofree char *set = g_strdup_printf("parallel.zero_stage=%d", stage);
      g_autoptr(Program) program = plan(&c, (const char *[]){"parallel.framework=paper", set, NULL});
      CU_ASSERT_EQUAL(sent(program, 2), expected[stage]);
    }
  }
}

/* One all-reduce of fp32 gradients, in the last micro-batch; without no_sync in each. */
static void ddp_reduces_once(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 30; i++) {
    Case c = draw(random);
    g_autoptr(Program) once = plan(&c, (const char *[]){"parallel.framework=ddp", NULL});
    CU_ASSERT_EQUAL(sent(once, 4), 2 * c.psi);
    g_autoptr(Program) each = plan(&c, (const char *[]){"parallel.framework=ddp", "ddp.no_sync=no", NULL});
    CU_ASSERT_EQUAL(sent(each, 4), 2 * c.k * c.psi);
  }
}

/* Stage 0: an all-reduce. Stage 1: that and a gather, 3ψ; with one reduce per slice 2ψ; with fp32 accumulation (reduced
 * in bf16) 3ψ again. Stage 2: the same each micro-batch: (2k+1)ψ, (k+1)ψ. */
static void deepspeed_1_and_2_all_reduce(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 20; i++) {
    Case c = draw(random);
    const struct {
      const char *stage, *set;
      guint64 expected;
    } rows[] = {
        {"0", "deepspeed.overlap_comm=no", 2 * c.psi},
        {"1", "deepspeed.overlap_comm=no", 3 * c.psi},
        {"1", "deepspeed.overlap_comm=yes", 3 * c.psi},
        {"1", "deepspeed.reduce_scatter=no", 3 * c.psi},
        {"1", "deepspeed.contiguous_gradients=no", 3 * c.psi},
        {"1", "deepspeed.use_multi_rank_bucket_allreduce=no", 2 * c.psi},
        {"1", "parallel.framework_version=0.12.3", 2 * c.psi},
        {"1", "training.gradient_accumulation_dtype=fp32", 3 * c.psi},
        {"2", "deepspeed.overlap_comm=no", (2 * c.k + 1) * c.psi},
        {"2", "deepspeed.overlap_comm=yes", (2 * c.k + 1) * c.psi},
        {"2", "deepspeed.reduce_bucket_size=5000", (2 * c.k + 1) * c.psi},
        {"2", "deepspeed.use_multi_rank_bucket_allreduce=no", (c.k + 1) * c.psi},
    };
    for (gsize r = 0; r < G_N_ELEMENTS(rows); r++) {
      g_autofree char *stage = g_strconcat("parallel.zero_stage=", rows[r].stage, NULL);
      g_autoptr(Program) program = plan(&c, (const char *[]){"parallel.framework=deepspeed", stage, rows[r].set, NULL});
      expect(&c, sent(program, 2), rows[r].expected, 1);
    }
  }
}

#define BARE                                                                                                           \
  "parallel.framework=deepspeed", "parallel.zero_stage=3", "deepspeed.stage3_param_persistence_threshold=0",           \
      "deepspeed.stage3_prefetch_bucket_size=0", "deepspeed.stage3_max_reuse_distance=0"

/* Padding of so many whole gathers: under one element per rank and parameter. */
static guint64 padding(const Case *c, guint64 gathers) {
  return gathers * (c->shape.layers * 9 + 3) * c->ranks;
}

/* Nothing kept and nothing ahead: a gather forward and one backward, and one more of the layers where they are
 * recomputed. A tied matrix is gathered at both ends of both passes. Gradients once. */
static void stage_3_gathers_for_each_use(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 20; i++) {
    Case c = draw(random);
    g_autoptr(Program) program = plan(&c, (const char *[]){BARE, NULL});
    guint64 matrix = c.shape.tied ? c.shape.vocab_size * c.shape.hidden_size : 0;
    guint64 gathered = c.k * (2 * (c.psi + matrix) + (c.recompute ? c.layers : 0));
    guint64 found = elements(program, PROGRAM_STEADY, COLL_ALL_GATHER, NULL, 2);
    CU_ASSERT_TRUE(found >= gathered && found <= gathered + padding(&c, 4 * c.k));
    CU_ASSERT_EQUAL(elements(program, PROGRAM_STEADY, COLL_REDUCE_SCATTER, NULL, 2), c.k * c.psi);
  }
}

/* By default a model of less than 1e9 elements is gathered once per micro-batch and kept from forward to backward, and
 * small parameters are gathered once per step. */
static void small_models_stay_gathered(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 20; i++) {
    Case c = draw(random);
    g_autoptr(Program) program =
        plan(&c, (const char *[]){"parallel.framework=deepspeed", "parallel.zero_stage=3", NULL});
    guint64 found = elements(program, PROGRAM_STEADY, COLL_ALL_GATHER, NULL, 2);
    CU_ASSERT_TRUE(found <= MAX(c.k, 1) * c.psi + padding(&c, c.k + 1));
    CU_ASSERT_EQUAL(elements(program, PROGRAM_STEADY, COLL_REDUCE_SCATTER, NULL, 2), c.k * c.psi);
  }
}

/* hpZ: only the first forward of a step gathers over all GPUs, ψ; the other 2k−1 passes inside the group. */
static void second_copy_serves_after_the_first_forward(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 20; i++) {
    Case c = draw(random);
    c.recompute = FALSE;
    c.shape.tied = FALSE;
    c.psi = c.layers + c.shape.hidden_size + 2 * c.shape.vocab_size * c.shape.hidden_size;
    g_autofree char *part = g_strdup_printf("deepspeed.zero_hpz_partition_size=%u", c.per_node);
    g_autoptr(Program) program = plan(&c, (const char *[]){BARE, part, NULL});
    guint64 wide = elements(program, PROGRAM_STEADY, COLL_ALL_GATHER, "data-parallel", 2);
    guint64 narrow = elements(program, PROGRAM_STEADY, COLL_ALL_GATHER, "second-copy", 2);
    CU_ASSERT_TRUE(wide >= c.psi && wide <= c.psi + padding(&c, 1));
    CU_ASSERT_TRUE(narrow >= (2 * c.k - 1) * c.psi && narrow <= (2 * c.k - 1) * c.psi + padding(&c, 2 * c.k));
  }
}

/* MiCS: gathers and reduce-scatters inside the group of p, and once per step an all-reduce of the shard, ψ/p. */
static void copies_reduce_their_shards(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 20; i++) {
    Case c = draw(random);
    g_autoptr(Program) program = plan(&c, (const char *[]){BARE, "parallel.shard_group=node", NULL});
    CU_ASSERT_EQUAL(elements(program, PROGRAM_STEADY, COLL_REDUCE_SCATTER, "shard-group", 2), c.k * c.psi);
    CU_ASSERT_EQUAL(elements(program, PROGRAM_STEADY, COLL_ALL_GATHER, "data-parallel", 2), 0);
    guint64 reduced = elements(program, PROGRAM_STEADY, COLL_ALL_REDUCE, "shard-copies", 2);
    guint64 shard = c.psi / c.per_node;
    CU_ASSERT_TRUE(reduced >= shard && reduced <= shard + c.shape.layers * 9 + 3);
  }
}

/* Only what is trained is reduced, and gathered after the step; stage 3 gathers all, frozen or not, for each use. Of
 * layers 0 and up to the head's units, only layer 0 is trained: forward gathers everything, backward all but the
 * embedding. */
static void frozen_parameters_are_not_reduced(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 20; i++) {
    Case c = draw(random);
    guint64 one = c.layers / c.shape.layers, embedding = c.shape.vocab_size * c.shape.hidden_size;
    g_autoptr(Program) ddp = plan(&c, (const char *[]){"parallel.framework=ddp", "training.trainable=0", NULL});
    CU_ASSERT_EQUAL(sent(ddp, 4), 2 * one);
    g_autoptr(Program) two = plan(
        &c, (const char *[]){"parallel.framework=deepspeed", "parallel.zero_stage=2", "training.trainable=0", NULL});
    expect(&c, sent(two, 2), (2 * c.k + 1) * one, 1);
    c.recompute = c.shape.tied = FALSE;
    c.psi = c.layers + c.shape.hidden_size + 2 * embedding;
    g_autoptr(Program) three = plan(&c, (const char *[]){BARE, "training.trainable=0", NULL});
    guint64 gathered = elements(three, PROGRAM_STEADY, COLL_ALL_GATHER, NULL, 2),
            wanted = c.k * (2 * c.psi - embedding);
    CU_ASSERT_TRUE(gathered >= wanted && gathered <= wanted + padding(&c, 2 * c.k));
    CU_ASSERT_EQUAL(elements(three, PROGRAM_STEADY, COLL_REDUCE_SCATTER, NULL, 2), c.k * one);
  }
}

/* Levels in host order, as if every stream passed at once. */
static void levels(const Program *program, ProgramSectionKind kind, gint64 *level) {
  const ProgramSection *section = &program->roles[0].sections[kind];
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    for (guint32 g = 0; g < row->n_gives; g++)
      level[program->tensors[section->gives[row->gives + g].tensor].tenant] -=
          (gint64)program->tensors[section->gives[row->gives + g].tensor].bytes;
    for (guint32 t = 0; t < row->n_takes; t++)
      level[program->tensors[section->takes[row->takes + t]].tenant] +=
          (gint64)program->tensors[section->takes[row->takes + t]].bytes;
  }
}

/* Units inside blocks (size:N with N the size of one of the MLP's three layers, h f): each of those, and of the
 * attention (4 h^2, at least h f as f <= 4 h) its parts or the whole. Norms are left to the inner model or the root,
 * with an embedding and a head that are smaller than N. All is gathered in forward and, but for the root, in backward;
 * where blocks run again FSDP1 gathers what is inside for that alone: once more, but for the MLP's last layer where the
 * second run ends before it, as by default. Padding: parameters on 16 bytes, flat
 * ones to a multiple of the ranks. */
static void units_inside_blocks_are_gathered_again(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 40; i++) {
    Case c = draw(random);
    c.shape.tied = FALSE;
    guint64 h = c.shape.hidden_size, n = h * c.shape.intermediate_size, table = c.shape.vocab_size * h;
    c.psi = c.layers + h + 2 * table;
    guint64 norms = c.shape.layers * 2 * h, left = norms + (table < n ? table : 0);
    guint64 root = (left < n ? left : 0) + (table + h < n ? table + h : 0);
    g_autofree char *set = g_strdup_printf("fsdp.wrap=size:%" G_GUINT64_FORMAT, n);
    g_autoptr(Program) program =
        plan(&c, (const char *[]){"parallel.framework=fsdp1", "parallel.zero_stage=3", set, NULL});
    g_autoptr(Program) whole = plan(&c, (const char *[]){"parallel.framework=fsdp1", "parallel.zero_stage=3", set,
                                                         "training.checkpoint_early_stop=no", NULL});
    guint64 expected = c.k * (2 * c.psi - root + (c.recompute ? c.layers - norms : 0)), units = c.shape.layers * 9 + 3;
    guint64 found = elements(whole, PROGRAM_STEADY, COLL_ALL_GATHER, NULL, 2), most = c.k * 3 * units * (c.ranks + 64);
    CU_ASSERT_TRUE(found >= expected && found <= expected + most);
    expected -= c.k * (c.recompute ? c.shape.layers * n : 0);
    found = elements(program, PROGRAM_STEADY, COLL_ALL_GATHER, NULL, 2);
    CU_ASSERT_TRUE(found >= expected && found <= expected + most);
    guint64 reduced = elements(program, PROGRAM_STEADY, COLL_REDUCE_SCATTER, NULL, 2);
    CU_ASSERT_TRUE(reduced >= c.k * c.psi && reduced <= c.k * (c.psi + units * (c.ranks + 64)));
  }
}

/* Weights of the layers' linear parts in one byte instead of two, forward and backward; 64 divides by the 16 ranks, so
 * that nothing is padded. Gradients stay as they are. */
static void fp8_gathers_half_of_the_weights(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 20; i++) {
    Case c = draw(random);
    c.ranks = 16, c.per_node = 8;
    c.shape.vocab_size = c.shape.vocab_size / 16 * 16;
    g_autoptr(Program) whole = plan(&c, (const char *[]){"parallel.framework=fsdp2", "parallel.zero_stage=3", NULL});
    g_autoptr(Program) half = plan(&c, (const char *[]){"parallel.framework=fsdp2", "parallel.zero_stage=3",
                                                        "training.precision=fp8", "fsdp.float8_all_gather=yes", NULL});
    guint64 weights = c.layers - c.shape.layers * 2 * c.shape.hidden_size;
    CU_ASSERT_EQUAL(elements(whole, PROGRAM_STEADY, COLL_ALL_GATHER, NULL, 1),
                    elements(half, PROGRAM_STEADY, COLL_ALL_GATHER, NULL, 1) + 2 * c.k * weights);
    CU_ASSERT_EQUAL(elements(whole, PROGRAM_STEADY, COLL_REDUCE_SCATTER, NULL, 1),
                    elements(half, PROGRAM_STEADY, COLL_REDUCE_SCATTER, NULL, 1));
  }
}

/* Megatron's fp8_param_gather: the same, once a step; the rows of norms, embedding and head stay two bytes. */
static void fp8_parameters_are_gathered_in_half(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 20; i++) {
    Case c = draw(random);
    g_autoptr(Program) whole = plan(
        &c, (const char *[]){"parallel.framework=megatron", "parallel.zero_stage=1", "training.precision=fp8", NULL});
    g_autoptr(Program) half =
        plan(&c, (const char *[]){"parallel.framework=megatron", "parallel.zero_stage=1", "training.precision=fp8",
                                  "megatron.fp8_param_gather=yes", NULL});
    guint64 weights = c.layers - c.shape.layers * 2 * c.shape.hidden_size;
    CU_ASSERT_EQUAL(elements(whole, PROGRAM_STEADY, COLL_ALL_GATHER, NULL, 1),
                    elements(half, PROGRAM_STEADY, COLL_ALL_GATHER, NULL, 1) + weights);
    CU_ASSERT_EQUAL(elements(whole, PROGRAM_STEADY, COLL_REDUCE_SCATTER, NULL, 1),
                    elements(half, PROGRAM_STEADY, COLL_REDUCE_SCATTER, NULL, 1));
  }
}

static double states(const Program *program) {
  double bytes = 0;
  for (guint32 t = 0; t < program->n_tensors; t++)
    bytes += program->tensors[t].tenant == MEM_OPTIMIZER ? (double)program->tensors[t].bytes : 0;
  return bytes;
}

/* Matmuls of an optimizer's step. */
static double step_flops(const Program *program) {
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  double flops = 0;
  for (guint32 i = 0; i < section->n_rows; i++)
    if (section->rows[i].phase == PROGRAM_OPTIMIZER && section->rows[i].kind == PROGRAM_COMPUTE)
      flops += program->ops[section->rows[i].op].flops;
  return flops;
}

/* What Adam reads and writes in a step. */
static double adam_bytes(const Program *program) {
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  double bytes = 0;
  for (guint32 i = 0; i < section->n_rows; i++)
    if (section->rows[i].kind == PROGRAM_COMPUTE && g_str_has_prefix(section->rows[i].name, "adam"))
      bytes += (double)program->ops[section->rows[i].op].bytes;
  return bytes;
}

/* Muon: fp32 momenta of layers' matrices once, of all else twice; under ddp every rank orthogonalises every matrix,
 * five times 2 · (2 m² n + m³), of 4 of h × h and 3 of h × f a layer; under fsdp2 too, which first gathers each in
 * bf16 once a step; Adam has the others. Adafactor keeps no more than sums of rows and columns, 8 h + 3 (h + f) a
 * layer, and vectors. */
static void optimizers_that_see_matrices(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 20; i++) {
    Case c = draw(random);
    double h = (double)c.shape.hidden_size, f = (double)c.shape.intermediate_size, layers = (double)c.shape.layers;
    double vocab = (double)c.shape.vocab_size, tables = c.shape.tied ? 1 : 2;
    double moved = layers * (4 * h * h + 3 * h * f), all = (double)c.psi, m = MIN(h, f), n = MAX(h, f);
    double flops = layers * 5 * 2 * (4 * 3 * h * h * h + 3 * (2 * m * m * n + m * m * m));
    g_autoptr(Program) whole = plan(&c, (const char *[]){"parallel.framework=ddp", "training.optimizer=muon", NULL});
    CU_ASSERT_DOUBLE_EQUAL(states(whole), 4 * (moved + 2 * (all - moved)), 1e-6 * all + 64);
    CU_ASSERT_DOUBLE_EQUAL(step_flops(whole), flops, 1e-9 * flops);
    const char *const fsdp2[] = {"parallel.framework=fsdp2", "parallel.zero_stage=3", "training.optimizer=muon", NULL};
    const char *const adam[] = {"parallel.framework=fsdp2", "parallel.zero_stage=3", NULL};
    g_autoptr(Program) shards = plan(&c, fsdp2), usual = plan(&c, adam);
    CU_ASSERT_DOUBLE_EQUAL(step_flops(shards), flops, 1e-9 * flops);
    CU_ASSERT_EQUAL(elements(shards, PROGRAM_STEADY, COLL_ALL_GATHER, NULL, 2),
                    elements(usual, PROGRAM_STEADY, COLL_ALL_GATHER, NULL, 2) + (guint64)moved);
    CU_ASSERT_DOUBLE_EQUAL(adam_bytes(shards) / adam_bytes(usual), (all - moved) / all, 0.01);
    g_autoptr(Program) factored =
        plan(&c, (const char *[]){"parallel.framework=ddp", "training.optimizer=adafactor", NULL});
    double numbers = layers * (8 * h + 3 * (h + f) + 2 * h) + h + tables * (vocab + h);
    CU_ASSERT_DOUBLE_EQUAL(states(factored), 4 * numbers, 1e-6 * all + 64);
    CU_ASSERT_EQUAL(step_flops(factored), 0);
  }
}

/* checkpoint(FSDP(block)): blocks are gathered for forward, for running again and for backward; the root once. With
 * their gradients' reduction 4ψ of blocks each micro-batch; inside, 3ψ. Padding: parameters begin on 8 elements, flat
 * ones end on the ranks. */
static void checkpoint_outside_gathers_once_more(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 20; i++) {
    Case c = draw(random);
    c.recompute = TRUE;
    for (guint64 outside = 0; outside < 2; outside++) {
      g_autofree char *set = g_strdup_printf("fsdp.checkpoint_outside=%s", outside ? "yes" : "no");
      g_autoptr(Program) program =
          plan(&c, (const char *[]){"parallel.framework=fsdp1", "parallel.zero_stage=3", set, NULL});
      guint64 gathered = c.k * (c.psi + (1 + outside) * c.layers);
      guint64 found = elements(program, PROGRAM_STEADY, COLL_ALL_GATHER, NULL, 2);
      guint64 slack = c.k * 3 * (c.shape.layers + 1) * (9 * 8 + c.ranks);
      CU_ASSERT_TRUE(found >= gathered && found <= gathered + slack);
      guint64 reduced = elements(program, PROGRAM_STEADY, COLL_REDUCE_SCATTER, NULL, 2);
      CU_ASSERT_TRUE(reduced >= c.k * c.psi && reduced <= c.k * c.psi + slack);
      gint64 level[16] = {0}, before[16];
      levels(program, PROGRAM_FIRST, level);
      memcpy(before, level, sizeof level);
      levels(program, PROGRAM_STEADY, level);
      CU_ASSERT_EQUAL(memcmp(before, level, sizeof level), 0);
    }
  }
}

/* A step leaves every tenant as it found it. */
static void books_balance(void) {
  static const char *const ways[][6] = {
      {"parallel.framework=ddp", NULL},
      {"parallel.framework=ddp", "ddp.gradient_as_bucket_view=yes", NULL},
      {"parallel.framework=deepspeed", "parallel.zero_stage=0", NULL},
      {"parallel.framework=deepspeed", "parallel.zero_stage=1", NULL},
      {"parallel.framework=deepspeed", "parallel.zero_stage=1", "deepspeed.overlap_comm=yes", NULL},
      {"parallel.framework=deepspeed", "parallel.zero_stage=1", "training.gradient_accumulation_dtype=fp32", NULL},
      {"parallel.framework=deepspeed", "parallel.zero_stage=1", "training.gradient_accumulation_dtype=fp32",
       "deepspeed.immediate_grad_update=yes", NULL},
      {"parallel.framework=deepspeed", "parallel.zero_stage=2", NULL},
      {"parallel.framework=deepspeed", "parallel.zero_stage=2", "deepspeed.contiguous_gradients=no", NULL},
      {"parallel.framework=deepspeed", "parallel.zero_stage=2", "deepspeed.reduce_bucket_size=3000", NULL},
      {"parallel.framework=deepspeed", "parallel.zero_stage=3", NULL},
      {"parallel.framework=deepspeed", "parallel.zero_stage=3", "deepspeed.reduce_bucket_size=3000", NULL},
      {"parallel.framework=deepspeed", "parallel.zero_stage=3", "deepspeed.zero_quantized_weights=yes", NULL},
      {"parallel.framework=deepspeed", "parallel.zero_stage=3", "deepspeed.zero_quantized_gradients=yes", NULL},
      {"parallel.framework=deepspeed", "parallel.zero_stage=1", "parallel.offload_optimizer=cpu", NULL},
      {"parallel.framework=deepspeed", "parallel.zero_stage=2", "parallel.offload_optimizer=cpu",
       "parallel.framework_version=0.10", NULL},
      {"parallel.framework=deepspeed", "parallel.zero_stage=3", "parallel.offload_optimizer=cpu",
       "parallel.offload_parameters=cpu", NULL},
      {BARE, NULL},
      {"parallel.framework=fsdp1", "parallel.zero_stage=3", NULL},
      {"parallel.framework=fsdp1", "parallel.zero_stage=2", NULL},
      {"parallel.framework=fsdp1", "parallel.zero_stage=3", "model.tied_embeddings=no", "fsdp.wrap=size:10000", NULL},
      {"parallel.framework=megatron", "parallel.zero_stage=1", "training.precision=fp8",
       "megatron.fp8_param_gather=yes", NULL},
      {"parallel.framework=fsdp2", "parallel.zero_stage=3", "training.precision=fp8", "fsdp.float8_all_gather=yes",
       NULL},
      {"parallel.framework=fsdp2", "parallel.zero_stage=3", "training.optimizer=muon", NULL},
      {"parallel.framework=ddp", "training.optimizer=adafactor", NULL},
      {"parallel.framework=ddp", "training.trainable=0", NULL},
      {"parallel.framework=ddp", "training.trainable=0, embedding, head", NULL},
      {"parallel.framework=deepspeed", "parallel.zero_stage=1", "training.trainable=0", NULL},
      {"parallel.framework=deepspeed", "parallel.zero_stage=3", "training.trainable=embedding, head", NULL},
  };
  g_autoptr(GRand) random = harness_random();
  for (gsize w = 0; w < G_N_ELEMENTS(ways); w++)
    for (int i = 0; i < 4; i++) {
      Case c = draw(random);
      gint64 level[16] = {0}, before[16];
      for (guint set = 0; ways[w][set] != NULL; set++)
        c.shape.tied = c.shape.tied && !g_str_equal(ways[w][set], "model.tied_embeddings=no");
      g_autoptr(Program) program = plan(&c, ways[w]);
      levels(program, PROGRAM_FIRST, level);
      memcpy(before, level, sizeof level);
      levels(program, PROGRAM_STEADY, level);
      levels(program, PROGRAM_STEADY, level);
      gboolean same = memcmp(before, level, sizeof level) == 0;
      CU_ASSERT_TRUE(same);
      if (!same)
        fprintf(stderr, "%s %s %s\n", ways[w][0], ways[w][1], ways[w][1] != NULL ? ways[w][2] : "");
    }
}

/* The host's last row is the optimizer's and no unit's, whatever the framework did last. */
static void steps_end_in_the_optimizer(void) {
  static const char *const frameworks[] = {"paper", "ddp", "fsdp1", "fsdp2", "deepspeed", "megatron", "nanotron"};
  PlanShape shape = {.layers = 2, .hidden_size = 64, .intermediate_size = 128, .vocab_size = 640};
  for (gsize i = 0; i < G_N_ELEMENTS(frameworks); i++) {
    g_autofree char *set = g_strconcat("parallel.framework=", frameworks[i], NULL);
    const char *stage = g_str_has_prefix(frameworks[i], "fsdp") ? "parallel.zero_stage=3"
                        : i > 3                                 ? "parallel.zero_stage=1"
                                                                : NULL;
    g_autoptr(Program) program = plan_case(&shape, 8, 8, (const char *[]){set, stage, NULL});
    const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
    const ProgramRow *last = &section->rows[section->n_rows - 1];
    while (last > section->rows && strcmp(last->name, "end of step") != 0)
      last--;
    CU_ASSERT_EQUAL(last->phase, PROGRAM_OPTIMIZER);
    CU_ASSERT_EQUAL(last->layer, -1);
    CU_ASSERT_EQUAL(last->micro, -1);
  }
}

int main(void) {
  return harness_run(
      "plan-volumes",
      (HarnessCase[]){{"paper sends what the paper says", paper_sends_what_the_paper_says},
                      {"ddp reduces once", ddp_reduces_once},
                      {"deepspeed 1 and 2 all-reduce", deepspeed_1_and_2_all_reduce},
                      {"stage 3 gathers for each use", stage_3_gathers_for_each_use},
                      {"small models stay gathered", small_models_stay_gathered},
                      {"second copy serves after the first forward", second_copy_serves_after_the_first_forward},
                      {"copies reduce their shards", copies_reduce_their_shards},
                      {"frozen parameters are not reduced", frozen_parameters_are_not_reduced},
                      {"checkpoint outside gathers once more", checkpoint_outside_gathers_once_more},
                      {"units inside blocks are gathered again", units_inside_blocks_are_gathered_again},
                      {"fp8 gathers half of the weights", fp8_gathers_half_of_the_weights},
                      {"fp8 parameters are gathered in half", fp8_parameters_are_gathered_in_half},
                      {"optimizers that see matrices", optimizers_that_see_matrices},
                      {"steps end in the optimizer", steps_end_in_the_optimizer},
                      {"books balance", books_balance},
                      {NULL, NULL}});
}
