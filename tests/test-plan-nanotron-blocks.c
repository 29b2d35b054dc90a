/* SPDX-License-Identifier: MIT */
/* framework = nanotron where its split by cost cuts the head: what each stage holds, sends, and does after the step.
 *
 * Three layers of 4 · 256² + 3 · 512 · 256 = 655 360 and a head of 10240 · 256, four times that: 7 in all. Of six
 * stages each has 7/6, so that the first is left after layer 2 (2 > 1.17), the second after layer 3 (3 > 2.33), the
 * third after the output layer (7 > 3.5), the fourth after the cast, and the sixth is left nothing. */
#include "axes-case.h"

#define STAGES   6
#define SEQUENCE 64                     /* of plan_case_load */
#define LOGITS   (SEQUENCE * 10240 / 2) /* of a rank of two */

static gboolean load(const char *pipeline, const char *loss, ModelShape *shape, ModelRecipe *model, PlanRecipe *recipe,
                     GError **error) {
  PlanShape size = {.layers = 3, .hidden_size = 256, .intermediate_size = 512, .vocab_size = 10240, .tied = TRUE};
  const char *settings[] = {"parallel.framework=nanotron",
                            "parallel.tensor=2",
                            pipeline,
                            loss,
                            "training.micro_batch=1",
                            "parallel.zero_stage=1",
                            "training.gradient_accumulation=8",
                            NULL};
  plan_case_shape(&size, shape);
  shape->heads = shape->kv_heads = 8;
  shape->head_dim = 32;
  return plan_case_load(shape, 24, 8, settings, model, recipe, error);
}

static Program *program_of(PlanRecipe *recipe, ModelShape *shape) {
  ModelRecipe model;
  g_autoptr(GError) error = NULL;
  if (!load("parallel.pipeline=6", "training.loss=default", shape, &model, recipe, &error))
    g_error("a recipe was refused: %s", error->message);
  return plan_program(shape, &model, recipe);
}

static const ProgramSection *steady(const Program *program, guint32 stage) {
  return &program->roles[stage].sections[PROGRAM_STEADY];
}

static void stages_hold_blocks(void) {
  static const char *const held[STAGES] = {"stage 0: embedding, layers 0-1",
                                           "stage 1: layers 2-2",
                                           "stage 2: final_norm, lm_head",
                                           "stage 3: cast",
                                           "stage 4: loss",
                                           "stage 5: nothing"};
  ModelShape shape;
  PlanRecipe recipe;
  g_autoptr(Program) program = program_of(&recipe, &shape);
  CU_ASSERT_EQUAL(program->n_roles, STAGES);
  CU_ASSERT_TRUE(axes_case_plays(program));
  for (guint32 stage = 0; stage < STAGES; stage++) {
    g_autofree char *text = plan_rank_text(&shape, &recipe, stage * 4);
    CU_ASSERT_STRING_EQUAL(text, held[stage]);
    CU_ASSERT_EQUAL(axes_case_rows(steady(program, stage), "lm_head"), stage == 2 ? 8 : 0);
    CU_ASSERT_EQUAL(axes_case_rows(steady(program, stage), "logits_fp32"), stage == 3 ? 8 : 0);
    CU_ASSERT_EQUAL(axes_case_rows(steady(program, stage), "cross_entropy"), stage == 4 ? 8 : 0);
  }
}

/* Bytes of pipeline rows that a stage issues but for the messages about shapes. */
static guint64 crossing(const ProgramSection *section) {
  static const char *const names[] = {"send activations",  "receive activations",  "send gradients",
                                      "receive gradients", "exchange activations", "exchange gradients"};
  guint64 bytes = 0;
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    bytes += axes_case_bytes(section, names[i]);
  return bytes;
}

/* Eight micro-batches, each with what comes and goes forward and the same backward: the stream of 64 · 256 numbers of
 * 16 bits, logits of 16 bits, logits of fp32. */
static void tensors_of_their_size_cross(void) {
  ModelShape shape;
  PlanRecipe recipe;
  g_autoptr(Program) program = program_of(&recipe, &shape);
  guint64 stream = SEQUENCE * 256 * 2, narrow = LOGITS * 2, wide = LOGITS * 4;
  const guint64 expected[STAGES] = {stream, 2 * stream, stream + narrow, narrow + wide, wide, 0};
  for (guint32 stage = 0; stage < STAGES; stage++)
    CU_ASSERT_EQUAL(crossing(steady(program, stage)), 8 * 2 * expected[stage]);
}

/* The table is tied between the first stage and the one with the output layer. Stages without parameters have neither
 * an update nor a gather; the norm is of all. */
static void only_parameters_are_updated(void) {
  ModelShape shape;
  PlanRecipe recipe;
  g_autoptr(Program) program = program_of(&recipe, &shape);
  for (guint32 stage = 0; stage < STAGES; stage++) {
    gboolean tied = stage == 0 || stage == 2;
    guint trained = stage < 3 ? 1 : 0;
    CU_ASSERT_EQUAL(axes_case_bytes(steady(program, stage), "all-reduce tied gradients"),
                    tied ? 10240 / 2 * 256 * 4 : 0);
    CU_ASSERT_EQUAL(axes_case_rows(steady(program, stage), "all-gather parameters"), trained);
    CU_ASSERT_EQUAL(axes_case_rows(steady(program, stage), "zero gradients"), trained);
    CU_ASSERT_EQUAL(axes_case_rows(steady(program, stage), "all-reduce norm"), 1);
  }
  CU_ASSERT_EQUAL(axes_case_group(program, 0, "all-reduce tied gradients"), 2);
}

/* Of one stage the head is whole, with any loss; of six it is cut, where another loss is not modelled. */
static void another_loss_needs_a_whole_head(void) {
  ModelShape shape;
  ModelRecipe model;
  PlanRecipe recipe;
  GError *error = NULL;
  CU_ASSERT_TRUE(load("parallel.pipeline=1", "training.loss=eager", &shape, &model, &recipe, NULL));
  HARNESS_FAILS(load("parallel.pipeline=6", "training.loss=eager", &shape, &model, &recipe, &error), error,
                "6 stages cut the head");
}

int main(void) {
  return harness_run("nanotron's blocks",
                     (HarnessCase[]){{"stages hold blocks", stages_hold_blocks},
                                     {"tensors of their size cross", tensors_of_their_size_cross},
                                     {"only parameters are updated", only_parameters_are_updated},
                                     {"another loss needs a whole head", another_loss_needs_a_whole_head},
                                     {NULL, NULL}});
}
