/* SPDX-License-Identifier: MIT */
/* What the textbook's schedule sends and holds, over random models, ranks and micro-batches. */
#include <string.h>

#include "harness.h"
#include "kernel-op.h"
#include "mem-tenant.h"
#include "plan-stage.h"
#include "plan.h"

typedef struct {
  ModelShape shape;
  ModelRecipe model;
  PlanRecipe recipe;
} Case;

static Case draw(GRand *random) {
  Case drawn = {0};
  ModelShape *shape = &drawn.shape;
  shape->family = g_rand_boolean(random) ? MODEL_LLAMA : MODEL_GPT;
  shape->layers = (guint64)g_rand_int_range(random, 1, 6);
  shape->kv_heads = shape->family == MODEL_GPT ? 4 : (guint64)1 << g_rand_int_range(random, 0, 3);
  shape->heads = shape->family == MODEL_GPT ? 4 : shape->kv_heads * (guint64)g_rand_int_range(random, 1, 5);
  shape->head_dim = 64;
  shape->hidden_size = shape->heads * shape->head_dim;
  shape->intermediate_size = shape->hidden_size * (guint64)g_rand_int_range(random, 2, 5);
  shape->vocab_size = (guint64)g_rand_int_range(random, 1000, 60000);
  shape->max_positions = 4096;
  shape->tied_embeddings = g_rand_boolean(random);
  drawn.model.sequence_length = (guint64)64 << g_rand_int_range(random, 0, 5);
  drawn.model.precision = g_rand_boolean(random) ? MODEL_BF16 : MODEL_FP32;
  drawn.model.attention = g_rand_boolean(random) ? MODEL_ATTENTION_FLASH : MODEL_ATTENTION_EAGER;
  drawn.recipe.ranks = (guint32)g_rand_int_range(random, 2, 300);
  drawn.recipe.micro_batch = (guint64)g_rand_int_range(random, 1, 4);
  drawn.recipe.gradient_accumulation = (guint64)g_rand_int_range(random, 1, 5);
  drawn.recipe.global_batch = drawn.recipe.micro_batch * drawn.recipe.gradient_accumulation * drawn.recipe.ranks;
  drawn.recipe.checkpointing.kind = g_rand_boolean(random) ? PLAN_CHECKPOINT_FULL : PLAN_CHECKPOINT_NONE;
  return drawn;
}

static Program *plan(Case *drawn, guint64 stage) {
  drawn->recipe.zero_stage = stage;
  return plan_program(&drawn->shape, &drawn->model, &drawn->recipe);
}

static const ProgramSection *steady(const Program *program) {
  return &program->roles[0].sections[PROGRAM_STEADY];
}

/* Elements sent per rank and step with the ring factor left out: an all-reduce sends its payload twice. */
static guint64 elements_sent(const Program *program, guint32 element_bytes) {
  guint64 bytes = 0;
  for (guint32 i = 0; i < steady(program)->n_rows; i++) {
    const ProgramRow *row = &steady(program)->rows[i];
    if (row->kind == PROGRAM_COLLECTIVE)
      bytes += row->call.bytes * (row->call.operation == COLL_ALL_REDUCE ? 2 : 1);
  }
  return bytes / element_bytes;
}

static void volumes(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 60; i++) {
    Case drawn = draw(random);
    guint64 psi = model_shape_parameters(&drawn.shape), k = drawn.recipe.gradient_accumulation;
    guint32 element_bytes = model_precision_bytes(drawn.model.precision);
    /* ZeRO paper, section 7: 2ψ, 2ψ, then reduce-scatter each micro-batch and one gather: (k+1)ψ; two gathers and a
     * reduce-scatter each micro-batch: 3kψ. With k = 1: 2ψ, 2ψ, 2ψ, 3ψ. */
    const guint64 expected[] = {2 * psi, 2 * psi, (k + 1) * psi, 3 * k * psi};
    for (guint64 stage = 0; stage < PLAN_STAGES; stage++) {
      g_autoptr(Program) program = plan(&drawn, stage);
      CU_ASSERT_EQUAL(elements_sent(program, element_bytes), expected[stage]);
    }
  }
}

