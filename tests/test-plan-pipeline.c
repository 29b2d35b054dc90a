/* SPDX-License-Identifier: MIT */
/* Programs of pipelines and tensor ranks: over random layouts every one can be played to its end, and holds what the
 * model has. */
#include "mem-tenant.h"
#include "plan-axes.h"
#include "plan-case.h"
#include "program-trace.h"

typedef struct {
  guint32 tensor, pipeline, data, layers, micros, chunks;
  LayoutSchedule schedule;
  guint32 headers;
  gboolean sequence, batches, in_turn, waits, blocks, keeps, full;
} Case;

static void draw_case(GRand *random, Case *ret) {
  static const LayoutSchedule schedules[] = {LAYOUT_SCHEDULE_1F1B, LAYOUT_SCHEDULE_GPIPE, LAYOUT_SCHEDULE_INTERLEAVED};
  *ret = (Case){.tensor = 1u << g_rand_int_range(random, 0, 3),
                .pipeline = (guint32)g_rand_int_range(random, 2, 6),
                .data = (guint32)g_rand_int_range(random, 1, 4),
                .chunks = 1,
                .schedule = schedules[g_rand_int_range(random, 0, G_N_ELEMENTS(schedules))],
                .headers = (guint32)g_rand_int_range(random, 0, 3),
                .sequence = g_rand_boolean(random),
                .keeps = g_rand_boolean(random),
                .full = g_rand_boolean(random)};
  ret->micros = (guint32)g_rand_int_range(random, 1, 12);
  if (ret->schedule == LAYOUT_SCHEDULE_INTERLEAVED) {
    ret->chunks = (guint32)g_rand_int_range(random, 2, 4);
    ret->micros = ret->pipeline * (guint32)g_rand_int_range(random, 1, 4);
  } else {
    ret->batches = g_rand_boolean(random);
    ret->waits = ret->batches && g_rand_boolean(random);
    ret->blocks = ret->batches && g_rand_boolean(random);
    ret->in_turn = ret->batches && g_rand_boolean(random);
  }
  ret->layers = ret->pipeline * ret->chunks * (guint32)g_rand_int_range(random, 2, 4);
}

static const char *const checkpointing[] = {"training.activation_checkpointing=none",
                                            "training.activation_checkpointing=full"};

static Program *program_of(const Case *what, PlanRecipe *ret_recipe) {
  ModelShape shape;
  ModelRecipe model;
  g_autoptr(GError) error = NULL;
  PlanShape size = {.layers = what->layers, .hidden_size = 256, .intermediate_size = 512, .vocab_size = 640};
  plan_case_shape(&size, &shape);
  shape.heads = shape.kv_heads = 8;
  shape.head_dim = 32;
  g_autofree char *tensor = g_strdup_printf("parallel.tensor=%u", what->tensor);
  g_autofree char *pipeline = g_strdup_printf("parallel.pipeline=%u", what->pipeline);
  g_autofree char *micros = g_strdup_printf("training.gradient_accumulation=%u", what->micros);
  const char *sequence = what->sequence ? "parallel.sequence_parallel=yes" : "parallel.sequence_parallel=no";
  const char *settings[] = {"parallel.framework=nanotron",
                            "parallel.schedule=gpipe",
                            tensor,
                            pipeline,
                            micros,
                            sequence,
                            checkpointing[what->full],
                            NULL};
  if (!plan_case_load(&shape, what->tensor * what->pipeline * what->data, 8, settings, &model, ret_recipe, &error))
    g_error("a recipe was refused: %s", error->message);
  ret_recipe->axes.schedule = what->schedule;
  ret_recipe->axes.chunks = what->chunks;
  ret_recipe->pipeline = (PlanPipeline){.group = what->pipeline,
                                        .batches = what->batches,
                                        .in_turn = what->in_turn,
                                        .waits_for_sends = what->waits,
                                        .headers = what->headers,
                                        .blocks = what->blocks,
                                        .keeps_outputs = what->keeps};
  return plan_program(&shape, &model, ret_recipe);
}

/* Reading a trace checks that all waits end, that members of a communicator issue the same calls in the same order, and
 * that what is taken is given (program-check.h). */
static Program *played(const Program *program, GError **error) {
  ProgramOrigin origin = {0}, read_origin;
  g_autoptr(GString) text = g_string_new(NULL), again = g_string_new(NULL);
  program_trace_write(program, &origin, NULL, text);
  Program *read = program_trace_read("a", text->str, text->len, &read_origin, error);
  if (read == NULL)
    return NULL;
  program_trace_write(read, &origin, NULL, again);
  CU_ASSERT_STRING_EQUAL(text->str, again->str);
  program_origin_clear(&read_origin);
  return read;
}

