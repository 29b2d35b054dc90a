/* SPDX-License-Identifier: MIT */
/* FSDP2 beside tensor, context and pipeline parallelism: what is gathered, reduced and summed when, and what is
 * refused. */
#include <string.h>

#include "axes-case.h"
#include "mem-tenant.h"

static const char fsdp2[] = "parallel.framework=fsdp2", stage_3[] = "parallel.zero_stage=3";

/* Random layouts under every schedule: each Program can be played to its end, with a role for each stage. */
static void any_layout_plays(void) {
  static const struct {
    const char *name, *chunks;
    gboolean splits; /* backward; then nothing is recomputed */
  } schedules[] = {{"parallel.schedule=gpipe", "parallel.interleave=1", FALSE},
                   {"parallel.schedule=1f1b", "parallel.interleave=1", FALSE},
                   {"parallel.schedule=default", "parallel.interleave=2", FALSE},
                   {"parallel.schedule=default", "parallel.interleave=3", FALSE},
                   {"parallel.schedule=zbv", "parallel.interleave=2", TRUE},
                   {"parallel.schedule=zb-h1", "parallel.interleave=2", TRUE},
                   {"parallel.schedule=zb-h1", "parallel.interleave=3", TRUE}};
  static const char *const reshards[] = {"fsdp.reshard_after_forward=default", "fsdp.reshard_after_forward=yes"};
  static const char *const recomputes[] = {"training.activation_checkpointing=none",
                                           "training.activation_checkpointing=full"};
  g_autoptr(GRand) random = harness_random();
  for (int i = 0; i < 70; i++) {
    guint32 tensor = 1u << g_rand_int_range(random, 0, 3), context = 1u << g_rand_int_range(random, 0, 2);
    guint32 stages = (guint32)g_rand_int_range(random, 2, 5), data = (guint32)g_rand_int_range(random, 1, 4);
    guint32 micros = stages * (guint32)g_rand_int_range(random, 1, 3);
    g_autofree char *axes = g_strdup_printf("parallel.tensor=%u", tensor);
    g_autofree char *split = g_strdup_printf("parallel.context=%u", context);
    g_autofree char *pipeline = g_strdup_printf("parallel.pipeline=%u", stages);
    g_autofree char *batch = g_strdup_printf("training.gradient_accumulation=%u", micros);
    gsize schedule = (gsize)g_rand_int_range(random, 0, G_N_ELEMENTS(schedules));
    gboolean again = g_rand_boolean(random) && !schedules[schedule].splits;
    const char *sets[] = {fsdp2,
                          stage_3,
                          axes,
                          split,
                          pipeline,
                          batch,
                          schedules[schedule].name,
                          schedules[schedule].chunks,
                          reshards[g_rand_boolean(random)],
                          recomputes[again],
                          g_rand_boolean(random) ? "fsdp.wrap=ends" : "fsdp.wrap=block",
                          g_rand_boolean(random) ? "parallel.sequence_parallel=no" : "fsdp.loss_parallel=no",
                          NULL};
    g_autoptr(Program) program = axes_case(16, FALSE, tensor * context * stages * data, sets);
    CU_ASSERT_TRUE(axes_case_plays(program));
    CU_ASSERT_EQUAL(program->n_roles, stages);
  }
}

/* Two stages, four micro-batches, 1F1B: stage 0 plays F0 F1 B0 F2 B1 F3 B2 B3. Parameters come once, for F0, and go
 * after B3; resharded after each forward they come for F0 and for what follows a forward: F1, B0, B1, B2. Gradients are
 * reduced once either way. A gather is of all that data ranks share of the stage: 4 layers of 41 088 × 16 / …
 * elements. A smaller shard that is as large as the four data ranks' is no other, and has no communicators of its own.
 */
static void a_pipeline_gathers_once(void) {
  static const struct {
    const char *reshard;
    guint gathers;
  } rows[] = {{"fsdp.reshard_after_forward=default", 1},
              {"fsdp.reshard_after_forward=yes", 5},
              {"fsdp.reshard_after_forward=4", 5}};
  guint32 communicators = 0;
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(Program) program =
        axes_case(7, FALSE, 8,
                  (const char *[]){fsdp2, stage_3, "parallel.pipeline=2", "training.gradient_accumulation=4",
                                   "fsdp.wrap=ends", rows[i].reshard, NULL});
    const ProgramSection *stage = &program->roles[0].sections[PROGRAM_STEADY];
    CU_ASSERT_TRUE(i == 0 || program->n_communicators == communicators);
    communicators = program->n_communicators;
    /* The embedding and 4 of 7 layers: (7 + 2) / 2 with both ends counted as one, what is left over to the first. */
    CU_ASSERT_EQUAL(axes_case_rows(stage, "all-gather parameters"), rows[i].gathers * 5);
    CU_ASSERT_EQUAL(axes_case_rows(stage, "reduce-scatter gradients"), 5);
    CU_ASSERT_EQUAL(axes_case_rows(stage, "copy gradients in"), 5);
    CU_ASSERT_TRUE(axes_case_last(stage, "send gradients") < 0);
    CU_ASSERT_TRUE(axes_case_first(stage, "reduce-scatter gradients") > axes_case_last(stage, "receive gradients"));
  }
}

