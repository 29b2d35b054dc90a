/* SPDX-License-Identifier: MIT */
/* Training a part of the model, or adapters alone, under every framework: what is sent, what is held. */
#include "plan-case.h"

typedef struct {
  PlanShape shape;
  guint64 k;
  gboolean recompute;
} Case;

#define RANKS    8
#define RANK     4
#define SCALAR   8 /* bytes: norms are not counted */
#define LORA     "training.trainable=lora:4"
#define LORA_ALL "training.trainable=lora:4:all-linear"

static Case draw(GRand *random) {
  Case drawn = {.shape = {.layers = (guint64)g_rand_int_range(random, 1, 5),
                          .hidden_size = 64 * (guint64)g_rand_int_range(random, 1, 5),
                          .vocab_size = RANKS * (guint64)g_rand_int_range(random, 100, 900)},
                .k = (guint64)g_rand_int_range(random, 1, 4),
                .recompute = g_rand_boolean(random)};
  drawn.shape.intermediate_size = drawn.shape.hidden_size * (guint64)g_rand_int_range(random, 1, 5);
  return drawn;
}

static Program *plan(const Case *drawn, const char *const *sets) {
  g_autoptr(GPtrArray) all = g_ptr_array_new_with_free_func(g_free);
  g_ptr_array_add(all, g_strdup_printf("training.gradient_accumulation=%" G_GUINT64_FORMAT, drawn->k));
  g_ptr_array_add(all, g_strdup_printf("training.activation_checkpointing=%s", drawn->recompute ? "full" : "none"));
  for (; *sets != NULL; sets++)
    g_ptr_array_add(all, g_strdup(*sets));
  g_ptr_array_add(all, NULL);
  return plan_case(&drawn->shape, RANKS, RANKS, (const char *const *)all->pdata);
}

static guint64 bytes_of(const Program *program, CollOperation operation) {
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  guint64 bytes = 0;
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    if (row->kind == PROGRAM_COLLECTIVE && row->call.operation == operation && row->call.bytes > SCALAR)
      bytes += row->call.bytes;
  }
  return bytes;
}

static guint64 of_layer(const Case *c) {
  guint64 h = c->shape.hidden_size;
  return 4 * h * h + 3 * h * c->shape.intermediate_size + 2 * h;
}

static guint64 matrix(const Case *c) {
  return c->shape.vocab_size * c->shape.hidden_size;
}

/* Embedding, layers, head with its norm. */
static guint64 base(const Case *c) {
  return c->shape.layers * of_layer(c) + 2 * matrix(c) + c->shape.hidden_size;
}

/* A and B of one projection: rank · (in + out). By default q and v, h to h; all: also k, o, and three of h and f. */
static guint64 adapters(const Case *c, gboolean all) {
  guint64 h = c->shape.hidden_size, f = c->shape.intermediate_size;
  return c->shape.layers * RANK * (all ? 4 * 2 * h + 3 * (h + f) : 2 * 2 * h);
}

static void expect(guint64 found, guint64 expected, guint64 slack) {
  CU_ASSERT_TRUE(found >= expected && found <= expected + slack);
}

/* Gradients of adapters alone move, in each framework's dtype, as often as its full training's do; what is gathered
 * after the step is theirs too. Padding: two elements per rank for DeepSpeed's flat buffer, 64 per parameter and 128
 * per bucket for Megatron, one per rank and parameter for nanotron. */
