/* SPDX-License-Identifier: MIT */
/* A step in the words of other tools' logs. */
#include "harness.h"
#include "report-as.h"

#define MS SIM_MILLISECOND

/* Two micro-batches. The first: forward to 100 ms, backward to 250, its reduction to 260. The second: forward to 360,
 * recomputation and backward to 500, its reduction to 530. The optimizer ends with the step at 600. So the second's
 * timers are 100, 140 + 30 and 70, and those of the step 200, 290 + 40 and 70. */
static RunTask tasks[] = {
    {.name = "a", .phase = "forward", .micro = 0, .start = 0, .end = 100 * MS},
    {.name = "b", .phase = "backward", .micro = 0, .start = 100 * MS, .end = 250 * MS},
    {.name = "c", .phase = "reduce", .micro = 0, .start = 200 * MS, .end = 260 * MS},
    {.name = "d", .phase = "forward", .micro = 1, .start = 260 * MS, .end = 360 * MS},
    {.name = "e", .phase = "recompute", .micro = 1, .start = 360 * MS, .end = 400 * MS},
    {.name = "f", .phase = "backward", .micro = 1, .start = 400 * MS, .end = 500 * MS},
    {.name = "g", .phase = "reduce", .micro = 1, .start = 450 * MS, .end = 530 * MS},
    {.name = "h", .phase = "optimizer", .micro = -1, .start = 530 * MS, .end = 600 * MS},
};

/* 8 GPUs, 48 sequences; 2.88e15 FLOPs in 0.6 s are 600 TFLOP/s a GPU. Of 80 GiB 60 are reserved. */
static RunReport report_of(RunClass *class) {
  *class = (RunClass){.step = 600 * MS,
                      .capacity = (guint64)80 << 30,
                      .steady_allocated = (guint64)10 << 30,
                      .peak_allocated = (guint64)50 << 30,
                      .peak_reserved = (guint64)60 << 30,
                      .tasks = tasks,
                      .n_tasks = G_N_ELEMENTS(tasks)};
  return (RunReport){.identity = {.gpus = 8, .gradient_accumulation = 2, .global_batch = 48},
                     .tokens_per_second_per_gpu = 1234567.4,
                     .model_flops = 2.88e15,
                     .model_flops_utilisation = 0.4321,
                     .classes = class,
                     .n_classes = 1};
}

static void expect(ReportTool tool, gboolean with_timeline, const char *expected) {
  RunClass class;
  RunReport report = report_of(&class);
  class.n_tasks = with_timeline ? class.n_tasks : 0;
  g_autoptr(GString) text = g_string_new(NULL);
  report_as(&report, tool, text);
  CU_ASSERT_STRING_EQUAL(text->str, expected);
  if (strcmp(text->str, expected) != 0)
    printf("\n%s", text->str);
}

#define RATES                                                                                                          \
  "epoch=0/micro_step=2/global_step=1, RunningAvgSamplesPerSec=80, CurrSamplesPerSec=80, MemAllocated=10.00GB, "       \
  "MaxMemAllocated=50.00GB\n"

static void deepspeed(void) {
  expect(REPORT_AS_DEEPSPEED, TRUE,
         "[Rank 0] time (ms) | fwd_microstep: 100.00 | bwd_microstep: 170.00 | bwd_inner_microstep: 140.00 | "
         "bwd_allreduce_microstep: 30.00 | step_microstep: 70.00\n"
         "[Rank 0] time (ms) | fwd: 200.00 | bwd: 330.00 | bwd_inner: 290.00 | bwd_allreduce: 40.00 | step: "
         "70.00\n" RATES);
  expect(REPORT_AS_DEEPSPEED, FALSE, RATES);
}

static void torchtitan(void) {
  expect(REPORT_AS_TORCHTITAN, TRUE,
         "step:  1  memory: 60.00GiB(75.00%)  tps: 1,234,567  tflops: 600.00  mfu: 43.21%\n");
}

static void megatron(void) {
  expect(REPORT_AS_MEGATRON, TRUE,
         " iteration        1/       1 | consumed samples:           48 | elapsed time per iteration (ms): 600.0 | "
         "throughput per GPU (TFLOP/s/GPU): 600.0 | global batch size:    48 |\n"
         "[Rank 0] (after 1 iterations) memory (MB) | allocated: 10240.00 | max allocated: 51200.00 | max reserved: "
         "61440.00\n");
}

int main(void) {
  return harness_run(
      "report-as",
      (HarnessCase[]){{"deepspeed", deepspeed}, {"torchtitan", torchtitan}, {"megatron", megatron}, {NULL, NULL}});
}
