/* SPDX-License-Identifier: MIT */
/* DeepSpeed beside other axes: the pipeline engine's order of sends and receives, what tensor ranks send in parts, tied
 * embeddings, AutoTP, Ulysses, and what is refused. */
#include "axes-case.h"
#include "base-names.h"
#include "plan-policy.h"

static const char deepspeed[] = "parallel.framework=deepspeed";

/* The pipeline engine over random layouts: its sends and receives, which compute waits for one by one, end. */
static void any_layout_plays(void) {
  static const char *const stages_of_zero[] = {"parallel.zero_stage=0", "parallel.zero_stage=1"};
  static const char *const parts[] = {"deepspeed.pipe_partitioned=yes", "deepspeed.pipe_partitioned=no"};
  static const char *const gradients[] = {"deepspeed.grad_partitioned=yes", "deepspeed.grad_partitioned=no"};
  static const char *const methods[] = {"deepspeed.partition_method=parameters", "deepspeed.partition_method=uniform",
                                        "deepspeed.partition_method=type:transformer"};
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 40; i++) {
    guint32 tensor = 1u << g_rand_int_range(random, 0, 3), stages = (guint32)g_rand_int_range(random, 2, 6);
    guint32 data = (guint32)g_rand_int_range(random, 1, 4), micros = (guint32)g_rand_int_range(random, 1, 10);
    g_autofree char *axes = g_strdup_printf("parallel.tensor=%u", tensor);
    g_autofree char *pipeline = g_strdup_printf("parallel.pipeline=%u", stages);
    g_autofree char *batch = g_strdup_printf("training.gradient_accumulation=%u", micros);
    const char *sets[] = {deepspeed,
                          axes,
                          pipeline,
                          batch,
                          stages_of_zero[g_rand_boolean(random)],
                          parts[g_rand_boolean(random)],
                          gradients[g_rand_boolean(random)],
                          methods[g_rand_int_range(random, 0, G_N_ELEMENTS(methods))],
                          NULL};
    g_autoptr(Program) program = axes_case(12, g_rand_boolean(random), tensor * stages * data, sets);
    CU_ASSERT_TRUE(axes_case_plays(program));
    CU_ASSERT_EQUAL(program->n_roles, stages);
  }
}

static void sends_before_it_receives(PlanRecipe *recipe) {
  recipe->pipeline.receives_first = FALSE;
}

/* Between a forward and the backward after it a stage receives first and sends then, its neighbour after the backward
 * the other way round. Were both to send first, each would wait for the other for ever. */
static void a_stage_receives_first(void) {
  static const char *const sets[] = {deepspeed, "parallel.pipeline=2", "training.gradient_accumulation=4",
                                     "parallel.zero_stage=1", NULL};
  g_autoptr(Program) program = axes_case(7, FALSE, 4, sets);
  CU_ASSERT_TRUE(axes_case_plays(program));
  /* Stage 0: F0 send, F1, receive, send, B0, F2 … */
  const ProgramSection *stage = &program->roles[0].sections[PROGRAM_STEADY];
  gint receive = axes_case_first(stage, "receive gradients");
  CU_ASSERT_EQUAL(axes_case_rows(stage, "receive gradients"), 4);
  CU_ASSERT_EQUAL(axes_case_rows(stage, "send activations"), 4);
  CU_ASSERT_STRING_EQUAL(stage->rows[receive + 1].name, "send activations");
  g_autoptr(Program) crossed = axes_case_changed(7, 4, sets, sends_before_it_receives);
  CU_ASSERT_FALSE(axes_case_plays(crossed));
}

/* Tensor ranks send a part each and gather the whole: 64 tokens × 256 × 2 bytes = 32 768. In backward a stage gathers
 * the output that it gave up for its part, too. */