static void adapters_alone_are_reduced(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 20; i++) {
    Case c = draw(random);
    gboolean all = g_rand_boolean(random);
    const char *lora = all ? LORA_ALL : LORA;
    guint64 a = adapters(&c, all), padding = c.shape.layers * 14 * 64 + 128;
    g_autoptr(Program) ddp = plan(&c, (const char *[]){"parallel.framework=ddp", lora, NULL});
    CU_ASSERT_EQUAL(bytes_of(ddp, COLL_ALL_REDUCE), 4 * a);
    g_autoptr(Program) one =
        plan(&c, (const char *[]){"parallel.framework=deepspeed", "parallel.zero_stage=1", lora, NULL});
    CU_ASSERT_EQUAL(bytes_of(one, COLL_ALL_REDUCE), 2 * a);
    expect(bytes_of(one, COLL_ALL_GATHER), 2 * a, 2 * 2 * RANKS);
    g_autoptr(Program) two =
        plan(&c, (const char *[]){"parallel.framework=deepspeed", "parallel.zero_stage=2", lora, NULL});
    CU_ASSERT_EQUAL(bytes_of(two, COLL_ALL_REDUCE), 2 * c.k * a);
    g_autoptr(Program) megatron =
        plan(&c, (const char *[]){"parallel.framework=megatron", "parallel.zero_stage=1", lora, NULL});
    expect(bytes_of(megatron, COLL_REDUCE_SCATTER), 4 * a, 4 * padding);
    expect(bytes_of(megatron, COLL_ALL_GATHER), 2 * a, 2 * padding);
    g_autoptr(Program) nanotron =
        plan(&c, (const char *[]){"parallel.framework=nanotron", "parallel.zero_stage=1", lora, NULL});
    CU_ASSERT_EQUAL(bytes_of(nanotron, COLL_REDUCE_SCATTER), 4 * a);
    expect(bytes_of(nanotron, COLL_ALL_GATHER), 2 * a, 2 * c.shape.layers * 14 * RANKS);
    g_autoptr(Program) paper =
        plan(&c, (const char *[]){"parallel.framework=paper", "parallel.zero_stage=2", lora, NULL});
    CU_ASSERT_EQUAL(bytes_of(paper, COLL_REDUCE_SCATTER), 2 * c.k * a);
    CU_ASSERT_EQUAL(bytes_of(paper, COLL_ALL_GATHER), 2 * a);
  }
}

/* Stage 3 gathers frozen parameters for forward and, but for the embedding's, for backward; gradients of adapters alone
 * are reduced. Textbook: exactly that. FSDP, block by block: the root's embedding, head and norm once a micro-batch,
 * blocks twice. FSDP1's flat gradient is whole whatever of it is trained. Padding: of rows (FSDP2), of 16 bytes and to
 * the ranks (FSDP1), per parameter. */
static void frozen_parameters_are_gathered(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 20; i++) {
    Case c = draw(random);
    gboolean all = g_rand_boolean(random);
    const char *lora = all ? LORA_ALL : LORA;
    guint64 a = adapters(&c, all), layers = c.shape.layers * of_layer(&c);
    g_autoptr(Program) paper =
        plan(&c, (const char *[]){"parallel.framework=paper", "parallel.zero_stage=3", lora, NULL});
    CU_ASSERT_EQUAL(bytes_of(paper, COLL_ALL_GATHER), 2 * c.k * (2 * (base(&c) + a) - matrix(&c)));
    CU_ASSERT_EQUAL(bytes_of(paper, COLL_REDUCE_SCATTER), 2 * c.k * a);
    guint64 gathered = base(&c) + a + layers + a;
    g_autoptr(Program) first =
        plan(&c, (const char *[]){"parallel.framework=fsdp1", "parallel.zero_stage=3", lora, NULL});
    guint64 flat = c.shape.layers * (9 + 14 + 1) * 8;
    expect(bytes_of(first, COLL_ALL_GATHER), 2 * c.k * gathered, 2 * c.k * 2 * (flat + 3 * 8));
    expect(bytes_of(first, COLL_REDUCE_SCATTER), 2 * c.k * (layers + a), 2 * c.k * flat);
    /* A of 4 rows over 8 ranks is padded to 8: up to as much again. Other rows are multiples of 8. */
    g_autoptr(Program) second =
        plan(&c, (const char *[]){"parallel.framework=fsdp2", "parallel.zero_stage=3", lora, NULL});
    expect(bytes_of(second, COLL_ALL_GATHER), 2 * c.k * gathered, 2 * c.k * 2 * a);
    expect(bytes_of(second, COLL_REDUCE_SCATTER), 2 * c.k * a, 2 * c.k * a);
  }
}

/* FSDP1, each adapter a unit: a frozen block has no gradient, and nothing is padded, for widths are multiples of the
 * ranks. Checkpointing lies inside the block's unit and around its adapters': they are gathered once more for a second
 * run that is whole. Gradients that wait for the last micro-batch are the adapters' alone. */
