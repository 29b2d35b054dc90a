/* SPDX-License-Identifier: MIT */
/* Playing small Programs whose times can be worked out by hand. */
#include <string.h>

#include "cluster.h"
#include "coll-group.h"
#include "fold.h"
#include "group.h"
#include "harness.h"
#include "kernel-op.h"
#include "kernel-time.h"
#include "mem-tenant.h"
#include "program.h"
#include "run-play.h"
#include "run-unit.h"

/* Eight ranks in one DGX H100, one communicator. */
typedef struct {
  TestCluster built;
  ProgramBuilder *builder;
  guint32 compute, comm, group;
} Bench;

static Bench bench_new(void) {
  Bench bench = {.built = cluster_new("dgx-h100", 1, NULL), .builder = program_builder_new()};
  const guint32 ranks[] = {0, 1, 2, 3, 4, 5, 6, 7};
  bench.compute = program_builder_stream(bench.builder, "compute");
  bench.comm = program_builder_stream(bench.builder, "comm");
  bench.group = program_builder_communicator(bench.builder, "all", ranks, 8);
  program_builder_role(bench.builder, "rank", 8);
  program_builder_facts(bench.builder, 1000, 1e12, 1e12, KERNEL_BF16);
  return bench;
}

#define COPY_RATE    50e9 /* bytes/s of page-locked host memory; pageable a fifth */
#define CPU_RATE     20e9
#define SEGMENT_TAKE (50 * SIM_MICROSECOND)
#define SEGMENT_GIVE (10 * SIM_MICROSECOND)

static RunReport *play(Bench *bench, gboolean fold, EventTie tie) {
  g_autoptr(Program) program = program_builder_end(bench->builder);
  CollGroup *groups[] = {group_new(bench->built.cluster, program->communicators[0].ranks, 8, NULL)};
  g_autoptr(FoldSystem) folded = fold_new(program, bench->built.cluster, groups, fold);
  RunSystem system = {&folded->program,
                      bench->built.cluster->gpu,
                      folded->links,
                      folded->n_links,
                      folded->groups,
                      .copy_rates = {COPY_RATE, COPY_RATE / 5},
                      .cpu_rate = CPU_RATE,
                      .segment_take = SEGMENT_TAKE,
                      .segment_give = SEGMENT_GIVE};
  RunOptions options = {.timeline = TRUE, .tie = tie, .tie_seed = harness_seed()};
  RunReport *report = run_play(&system, &options, "test", NULL);
  coll_group_free(groups[0]);
  return report;
}

static SimTime op_time(const Bench *bench, guint64 bytes) {
  KernelOp op = {.kind = KERNEL_MEMORY, .dtype = KERNEL_FP32, .batch = 1, .bytes = bytes};
  return kernel_time(bench->built.cluster->gpu, &op);
}

static SimTime gather_time(const Bench *bench, guint64 bytes) {
  /* One uncontended ring all-gather: latency, then bytes x 7/8 at the node's achievable bandwidth. */
  g_autoptr(CollGroup) group = group_of_first(bench->built.cluster, 8);
  CollPlan plan;
  coll_plan(group, &(CollCall){COLL_ALL_GATHER, bytes}, &plan);
  return plan.latency + sim_time_of_amount(plan.volume, plan.cap);
}

#define GB (guint64)1000000000

/*  compute  A────────►      B──►        A = 10 GB of traffic, B = 1 GB, B needs the gather.
 *  comm     gather──────────►           1 GB payload twice: the second waits for the first on the communicator. */
static void section(Bench *bench, ProgramSectionKind kind, guint32 a, guint32 b) {
  program_builder_section(bench->builder, kind);
  program_builder_context(bench->builder, PROGRAM_FORWARD, 0, 0);
  program_builder_compute(bench->builder, bench->compute, "A", a);
  CollCall call = {COLL_ALL_GATHER, 4 * GB};
  program_builder_collective(bench->builder, bench->comm, "gather 1", bench->group, call, PROGRAM_HINT_NONE);
  guint32 second =
      program_builder_collective(bench->builder, bench->comm, "gather 2", bench->group, call, PROGRAM_HINT_NONE);
  guint32 last = program_builder_compute(bench->builder, bench->compute, "B", b);
  program_builder_need(bench->builder, second);
  program_builder_host(bench->builder, "end");
  program_builder_need(bench->builder, last);
}