static void any_layout_plays(void) {
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 60; i++) {
    Case what;
    PlanRecipe recipe;
    g_autoptr(GError) error = NULL;
    draw_case(random, &what);
    g_autoptr(Program) program = program_of(&what, &recipe);
    g_autoptr(Program) read = played(program, &error);
    CU_ASSERT_PTR_NOT_NULL(read);
    if (read == NULL)
      fprintf(stderr, "tensor %u pipeline %u data %u layers %u micros %u chunks %u %s%s%s%s: %s\n", what.tensor,
              what.pipeline, what.data, what.layers, what.micros, what.chunks, layout_schedule_names[what.schedule],
              what.batches ? " batches" : "", what.waits ? " waits" : "", what.blocks ? " blocks" : "", error->message);
    CU_ASSERT_EQUAL(program->n_roles, what.pipeline);
    CU_ASSERT_EQUAL(program->n_ranks, what.tensor * what.pipeline * what.data);
  }
}

/* The same with a send and the receive that it meets in another order at one end: the check sees it. */
static void a_crossed_pair_is_seen(void) {
  Case what = {
      .tensor = 1, .pipeline = 2, .data = 1, .layers = 4, .micros = 4, .chunks = 1, .schedule = LAYOUT_SCHEDULE_1F1B};
  PlanRecipe recipe;
  g_autoptr(GError) error = NULL;
  what.waits = TRUE; /* but not in batches: each waits for the other to receive first */
  g_autoptr(Program) program = program_of(&what, &recipe);
  g_autoptr(Program) read = played(program, &error);
  CU_ASSERT_PTR_NULL(read);
  CU_ASSERT_PTR_NOT_NULL_FATAL(error);
  CU_ASSERT_PTR_NOT_NULL(strstr(error->message, "a wait that can never end"));
}

/* Every micro-batch goes over each border of stages once each way, as the hidden states of its tokens: 64 tokens ×
 * 256 × 2 bytes, of a tensor rank's part of the tokens under sequence parallelism. */
static void borders_are_crossed(void) {
  for (guint32 tensor = 1; tensor <= 4; tensor *= 2) {
    Case what = {.tensor = tensor,
                 .pipeline = 4,
                 .data = 1,
                 .layers = 8,
                 .micros = 6,
                 .chunks = 1,
                 .sequence = TRUE,
                 .schedule = LAYOUT_SCHEDULE_1F1B};
    PlanRecipe recipe;
    g_autoptr(Program) program = program_of(&what, &recipe);
    for (guint32 r = 0; r < program->n_roles; r++) {
      const ProgramSection *section = &program->roles[r].sections[PROGRAM_STEADY];
      guint32 calls = 0, ends = (r > 0) + (r + 1 < what.pipeline);
      for (guint32 i = 0; i < section->n_rows; i++) {
        const ProgramRow *row = &section->rows[i];
        if (row->kind != PROGRAM_COLLECTIVE || row->call.operation != COLL_SEND_RECV)
          continue;
        calls++;
        CU_ASSERT_EQUAL(row->hint, PROGRAM_HINT_PIPELINE);
        CU_ASSERT_EQUAL(row->call.bytes, 64 * 256 * 2 / tensor);
      }
      CU_ASSERT_EQUAL(calls, 2 * what.micros * ends);
    }
  }
}

/* What a rank holds, in words: the first of its model's four stages has the embedding, the two ranks of the last the
 * head. */
static void a_rank_says_what_it_holds(void) {
  Case what = {
      .tensor = 2, .pipeline = 4, .data = 1, .layers = 8, .micros = 6, .chunks = 1, .schedule = LAYOUT_SCHEDULE_1F1B};
  PlanRecipe recipe;
  g_autoptr(Program) program = program_of(&what, &recipe);
  ModelShape shape = {
      .layers = 8, .hidden_size = 256, .intermediate_size = 512, .vocab_size = 640, .heads = 8, .head_dim = 32};
  guint32 head = 0;
  for (guint32 rank = 0; rank < program->n_ranks; rank++) {
    g_autofree char *text = plan_rank_text(&shape, &recipe, rank);
    g_autofree char *stage =
        g_strdup_printf("stage %u: ", layout_coordinate(&recipe.axes.layout, rank, LAYOUT_PIPELINE));
    CU_ASSERT_TRUE(g_str_has_prefix(text, stage));
    CU_ASSERT_EQUAL(strstr(text, "embedding, layers 0-") != NULL, stage[6] == '0');
    head += g_str_has_suffix(text, "-7, head");
  }
  CU_ASSERT_EQUAL(head, 2);
}

int main(void) {
  return harness_run("plan-pipeline", (HarnessCase[]){{"plays", any_layout_plays},
                                                      {"crossed", a_crossed_pair_is_seen},
                                                      {"borders", borders_are_crossed},
                                                      {"words", a_rank_says_what_it_holds},
                                                      {NULL, NULL}});
}