static void adapters_are_units_of_fsdp1(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 20; i++) {
    Case c = draw(random);
    gboolean all = g_rand_boolean(random);
    guint64 a = adapters(&c, all), blocks = c.shape.layers * of_layer(&c);
    const char *const sets[] = {"parallel.framework=fsdp1",
                                "parallel.zero_stage=3",
                                all ? LORA_ALL : LORA,
                                "fsdp.sync_every_micro_batch=no",
                                "fsdp.wrap_adapters=yes",
                                "fsdp.use_orig_params=no",
                                c.recompute ? "training.checkpoint_early_stop=no" : NULL,
                                NULL};
    g_autoptr(Program) apart = plan(&c, sets);
    guint64 gathered = base(&c) + blocks + (c.recompute ? 3 : 2) * a;
    CU_ASSERT_EQUAL(bytes_of(apart, COLL_ALL_GATHER), 2 * c.k * gathered);
    CU_ASSERT_EQUAL(bytes_of(apart, COLL_REDUCE_SCATTER), 2 * a);
  }
}

/* Of the adapters, those at most as large as the threshold stay gathered: with it at rank · h, q and v's are all of
 * them, and norms. Gathered in forward and backward is the rest, once after the step what stays. */
static void persistence_thresholds_apply_to_adapters(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 10; i++) {
    Case c = draw(random);
    guint64 h = c.shape.hidden_size;
    c.recompute = FALSE;
    g_autofree char *small =
        g_strdup_printf("deepspeed.stage3_param_persistence_threshold=%" G_GUINT64_FORMAT, RANK * h);
    g_autoptr(Program) program = plan(&c, (const char *[]){"parallel.framework=deepspeed", "parallel.zero_stage=3",
                                                           small, "deepspeed.stage3_prefetch_bucket_size=0",
                                                           "deepspeed.stage3_max_reuse_distance=0", LORA, NULL});
    guint64 norms = (2 * c.shape.layers + 1) * h, weights = base(&c) - norms;
    /* Backward: not the embedding, nor q, k and v of the lowest layer, through which nothing flows down. */
    guint64 wanted = c.k * (2 * weights - matrix(&c) - 3 * h * h) + norms + adapters(&c, FALSE);
    CU_ASSERT_EQUAL(bytes_of(program, COLL_ALL_GATHER), 2 * wanted);
    CU_ASSERT_EQUAL(bytes_of(program, COLL_REDUCE_SCATTER), 2 * c.k * adapters(&c, FALSE));
  }
}

/* A pattern: the upper layers' gradients alone. FSDP2 with a unit at each end gathers the embedding in backward for
 * nothing when layer 0 is trained: the unit above prefetches by the order of forward; FSDP1 does not. */
static void patterns_train_whole_units(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 10; i++) {
    Case c = draw(random);
    guint64 one = of_layer(&c), layers = c.shape.layers * one;
    const char *sets[] = {"parallel.zero_stage=3", "fsdp.wrap=ends", "training.trainable=0", NULL, NULL};
    sets[3] = "parallel.framework=fsdp1";
    g_autoptr(Program) first = plan(&c, sets);
    sets[3] = "parallel.framework=fsdp2";
    g_autoptr(Program) second = plan(&c, sets);
    guint64 head = matrix(&c) + c.shape.hidden_size, flat = (c.shape.layers + 2) * 10 * 8;
    expect(bytes_of(first, COLL_ALL_GATHER), 2 * c.k * (base(&c) + layers + head), 2 * c.k * 2 * flat);
    expect(bytes_of(first, COLL_REDUCE_SCATTER), 2 * c.k * one, 2 * c.k * flat);
    CU_ASSERT_EQUAL(bytes_of(second, COLL_ALL_GATHER), 2 * c.k * (base(&c) + layers + matrix(&c)));
    CU_ASSERT_EQUAL(bytes_of(second, COLL_REDUCE_SCATTER), 2 * c.k * one);
  }
}

/* Levels in host order, as if every stream passed at once. */
static void levels(const Program *program, ProgramSectionKind kind, gint64 *level) {
  const ProgramSection *section = &program->roles[0].sections[kind];
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    for (guint32 g = 0; g < row->n_gives; g++) {
      const ProgramTensor *tensor = &program->tensors[section->gives[row->gives + g].tensor];
      level[tensor->tenant] -= (gint64)tensor->bytes;
    }
    for (guint32 t = 0; t < row->n_takes; t++) {
      const ProgramTensor *tensor = &program->tensors[section->takes[row->takes + t]];
      level[tensor->tenant] += (gint64)tensor->bytes;
    }
  }
}

