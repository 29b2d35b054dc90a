/* SPDX-License-Identifier: MIT */
/* framework = nanotron over tensor ranks: what is gathered lies in buffers of the process. */
#include <string.h>

#include "hw-catalog.h"
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

/* ---- TORCH_DISTRIBUTED_DEBUG ---- */

static Program *of_debug(const char *debug) {
  static const HwHost host = {.collective = 1, .check = 1000, .checked_rank = 10, .checked_rank_far = 100};
  const char *settings[] = {"parallel.framework=nanotron",
                            "parallel.tensor=4",
                            "parallel.pipeline=2",
                            "training.gradient_accumulation=2",
                            "parallel.zero_stage=1",
                            debug,
                            NULL};
  ModelShape shape;
  ModelRecipe model;
  PlanRecipe recipe;
  g_autoptr(GError) error = NULL;
  PlanShape size = {.layers = 2, .hidden_size = HIDDEN, .intermediate_size = 512, .vocab_size = 640};
  plan_case_shape(&size, &shape);
  shape.heads = shape.kv_heads = 8;
  shape.head_dim = 32;
  if (!plan_case_load(&shape, 32, 8, settings, &model, &recipe, &error))
    g_error("a recipe was refused: %s", error->message);
  recipe.host = &host;
  return plan_program(&shape, &model, &recipe);
}

/* 4 tensor ranks of a node: 1000 + 4 x 10; the same 4 data ranks of two nodes, of 32 ranks in two stages: 1000 +
 * 4 x 100; tensor and pipeline ranks, over which the norm is summed, 8 in two nodes: 1000 + 8 x 100. What goes from
 * stage to stage is sent and received, which is not checked. */
static void checks_cost_by_member(void) {
  g_autoptr(Program) off = of_debug("parallel.distributed_debug=off");
  g_autoptr(Program) detail = of_debug("parallel.distributed_debug=detail");
  const ProgramSection *plain = &off->roles[0].sections[PROGRAM_STEADY];
  const ProgramSection *checked = &detail->roles[0].sections[PROGRAM_STEADY];
  guint tensor = 0, data = 0, model = 0, sent = 0;
  CU_ASSERT_EQUAL_FATAL(plain->n_rows, checked->n_rows);
  for (guint32 i = 0; i < plain->n_rows; i++) {
    SimTime more = checked->rows[i].host - plain->rows[i].host;
    gboolean call = plain->rows[i].kind == PROGRAM_COLLECTIVE, sends = plain->rows[i].call.operation == COLL_SEND_RECV;
    const char *slot = call ? off->slots[plain->rows[i].group] : "";
    tensor += g_str_equal(slot, "tensor") && more == 1040;
    data += g_str_equal(slot, "data-parallel") && more == 1400;
    model += g_str_equal(slot, "model-parallel") && more == 1800;
    sent += call && sends && more == 0;
    if (!call || sends)
      CU_ASSERT_EQUAL(more, 0);
    if (call && !sends)
      CU_ASSERT_TRUE(more == 1040 || more == 1400 || more == 1800);
  }
  CU_ASSERT_TRUE(tensor > 0);
  CU_ASSERT_TRUE(data > 0);
  CU_ASSERT_TRUE(model > 0);
  CU_ASSERT_TRUE(sent > 0);
}

int main(void) {
  return harness_run("nanotron", (HarnessCase[]){{"gathers lie in buffers", gathers_lie_in_buffers},
                                                 {"what is kept does not", what_is_kept_does_not},
                                                 {"checks cost by member", checks_cost_by_member},
                                                 {NULL, NULL}});
}
