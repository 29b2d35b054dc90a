/* SPDX-License-Identifier: MIT */
/* A pipeline of stages played from a Program written by hand: one forward, one backward, sends and receives between
 * neighbours, and the bubble as a cause of its own.
 *
 *   stage 0   F0 F1 F2 F3 .. .. .. B0 F4 B1 …                 stage r warms up with p - 1 - r forwards, then alternates
 *   stage 3   .. .. .. F0 B0 F1 B1 …
 *
 * Time that a stage has nothing to do, with forward tf, backward tb and exchanges that take no time: (p - 1)(tf + tb),
 * whatever the micro-batches (Narayanan et al., "Efficient Large-Scale Language Model Training", arXiv 2104.04473,
 * section 2.2.1). */
#include "cluster.h"
#include "coll-group.h"
#include "fold.h"
#include "group.h"
#include "harness.h"
#include "kernel-op.h"
#include "program.h"
#include "run-play.h"

#define STAGES        4
#define FORWARD       (10 * SIM_MILLISECOND)
#define BACKWARD      (20 * SIM_MILLISECOND)
#define PAYLOAD       8
#define COMMUNICATORS (2 * (STAGES - 1) + 1)

typedef enum { DOWN, UP, WAYS } Way; /* activations to the next stage, gradients to the one before */

typedef struct {
  ProgramBuilder *builder;
  guint32 compute, sends[WAYS], receives[WAYS], all;
  guint32 pairs[WAYS][STAGES - 1]; /* with the next stage */
  guint32 everyone, forward, backward;
  guint32 stage;
  ProgramHint hint;
} Writer;

static guint32 exchange(const Writer *writer, guint32 stream, const char *name, guint32 pair) {
  return program_builder_collective(writer->builder, stream, name, pair, (CollCall){COLL_SEND_RECV, PAYLOAD},
                                    writer->hint);
}

/* Receives what the pass needs, computes, sends on. */
static guint32 pass(const Writer *writer, Way way, gint32 micro) {
  guint32 r = writer->stage, from = PROGRAM_NONE;
  gboolean receives = way == DOWN ? r > 0 : r + 1 < STAGES, sends = way == DOWN ? r + 1 < STAGES : r > 0;
  program_builder_context(writer->builder, way == DOWN ? PROGRAM_FORWARD : PROGRAM_BACKWARD, -1, micro);
  if (receives)
    from = exchange(writer, writer->receives[way], "receive", writer->pairs[way][way == DOWN ? r - 1 : r]);
  guint32 row = program_builder_compute(writer->builder, writer->compute, "pass",
                                        way == DOWN ? writer->forward : writer->backward);
  program_builder_need(writer->builder, from);
  if (sends) {
    exchange(writer, writer->sends[way], "send", writer->pairs[way][way == DOWN ? r : r - 1]);
    program_builder_need(writer->builder, row);
  }
  return row;
}

static void section(const Writer *writer, ProgramSectionKind kind, gint32 micros) {
  gint32 warm = MIN(micros, (gint32)(STAGES - 1 - writer->stage));
  guint32 last = PROGRAM_NONE;
  program_builder_section(writer->builder, kind);
  for (gint32 m = 0; m < micros + warm; m++) {
    if (m < micros)
      last = pass(writer, DOWN, m);
    if (m >= warm)
      last = pass(writer, UP, m - warm);
  }
  guint32 norm = program_builder_collective(writer->builder, writer->all, "norm", writer->everyone,
                                            (CollCall){COLL_ALL_REDUCE, PAYLOAD}, writer->hint);
  program_builder_need(writer->builder, last);
  program_builder_host(writer->builder, "end of step");
  program_builder_need(writer->builder, norm);
}

static guint32 timed(ProgramBuilder *builder, SimTime time) {
  KernelOp op = {.kind = KERNEL_MEMORY, .dtype = KERNEL_FP32, .batch = 0};
  return program_builder_timed_op(builder, &op, time);
}