static void tensor_ranks_send_parts(void) {
  static const struct {
    const char *forward, *backward;
    guint64 activations, gradients; /* bytes of a send */
    guint gathers[3];               /* of a micro-batch: activations, gradients, own outputs */
  } rows[] = {
      {"deepspeed.pipe_partitioned=yes", "deepspeed.grad_partitioned=yes", 8192, 8192, {1, 1, 1}},
      {"deepspeed.pipe_partitioned=yes", "deepspeed.grad_partitioned=no", 8192, 32768, {1, 0, 1}},
      {"deepspeed.pipe_partitioned=no", "deepspeed.grad_partitioned=no", 32768, 32768, {0, 0, 0}},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(Program) program = axes_case(7, FALSE, 8,
                                           (const char *[]){deepspeed, "parallel.tensor=4", "parallel.pipeline=2",
                                                            "training.gradient_accumulation=3", "parallel.zero_stage=1",
                                                            rows[i].forward, rows[i].backward, NULL});
    const ProgramSection *first = &program->roles[0].sections[PROGRAM_STEADY];
    const ProgramSection *last = &program->roles[1].sections[PROGRAM_STEADY];
    CU_ASSERT_EQUAL(axes_case_bytes(first, "send activations"), 3 * rows[i].activations);
    CU_ASSERT_EQUAL(axes_case_bytes(last, "send gradients"), 3 * rows[i].gradients);
    CU_ASSERT_EQUAL(axes_case_bytes(last, "gather activations"), 3 * rows[i].gathers[0] * 32768);
    CU_ASSERT_EQUAL(axes_case_bytes(first, "gather gradients"), 3 * rows[i].gathers[1] * 32768);
    CU_ASSERT_EQUAL(axes_case_bytes(first, "gather own output"), 3 * rows[i].gathers[2] * 32768);
  }
}

/* How a part lies in the whole is made on the host, which waits for the pass before to copy it: once for each part that
 * is sent. Until 0.12.6 it was read by the host where it came. Each forward of a later step begins with a host that has
 * waited for the device. */
static void the_host_waits_for_parts(void) {
  static const struct {
    const char *tensor, *version;
    guint said, read; /* of 3 micro-batches, on either of two stages */
  } rows[] = {{"parallel.tensor=2", "parallel.framework_version=0.12.5", 3, 3},
              {"parallel.tensor=2", "parallel.framework_version=0.12.6", 3, 0},
              {"parallel.tensor=1", "parallel.framework_version=0.12.5", 0, 0}};
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(Program) program =
        axes_case(7, FALSE, 4,
                  (const char *[]){deepspeed, rows[i].tensor, "parallel.pipeline=2", rows[i].version,
                                   "training.gradient_accumulation=3", "parallel.zero_stage=1", NULL});
    for (guint32 r = 0; r < 2; r++) {
      const ProgramSection *stage = &program->roles[r].sections[PROGRAM_STEADY];
      CU_ASSERT_EQUAL(axes_case_rows(stage, "say how the part lies"), rows[i].said);
      CU_ASSERT_EQUAL(axes_case_rows(stage, "read how the part lies"), rows[i].read);
      CU_ASSERT_EQUAL(axes_case_rows(stage, "synchronize the device"), 3);
      CU_ASSERT_EQUAL(axes_case_rows(&program->roles[r].sections[PROGRAM_FIRST], "synchronize the device"), 0);
    }
  }
}

static gboolean waits_for_compute(const ProgramSection *section, gint at) {
  const ProgramRow *row = &section->rows[at];
  gboolean waits = FALSE;
  for (guint32 k = 0; k < row->n_needs; k++)
    waits |= section->rows[section->needs[row->needs + k]].kind == PROGRAM_COMPUTE;
  return waits;
}

/* First and last stage each hold the tied matrix, 640 × 256 elements in 16 bits, and reduce its gradient before all
 * others, once it is there; stages between them have none. Untied nobody does. */
static void tied_gradients_are_reduced(void) {
  for (int tied = 0; tied < 2; tied++) {
    g_autoptr(Program) program =
        axes_case(10, tied, 6, (const char *[]){deepspeed, "parallel.pipeline=3", "parallel.zero_stage=1", NULL});
    for (guint32 r = 0; r < 3; r++) {
      const ProgramSection *stage = &program->roles[r].sections[PROGRAM_STEADY];
      gboolean ends = tied && r != 1;
      CU_ASSERT_EQUAL(axes_case_bytes(stage, "all-reduce tied gradients"), ends ? 640 * 256 * 2 : 0);
      gint at = axes_case_first(stage, "all-reduce tied gradients");
      CU_ASSERT_TRUE(at < axes_case_first(stage, "reduce gradients"));
      CU_ASSERT_TRUE(!ends || waits_for_compute(stage, at));
    }
    if (tied)
      CU_ASSERT_EQUAL(axes_case_group(program, 2, "all-reduce tied gradients"), 2);
  }
}

