/* SPDX-License-Identifier: MIT */
/* fp32 parameters under torch.autocast in FSDP: what is gathered, cast and reduced, how long 16-bit copies of weights
 * live by whether autocast caches them and by what runs again, and what is refused beside it. */
#include "plan-case.h"

#define LAYERS 3

/* Elements: a layer 4·64² + 3·64·128 + 2·64 = 41 088, of which 40 960 are matrices; the embedding 641·64 = 41 024, the
 * head that and a norm of 64. */
static const PlanShape shape = {.layers = LAYERS, .hidden_size = 64, .intermediate_size = 128, .vocab_size = 641};
#define LAYER_COPY (2 * 40960)
#define HEAD_COPY  (2 * 41024)

static Program *planned(const char *framework, const char *second, const char *third) {
  return plan_case(&shape, 8, 8,
                   (const char *[]){framework, "parallel.zero_stage=3", "fsdp.param_dtype=fp32", second, third, NULL});
}

static guint64 payload(const Program *program, CollOperation operation) {
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  guint64 bytes = 0;
  for (guint32 i = 0; i < section->n_rows; i++)
    if (section->rows[i].kind == PROGRAM_COLLECTIVE && section->rows[i].call.operation == operation)
      bytes += section->rows[i].call.bytes;
  return bytes;
}

static guint count(const Program *program, const char *name, ProgramPhase phase) {
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  guint n = 0;
  for (guint32 i = 0; i < section->n_rows; i++)
    n += section->rows[i].phase == phase && strcmp(section->rows[i].name, name) == 0;
  return n;
}

/* Most bytes of 16-bit copies that are held at once, as rows of `phase` are issued; *ret_left: when the step ends. */
static guint64 most_copies(const Program *program, ProgramPhase phase, gint64 *ret_left) {
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  gint64 level = 0, most = 0;
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    for (guint32 g = 0; g < row->n_gives; g++) {
      const ProgramTensor *tensor = &program->tensors[section->gives[row->gives + g].tensor];
      level -= g_str_equal(tensor->name, "16-bit weights") ? (gint64)tensor->bytes : 0;
    }
    for (guint32 t = 0; t < row->n_takes; t++) {
      const ProgramTensor *tensor = &program->tensors[section->takes[row->takes + t]];
      level += g_str_equal(tensor->name, "16-bit weights") ? (gint64)tensor->bytes : 0;
    }
    most = row->phase == phase ? MAX(most, level) : most;
  }
  *ret_left = level;
  return (guint64)most;
}

/* All parameters are gathered in 4 bytes, in forward and, but for the root (embedding and head), in backward, where in
 * bf16 it is 2; reduced in 4, which is what gradients are, or in the 2 that Lightning asks for. Padding: units divide
 * by 8 ranks, FSDP2's rows of the embedding, 641, do not: 7 more. */
static void gathers_four_bytes(void) {
  static const char *const frameworks[] = {"parallel.framework=fsdp1", "parallel.framework=fsdp2"};
  for (gsize i = 0; i < G_N_ELEMENTS(frameworks); i++) {
    guint64 layers = LAYERS * 41088, root = 2 * 41024 + 64 + (i == 1 ? 2 * 7 * 64 : 0);
    g_autoptr(Program) plain = planned(frameworks[i], NULL, NULL);
    g_autoptr(Program) lightning = planned(frameworks[i], "fsdp.reduce_dtype=bf16", NULL);
    CU_ASSERT_EQUAL(payload(plain, COLL_ALL_GATHER), 4 * (2 * layers + root));
    CU_ASSERT_EQUAL(payload(plain, COLL_REDUCE_SCATTER), 4 * (layers + root));
    CU_ASSERT_EQUAL(payload(lightning, COLL_REDUCE_SCATTER), 2 * (layers + root));
    plan_case_plays(lightning, frameworks[i]);
  }
}

/* Layers and head are cast once a forward, and the gradients of their matrices come in 16 bits: 7 a layer and one;
 * shards are not cast to be gathered. Twice as often in two micro-batches. */
static void matrices_alone_are_cast(void) {
  static const char *const frameworks[] = {"parallel.framework=fsdp1", "parallel.framework=fsdp2"};
  for (gsize i = 0; i < G_N_ELEMENTS(frameworks); i++) {
    g_autoptr(Program) one = planned(frameworks[i], NULL, NULL);
    g_autoptr(Program) two = planned(frameworks[i], "training.gradient_accumulation=2", NULL);
    CU_ASSERT_EQUAL(count(one, "cast weights", PROGRAM_FORWARD), LAYERS + 1);
    CU_ASSERT_EQUAL(count(one, "cast weights", PROGRAM_RECOMPUTE), 0);
    CU_ASSERT_EQUAL(count(one, "gradient to fp32", PROGRAM_BACKWARD), LAYERS * 7 + 1);
    CU_ASSERT_EQUAL(count(one, "cast shard", PROGRAM_GATHER), 0);
    CU_ASSERT_EQUAL(count(two, "cast weights", PROGRAM_FORWARD), 2 * (LAYERS + 1));
  }
}