static RunReport *overlap(gboolean fold, EventTie tie, SimTime *ret_a, SimTime *ret_b, SimTime *ret_gather) {
  Bench bench = bench_new();
  guint32 a = program_builder_memory_op(bench.builder, 10 * GB);
  guint32 b = program_builder_memory_op(bench.builder, 1 * GB);
  section(&bench, PROGRAM_FIRST, a, b);
  section(&bench, PROGRAM_STEADY, a, b);
  *ret_a = op_time(&bench, 10 * GB);
  *ret_b = op_time(&bench, 1 * GB);
  *ret_gather = gather_time(&bench, 4 * GB);
  RunReport *report = play(&bench, fold, tie);
  cluster_clear(&bench.built);
  return report;
}

/*  compute  pinned copy ► ─── waits for the cores ─── pageable copy ►
 *  cpu                 work ──────────►
 * 1 GB each: 1/50 s, then 1/20 s of the cores, then 1/10 s. None of it is compute or communication: all is idle
 * time. */
static void copies_and_cores(void) {
  Bench bench = bench_new();
  guint32 cpu = program_builder_stream(bench.builder, "cpu");
  for (ProgramSectionKind kind = 0; kind < PROGRAM_SECTIONS; kind++) {
    program_builder_section(bench.builder, kind);
    guint32 down = program_builder_copy(bench.builder, bench.compute, "to host", 1 * GB, PROGRAM_PINNED);
    guint32 work = program_builder_cpu(bench.builder, cpu, "work", 1 * GB);
    program_builder_need(bench.builder, down);
    program_builder_host(bench.builder, "wait");
    program_builder_need(bench.builder, work);
    guint32 up = program_builder_copy(bench.builder, bench.compute, "from host", 1 * GB, PROGRAM_PAGEABLE);
    program_builder_host(bench.builder, "end");
    program_builder_need(bench.builder, up);
  }
  g_autoptr(RunReport) report = play(&bench, TRUE, EVENT_TIE_FORWARD);
  const RunClass *all = &report->classes[0];
  CU_ASSERT_EQUAL(all->step, SIM_SECOND / 50 + SIM_SECOND / 20 + SIM_SECOND / 10);
  CU_ASSERT_EQUAL(all->compute, 0);
  CU_ASSERT_EQUAL(all->communication, 0);
  CU_ASSERT_EQUAL(all->host, all->step);
  CU_ASSERT_EQUAL_FATAL(all->n_tasks, 3);
  CU_ASSERT_STRING_EQUAL(all->tasks[0].kind, "copy");
  cluster_clear(&bench.built);
}

/* The host spends 50 ms, then waits for a copy that has ended after 20 of them: 50 ms all the same. */
static void a_wait_that_is_over_while_the_host_pays(void) {
  Bench bench = bench_new();
  for (ProgramSectionKind kind = 0; kind < PROGRAM_SECTIONS; kind++) {
    program_builder_section(bench.builder, kind);
    guint32 down = program_builder_copy(bench.builder, bench.compute, "to host", 1 * GB, PROGRAM_PINNED);
    program_builder_host(bench.builder, "work, then wait");
    program_builder_cost(bench.builder, SIM_SECOND / 20);
    program_builder_need(bench.builder, down);
  }
  g_autoptr(RunReport) report = play(&bench, TRUE, EVENT_TIE_FORWARD);
  CU_ASSERT_EQUAL(report->classes[0].step, SIM_SECOND / 20);
  cluster_clear(&bench.built);
}

static void overlap_and_serialisation(void) {
  SimTime a, b, gather;
  g_autoptr(RunReport) report = overlap(TRUE, EVENT_TIE_FORWARD, &a, &b, &gather);
  const RunClass *all = &report->classes[0];
  CU_ASSERT_EQUAL(report->n_classes, 1);
  CU_ASSERT_EQUAL(all->ranks, 8);
  CU_ASSERT_TRUE_FATAL(2 * gather > a);
  /* The two gathers run one after the other beside A; B follows the second. */
  CU_ASSERT_EQUAL(all->step, 2 * gather + b);
  CU_ASSERT_EQUAL(all->compute, a + b);
  CU_ASSERT_EQUAL(all->communication, 2 * gather);
  CU_ASSERT_EQUAL(all->exposed, 2 * gather - a);
  CU_ASSERT_EQUAL(all->idle, 0);
  /* B waits for the second: while the first still ran it stood behind another of its communicator. */
  SimTime serialised = gather > a ? gather - a : 0;
  CU_ASSERT_EQUAL(all->by_cause[RUN_CAUSE_SERIALISED], serialised);
  SimTime sum = 0;
  for (int cause = 0; cause < RUN_CAUSES; cause++)
    sum += all->by_cause[cause];
  CU_ASSERT_EQUAL(sum, all->exposed + all->idle);
  CU_ASSERT_EQUAL(report->steps_played, 2);
  CU_ASSERT_TRUE(report->repeats);
  CU_ASSERT_EQUAL(all->network_bytes_intra, 2 * (4 * GB / 8 * 7));
  /* Only links that are there are told of, in and out of eight GPUs among them, by which all of it went. */
  double bytes = 0;
  for (guint32 i = 0; i < report->n_links; i++) {
    CU_ASSERT_TRUE(report->links[i].links > 0 && report->links[i].capacity > 0);
    bytes += report->links[i].bytes;
  }
  CU_ASSERT_DOUBLE_EQUAL(bytes / (double)(2 * 8 * all->network_bytes_intra), 1, 1e-6);
}

