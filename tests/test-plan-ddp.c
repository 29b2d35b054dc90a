/* SPDX-License-Identifier: MIT */
/* PyTorch's DDP: the order of its rows, what it sends, what it asks for, and FSDP beside it, what it refuses. */
#include "plan-case.h"

/* Elements: a layer 4·64² + 3·64·128 + 2·64 = 41 088, the embedding 641·64 = 41 024, the head that and a norm of 64.
 * Twice as many bytes in bf16. */
static const PlanShape three_layers = {.layers = 3, .hidden_size = 64, .intermediate_size = 128, .vocab_size = 641};

/* Buckets of 82 176 bytes close exactly at the ends of head and layers: one each, and one of the embedding. Each is
 * reduced as soon as its last gradient is copied (the rest of the layer's backward goes on beside it), all before the
 * copies back and the step. */
static void buckets_follow_backward(void) {
  g_autoptr(Program) program =
      plan_case(&three_layers, 8, 8,
                (const char *[]){"parallel.framework=ddp", "ddp.bucket_cap=82176 B", "ddp.autocast=no", NULL});
  plan_case_expect(program, PROGRAM_STEADY, "plan-ddp-steady");
}

/* In the first step buckets are not yet rebuilt: one of all, after the last gradient. */
static void first_step_hides_nothing(void) {
  g_autoptr(Program) program =
      plan_case(&three_layers, 8, 8,
                (const char *[]){"parallel.framework=ddp", "ddp.bucket_cap=82176 B", "ddp.autocast=no", NULL});
  plan_case_expect(program, PROGRAM_FIRST, "plan-ddp-first");
}

/* Two micro-batches: the first reduces nothing (no_sync). Gradients that are views of buckets are not copied back. */
static void accumulates_without_reducing(void) {
  g_autoptr(Program) program =
      plan_case(&three_layers, 8, 8,
                (const char *[]){"parallel.framework=ddp", "ddp.bucket_cap=82176 B", "ddp.autocast=no",
                                 "ddp.gradient_as_bucket_view=yes", "training.gradient_accumulation=2", NULL});
  plan_case_expect(program, PROGRAM_STEADY, "plan-ddp-accumulation");
}

/* Bytes of each all-reduce of the steady step, in order of issue. */
static GArray *reduced(const char *const *assignments) {
  GArray *bytes = g_array_new(FALSE, FALSE, sizeof(guint64));
  g_autoptr(Program) program = plan_case(&three_layers, 8, 8, assignments);
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  for (guint32 i = 0; i < section->n_rows; i++)
    if (section->rows[i].kind == PROGRAM_COLLECTIVE)
      g_array_append_val(bytes, section->rows[i].call.bytes);
  return bytes;
}

/* Under autocast gradients are fp32: 4 bytes. The first bucket closes at 100 000 bytes: lm_head, 4·41 024 = 164 096.
 * The others at 250 000: norm 256 and layer 2 up to 250 000 or more, and so on; all in all 4 · (2·41 024 + 64 + 3·41
 * 088). */
static void caps_close_buckets(void) {
  g_autoptr(GArray) bytes = reduced(
      (const char *[]){"parallel.framework=ddp", "ddp.bucket_cap=250000 B", "ddp.first_bucket_cap=100000 B", NULL});
  CU_ASSERT_EQUAL(g_array_index(bytes, guint64, 0), 164096);
  guint64 all = 0;
  for (guint i = 0; i < bytes->len; i++) {
    all += g_array_index(bytes, guint64, i);
    CU_ASSERT_TRUE(i == 0 || i + 1 == bytes->len || g_array_index(bytes, guint64, i) >= 250000);
  }
  CU_ASSERT_EQUAL(all, 4 * (2 * 41024 + 64 + 3 * 41088));
}

/* find_unused_parameters: buckets are cut from the first parameter on, so the small one is reduced last; then a map, 4
 * bytes for each of 3·9 + 3 parameters. */