/* Backward reads copies, so that all live until then, although what they were cast from is freed. What runs again is
 * cast again, and lives as one layer and the head; in forward its copies are kept to the end where autocast caches
 * them (fully_shard's parameters, and DDP's, are leaves), and go with their layer where it does not (views of a flat
 * parameter). */
static void copies_live_as_autograd_and_cache_say(void) {
  static const struct {
    const char *framework, *checkpointing;
    guint64 forward, backward;
  } rows[] = {
      {"parallel.framework=fsdp1", "training.activation_checkpointing=none", LAYERS * LAYER_COPY + HEAD_COPY,
       LAYERS * LAYER_COPY + HEAD_COPY},
      {"parallel.framework=fsdp2", "training.activation_checkpointing=none", LAYERS * LAYER_COPY + HEAD_COPY,
       LAYERS * LAYER_COPY + HEAD_COPY},
      {"parallel.framework=fsdp1", "training.activation_checkpointing=full", HEAD_COPY, HEAD_COPY},
      {"parallel.framework=fsdp2", "training.activation_checkpointing=full", LAYERS * LAYER_COPY + HEAD_COPY,
       HEAD_COPY},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    gint64 left = 0;
    gboolean again = strstr(rows[i].checkpointing, "full") != NULL;
    g_autoptr(Program) program = planned(rows[i].framework, rows[i].checkpointing, NULL);
    CU_ASSERT_EQUAL(most_copies(program, PROGRAM_FORWARD, &left), rows[i].forward);
    CU_ASSERT_EQUAL(most_copies(program, PROGRAM_BACKWARD, &left), rows[i].backward);
    CU_ASSERT_EQUAL(count(program, "cast weights", PROGRAM_RECOMPUTE), again ? LAYERS : 0);
    CU_ASSERT_EQUAL(left, 0);
  }
}

/* Of adapters of rank 8 the trained matrices are cast and cached, 8 · (64 + 64) elements of each of four projections of
 * 64 · 64 and 8 · (64 + 128) of three of 64 · 128; frozen ones go with their layer, the head's is alone by then. */
static void frozen_copies_are_not_cached(void) {
  gint64 left = 0;
  guint64 adapters = 2 * (4 * 8 * (64 + 64) + 3 * 8 * (64 + 128));
  g_autoptr(Program) program = planned("parallel.framework=fsdp2", "training.activation_checkpointing=full",
                                       "training.trainable=lora:8:all-linear");
  CU_ASSERT_EQUAL(most_copies(program, PROGRAM_FORWARD, &left), LAYERS * adapters + HEAD_COPY);
  CU_ASSERT_EQUAL(left, 0);
}

static void refuses_by_name(void) {
  static const struct {
    const char *sets[3], *named;
  } rows[] = {
      {{"parallel.framework=fsdp2", "parallel.tensor=2", NULL}, "not modelled beside other axes than data"},
      {{"parallel.framework=fsdp1", "fsdp.wrap=size:100", NULL}, "not modelled beside units inside a block"},
      {{"parallel.framework=fsdp2", "training.precision=fp8", NULL}, "not modelled beside training.precision = fp8"},
      {{"parallel.framework=fsdp1", "fsdp.orig_dtype=bf16", NULL}, "bf16 is narrower than fsdp.param_dtype = fp32"},
      {{"parallel.framework=fsdp1", "fsdp.wrap=size:41088", NULL}, NULL},
      {{"parallel.framework=fsdp1", "training.precision=fp16", NULL}, NULL},
      {{"parallel.framework=fsdp1", "training.precision=fp32", NULL}, NULL},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    PlanRecipe recipe;
    g_autoptr(GError) error = NULL;
    const char *const *sets = rows[i].sets;
    gboolean good = plan_case_recipe(
        8, 8, (const char *[]){sets[0], "parallel.zero_stage=3", sets[1], "fsdp.param_dtype=fp32", NULL}, &recipe,
        &error);
    if (rows[i].named == NULL)
      CU_ASSERT_TRUE(good)
    else
      HARNESS_FAILS(good, error, rows[i].named);
  }
}

int main(void) {
  return harness_run("plan-autocast",
                     (HarnessCase[]){{"gathers four bytes", gathers_four_bytes},
                                     {"matrices alone are cast", matrices_alone_are_cast},
                                     {"copies live as autograd and cache say", copies_live_as_autograd_and_cache_say},
                                     {"frozen copies are not cached", frozen_copies_are_not_cached},
                                     {"refuses by name", refuses_by_name},
                                     {NULL, NULL}});
}