/* PyTorch's stages have a buffer for each micro-batch and each of what comes: activations but on the first stage,
 * gradients but on the last: 64 tokens × 256 × 2 bytes, six times. */
static void a_stage_holds_what_comes(void) {
  g_autoptr(Program) program = axes_case(
      7, FALSE, 3, (const char *[]){fsdp2, stage_3, "parallel.pipeline=3", "training.gradient_accumulation=6", NULL});
  static const guint64 bytes[] = {6 * 32768, 2 * 6 * 32768, 6 * 32768};
  guint n = 0;
  for (guint32 t = 0; t < program->n_tensors; t++)
    if (strcmp(program->tensors[t].name, "receive buffers") == 0) {
      CU_ASSERT_TRUE_FATAL(n < 3);
      CU_ASSERT_EQUAL(program->tensors[t].bytes, bytes[n]);
      n++;
    }
  CU_ASSERT_EQUAL(n, 3);
}

/* Norms are whole on each tensor rank, which sees its part of the tokens: their gradients (256 elements, in 16 bits as
 * they are reduced where they were not added up before) are summed before each reduction: two of each of 7 layers and
 * the last. Without sequence parallelism each rank sees all tokens, and nothing is summed. */
static void norms_are_summed(void) {
  static const struct {
    const char *sequence;
    guint sums;
  } rows[] = {{"parallel.sequence_parallel=yes", 2 * 7 + 1}, {"parallel.sequence_parallel=no", 0}};
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(Program) program =
        axes_case(7, FALSE, 8,
                  (const char *[]){fsdp2, stage_3, "parallel.tensor=2", "training.gradient_accumulation=1",
                                   rows[i].sequence, NULL});
    const ProgramSection *rank = &program->roles[0].sections[PROGRAM_STEADY];
    CU_ASSERT_EQUAL(axes_case_rows(rank, "sum gradient"), rows[i].sums);
    CU_ASSERT_EQUAL(axes_case_bytes(rank, "sum gradient"), rows[i].sums * 256 * 2);
    CU_ASSERT_EQUAL(axes_case_rows(rank, "all-reduce norm"), 0);
  }
}

/* The norm of all gradients goes over the ranks that share out the parameters, then the tensor ranks, then the
 * stages. */
static void the_norm_goes_along_every_axis(void) {
  g_autoptr(Program) program = axes_case(7, FALSE, 16,
                                         (const char *[]){fsdp2, stage_3, "parallel.tensor=2", "parallel.pipeline=2",
                                                          "training.gradient_clipping=1", NULL});
  for (guint32 r = 0; r < 2; r++)
    CU_ASSERT_EQUAL(axes_case_rows(&program->roles[r].sections[PROGRAM_STEADY], "all-reduce norm"), 3);
}

/* Context ranks share out parameters as data ranks do: a group of all 8, of 4 in hybrid sharding. */
static void context_ranks_share_parameters(void) {
  static const struct {
    const char *group;
    guint32 ranks;
  } rows[] = {{"parallel.shard_group=all", 8}, {"parallel.shard_group=4", 4}};
  for (gsize i = 0; i < G_N_ELEMENTS(rows); i++) {
    g_autoptr(Program) program =
        axes_case(7, FALSE, 8, (const char *[]){fsdp2, stage_3, "parallel.context=2", rows[i].group, NULL});
    CU_ASSERT_EQUAL(axes_case_group(program, 0, "all-gather parameters"), rows[i].ranks);
    CU_ASSERT_TRUE(axes_case_rows(&program->roles[0].sections[PROGRAM_STEADY], "attention.keys") > 0);
  }
}

/* Stages as a person lists them: layers 0 to 1, 2 to 5, 6. */
static void stages_are_listed(void) {
  g_autoptr(Program) program = axes_case(
      7, FALSE, 3, (const char *[]){fsdp2, stage_3, "parallel.pipeline=3", "fsdp.pipeline_split=2 6 of 7", NULL});
  static const gint32 layers[] = {2, 4, 1};
  for (guint32 r = 0; r < 3; r++)
    CU_ASSERT_EQUAL(axes_case_layers(&program->roles[r].sections[PROGRAM_STEADY]), layers[r]);
}