static void unused_parameters_keep_definition_order(void) {
  g_autoptr(GArray) bytes =
      reduced((const char *[]){"parallel.framework=ddp", "ddp.autocast=no", "ddp.bucket_cap=100000 B",
                               "ddp.first_bucket_cap=1 B", "ddp.find_unused_parameters=yes", NULL});
  CU_ASSERT_TRUE(bytes->len > 2);
  CU_ASSERT_EQUAL(g_array_index(bytes, guint64, bytes->len - 1), 4 * (3 * 9 + 3));
  CU_ASSERT_EQUAL(g_array_index(bytes, guint64, bytes->len - 2), 82048);
}

static guint count_rows(const ProgramSection *section, const char *name) {
  guint n = 0;
  for (guint32 i = 0; i < section->n_rows; i++)
    n += strcmp(section->rows[i].name, name) == 0 ? 1 : 0;
  return n;
}

/* Autocast casts matrices, 7 a layer and the head's, and their gradients come in 16 bits; of norms and of the embedding
 * both are fp32. */
static void matrices_alone_are_cast(void) {
  g_autoptr(Program) program = plan_case(&three_layers, 8, 8, (const char *[]){"parallel.framework=ddp", NULL});
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  CU_ASSERT_EQUAL(count_rows(section, "cast weights"), 3 + 1);
  CU_ASSERT_EQUAL(count_rows(section, "gradient to fp32"), 3 * 7 + 1);
  for (guint32 t = 0; t < program->n_tensors; t++)
    if (g_str_equal(program->tensors[t].name, "16-bit weights"))
      CU_ASSERT_TRUE(program->tensors[t].bytes == 2 * (41088 - 2 * 64) || program->tensors[t].bytes == 2 * 641 * 64);
}

/* All-reduces of a second micro-batch, before a gradient of which backward still makes something. */
static guint reduced_before_backward_ends(const Program *program) {
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  guint n = 0, before = 0;
  for (guint32 i = 0; i < section->n_rows; i++) {
    n += section->rows[i].kind == PROGRAM_COLLECTIVE ? 1 : 0;
    before = g_str_has_suffix(section->rows[i].name, ".dgrad") ? n : before;
  }
  return before;
}

/* Most bytes of gradients on their way into those of micro-batches before. */
static guint64 most_added(const Program *program) {
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  guint64 level = 0, most = 0;
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    for (guint32 g = 0; g < row->n_gives; g++) {
      const ProgramTensor *tensor = &program->tensors[section->gives[row->gives + g].tensor];
      level -= g_str_has_suffix(tensor->name, ".added_grad") ? tensor->bytes : 0;
    }
    for (guint32 t = 0; t < row->n_takes; t++) {
      const ProgramTensor *tensor = &program->tensors[section->takes[row->takes + t]];
      level += g_str_has_suffix(tensor->name, ".added_grad") ? tensor->bytes : 0;
    }
    most = MAX(most, level);
  }
  CU_ASSERT_EQUAL(level, 0);
  return most;
}

/* A gradient beside the one that it is added to: of layers compiled one by one the largest parameter's, the embedding's
 * or the head's matrix; of one graph, whose backward returns them all, everybody's, 2·41 024 + 64 + 3·41 088, and
 * nothing is reduced before it has ended. Times 2 bytes, or 4 under autocast. */
static void one_graph_returns_gradients_at_once(void) {
  static const struct {
    const char *graph, *autocast;
    guint64 added;
    gboolean hides;
  } rows[] = {{"layer", "ddp.autocast=no", 2 * 41024, TRUE},
              {"layer", "ddp.autocast=yes", 4 * 41024, TRUE},
              {"model", "ddp.autocast=no", 2 * (2 * 41024 + 64 + 3 * 41088), FALSE},
              {"model", "ddp.autocast=yes", 4 * (2 * 41024 + 64 + 3 * 41088), FALSE}};
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autofree char *graph = g_strconcat("training.compile_graph=", rows[i].graph, NULL);
    g_autoptr(Program) program =
        plan_case(&three_layers, 8, 8,
                  (const char *[]){"parallel.framework=ddp", "training.compile=yes", "ddp.bucket_cap=82176 B", graph,
                                   rows[i].autocast, "training.gradient_accumulation=2", NULL});
    CU_ASSERT_EQUAL(most_added(program), rows[i].added);
    CU_ASSERT_EQUAL(reduced_before_backward_ends(program) > 0, rows[i].hides);
    plan_case_plays(program, graph);
  }
}

