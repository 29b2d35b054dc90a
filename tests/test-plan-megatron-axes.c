/* SPDX-License-Identifier: MIT */
/* Megatron over tensor, context and pipeline ranks: any layout plays to its end; what a stage reduces, gathers and sums
 * beside, and when. */
#include <string.h>

#include "mem-tenant.h"
#include "plan-case.h"

#define ELEMENT 2 /* bytes of bf16 */
#define FP32    4

/* A llama of 8 heads of 32, 640 rows of vocabulary. */
static void shape_of(guint64 layers, gboolean tied, ModelShape *ret) {
  PlanShape size = {.layers = layers, .hidden_size = 256, .intermediate_size = 512, .vocab_size = 640, .tied = tied};
  plan_case_shape(&size, ret);
  ret->heads = ret->kv_heads = 8;
  ret->head_dim = 32;
}

static Program *program_of(guint64 layers, gboolean tied, guint32 ranks, const char *settings) {
  ModelShape shape;
  ModelRecipe model;
  PlanRecipe recipe;
  g_autoptr(GError) error = NULL;
  g_autofree char *all = g_strconcat("parallel.framework=megatron ", settings, NULL);
  g_auto(GStrv) list = g_strsplit(all, " ", -1);
  shape_of(layers, tied, &shape);
  if (!plan_case_load(&shape, ranks, 8, (const char *const *)list, &model, &recipe, &error)) {
    printf("\n    %s: %s\n", settings, error->message);
    CU_FAIL("a recipe was refused");
    return NULL;
  }
  return plan_program(&shape, &model, &recipe);
}

static gboolean toss(GRand *random) {
  return g_rand_boolean(random);
}

static void any_layout_plays(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 60; i++) {
    guint32 tensor = 1U << g_rand_int_range(random, 0, 3), context = 1U << g_rand_int_range(random, 0, 2);
    guint32 pipeline = (guint32)g_rand_int_range(random, 1, 6), data = (guint32)g_rand_int_range(random, 1, 4);
    guint32 chunks = pipeline > 1 ? (guint32)g_rand_int_range(random, 1, 4) : 1;
    gboolean sequence = tensor > 1 && toss(random), overlaps = toss(random), full = toss(random);
    guint32 micros =
        chunks > 1 ? pipeline * (guint32)g_rand_int_range(random, 1, 4) : (guint32)g_rand_int_range(random, 1, 9);
    g_autofree char *settings = g_strdup_printf(
        "parallel.tensor=%u parallel.context=%u parallel.pipeline=%u parallel.interleave=%u "
        "parallel.sequence_parallel=%s parallel.zero_stage=%d training.gradient_accumulation=%u "
        "training.activation_checkpointing=%s megatron.overlap_grad_reduce=%s megatron.align_grad_reduce=%s "
        "megatron.deallocate_pipeline_outputs=%s%s%s%s",
        tensor, context, pipeline, chunks, sequence ? "yes" : "no", overlaps || toss(random), micros,
        full ? "full" : "selective", overlaps ? "yes" : "no", toss(random) ? "yes" : "no", toss(random) ? "yes" : "no",
        overlaps && toss(random) ? " megatron.overlap_param_gather=yes" : "",
        sequence && toss(random) ? " megatron.tp_comm_overlap=yes" : "",
        chunks > 1 && pipeline > 2 && toss(random) ? " megatron.overlap_p2p_communication=no" : "");
    guint64 layers = pipeline * chunks * (guint64)g_rand_int_range(random, 1, 3);
    g_autoptr(Program) program = program_of(layers, toss(random), tensor * context * pipeline * data, settings);
    if (program == NULL)
      continue;
    CU_ASSERT_EQUAL(program->n_roles, pipeline);
    plan_case_plays(program, settings);
  }
}

/* ---- What a role's steady step sends ---- */

typedef struct {
  guint rows, after; /* how many; backward rows of compute that come after the last one */
  guint64 bytes;
} Sent;

static Sent sent(const Program *program, guint32 role, const char *name) {
  const ProgramSection *section = &program->roles[role].sections[PROGRAM_STEADY];
  Sent found = {0};
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    if (strcmp(row->name, name) == 0) {
      found.rows++;
      found.after = 0;
      found.bytes += row->call.bytes;
    }
    found.after += row->kind == PROGRAM_COMPUTE && row->phase == PROGRAM_BACKWARD;
  }
  return found;
}