static Program *pipeline(gint32 micros, ProgramHint hint) {
  Writer writer = {.builder = program_builder_new(), .hint = hint};
  const guint32 everyone[STAGES] = {0, 1, 2, 3};
  writer.compute = program_builder_stream(writer.builder, "compute");
  for (Way way = DOWN; way < WAYS; way++) {
    writer.sends[way] = program_builder_stream(writer.builder, way == DOWN ? "send down" : "send up");
    writer.receives[way] = program_builder_stream(writer.builder, way == DOWN ? "receive down" : "receive up");
    for (guint32 i = 0; i + 1 < STAGES; i++)
      writer.pairs[way][i] = program_builder_communicator(writer.builder, "pair", &everyone[i], 2);
  }
  writer.all = program_builder_stream(writer.builder, "all");
  writer.everyone = program_builder_communicator(writer.builder, "everyone", everyone, STAGES);
  writer.forward = timed(writer.builder, FORWARD);
  writer.backward = timed(writer.builder, BACKWARD);
  program_builder_facts(writer.builder, 1000, 1e12, 1e12, KERNEL_BF16);
  for (writer.stage = 0; writer.stage < STAGES; writer.stage++) {
    program_builder_role(writer.builder, "stage", 1);
    section(&writer, PROGRAM_FIRST, micros);
    section(&writer, PROGRAM_STEADY, micros);
  }
  return program_builder_end(writer.builder);
}

static RunReport *play(const Program *program, const HwCluster *cluster, gboolean fold) {
  CollGroup *groups[COMMUNICATORS];
  for (guint32 g = 0; g < program->n_communicators; g++)
    groups[g] = group_new(cluster, program->communicators[g].ranks, program->communicators[g].n_ranks, NULL);
  g_autoptr(FoldSystem) folded = fold_new(program, cluster, groups, fold);
  RunSystem system = {&folded->program, cluster->gpu, folded->links, folded->n_links, folded->groups};
  RunOptions options = {.timeline = TRUE};
  RunReport *report = run_play(&system, &options, "test", NULL);
  for (guint32 g = 0; g < program->n_communicators; g++)
    coll_group_free(groups[g]);
  return report;
}

/* Of one exchange, uncontended. */
static SimTime exchange_time(const HwCluster *cluster) {
  const guint32 ranks[] = {0, 1};
  g_autoptr(CollGroup) group = group_new(cluster, ranks, 2, NULL);
  CollPlan plan;
  coll_plan(group, &(CollCall){COLL_SEND_RECV, PAYLOAD}, &plan);
  return plan.latency + sim_time_of_amount(plan.volume, plan.cap);
}

/* Each micro-batch passes at most two exchanges on the way that decides, and so does each stage at both ends. */
static void the_bubble_is_its_formula(void) {
  TestCluster built = cluster_new("dgx-h100", 1, NULL);
  SimTime allowed = exchange_time(built.cluster);
  for (gint32 micros = 4; micros <= 16; micros *= 2) {
    g_autoptr(Program) program = pipeline(micros, PROGRAM_HINT_PIPELINE);
    g_autoptr(RunReport) report = play(program, built.cluster, TRUE);
    CU_ASSERT_EQUAL_FATAL(report->n_classes, STAGES);
    for (guint32 i = 0; i < STAGES; i++) {
      const RunClass *stage = &report->classes[i];
      SimTime formula = (STAGES - 1) * (FORWARD + BACKWARD), slack = 2 * (micros + STAGES + 1) * allowed;
      CU_ASSERT_EQUAL(stage->compute, micros * (FORWARD + BACKWARD));
      CU_ASSERT_EQUAL(stage->step, stage->compute + stage->exposed + stage->idle);
      CU_ASSERT_TRUE(stage->bubble >= formula - slack && stage->bubble <= formula + slack);
      CU_ASSERT_TRUE(stage->step - stage->compute >= formula);
      CU_ASSERT_TRUE(stage->step - stage->compute - stage->bubble <= slack);
    }
  }
  cluster_clear(&built);
}

/* The same waits without the hint are those of any collective whose peer is late. */
static void without_the_hint_it_is_a_straggler(void) {
  TestCluster built = cluster_new("dgx-h100", 1, NULL);
  g_autoptr(Program) with = pipeline(8, PROGRAM_HINT_PIPELINE), without = pipeline(8, PROGRAM_HINT_NONE);
  g_autoptr(RunReport) bubble = play(with, built.cluster, TRUE), straggler = play(without, built.cluster, TRUE);
  for (guint32 i = 0; i < STAGES; i++) {
    CU_ASSERT_EQUAL(bubble->classes[i].step, straggler->classes[i].step);
    CU_ASSERT_EQUAL(straggler->classes[i].bubble, 0);
    CU_ASSERT_EQUAL(bubble->classes[i].exposed + bubble->classes[i].idle,
                    straggler->classes[i].exposed + straggler->classes[i].idle);
    CU_ASSERT_TRUE(straggler->classes[i].by_cause[RUN_CAUSE_STRAGGLER] > BACKWARD);
  }
  cluster_clear(&built);
}

int main(void) {
  return harness_run("pipelines", (HarnessCase[]){{"bubble", the_bubble_is_its_formula},
                                                  {"straggler", without_the_hint_it_is_a_straggler},
                                                  {NULL, NULL}});
}