/* A compression hook sends 2 bytes of fp32's 4. */
static void compression_halves_bytes(void) {
  g_autoptr(GArray) plain = reduced((const char *[]){"parallel.framework=ddp", NULL});
  g_autoptr(GArray) half =
      reduced((const char *[]){"parallel.framework=ddp", "training.gradient_communication_dtype=bf16", NULL});
  CU_ASSERT_EQUAL(plain->len, half->len);
  for (guint i = 0; i < plain->len; i++)
    CU_ASSERT_EQUAL(g_array_index(plain, guint64, i), 2 * g_array_index(half, guint64, i));
}

static void refuses_by_name(void) {
  static const struct {
    const char *set, *named;
  } rows[] = {{"parallel.zero_stage=1", "zero_stage"},
              {"training.gradient_accumulation_dtype=bf16", "gradient_accumulation_dtype"},
              {"parallel.shard_group=4", "shard_group"},
              {"parallel.framework_version=2.4", "framework_version"}};
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    PlanRecipe recipe;
    g_autoptr(GError) error = NULL;
    CU_ASSERT_FALSE(
        plan_case_recipe(8, 8, (const char *[]){"parallel.framework=ddp", rows[i].set, NULL}, &recipe, &error));
    CU_ASSERT_TRUE(error != NULL && strstr(error->message, rows[i].named) != NULL);
  }
}

/* Adam's states of a matrix of 64 x 64 in fp32: two requests of it alone, of an eighth where fully_shard cuts it;
 * FSDP1's flat parameter has the whole layer's, an eighth of 41 088. What is gathered of it in 16 bits is its own. */
static void states_are_asked_for_one_by_one(void) {
  static const struct {
    const char *framework, *name;
    guint32 n;
    guint64 bytes;
  } rows[] = {{"parallel.framework=ddp", "layer1.q_proj.weight.optimizer states", 2, 4 * 64 * 64},
              {"parallel.framework=ddp", "layer1.q_proj.weight.parameters", 1, 4 * 64 * 64},
              {"parallel.framework=fsdp2", "layer1.q_proj.weight.optimizer states", 2, 4 * 64 * 64 / 8},
              {"parallel.framework=fsdp2", "layer1.q_proj.weight.parameter shard", 1, 4 * 64 * 64 / 8},
              {"parallel.framework=fsdp2", "layer1.q_proj.weight.unsharded", 1, 2 * 64 * 64},
              {"parallel.framework=fsdp1", "layer1.flat.optimizer states", 2, 4 * 41088 / 8},
              {"parallel.framework=fsdp1", "layer1.flat.unsharded", 1, 2 * 41088}};
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    const char *stage = i < 2 ? "parallel.zero_stage=0" : "parallel.zero_stage=3";
    g_autoptr(Program) program = plan_case(&three_layers, 8, 8, (const char *[]){rows[i].framework, stage, NULL});
    guint32 n = 0;
    for (guint32 t = 0; t < program->n_tensors; t++) {
      if (!g_str_equal(program->tensors[t].name, rows[i].name))
        continue;
      CU_ASSERT_EQUAL(program->tensors[t].bytes, rows[i].bytes);
      n++;
    }
    CU_ASSERT_EQUAL(n, rows[i].n);
  }
}

int main(void) {
  return harness_run(
      "plan-ddp", (HarnessCase[]){{"buckets follow backward", buckets_follow_backward},
                                  {"first step hides nothing", first_step_hides_nothing},
                                  {"matrices alone are cast", matrices_alone_are_cast},
                                  {"accumulates without reducing", accumulates_without_reducing},
                                  {"caps close buckets", caps_close_buckets},
                                  {"unused parameters keep definition order", unused_parameters_keep_definition_order},
                                  {"one graph returns gradients at once", one_graph_returns_gradients_at_once},
                                  {"compression halves bytes", compression_halves_bytes},
                                  {"states are asked for one by one", states_are_asked_for_one_by_one},
                                  {"refuses by name", refuses_by_name},
                                  {NULL, NULL}});
}