#define LAYER (4 * 256 * 256 + 3 * 256 * 512) /* matmul weights: q, k, v, o; gate, up, down */
#define NORMS (2 * 256)
#define TABLE (768 * 256) /* 640 rows, padded to a multiple of 128 × 2 tensor ranks */

/* Two tensor ranks, two stages of two layers, four data ranks. Each stage reduces its own half of the split weights and
 * all of its norms: the first one has the table, the second one the last norm and the head. Every parameter is a
 * multiple of 64 elements, and both sums of lcm(4, 128) = 128: nothing is padded. The norms'
 * gradients, of the rank's own tokens, are summed over tensor ranks. */
static void a_stage_reduces_its_own(void) {
  g_autoptr(Program) program =
      program_of(4, FALSE, 16,
                 "parallel.tensor=2 parallel.pipeline=2 parallel.sequence_parallel=yes parallel.zero_stage=1 "
                 "training.gradient_accumulation=4");
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  guint64 stages[] = {2 * (LAYER / 2 + NORMS) + TABLE / 2, 2 * (LAYER / 2 + NORMS) + 256 + TABLE / 2};
  guint64 norms[] = {2 * NORMS, 2 * NORMS + 256};
  CU_ASSERT_EQUAL(stages[0] % 128 + stages[1] % 128, 0);
  for (guint32 stage = 0; stage < 2; stage++) {
    CU_ASSERT_EQUAL(sent(program, stage, "reduce-scatter gradients").bytes, stages[stage] * FP32);
    CU_ASSERT_EQUAL(sent(program, stage, "all-gather parameters").bytes, stages[stage] * ELEMENT);
    CU_ASSERT_EQUAL(sent(program, stage, "all-reduce norms' gradients").bytes, norms[stage] * FP32);
    CU_ASSERT_EQUAL(sent(program, stage, "all-reduce tied embedding").rows, 0);
    CU_ASSERT_EQUAL(sent(program, stage, "all-reduce norm").rows, 1);
  }
  g_autoptr(Program) plain = program_of(4, FALSE, 16, "parallel.tensor=2 parallel.pipeline=2");
  CU_ASSERT_PTR_NOT_NULL_FATAL(plain);
  CU_ASSERT_EQUAL(sent(plain, 0, "all-reduce norms' gradients").rows, 0);
}

/* A tied table stands on the first and on the last stage, of three: a bucket of its own on both, so that ranks own the
 * same part of it, and its gradients, of one tensor rank's rows, are summed between the two. */
static void a_tied_table_is_summed_between_the_ends(void) {
  g_autoptr(Program) program = program_of(3, TRUE, 12,
                                          "parallel.tensor=2 parallel.pipeline=3 parallel.zero_stage=1 "
                                          "training.gradient_accumulation=3");
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  static const guint buckets[] = {2, 1, 2};
  for (guint32 stage = 0; stage < 3; stage++) {
    Sent tied = sent(program, stage, "all-reduce tied embedding");
    CU_ASSERT_EQUAL(tied.rows, stage != 1);
    CU_ASSERT_EQUAL(tied.bytes, stage != 1 ? TABLE / 2 * FP32 : 0);
    CU_ASSERT_EQUAL(sent(program, stage, "reduce-scatter gradients").rows, buckets[stage]);
  }
  g_autoptr(Program) alone = program_of(3, TRUE, 4, "parallel.zero_stage=1");
  CU_ASSERT_PTR_NOT_NULL_FATAL(alone);
  CU_ASSERT_EQUAL(sent(alone, 0, "reduce-scatter gradients").rows, 1);
}

/* Backward passes of chunks of two layers that were issued before the first reduction. */
static guint passes_before_reduction(const Program *program, guint32 role) {
  const ProgramSection *section = &program->roles[role].sections[PROGRAM_STEADY];
  guint passes = 0;
  gint32 micro = -1, chunk = -1;
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    if (strcmp(row->name, "reduce-scatter gradients") == 0)
      return passes;
    if (row->kind != PROGRAM_COMPUTE || row->phase != PROGRAM_BACKWARD || row->layer < 0)
      continue;
    passes += row->micro != micro || row->layer / 2 != chunk;
    micro = row->micro;
    chunk = row->layer / 2;
  }
  return G_MAXUINT;
}