/* Gradients are reduced after the last pass and what it sends, with overlap_comm too; the norm is of all ranks of a
 * copy of the model, the loss of the last stage goes to the others. */
static void the_step_ends_in_order(void) {
  g_autoptr(Program) program = axes_case(7, FALSE, 16,
                                         (const char *[]){deepspeed, "parallel.tensor=2", "parallel.pipeline=2",
                                                          "training.gradient_accumulation=4", "parallel.zero_stage=1",
                                                          "deepspeed.overlap_comm=yes", NULL});
  const ProgramSection *stage = &program->roles[1].sections[PROGRAM_STEADY];
  gint sent = axes_case_last(stage, "send gradients"), reduced = axes_case_first(stage, "reduce gradients");
  gint norm = axes_case_first(stage, "all-reduce norm"), loss = axes_case_first(stage, "broadcast loss");
  CU_ASSERT_TRUE(sent >= 0 && sent < reduced && reduced < norm && norm < loss);
  CU_ASSERT_EQUAL(axes_case_group(program, 1, "reduce gradients"), 4);
  CU_ASSERT_EQUAL(axes_case_group(program, 1, "all-reduce norm"), 4);
  CU_ASSERT_EQUAL(axes_case_group(program, 1, "broadcast loss"), 2);
}

/* AutoTP reduces an input's gradient for each column layer: q, k, v, gate, up; Megatron's joined layers once a
 * branch. */
static void autotp_reduces_each(void) {
  static const struct {
    const char *kind;
    guint reductions; /* of a layer's backward */
    gboolean joined;  /* one matmul makes q, k and v */
  } rows[] = {{"deepspeed.tensor_parallel=autotp", 5, FALSE}, {"deepspeed.tensor_parallel=megatron", 2, TRUE}};
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(Program) program = axes_case(
        7, FALSE, 8, (const char *[]){deepspeed, "parallel.tensor=2", "parallel.zero_stage=1", rows[i].kind, NULL});
    const ProgramSection *rank = &program->roles[0].sections[PROGRAM_STEADY];
    guint n = 0;
    for (guint32 k = 0; k < rank->n_rows; k++)
      n += rank->rows[k].kind == PROGRAM_COLLECTIVE && rank->rows[k].phase == PROGRAM_BACKWARD &&
           rank->rows[k].layer == 3;
    CU_ASSERT_EQUAL(n, rows[i].reductions);
    CU_ASSERT_EQUAL(axes_case_rows(rank, "qkv_proj") > 0, rows[i].joined);
    CU_ASSERT_EQUAL(axes_case_rows(rank, "q_proj") > 0, !rows[i].joined);
    CU_ASSERT_TRUE(axes_case_plays(program));
  }
}

/* Ulysses: all-to-all of q, k, v and of the context among the sequence ranks; parameters over all ranks. */
static void ulysses_shares_states(void) {
  g_autoptr(Program) program =
      axes_case(7, FALSE, 8, (const char *[]){deepspeed, "parallel.context=4", "parallel.zero_stage=3", NULL});
  CU_ASSERT_EQUAL(axes_case_group(program, 0, "attention.context"), 4);
  CU_ASSERT_EQUAL(axes_case_group(program, 0, "reduce-scatter gradients"), 8);
  CU_ASSERT_TRUE(axes_case_plays(program));
}

/* Six layers as wide as their embeddings over three stages: by class as many layers each; by parameters the ends, whose
 * tables hold as much as a layer's 655 872 elements do a quarter of, count too. */
static void stages_are_balanced(void) {
  static const struct {
    const char *method;
    gint32 layers[3];
  } rows[] = {
      {"deepspeed.partition_method=type:transformer", {4, 4, 4}},
      {"deepspeed.partition_method=uniform", {4, 5, 3}}, /* 14 units: 5, 5, 4 */
  };
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(Program) program =
        axes_case(12, FALSE, 3,
                  (const char *[]){deepspeed, "parallel.pipeline=3", "parallel.zero_stage=1", rows[i].method, NULL});
    for (guint32 r = 0; r < 3; r++)
      CU_ASSERT_EQUAL(axes_case_layers(&program->roles[r].sections[PROGRAM_STEADY]), rows[i].layers[r]);
  }
}

