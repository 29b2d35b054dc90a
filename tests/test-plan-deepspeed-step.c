/* SPDX-License-Identifier: MIT */
/* DeepSpeed's step: what becomes of own gradients before Adam, on the GPU or on their way to the host; in which pieces
 * parameters are gathered after it in stages 1 and 2, by version. */
#include "plan-case.h"

/* As in plan-deepspeed: 205 376 elements, of 2 bytes; an eighth of them to each rank leaves none over. */
static const PlanShape three_layers = {.layers = 3, .hidden_size = 64, .intermediate_size = 128, .vocab_size = 641};

/* Until 0.12.5 pieces of at most allgather_bucket_size elements, the last what is left; then one gather of all
 * (runtime/utils.py, all_gather_dp_groups). */
static void gathers_come_in_pieces(void) {
  static const struct {
    const char *version, *size;
    guint n;
    guint64 first, last; /* elements */
  } cases[] = {{"0.12.4", "100000", 3, 100000, 5376},
               {"0.12.4", "205375", 2, 205375, 1},
               {"0.12.4", "205376", 1, 205376, 205376},
               {"0.12.4", "5e8", 1, 205376, 205376},
               {"0.12.5", "100000", 1, 205376, 205376}};
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *version = g_strconcat("parallel.framework_version=", cases[i].version, NULL);
    g_autofree char *size = g_strconcat("deepspeed.allgather_bucket_size=", cases[i].size, NULL);
    g_autoptr(Program) program =
        plan_case(&three_layers, 8, 8,
                  (const char *[]){"parallel.framework=deepspeed", "parallel.zero_stage=1", version, size, NULL});
    const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
    guint n = 0;
    guint64 sum = 0, last = 0;
    for (guint32 row = 0; row < section->n_rows; row++) {
      if (strcmp(section->rows[row].name, "gather parameters") != 0)
        continue;
      last = section->rows[row].call.bytes;
      CU_ASSERT_TRUE(n > 0 || last == 2 * cases[i].first);
      sum += last;
      n++;
    }
    CU_ASSERT_EQUAL(n, cases[i].n);
    CU_ASSERT_EQUAL(last, 2 * cases[i].last);
    CU_ASSERT_EQUAL(sum, 2 * 205376);
  }
}

/* The row that takes, or gives, the tensor; G_MAXUINT32: none. */
static guint32 row_of(const Program *program, const char *tensor, gboolean gives) {
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    for (guint32 k = 0; k < (gives ? row->n_gives : row->n_takes); k++) {
      guint32 t = gives ? section->gives[row->gives + k].tensor : section->takes[row->takes + k];
      if (strcmp(program->tensors[t].name, tensor) == 0)
        return i;
    }
  }
  return G_MAXUINT32;
}

/* Every stage that shares the optimizer out makes own gradients flat, then fp32, and the flat copy goes before torch's
 * Adam takes its temporaries; so do own gradients in stages 1 and 2, where stage 3 keeps their buffer for good. */
static void flat_gradients_go_before_adam(void) {
  static const char *const stages[] = {"parallel.zero_stage=1", "parallel.zero_stage=2", "parallel.zero_stage=3"};
  for (gsize i = 0; i < G_N_ELEMENTS(stages); i++) {
    g_autoptr(Program) program = plan_case(
        &three_layers, 8, 8,
        (const char *[]){"parallel.framework=deepspeed", stages[i], "training.optimizer_style=foreach", NULL});
    guint32 roots = row_of(program, "roots of the variance", FALSE);
    CU_ASSERT_TRUE(roots != G_MAXUINT32 && row_of(program, "own gradients in fp32", TRUE) >= roots);
    CU_ASSERT_TRUE(row_of(program, "own gradients, flat", FALSE) <= row_of(program, "own gradients in fp32", FALSE));
    CU_ASSERT_TRUE(row_of(program, "own gradients, flat", TRUE) < roots);
    CU_ASSERT_EQUAL(row_of(program, "own gradients", TRUE) < roots, i < 2);
    for (guint32 t = 0; t < program->n_tensors; t++)
      if (strcmp(program->tensors[t].name, "own gradients, flat") == 0)
        CU_ASSERT_EQUAL(program->tensors[t].bytes, 25672 * 2);
  }
}