static void folding_and_ties_change_nothing(void) {
  SimTime a, b, gather;
  g_autoptr(RunReport) folded = overlap(TRUE, EVENT_TIE_FORWARD, &a, &b, &gather);
  for (EventTie tie = EVENT_TIE_FORWARD; tie <= EVENT_TIE_SHUFFLE; tie++) {
    g_autoptr(RunReport) report = overlap(FALSE, tie, &a, &b, &gather);
    CU_ASSERT_EQUAL(report->n_classes, 8);
    for (guint32 i = 0; i < report->n_classes; i++) {
      CU_ASSERT_EQUAL(report->classes[i].step, folded->classes[0].step);
      CU_ASSERT_EQUAL(report->classes[i].exposed, folded->classes[0].exposed);
      CU_ASSERT_EQUAL(report->classes[i].device_used, folded->classes[0].device_used);
    }
    CU_ASSERT_EQUAL(report->n_links, folded->n_links);
    for (guint32 i = 0; i < report->n_links; i++)
      CU_ASSERT_EQUAL(report->links[i].bytes, folded->links[i].bytes);
  }
}

/* A tensor given to a stream lives until that stream has passed what was issued before the give. */
static void record_stream_delays_a_give(void) {
  Bench bench = bench_new();
  guint32 short_op = program_builder_memory_op(bench.builder, 1 * GB);
  guint32 long_op = program_builder_memory_op(bench.builder, 20 * GB);
  guint32 x = program_builder_tensor(bench.builder, "x", MEM_COMMUNICATION, 7 * GB, 0);
  guint32 y = program_builder_tensor(bench.builder, "y", MEM_ACTIVATIONS, 5 * GB, 5 * GB);
  for (int kind = PROGRAM_FIRST; kind < PROGRAM_SECTIONS; kind++) {
    program_builder_section(bench.builder, (ProgramSectionKind)kind);
    guint32 on_comm = program_builder_compute(bench.builder, bench.comm, "long, on comm", long_op);
    program_builder_take(bench.builder, x);
    guint32 first = program_builder_compute(bench.builder, bench.compute, "short", short_op);
    program_builder_give(bench.builder, x, bench.comm);
    program_builder_host(bench.builder, "wait");
    program_builder_need(bench.builder, first);
    guint32 second = program_builder_compute(bench.builder, bench.compute, "takes y", short_op);
    program_builder_take(bench.builder, y);
    program_builder_host(bench.builder, "end");
    program_builder_need(bench.builder, second);
    program_builder_need(bench.builder, on_comm);
    program_builder_give(bench.builder, y, PROGRAM_NONE);
  }
  g_autoptr(RunReport) report = play(&bench, TRUE, EVENT_TIE_FORWARD);
  /* y is taken while x still waits for comm: both at once, though x was given before. */
  /* Blocks: x is 7 GB and the rest of its segment, 0.28 MiB, which is not worth splitting off; y's rest of 1.63 MiB is.
   * x is no longer allocated when y is, but active. */
  guint64 workspaces = 2 * bench.built.cluster->gpu->workspace_bytes;
  guint64 segment = 2 << 20, x_block = (7 * GB + segment - 1) / segment * segment;
  CU_ASSERT_EQUAL(report->classes[0].peak_active, workspaces + x_block + 5 * GB);
  CU_ASSERT_EQUAL(report->classes[0].peak_allocated, workspaces + x_block);
  CU_ASSERT_EQUAL(report->classes[0].peak_held[MEM_COMMUNICATION] + report->classes[0].peak_held[MEM_ACTIVATIONS],
                  12 * GB);
  CU_ASSERT_EQUAL(report->classes[0].peak_unique[MEM_ACTIVATIONS], 5 * GB);
  CU_ASSERT_EQUAL(report->classes[0].peak_unique[MEM_COMMUNICATION], 0);
  CU_ASSERT_EQUAL(report->classes[0].steady_allocated, workspaces);
  CU_ASSERT_STRING_EQUAL(report->classes[0].peak_name, "takes y");
  cluster_clear(&bench.built);
}

