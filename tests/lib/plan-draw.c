/* SPDX-License-Identifier: MIT */
/* Random recipes, and sums over the rows of their Programs. */
#include "plan-draw.h"

static void draw_shape(GRand *random, ModelShape *shape) {
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
}

Drawn draw(GRand *random, PlanFramework framework) {
  Drawn drawn = {.recipe = {.framework = (int)framework}};
  draw_shape(random, &drawn.shape);
  drawn.model.sequence_length = (guint64)64 << g_rand_int_range(random, 0, 5);
  drawn.model.precision = g_rand_boolean(random) ? MODEL_BF16 : MODEL_FP32;
  drawn.model.attention = g_rand_boolean(random) ? MODEL_ATTENTION_FLASH : MODEL_ATTENTION_EAGER;
  drawn.recipe.ranks = drawn.recipe.shard_ranks = (guint32)g_rand_int_range(random, 2, 300);
  drawn.recipe.micro_batch = (guint64)g_rand_int_range(random, 1, 4);
  drawn.recipe.gradient_accumulation = (guint64)g_rand_int_range(random, 1, 5);
  drawn.recipe.global_batch = drawn.recipe.micro_batch * drawn.recipe.gradient_accumulation * drawn.recipe.ranks;
  drawn.recipe.checkpointing.kind = g_rand_boolean(random) ? PLAN_CHECKPOINT_FULL : PLAN_CHECKPOINT_NONE;
  return drawn;
}

Program *draw_plan(const Drawn *drawn) {
  return plan_program(&drawn->shape, &drawn->model, &drawn->recipe);
}

guint64 draw_payload(const Program *program, ProgramSectionKind kind, CollOperation operation) {
  const ProgramSection *section = &program->roles[0].sections[kind];
  guint64 bytes = 0;
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    if (row->kind == PROGRAM_COLLECTIVE && row->call.operation == operation && row->call.bytes > sizeof(float))
      bytes += row->call.bytes;
  }
  return bytes;
}

guint64 draw_walk(const Program *program, ProgramSectionKind kind, MemTenant tenant, gint64 *level) {
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

guint64 draw_settled(const Program *program, MemTenant tenant) {
  gint64 level = 0;
  draw_walk(program, PROGRAM_FIRST, tenant, &level);
  gint64 after_first = level;
  draw_walk(program, PROGRAM_STEADY, tenant, &level);
  CU_ASSERT_EQUAL(level, after_first);
  return (guint64)level;
}