/* The most bytes of activations that live at once, in the order of the host. */
static guint64 most_activations(const Program *program, const ProgramSection *section) {
  guint64 now = 0, most = 0;
  for (guint32 i = 0; i < section->n_rows; i++) {
    const ProgramRow *row = &section->rows[i];
    for (guint32 k = 0; k < row->n_gives; k++) {
      const ProgramTensor *tensor = &program->tensors[section->gives[row->gives + k].tensor];
      now -= tensor->tenant == MEM_ACTIVATIONS ? tensor->bytes : 0;
    }
    for (guint32 k = 0; k < row->n_takes; k++) {
      const ProgramTensor *tensor = &program->tensors[section->takes[row->takes + k]];
      now += tensor->tenant == MEM_ACTIVATIONS ? tensor->bytes : 0;
    }
    most = MAX(most, now);
  }
  CU_ASSERT_EQUAL(now, 0);
  return most;
}

static Program *in_halves(const char *schedule, guint32 micros) {
  g_autofree char *batch = g_strdup_printf("training.gradient_accumulation=%u", micros);
  return axes_case(24, FALSE, 4,
                   (const char *[]){fsdp2, stage_3, "parallel.pipeline=4", "parallel.interleave=2", schedule, batch,
                                    "training.activation_checkpointing=none", "fsdp.pipeline_first_stage_less_layers=0",
                                    "fsdp.pipeline_last_stage_less_layers=0", NULL});
}

/* What forward saved lives until the weights' gradients are made, so every rank holds as much (test-plan-schedule.c):
 * of a V 2p = 8 chunks of three layers, of two chunks in a loop (v − 1)p + p = 8. Embedding and head differ. The plain
 * loop holds 11 chunks on the first rank and 5 on the last. */
static void every_rank_holds_as_much(void) {
  static const char *const schedules[] = {"parallel.schedule=zbv", "parallel.schedule=zb-h1"};
  g_autoptr(Program) loop = in_halves("parallel.schedule=interleaved", 16);
  guint64 first = most_activations(loop, &loop->roles[0].sections[PROGRAM_STEADY]);
  guint64 last = most_activations(loop, &loop->roles[3].sections[PROGRAM_STEADY]);
  for (gsize i = 0; i < G_N_ELEMENTS(schedules); i++) {
    g_autoptr(Program) program = in_halves(schedules[i], 16);
    guint64 least = G_MAXUINT64, most = 0;
    for (guint32 r = 0; r < program->n_roles; r++) {
      guint64 held = most_activations(program, &program->roles[r].sections[PROGRAM_STEADY]);
      least = MIN(least, held);
      most = MAX(most, held);
    }
    CU_ASSERT_TRUE(most - least < most / 8);
    CU_ASSERT_TRUE(most < first);
    CU_ASSERT_TRUE(least > last);
  }
}

/* Gradients of inputs are played first, and sent before a weight's is made; the first stage has none to send, and plays
 * all of its backward in the pass for weights, from its last layer down: there a weight's comes first. */
static void weights_come_last(void) {
  g_autoptr(Program) program = in_halves("parallel.schedule=zb-h1", 8);
  const ProgramSection *stage = &program->roles[3].sections[PROGRAM_STEADY];
  CU_ASSERT_TRUE(axes_case_first(stage, "send gradients") < axes_case_first(stage, "down_proj.wgrad"));
  const ProgramSection *first = &program->roles[0].sections[PROGRAM_STEADY];
  CU_ASSERT_EQUAL(first->rows[axes_case_last(first, "down_proj.wgrad")].layer, 0);
  CU_ASSERT_EQUAL(stage->rows[axes_case_last(stage, "down_proj.wgrad")].layer, 11);
  CU_ASSERT_EQUAL(axes_case_rows(stage, "down_proj.wgrad"), 8 * 6);
  CU_ASSERT_EQUAL(axes_case_rows(stage, "down_proj.dgrad"), 8 * 6);
  /* Each unit's gradients go once into the reduction, whatever came beside each other before. */
  CU_ASSERT_EQUAL(axes_case_rows(stage, "copy gradients in"),
                  axes_case_rows(stage, "reduce-scatter gradients") + axes_case_rows(stage, "copy gradients"));
}

