/* SPDX-License-Identifier: MIT */
/* Kernels beside collectives on eight H100 of a node, and beside each other: re-timed when one starts or ends, exactly,
 * whatever the order. */
#include <math.h>
#include <string.h>

#include "cluster.h"
#include "coll-group.h"
#include "fold.h"
#include "group.h"
#include "harness.h"
#include "kernel-op.h"
#include "kernel-time.h"
#include "program.h"
#include "run-play.h"

#define GB    G_GUINT64_CONSTANT(1000000000)
#define RANKS 8

typedef struct {
  KernelOp op;
  CollCall call;
  gboolean fold, contention, chunks;
  EventTie tie;
} Case;

static const KernelOp copy = {.kind = KERNEL_MEMORY, .dtype = KERNEL_FP32, .batch = 1, .bytes = 40 * GB};
static const KernelOp matmul = {.kind = KERNEL_MATMUL,
                                .dtype = KERNEL_BF16,
                                .batch = 1,
                                .m = 16384,
                                .n = 16384,
                                .k = 16384,
                                .bytes = (guint64)3 * 2 * 16384 * 16384};

/*  compute  kernel ───────────────────────►
 *  comm     collective ──────►                    both of them issued at once; the step ends with the later one. */
static RunReport *play(const HwCluster *cluster, const Case *what) {
  const guint32 ranks[RANKS] = {0, 1, 2, 3, 4, 5, 6, 7};
  ProgramBuilder *builder = program_builder_new();
  guint32 compute = program_builder_stream(builder, "compute"), comm = program_builder_stream(builder, "comm");
  guint32 group = program_builder_communicator(builder, "all", ranks, RANKS);
  program_builder_role(builder, "rank", RANKS);
  program_builder_facts(builder, 1000, 1e12, 1e12, KERNEL_BF16);
  guint32 op = program_builder_op(builder, &what->op);
  for (int kind = PROGRAM_FIRST; kind < PROGRAM_SECTIONS; kind++) {
    program_builder_section(builder, (ProgramSectionKind)kind);
    program_builder_context(builder, PROGRAM_FORWARD, 0, 0);
    guint32 kernel = program_builder_compute(builder, compute, "kernel", op);
    guint32 moved = program_builder_collective(builder, comm, "collective", group, what->call, PROGRAM_HINT_NONE);
    program_builder_host(builder, "end");
    program_builder_need(builder, kernel);
    program_builder_need(builder, moved);
  }
  g_autoptr(Program) program = program_builder_end(builder);
  CollGroup *groups[] = {group_of_first(cluster, RANKS)};
  g_autoptr(FoldSystem) folded = fold_new(program, cluster, groups, what->fold);
  RunSystem system = {&folded->program, cluster->gpu, folded->links, folded->n_links, folded->groups, .speeds = NULL};
  RunOptions options = {.timeline = TRUE,
                        .tie = what->tie,
                        .tie_seed = harness_seed(),
                        .contention = what->contention,
                        .chunks = what->chunks};
  RunReport *report = run_play(&system, &options, "test", NULL);
  coll_group_free(groups[0]);
  g_assert_nonnull(report);
  return report;
}

static const RunTask *kernel_of(const RunClass *all) {
  return strcmp(all->tasks[0].name, "kernel") == 0 ? &all->tasks[0] : &all->tasks[1];
}

/* By hand: the collective moves at 1 / 1.11 of its cap, for a kernel runs as it begins. As long as it lasts, C, the
 * kernel takes S for the whole of it, so that 1 − C/S is left, at the rate alone. */
static void by_hand(const HwCluster *cluster, const Case *what, KernelBeside beside) {
  g_autoptr(CollGroup) group = group_of_first(cluster, RANKS);
  CollPlan plan;
  coll_plan(group, &what->call, &plan);
  SimTime collective_alone = plan.latency + sim_time_of_amount(plan.volume, plan.cap);
  SimTime collective = plan.latency + sim_time_of_amount(plan.volume, plan.cap / 1.11);
  double rate = round((double)plan.sent_intra * kernel_memory_traffic(cluster->gpu, beside) /
                      sim_time_to_seconds(collective_alone));
  KernelShare share = kernel_share_beside(cluster->gpu, plan.channels, rate);
  SimTime alone = kernel_time(cluster->gpu, &what->op), shared = kernel_time_shared(cluster->gpu, &what->op, share);
  SimTime end = collective + (SimTime)round((1 - (double)collective / (double)shared) * (double)alone);
  CU_ASSERT_TRUE_FATAL(collective < alone && shared > alone);
  g_autoptr(RunReport) report = play(cluster, what);
  const RunClass *all = &report->classes[0];
  CU_ASSERT_EQUAL(all->communication, collective);
  CU_ASSERT_EQUAL(kernel_of(all)->end, end);
  CU_ASSERT_EQUAL(all->step, end);
  CU_ASSERT_EQUAL(all->compute, end);
  CU_ASSERT_EQUAL(all->exposed, 0);
  CU_ASSERT_TRUE(end > alone);
}