#define BUCKETS                                                                                                        \
  "parallel.framework=deepspeed", "deepspeed.reduce_bucket_size=41088", "deepspeed.stage3_param_persistence_threshold=0"

/* Bytes of the tensors of a name that rows take: how many, the least and the most. */
typedef struct {
  guint n;
  guint64 least, most;
} Sizes;

static Sizes sizes_of(const Program *program, const char *tensor) {
  const ProgramSection *section = &program->roles[0].sections[PROGRAM_STEADY];
  Sizes sizes = {0, G_MAXUINT64, 0};
  for (guint32 i = 0; i < section->n_rows; i++)
    for (guint32 k = 0; k < section->rows[i].n_takes; k++) {
      const ProgramTensor *taken = &program->tensors[section->takes[section->rows[i].takes + k]];
      if (strcmp(taken->name, tensor) != 0)
        continue;
      sizes = (Sizes){sizes.n + 1, MIN(sizes.least, taken->bytes), MAX(sizes.most, taken->bytes)};
    }
  return sizes;
}

/* Stage 3 goes through a bucket parameter by parameter: of a layer the MLP's 64·128 elements are the most, of the two
 * tables 641·64; an eighth each. Stages 1 and 2 own at most a parameter, or their whole share, 25 672 elements. The
 * norm is taken of a double copy, then a copy in fp32 goes to the host. */
static void gradients_go_to_the_host_one_by_one(void) {
  static const struct {
    const char *stage;
    guint64 least, most; /* elements */
  } cases[] = {{"parallel.zero_stage=3", 64 * 128 / 8, 641 * 64 / 8}, {"parallel.zero_stage=2", 25672, 25672}};
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(Program) program = plan_case(
        &three_layers, 8, 8, (const char *[]){BUCKETS, cases[i].stage, "parallel.offload_optimizer=cpu", NULL});
    Sizes doubled = sizes_of(program, "double copy for the norm"), wide = sizes_of(program, "own gradient in fp32");
    CU_ASSERT_EQUAL(doubled.n, 5);
    CU_ASSERT_EQUAL(doubled.most, 8 * cases[i].most);
    CU_ASSERT_EQUAL(doubled.least, 8 * cases[i].least);
    CU_ASSERT_EQUAL(wide.n, 5);
    CU_ASSERT_EQUAL(wide.most, 4 * cases[i].most);
    Sizes own = sizes_of(program, "gradient on its way to the host");
    CU_ASSERT_EQUAL(own.n, i == 0 ? 5 : 0); /* stages 1 and 2 hold theirs for good */
    CU_ASSERT_TRUE(i > 0 || own.most == 2 * cases[i].most);
    plan_case_plays(program, cases[i].stage);
  }
}

/* Of the five buckets that of the embedding holds one gradient, of 641·64 elements, which eight ranks share evenly: it
 * is reduced where it lies. Three do not, so that it is padded. */
static void a_gradient_alone_is_not_interleaved(void) {
  for (guint i = 0; i < 2; i++) {
    guint ranks = i == 0 ? 8 : 3;
    g_autoptr(Program) program =
        plan_case(&three_layers, ranks, ranks, (const char *[]){BUCKETS, "parallel.zero_stage=3", NULL});
    Sizes joined = sizes_of(program, "interleaved bucket");
    CU_ASSERT_EQUAL(joined.n, i == 0 ? 4 : 5);
    CU_ASSERT_EQUAL(joined.most, 2 * 41088);
  }
}

int main(void) {
  return harness_run("plan-deepspeed-step",
                     (HarnessCase[]){{"gathers come in pieces", gathers_come_in_pieces},
                                     {"flat gradients go before Adam", flat_gradients_go_before_adam},
                                     {"gradients go to the host one by one", gradients_go_to_the_host_one_by_one},
                                     {"a gradient alone is not interleaved", a_gradient_alone_is_not_interleaved},
                                     {NULL, NULL}});
}