/* Overlapped, the first stage's one chunk is cut into buckets and reduced as its last backward fills them; the others
 * have one bucket, which goes when all passes are over. */
static void stages_reduce_when_they_should(void) {
  const char *overlapped = "parallel.pipeline=2 parallel.zero_stage=1 training.gradient_accumulation=4 "
                           "megatron.overlap_grad_reduce=yes megatron.bucket_size=300000";
  g_autoptr(Program) program = program_of(8, FALSE, 8, overlapped);
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  Sent first = sent(program, 0, "reduce-scatter gradients"), last = sent(program, 1, "reduce-scatter gradients");
  CU_ASSERT_TRUE(first.rows > 2);
  CU_ASSERT_EQUAL(passes_before_reduction(program, 0), 7); /* of three micro-batches two halves each, and one half */
  CU_ASSERT_EQUAL(last.rows, 1);
  CU_ASSERT_EQUAL(last.after, 0);
}

/* Interleaved, a chunk's reduction is launched when its last backward is as many passes ago as the rank's place, so at
 * one time on all stages. In groups of two, four micro-batches go backward as 1:0 1:1 0:0 0:1 1:2 1:3 0:2 0:3
 * (chunk:micro-batch): the second chunk has ended after six passes, which is when rank 0 reduces it, and rank 1 after
 * seven. */
static void chunks_are_reduced_at_one_time(void) {
  g_autoptr(Program) program = program_of(8, FALSE, 4,
                                          "parallel.pipeline=2 parallel.interleave=2 parallel.zero_stage=1 "
                                          "training.gradient_accumulation=4 megatron.overlap_grad_reduce=yes");
  CU_ASSERT_PTR_NOT_NULL_FATAL(program);
  for (guint32 rank = 0; rank < 2; rank++) {
    CU_ASSERT_EQUAL(passes_before_reduction(program, rank), 6 + rank);
    CU_ASSERT_EQUAL(sent(program, rank, "reduce-scatter gradients").rows, 2);
  }
}

/* What stands for a fused gradient: of each shape of a layer's weights one, for good. q, k, v and o are one shape; gate
 * and up are another, down, which is as large but has other rows, a third. */
static void one_dummy_for_each_shape(void) {
  ModelShape shape;
  ModelRecipe model;
  PlanRecipe recipe;
  g_autoptr(GError) error = NULL;
  shape_of(2, FALSE, &shape);
  const char *settings[] = {"parallel.framework=megatron", "training.projections=separate", NULL};
  CU_ASSERT_TRUE_FATAL(plan_case_load(&shape, 2, 8, settings, &model, &recipe, &error));
  g_autoptr(Program) program = plan_program(&shape, &model, &recipe);
  recipe.megatron.layers_by = PLAN_MEGATRON_LOCAL;
  g_autoptr(Program) local = plan_program(&shape, &model, &recipe);
  const Program *both[] = {program, local};
  guint64 held[2] = {0};
  for (int i = 0; i < 2; i++)
    for (guint32 t = 0; t < both[i]->n_tensors; t++)
      held[i] += g_str_has_suffix(both[i]->tensors[t].name, ".stand-in") ? both[i]->tensors[t].bytes : 0;
  CU_ASSERT_EQUAL(held[0], (256 * 256 + 2 * 256 * 512) * ELEMENT);
  CU_ASSERT_EQUAL(held[1], 0);
}

/* Its own checkpoint function runs all of a layer again, compiled or not, and keeps parts of inputs all the same. */
static void keeps_parts_when_compiled(void) {
  ModelShape shape;
  ModelRecipe model;
  PlanRecipe recipe;
  g_autoptr(GError) error = NULL;
  shape_of(2, FALSE, &shape);
  const char *settings[] = {"parallel.framework=megatron",
                            "parallel.tensor=2",
                            "training.activation_checkpointing=full",
                            "training.compile=yes",
                            "megatron.distribute_saved_activations=yes",
                            NULL};
  CU_ASSERT_TRUE_FATAL(plan_case_load(&shape, 2, 8, settings, &model, &recipe, &error));
  CU_ASSERT_FALSE(recipe.checkpointing.stops);
  g_autoptr(Program) program = plan_program(&shape, &model, &recipe);
  CU_ASSERT_TRUE(sent(program, 0, "input.gather").rows > 0);
}

