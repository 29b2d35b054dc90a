/* SPDX-License-Identifier: MIT */
/* framework = nanotron over tensor ranks: what is gathered lies in buffers of the process. */
#include <string.h>

#include "plan-axes.h"
#include "plan-case.h"

#define HIDDEN   256
#define SEQUENCE 64 /* of plan_case_load */

typedef struct {
  guint64 columns, rows; /* bytes of the buffers; 0: there is none */
  guint32 takes, gives;  /* of the two */
  guint64 gathered;      /* bytes of all tensors of units into which a layer's input is gathered */
} Buffers;

static Program *program_of(const char *const *settings, PlanRecipe *ret_recipe) {
  ModelShape shape;
  ModelRecipe model;
  g_autoptr(GError) error = NULL;
  PlanShape size = {.layers = 2, .hidden_size = HIDDEN, .intermediate_size = 512, .vocab_size = 640};
  plan_case_shape(&size, &shape);
  shape.heads = shape.kv_heads = 8;
  shape.head_dim = 32;
  if (!plan_case_load(&shape, 8, 8, settings, &model, ret_recipe, &error))
    g_error("a recipe was refused: %s", error->message);
  return plan_program(&shape, &model, ret_recipe);
}

static gboolean is_buffer(const Program *program, guint32 tensor) {
  return g_str_has_prefix(program->tensors[tensor].name, "gathered for ");
}

static void count_moves(const Program *program, const ProgramSection *section, Buffers *ret) {
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    for (guint32 k = 0; k < row->n_takes; k++)
      ret->takes += is_buffer(program, section->takes[row->takes + k]);
    for (guint32 k = 0; k < row->n_gives; k++)
      ret->gives += is_buffer(program, section->gives[row->gives + k].tensor);
  }
}

static Buffers buffers_of(const char *sequence, const char *async, const char *again) {
  PlanRecipe recipe;
  const char *settings[] = {"parallel.framework=nanotron", "parallel.tensor=4", sequence, async, again, NULL};
  g_autoptr(Program) program = program_of(settings, &recipe);
  Buffers ret = {0};
  for (guint32 t = 0; t < program->n_tensors; t++) {
    const ProgramTensor *tensor = &program->tensors[t];
    ret.columns += strcmp(tensor->name, "gathered for columns") == 0 ? tensor->bytes : 0;
    ret.rows += strcmp(tensor->name, "gathered for rows") == 0 ? tensor->bytes : 0;
    ret.gathered += g_str_has_suffix(tensor->name, ".normed_whole") ? tensor->bytes : 0;
  }
  for (int s = 0; s < PROGRAM_SECTIONS; s++)
    count_moves(program, &program->roles[0].sections[s], &ret);
  return ret;
}

/* parallel/utils.py, MemoryBuffer: tokens of all tensor ranks, as wide as the hidden state, in 16 bits. "allgather" is
 * used with tp_recompute_allgather, "allgather2" by _RowLinearAsyncCommunication. Taken once, never given. */
static void gathers_lie_in_buffers(void) {
  guint64 whole = (guint64)SEQUENCE * HIDDEN * 2;
  Buffers async = buffers_of("parallel.sequence_parallel=yes", "nanotron.tp_linear_async_communication=yes",
                             "nanotron.tp_recompute_allgather=yes");
  CU_ASSERT_EQUAL(async.columns, whole);
  CU_ASSERT_EQUAL(async.rows, whole);
  CU_ASSERT_EQUAL(async.takes, 2);
  CU_ASSERT_EQUAL(async.gives, 0);
  CU_ASSERT_EQUAL(async.gathered, 0);
  Buffers sync = buffers_of("parallel.sequence_parallel=yes", "nanotron.tp_linear_async_communication=no",
                            "nanotron.tp_recompute_allgather=yes");
  CU_ASSERT_EQUAL(sync.columns, whole);
  CU_ASSERT_EQUAL(sync.rows, 0);
  CU_ASSERT_EQUAL(sync.takes, 1);
}

/* What is kept for backward is a tensor of its own (functional.py), and without sequence parallelism nothing is
 * gathered. */
static void what_is_kept_does_not(void) {
  Buffers kept = buffers_of("parallel.sequence_parallel=yes", "nanotron.tp_linear_async_communication=no",
                            "nanotron.tp_recompute_allgather=no");
  CU_ASSERT_EQUAL(kept.columns + kept.rows, 0);
  CU_ASSERT_TRUE(kept.gathered > 0);
  Buffers plain = buffers_of("parallel.sequence_parallel=no", "nanotron.tp_linear_async_communication=no",
                             "nanotron.tp_recompute_allgather=yes");
  CU_ASSERT_EQUAL(plain.columns + plain.rows, 0);
}

int main(void) {
  return harness_run("nanotron", (HarnessCase[]){{"gathers lie in buffers", gathers_lie_in_buffers},
                                                 {"what is kept does not", what_is_kept_does_not},
                                                 {NULL, NULL}});
}