/* What is reduced is called by what is done: whole at stages 0 and 1, to shards at 2 and 3. */
static void reductions_are_named(void) {
  g_autoptr(GRand) random = harness_random();
  Case drawn = draw(random);
  for (guint64 stage = 0; stage < PLAN_STAGES; stage++) {
    g_autoptr(Program) program = plan(&drawn, stage);
    const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
    guint seen = 0;
    for (guint32 i = 0; i < section->n_rows; i++) {
      const ProgramRow *row = &section->rows[i];
      if (row->kind != PROGRAM_COLLECTIVE || row->phase != PROGRAM_REDUCE)
        continue;
      CU_ASSERT_STRING_EQUAL(row->name,
                             row->call.operation == COLL_ALL_REDUCE ? "reduce gradients" : "reduce-scatter gradients");
      seen++;
    }
    CU_ASSERT_TRUE(seen > 0);
  }
}

static void one_rank_sends_nothing(void) {
  g_autoptr(GRand) random = harness_random();
  Case drawn = draw(random);
  drawn.recipe.ranks = 1;
  drawn.recipe.global_batch = drawn.recipe.micro_batch * drawn.recipe.gradient_accumulation;
  for (guint64 stage = 0; stage < PLAN_STAGES; stage++) {
    g_autoptr(Program) program = plan(&drawn, stage);
    CU_ASSERT_EQUAL(elements_sent(program, 1), 0);
  }
}

/* Levels in host order, as if every stream passed at once: the peak of one tenant, and what is left at the end. */
static guint64 walk_tenant(const Program *program, ProgramSectionKind kind, MemTenant tenant, gint64 *level) {
  const ProgramSection *section = &program->roles[0].sections[kind];
  gint64 peak = *level;
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    for (guint32 g = 0; g < row->n_gives; g++) {
      const ProgramTensor *tensor = &program->tensors[section->gives[row->gives + g].tensor];
      *level -= tensor->tenant == tenant ? (gint64)tensor->bytes : 0;
    }
    for (guint32 t = 0; t < row->n_takes; t++) {
      const ProgramTensor *tensor = &program->tensors[section->takes[row->takes + t]];
      *level += tensor->tenant == tenant ? (gint64)tensor->bytes : 0;
    }
    peak = MAX(peak, *level);
  }
  return (guint64)peak;
}

static void activations_do_not_know_the_stage(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 40; i++) {
    Case drawn = draw(random);
    guint64 first_peak = 0;
    for (guint64 stage = 0; stage < PLAN_STAGES; stage++) {
      g_autoptr(Program) program = plan(&drawn, stage);
      gint64 level = 0;
      guint64 peak = walk_tenant(program, PROGRAM_STEADY, MEM_ACTIVATIONS, &level);
      if (stage == 0)
        first_peak = peak;
      CU_ASSERT_TRUE(peak > 0);
      CU_ASSERT_EQUAL(peak, first_peak);
    }
  }
}

static void books_balance(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 40; i++) {
    Case drawn = draw(random);
    g_autoptr(Program) program = plan(&drawn, (guint64)g_rand_int_range(random, 0, PLAN_STAGES));
    for (MemTenant tenant = 0; tenant < MEM_TENANTS; tenant++) {
      gint64 level = 0;
      walk_tenant(program, PROGRAM_FIRST, tenant, &level);
      gint64 after_first = level;
      walk_tenant(program, PROGRAM_STEADY, tenant, &level);
      CU_ASSERT_EQUAL(level, after_first);
      gboolean is_state = tenant == MEM_PARAMETERS || tenant == MEM_GRADIENTS || tenant == MEM_OPTIMIZER;
      CU_ASSERT_EQUAL(after_first > 0, is_state);
    }
  }
}

