/* SPDX-License-Identifier: MIT */
/* The lines of each tool. */
#include "report-as.h"

#include <string.h>

#define GIB  ((double)(1 << 30))
#define MIB  ((double)(1 << 20))
#define TERA 1e12

const char *const report_tool_names[] = {"deepspeed", "torchtitan", "megatron", NULL};

static double milliseconds(SimTime time) {
  return (double)time / (double)SIM_MILLISECOND;
}

/* Of the model, per GPU. */
static double teraflops(const RunReport *report) {
  return report->model_flops / sim_time_to_seconds(run_report_slowest(report)->step) / report->identity.gpus / TERA;
}

/* ---- DeepSpeed ---- */

typedef enum { FORWARD, BACKWARD_INNER, BACKWARD_REDUCE, STEP, TIMERS } Timer;

static gboolean is_of(const RunTask *task, gint32 micro, const char *const *phases) {
  for (; *phases != NULL; phases++)
    if (strcmp(task->phase, *phases) == 0)
      return task->micro == micro;
  return FALSE;
}

/* The end of the last of the micro-batch's tasks of these phases, `from` where none ends later. */
static SimTime end_of(const RunClass *class, gint32 micro, const char *const *phases, SimTime from) {
  SimTime end = from;
  for (guint32 i = 0; i < class->n_tasks; i++)
    if (is_of(&class->tasks[i], micro, phases))
      end = MAX(end, class->tasks[i].end);
  return end;
}

/* Where the micro-batch's timers stop, one after the other; returns the last. */
static SimTime time_micro(const RunClass *class, gint32 micro, SimTime from, SimTime *timers) {
  static const char *const forward[] = {"forward", NULL}, *const backward[] = {"recompute", "backward", NULL},
                           *const reduce[] = {"reduce", NULL};
  const char *const *const phases[] = {forward, backward, reduce};
  for (int timer = FORWARD; timer < STEP; timer++) {
    SimTime end = end_of(class, micro, phases[timer], from);
    timers[timer] = end - from;
    from = end;
  }
  return from;
}

static void breakdown(const char *suffix, const SimTime *timers, GString *text) {
  g_string_append_printf(text,
                         "[Rank 0] time (ms) | fwd%s: %.2f | bwd%s: %.2f | bwd_inner%s: %.2f | bwd_allreduce%s: %.2f | "
                         "step%s: %.2f\n",
                         suffix, milliseconds(timers[FORWARD]), suffix,
                         milliseconds(timers[BACKWARD_INNER] + timers[BACKWARD_REDUCE]), suffix,
                         milliseconds(timers[BACKWARD_INNER]), suffix, milliseconds(timers[BACKWARD_REDUCE]), suffix,
                         milliseconds(timers[STEP]));
}

static void wall_clock(const RunReport *report, GString *text) {
  const RunClass *class = run_report_slowest(report);
  SimTime micro[TIMERS] = {0}, all[TIMERS] = {0}, at = 0;
  for (guint64 m = 0; m < report->identity.gradient_accumulation; m++) {
    at = time_micro(class, (gint32)m, at, micro);
    for (int timer = FORWARD; timer < STEP; timer++)
      all[timer] += micro[timer];
  }
  micro[STEP] = all[STEP] = class->step - at;
  breakdown("_microstep", micro, text);
  breakdown("", all, text);
}

static void as_deepspeed(const RunReport *report, GString *text) {
  double samples = (double)report->identity.global_batch / sim_time_to_seconds(run_report_slowest(report)->step);
  if (run_report_slowest(report)->n_tasks > 0)
    wall_clock(report, text);
  g_string_append_printf(text,
                         "epoch=0/micro_step=%" G_GUINT64_FORMAT
                         "/global_step=1, RunningAvgSamplesPerSec=%.6g, CurrSamplesPerSec=%.6g, "
                         "MemAllocated=%.2fGB, MaxMemAllocated=%.2fGB\n",
                         report->identity.gradient_accumulation, samples, samples,
                         (double)run_report_tightest(report)->steady_allocated / GIB,
                         (double)run_report_tightest(report)->peak_allocated / GIB);
}

/* ---- torchtitan ---- */

/* 8369.4 as "8,369". */
static void add_thousands(GString *text, double value) {
  g_autofree char *digits = g_strdup_printf("%.0f", value);
  gsize length = strlen(digits);
  for (gsize i = 0; i < length; i++) {
    if (i > 0 && (length - i) % 3 == 0)
      g_string_append_c(text, ',');
    g_string_append_c(text, digits[i]);
  }
}

static void as_torchtitan(const RunReport *report, GString *text) {
  const RunClass *class = run_report_tightest(report);
  g_string_append_printf(text, "step:  1  memory: %5.2fGiB(%.2f%%)  tps: ", (double)class->peak_reserved / GIB,
                         100.0 * (double)class->peak_reserved / (double)class->capacity);
  add_thousands(text, report->tokens_per_second_per_gpu);
  g_string_append_printf(text, "  tflops: %.2f  mfu: %.2f%%\n", teraflops(report),
                         100 * report->model_flops_utilisation);
}

/* ---- Megatron-LM ---- */

static void add_megatron_memory(GString *text, guint32 rank, const RunClass *class) {
  g_string_append_printf(text,
                         "[Rank %u] (after 1 iterations) memory (MB) | allocated: %.2f | max allocated: %.2f | max "
                         "reserved: %.2f\n",
                         rank, (double)class->steady_allocated / MIB, (double)class->peak_allocated / MIB,
                         (double)class->peak_reserved / MIB);
}

/* Each rank that is the first of its data ranks says what it holds (training/utils.py, report_memory): here one of each
 * stage of a pipeline, whose tensor ranks are alike. */
static void as_megatron(const RunReport *report, GString *text) {
  guint64 batch = report->identity.global_batch;
  g_string_append_printf(
      text,
      " iteration %8d/%8d | consumed samples: %12" G_GUINT64_FORMAT
      " | elapsed time per iteration (ms): %.1f | throughput per GPU (TFLOP/s/GPU): %.1f | global batch size: "
      "%5" G_GUINT64_FORMAT " |\n",
      1, 1, batch, milliseconds(run_report_slowest(report)->step), teraflops(report), batch);
  gboolean piped = report->classes[0].role != NULL;
  for (guint32 i = 0; piped && i < report->n_classes; i++)
    add_megatron_memory(text, report->classes[i].first_rank, &report->classes[i]);
  if (!piped)
    add_megatron_memory(text, 0, run_report_tightest(report));
}

void report_as(const RunReport *report, ReportTool tool, GString *text) {
  static void (*const writers[REPORT_TOOLS])(const RunReport *, GString *) = {as_deepspeed, as_torchtitan, as_megatron};
  writers[tool](report, text);
}