static void refusals(void) {
  static const struct {
    const char *settings, *fragment;
  } rows[] = {
      {"megatron.tp_comm_overlap=yes parallel.tensor=2", "needs parallel.sequence_parallel"},
      {"megatron.distribute_saved_activations=yes", "needs tensor ranks without parallel.sequence_parallel"},
      {"megatron.distribute_saved_activations=yes parallel.tensor=2", "needs training.activation_checkpointing = full"},
      {"megatron.decoder_first_pipeline_num_layers=1", "there is no pipeline"},
      {"megatron.microbatch_group_size_per_virtual_pipeline_stage=4 parallel.pipeline=2",
       "of the interleaved schedule"},
      {"megatron.overlap_p2p_communication=yes parallel.pipeline=2", "only the interleaved schedule overlaps"},
      {"megatron.overlap_p2p_communication=no parallel.pipeline=2 parallel.interleave=2 "
       "training.gradient_accumulation=2",
       "needs a pipeline of more than 2"},
      {"parallel.pipeline=2 parallel.interleave=2 training.gradient_accumulation=3", "training.gradient_accumulation"},
      {"parallel.pipeline=2 parallel.schedule=gpipe", "has no schedule gpipe here; it has 1f1b, interleaved"},
      {"parallel.tensor=3", "parallel.tensor"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    ModelShape shape;
    ModelRecipe model;
    PlanRecipe recipe;
    GError *error = NULL;
    g_autofree char *all = g_strconcat("parallel.framework=megatron ", rows[i].settings, NULL);
    g_auto(GStrv) list = g_strsplit(all, " ", -1);
    shape_of(8, FALSE, &shape);
    HARNESS_FAILS(plan_case_load(&shape, 12, 12, (const char *const *)list, &model, &recipe, &error), error,
                  rows[i].fragment);
  }
}

/* Megatron-Core's vocab-parallel cross entropy makes the softmax in place (core/tensor_parallel/cross_entropy.py), so
 * that is what a loss over parts of the vocabulary is here, asked for or by default; others stay what they are. */
static void its_loss_is_in_place(void) {
  static const struct {
    const char *set;
    int loss;
  } cases[] = {{"training.loss=default", MODEL_LOSS_IN_PLACE},
               {"training.loss=vocab-parallel", MODEL_LOSS_IN_PLACE},
               {"training.loss=vocab-parallel-in-place", MODEL_LOSS_IN_PLACE},
               {"training.loss=fused", MODEL_LOSS_FUSED}};
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    ModelShape shape;
    ModelRecipe model;
    PlanRecipe recipe;
    g_autoptr(GError) error = NULL;
    const char *settings[] = {"parallel.framework=megatron", "parallel.zero_stage=0", "parallel.tensor=2", cases[i].set,
                              NULL};
    shape_of(2, FALSE, &shape);
    CU_ASSERT_TRUE_FATAL(plan_case_load(&shape, 8, 8, settings, &model, &recipe, &error));
    CU_ASSERT_EQUAL(model.loss, cases[i].loss);
  }
}

int main(void) {
  return harness_run(
      "plan-megatron-axes",
      (HarnessCase[]){{"any layout plays", any_layout_plays},
                      {"a stage reduces its own", a_stage_reduces_its_own},
                      {"a tied table is summed between the ends", a_tied_table_is_summed_between_the_ends},
                      {"stages reduce when they should", stages_reduce_when_they_should},
                      {"chunks are reduced at one time", chunks_are_reduced_at_one_time},
                      {"one dummy for each shape", one_dummy_for_each_shape},
                      {"keeps parts when compiled", keeps_parts_when_compiled},
                      {"its loss is in place", its_loss_is_in_place},
                      {"refusals", refusals},
                      {NULL, NULL}});
}