/* A table of 32 768 learned positions of 256 weighs as much as ten layers of 12 x 256²: it fills a stage. Of rotary
 * positions none: the two tables of words, a third of a layer each, leave the layers in halves. */
static void learned_positions_weigh(void) {
  static const struct {
    const char *family;
    guint32 second; /* the unit that it begins with */
  } rows[] = {{"gpt", 1}, {"bert", 1}, {"gpt_neox", 5}};
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    ModelShape shape = {.family = base_names_find(model_family_names, rows[i].family),
                        .layers = 8,
                        .hidden_size = 256,
                        .heads = 4,
                        .kv_heads = 4,
                        .head_dim = 64,
                        .intermediate_size = 1024,
                        .vocab_size = 1000,
                        .max_positions = 32768,
                        .tied_embeddings = TRUE};
    PlanRecipe recipe = {.deepspeed.partition = PLAN_PARTITION_PARAMETERS};
    recipe.axes.layout.degree[LAYOUT_PIPELINE] = 2;
    guint32 bounds[3] = {0};
    CU_ASSERT_TRUE(plan_deepspeed_spread(&shape, &recipe, bounds, NULL));
    CU_ASSERT_EQUAL(bounds[1], rows[i].second);
    CU_ASSERT_EQUAL(bounds[2], 10);
  }
}

static void refuses_by_name(void) {
  static const AxesRefusal rows[] = {
      {{"parallel.zero_stage=2", "parallel.pipeline=2"}, "pipeline engine takes stages 0 and 1"},
      {{"parallel.zero_stage=1", "parallel.pipeline=2", "parallel.offload_optimizer=cpu"}, "over a pipeline"},
      {{"parallel.zero_stage=1", "parallel.pipeline=2", "parallel.context=2"}, "Ulysses over a pipeline"},
      {{"parallel.zero_stage=1", "parallel.pipeline=2", "parallel.interleave=2"},
       "has no schedule interleaved here; it has 1f1b"},
      {{"parallel.zero_stage=1", "parallel.pipeline=2", "parallel.tensor=2", "deepspeed.tensor_parallel=autotp"},
       "AutoTP splits models that are no pipelines"},
      {{"parallel.zero_stage=3", "parallel.tensor=2"}, "3 beside tensor parallelism is not modelled"},
      {{"parallel.zero_stage=1", "parallel.tensor=2", "parallel.context=2"}, "Ulysses beside parallel.tensor"},
      {{"parallel.zero_stage=1", "parallel.tensor=2", "parallel.sequence_parallel=yes"}, "has no sequence parallelism"},
      {{"parallel.zero_stage=1", "deepspeed.partition_method=profile"}, "is not parameters, uniform, or type:"},
      {{"parallel.zero_stage=1", "deepspeed.partition_method=type:["}, "is not parameters, uniform, or type:"},
      {{"parallel.zero_stage=3", "parallel.context=3"}, "parallel.context"},
      {{"parallel.zero_stage=2", "parallel.tensor=2"}, NULL},
      {{"parallel.zero_stage=2", "parallel.context=2"}, NULL},
  };
  axes_case_refuse(deepspeed, "parallel.zero_stage=0", rows, G_N_ELEMENTS(rows));
}

int main(void) {
  return harness_run("plan-deepspeed-axes", (HarnessCase[]){{"any layout plays", any_layout_plays},
                                                            {"a stage receives first", a_stage_receives_first},
                                                            {"tensor ranks send parts", tensor_ranks_send_parts},
                                                            {"the host waits for parts", the_host_waits_for_parts},
                                                            {"tied gradients are reduced", tied_gradients_are_reduced},
                                                            {"the step ends in order", the_step_ends_in_order},
                                                            {"autotp reduces each", autotp_reduces_each},
                                                            {"ulysses shares states", ulysses_shares_states},
                                                            {"stages are balanced", stages_are_balanced},
                                                            {"learned positions weigh", learned_positions_weigh},
                                                            {"refuses by name", refuses_by_name},
                                                            {NULL, NULL}});
}