static void a_kernel_is_retimed(void) {
  TestCluster built = cluster_new("dgx-h100", 1, NULL);
  const struct {
    CollOperation operation;
    KernelBeside beside;
  } calls[] = {{COLL_ALL_GATHER, KERNEL_ALL_GATHER},
               {COLL_REDUCE_SCATTER, KERNEL_REDUCE_SCATTER},
               {COLL_ALL_REDUCE, KERNEL_ALL_REDUCE}};
  for (gsize i = 0; i < G_N_ELEMENTS(calls); i++) {
    Case what = {.op = copy, .call = {calls[i].operation, 1 * GB}, .fold = TRUE, .contention = TRUE};
    by_hand(built.cluster, &what, calls[i].beside);
    what.op = matmul;
    by_hand(built.cluster, &what, calls[i].beside);
  }
  cluster_clear(&built);
}

/* Without contention both take what they take alone. */
static void without_it_nothing_slows(void) {
  TestCluster built = cluster_new("dgx-h100", 1, NULL);
  const Case what = {.op = copy, .call = {COLL_ALL_GATHER, 1 * GB}, .fold = TRUE};
  g_autoptr(CollGroup) group = group_of_first(built.cluster, RANKS);
  CollPlan plan;
  coll_plan(group, &what.call, &plan);
  g_autoptr(RunReport) report = play(built.cluster, &what);
  CU_ASSERT_EQUAL(report->classes[0].compute, kernel_time(built.cluster->gpu, &copy));
  CU_ASSERT_EQUAL(report->classes[0].communication, plan.latency + sim_time_of_amount(plan.volume, plan.cap));
  cluster_clear(&built);
}

static void folding_and_ties_change_nothing(void) {
  TestCluster built = cluster_new("dgx-h100", 1, NULL);
  Case what = {.op = matmul, .call = {COLL_REDUCE_SCATTER, 1 * GB}, .fold = TRUE, .contention = TRUE};
  g_autoptr(RunReport) folded = play(built.cluster, &what);
  what.fold = FALSE;
  for (what.tie = EVENT_TIE_FORWARD; what.tie <= EVENT_TIE_SHUFFLE; what.tie++) {
    g_autoptr(RunReport) report = play(built.cluster, &what);
    CU_ASSERT_EQUAL_FATAL(report->n_classes, RANKS);
    for (guint32 i = 0; i < RANKS; i++) {
      CU_ASSERT_EQUAL(report->classes[i].step, folded->classes[0].step);
      CU_ASSERT_EQUAL(report->classes[i].compute, folded->classes[0].compute);
      CU_ASSERT_EQUAL(report->classes[i].communication, folded->classes[0].communication);
    }
  }
  cluster_clear(&built);
}

/* A kernel shorter than the collective beside it takes what kernel_time_shared says, all of it. */
static void a_short_kernel_is_shared_throughout(void) {
  TestCluster built = cluster_new("dgx-h100", 1, NULL);
  Case what = {.op = copy, .call = {COLL_ALL_GATHER, 8 * GB}, .fold = TRUE, .contention = TRUE};
  what.op.bytes = 1 * GB;
  g_autoptr(CollGroup) group = group_of_first(built.cluster, RANKS);
  CollPlan plan;
  coll_plan(group, &what.call, &plan);
  SimTime time = plan.latency + sim_time_of_amount(plan.volume, plan.cap);
  double rate = round(2 * (double)plan.sent_intra / sim_time_to_seconds(time));
  KernelShare share = kernel_share_beside(built.cluster->gpu, plan.channels, rate);
  g_autoptr(RunReport) report = play(built.cluster, &what);
  const RunClass *all = &report->classes[0];
  CU_ASSERT_EQUAL(all->compute, kernel_time_shared(built.cluster->gpu, &what.op, share));
  CU_ASSERT_EQUAL(all->compute + all->exposed, all->step);
  cluster_clear(&built);
}