/*  host     x ─ A │ waits for A │ y ─ B │ waits for B    x and y, 50 GB each, lie in pools of their own: either must
 *  compute  A─────────►                                  make way for the other
 *  side                         B──►
 * Without the wait A and B would run side by side. Each step gives one segment back and takes one anew, twice; the very
 * first x finds the device empty. */
static void a_flush_waits_for_all_streams(void) {
  Bench bench = bench_new();
  guint32 side = program_builder_stream(bench.builder, "side");
  guint32 a = program_builder_memory_op(bench.builder, 20 * GB), b = program_builder_memory_op(bench.builder, 1 * GB);
  guint32 x = program_builder_tensor(bench.builder, "x", MEM_ACTIVATIONS, 50 * GB, 50 * GB);
  guint32 y = program_builder_tensor(bench.builder, "y", MEM_ACTIVATIONS, 50 * GB, 50 * GB);
  for (ProgramSectionKind kind = 0; kind < PROGRAM_SECTIONS; kind++) {
    program_builder_section(bench.builder, kind);
    program_builder_compute(bench.builder, bench.compute, "A", a);
    program_builder_take(bench.builder, x);
    guint32 last = program_builder_compute(bench.builder, side, "B", b);
    program_builder_give(bench.builder, x, PROGRAM_NONE);
    program_builder_take(bench.builder, y);
    program_builder_host(bench.builder, "end");
    program_builder_need(bench.builder, last);
    program_builder_give(bench.builder, y, PROGRAM_NONE);
  }
  SimTime a_takes = op_time(&bench, 20 * GB), b_takes = op_time(&bench, 1 * GB);
  g_autoptr(RunReport) report = play(&bench, TRUE, EVENT_TIE_FORWARD);
  const RunClass *all = &report->classes[0];
  CU_ASSERT_EQUAL(report->verdict, RUN_FITS);
  CU_ASSERT_EQUAL(all->step, a_takes + b_takes + 2 * (SEGMENT_TAKE + SEGMENT_GIVE));
  CU_ASSERT_EQUAL(all->step_retries, 2);
  CU_ASSERT_EQUAL(all->step_stalled, a_takes + 2 * (SEGMENT_TAKE + SEGMENT_GIVE));
  CU_ASSERT_EQUAL(all->retries, 1 + 2 * report->steps_played);
  CU_ASSERT_EQUAL(all->idle, 2 * (SEGMENT_TAKE + SEGMENT_GIVE));
  CU_ASSERT_TRUE(report->repeats);
  cluster_clear(&bench.built);
}

/*  host     gather ─ A ─ pays 5 ms ───────── B ─ end      A 10 GB, B 1 GB of traffic
 *  comm     gather──────────────────────────────────►
 *  compute  A───────►                        B──►
 * The end waits for B, and, or not, for the gather. */
static RunReport *gather_beside(gboolean waits, SimTime *ret_a, SimTime *ret_b, SimTime *ret_gather) {
  Bench bench = bench_new();
  guint32 a = program_builder_memory_op(bench.builder, 10 * GB), b = program_builder_memory_op(bench.builder, 1 * GB);
  for (ProgramSectionKind kind = 0; kind < PROGRAM_SECTIONS; kind++) {
    program_builder_section(bench.builder, kind);
    program_builder_context(bench.builder, PROGRAM_FORWARD, 0, 0);
    CollCall call = {COLL_ALL_GATHER, 4 * GB};
    guint32 gather =
        program_builder_collective(bench.builder, bench.comm, "gather", bench.group, call, PROGRAM_HINT_NONE);
    program_builder_compute(bench.builder, bench.compute, "A", a);
    guint32 last = program_builder_compute(bench.builder, bench.compute, "B", b);
    program_builder_cost(bench.builder, 5 * SIM_MILLISECOND);
    program_builder_host(bench.builder, "end");
    program_builder_need(bench.builder, last);
    if (waits)
      program_builder_need(bench.builder, gather);
  }
  *ret_a = op_time(&bench, 10 * GB);
  *ret_b = op_time(&bench, 1 * GB);
  *ret_gather = gather_time(&bench, 4 * GB);
  RunReport *report = play(&bench, TRUE, EVENT_TIE_FORWARD);
  cluster_clear(&bench.built);
  return report;
}