static void refuses_by_name(void) {
  static const AxesRefusal rows[] = {
      {{"parallel.tensor=3"}, "parallel.tensor"},
      {{"parallel.tensor=2", "fsdp.async_tensor_parallel=yes"}, "set training.compile=yes"},
      {{"parallel.tensor=2", "fsdp.async_tensor_parallel=yes", "training.compile=yes",
        "parallel.sequence_parallel=yes"},
       NULL},
      {{"parallel.tensor=2", "fsdp.async_tensor_parallel=yes", "training.compile=yes", "parallel.sequence_parallel=no"},
       "set parallel.sequence_parallel=yes"},
      {{"fsdp.tensor_inputs=layer"}, "is of tensor ranks; set parallel.tensor"},
      {{"parallel.tensor=2", "fsdp.tensor_inputs=layer"}, NULL},
      {{"parallel.tensor=2", "fsdp.tensor_inputs=layer", "training.compile=yes", "fsdp.async_tensor_parallel=yes"},
       "layer is not modelled of fp8, of matmuls that hide exchanges"},
      {{"parallel.framework=fsdp1", "fsdp.tensor_inputs=layer"}, "fsdp1 has no other axes"},
      {{"parallel.pipeline=2", "fsdp.pipeline_split=2 4"},
       "makes 3 stages, and parallel.pipeline and interleave make 2"},
      {{"parallel.pipeline=2", "fsdp.pipeline_split=4 of 6"}, "is a split of 6 layers, and the model has 7"},
      {{"parallel.pipeline=2", "fsdp.pipeline_split=4 of"}, "behind \"of\" stands the number of the model's layers"},
      {{"parallel.pipeline=2", "fsdp.pipeline_split=4 of 7 8"}, "behind \"of\" stands the number"},
      {{"parallel.pipeline=2", "fsdp.pipeline_split=7"}, "the model has 7 layers, from 0 on"},
      {{"parallel.pipeline=2", "fsdp.pipeline_split=two"}, "\"two\" is not the number of a layer"},
      {{"parallel.pipeline=4", "fsdp.pipeline_split=4 2 6"}, "\"2\" is not the number of a layer after the one before"},
      {{"parallel.pipeline=2", "fsdp.cpu_offload=yes"}, "over a pipeline it is not modelled"},
      {{"parallel.pipeline=2", "training.gradient_accumulation=4", "fsdp.pipeline_microbatches=2"},
       "a step has 4 micro-batches"},
      {{"parallel.pipeline=2", "training.gradient_accumulation=4", "fsdp.pipeline_microbatches=4"}, NULL},
      {{"parallel.pipeline=2", "fsdp.pipeline_first_stage_less_layers=9"}, "torchtitan wants at least as many"},
      {{"parallel.pipeline=2", "parallel.schedule=zb-h1"}, "InterleavedZeroBubble has at least 2 chunks per rank"},
      {{"parallel.pipeline=2", "parallel.schedule=zbv", "training.activation_checkpointing=full"},
       "set training.activation_checkpointing=none"},
      {{"parallel.pipeline=2", "parallel.schedule=zbv", "training.compile=yes"}, "refuses compiled stages under zbv"},
      {{"parallel.pipeline=2", "parallel.schedule=zbv", "fsdp.wrap=size:100000"}, "use block, ends or none"},
      {{"parallel.expert=2"}, "parallel.expert"},
      {{"parallel.framework=fsdp1", "parallel.tensor=2"}, "framework fsdp1 has no tensor parallelism here"},
      {{"parallel.framework=fsdp1", "fsdp.loss_parallel=no"}, "fsdp1 has no other axes"},
  };
  axes_case_refuse(fsdp2, stage_3, rows, G_N_ELEMENTS(rows));
}

/* The last layer of a chunk names none that it prefetches: before what the first chunk makes is sent, nothing of
 * another chunk is gathered. */
static void prefetches_within_a_chunk(void) {
  g_autoptr(Program) program =
      axes_case(8, FALSE, 4,
                (const char *[]){"parallel.framework=fsdp2", "parallel.zero_stage=3", "parallel.pipeline=2",
                                 "parallel.interleave=2", "fsdp.forward_prefetch=1", NULL});
  const ProgramSection *stage = &program->roles[0].sections[PROGRAM_STEADY];
  gint sends = axes_case_first(stage, "send activations");
  CU_ASSERT_TRUE_FATAL(sends > 0);
  guint gathers = 0, beyond = 0;
  for (gint i = 0; i < sends; i++)
    if (strcmp(stage->rows[i].name, "all-gather parameters") == 0) {
      gathers++;
      beyond += stage->rows[i].layer > stage->rows[sends].layer;
    }
  CU_ASSERT_TRUE(gathers >= 2);
  CU_ASSERT_EQUAL(beyond, 0);
}

int main(void) {
  return harness_run("plan-fsdp-axes",
                     (HarnessCase[]){{"any layout plays", any_layout_plays},
                                     {"a pipeline gathers once", a_pipeline_gathers_once},
                                     {"a stage holds what comes", a_stage_holds_what_comes},
                                     {"norms are summed", norms_are_summed},
                                     {"the norm goes along every axis", the_norm_goes_along_every_axis},
                                     {"context ranks share parameters", context_ranks_share_parameters},
                                     {"stages are listed", stages_are_listed},
                                     {"every rank holds as much", every_rank_holds_as_much},
                                     {"weights come last", weights_come_last},
                                     {"refuses by name", refuses_by_name},
                                     {"prefetches within a chunk", prefetches_within_a_chunk},
                                     {NULL, NULL}});
}