/* A step leaves every tenant as it found it, whatever is trained. */
static void books_balance(void) {
  static const char *const ways[][5] = {
      {"parallel.framework=paper", NULL},
      {"parallel.framework=paper", "parallel.zero_stage=2", NULL},
      {"parallel.framework=paper", "parallel.zero_stage=3", NULL},
      {"parallel.framework=ddp", NULL},
      {"parallel.framework=deepspeed", "parallel.zero_stage=1", NULL},
      {"parallel.framework=deepspeed", "parallel.zero_stage=2", NULL},
      {"parallel.framework=deepspeed", "parallel.zero_stage=3", NULL},
      {"parallel.framework=deepspeed", "parallel.zero_stage=3", "parallel.offload_optimizer=cpu", NULL},
      {"parallel.framework=fsdp1", "parallel.zero_stage=0", NULL},
      {"parallel.framework=fsdp1", "parallel.zero_stage=2", "fsdp.wrap=ends", NULL},
      {"parallel.framework=fsdp1", "parallel.zero_stage=3", "fsdp.wrap=ends", NULL},
      {"parallel.framework=fsdp1", "parallel.zero_stage=3", "fsdp.sync_every_micro_batch=no", NULL},
      {"parallel.framework=fsdp2", "parallel.zero_stage=2", "fsdp.wrap=ends", NULL},
      {"parallel.framework=fsdp2", "parallel.zero_stage=3", "fsdp.wrap=ends", NULL},
      {"parallel.framework=fsdp2", "parallel.zero_stage=3", "fsdp.wrap=ends", "fsdp.reshard_after_forward=4", NULL},
      {"parallel.framework=fsdp2", "parallel.zero_stage=3", "fsdp.sync_every_micro_batch=no", NULL},
      {"parallel.framework=fsdp2", "parallel.zero_stage=3", "fsdp.cpu_offload=yes", NULL},
      {"parallel.framework=megatron", "parallel.zero_stage=0", NULL},
      {"parallel.framework=megatron", "parallel.zero_stage=1", "megatron.overlap_grad_reduce=yes",
       "megatron.overlap_param_gather=yes", NULL},
      {"parallel.framework=nanotron", "parallel.zero_stage=1", NULL},
  };
  static const char *const trained[] = {LORA,
                                        LORA_ALL,
                                        "training.trainable=0",
                                        "training.trainable=0, embedding, head",
                                        "training.trainable=head",
                                        "training.trainable=all"};
  g_autoptr(GRand) random = harness_random();
  for (gsize w = 0; w < G_N_ELEMENTS(ways); w++)
    for (gsize t = 0; t < G_N_ELEMENTS(trained); t++) {
      Case c = draw(random);
      gint64 level[16] = {0}, before[16];
      const char *sets[6] = {trained[t]};
      gboolean ends = FALSE;
      for (int s = 0; ways[w][s] != NULL; s++) {
        sets[s + 1] = ways[w][s];
        ends |= strcmp(ways[w][s], "fsdp.wrap=ends") == 0;
      }
      c.shape.tied = !ends && t < 2 && g_rand_boolean(random);
      g_autoptr(Program) program = plan(&c, sets);
      levels(program, PROGRAM_FIRST, level);
      memcpy(before, level, sizeof level);
      levels(program, PROGRAM_STEADY, level);
      levels(program, PROGRAM_STEADY, level);
      gboolean same = memcmp(before, level, sizeof level) == 0;
      CU_ASSERT_TRUE(same);
      if (!same)
        fprintf(stderr, "%s %s %s\n", trained[t], ways[w][0], ways[w][1] != NULL ? ways[w][1] : "");
    }
}

int main(void) {
  return harness_run("plan-lora", (HarnessCase[]){{"adapters alone are reduced", adapters_alone_are_reduced},
                                                  {"frozen parameters are gathered", frozen_parameters_are_gathered},
                                                  {"adapters are units of FSDP1", adapters_are_units_of_fsdp1},
                                                  {"persistence thresholds apply to adapters",
                                                   persistence_thresholds_apply_to_adapters},
                                                  {"patterns train whole units", patterns_train_whole_units},
                                                  {"books balance", books_balance},
                                                  {NULL, NULL}});
}