/* What compute leaves open beside a gather that B does not need is the host's, up to B; then the end waits for the
 * gather itself. Where it does not, the next step's rows run beside it: a step is as long as the gather, all compute is
 * over before it begins, and it is tail. */
static void gaps_that_wait_for_nothing(void) {
  SimTime a, b, gather;
  g_autoptr(RunReport) waits = gather_beside(TRUE, &a, &b, &gather);
  const RunClass *all = &waits->classes[0];
  CU_ASSERT_EQUAL(all->step, gather);
  CU_ASSERT_EQUAL(all->compute, a + b);
  CU_ASSERT_EQUAL(all->by_cause[RUN_CAUSE_HOST], 5 * SIM_MILLISECOND - a);
  CU_ASSERT_EQUAL(all->by_cause[RUN_CAUSE_LATENCY] + all->by_cause[RUN_CAUSE_BANDWIDTH],
                  gather - 5 * SIM_MILLISECOND - b);
  CU_ASSERT_EQUAL(all->by_cause[RUN_CAUSE_TAIL], 0);
  g_autoptr(RunReport) beside = gather_beside(FALSE, &a, &b, &gather);
  CU_ASSERT_EQUAL(beside->classes[0].step, gather);
  CU_ASSERT_EQUAL(beside->classes[0].compute, 0);
  CU_ASSERT_EQUAL(beside->classes[0].by_cause[RUN_CAUSE_TAIL], gather);
}

/* Each body gives x at once and y once comm has passed: comm is waited for, compute is not. */
static void frees_wait_for_the_streams_they_name(void) {
  Bench bench = bench_new();
  guint32 op = program_builder_memory_op(bench.builder, 1 * GB);
  guint32 x = program_builder_tensor(bench.builder, "x", MEM_ACTIVATIONS, 1 * GB, 0);
  guint32 y = program_builder_tensor(bench.builder, "y", MEM_ACTIVATIONS, 1 * GB, 0);
  for (ProgramSectionKind kind = 0; kind < PROGRAM_SECTIONS; kind++) {
    program_builder_section(bench.builder, kind);
    for (int body = 0; body < RUN_BODIES; body++) {
      program_builder_compute(bench.builder, bench.compute, "A", op);
      program_builder_take(bench.builder, x);
      program_builder_take(bench.builder, y);
      program_builder_compute(bench.builder, bench.compute, "B", op);
      program_builder_give(bench.builder, x, PROGRAM_NONE);
      program_builder_give(bench.builder, y, bench.comm);
    }
  }
  g_autoptr(Program) program = program_builder_end(bench.builder);
  RunTable table = {.section = &program->roles[0].sections[PROGRAM_STEADY], .watched = {0, 2, 4}};
  RunUnit unit;
  CU_ASSERT_TRUE(run_unit_init(&unit, &table, program, 1));
  CU_ASSERT_TRUE(unit.waits && unit.waited[bench.comm]);
  CU_ASSERT_FALSE(unit.waited[bench.compute]);
  CU_ASSERT_EQUAL(unit.of_unit, 2);
  CU_ASSERT_EQUAL(unit.takes, 4);
  run_unit_clear(&unit);
  cluster_clear(&bench.built);
}

/* Managed memory lies beside the allocator's, which keeps nothing of it: x, and once x is given y, 50 GB each, never
 * stand on the device together. `both`: they do, in the step that runs out. */
static RunReport *managed_pages(gboolean both) {
  Bench bench = bench_new();
  guint32 op = program_builder_memory_op(bench.builder, 1 * GB);
  guint32 tensors[2];
  for (int i = 0; i < 2; i++) {
    tensors[i] = program_builder_tensor(bench.builder, i == 0 ? "x" : "y", MEM_OPTIMIZER, 50 * GB, 50 * GB);
    program_builder_manage(bench.builder, tensors[i]);
  }
  for (ProgramSectionKind kind = 0; kind < PROGRAM_SECTIONS; kind++) {
    program_builder_section(bench.builder, kind);
    for (int i = 0; i < 2; i++) {
      guint32 last = program_builder_compute(bench.builder, bench.compute, i == 0 ? "A" : "B", op);
      program_builder_take(bench.builder, tensors[i]);
      program_builder_host(bench.builder, "waits");
      program_builder_need(bench.builder, last);
      if (!both || i == 1)
        program_builder_give(bench.builder, tensors[i], PROGRAM_NONE);
    }
    if (both)
      program_builder_give(bench.builder, tensors[0], PROGRAM_NONE);
  }
  RunReport *report = play(&bench, TRUE, EVENT_TIE_FORWARD);
  cluster_clear(&bench.built);
  return report;
}