/*  compute  long ──────────────────►
 *  side     short ─► short ─► …        all issued at once */
static RunReport *play_beside(const HwCluster *cluster, const KernelOp *beside, guint n, const Case *what) {
  ProgramBuilder *builder = program_builder_new();
  guint32 compute = program_builder_stream(builder, "compute"), side = program_builder_stream(builder, "side");
  program_builder_role(builder, "rank", 1);
  program_builder_facts(builder, 1000, 1e12, 1e12, KERNEL_BF16);
  guint32 op = program_builder_op(builder, &what->op), other = program_builder_op(builder, beside);
  for (int kind = PROGRAM_FIRST; kind < PROGRAM_SECTIONS; kind++) {
    program_builder_section(builder, (ProgramSectionKind)kind);
    program_builder_context(builder, PROGRAM_FORWARD, 0, 0);
    guint32 last = program_builder_compute(builder, compute, "kernel", op);
    for (guint i = 0; i < n; i++)
      program_builder_compute(builder, side, "beside", other);
    program_builder_host(builder, "end");
    program_builder_need(builder, last);
    program_builder_need(builder, last + n);
  }
  g_autoptr(Program) program = program_builder_end(builder);
  g_autoptr(FoldSystem) folded = fold_new(program, cluster, NULL, what->fold);
  RunSystem system = {&folded->program, cluster->gpu, folded->links, folded->n_links, folded->groups, .speeds = NULL};
  RunOptions options = {.timeline = TRUE, .tie = what->tie, .tie_seed = harness_seed(), .contention = what->contention};
  RunReport *report = run_play(&system, &options, "test", NULL);
  g_assert_nonnull(report);
  return report;
}

/* By hand: each of n short kernels goes at half its rate, 2 n s, in which half of that is done of the long one. What is
 * left of it runs alone: the two take together what they take one after the other. */
static void kernels_share_the_device(void) {
  TestCluster built = cluster_new("dgx-h100", 1, NULL);
  KernelOp beside = copy;
  beside.bytes = 2 * GB;
  const SimTime s = kernel_time(built.cluster->gpu, &beside);
  for (guint n = 1; n <= 3; n++)
    for (int tie = EVENT_TIE_FORWARD; tie <= EVENT_TIE_SHUFFLE; tie++) {
      Case what = {.op = matmul, .fold = TRUE, .contention = TRUE, .tie = (EventTie)tie};
      const SimTime alone = kernel_time(built.cluster->gpu, &matmul);
      CU_ASSERT_TRUE_FATAL(n * s < alone);
      g_autoptr(RunReport) report = play_beside(built.cluster, &beside, n, &what);
      CU_ASSERT_TRUE(ABS(report->classes[0].step - (alone + n * s)) <= 2 * n);
      what.contention = FALSE;
      g_autoptr(RunReport) apart = play_beside(built.cluster, &beside, n, &what);
      CU_ASSERT_EQUAL(apart->classes[0].step, alone);
    }
  cluster_clear(&built);
}

/* What takes as long as its launch leaves the device to others. */
static void launches_share_nothing(void) {
  TestCluster built = cluster_new("dgx-h100", 1, NULL);
  KernelOp beside = copy;
  beside.bytes = 4096;
  const Case what = {.op = matmul, .fold = TRUE, .contention = TRUE};
  CU_ASSERT_FALSE(kernel_fills(built.cluster->gpu, &beside));
  CU_ASSERT_TRUE(kernel_fills(built.cluster->gpu, &matmul));
  CU_ASSERT_TRUE(kernel_fills(built.cluster->gpu, &copy));
  g_autoptr(RunReport) report = play_beside(built.cluster, &beside, 3, &what);
  CU_ASSERT_EQUAL(report->classes[0].step, kernel_time(built.cluster->gpu, &matmul));
  cluster_clear(&built);
}

int main(void) {
  return harness_run("run-contention",
                     (HarnessCase[]){{"a kernel is re-timed", a_kernel_is_retimed},
                                     {"without it nothing slows", without_it_nothing_slows},
                                     {"folding and ties change nothing", folding_and_ties_change_nothing},
                                     {"a short kernel is shared throughout", a_short_kernel_is_shared_throughout},
                                     {"kernels share the device", kernels_share_the_device},
                                     {"launches share nothing", launches_share_nothing},
                                     {NULL, NULL}});
}