/* A host that has waited for all compute waits again only once more was issued, or for what is given after it. */
static void the_host_waits_once(void) {
  g_autoptr(GRand) random = harness_random();
  for (guint64 stage = 0; stage < PLAN_STAGES; stage++) {
    Case drawn = draw(random);
    g_autoptr(Program) program = plan(&drawn, stage);
    guint waits = 0;
    gboolean passed = FALSE;
    for (guint32 i = 0; i < steady(program)->n_rows; i++) {
      const ProgramRow *row = &steady(program)->rows[i];
      if (row->kind == PROGRAM_HOST && strcmp(row->name, "wait for compute") == 0) {
        CU_ASSERT_TRUE(!passed || row->n_gives > 0);
        passed = TRUE;
        waits++;
      } else if (row->kind == PROGRAM_COMPUTE) {
        passed = FALSE;
      }
    }
    CU_ASSERT_TRUE(waits > drawn.shape.layers);
  }
}

static guint64 adam_bytes(const Program *program) {
  for (guint32 i = 0; i < steady(program)->n_rows; i++)
    if (strcmp(steady(program)->rows[i].name, "adam") == 0)
      return program->ops[steady(program)->rows[i].op].bytes;
  return 0;
}

static void optimizer_work_falls_as_one_over_n(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 40; i++) {
    Case drawn = draw(random);
    g_autoptr(Program) whole = plan(&drawn, 0);
    for (guint64 stage = 1; stage < PLAN_STAGES; stage++) {
      g_autoptr(Program) sharded = plan(&drawn, stage);
      /* Padding adds less than one element per unit (layers and two more) and rank: 32 bytes each at most. */
      guint64 slack = (drawn.shape.layers + 2) * drawn.recipe.ranks * 32;
      guint64 total = adam_bytes(sharded) * drawn.recipe.ranks;
      CU_ASSERT_TRUE(total >= adam_bytes(whole) && total <= adam_bytes(whole) + slack);
    }
  }
}

/* The golden order of a small case: two layers, stage 3, one micro-batch. */
static void stage_3_prefetches_one_unit_ahead(void) {
  g_autoptr(GRand) random = harness_random();
  Case drawn = draw(random);
  drawn.shape.layers = 2;
  drawn.shape.tied_embeddings = FALSE;
  drawn.recipe.gradient_accumulation = 1;
  g_autoptr(Program) program = plan(&drawn, 3);
  /* Gathers in order of issue: embedding; then, before each unit computes, the next one's: 4 units up, 4 down. */
  const gint32 expected[] = {-1, 0, 1, -1, -1, 1, 0, -1};
  guint32 gathers = 0;
  for (guint32 i = 0; i < steady(program)->n_rows; i++) {
    const ProgramRow *row = &steady(program)->rows[i];
    if (row->kind == PROGRAM_COLLECTIVE && row->call.operation == COLL_ALL_GATHER) {
      CU_ASSERT_TRUE(gathers < G_N_ELEMENTS(expected) && row->layer == expected[gathers]);
      CU_ASSERT_EQUAL(row->n_needs, 0);
      gathers++;
    }
  }
  CU_ASSERT_EQUAL(gathers, G_N_ELEMENTS(expected));
}

int main(void) {
  return harness_run("plan-paper",
                     (HarnessCase[]){{"volumes", volumes},
                                     {"reductions are named", reductions_are_named},
                                     {"one rank sends nothing", one_rank_sends_nothing},
                                     {"activations do not know the stage", activations_do_not_know_the_stage},
                                     {"books balance", books_balance},
                                     {"the host waits once", the_host_waits_once},
                                     {"optimizer falls as 1/N", optimizer_work_falls_as_one_over_n},
                                     {"stage 3 prefetches one unit ahead", stage_3_prefetches_one_unit_ahead},
                                     {NULL, NULL}});
}