static void managed_memory_is_given_back(void) {
  g_autoptr(RunReport) apart = managed_pages(FALSE), both = managed_pages(TRUE);
  const RunClass *all = &apart->classes[0];
  CU_ASSERT_EQUAL(apart->verdict, RUN_FITS);
  CU_ASSERT_EQUAL(all->managed, 50 * GB); /* x alone, of the step that the host has begun when play ends */
  CU_ASSERT_EQUAL(all->peak_held[MEM_OPTIMIZER], 50 * GB);
  CU_ASSERT_EQUAL(all->peak_unique[MEM_OPTIMIZER], 50 * GB);
  CU_ASSERT_EQUAL(all->device_used_step, 0); /* later steps hold as much, not more */
  CU_ASSERT_TRUE(apart->repeats);
  CU_ASSERT_EQUAL(both->verdict, RUN_OOM);
  CU_ASSERT_EQUAL(both->classes[0].device_used, all->device_used + 50 * GB);
  CU_ASSERT_STRING_EQUAL(both->classes[0].oom.tensor, "y");
}

static void oom_is_a_result(void) {
  Bench bench = bench_new();
  guint32 op = program_builder_memory_op(bench.builder, 1 * GB);
  guint32 big = program_builder_tensor(bench.builder, "big", MEM_ACTIVATIONS, 100 * GB, 100 * GB);
  for (int kind = PROGRAM_FIRST; kind < PROGRAM_SECTIONS; kind++) {
    program_builder_section(bench.builder, (ProgramSectionKind)kind);
    program_builder_context(bench.builder, PROGRAM_FORWARD, 3, 0);
    guint32 row = program_builder_compute(bench.builder, bench.compute, "too much", op);
    program_builder_take(bench.builder, big);
    program_builder_host(bench.builder, "end");
    program_builder_need(bench.builder, row);
    program_builder_give(bench.builder, big, PROGRAM_NONE);
  }
  guint64 capacity = bench.built.cluster->gpu->memory_usable;
  SimTime op_takes = op_time(&bench, 1 * GB);
  g_autoptr(RunReport) report = play(&bench, TRUE, EVENT_TIE_FORWARD);
  const RunClass *all = &report->classes[0];
  /* 100 GB leave 0.57 MiB of their segment unused. */
  guint64 segment = 2 << 20, need = (100 * GB + segment - 1) / segment * segment, overhead = all->device_used - need;
  CU_ASSERT_EQUAL(report->verdict, RUN_OOM);
  CU_ASSERT_EQUAL(all->short_by, overhead + need - capacity);
  CU_ASSERT_EQUAL(all->oom.requested, 100 * GB);
  CU_ASSERT_EQUAL(all->oom.free, capacity - overhead);
  CU_ASSERT_EQUAL(all->oom.layer, 3);
  CU_ASSERT_STRING_EQUAL(all->oom.name, "too much");
  CU_ASSERT_STRING_EQUAL(all->oom.tensor, "big");
  /* Play went on: the step has its time. */
  CU_ASSERT_EQUAL(all->step, op_takes);
  cluster_clear(&bench.built);
}

int main(void) {
  return harness_run(
      "run", (HarnessCase[]){{"copies and cores", copies_and_cores},
                             {"a wait that is over while the host pays", a_wait_that_is_over_while_the_host_pays},
                             {"overlap and serialisation", overlap_and_serialisation},
                             {"folding and ties change nothing", folding_and_ties_change_nothing},
                             {"record_stream delays a give", record_stream_delays_a_give},
                             {"a flush waits for all streams", a_flush_waits_for_all_streams},
                             {"gaps that wait for nothing", gaps_that_wait_for_nothing},
                             {"frees wait for the streams they name", frees_wait_for_the_streams_they_name},
                             {"managed memory is given back", managed_memory_is_given_back},
                             {"an OOM is a result", oom_is_a_result},
                             {NULL, NULL}});
}
